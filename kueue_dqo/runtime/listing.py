"""The pages of a list to what is in it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Final, TypeVar

import msgspec

from kueue_dqo.runtime import wire
from kueue_dqo.runtime.answers import unintelligible
from kueue_dqo.runtime.decoding import ObjectDecoder
from kueue_dqo.runtime.errors import Unreachable
from kueue_dqo.runtime.holdings import Found
from kueue_dqo.runtime.pace import Pace

T = TypeVar("T")
_TURN: Final = 500
"""Objects after which other tasks have their turn, in a page that is larger than it was asked for."""


async def collect(  # noqa: PLR0913 - where from, and what becomes of it, by keyword
    pages: AsyncIterator[bytes],
    *,
    path: str,
    decoder: ObjectDecoder[T],
    is_held: Callable[[str, str], bool],
    on_page: Callable[[], None],
    pace: Pace,
) -> tuple[str, dict[str, Found[T]]]:
    """The resourceVersion of a list, and its objects by name; those that are held in that version are not decoded.

    Raises ApiError, also where there is more than the pace allows.
    """
    found: dict[str, Found[T]] = {}
    version = ""
    most, taken = pace.most_objects, 0
    async for raw in pages:
        on_page()
        taken += 1
        if pace.most_pages is not None and taken > pace.most_pages:
            raise unintelligible("the list does not end", f"it has more than {taken - 1} pages", path)
        try:
            page = wire.decode_page(raw)
        except msgspec.DecodeError as error:
            raise unintelligible("a page of the list is no list", error, path) from error
        version = page.metadata.resource_version
        for number, undecoded in enumerate(page.items or ()):
            if most is not None and len(found) >= most:
                raise too_many(most, path)
            if number % _TURN == _TURN - 1:
                await asyncio.sleep(0)
            item = bytes(undecoded)
            identity = decoder.identity(item)
            if identity is not None:
                if most is not None and identity.key in found:
                    raise unintelligible("a list has two objects of one name", identity.key[:300], path)
                held = is_held(identity.key, identity.version)
                found[identity.key] = Found(identity.version, None if held else decoder.object(item, identity))
        await asyncio.sleep(0)  # a page takes some milliseconds; other tasks want their turn
    return version, found


def too_many(most: int, path: str) -> Unreachable:
    """The error for a resource of which there is more than is to be held."""
    text = f"there are more than the {most} objects that are read of it"
    return Unreachable(text, method="GET", path=path, may_have_landed=True)
