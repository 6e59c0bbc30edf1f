"""Reads kubeconfigs from files that an object in the cluster names: never from outside of one folder."""

from __future__ import annotations

import os
import stat
from pathlib import PurePosixPath
from typing import Final

_LARGEST: Final = 2**20
"""Bytes."""
_ATTEMPTS: Final = 3
"""The kubelet replaces all files of a volume by another folder to which a symbolic link leads: between two steps, the
old one may be gone."""
_FLAG: Final = "--kubeconfig-folder"


def read_below(folder: str, location: str) -> bytes | str:
    """The content of a regular file of at most 1 MiB below the folder, or why it is not to be had.

    What lies outside is refused before it is looked at, so that nobody learns what files there are.
    """
    path = PurePosixPath(location)
    if "\0" in location or not path.is_absolute() or ".." in path.parts:
        return f"file {location!r}: it is no absolute path without `..`"
    if not path.is_relative_to(folder):
        return f"file {location}: it is not below {folder} ({_FLAG})"
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            real = os.path.realpath(location, strict=True)
            if not PurePosixPath(real).is_relative_to(os.path.realpath(folder, strict=True)):
                return f"file {location}: its symbolic links lead out of {folder} ({_FLAG})"
            return read_small(real, name=location)
        except FileNotFoundError:
            if attempt == _ATTEMPTS:
                break
        except OSError as error:
            return f"file {location}: {error.strerror}"
    return f"file {location}: there is no such file"


def read_small(path: str, *, name: str) -> bytes | str:
    """The content of a regular file of at most 1 MiB, or why it is not to be had; there it is called `name`.

    Raises OSError where it cannot be opened or read.
    """
    # Opened so that a pipe does not make it wait.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return f"file {name}: it is no regular file"
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read(_LARGEST + 1)
    finally:
        os.close(descriptor)
    return content if len(content) <= _LARGEST else f"file {name}: it is larger than {_LARGEST >> 20} MiB"


def read_named(path: str) -> bytes | str:
    """The content of a file that the admin named, or why it is not to be had."""
    try:
        return read_small(path, name=path)
    except OSError as error:
        return f"file {path}: {error.strerror}"
