"""Which resources queues have a quota for, by flavor: these are explicit zeros where no node is. Pure.

Of a ClusterQueue or Cohort only the pairs of flavor and resource are kept. Both what stands in the spec counts and what
the orchestrator keeps in an annotation as the admin's declaration while its own numbers stand in the spec.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Final

import msgspec

from kueue_dqo.api.resources import FlavorResource

DECLARED_QUOTAS: Final = "kueue-dqo.dev/declared-quotas"
"""The annotation: resource groups as JSON."""

Pairs = frozenset[FlavorResource]


class _Resource(msgspec.Struct, gc=False):
    name: str


class _Flavor(msgspec.Struct, gc=False):
    name: str
    resources: tuple[_Resource, ...] | None = ()


class _Group(msgspec.Struct, gc=False):
    flavors: tuple[_Flavor, ...] | None = ()


class _Spec(msgspec.Struct, gc=False, rename="camel"):
    resource_groups: tuple[_Group, ...] | None = ()


class _Annotations(msgspec.Struct, gc=False):
    declared: str | None = msgspec.field(default=None, name=DECLARED_QUOTAS)


class _Metadata(msgspec.Struct, gc=False):
    annotations: _Annotations | None = None


class _Queue(msgspec.Struct, gc=False):
    metadata: _Metadata
    spec: _Spec | None = None


_decode_queue: Final = msgspec.json.Decoder(_Queue).decode
_decode_groups: Final = msgspec.json.Decoder(tuple[_Group, ...] | None).decode


def pairs_of(raw: bytes) -> Pairs:
    """The pairs of a ClusterQueue or Cohort in JSON. Raises msgspec.DecodeError.

    An annotation that cannot be read declares nothing; the orchestrator, whose it is, says so at the queue.
    """
    queue = _decode_queue(raw)
    groups = (queue.spec.resource_groups if queue.spec is not None else None) or ()
    pairs = set(_pairs(groups))
    annotations = queue.metadata.annotations
    if annotations is not None and annotations.declared is not None:
        with contextlib.suppress(msgspec.DecodeError):
            pairs |= set(_pairs(_decode_groups(annotations.declared) or ()))
    return _shared(frozenset(pairs))


class Declared:
    """The pairs of all queues, kept up to date queue by queue."""

    def __init__(self) -> None:
        self._queues: dict[str, dict[str, int]] = {}
        """How many queues declare a resource, by flavor."""

    @property
    def resources(self) -> Mapping[str, AbstractSet[str]]:
        """By flavor."""
        return {flavor: queues.keys() for flavor, queues in self._queues.items()}

    def change(self, old: Pairs | None, new: Pairs | None) -> bool:
        """A queue came (`old` is None), changed, or went (`new` is None).

        Returns whether a pair is declared now that was not before, or the other way round.
        """
        before, after = old or frozenset(), new or frozenset()
        added = [self._add(pair) for pair in after - before]
        removed = [self._remove(pair) for pair in before - after]
        return any(added) or any(removed)

    def _add(self, pair: FlavorResource) -> bool:
        queues = self._queues.setdefault(pair.flavor, {})
        queues[pair.resource] = queues.get(pair.resource, 0) + 1
        return queues[pair.resource] == 1

    def _remove(self, pair: FlavorResource) -> bool:
        queues = self._queues[pair.flavor]
        queues[pair.resource] -= 1
        if queues[pair.resource]:
            return False
        del queues[pair.resource]
        if not queues:
            del self._queues[pair.flavor]
        return True


def _pairs(groups: Iterable[_Group]) -> Iterator[FlavorResource]:
    for group in groups:
        for flavor in group.flavors or ():
            for resource in flavor.resources or ():
                yield FlavorResource(sys.intern(flavor.name), sys.intern(resource.name))


@functools.lru_cache(maxsize=1024)
def _shared(pairs: Pairs) -> Pairs:
    """Many queues declare the same pairs: these are held once."""
    return pairs
