"""Files and folders → steps in time. Subfolders named by numbers are steps; what is beside them comes first."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from admission.world import Item
from kueue_dqo.api.admission_kinds import ADMISSION_KINDS
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.cli.errors import CommandError
from kueue_dqo.cli.manifests import STANDARD_INPUT, SUFFIXES, read_manifests


class ReadStep(NamedTuple):
    """A step as it was read."""

    name: str
    """The subfolder's, empty for what is beside them."""
    items: tuple[Item, ...]
    """In the order of files and documents."""
    notices: tuple[str, ...]
    """What was read and should be written otherwise, with its place."""
    skipped: tuple[str, ...]
    """Kinds that were not read."""


def read_steps(paths: tuple[str, ...], max_bytes: Quantity) -> list[ReadStep]:
    """Reads all steps under the paths, in their order.

    Raises:
        CommandError: a path cannot be read, something in it is wrong, two subfolders are of one number.
    """
    steps = []
    for name, found in _paths_of_steps(paths):
        manifests = read_manifests(found, max_bytes, ADMISSION_KINDS)
        items = tuple(Item(key.kind, manifests.of_kind(key.kind)[key.name]) for key in manifests.places)
        steps.append(ReadStep(name, items, tuple(manifests.notices), tuple(sorted(manifests.skipped))))
    return steps


def _paths_of_steps(paths: tuple[str, ...]) -> list[tuple[str, tuple[str, ...]]]:
    first: list[str] = []
    numbered: dict[int, Path] = {}
    for path in paths:
        folders = {} if path == STANDARD_INPUT else _numbered(Path(path))
        for number, folder in folders.items():
            if number in numbered:
                msg = f"{numbered[number]} and {folder} are one step: give their names different numbers"
                raise CommandError(msg)
            numbered[number] = folder
        first += _beside(Path(path)) if folders else [path]
    steps = [("", tuple(first))] if first else []
    return [*steps, *((folder.name, (str(folder),)) for _, folder in sorted(numbered.items()))]


def _numbered(folder: Path) -> dict[int, Path]:
    found: dict[int, Path] = {}
    for each in _entries(folder) if folder.is_dir() else ():
        if each.is_dir() and each.name.isascii() and each.name.isdecimal():
            number = int(each.name)
            if number in found:
                msg = f"{found[number]} and {each} are one step: give their names different numbers"
                raise CommandError(msg)
            found[number] = each
    return found


def _beside(folder: Path) -> list[str]:
    """The manifests in the folder that are in no step."""
    steps = set(_numbered(folder).values())
    return [
        str(each)
        for each in _entries(folder)
        if each not in steps and not each.name.startswith(".") and (each.is_dir() or each.name.endswith(SUFFIXES))
    ]


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        msg = f"{folder} cannot be read: {error.strerror or error}"
        raise CommandError(msg) from error
