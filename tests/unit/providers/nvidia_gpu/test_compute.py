"""What nodes and reports add up to while every agent is heard."""

from __future__ import annotations

from typing import Any

import pytest

from kueue_dqo.api.core import Node, NodeCondition, Taint, Toleration
from kueue_dqo.api.parameters import Cordoned, MigStrategy, ResourceSelection, SharedResource
from kueue_dqo.provider import InvalidCapacity, Misconfigured
from providers.nodes.claims import Claim
from providers.nodes.pods import NodePods
from providers.nvidia_gpu.memory import Memory
from tests.unit.providers.nvidia_gpu.gpus import (
    GPU,
    SINCE,
    SMALL,
    Manifest,
    amounts,
    flavor,
    manifest,
    node,
    observed,
    spec,
)

NAMES = ("n1", "n2", "n3")
LOST = {"GPU-5a": "Lost"}


def three(**changed: Manifest) -> list[Manifest]:
    """Reports of three nodes of 8 GPUs, but for some."""
    return [changed.get(name, manifest(name)) for name in NAMES]


def nodes(**changed: Node) -> list[Node]:
    return [changed.get(name, node(name)) for name in NAMES]


# --- healthy and unhealthy -----------------------------------------------------------------------------------------


def test_a_lost_gpu_is_taken_off_and_named_with_its_node_and_reason() -> None:
    observation = observed(nodes(), three(n2=manifest("n2", {GPU: 7}, broken=LOST)))
    assert amounts(observation) == {"h100": {GPU: "23"}}
    assert observation.summary == f"h100: 3 nodes, 23 {GPU}; unhealthy: n2 GPU-5a Lost since {SINCE}"


def test_a_node_that_is_not_ready_takes_all_its_gpus_with_it() -> None:
    broken = node("n2", conditions=(NodeCondition("Ready", "Unknown"),))
    observation = observed(nodes(n2=broken), three(n2=manifest("n2", {GPU: 7}, broken=LOST)))
    assert amounts(observation) == {"h100": {GPU: "16"}}
    assert observation.summary == f"h100: 2 nodes, 16 {GPU}; excluded: NotReady=1"


def test_a_node_all_of_whose_gpus_are_unhealthy_counts_with_an_explicit_zero() -> None:
    dead = manifest("n1", {}, broken={f"GPU-{number}": "Xid79" for number in range(8)})
    observation = observed([node("n1")], [dead])
    assert amounts(observation) == {"h100": {GPU: "0"}}
    assert observation.summary.startswith(f"h100: 1 node, 0 {GPU}; unhealthy: n1 GPU-0 Xid79 since ")


# --- names ---------------------------------------------------------------------------------------------------------

ONE_CUT = manifest("n1", {GPU: 7, SMALL: 7}, mig_gpus=1)
CUT_HAS = {GPU: 7, SMALL: 7}


@pytest.mark.parametrize(
    ("labels", "strategy"),
    [
        pytest.param({"nvidia.com/mig.strategy": "mixed"}, MigStrategy.AUTO, id="by the label"),
        pytest.param({}, MigStrategy.MIXED, id="by the parameters"),
    ],
)
def test_one_gpu_that_is_cut_under_mixed(labels: dict[str, str], strategy: MigStrategy) -> None:
    observation = observed([node(has=CUT_HAS, labels=labels)], [ONE_CUT], parameters=spec(mig_strategy=strategy))
    assert amounts(observation) == {"h100": {GPU: "7", SMALL: "7"}}


BY_LABELS = {f"{GPU}.replicas": "4", f"{GPU}.sharing-strategy": "time-slicing", f"{GPU}.product": "H100-SHARED"}
BY_PARAMETERS = spec(sharing=(SharedResource(GPU, 4),))


@pytest.mark.parametrize(
    ("labels", "parameters"),
    [pytest.param(BY_LABELS, spec(), id="by labels"), pytest.param({}, BY_PARAMETERS, id="by parameters")],
)
def test_time_slicing_by_four_multiplies_and_a_lost_gpu_takes_its_four_along(
    labels: dict[str, str], parameters: Any
) -> None:
    sliced = [node("n1", {GPU: 32}, labels=labels), node("n2", {GPU: 32}, labels=labels)]
    assert amounts(observed(sliced, [manifest("n1"), manifest("n2")], parameters=parameters)) == {"h100": {GPU: "64"}}
    lost = [manifest("n1", {GPU: 7}, broken=LOST), manifest("n2")]
    assert amounts(observed(sliced, lost, parameters=parameters)) == {"h100": {GPU: "60"}}


def test_shared_resources_that_are_renamed_count_under_their_new_name() -> None:
    parameters = spec(sharing=(SharedResource(GPU, 2, f"{GPU}.shared"),))
    assert amounts(observed([node(has={f"{GPU}.shared": 16})], [manifest()], parameters=parameters)) == {
        "h100": {f"{GPU}.shared": "16"}
    }


def test_what_is_odd_about_a_node_is_told_by_an_event() -> None:
    odd = node(labels={"nvidia.com/mig.strategy": "some"})
    (notice,) = observed([odd], [manifest()]).notices
    assert notice.reason == "OddOffer"
    assert notice.message.startswith("Node n1 has the label nvidia.com/mig.strategy=some, which is ")


# --- the cap -------------------------------------------------------------------------------------------------------


def test_a_node_counts_with_no_more_than_it_has_to_allocate() -> None:
    """More would only lead to pods that stay pending."""
    observation = observed(nodes(n2=node("n2", {GPU: 5}), n3=node("n3", {})), three())
    assert amounts(observation) == {"h100": {GPU: "13"}}
    assert observation.summary == f"h100: 3 nodes, 13 {GPU}; capped by allocatable: n2 5 of 8 {GPU}, n3 0 of 8 {GPU}"
    (notice,) = observation.notices
    assert notice.reason == "CappedByAllocatable"
    assert "n2 5 of 8" in notice.message
    assert "kubectl describe node n2" in notice.message


def test_the_cap_can_be_left_out() -> None:
    uncapped = spec(cap_by_allocatable=False)
    observation = observed(nodes(n2=node("n2", {GPU: 5}), n3=node("n3", {})), three(), parameters=uncapped)
    assert amounts(observation) == {"h100": {GPU: "24"}}
    assert observation.notices == ()


def test_allocatable_that_has_more_than_is_healthy_makes_no_difference() -> None:
    """The device plugin may not have noticed yet."""
    assert amounts(observed([node(has={GPU: 8})], [manifest(healthy={GPU: 7}, broken=LOST)])) == {"h100": {GPU: "7"}}


def test_a_negative_allocatable_of_what_counts_is_invalid() -> None:
    with pytest.raises(InvalidCapacity, match=rf"^Node n2 has a negative allocatable of -1 {GPU}: "):
        observed(nodes(n2=node("n2", {GPU: -1})), three())
    unselected = spec(resources=ResourceSelection(exclude=(GPU,)))
    assert amounts(observed(nodes(n2=node("n2", {GPU: -1})), three(), parameters=unselected)) == {}
    uncapped = spec(cap_by_allocatable=False)
    assert amounts(observed(nodes(n2=node("n2", {GPU: -1})), three(), parameters=uncapped)) == {"h100": {GPU: "24"}}


# --- which nodes ---------------------------------------------------------------------------------------------------


def test_nodes_without_gpus_are_no_news() -> None:
    """A flavor may have nodes of both kinds: nobody waits for agents where there is nothing to report."""
    plain = [node("c1", {}), node("c2", {GPU: 0}), node("c3", {}, unschedulable=True)]
    observation = observed([*nodes(), *plain], three())
    assert observation.summary == f"h100: 3 nodes, 24 {GPU}"
    assert observation.notices == ()


@pytest.mark.parametrize(
    ("has", "labels"),
    [
        pytest.param({GPU: 8}, {}, id="allocatable"),
        pytest.param({SMALL: 7}, {}, id="MIG devices"),
        pytest.param({}, {"nvidia.com/gpu.present": "true"}, id="the label of the feature discovery"),
    ],
)
def test_nodes_that_have_gpus_are_expected_to_report(has: dict[str, object], labels: dict[str, str]) -> None:
    observation = observed([*nodes(), node("new", has, labels=labels)], three())
    assert observation.summary == f"h100: 3 nodes, 24 {GPU}; excluded: NoReport=1 (new)"


def test_reports_of_nodes_of_other_flavors_or_of_none_are_no_matter() -> None:
    assert amounts(observed(nodes(), [*three(), manifest("gone"), manifest("other")])) == {"h100": {GPU: "24"}}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param({"deleting": True}, "Deleting", id="deleting"),
        pytest.param({"unschedulable": True}, "Cordoned", id="cordoned"),
        pytest.param({"taints": (Taint("broken", "NoSchedule"),)}, "UntoleratedTaint", id="a taint"),
    ],
)
def test_nodes_that_no_pod_can_run_on_do_not_count_whatever_their_agents_say(
    change: dict[str, Any], reason: str
) -> None:
    observation = observed(nodes(n3=node("n3", **change)), three())
    assert amounts(observation) == {"h100": {GPU: "16"}}
    assert observation.summary.endswith(f"; excluded: {reason}=1")
    assert observation.notices[0].reason == "NodesExcluded"
    assert observation.notices[0].message.startswith(f"1 node does not count, {reason}: n3; ")


def test_a_taint_that_the_flavor_tolerates_is_no_matter() -> None:
    tolerant = flavor("h100", tolerations=(Toleration(GPU, "Exists"),))
    tainted = node("n3", taints=(Taint(GPU, "NoSchedule", "present"),))
    assert amounts(observed(nodes(n3=tainted), three(), [tolerant])) == {"h100": {GPU: "24"}}


def test_pods_of_kueue_on_a_cordoned_node_count_until_they_end() -> None:
    """No more than is healthy there, and nothing that others hold."""
    parameters = spec(cordoned=Cordoned.COUNT_ALLOCATED)
    cordoned = nodes(n2=node("n2", unschedulable=True), n3=node("n3", unschedulable=True))
    reports = three(n3=manifest("n3", {GPU: 2}, broken={f"GPU-{number}": "Lost" for number in range(6)}))
    pods = {
        "n2": NodePods({GPU: 3 * 10**9, "cpu": 10**9}, {GPU: 2 * 10**9}),
        "n3": NodePods({GPU: 6 * 10**9}, {}),
    }
    observation = observed(cordoned, reports, parameters=parameters, pods=pods)
    assert amounts(observation) == {"h100": {GPU: "13"}}
    assert observation.summary == (
        f"h100: 1 node, 13 {GPU} (including 5 {GPU} still allocated on cordoned nodes); excluded: Cordoned=2"
    )
    without = observed(cordoned, reports, pods=pods)
    assert amounts(without) == {"h100": {GPU: "8"}}


@pytest.mark.parametrize(
    "unusable",
    [
        pytest.param(node("n3", conditions=(NodeCondition("Ready", "False"),)), id="not ready"),
        pytest.param(node("n3", taints=(Taint("k", "NoExecute"),)), id="a taint"),
        pytest.param(node("n3", deleting=True, unschedulable=True), id="deleting"),
    ],
)
def test_pods_of_kueue_on_a_node_that_is_out_for_more_than_a_cordon_do_not_count(unusable: Node) -> None:
    parameters = spec(cordoned=Cordoned.COUNT_ALLOCATED)
    pods = {"n3": NodePods({GPU: 3 * 10**9}, {})}
    observation = observed(nodes(n3=unusable), three(), parameters=parameters, pods=pods)
    assert amounts(observation) == {"h100": {GPU: "16"}}


# --- nodes of the same name ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("owner", "node_uid", "gpus"),
    [
        pytest.param("uid-1", "uid-1", 24, id="its own report"),
        pytest.param("uid-1", "uid-2", 16, id="the report of a machine that had the name before"),
        pytest.param("", "uid-2", 24, id="a report without owner"),
        pytest.param("uid-1", "", 24, id="a node in a manifest, which has no UID"),
    ],
)
def test_a_node_counts_by_a_report_of_its_own(owner: str, node_uid: str, gpus: int) -> None:
    observation = observed(nodes(n3=node("n3", uid=node_uid)), three(n3=manifest("n3", owner=owner)))
    assert amounts(observation) == {"h100": {GPU: str(gpus)}}
    assert observation.summary.endswith("excluded: NoReport=1 (n3)") is (gpus == 16)


def test_nodes_that_were_set_up_anew_are_no_broken_observer() -> None:
    """However many: their old machines are gone for certain."""
    memory = Memory()
    reports = [manifest(name, owner=f"old-{name}") for name in NAMES]
    assert amounts(observed([node(name, uid=f"old-{name}") for name in NAMES], reports, memory=memory)) == {
        "h100": {GPU: "24"}
    }
    renewed = [node("n1", uid="old-n1"), node("n2", uid="new"), node("n3", uid="new")]
    assert amounts(observed(renewed, reports, memory=memory)) == {"h100": {GPU: "8"}}


# --- zeros and selections ------------------------------------------------------------------------------------------


def test_where_no_node_counts_what_queues_declare_is_zero_but_never_cpu() -> None:
    declared = {"h100": {"cpu", "memory", GPU, SMALL}, "other": {f"{GPU}.shared"}}
    assert amounts(observed([], [], declared=declared)) == {"h100": {GPU: "0", SMALL: "0"}}


@pytest.mark.parametrize(
    ("parameters", "zeros"),
    [
        pytest.param(spec(), [SMALL, f"{GPU}.shared"], id="all of the device plugin's"),
        pytest.param(spec(resources=ResourceSelection((GPU,))), [], id="not included"),
        pytest.param(spec(resources=ResourceSelection((), (SMALL,))), [f"{GPU}.shared"], id="excluded"),
        pytest.param(
            spec(sharing=(SharedResource(SMALL, 2, "nvidia.com/slice"),)),
            [SMALL, f"{GPU}.shared", "nvidia.com/slice"],
            id="renamed",
        ),
    ],
)
def test_where_nodes_count_devices_that_queues_want_and_no_node_has_are_zero(parameters: Any, zeros: list[str]) -> None:
    """A composite would take another member's number. What is not the device plugin's is not asked for."""
    declared = {"h100": {"cpu", GPU, SMALL, f"{GPU}.shared", "nvidia.com/slice", "nvidia.com/hostdev"}}
    observation = observed([node()], [manifest()], declared=declared, parameters=parameters)
    assert amounts(observation) == {"h100": {GPU: "8", **dict.fromkeys(zeros, "0")}}


def test_what_the_parameters_include_is_zero_where_there_is_none() -> None:
    parameters = spec(resources=ResourceSelection((GPU, SMALL, "cpu")))
    declared = {"h100": {f"{GPU}.shared"}}
    assert amounts(observed([], [], declared=declared, parameters=parameters)) == {"h100": {GPU: "0", SMALL: "0"}}
    assert amounts(observed([node()], [manifest()], parameters=parameters)) == {"h100": {GPU: "8", SMALL: "0"}}


def test_a_flavor_of_which_nobody_wants_anything_has_no_amounts() -> None:
    observation = observed([], [])
    assert amounts(observation) == {}
    assert observation.summary == "h100: 0 nodes"


def test_flavors_are_counted_apart() -> None:
    others = [node("a1", {GPU: 4}, labels={"pool": "b"})]
    flavors = [flavor("h100"), flavor("a100", {"pool": "b"})]
    observation = observed([*nodes(), *others], [*three(), manifest("a1", {GPU: 4})], flavors)
    assert amounts(observation) == {"h100": {GPU: "24"}, "a100": {GPU: "4"}}
    assert observation.summary == f"h100: 3 nodes, 24 {GPU}; a100: 1 node, 4 {GPU}"


# --- names that agents make up -------------------------------------------------------------------------------------


def invented(name: str, healthy: int = 1, **more: Any) -> Manifest:
    """A report with as many kinds of devices as it may have, most of which no node has."""
    made_up = {f"nvidia.com/mig-{name}.{number}gb": healthy for number in range(31)}
    return manifest(name, {GPU: 8, **made_up}, **more)


MIXED: dict[str, Any] = {"labels": {"nvidia.com/mig.strategy": "mixed"}}


@pytest.mark.parametrize("healthy", [0, 1])
def test_names_that_no_node_has_take_no_place_in_the_capacity(healthy: int) -> None:
    """Three such reports would have more resources than a flavor may, and nothing of it could be published."""
    mixed = [node(name, **MIXED) for name in NAMES]
    observation = observed(mixed, [invented(name, healthy) for name in NAMES])
    assert amounts(observation) == {"h100": {GPU: "24"}}
    assert observation.summary.startswith(f"h100: 3 nodes, 24 {GPU}")


@pytest.mark.parametrize(
    ("has", "declared", "found"),
    [
        pytest.param({GPU: 8}, set(), {GPU: "8"}, id="nobody knows it"),
        pytest.param({GPU: 8, SMALL: 0}, set(), {GPU: "8", SMALL: "0"}, id="the kubelet knows it"),
        pytest.param({GPU: 8}, {SMALL}, {GPU: "8", SMALL: "0"}, id="a queue wants it"),
        pytest.param({GPU: 8, SMALL: 5}, set(), {GPU: "8", SMALL: "5"}, id="it can be allocated"),
    ],
)
def test_mig_devices_of_which_there_is_none_are_zero_where_somebody_else_knows_of_them(
    has: dict[str, object], declared: set[str], found: dict[str, str]
) -> None:
    report = manifest("n1", {GPU: 8, SMALL: 7}, mig_gpus=1)
    observation = observed([node(has=has, **MIXED)], [report], declared={"h100": declared})
    assert amounts(observation) == {"h100": found}


def test_mig_devices_that_are_healthy_count_where_nothing_is_capped() -> None:
    report = manifest("n1", {GPU: 7, SMALL: 7}, mig_gpus=1)
    observation = observed([node(**MIXED)], [report], parameters=spec(cap_by_allocatable=False))
    assert amounts(observation) == {"h100": {GPU: "7", SMALL: "7"}}


def test_gpus_that_are_all_unhealthy_are_an_explicit_zero_though_the_node_offers_none_any_more() -> None:
    dead = manifest("n1", {}, broken={f"GPU-{number}": "Xid79" for number in range(8)})
    labels = {"nvidia.com/gpu.present": "true"}
    assert amounts(observed([node(has={}, labels=labels)], [dead])) == {"h100": {GPU: "0"}}


# --- mistakes ------------------------------------------------------------------------------------------------------


def test_nodes_that_would_count_twice_are_refused_with_every_other_cause() -> None:
    flavors = [flavor("h100"), flavor("all", {}), flavor("odd", {"pool": "z"}, tolerations=(Toleration("k", "Gt"),))]
    claim = Claim("mine", ("h100", "all", "odd"))
    with pytest.raises(Misconfigured) as refusal:
        observed(nodes(), [], flavors, claim=claim, others=[Claim("twin", ("odd",))])
    for part in (
        "ResourceFlavor odd has a toleration with the operator 'Gt'",
        "CapacityProvider twin claims the flavor odd as well",
        "Node n1, n2, n3 would count more than once",
        "no agent of any node with GPUs is heard",
    ):
        assert part in str(refusal.value)


def test_a_flavor_without_an_object_is_refused() -> None:
    with pytest.raises(Misconfigured, match=r"^ResourceFlavor gone does not exist"):
        observed(nodes(), three(), claim=Claim("mine", ("h100", "gone")))


def test_two_providers_share_a_flavor_with_resources_that_do_not_meet() -> None:
    mine = Claim("mine", ("h100",), ResourceSelection((GPU,)))
    other = Claim("other", ("h100",), ResourceSelection((SMALL,)))
    assert amounts(observed(nodes(), three(), claim=mine, others=[other])) == {"h100": {GPU: "24"}}
