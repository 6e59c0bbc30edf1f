"""What is kept from one look to the next changes the time that a look takes, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kueue_dqo.api.core import Node
from kueue_dqo.api.parameters import Cordoned, MigStrategy, SharedResource
from kueue_dqo.provider import CapacityError
from providers.nodes.pods import NodePods
from providers.nvidia_gpu import memory as memories
from providers.nvidia_gpu.counting import contribution_of
from providers.nvidia_gpu.decoding import Report
from providers.nvidia_gpu.memory import Memory
from providers.nvidia_gpu.reports import Reports
from tests.unit.providers.nvidia_gpu.gpus import GPU, NOW, SMALL, Manifest, ago, decoded, manifest, node, observed, spec

NAMES = ("n1", "n2", "n3")
PARAMETERS = (
    spec(max_silent_percent=100),
    spec(max_silent_percent=100, mig_strategy=MigStrategy.MIXED, cordoned=Cordoned.COUNT_ALLOCATED),
    spec(max_silent_percent=100, sharing=(SharedResource(GPU, 3),), cap_by_allocatable=False),
)
nodes = st.builds(
    node,
    st.sampled_from(NAMES),
    st.sampled_from([{}, {GPU: 8}, {GPU: 5, SMALL: 7}, {SMALL: 3}]),
    unschedulable=st.booleans(),
    labels=st.sampled_from([{}, {"nvidia.com/mig.strategy": "single"}, {f"{GPU}.replicas": "2"}]),
)
manifests = st.builds(
    manifest,
    st.sampled_from(NAMES),
    st.sampled_from([{GPU: 8}, {GPU: 7, SMALL: 7}, {}]),
    broken=st.sampled_from([{}, {"GPU-5a": "Lost"}]),
    problem=st.sampled_from(["", "NVMLError"]),
    renewed=st.sampled_from([NOW, ago(100), ago(1000), ago(4000)]),
    gpus=st.sampled_from([8, 7, -1]),
)
steps = st.lists(st.tuples(st.one_of(nodes, manifests), st.sampled_from(PARAMETERS)), max_size=10)
PODS = {name: NodePods({GPU: 2 * 10**9}, {}) for name in NAMES}


def outcome(*args: Any, **more: Any) -> object:
    try:
        return observed(*args, **more)
    except CapacityError as error:
        return type(error), str(error)


@settings(max_examples=100)
@given(steps)
def test_looks_with_and_without_memory_see_the_same(changes: Sequence[tuple[Node | Manifest, Any]]) -> None:
    memory, known = Memory(), Reports()
    held: dict[str, Report] = {}
    present: dict[str, Node] = {}
    for change, parameters in changes:
        if isinstance(change, Node):
            present[change.metadata.name] = change
        else:
            name = change["metadata"]["name"]
            held[name] = decoded(change, held.get(name))
            known.take(held[name], NOW, is_live=False)
        seen = (list(present.values()), known.seen)
        question = {"parameters": parameters, "pods": PODS}
        other = Memory()
        other.suspicion = memory.suspicion  # that is not to save time
        assert outcome(*seen, memory=memory, **question) == outcome(*seen, memory=other, **question)


def test_only_nodes_that_changed_are_computed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[str] = []
    original = contribution_of

    def counting(one: Node, *more: Any) -> Any:
        computed.append(one.metadata.name)
        return original(one, *more)

    monkeypatch.setattr(memories, "contribution_of", counting)
    memory, known = Memory(), Reports()
    held = {name: decoded(manifest(name, renewed=ago(100))) for name in NAMES}
    for report in held.values():
        known.take(report, NOW, is_live=False)
    present = {name: node(name) for name in NAMES}

    def look(parameters: Any = PARAMETERS[0]) -> list[str]:
        computed.clear()
        observed(present.values(), known.seen, parameters=parameters, memory=memory)
        return list(computed)

    assert look() == list(NAMES)
    assert look() == []
    known.take(decoded(manifest("n2"), held["n2"]), NOW, is_live=True)
    assert look() == []  # a heartbeat
    known.take(decoded(manifest("n2", {GPU: 7}, broken={"GPU-5a": "Lost"}), held["n2"]), NOW, is_live=True)
    assert look() == ["n2"]
    present["n1"] = node("n1", {GPU: 5})
    assert look() == ["n1"]
    assert look(PARAMETERS[1]) == list(NAMES)
    gone = present.pop("n3")
    look(PARAMETERS[1])
    present["n3"] = gone
    assert look(PARAMETERS[1]) == ["n3"]  # what is gone is forgotten
