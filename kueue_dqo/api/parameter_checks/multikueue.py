"""Whose quota worker clusters make up, and which of their flavors counts as which of the manager's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kueue_dqo.api import dqo
from kueue_dqo.api.durations import Duration
from kueue_dqo.api.multikueue import Counts, FlavorMapping, ManagerQueues, MultiKueueParametersSpec
from kueue_dqo.api.problems import OBJECT_NAME, FieldProblem, shown, unique

MAX_CLUSTER_QUEUES: Final = 64
MAX_MAPPINGS: Final = 128
MAX_CLUSTERS: Final = 64
"""Of one entry of the mapping."""
MAX_WORKER_PROVIDERS: Final = 64
LONGEST_GRACE: Final = Duration(24 * 3600)
"""What was read of a worker a day ago says nothing of it any more."""


def multikueue_problems(spec: MultiKueueParametersSpec) -> Iterator[FieldProblem]:
    """Every problem of the fields that only this provider has."""
    yield from _manager_queues("spec.managerQueues", spec.manager_queues)
    yield from _mapping("spec.flavorMapping", spec.flavor_mapping)
    if spec.other_flavors is not None:
        yield from OBJECT_NAME.problems("spec.otherFlavors", spec.other_flavors)
    yield from _worker_providers("spec.workerProviders", spec)
    grace = spec.unavailable_workers.grace
    if grace > LONGEST_GRACE:
        yield FieldProblem("spec.unavailableWorkers.grace", f"{grace} is too long: at most 24h are allowed")


def _manager_queues(field: str, queues: ManagerQueues) -> Iterator[FieldProblem]:
    if (queues.subtree is None) == (not queues.cluster_queues):
        has = "neither" if queues.subtree is None else "both"
        yield FieldProblem(field, f"has {has} of subtree and clusterQueues: give one of them")
    if queues.subtree is not None:
        if queues.subtree.kind not in dqo.ROOT_KINDS:
            kinds = " nor ".join(dqo.ROOT_KINDS)
            yield FieldProblem(f"{field}.subtree.kind", f"{shown(queues.subtree.kind)} is neither {kinds}")
        yield from OBJECT_NAME.problems(f"{field}.subtree.name", queues.subtree.name)
    yield from _names(f"{field}.clusterQueues", queues.cluster_queues, MAX_CLUSTER_QUEUES)


def _mapping(field: str, mapping: tuple[FlavorMapping, ...]) -> Iterator[FieldProblem]:
    if len(mapping) > MAX_MAPPINGS:
        yield FieldProblem(field, f"{len(mapping)} entries; at most {MAX_MAPPINGS} are allowed")
    for index, entry in enumerate(mapping):
        yield from OBJECT_NAME.problems(f"{field}[{index}].workerFlavor", entry.worker_flavor)
        yield from OBJECT_NAME.problems(f"{field}[{index}].flavor", entry.flavor)
        yield from _names(f"{field}[{index}].clusters", entry.clusters, MAX_CLUSTERS)
    yield from _never_reached(field, mapping)


def _never_reached(field: str, mapping: tuple[FlavorMapping, ...]) -> Iterator[FieldProblem]:
    """Of several entries that fit, the first counts; so a later one for the same is a slip of the pen."""
    of_all: dict[str, int] = {}
    of_one: dict[tuple[str, str], int] = {}
    for index, entry in enumerate(mapping):
        name = entry.worker_flavor
        if name in of_all:
            yield FieldProblem(
                f"{field}[{index}]",
                f"is never reached: {field}[{of_all[name]}] is for {shown(name)} of all clusters already; put that one "
                "last, or take one of the two out",
            )
            continue
        if not entry.clusters:
            of_all[name] = index
        for cluster in dict.fromkeys(entry.clusters):
            first = of_one.setdefault((name, cluster), index)
            if first != index:
                yield FieldProblem(
                    f"{field}[{index}].clusters",
                    f"{shown(name)} of {shown(cluster)} is mapped by {field}[{first}] already: take {shown(cluster)} "
                    "out of one of the two",
                )


def _worker_providers(field: str, spec: MultiKueueParametersSpec) -> Iterator[FieldProblem]:
    if spec.worker_providers and spec.counts != Counts.WORKER_PROVIDERS:
        yield FieldProblem(
            field,
            f"names CapacityProviders of workers, which do not count with counts {spec.counts}: set spec.counts to "
            f"{Counts.WORKER_PROVIDERS}, or leave this field out",
        )
    yield from _names(field, spec.worker_providers, MAX_WORKER_PROVIDERS)


def _names(field: str, names: tuple[str, ...], most: int) -> Iterator[FieldProblem]:
    """Of a list of objects, each named once."""
    yield from unique(field, names, most)
    for index, name in enumerate(names):
        yield from OBJECT_NAME.problems(f"{field}[{index}]", name)
