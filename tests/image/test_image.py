"""The image's file tree, built by the Dockerfile's own commands, and every daemon run from it as in its pod.

In a root of its own, which is mounted read-only and has nothing but the tree, as a user without any privilege. No
container engine is needed; root, `unshare` and overlayfs are, and without them these tests fail.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import stat
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Final

import pytest

from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import LOOPBACK, eventually, free_port, http_status
from tests.image.engine import DRIVER, build, built_anew, read_only
from tests.integration.daemons import NAMESPACE, install
from tests.manifests.rendered import AGENT, PROVIDERS
from tests.nvml.devices import gpus
from tests.nvml.library import SONAME, library
from tests.nvml.state import NvmlState

LARGEST, LARGEST_COMPRESSED = 325_000_000, 95_000_000
"""Bytes: what docs/image.md promises of the tree, and of the layer that a registry holds and a node pulls."""
SHELLS: Final = {"ash", "bash", "busybox", "dash", "sh", "apt", "dpkg", "pip", "pip3", "perl"}
ENDS_WITHIN: Final = 30.0
PLAIN: Final = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
"""Variables of a container that has none of its own."""


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
    with tempfile.TemporaryFile() as layer:
        with tarfile.open(fileobj=layer, mode="w:gz", compresslevel=6) as archive:
            archive.add(tree, ".")
        compressed = layer.tell()
    print(f"{sum(sizes.values())} bytes, {compressed} compressed")  # noqa: T201 - the figures, with -s
    assert sum(sizes.values()) < LARGEST
    assert compressed < LARGEST_COMPRESSED
    page = (Path(__file__).parents[2] / "docs/image.md").read_text()
    assert f"{LARGEST // 1_000_000} MB uncompressed and {LARGEST_COMPRESSED // 1_000_000} MB compressed" in page


def test_two_builds_are_equal(tree: Path) -> None:
    """Names, contents, links, modes and times: whoever builds it again can see that it is the same."""
    with built_anew() as other:
        assert _everything(tree) == _everything(other)


def _everything(tree: Path) -> dict[str, tuple[object, ...]]:
    return {
        str(name): (
            stat.S_IMODE(found.st_mode),
            found.st_mtime_ns,
            (tree / name).readlink() if stat.S_ISLNK(found.st_mode) else "",
            hashlib.sha256((tree / name).read_bytes()).hexdigest() if stat.S_ISREG(found.st_mode) else "",
        )
        for name, found in _files(tree)
    }


def test_its_programs_are_the_command_and_the_interpreter(tree: Path) -> None:
    """Packages bring others, which nobody starts here."""
    programs = {path.name for path in (tree / "opt/kueue-dqo/bin").iterdir()}
    assert {name for name in programs if not name.startswith("python")} == {"dqo", "kubectl-dqo"}


def test_the_command_says_its_version(tree: Path, tmp_path: Path) -> None:
    """As the first thing that somebody types who has pulled it."""
    with read_only(tree, tmp_path, "--version") as command:
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=PLAIN)
    assert done.stdout == f"dqo, version {version('kueue-dqo')}\n"


def test_authorities_are_trusted_where_openssl_looks_for_them(tree: Path, tmp_path: Path) -> None:
    """Without a variable that says where; what the clouds' libraries do as well."""
    code = "import ssl; print(len(ssl.create_default_context().get_ca_certs()))"
    with read_only(tree, tmp_path, "-I", "-c", code, program="python") as command:
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=PLAIN)
    assert int(done.stdout) > 50


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
    tree: Path, plane: ControlPlane, account: Path, arguments: list[str], port: int, log: Path, driver: Path | None
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
        **PLAIN,
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    if driver:
        environment |= {
            "LD_LIBRARY_PATH": f"{DRIVER}/lib",
            "NVML_SHIM_STATE": f"{DRIVER}/state",
            "NVML_SHIM_CALLS": f"{DRIVER}/calls",
        }
    with read_only(tree, account, *arguments, driver=driver) as command, log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def _driver(folder: Path) -> Path:
    """NVIDIA's library with eight GPUs, in a folder that can be mounted: nothing in it leads out of it."""
    place = folder / "driver"
    place.mkdir()
    NvmlState(place, gpus(8), installed=False)
    shutil.copy(library(), place / "lib" / SONAME)
    (place / "calls").touch()
    for each in (place, *place.rglob("*")):
        each.chmod(0o777)
    return place


def test_every_daemon_runs_from_it(tree: Path, plane: ControlPlane, tmp_path: Path) -> None:
    """Ready on a real API server with its shipped account, without privileges, and gone at SIGTERM with 0."""
    bases = [f"base/{name}" for name in (*PROVIDERS, AGENT)]
    install(plane, "overlays/spec", *bases)
    plane.admin.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
    daemons = {name: ["provider", name] for name in PROVIDERS}
    daemons |= {"orchestrator": ["orchestrator"], AGENT: ["provider", "nvidia-gpu", "--role", "agent"]}
    driver = _driver(tmp_path)
    with ExitStack() as running:
        started = {}
        for name, arguments in daemons.items():
            account = f"kueue-dqo-{name}"
            pod = plane.add_pod(NAMESPACE, account, "n1") if name == AGENT else ""
            folder = _service_account(plane, tmp_path, name, plane.token_of(NAMESPACE, account, pod=pod))
            port, log = free_port(), tmp_path / f"{name}.log"
            place = driver if name == AGENT else None
            process = running.enter_context(_started(tree, plane, folder, arguments, port, log, place))
            started[name] = process, port, log
        for name, (process, port, log) in started.items():
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
        report = plane.admin.get("/apis/kueue-dqo.dev/v1alpha1/nodegpureports/n1")
        assert report["spec"]["inventory"]["gpus"] == 8
        for process, _, _ in started.values():
            process.send_signal(signal.SIGTERM)
        ended = {name: process.wait(ENDS_WITHIN) for name, (process, _, _) in started.items()}
        assert ended == dict.fromkeys(started, 0), {name: log.read_text() for name, (_, _, log) in started.items()}
        assert "Traceback" not in "".join(log.read_text() for _, _, log in started.values())
