"""Kubeconfigs in memory, and what becomes of them."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kueue_dqo.runtime.connection import Connection
from kueue_dqo.runtime.errors import ConfigurationError
from kueue_dqo.runtime.kubeconfig_text import connection_from_text

Plain = dict[str, Any]
ORIGIN = "Secret ours/worker1"


@pytest.fixture
def nowhere_to_write(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in a pod whose root is read-only and that has no volume; and no descriptor stays open."""

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(30, "Read-only file system")

    for name in ("mkstemp", "mkdtemp", "NamedTemporaryFile", "TemporaryFile"):
        monkeypatch.setattr(tempfile, name, refuse)
    before = memory_files()
    yield
    assert memory_files() == before


def memory_files() -> list[str]:
    links = [Path(entry.path) for entry in os.scandir("/proc/self/fd")]
    return sorted(str(link.readlink()) for link in links if link.is_symlink() and "memfd" in str(link.readlink()))


def config(server: str = "https://k:1", user: Plain | None = None, cluster: Plain | None = None) -> Plain:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": server, **(cluster or {})}}],
        "users": [{"name": "u", "user": {"token": "s3cret"} if user is None else user}],
    }


async def connection_of(content: Any, **options: Any) -> Connection:
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    return await connection_from_text(text, origin=ORIGIN, **{"environment": {}, **options})


async def refusal_of(content: Any, **options: Any) -> str:
    """The words of the error, which has no other behind it."""
    with pytest.raises(ConfigurationError) as caught:
        await connection_of(content, **options)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert str(caught.value).startswith(f"{ORIGIN}: ")
    return str(caught.value).removeprefix(f"{ORIGIN}: ")
