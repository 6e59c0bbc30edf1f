"""Nodes of which nothing is known when a process begins: they may be in the capacity that is published."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from kueue_dqo.api.parameters import Headroom, ResourceSelection
from kueue_dqo.provider import SourceUnavailable
from providers.nodes.claims import Claim
from providers.nvidia_gpu.memory import Memory
from providers.nvidia_gpu.reports import Reports
from tests.unit.providers.nvidia_gpu.gpus import (
    GPU,
    NOW,
    Manifest,
    ago,
    amounts,
    decoded,
    flavor,
    manifest,
    node,
    observed,
    published,
    spec,
)

NAMES = tuple(f"n{number:02}" for number in range(10))
NODES = [node(name) for name in NAMES]


def gpus_of(reports: Any, nodes: Iterable[Any] = NODES, *, before: int = 80, **more: Any) -> int | None:
    """What is published next where so many GPUs are; None where that stays."""
    try:
        observation = observed(nodes, reports, status=more.pop("status", published(before)), **more)
    except SourceUnavailable:
        return None
    return int(amounts(observation)["h100"][GPU])


def reports(*names: str) -> list[Manifest]:
    return [manifest(name) for name in names]


@pytest.mark.parametrize(
    ("reported", "gpus"), [(0, None), (1, None), (5, None), (7, None), (8, 64), (9, 72), (10, 80)], ids=str
)
def test_a_capacity_does_not_collapse_to_the_agents_that_report_first(reported: int, gpus: int | None) -> None:
    """All reports were deleted while nobody watched, or another controller kept the capacity before."""
    assert gpus_of(reports(*NAMES[:reported])) == gpus


def test_of_several_nodes_a_single_one_without_report_is_left_out_however_few_there_are() -> None:
    assert gpus_of(reports("n00", "n01"), NODES[:3], before=24) == 16


def test_where_nothing_falls_any_number_of_new_nodes_waits_for_nobody() -> None:
    many = [node(f"n{number:02}") for number in range(100)]
    assert gpus_of(reports("n00"), many, before=8) == 8
    assert gpus_of(reports("n00"), many, before=9) is None


def test_what_falls_later_is_not_the_fault_of_nodes_that_have_never_counted() -> None:
    """A process that has counted knows what its capacity consists of."""
    memory = Memory()
    assert gpus_of(reports(*NAMES[:5]), before=40, memory=memory) == 40
    gone = [each for each in NODES if each.metadata.name != "n00"]
    assert gpus_of(reports(*NAMES[:5]), gone, before=40, memory=memory) == 32
    assert gpus_of(reports(*NAMES[:5]), gone, before=40) is None


def test_a_look_that_published_nothing_is_none() -> None:
    memory = Memory()
    assert gpus_of(reports("n00"), memory=memory) is None
    assert gpus_of(reports("n00"), memory=memory) is None


@pytest.mark.parametrize("kind", ["nonsense", "no devices", "a problem since the beginning"])
def test_reports_that_tell_nothing_are_as_none(kind: str) -> None:
    def useless(name: str) -> Manifest:
        if kind == "nonsense":
            return manifest(name, gpus=-1)
        if kind == "no devices":
            return manifest(name, {})
        content = manifest(name, problem="LibraryNotFound")
        del content["spec"]["inventory"]
        return content

    assert gpus_of([*map(useless, NAMES[:3]), *reports(*NAMES[3:])]) is None
    assert gpus_of([*map(useless, NAMES[:2]), *reports(*NAMES[2:])]) == 64


def test_reports_that_somebody_deleted_on_purpose_are_not_waited_for() -> None:
    known = Reports()
    for name in NAMES:
        known.take(decoded(manifest(name, renewed=ago(5000 if name < "n03" else 10))), NOW, is_live=False)
    for name in NAMES[:3]:
        known.lose(name, NOW, node="")
    assert gpus_of(known.seen) == 56


def test_the_percentage_is_a_parameter() -> None:
    some = reports(*NAMES[:7])
    assert gpus_of(some, parameters=spec(max_silent_percent=30)) == 56
    assert gpus_of(reports("n00"), parameters=spec(max_silent_percent=100)) == 8
    assert gpus_of(reports(*NAMES[:8]), parameters=spec(max_silent_percent=0)) is None


def test_only_what_the_unknown_nodes_may_have_can_fall_by_them() -> None:
    """Not CPUs, which another controller reported before; not what is not reported; not another flavor."""
    few = reports("n00")
    assert gpus_of(few, status=published(8, more={"cpu": 640})) == 8
    only = spec(resources=ResourceSelection((GPU,)))
    assert gpus_of(few, status=published(8, more={f"{GPU}.shared": 32}), parameters=only) == 8
    assert gpus_of(few, status=published(8, more={f"{GPU}.shared": 32})) is None
    flavors = [flavor("h100"), flavor("a100", {"pool": "b"})]
    claim = Claim("mine", ("h100", "a100"))
    assert gpus_of(few, status=published(80, "a100"), flavors=flavors, claim=claim) == 8
    assert gpus_of(few, status=published(80, "h100"), flavors=flavors, claim=claim) is None


def test_what_headroom_keeps_back_was_not_published_either() -> None:
    parameters = spec(headroom=(Headroom("h100", GPU, percent=50),))
    assert gpus_of(reports(*NAMES[:5]), before=20, parameters=parameters) == 40
    assert gpus_of(reports(*NAMES[:5]), before=21, parameters=parameters) is None


def test_what_is_told() -> None:
    content = [*reports(*NAMES[3:]), manifest("n00", gpus=-1)]
    with pytest.raises(SourceUnavailable) as raised:
        observed(NODES, content, status=published(80))
    message = str(raised.value)
    assert message.startswith("nothing is known of 3 of 10 nodes with GPUs, InvalidReport since 2026-09-20T10:00:00Z ")
    for part in (
        "(n00), NoReport (n01, n02): more than",
        "maxSilentPercent of the parameters, 20, so that the last capacity",
        "kubectl logs",
        "spec.nodeSelector",
        "maxSilentPercent: 100 does not wait for them",
    ):
        assert part in message
