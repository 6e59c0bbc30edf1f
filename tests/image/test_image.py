"""The image's file tree, built by the Dockerfile's own commands, and every daemon run from it as in its pod.

In a root of its own, which is mounted read-only and has nothing but the tree, as a user without any privilege. No
container engine is needed; root, `unshare` and overlayfs are, and without them these tests fail.
"""

from __future__ import annotations

import os
import signal
import stat
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import LOOPBACK, eventually, free_port, http_status
from tests.image.engine import build, read_only
from tests.integration.daemons import NAMESPACE, install
from tests.manifests.rendered import AGENT, PROVIDERS

LARGEST: Final = 360_000_000
"""Bytes, uncompressed: what docs/image.md promises."""
SHELLS: Final = {"ash", "bash", "busybox", "dash", "sh", "apt", "dpkg", "pip", "pip3", "perl"}
ENDS_WITHIN: Final = 30.0


@pytest.fixture(scope="module")
def tree() -> Path:
    """Built once for all, and again where something that it is made of has changed."""
    return build()


def _files(tree: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for path in tree.rglob("*"):
        yield path.relative_to(tree), path.lstat()


def test_it_has_no_shell_and_nothing_to_install_with(tree: Path) -> None:
    """Whoever breaks into a daemon finds no tools but Python."""
    assert {path.name for path, _ in _files(tree)} & SHELLS == set()


def test_it_has_nothing_of_a_desktop(tree: Path) -> None:
    """The base image has no libraries for that, so that a tree which asks for them could not be built there."""
    found = {path.name for path, _ in _files(tree) if path.name.startswith(("_tkinter", "libtk", "libtcl", "libX"))}
    assert found == set()


def test_nobody_but_root_may_write_and_nothing_gives_privileges(tree: Path) -> None:
    """Not the user of the daemons either."""
    for path, found in _files(tree):
        assert found.st_uid == 0, path
        if not stat.S_ISLNK(found.st_mode):
            assert not found.st_mode & 0o7022, path


def test_it_has_what_is_looked_for_outside_of_packages(tree: Path) -> None:
    """Certificates of authorities; and the file by which NVIDIA's toolkit knows where libraries belong."""
    bundle = tree / "etc/ssl/certs/ca-certificates.crt"
    assert bundle.read_text().count("BEGIN CERTIFICATE") > 50
    assert (tree / "etc/debian_version").exists() is Path("/etc/debian_version").exists()


def test_it_is_as_small_as_is_promised(tree: Path) -> None:
    """Every file, hard links once."""
    sizes = {found.st_ino: found.st_size for _, found in _files(tree) if stat.S_ISREG(found.st_mode)}
    assert sum(sizes.values()) < LARGEST
    page = (Path(__file__).parents[2] / "docs/image.md").read_text()
    assert f"{LARGEST // 1_000_000} MB" in page


def test_licences_of_what_is_in_it_are_in_it(tree: Path) -> None:
    """Those of this project, and the metadata of every package, where theirs are."""
    (packages,) = tree.glob("opt/kueue-dqo/lib/python3*/site-packages")
    folders = sorted(packages.glob("*.dist-info"))
    assert len(folders) > 30
    assert (next(packages.glob("kueue_dqo-*.dist-info")) / "licenses" / "LICENSE").is_file()


def _service_account(plane: ControlPlane, folder: Path, name: str, token: str) -> Path:
    """What a kubelet mounts into the pod."""
    place = folder / name
    place.mkdir()
    (place / "token").write_text(token)
    (place / "ca.crt").write_bytes(plane.ca.read_bytes())
    (place / "namespace").write_text(NAMESPACE)
    for each in (place, *place.iterdir()):
        each.chmod(0o755)
    return place


@contextmanager
def _started(
    tree: Path, plane: ControlPlane, account: Path, arguments: list[str], port: int, log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """The daemon by the in-cluster road: no kubeconfig, no file but those of the account."""
    environment = {
        "KUBERNETES_SERVICE_HOST": LOOPBACK,
        "KUBERNETES_SERVICE_PORT": plane.url.rpartition(":")[2],
        "DQO_LISTEN": f"{LOOPBACK}:{port}",
        "DQO_NAMESPACE": NAMESPACE,
        "DQO_IDENTITY": account.name,
        "DQO_NODE_NAME": "n1",
        "DQO_ENFORCEMENT": "spec",
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    with read_only(tree, account, *arguments) as command, log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def test_every_daemon_runs_from_it(tree: Path, plane: ControlPlane, tmp_path: Path) -> None:
    """Ready on a real API server with its shipped account, without privileges, and gone at SIGTERM with 0."""
    bases = [f"base/{name}" for name in (*PROVIDERS, AGENT)]
    install(plane, "overlays/spec", *bases)
    plane.admin.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
    daemons = {name: ["provider", name] for name in PROVIDERS}
    daemons |= {"orchestrator": ["orchestrator"], AGENT: ["provider", "nvidia-gpu", "--role", "agent"]}
    with ExitStack() as running:
        started = {}
        for name, arguments in daemons.items():
            account = f"kueue-dqo-{name}"
            pod = plane.add_pod(NAMESPACE, account, "n1") if name == AGENT else ""
            folder = _service_account(plane, tmp_path, name, plane.token_of(NAMESPACE, account, pod=pod))
            port, log = free_port(), tmp_path / f"{name}.log"
            started[name] = running.enter_context(_started(tree, plane, folder, arguments, port, log)), port, log
        for name, (process, port, log) in started.items():
            # An agent without a driver has something to say of that, and so is ready as well.
            eventually(
                lambda port=port, process=process: (  # type: ignore[misc]  # bound at once
                    process.poll() is not None or http_status(port, "/readyz") == 200
                ),
                f"{name} is ready",
            )
            assert process.poll() is None, log.read_text()
            status = Path(f"/proc/{process.pid}/status").read_text()
            lines = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
            assert lines["Uid"].split() == ["65532"] * 4, name
            assert int(lines["CapEff"], 16) == 0, name
            assert lines["NoNewPrivs"] == "1", name
        for process, _, _ in started.values():
            process.send_signal(signal.SIGTERM)
        ended = {name: process.wait(ENDS_WITHIN) for name, (process, _, _) in started.items()}
        assert ended == dict.fromkeys(started, 0), {name: log.read_text() for name, (_, _, log) in started.items()}
        assert "Traceback" not in "".join(log.read_text() for _, _, log in started.values())
