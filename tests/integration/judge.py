"""Whether the orchestrator has kept its promises at every single write, judged afterwards by the history of objects.

- The bound: where the orchestrator writes quotas, the sum in force of each orchestrated pair over the subtree is not
  above the effective capacity that it has published last, unless the sum was above it before; then it has not risen.
- The word: Distributed turns True only where the quotas in force sum to that capacity.

Both by what the orchestrator can have known: see `_Judge`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from kueue_dqo.api.dqo import DISTRIBUTED, DYNAMIC_QUOTA_ORCHESTRATOR
from kueue_dqo.api.kueue import CLUSTER_QUEUE, COHORT
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.resources import unit_nanos
from tests.integration.history import Key, Manifest, Version
from tests.integration.objects import nominal

FIELD_MANAGER: Final = "kueue-dqo-orchestrator"

Amounts = Mapping[str, int]
"""By `flavor/resource`, in units of the resource (1m for cpu, 1 for every other)."""


class Record(NamedTuple):
    """What the orchestrator has done; `wrongs` says in words where it broke a promise."""

    quota_writes: int
    status_writes: int
    wrongs: list[str]


class _Node(NamedTuple):
    """What counts of a ClusterQueue or Cohort."""

    parent: str
    held: Amounts


Nodes = Mapping[Key, _Node]


class _Promise(NamedTuple):
    """What an orchestrator has published: its root, the flavors it orchestrates, their capacity, its word."""

    root: Key | None
    flavors: AbstractSet[str]
    capacity: Amounts
    is_distributed: bool
    generation: int


def judge(
    start: Mapping[Key, Manifest], versions: Iterable[Version], *, own: AbstractSet[int], road: str = "spec"
) -> Record:
    """Goes through the versions in their order. Pure.

    Those with a number in `own` are others' writes, and so is every deletion.
    """
    state = _Judge(road)
    for key, obj in start.items():
        state.take(Version(0, key, obj))
    quota_writes = status_writes = 0
    wrongs: list[str] = []
    for version in sorted(versions, key=lambda version: version.number):
        key = version.key
        if key.kind == DYNAMIC_QUOTA_ORCHESTRATOR:
            before = state.promises.get(key.name)
            state.take(version)
            now = state.promises.get(key.name)
            status_writes += before is not None and now is not None and before.generation == now.generation
            if now is not None and now.is_distributed and not (before is not None and before.is_distributed):
                wrongs += state.untrue(version, now)
        elif version.number in own or version.obj is None:
            state.take_edit(version)
        else:
            quota_writes += 1
            if not _is_ours(version.obj):
                wrongs.append(f"{_title(version)} was written by somebody unknown")
            wrongs += state.take_write(version)
    return Record(quota_writes, status_writes, wrongs)


class _Edit(NamedTuple):
    """A write of others, and how many of the orchestrator's writes had come before it."""

    key: Key
    before: _Node | None
    at: int


class _Judge:
    """The objects as they are after each version.

    What others write is known to the orchestrator only a moment later, and the writes that it has under way then were
    right by what it knew. So a write is right where it is right without the last few edits, those of objects that the
    orchestrator has not written to since. It learns of edits in their order. The same holds for its word.
    """

    def __init__(self, road: str) -> None:
        self._road = road
        self.nodes: dict[Key, _Node] = {}
        self.promises: dict[str, _Promise] = {}
        self._edits: list[_Edit] = []
        self._writes = 0

    def take(self, version: Version) -> None:
        """The version is what there is from now on."""
        key, obj = version.key, version.obj
        if key.kind == DYNAMIC_QUOTA_ORCHESTRATOR:
            before = self.promises.pop(key.name, None)
            if obj is not None:
                self.promises[key.name] = _promise(obj, before)
        else:
            self.nodes.pop(key, None)
            if obj is not None:
                self.nodes[key] = _node(obj, self._road)

    def take_edit(self, version: Version) -> None:
        """Somebody else has written this version."""
        self._edits.append(_Edit(version.key, self.nodes.get(version.key), self._writes))
        self.take(version)

    def take_write(self, version: Version) -> list[str]:
        """The orchestrator has written this version. Returns what is wrong with it."""
        self._writes += 1
        written_to = [number for number, edit in enumerate(self._edits, 1) if edit.key == version.key]
        del self._edits[: max(written_to, default=0)]
        # One pass writes no object more than twice, and the next one knows.
        self._edits = [edit for edit in self._edits if self._writes - edit.at <= 2 * len(self.nodes)]
        before = dict(self.nodes)
        self.take(version)
        wrongs = self._wrongs(version, before, self.nodes)
        after = dict(self.nodes)
        for edit in reversed(self._edits):
            if not wrongs:
                break
            _undo(edit, before)
            _undo(edit, after)
            wrongs = self._wrongs(version, before, after) and wrongs
        return wrongs

    def untrue(self, version: Version, promise: _Promise) -> list[str]:
        """What is wrong with the word that all is distributed, which the version gives."""
        nodes = dict(self.nodes)
        wrongs = list(_untrue(version, promise, nodes))
        for edit in reversed(self._edits):
            if not wrongs:
                break
            _undo(edit, nodes)
            wrongs = list(_untrue(version, promise, nodes)) and wrongs
        return wrongs

    def _wrongs(self, version: Version, before: Nodes, after: Nodes) -> list[str]:
        return [
            wrong
            for promise in self.promises.values()
            for wrong in _overcommitted(version, promise, _sums(promise, before), _sums(promise, after))
        ]


def _undo(edit: _Edit, nodes: dict[Key, _Node]) -> None:
    nodes.pop(edit.key, None)
    if edit.before is not None:
        nodes[edit.key] = edit.before


def _overcommitted(version: Version, promise: _Promise, before: Amounts, after: Amounts) -> Iterator[str]:
    for pair, amount in after.items():
        if pair.partition("/")[0] in promise.flavors:
            capacity, was = promise.capacity.get(pair, 0), before.get(pair, 0)
            if amount > max(capacity, was):
                yield f"{_title(version)} let {pair} rise from {was} to {amount}, of {capacity} below {promise.root}"


def _untrue(version: Version, promise: _Promise, nodes: Nodes) -> Iterator[str]:
    for pair, amount in _sums(promise, nodes).items():
        capacity = promise.capacity.get(pair, 0)
        if pair.partition("/")[0] in promise.flavors and amount != capacity:
            yield f"{_title(version)} says that {pair} is distributed: {amount} are in force, of {capacity}"


def _title(version: Version) -> str:
    return f"version {version.number}: {version.key}"


def _sums(promise: _Promise, nodes: Nodes) -> Amounts:
    """What is in force in the subtree."""
    sums: Counter[str] = Counter()
    waiting = [promise.root] if promise.root in nodes else []
    seen: set[Key] = set()
    while waiting:
        key = waiting.pop()
        if key is None or key in seen:
            continue
        seen.add(key)
        sums.update(nodes[key].held)
        if key.kind == COHORT:
            waiting += (child for child, node in nodes.items() if node.parent == key.name)
    return sums


def _node(obj: Manifest, road: str) -> _Node:
    parent = obj["spec"].get("cohortName" if obj["kind"] == CLUSTER_QUEUE else "parentName") or ""
    held = {pair: -(-nanos // _unit(pair)) for pair, nanos in nominal(obj, road=road).items()}
    return _Node(parent, held)


def _promise(obj: Manifest, before: _Promise | None) -> _Promise:
    reference = (obj["spec"].get("capacityDistribution") or {}).get("subtreeRootQuotaRef")
    root = Key(reference["kind"], reference["name"]) if reference else None
    generation = obj["metadata"]["generation"]
    status = obj.get("status") or {}
    conditions = status.get("conditions") or []
    is_distributed = any((each["type"], each["status"]) == (DISTRIBUTED, "True") for each in conditions)
    flavors = (status.get("effectiveCapacity") or {}).get("flavors")
    if flavors is None:  # not known at present, so nothing may grow
        return _Promise(root, before.flavors if before else frozenset(), {}, is_distributed, generation)
    capacity = {
        f"{flavor['name']}/{resource}": Quantity.of(amount).nanos // _unit(f"{flavor['name']}/{resource}")
        for flavor in flavors
        for resource, amount in (flavor.get("resources") or {}).items()
    }
    return _Promise(root, {flavor["name"] for flavor in flavors}, capacity, is_distributed, generation)


def _unit(pair: str) -> int:
    return unit_nanos(pair.partition("/")[2])


def _is_ours(obj: Manifest) -> bool:
    return any(entry.get("manager") == FIELD_MANAGER for entry in obj["metadata"].get("managedFields") or [])
