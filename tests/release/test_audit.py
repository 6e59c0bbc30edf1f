"""The audit: what a database knows is named, and where none was asked nobody is told that all is well."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from packaging.version import Version

from scripts.release import audit
from scripts.release.pins import IMAGE, pins
from scripts.release.tree import ReleaseError
from tests.e2e.process import BIN, ROOT, execute

FIXED = "999.0"


class _Osv(BaseHTTPRequestHandler):
    """Answers questions about a package and a version as OSV does. It knows one vulnerability of one package."""

    vulnerable: ClassVar[str] = ""
    status: ClassVar[int] = 200
    asked: ClassVar[set[tuple[str, str]]] = set()

    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name, version = question["package"]["name"], question["version"]
        self.asked.add((name, version))
        answer: dict[str, Any] = {}
        if name == self.vulnerable and Version(version) < Version(FIXED):
            affected = {
                "package": {"name": name, "ecosystem": "PyPI"},
                "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": FIXED}]}],
            }
            answer = {"vulns": [{"id": "GHSA-0", "aliases": ["CVE-2026-0"], "summary": "bad", "affected": [affected]}]}
        body = json.dumps(answer).encode()
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the base class
        del format, args


@contextmanager
def _osv(*, vulnerable: str = "", status: int = 200) -> Iterator[tuple[str, set[tuple[str, str]]]]:
    """Where the database is, and what it has been asked."""
    asked: set[tuple[str, str]] = set()
    handler = type("Handler", (_Osv,), {"vulnerable": vulnerable, "status": status, "asked": asked})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1/query", asked
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def _options(url: str, folder: Path) -> list[str]:
    return ["--osv-url", url, "--cache-dir", str(folder)]


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A file of two pins."""
    path = tmp_path / "two.txt"
    path.write_text("".join(f"{name}==1.0 --hash=sha256:{'0' * 64}\n" for name in ("click", "six")))
    return path


def test_every_pin_of_every_file_is_asked_about(tmp_path: Path) -> None:
    """By the command itself; a database that knows nothing of them is a success."""
    with _osv() as (url, asked):
        command = ("-m", "scripts.release.audit", *_options(url, tmp_path))
        finished = execute(BIN / "python", *command, cwd=ROOT, NO_PROXY="127.0.0.1")
    assert (finished.code, finished.err) == (audit.NOTHING_KNOWN, "")
    here = [pin for path in audit.FILES for pin in pins(path).values() if pin.marker is None or pin.marker.evaluate()]
    assert asked == {(pin.name, pin.version) for pin in here}
    assert [line.split()[1] for line in finished.out.splitlines()] == [
        "docker/requirements.txt",
        "docker/requirements-build.txt",
        "requirements-dev.lock",
    ]
    assert f"(what the image installs): nothing is known of {len(pins(IMAGE))} distributions" in finished.out


def test_a_known_vulnerability_is_a_failure_and_is_named(
    two: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its other name, and the version that is without it."""
    with _osv(vulnerable="six") as (url, _):
        assert audit.audit(two, "a test", _options(url, tmp_path)) == audit.VULNERABLE
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"audit: {two} (a test): six 1.0: CVE-2026-0 = GHSA-0; fixed in {FIXED}\n"


def test_a_database_that_is_not_there_is_no_success(
    two: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is known either way, and that is what is said."""
    with _osv() as (url, _):
        pass
    assert audit.audit(two, "a test", _options(url, tmp_path)) == audit.NOT_ASKED
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"audit: {two} (a test): no database of vulnerabilities was asked: ")
    assert "nothing is known either way: run it where the database can be reached, or name another one" in err


def test_a_database_that_fails_is_no_success(two: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It has answered, and said nothing."""
    with _osv(status=503) as (url, _):
        assert audit.audit(two, "a test", _options(url, tmp_path)) == audit.NOT_ASKED
    assert "no database of vulnerabilities was asked" in capsys.readouterr().err


def test_what_was_skipped_is_no_success() -> None:
    """The tool itself calls it one, as with an index that does not know the packages."""
    wanted = list(pins(IMAGE).values())[:2]
    known = {"name": wanted[0].name, "version": wanted[0].version, "vulns": []}
    skipped = {"name": wanted[1].name, "skip_reason": "Dependency not found"}
    for entries, why in (([known, skipped], "Dependency not found"), ([known], "it is not in the report")):
        with pytest.raises(ReleaseError, match=f"1 of 2 distributions were not looked up, .*: {why}; nothing"):
            audit.judged({"dependencies": entries}, wanted)
    assert audit.judged({"dependencies": [known]}, wanted[:1]) == []


def test_a_vulnerability_counts_more_than_what_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over all files."""
    for codes, expected in (((0, 0, 0), 0), ((0, 2, 0), 2), ((2, 1, 0), 1), ((0, 1, 2), 1)):
        answers = dict(zip(audit.FILES, codes, strict=True))
        monkeypatch.setattr(audit, "audit", lambda path, _what, _options, answers=answers: answers[path])
        assert audit.main() == expected
