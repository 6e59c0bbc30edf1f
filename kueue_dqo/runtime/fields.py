"""The fields of a plain mapping that may hold secrets: of the right type, or an error that names the field. Pure.

No message shows a value.
"""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from kueue_dqo.runtime.errors import ConfigurationError


class Fields:
    """A mapping and its place in the document. What is null or empty is as if it were not there.

    Every method raises ConfigurationError where a field is of another type.
    """

    def __init__(self, content: Any, place: str = "") -> None:
        """`place` is empty for the whole document."""
        self.place = place
        if content is None and place:
            content = {}
        if not isinstance(content, Mapping):
            raise ConfigurationError(f"{place}: it is no mapping" if place else "it is no mapping")
        self.content = content

    def at(self, key: str) -> str:
        """The place of a field."""
        return f"{self.place}.{key}" if self.place else key

    def refuse(self, key: str, why: str) -> NoReturn:
        raise ConfigurationError(f"{self.at(key)}: {why}")

    def has(self, key: str) -> bool:
        return self.content.get(key) not in (None, "")

    def text(self, key: str) -> str:
        value = self.content.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            self.refuse(key, "it is no text; a number or a truth value needs quotes")
        return value

    def needed(self, key: str) -> str:
        return self.text(key) or self.refuse(key, "it is not set")

    def flag(self, key: str) -> bool:
        value = self.content.get(key)
        if not isinstance(value, bool | None):
            self.refuse(key, "it is neither true nor false")
        return value is True

    def data(self, key: str) -> bytes:
        """What is encoded in base64; line ends in it do not matter."""
        decoded: bytes | None = None
        with contextlib.suppress(ValueError):  # of base64, or of what is not ASCII
            decoded = base64.b64decode("".join(self.text(key).split()), validate=True)
        return decoded if decoded is not None else self.refuse(key, "it is no base64")

    def fields(self, key: str) -> Fields:
        return Fields(self.content.get(key), self.at(key))

    def texts(self, key: str) -> tuple[str, ...]:
        values = self._list(key)
        for index, value in enumerate(values):
            if not isinstance(value, str):
                self.refuse(f"{key}[{index}]", "it is no text; a number or a truth value needs quotes")
        return tuple(values)

    def each(self, key: str) -> Iterator[Fields]:
        """The mappings of a list."""
        for index, value in enumerate(self._list(key)):
            yield Fields({} if value is None else value, f"{self.at(key)}[{index}]")

    def named(self, key: str, name: str) -> Fields | None:
        """The one mapping of a list that has that `name`; the others are not looked at."""
        found: Fields | None = None
        for index, value in enumerate(self._list(key)):
            if isinstance(value, Mapping) and value.get("name") == name:
                if found is not None:
                    self.refuse(f"{key}[{index}].name", f"it is also the name of {found.place}; give each its own")
                found = Fields(value, f"{self.at(key)}[{index}]")
        return found

    def _list(self, key: str) -> list[Any]:
        value = self.content.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            self.refuse(key, "it is no list")
        return value
