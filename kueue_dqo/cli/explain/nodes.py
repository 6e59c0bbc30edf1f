"""Of an admitted Workload: on how many of the nodes that are there its pods could stand. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from admission.amounts import written
from admission.flavors import untolerated_taint
from admission.pods import in_units
from admission.settling import Simulation
from admission.state import PODS, WorkloadState
from admission.world import CountedPods
from kueue_dqo.api.core import NODE, Node
from kueue_dqo.api.kueue import RESOURCE_FLAVOR
from kueue_dqo.api.wording import counted
from kueue_dqo.api.workloads import ADMITTED


def node_side(simulation: Simulation, workload: WorkloadState) -> Iterator[str]:
    """If Nodes are among the objects: how many are of its flavors, and how many of its pods empty ones could hold."""
    nodes: list[Node] = list(simulation.world.of_kind(NODE).values())
    if not nodes or not workload.is_true(ADMITTED):
        return
    flavors = simulation.world.of_kind(RESOURCE_FLAVOR)
    pods_of = {pods.name: pods for pods in workload.counted.pods}
    for assigned in workload.assigned:
        pods = pods_of.get(assigned.name)
        names = sorted(set(assigned.flavors.values()))
        if pods is None or any(name not in flavors for name in names):
            continue
        labels: dict[str, str] = {}
        tolerations = list(pods.spec.tolerations)
        for name in names:
            labels |= flavors[name].spec.node_labels
            tolerations += flavors[name].spec.tolerations
        wanted = labels | pods.spec.node_selector
        fitting = [each for each in nodes if wanted.items() <= each.metadata.labels.items()]
        usable = [
            each
            for each in fitting
            if each.is_ready
            and not each.spec.unschedulable
            and untolerated_taint(each.spec.taints, tolerations) is None
        ]
        room = sum(_room(each, pods) for each in usable)
        yield (
            f"nodes: {assigned.name} needs {counted(assigned.count, 'pod')} on {', '.join(names)}; of "
            f"{counted(len(fitting), 'node')} with its labels {len(usable)} can be used; empty they would hold {room}"
        )
        if room < assigned.count:
            asked = ", ".join(f"{written(name, amount)} {name}" for name, amount in sorted(pods.requests.items()))
            yield f"nodes: not all of its pods find a place, however empty they are: each asks for {asked}"


def _room(node: Node, pods: CountedPods) -> int:
    """How many of the pods an empty node would hold."""
    allocatable = in_units(node.status.allocatable)
    rooms = [allocatable.get(name, 0) // amount for name, amount in pods.requests.items() if amount and name != PODS]
    return min([allocatable.get(PODS, 110), *rooms])
