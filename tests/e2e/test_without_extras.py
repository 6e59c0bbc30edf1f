"""The plain distribution, without rich and PyYAML: JSON in, JSON out; for the rest, the name of the extra."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.process import EXAMPLES, dqo
from tests.unit.kueue_dqo.cli.objects import as_json, orchestrator, provider, queue

JSON = as_json(orchestrator(), provider(), queue("a", 10))
YAML = b"apiVersion: v1\nkind: Node\nmetadata: {name: n-1}\n"


@pytest.fixture
def bare(tmp_path: Path) -> str:
    """A PYTHONPATH with which neither can be imported."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nsys.modules.update(dict.fromkeys(('rich', 'yaml', '_yaml')))\n"
    )
    return str(tmp_path)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["plan", "--help"]], ids=" ".join)
def test_help_works(arguments: list[str], bare: str) -> None:
    """It is the same as with the extra."""
    finished = dqo(*arguments, PYTHONPATH=bare)
    assert finished == dqo(*arguments)
    assert finished.code == 0


def test_json_in_json_out_works(bare: str) -> None:
    """From standard input, from a file, one document or many."""
    for arguments, stdin in ((["-f", "-"], JSON), (["-f", str(EXAMPLES / "04-cluster-dump")], b"")):
        finished = dqo("plan", *arguments, "-o", "json", stdin=stdin, PYTHONPATH=bare)
        assert finished == dqo("plan", *arguments, "-o", "json", stdin=stdin)
        assert finished.code == 0
        assert json.loads(finished.out)["items"]


@pytest.mark.parametrize(
    ("output", "stdin", "what"),
    [
        pytest.param("json", YAML, "standard input is YAML, and PyYAML is not installed", id="YAML in"),
        pytest.param(
            "json",
            b"# notes\n" + YAML,
            "standard input is YAML, and PyYAML is not installed",
            id="YAML with a comment in",
        ),
        pytest.param("json", b"{kind: Node}", "PyYAML is not installed", id="flow YAML in"),
        pytest.param("json", JSON + b"---\n" + YAML, "PyYAML is not installed", id="JSON and YAML in"),
        pytest.param("yaml", JSON, "YAML needs PyYAML", id="YAML out"),
        pytest.param("table", JSON, "the table needs rich", id="a table out"),
    ],
)
def test_what_needs_the_extra_names_it(output: str, stdin: bytes, what: str, bare: str) -> None:
    """And what works without it, in one line."""
    finished = dqo("plan", "-f", "-", "-o", output, stdin=stdin, PYTHONPATH=bare)
    assert finished.code == 1
    assert finished.out == ""
    error = finished.err.splitlines()[-1]
    assert error.startswith("Error: ")
    assert what in error
    assert "install kueue-dqo[cli]" in error
    assert "json" in error.lower()
    assert "Traceback" not in finished.err


def test_truly_broken_json_is_not_blamed_on_the_extra(bare: str) -> None:
    """A file that its name calls JSON is JSON."""
    path = Path(bare) / "a.json"
    path.write_text('{"a": 1')
    finished = dqo("plan", "-f", path, "-o", "json", PYTHONPATH=bare)
    assert "is no JSON" in finished.err
    assert "PyYAML" not in finished.err
