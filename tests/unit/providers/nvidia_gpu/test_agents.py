"""What becomes of nodes whose agents are not heard, have a problem, or write nonsense."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from kueue_dqo.api import dqo
from kueue_dqo.api.core import NodeCondition
from kueue_dqo.provider import Observation, SourceUnavailable
from providers.nvidia_gpu.reports import Reports
from tests.unit.providers.nvidia_gpu.gpus import (
    GPU,
    GRACE,
    NOW,
    SILENT_AFTER,
    Manifest,
    ago,
    amounts,
    decoded,
    manifest,
    node,
    observed,
    published,
    spec,
)

NAMES = tuple(f"n{number}" for number in range(1, 7))
NODES = [node(name) for name in NAMES]
NEVER = dqo.CapacityProviderStatus()


def reports(**changed: Manifest | None) -> list[Manifest]:
    """Reports of all nodes, but for some; None: there is none."""
    found = [changed.get(name, manifest(name)) for name in NAMES]
    return [each for each in found if each is not None]


def silent(name: str, seconds: float) -> Manifest:
    """A report that was renewed last so many seconds before."""
    return manifest(name, renewed=ago(seconds))


# --- one of several ------------------------------------------------------------------------------------------------


def test_an_agent_that_loses_the_library_is_held_for_the_grace_and_then_excluded_by_name() -> None:
    lost = reports(n3=manifest("n3", problem="LibraryNotFound", renewed=ago(60)))
    held = observed(NODES, lost)
    assert amounts(held) == {"h100": {GPU: "48"}}
    assert held.summary == f"h100: 6 nodes, 48 {GPU}; holding n3 until 2026-09-20T10:09:00Z: LibraryNotFound"
    assert held.look_again == GRACE - 60
    (notice,) = held.notices
    assert notice.reason == "NodesHeld"
    assert notice.message.startswith("1 node counts as the agent said last, for 10m at most, LibraryNotFound: n3; ")
    assert "NVML says LibraryNotFound" in notice.message

    later = reports(n3=manifest("n3", problem="LibraryNotFound", renewed=ago(GRACE + 1)))
    excluded = observed(NODES, later)
    assert amounts(excluded) == {"h100": {GPU: "40"}}
    assert excluded.summary == f"h100: 5 nodes, 40 {GPU}; excluded: LibraryNotFound=1 (n3)"
    (notice,) = excluded.notices
    assert notice.reason == "NodesExcluded"
    assert notice.message.startswith("1 node does not count, LibraryNotFound: n3; NVML says LibraryNotFound; look at ")


@pytest.mark.parametrize(
    ("seconds", "amount", "tail"),
    [
        pytest.param(SILENT_AFTER - 1, 48, "", id="not yet"),
        pytest.param(SILENT_AFTER, 48, "; holding n3 until 2026-09-20T10:10:00Z: AgentSilent", id="held"),
        pytest.param(SILENT_AFTER + GRACE - 1, 48, "; holding n3 until 2026-09-20T10:00:01Z: AgentSilent", id="still"),
        pytest.param(SILENT_AFTER + GRACE, 40, "; excluded: AgentSilent=1 (n3)", id="excluded"),
    ],
)
def test_an_agent_that_falls_silent(seconds: float, amount: int, tail: str) -> None:
    observation = observed(NODES, reports(n3=silent("n3", seconds)))
    assert amounts(observation) == {"h100": {GPU: str(amount)}}
    assert observation.summary == f"h100: {amount // 8} nodes, {amount} {GPU}{tail}"


def test_nobody_waits_for_an_agent_on_a_node_that_does_not_count_anyway() -> None:
    """NotReady comes first: the agent of a dead node is silent as well."""
    nodes = [*NODES[:-1], node("n6", unschedulable=True)]
    assert observed(nodes, reports(n6=silent("n6", 3000))).summary == f"h100: 5 nodes, 40 {GPU}; excluded: Cordoned=1"


def test_a_node_that_never_reported_does_not_count_yet() -> None:
    observation = observed(NODES, reports(n3=None))
    assert observation.summary == f"h100: 5 nodes, 40 {GPU}; excluded: NoReport=1 (n3)"
    assert "spec.nodeSelector" in observation.notices[0].message


def test_an_agent_that_has_had_a_problem_from_the_beginning_has_nothing_to_hold() -> None:
    early = manifest("n3", problem="DriverNotLoaded")
    del early["spec"]["inventory"]
    assert observed(NODES, reports(n3=early)).summary == f"h100: 5 nodes, 40 {GPU}; excluded: DriverNotLoaded=1 (n3)"


def test_a_report_with_nothing_in_it_is_none() -> None:
    """An agent creates its report before it has read anything."""
    empty = manifest("n3")
    empty["spec"] = {}
    assert observed(NODES, reports(n3=empty)).summary == f"h100: 5 nodes, 40 {GPU}; excluded: NoReport=1 (n3)"


def test_a_report_that_is_being_deleted_is_held_and_then_given_up_though_its_agent_still_writes_to_it() -> None:
    def after(seconds: float) -> str:
        return observed(NODES, reports(n3=manifest("n3", renewed=ago(5), deleted=ago(seconds)))).summary

    assert after(60) == f"h100: 6 nodes, 48 {GPU}; holding n3 until 2026-09-20T10:09:00Z: AgentSilent"
    assert after(GRACE) == f"h100: 5 nodes, 40 {GPU}; excluded: AgentSilent=1 (n3)"
    assert after(GRACE + SILENT_AFTER) == f"h100: 5 nodes, 40 {GPU}; excluded: NoReport=1 (n3)"


@pytest.mark.parametrize(
    "reason",
    ["Deleting", "NotReady", "Cordoned", "UntoleratedTaint", "AgentSilent", "NoReport", "InvalidReport"],
)
@pytest.mark.parametrize("has_inventory", [True, False])
def test_a_problem_cannot_pass_for_what_others_find(reason: str, *, has_inventory: bool) -> None:
    """A node that is said to be cordoned is not named, and nobody would look at its agent."""
    content = manifest("n3", problem=reason, renewed=ago(GRACE + 1))
    if not has_inventory:
        del content["spec"]["inventory"]
    observation = observed(NODES, reports(n3=content))
    assert observation.summary == f"h100: 5 nodes, 40 {GPU}; excluded: AgentProblem=1 (n3)"
    (notice,) = observation.notices
    assert notice.is_warning
    assert notice.message.startswith(
        f"1 node does not count, AgentProblem: n3; {reason}: NVML says {reason}; look at the agent of node n3"
    )


# --- nonsense ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inventory", "problem"),
    [
        pytest.param({"gpus": -1}, "spec.inventory.gpus: -1 is out of range: 0 to 4096 are allowed", id="negative"),
        pytest.param({"gpus": "8"}, "spec.inventory.gpus: ", id="of another type"),
        pytest.param(
            {"devices": [{"name": GPU, "healthy": 10**12}]},
            f"spec.inventory.devices[0].healthy: {10**12} is out of range: 0 to 4096 are allowed",
            id="huge",
        ),
        pytest.param(
            {"devices": [{"name": "nvidia.com/tpu", "healthy": 8}]},
            f"spec.inventory.devices[0].name: 'nvidia.com/tpu' is no {GPU}, nor nvidia.com/mig-<profile>",
            id="no resource of ours",
        ),
        pytest.param(
            {"devices": [{"name": GPU, "healthy": 8}, {"name": GPU, "healthy": 8}]},
            f"spec.inventory.devices: '{GPU}' is listed more than once",
            id="twice",
        ),
        pytest.param({"devices": [{"name": GPU}]}, "spec.inventory.devices[0]", id="without a number"),
    ],
)
def test_a_report_that_makes_no_sense_excludes_its_own_node_alone(inventory: dict[str, Any], problem: str) -> None:
    observation = observed(NODES, reports(n3=manifest("n3", **inventory)))
    assert amounts(observation) == {"h100": {GPU: "40"}}
    assert observation.summary == f"h100: 5 nodes, 40 {GPU}; excluded: InvalidReport=1 (n3)"
    (notice,) = observation.notices
    assert notice.message.startswith(f"1 node does not count, InvalidReport: n3; NodeGPUReport n3, {problem}")
    assert "kubectl delete nodegpureports.kueue-dqo.dev n3" in notice.message


# --- many at once --------------------------------------------------------------------------------------------------


def test_where_no_agent_is_heard_nothing_is_published() -> None:
    with pytest.raises(SourceUnavailable, match=r"^no agent of any node with GPUs is heard, AgentSilent since "):
        observed(NODES, [silent(name, 3600) for name in NAMES])
    with pytest.raises(SourceUnavailable, match=r"^no agent of any node with GPUs is heard, InvalidReport"):
        observed(NODES, [manifest(name, gpus=-1) for name in NAMES])


def test_many_that_fall_silent_at_once_are_a_broken_observer_unless_the_parameters_say_otherwise() -> None:
    half = reports(n1=silent("n1", 3000), n2=silent("n2", 3010))
    with pytest.raises(SourceUnavailable, match=r"^2 of the 6 agents that were heard fell out within 15m"):
        observed(NODES, half)
    patient = observed(NODES, half, parameters=spec(max_silent_percent=100))
    assert patient.summary == f"h100: 4 nodes, 32 {GPU}; excluded: AgentSilent=2 (n1, n2)"


def test_the_first_capacity_waits_for_the_agents_of_most_nodes() -> None:
    few = reports(n1=None, n2=None)
    with pytest.raises(SourceUnavailable, match=r"^2 of 6 nodes with GPUs have no report yet \(n1, n2\)"):
        observed(NODES, few, status=NEVER)
    assert amounts(observed(NODES, few)) == {"h100": {GPU: "32"}}


def test_a_node_is_looked_at_again_when_its_agent_may_have_fallen_silent() -> None:
    observation = observed(NODES, reports(n2=silent("n2", 200)))
    assert observation.look_again == SILENT_AFTER - 200
    assert datetime.timedelta(seconds=observation.look_again) < NOW - ago(SILENT_AFTER)


# --- nodes that do not count ---------------------------------------------------------------------------------------


def test_nodes_that_are_gone_for_certain_are_taken_off_though_the_last_one_is_silent() -> None:
    down = (NodeCondition("Ready", "Unknown"),)
    nodes = [node("n1"), node("n2", conditions=down), node("n3", conditions=down)]
    seen = [silent("n1", SILENT_AFTER + 60), silent("n2", 3000), silent("n3", 3000)]
    held = observed(nodes, seen, status=published(24))
    assert held.summary == (
        f"h100: 1 node, 8 {GPU}; holding n1 until 2026-09-20T10:09:00Z: AgentSilent; excluded: NotReady=2"
    )
    later = observed(nodes, seen, status=published(8), now=NOW + datetime.timedelta(seconds=GRACE))
    assert later.summary == "h100: 0 nodes; excluded: NotReady=2, AgentSilent=1 (n1)"


def test_the_agent_of_a_cordoned_node_shows_that_the_observer_works() -> None:
    nodes = [node("n1"), node("n2", unschedulable=True)]
    observation = observed(nodes, [silent("n1", 3000), manifest("n2")], status=published(16))
    assert observation.summary == "h100: 0 nodes; excluded: Cordoned=1, AgentSilent=1 (n1)"
    with pytest.raises(SourceUnavailable, match="no agent of any node"):
        observed(nodes, [silent("n1", 3000), silent("n2", 9000)], status=published(16))


# --- no devices ----------------------------------------------------------------------------------------------------


def test_a_report_without_any_gpu_on_a_node_that_has_some_to_allocate_is_no_zero() -> None:
    observation = observed(NODES, reports(n3=manifest("n3", {})))
    assert observation.summary == f"h100: 5 nodes, 40 {GPU}; excluded: NoDevices=1 (n3)"
    assert "the report has no GPU at all" in observation.notices[0].message


def test_a_report_without_any_gpu_on_a_node_without_any_is_no_news() -> None:
    """An agent may run everywhere."""
    plain = node("plain", {})
    assert observed([*NODES, plain], [*reports(), manifest("plain", {})]).summary == f"h100: 6 nodes, 48 {GPU}"
    assert observed([plain], [manifest("plain", {})]).summary == "h100: 0 nodes"


@pytest.mark.parametrize(
    ("useless", "reason"), [({"gpus": -1}, "InvalidReport"), ({"healthy": {}}, "NoDevices")], ids=["invalid", "none"]
)
def test_reports_that_tell_nothing_any_more_are_as_agents_with_a_problem(useless: dict[str, Any], reason: str) -> None:
    def after(count: int, seconds: float) -> Observation:
        known = Reports()
        for name in NAMES:
            known.take(decoded(manifest(name, renewed=ago(30))), ago(20), is_live=False)
        for name in NAMES[:count]:
            known.take(decoded(manifest(name, **useless)), NOW, is_live=True)
        return observed(NODES, known.seen, now=NOW + datetime.timedelta(seconds=seconds))

    held = after(1, 1)
    assert held.summary == f"h100: 6 nodes, 48 {GPU}; holding n1 until 2026-09-20T10:10:00Z: {reason}"
    assert after(1, GRACE).summary == f"h100: 5 nodes, 40 {GPU}; excluded: {reason}=1 (n1)"
    with pytest.raises(SourceUnavailable, match=rf"^5 of the 6 agents that were heard fell out .*, {reason} since"):
        after(5, GRACE - 1)
