"""What lists and watches send, decoded as far as a cache needs it; the objects stay raw. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

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


class Event(msgspec.Struct, frozen=True):
    """One line of a watch."""

    type: str
    object: msgspec.Raw


class _Metadata(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""


class Identity(msgspec.Struct, frozen=True, gc=False):
    """Which object it is, and in which version."""

    metadata: _Metadata

    @property
    def key(self) -> str:
        """`namespace/name`, or `name` of what has no namespace."""
        return f"{self.metadata.namespace}/{self.metadata.name}" if self.metadata.namespace else self.metadata.name

    @property
    def version(self) -> str:
        return self.metadata.resource_version


decode_page: Final = msgspec.json.Decoder(Page).decode
decode_page_end: Final = msgspec.json.Decoder(PageEnd).decode
decode_event: Final = msgspec.json.Decoder(Event).decode
decode_identity: Final = msgspec.json.Decoder(Identity).decode
