"""What a cache holds, and which of the news that reach it by three ways (lists, a watch, own writes) is new. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Generic, NamedTuple, TypeVar

T = TypeVar("T")
_LONGEST_VERSION: Final = 20
"""Digits of 2^64."""


class Change(NamedTuple, Generic[T]):
    """An object appeared (`old` is None), changed, or went away (`new` is None)."""

    name: str
    old: T | None
    new: T | None


class Found(NamedTuple, Generic[T]):
    """An object in a list. None: it cannot be decoded in this version, or is held in it already."""

    version: str
    object: T | None


class Holdings(Generic[T]):
    """Objects by name, each in the newest version that was seen.

    A list, the watch and the answers to own writes overtake each other. Versions decide: a resourceVersion grows with
    every write to the storage, so one that is not above what is known is no news. After the storage was restored from
    a backup they begin anew from below; a list is therefore believed whatever its version, but for what changed while
    it was on its way.
    """

    def __init__(self) -> None:
        self._objects: dict[str, T] = {}
        self.objects: Final[Mapping[str, T]] = MappingProxyType(self._objects)
        """A live view."""
        self._versions: dict[str, str] = {}
        self._listed = ""
        self._watched = ""
        self._since_list_began: dict[str, str] | None = None
        """The versions that came while a list is on its way; None while none is."""

    @property
    def watched(self) -> str:
        """From where a watch goes on; empty before the first list."""
        return self._watched

    @property
    def size_of_notes(self) -> int:
        """How many versions are noted besides those of what is held."""
        return len(self._since_list_began or ())

    def is_known(self, name: str, version: str) -> bool:
        """Whether that version of the object, or a later one, has been taken in; its deletion included."""
        if name in self._versions:
            return _is_reached(version, self._versions[name])
        return _is_reached(version, self._listed) or _is_reached(version, self._watched)

    def is_held(self, name: str, version: str) -> bool:
        """Whether the object is held in exactly that version."""
        return self._versions.get(name) == version

    def put(self, name: str, version: str, new: T) -> Change[T] | None:
        """Takes in a version, unless it is known."""
        return None if self.is_known(name, version) else self.take(name, version, new)

    def take(self, name: str, version: str, new: T) -> Change[T]:
        """Takes in a version that is not known."""
        self._note(name, version)
        return self._set(name, version, new)

    def remove(self, name: str, version: str) -> Change[T] | None:
        """Takes in a deletion, of which the resourceVersion is its own and not the object's last."""
        if self.is_known(name, version) and not self.is_held(name, version):
            return None
        self._note(name, version)
        return self._drop(name)

    def advance(self, version: str) -> None:
        """The watch has delivered everything up to that version."""
        self._watched = version

    def begin_list(self) -> None:
        """Called before the first page is asked for."""
        self._since_list_began = {}

    def end_list(self) -> None:
        """Called when a list has been taken in, or has failed."""
        self._since_list_began = None

    def take_list(self, version: str, found: Mapping[str, Found[T]], *, watch_from_it: bool) -> list[Change[T]]:
        """Takes in a complete list of that version, but for objects that have changed after it."""
        since = self._since_list_began or {}
        later = {name for name, seen in since.items() if not _is_reached(seen, version)}
        self._listed = version
        if watch_from_it:
            self._watched = version
        changes = [self._drop(name) for name in self._objects.keys() - found.keys() - later]
        changes += [
            self._set(name, seen.version, seen.object)
            for name, seen in found.items()
            if seen.object is not None and name not in later
        ]
        return [change for change in changes if change is not None]

    def clear(self) -> list[Change[T]]:
        """Everything goes, and what is known of versions."""
        changes = [Change(name, old, None) for name, old in self._objects.items()]
        self._objects.clear()
        self._versions.clear()
        self._listed = self._watched = ""
        return changes

    def forget_position(self) -> None:
        """The watch cannot go on from where it was."""
        self._watched = ""

    def _note(self, name: str, version: str) -> None:
        if self._since_list_began is not None:
            self._since_list_began[name] = version

    def _set(self, name: str, version: str, new: T) -> Change[T]:
        old = self._objects.get(name)
        self._objects[name] = new
        self._versions[name] = version
        return Change(name, old, new)

    def _drop(self, name: str) -> Change[T] | None:
        if name not in self._objects:
            return None
        del self._versions[name]
        return Change(name, self._objects.pop(name), None)


def _is_reached(version: str, by: str) -> bool:
    """Whether `by` is that version or a later one. Versions that are no numbers can only be equal."""
    if _is_number(version) and _is_number(by):
        return int(version) <= int(by)
    return version == by


def _is_number(version: str) -> bool:
    """As storages count: 64 bits. A longer one is no version of theirs, and Python may refuse to read it."""
    return len(version) <= _LONGEST_VERSION and version.isdecimal()
