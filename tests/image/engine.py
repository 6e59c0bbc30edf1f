"""The Dockerfile carried out without a container engine: its build stage, on this machine's Python.

COPY and RUN of the build stage are done word by word, in a root of their own: an overlay over that of this machine, so
that what a command writes stays apart. One thing differs from a real build: the base is this machine with its
interpreter, and not the slim Python image. What that has a module for but not the libraries, Tk, is taken away.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.controlplane import binaries
from tests.manifests.test_image import INSTRUCTIONS, Instruction

ROOT: Final = Path(__file__).parents[2]
TREE: Final = "rootfs"
_SOURCE: Final = Path("source")
_KEPT: Final = 24 * 60 * 60
"""Seconds since its last use that a tree stays in the cache."""
DRIVER: Final = "/tmp"  # noqa: S108 - in a root of its own, where something is mounted over it
_FRAME: Final = """
set -eu
mount -t overlay overlay -o lowerdir=/,upperdir={upper},workdir={work} {merged}
mount --rbind /dev {merged}/dev
mount -t proc proc {merged}/proc
rm -f {merged}/usr/lib/*/libtk8* {merged}/usr/lib/*/libtcl8*
: > {isolated}
exec chroot {merged} /bin/sh -euc {script}
"""


class CannotIsolate(Exception):
    """The machine cannot make namespaces or overlays: the message says what is missing."""


class BuildFailed(Exception):
    """A command of the Dockerfile has failed: the message has what it said."""


def build() -> Path:
    """The folder with the image's file tree, from the cache where nothing that it is made of has changed."""
    target = binaries.cache() / f"image-{_fingerprint()}"
    with binaries.locked(binaries.cache() / "image.lock"):
        if not target.exists():
            with built_anew() as tree:
                tree.parent.rename(target)  # in one step: who is stopped before leaves nothing that looks like a tree
        os.utime(target)
        for other in binaries.cache().glob("image-*"):
            # One that was used lately may be in use now, by the tests of another checkout.
            if time.time() - other.stat().st_mtime > _KEPT:
                shutil.rmtree(other)
    return target / TREE


@contextmanager
def built_anew() -> Iterator[Path]:
    """A tree of its own, which is gone afterwards; it stands alone in its folder, which may be moved away."""
    with tempfile.TemporaryDirectory(dir=binaries.cache(), prefix=".image-") as name:
        whole = Path(name) / "whole"
        tree = _carried_out(Path(name)) / TREE
        whole.mkdir()
        yield tree.rename(whole / TREE)


def _build_stage() -> list[Instruction]:
    return [each for each in INSTRUCTIONS if each.stage == 1]


def _sources() -> Iterator[Path]:
    """The files of the checkout that COPY takes, as git knows them."""
    wanted = [each for one in _build_stage() if one.name == "COPY" for each in one.rest.split()[:-1]]
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", *wanted]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    yield from (ROOT / name for name in sorted(names) if name and (ROOT / name).is_file())


def _fingerprint() -> str:
    made_of = hashlib.sha256(f"{sys.version} {os.uname().machine}\n{_build_stage()}".encode())
    for file in _sources():
        made_of.update(f"{file.relative_to(ROOT)}\n".encode() + hashlib.sha256(file.read_bytes()).digest())
    return made_of.hexdigest()[:12]


def _carried_out(folder: Path) -> Path:
    upper, work, merged = (folder / name for name in ("upper", "work", "merged"))
    for each in (upper, work, merged, upper / _SOURCE):
        each.mkdir(parents=True)
    for file in _sources():
        place = upper / _SOURCE / file.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, place)
    lines = ["unset PIP_FIND_LINKS PYTHONDONTWRITEBYTECODE PYTHONPATH", f"cd /{_SOURCE}"]
    lines.append(f"export PATH={shlex.quote(str(_interpreter_folder()))}:/usr/sbin:/usr/bin:/sbin:/bin")
    for step in _build_stage():
        if step.name == "ENV":
            lines.append(f"export {step.rest}")
        elif step.name == "RUN":
            lines.append(step.rest)
    isolated = folder / "isolated"
    script = shlex.quote("\n".join(lines))
    frame = _FRAME.format(upper=upper, work=work, merged=merged, isolated=isolated, script=script)
    _isolated(["/bin/sh", "-c", frame], isolated)
    return upper


def _interpreter_folder() -> Path:
    """That of the program `python` which this environment was made with."""
    return Path(sys.base_prefix) / "bin"


def _isolated(command: list[str], isolated: Path) -> None:
    """`isolated` is a file that is there as soon as there is a root of its own: what fails later is the build."""
    try:
        done = subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", *command], capture_output=True, text=True, check=False
        )
    except FileNotFoundError as error:
        raise CannotIsolate("there is no program `unshare` (Debian: util-linux)") from error
    if done.returncode:
        said = f"{done.stdout}{done.stderr}"
        if isolated.exists():
            raise BuildFailed(f"a command of docker/Dockerfile ended with {done.returncode}\n{said}")
        raise CannotIsolate(f"no root of its own ({done.returncode}): that needs root and overlayfs\n{said}")


@contextmanager
def read_only(
    tree: Path, service_account: Path, *arguments: str, program: str = "dqo", driver: Path | None = None
) -> Iterator[list[str]]:
    """The command that runs `dqo` with these arguments in the tree, mounted read-only, as the image's user.

    It becomes that program, so that its signals and its exit code are those of the daemon. The network is this
    machine's.

    Args:
        tree: the image's.
        service_account: the folder with token, certificate and namespace that a kubelet would mount.
        arguments: of the program.
        program: another one of the image.
        driver: a folder that is mounted at `DRIVER`, as a container toolkit mounts the driver's library somewhere.
    """
    with tempfile.TemporaryDirectory() as name:
        root = f"{name}/root"
        Path(root).mkdir()
        account = f"{root}/var/run/secrets/kubernetes.io/serviceaccount"
        # chroot needs capabilities, and so it keeps these three; whoever is not root has none of them afterwards.
        privileges = ["--bounding-set=-all,+sys_chroot,+setuid,+setgid", "--inh-caps=-all", "--no-new-privs"]
        enter = ["chroot", "--userspec=65532:65532", "--groups=", root, f"/opt/kueue-dqo/bin/{program}", *arguments]
        script = "\n".join(
            [
                "set -eu",
                shlex.join(["mount", "--bind", str(tree), root]),
                shlex.join(["mount", "--options", "remount,bind,ro,nosuid,nodev", root]),
                shlex.join(["mount", "--types", "proc", "--options", "ro", "proc", f"{root}/proc"]),
                shlex.join(["mount", "--bind", str(service_account), account]),
                shlex.join(["mount", "--options", "remount,bind,ro", account]),
                shlex.join(["mount", "--bind", "/dev", f"{root}/dev"]),
                shlex.join(["mount", "--bind", str(driver), f"{root}{DRIVER}"]) if driver else "true",
                shlex.join(["exec", "setpriv", *privileges, *enter]),
            ]
        )
        yield ["unshare", "--mount", "/bin/sh", "-c", script]
