"""Makes the root file tree of the image: an interpreter, an environment, and what both need. Nothing else.

    python docker/rootfs.py ENVIRONMENT TARGET

ENVIRONMENT is a virtual environment of the interpreter that runs this. TARGET must not exist. There is no shell in the
tree, no package manager, and no file that anybody but root may write. Uses the standard library alone, for it runs in a
build stage that has nothing else; `ldd` tells which shared libraries are needed, and the same on every architecture.
"""

from __future__ import annotations

import compileall
import os
import py_compile
import re
import shutil
import ssl
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

USER: Final = 65532
UNUSED: Final = (
    *("__pycache__", "config-*", "site-packages"),
    *("ensurepip", "idlelib", "lib2to3", "test", "tkinter", "turtledemo"),
    *("_tkinter.*", "_test*.so", "xxlimited*.so"),
)
"""Of the standard library: what no daemon imports. Slim images have the module `_tkinter` but not the libraries of Tk
that it needs."""
PROGRAMS: Final = re.compile(r"dqo|kubectl-dqo|python[0-9.]*")
"""Of the environment's folder `bin`; packages bring others, which no daemon starts."""
NOT_IN_PACKAGES: Final = ("__pycache__", "tests", "*.pyi", "activate*", "Activate*")
BUNDLE: Final = Path("/etc/ssl/certs/ca-certificates.crt")
DISTRIBUTION: Final = Path("/etc/debian_version")
"""By this file NVIDIA's container toolkit knows that libraries belong into the folder of the architecture, where the
dynamic loader looks without a cache."""
RESOLVERS: Final = ("libnss_dns.so.2", "libnss_files.so.2", "libresolv.so.2")
"""What the C library loads by itself to find the address of a name."""
FILES: Final = {
    "etc/passwd": f"root:x:0:0:root:/:/nonexistent\nnonroot:x:{USER}:{USER}:nonroot:/:/nonexistent\n",
    "etc/group": f"root:x:0:\nnonroot:x:{USER}:\n",
    "etc/nsswitch.conf": "hosts: files dns\n",
}
FOLDERS: Final = ("dev", "proc", "sys", "tmp", "var/run/secrets/kubernetes.io/serviceaccount")
"""Where a container runtime mounts something."""


def main(environment: Path, target: Path) -> None:
    """Makes the tree. Raises OSError, and SystemExit where something is missing."""
    if target.exists():
        raise SystemExit(f"rootfs: {target} is there already")
    for name in FOLDERS:
        (target / name).mkdir(parents=True)
    for name, text in FILES.items():
        _place(target, Path("/") / name).write_text(text)
    _copy_tree(environment, target, NOT_IN_PACKAGES)
    for program in _place(target, environment / "bin").iterdir():
        if not PROGRAMS.fullmatch(program.name):
            program.unlink()
    interpreter = Path(sys.executable).resolve()
    _copy_links(environment / "bin" / "python", target)
    _copy_tree(Path(sysconfig.get_path("stdlib")), target, UNUSED)
    libraries = set(_needed([interpreter, *_extensions(target)]))
    libc = next(each for each in libraries if each.name.startswith("libc.so"))
    libraries |= {libc.parent / name for name in RESOLVERS}
    for library in sorted(libraries):
        _copy_file(library, target)
    _copy_certificates(target)
    if DISTRIBUTION.exists():
        _copy_file(DISTRIBUTION, target)
    _compile(target)
    _settle(target)


def _copy_tree(source: Path, target: Path, unused: Iterable[str]) -> None:
    shutil.copytree(
        source, _place(target, source), symlinks=True, ignore=shutil.ignore_patterns(*unused), dirs_exist_ok=True
    )


def _copy_links(link: Path, target: Path) -> None:
    """The interpreter, and each link on the way to it."""
    while link.is_symlink():
        place = _place(target, link)
        if not place.is_symlink():
            place.symlink_to(link.readlink())
        link = link.parent / link.readlink()
    _copy_file(link, target)


def _copy_file(source: Path, target: Path) -> None:
    """What it holds, at the place where it is looked for: links in its own name are followed."""
    shutil.copy(source, _place(target, source))


def _place(target: Path, path: Path) -> Path:
    """Where it stands in the tree; the folder around it is there then."""
    place = target / Path(os.path.normpath(path)).relative_to("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    return place


def _extensions(target: Path) -> Iterator[Path]:
    """The shared objects of the tree, by their places outside of it, where their own libraries are found."""
    for file in sorted(target.rglob("*.so*")):
        if file.is_file():
            yield Path("/") / file.relative_to(target)


def _needed(objects: Iterable[Path]) -> Iterator[Path]:
    """What the dynamic loader finds for each of them, itself included."""
    for each in objects:
        done = subprocess.run(["ldd", str(each)], capture_output=True, text=True, check=False)
        if "not found" in done.stdout:
            raise SystemExit(f"rootfs: {each} needs what is not there:\n{done.stdout}")
        for line in done.stdout.splitlines():
            found = re.search(r"(?:=>\s+)?(/\S+) \(0x", line)
            if found:
                yield Path(found[1])


def _copy_certificates(target: Path) -> None:
    """Those that are trusted, where distributions have them and where this interpreter's OpenSSL looks for them."""
    wanted = Path(ssl.get_default_verify_paths().openssl_cafile)
    found = next((each for each in (wanted, BUNDLE) if each.is_file()), None)
    if found is None:
        raise SystemExit(f"rootfs: neither {wanted} nor {BUNDLE} is there: install ca-certificates in the build stage")
    for each in {wanted, BUNDLE}:
        shutil.copy(found, _place(target, each))


def _compile(target: Path) -> None:
    """Bytecode that never looks at a source's time: the tree is the same, whenever it is made."""
    for folder in sorted({file.parent for file in target.rglob("*.py")}):
        inside = "/" + str(folder.relative_to(target))
        compileall.compile_dir(
            folder,
            maxlevels=0,
            ddir=inside,
            quiet=2,
            force=True,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )


def _settle(target: Path) -> None:
    """Owned and writable by root alone, without any privilege, of one time."""
    for place in [target, *target.rglob("*")]:
        if not place.is_symlink():
            place.chmod(0o755 if place.is_dir() or place.stat().st_mode & 0o111 else 0o644)
        os.utime(place, (0, 0), follow_symlinks=False)


if __name__ == "__main__":
    main(*(Path(each) for each in sys.argv[1:]))
