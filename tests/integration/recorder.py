"""Whether the orchestrator has kept its promises at every single write, judged afterwards by the history of objects.

- The bound: where the orchestrator writes quotas, the sum in force of each orchestrated pair over the subtree is not
  above the effective capacity that it has published last, unless the sum was above it before; then it has not risen.
- The word: Distributed turns True only where the quotas in force sum to that capacity.
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
from tests.controlplane.plane import ControlPlane
from tests.integration.history import History, Key, Manifest, Version
from tests.integration.objects import nominal

FIELD_MANAGER: Final = "kueue-dqo-orchestrator"

Amounts = Mapping[str, int]
"""By `flavor/resource`, in units of the resource (1m for cpu, 1 for every other)."""


class Record(NamedTuple):
    """What the orchestrator has done; `wrongs` says in words where it broke a promise."""

    quota_writes: int
    status_writes: int
    wrongs: list[str]


class Recorder:
    """Begins at once. The test tells of its own writes to ClusterQueues and Cohorts by `own`."""

    def __init__(self, plane: ControlPlane, *, road: str = "spec") -> None:
        self._history = History(plane)
        self._road = road
        self._own: set[int] = set()

    def own(self, answer: Manifest) -> None:
        """Takes the answer to a write of the test's own, or of a rival that it plays."""
        self._own.add(int(answer["metadata"]["resourceVersion"]))

    def check(self) -> Record:
        """What has happened until now. Raises AssertionError where a promise was broken."""
        record = judge(self._history.start, self._history.versions(), own=self._own, road=self._road)
        assert not record.wrongs, "\n".join(record.wrongs[:10])
        return record


class _Node(NamedTuple):
    """What counts of a ClusterQueue or Cohort."""

    parent: str
    held: Amounts


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
    """Goes through the versions in their order. Those with a number in `own` are others' writes. Pure."""
    nodes: dict[Key, _Node] = {}
    promises: dict[str, _Promise] = {}
    for key, obj in start.items():
        if key.kind == DYNAMIC_QUOTA_ORCHESTRATOR:
            promises[key.name] = _promise(obj, None)
        else:
            nodes[key] = _node(obj, road)
    quota_writes = status_writes = 0
    wrongs: list[str] = []
    for version in sorted(versions, key=lambda version: version.number):
        key = version.key
        if key.kind == DYNAMIC_QUOTA_ORCHESTRATOR:
            before, now = _published(version, promises)
            status_writes += before is not None and now is not None and before.generation == now.generation
            if now is not None and now.is_distributed and not (before is not None and before.is_distributed):
                wrongs += _untrue(version, now, nodes) if not own else ()
            continue
        sums = {name: _sums(promise, nodes) for name, promise in promises.items()}
        nodes.pop(key, None)
        if version.obj is not None:
            nodes[key] = _node(version.obj, road)
        if version.number not in own:
            quota_writes += 1
            if version.obj is None or not _is_ours(version.obj):
                wrongs.append(f"{_title(version)} was written by somebody unknown")
            for name, promise in promises.items():
                wrongs += _overcommitted(version, promise, sums[name], _sums(promise, nodes))
    return Record(quota_writes, status_writes, wrongs)


def _published(version: Version, promises: dict[str, _Promise]) -> tuple[_Promise | None, _Promise | None]:
    """Takes in a version of an orchestrator. Returns what it has published before and now."""
    name = version.key.name
    before = promises.pop(name, None)
    if version.obj is None:
        return before, None
    promises[name] = _promise(version.obj, before)
    return before, promises[name]


def _overcommitted(version: Version, promise: _Promise, before: Amounts, after: Amounts) -> Iterator[str]:
    for pair, amount in after.items():
        if pair.partition("/")[0] in promise.flavors:
            capacity, was = promise.capacity.get(pair, 0), before.get(pair, 0)
            if amount > max(capacity, was):
                yield f"{_title(version)} let {pair} rise from {was} to {amount}, of {capacity} below {promise.root}"


def _untrue(version: Version, promise: _Promise, nodes: Mapping[Key, _Node]) -> Iterator[str]:
    for pair, amount in _sums(promise, nodes).items():
        capacity = promise.capacity.get(pair, 0)
        if pair.partition("/")[0] in promise.flavors and amount != capacity:
            yield f"{_title(version)} says that {pair} is distributed: {amount} are in force, of {capacity}"


def _title(version: Version) -> str:
    return f"version {version.number}: {version.key}"


def _sums(promise: _Promise, nodes: Mapping[Key, _Node]) -> Amounts:
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
