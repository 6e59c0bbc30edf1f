"""NVML's test double as a library: compiled from `shim/`, and cached outside the checkout.

A real driver's library and this one are loaded in the same way, by the unmodified `pynvml`: the process is started with
`LD_LIBRARY_PATH` set to the folder in which `libnvidia-ml.so.1` lies.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final

from tests.controlplane import binaries

SONAME: Final = "libnvidia-ml.so.1"
_SOURCES: Final = Path(__file__).with_name("shim")
_FLAGS: Final = ("-std=gnu11", "-O1", "-Wall", "-Wextra", "-shared", "-fPIC", "-pthread")


class ShimNotBuilt(Exception):
    """The C compiler is missing, or refused the shim."""


@cache
def library(without: frozenset[str] = frozenset()) -> Path:
    """The compiled library, which lacks the functions `without`, as that of an older driver. Raises ShimNotBuilt."""
    sources = sorted(_SOURCES.iterdir())
    made_of = hashlib.sha256("\0".join([*_FLAGS, *sorted(without)]).encode())
    for source in sources:
        made_of.update(hashlib.sha256(source.read_bytes()).digest())
    target = binaries.cache() / f"nvml-{made_of.hexdigest()[:12]}" / SONAME
    if not target.exists():
        _build([source for source in sources if source.suffix == ".c"], target, without)
    return target


def _build(sources: Iterable[Path], target: Path, without: Iterable[str]) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        raise ShimNotBuilt("no C compiler on PATH: tests of NVML need one as `cc`, such as Debian's package gcc")
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{SONAME}.{os.getpid()}")
    exported = target.with_name(f".exported.{os.getpid()}")
    hidden = "".join(f" {name};" for name in sorted(without))
    exported.write_text(f"{{ global: nvml*; local:{hidden} *; }};\n", encoding="ascii")
    linked = (f"-Wl,-soname,{SONAME}", f"-Wl,--version-script={exported}")
    try:
        done = subprocess.run(
            [compiler, *_FLAGS, *linked, "-o", unfinished, *sources], check=False, capture_output=True, text=True
        )
        if done.returncode:
            raise ShimNotBuilt(f"{compiler} ended with {done.returncode}:\n{done.stderr}")
        unfinished.rename(target)  # whoever looks sees all of it or nothing
    finally:
        unfinished.unlink(missing_ok=True)
        exported.unlink(missing_ok=True)
