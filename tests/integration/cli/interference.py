"""Writes by others, in the moment before the command's own write reaches the API server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from kueue_dqo.runtime.client import Client


def interfere(monkeypatch: pytest.MonkeyPatch, write: Callable[[int], object]) -> None:
    """Calls `write` with 1, 2, … before each JSON patch of the command."""
    count = 0
    send = Client.json_patch

    async def json_patch(self: Client, *arguments: Any, **options: Any) -> bytes:
        nonlocal count
        count += 1
        await asyncio.to_thread(write, count)
        return await send(self, *arguments, **options)

    monkeypatch.setattr(Client, "json_patch", json_patch)
