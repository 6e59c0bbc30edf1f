"""What lists and watches send, decoded as far as a cache needs it; the objects stay raw. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar

import msgspec

T = TypeVar("T")
ADDED: Final = "ADDED"
MODIFIED: Final = "MODIFIED"
DELETED: Final = "DELETED"
BOOKMARK: Final = "BOOKMARK"
ERROR: Final = "ERROR"


class ListMeta(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Where a list stands (`resourceVersion`) and how it goes on (`continue`, empty on the last page)."""

    resource_version: str = ""
    token: str = msgspec.field(default="", name="continue")


class Page(msgspec.Struct, frozen=True):
    """One page of a list. An empty list may be written as null."""

    metadata: ListMeta
    items: list[msgspec.Raw] | None = None


class PageEnd(msgspec.Struct, frozen=True):
    """A page without its objects."""

    metadata: ListMeta


class Event(NamedTuple):
    """One line of a watch; the object as it stands in it."""

    type: str
    object: bytes


class Identity(NamedTuple):
    """Which object it is (`namespace/name`, or `name` of what has no namespace), and in which version."""

    key: str
    version: str


class _Event(msgspec.Struct, frozen=True, gc=False):
    type: str
    object: msgspec.Raw


class _Metadata(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""


class _Object(msgspec.Struct, frozen=True, gc=False):
    metadata: _Metadata


def _decoder(wanted: type[T]) -> Callable[[bytes], T]:
    """Decodes JSON of any server: one that is nested without end is as good as none."""
    decode = msgspec.json.Decoder(wanted).decode

    def decoded(raw: bytes) -> T:
        try:
            return decode(raw)
        except RecursionError:
            raise msgspec.DecodeError("it is nested too deeply") from None

    return decoded


decode_page: Final = _decoder(Page)
"""Raises msgspec.DecodeError."""
decode_page_end: Final = _decoder(PageEnd)
"""Raises msgspec.DecodeError."""
_decode_event: Final = _decoder(_Event)
_decode_object: Final = _decoder(_Object)

# A node sends its 15 KB several times a minute to say nothing, and every pass over them costs as much as decoding them.
# So what the API server writes in front is read there, where it looks as it always does, and the rest is left alone.
_MODIFIED: Final = b'{"type":"MODIFIED","object":'
_START: Final = re.compile(
    rb'\{(?:"kind":"\w+","apiVersion":"[\w./-]+",)?'
    rb'"metadata":\{"name":"([\w.-]+)",(?:"generateName":"[\w.-]+",)?(?:"namespace":"([\w.-]+)",)?'
    rb'"uid":"[\w-]+","resourceVersion":"([0-9]+)"'
)
"""How every object of Kubernetes' own kinds begins; those of custom resources do not."""


def decode_event(line: bytes) -> Event:
    """Raises msgspec.DecodeError."""
    if line.startswith(_MODIFIED) and line.endswith(b"}}"):
        return Event(MODIFIED, line[len(_MODIFIED) : -1])
    event = _decode_event(line)
    return Event(event.type, bytes(event.object))


def decode_identity(raw: bytes) -> Identity:
    """Raises msgspec.DecodeError."""
    start = _START.match(raw)
    if start is not None:
        name, namespace, version = start.groups()
        return Identity((namespace + b"/" + name if namespace else name).decode(), version.decode())
    meta = _decode_object(raw).metadata
    return Identity(f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name, meta.resource_version)
