"""The statuses that our daemons would write first, from objects alone: for a plan. Pure.

Parameters, observation and settlement are those of the daemons. No guard holds anything back: guards compare with what
is published, and that is nothing yet. No agent is found silent either: a report holds, however old it is.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import msgspec

from kueue_dqo.api import dqo
from kueue_dqo.api.core import Node, Pod
from kueue_dqo.api.gpu import NodeGPUReport, owning_node
from kueue_dqo.api.kueue import ResourceFlavor
from kueue_dqo.api.meta import OUR_GROUP, ObjectKey
from kueue_dqo.api.parameters import (
    COMPOSITE_CONTROLLER,
    COMPOSITE_PARAMETERS,
    MANUAL_CAPACITY,
    MANUAL_CONTROLLER,
    NODE_INVENTORY_CONTROLLER,
    NODE_INVENTORY_PARAMETERS,
    NVIDIA_GPU_CONTROLLER,
    NVIDIA_GPU_PARAMETERS,
    CommonParameters,
    CompositeParametersSpec,
    ManualCapacitySpec,
    NodeInventoryParametersSpec,
    NodeParametersSpec,
    NvidiaGpuParametersSpec,
    ParametersObject,
)
from kueue_dqo.provider import CapacityError, Misconfigured, Observation, Peer, Request, WithoutParameters
from providers.composite import compute as composite
from providers.manual import compute as manual
from providers.node_inventory import compute as node_inventory
from providers.nodes.pods import NodePods, PodIndex, use_of
from providers.nvidia_gpu import compute as nvidia_gpu
from providers.nvidia_gpu.decoding import telling
from providers.nvidia_gpu.hearing import Seen
from providers.parameters import HeldParameters, Kind, parameters_of
from providers.pipeline import check_flavors, message_of_status, settle
from providers.status import Held, Verdict, condition_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Objects:
    """What our providers read, by name."""

    providers: Mapping[str, dqo.CapacityProvider]
    """Of whatever controller, with a generation."""
    parameters: Mapping[str, Mapping[str, ParametersObject[Any]]] = field(default_factory=dict)
    """By kind, then by name."""
    unusable: Mapping[ObjectKey, str] = field(default_factory=dict)
    """Parameters that are there and cannot be used, and why."""
    flavors: Mapping[str, ResourceFlavor] = field(default_factory=dict)
    nodes: Collection[Node] = ()
    pods: Collection[Pod] = ()
    reports: Mapping[str, NodeGPUReport] = field(default_factory=dict)
    """By the name of the node."""
    declared: Mapping[str, AbstractSet[str]] = field(default_factory=dict)
    """The resources that some queue has a quota for, by flavor."""


class _Cluster(NamedTuple):
    """What those count that count nodes."""

    nodes: Collection[Node]
    reports: Mapping[str, Seen]
    declared: Mapping[str, AbstractSet[str]]
    pods: Mapping[str, NodePods]


class _Controller(NamedTuple):
    """What a daemon knows of its controller, less input and output."""

    kind: str
    """Of the parameters."""
    spec: type[CommonParameters]
    without_parameters: WithoutParameters
    observe: Callable[[Request[Any], _Cluster], Observation]


CONTROLLERS: Final = {
    NODE_INVENTORY_CONTROLLER: _Controller(
        NODE_INVENTORY_PARAMETERS,
        NodeInventoryParametersSpec,
        WithoutParameters.DEFAULTS,
        lambda request, cluster: node_inventory.observe(request, cluster.nodes, cluster.declared, cluster.pods),
    ),
    NVIDIA_GPU_CONTROLLER: _Controller(
        NVIDIA_GPU_PARAMETERS,
        NvidiaGpuParametersSpec,
        WithoutParameters.DEFAULTS,
        lambda request, cluster: (
            nvidia_gpu.observe(request, cluster.nodes, cluster.reports, cluster.declared, cluster.pods).observation
        ),
    ),
    MANUAL_CONTROLLER: _Controller(
        MANUAL_CAPACITY,
        ManualCapacitySpec,
        WithoutParameters.BY_HAND,
        lambda request, _: manual.observe(request),
    ),
    COMPOSITE_CONTROLLER: _Controller(
        COMPOSITE_PARAMETERS,
        CompositeParametersSpec,
        WithoutParameters.MISCONFIGURED,
        lambda request, _: composite.observe(request),
    ),
}
"""Our controllers, by the name that a CapacityProvider gives."""
PARAMETERS_KINDS: Final = tuple(each.kind for each in CONTROLLERS.values())
"""The kinds of their parameters."""


def first_statuses(objects: Objects, now: datetime.datetime) -> dict[str, dqo.CapacityProvider]:
    """Every CapacityProvider of ours that has no status, with the one that its daemon would write at that time (UTC).

    Not those that are being deleted, nor those whose status is written by hand. A composite is computed after its
    members; one of these that has a status is taken as it stands.
    """
    ours = _ours(objects)
    cluster = _Cluster(
        objects.nodes,
        _seen(objects.reports, now),
        objects.declared,
        _pods_by_node(objects.pods) if depending_on_pods(objects) else {},
    )
    providers = dict(objects.providers)
    computed: dict[str, dqo.CapacityProvider] = {}
    for name in _members_first(ours):
        provider, controller, parameters = ours[name]
        request = Request(
            provider=provider,
            parameters=parameters,
            flavors=objects.flavors,
            peers=_peers(name, ours),
            providers=providers,
            now=now,
        )
        status = _first_status(request, controller, cluster)
        computed[name] = providers[name] = msgspec.structs.replace(provider, status=status)
    return computed


def depending_on_time(objects: Objects) -> list[str]:
    """The names of those that are computed, and at another time perhaps otherwise from the same objects."""
    return sorted(
        name
        for name, each in _ours(objects).items()
        if each.is_computed
        and (
            (isinstance(each.parameters, ManualCapacitySpec) and each.parameters.overrides)
            or (isinstance(each.parameters, NodeInventoryParametersSpec) and each.parameters.ready_delay)
        )
    )


def depending_on_pods(objects: Objects) -> list[str]:
    """The names of those that are computed, and whose parameters have pods counted."""
    return sorted(
        name
        for name, each in _ours(objects).items()
        if each.is_computed and isinstance(each.parameters, NodeParametersSpec) and each.parameters.needs_pods
    )


def depending_on_reports(objects: Objects) -> list[str]:
    """The names of those that are computed from reports of GPUs."""
    return sorted(
        name
        for name, each in _ours(objects).items()
        if each.is_computed and isinstance(each.parameters, NvidiaGpuParametersSpec)
    )


class _Ours(NamedTuple):
    """A CapacityProvider that is a controller's of ours to keep."""

    provider: dqo.CapacityProvider
    controller: _Controller
    parameters: CommonParameters | Misconfigured

    @property
    def is_computed(self) -> bool:
        """Whether its daemon has yet to write its first status."""
        return not self.provider.has_status and self.provider.metadata.deletion_timestamp is None


def _ours(objects: Objects) -> dict[str, _Ours]:
    """By name, in the order of the names."""
    found: dict[str, _Ours] = {}
    for name, provider in sorted(objects.providers.items()):
        controller = CONTROLLERS.get(provider.spec.controller_name)
        if controller is None:
            continue
        is_by_hand = provider.spec.parameters is None and controller.without_parameters is WithoutParameters.BY_HAND
        if not is_by_hand:
            found[name] = _Ours(provider, controller, _parameters_of(provider, controller, objects))
    return found


def _parameters_of(
    provider: dqo.CapacityProvider, controller: _Controller, objects: Objects
) -> CommonParameters | Misconfigured:
    kind = Kind(OUR_GROUP, controller.kind, controller.spec)

    def find(name: str) -> HeldParameters | None:
        problem = objects.unusable.get(ObjectKey(kind.kind, name))
        if problem is not None:
            return HeldParameters(None, problem)
        found = objects.parameters.get(kind.kind, {}).get(name)
        return HeldParameters(found.spec) if found is not None else None

    try:
        return parameters_of(provider, kind, controller.without_parameters, find)
    except Misconfigured as error:
        return error


def _members_first(ours: Mapping[str, _Ours]) -> list[str]:
    """Those that are to be computed: each behind the members that it takes its capacity from, a ring in any order."""
    done: dict[str, None] = {}
    begun: set[str] = set()
    waiting = [name for name, each in ours.items() if each.is_computed][::-1]
    while waiting:
        name = waiting[-1]
        if name in begun:
            done.setdefault(waiting.pop())
            continue
        begun.add(name)
        spec = ours[name].parameters
        members = [member.name for member in spec.members] if isinstance(spec, CompositeParametersSpec) else []
        waiting += [member for member in members if member in ours and ours[member].is_computed and member not in begun]
    return list(done)


def _peers(name: str, ours: Mapping[str, _Ours]) -> tuple[Peer[Any], ...]:
    return tuple(
        Peer(each.provider, each.parameters if isinstance(each.parameters, CommonParameters) else None)
        for other, each in ours.items()
        if other != name and each.controller is ours[name].controller
    )


def _pods_by_node(pods: Iterable[Pod]) -> Mapping[str, NodePods]:
    index = PodIndex()
    for pod in pods:
        index.change(None, use_of(pod))
    return index.nodes


def _seen(reports: Mapping[str, NodeGPUReport], now: datetime.datetime) -> Mapping[str, Seen]:
    """Every report as if it were just written: how old one is by the time of a plan says nothing of its agent.

    A problem beside an inventory is left out, since the inventory holds while nobody waits. One alone is told.
    """
    seen: dict[str, Seen] = {}
    for name, report in reports.items():
        spec = telling(report.spec)
        if spec.inventory is not None and spec.problem is not None:
            spec = msgspec.structs.replace(spec, problem=None)
        seen[name] = Seen(
            msgspec.structs.replace(report, spec=spec),
            now,
            now if spec.problem is not None else None,
            owner=owning_node(report.metadata.owner_references),
        )
    return seen


def _first_status(request: Request[Any], controller: _Controller, cluster: _Cluster) -> dqo.CapacityProviderStatus:
    provider, parameters = request.provider, request.parameters
    try:
        if isinstance(parameters, Misconfigured):
            raise parameters
        check_flavors(provider, request.flavors)
        observation = controller.observe(request, cluster)
        settled = settle(provider, parameters, observation.capacity)
    except CapacityError as error:
        verdict = Verdict(error.reason, str(error))
    else:
        message = message_of_status((), observation.summary, settled.notes)
        verdict = Verdict(dqo.SYNCHRONIZED, message, settled.capacity)
    condition = condition_of(Held(provider, resource_version=""), verdict, now="")
    # Nobody knows when it will be written, and two plans of the same files are to be the same.
    condition = msgspec.structs.replace(condition, last_transition_time=None)
    return dqo.CapacityProviderStatus(verdict.capacity, (condition,))
