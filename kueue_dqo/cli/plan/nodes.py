"""Warnings about what capacity is counted from: nodes that are missing, agents that say nothing. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from kueue_dqo.api import dqo
from kueue_dqo.api.core import NODE, Node
from kueue_dqo.api.gpu import NODE_GPU_REPORT, NodeGPUReport
from kueue_dqo.api.kueue import RESOURCE_FLAVOR, ResourceFlavor
from kueue_dqo.api.parameters import (
    NODE_CONTROLLERS,
    NODE_INVENTORY_CONTROLLER,
    NODE_INVENTORY_PARAMETERS,
    NVIDIA_GPU_CONTROLLER,
    NVIDIA_GPU_PARAMETERS,
    LabelSelector,
    NodeParametersSpec,
    ParametersObject,
)
from kueue_dqo.api.wording import some
from kueue_dqo.cli.plan.computation import Plan

_KINDS: Final = {
    NODE_INVENTORY_CONTROLLER: NODE_INVENTORY_PARAMETERS,
    NVIDIA_GPU_CONTROLLER: NVIDIA_GPU_PARAMETERS,
}
_EVERYTHING: Final = LabelSelector()


def without_nodes(plan: Plan) -> Iterator[str]:
    """Zero nodes are an answer, but seldom the one that was meant."""
    nodes: Iterable[Node] = plan.manifests.of_kind(NODE).values()
    flavors: Mapping[str, ResourceFlavor] = plan.manifests.of_kind(RESOURCE_FLAVOR)
    publishing = [
        name for name in _computed(plan, NODE_CONTROLLERS) if plan.providers[name].status.capacity is not None
    ]
    if publishing and not nodes:
        way_out = "" if plan.manifests.is_live else "; add `kubectl get nodes -o json`"
        yield f"there is no Node in {plan.manifests.origin}: the capacity of {', '.join(publishing)} is zero{way_out}"
        return
    for name in publishing:
        selector = selector_of(plan.providers[name], plan)
        selects_all = selector == _EVERYTHING
        selected = nodes if selects_all else [node for node in nodes if selector.selects(node.metadata.labels)]
        compared = "nodeLabels" if selects_all else "nodeLabels, and the nodeSelector of the parameters,"
        for flavor in plan.providers[name].flavor_names:
            if flavor in flavors and not any(matches(flavors[flavor], node) for node in selected):
                yield (
                    f"no Node matches flavor {flavor} of CapacityProvider {name}: its capacity is zero; compare "
                    f"the flavor's {compared} with the labels of the nodes"
                )


def without_reports(plan: Plan) -> Iterator[str]:
    """Without the word of any agent, nothing is known of GPUs, and nothing is published."""
    waiting = _computed(plan, {NVIDIA_GPU_CONTROLLER})
    if waiting and not plan.manifests.of_kind(NODE_GPU_REPORT):
        way_out = (
            "look at the agents: kubectl get pods -A -l app.kubernetes.io/component=nvidia-gpu-agent"
            if plan.manifests.is_live
            else "add `kubectl get nodegpureports -o json`"
        )
        yield (
            f"there is no NodeGPUReport in {plan.manifests.origin}: nothing is known of the GPUs of CapacityProvider "
            f"{some(waiting)}; {way_out}"
        )


def agents_with_problems(plan: Plan) -> Iterator[str]:
    """A plan takes what such an agent read last; a cluster does so for a while only."""
    reports: Mapping[str, NodeGPUReport] = plan.manifests.of_kind(NODE_GPU_REPORT)
    nodes: Mapping[str, Node] = plan.manifests.of_kind(NODE)
    for provider in _computed(plan, {NVIDIA_GPU_CONTROLLER}):
        troubled = [
            f"{name} ({report.spec.problem.reason} since {report.spec.problem.since})"
            for name, report in sorted(reports.items())
            if report.spec.problem is not None and report.spec.inventory is not None
            if name in nodes and _belongs_to(nodes[name], plan.providers[provider], plan)
        ]
        if troubled:
            yield (
                f"the agent cannot read NVML on {some(troubled)}: what it read last counts here for CapacityProvider "
                f"{provider}; in a cluster it does so for `agents.grace` of the parameters, and no longer"
            )


def selector_of(provider: dqo.CapacityProvider, plan: Plan) -> LabelSelector:
    """Which nodes may be those of a provider that counts nodes, by its parameters."""
    known: Mapping[str, ParametersObject[NodeParametersSpec]]
    known = plan.manifests.of_kind(_KINDS[provider.spec.controller_name])
    ref = provider.spec.parameters
    return known[ref.name].spec.node_selector if ref is not None and ref.name in known else _EVERYTHING


def matches(flavor: ResourceFlavor, node: Node) -> bool:
    """Whether the node carries all labels of the flavor."""
    return flavor.spec.node_labels.items() <= node.metadata.labels.items()


def _belongs_to(node: Node, provider: dqo.CapacityProvider, plan: Plan) -> bool:
    flavors: Mapping[str, ResourceFlavor] = plan.manifests.of_kind(RESOURCE_FLAVOR)
    return selector_of(provider, plan).selects(node.metadata.labels) and any(
        matches(flavors[name], node) for name in provider.flavor_names if name in flavors
    )


def _computed(plan: Plan, controllers: Iterable[str]) -> list[str]:
    """The names of the providers of these controllers that are computed here."""
    return sorted(name for name in plan.computed_providers if plan.providers[name].spec.controller_name in controllers)
