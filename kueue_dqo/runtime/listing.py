"""The pages of a list to what is in it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TypeVar

import msgspec

from kueue_dqo.runtime import wire
from kueue_dqo.runtime.answers import unintelligible
from kueue_dqo.runtime.decoding import ObjectDecoder
from kueue_dqo.runtime.holdings import Found

T = TypeVar("T")


async def collect(
    pages: AsyncIterator[bytes],
    *,
    path: str,
    decoder: ObjectDecoder[T],
    is_held: Callable[[str, str], bool],
    on_page: Callable[[], None],
) -> tuple[str, dict[str, Found[T]]]:
    """The resourceVersion of a list, and its objects by name; those that are held in that version are not decoded."""
    found: dict[str, Found[T]] = {}
    version = ""
    async for raw in pages:
        on_page()
        try:
            page = wire.decode_page(raw)
        except msgspec.DecodeError as error:
            raise unintelligible("a page of the list is no list", error, path) from error
        version = page.metadata.resource_version
        for undecoded in page.items or ():
            item = bytes(undecoded)
            identity = decoder.identity(item)
            if identity is not None:
                held = is_held(identity.key, identity.version)
                found[identity.key] = Found(identity.version, None if held else decoder.object(item, identity))
        await asyncio.sleep(0)  # a page takes some milliseconds; other tasks want their turn
    return version, found
