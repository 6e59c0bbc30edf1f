"""Copies of objects in the storage of an API server, which takes minutes to check ten thousand that are alike."""

from __future__ import annotations

import base64
import re
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, Final

import aiohttp

from tests.controlplane.plane import ControlPlane

_ROOT: Final = "/registry/kueue.x-k8s.io"
_IN_ONE: Final = 50
"""Writes of a transaction. etcd takes 128, and 1.5 MiB of all of them."""
_UID: Final = re.compile(rb'"uid":"[^"]+"')


async def copy(plane: ControlPlane, key: str, copies: Iterator[Mapping[str, str]]) -> None:
    """For each of the copies, another object as that of the key is stored, such as `clusterqueues/NAME`.

    A copy is the texts that it has instead of others, in its key as well. It has a UID of its own.
    """
    (stored,) = (await _ask(plane, "range", {"key": _encoded(f"{_ROOT}/{key}".encode())}))["kvs"]
    original = base64.b64decode(stored["value"])
    writes = []
    for replaced in copies:
        new_key, value = f"{_ROOT}/{key}".encode(), _UID.sub(b'"uid":"%s"' % str(uuid.uuid4()).encode(), original)
        for old, new in replaced.items():
            new_key, value = (text.replace(old.encode(), new.encode()) for text in (new_key, value))
        writes.append({"requestPut": {"key": _encoded(new_key), "value": _encoded(value)}})
    for first in range(0, len(writes), _IN_ONE):
        await _ask(plane, "txn", {"success": writes[first : first + _IN_ONE]})


async def _ask(plane: ControlPlane, what: str, body: dict[str, Any]) -> Any:
    url = f"{plane.etcd_url}/v3/kv/{what}"
    async with aiohttp.request("POST", url, json=body, raise_for_status=True) as answer:
        return await answer.json()


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()
