"""Several causes why nothing can be published, told at once. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from kueue_dqo.provider import InvalidCapacity, Misconfigured, SourceUnavailable

_LISTED_AT_MOST: Final = 5
"""Of each kind: a message has to fit into a condition."""


def raise_causes(
    *, invalid: Iterable[str] = (), misconfigured: Iterable[str] = (), unavailable: Iterable[str] = ()
) -> None:
    """Raises the first kind that there is, in the order of the API, with a message that lists the causes of all kinds.

    Raises:
        InvalidCapacity: there are invalid amounts.
        Misconfigured: there are none, but mistakes of an admin.
        SourceUnavailable: there are only reasons why nobody knows.
    """
    kinds = ((InvalidCapacity, invalid), (Misconfigured, misconfigured), (SourceUnavailable, unavailable))
    found = [(kind, texts) for kind, texts in ((kind, list(texts)) for kind, texts in kinds) if texts]
    if found:
        raise found[0][0]("; ".join(text for _, texts in found for text in _first(texts)))


def _first(texts: Sequence[str]) -> list[str]:
    more = len(texts) - _LISTED_AT_MOST
    return [*texts[:_LISTED_AT_MOST], *([f"and {more} more of the kind"] if more > 0 else [])]
