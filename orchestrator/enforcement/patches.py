"""JSON patches (RFC 6902) that change an object only where it is still what the computation saw."""

from __future__ import annotations

from typing import Any, Protocol

Operation = dict[str, Any]
"""One operation of a JSON patch. Its value may be a `msgspec.Raw`: JSON as the API server sent it."""


class _Versioned(Protocol):
    @property
    def resource_version(self) -> str: ...


def pointer(*steps: str) -> str:
    """A JSON pointer (RFC 6901) to a field by its path."""
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in steps)


def test(path: str, value: object) -> Operation:
    """The whole patch fails unless the field has this value."""
    return {"op": "test", "path": path, "value": value}


def same_version(held: _Versioned) -> Operation:
    """The whole patch fails where anything in the object has changed: for fields that are not there yet."""
    return test("/metadata/resourceVersion", held.resource_version)


def add(path: str, value: object) -> Operation:
    """Sets the field, whether or not it is there."""
    return {"op": "add", "path": path, "value": value}


def remove(path: str) -> Operation:
    """Takes the field away; it has to be there."""
    return {"op": "remove", "path": path}
