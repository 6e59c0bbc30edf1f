"""Which nodes count: labels, health, taints, and the first reason of several."""

from __future__ import annotations

import itertools

import pytest

from kueue_dqo.api.core import NodeCondition, Taint, Toleration
from kueue_dqo.api.scheme import decode, known_kind
from providers.node_inventory.exclusion import Exclusion, Rules
from tests.unit.providers.node_inventory.inventory import (
    DEFAULTS,
    GPU,
    GPU_TAINT,
    NOW,
    READY,
    amounts,
    flavor,
    node,
    seen,
)


@pytest.mark.parametrize(
    ("wanted", "carried", "counts"),
    [
        pytest.param({"pool": "a"}, {"pool": "a", "zone": "1"}, True, id="the label among others"),
        pytest.param({"pool": "a", "zone": "1"}, {"zone": "1", "pool": "a"}, True, id="both labels"),
        pytest.param({"pool": "a", "zone": "1"}, {"pool": "a"}, False, id="one of two labels"),
        pytest.param({"pool": "a"}, {"pool": "b"}, False, id="the label with another value"),
        pytest.param({"pool": "a"}, {"a": "pool"}, False, id="key and value swapped"),
        pytest.param({"pool": ""}, {}, False, id="an empty value is not an absent label"),
        pytest.param({"pool": ""}, {"pool": ""}, True, id="an empty value"),
        pytest.param({}, {}, True, id="no label is wanted"),
        pytest.param({}, {"pool": "a"}, True, id="no label is wanted of a node with labels"),
    ],
)
def test_a_node_counts_only_with_every_label_of_the_flavor(
    wanted: dict[str, str], carried: dict[str, str], counts: bool
) -> None:
    """A node without them is no node of the flavor, so no reason is given either."""
    observation = seen([node(labels=carried)], [flavor(labels=wanted)])
    assert amounts(observation) == ({"batch": {"cpu": "1"}} if counts else {})
    assert observation.summary == ("batch: 1 node, 1 cpu" if counts else "batch: 0 nodes")


@pytest.mark.parametrize(
    ("conditions", "counts"),
    [
        pytest.param({"Ready": "True"}, True, id="True"),
        pytest.param({"MemoryPressure": "False", "DiskPressure": "False", "Ready": "True"}, True, id="True, last"),
        pytest.param({"Ready": "True", "DiskPressure": "True"}, True, id="True, under disk pressure"),
        pytest.param({"Ready": "False"}, False, id="False"),
        pytest.param({"Ready": "Unknown"}, False, id="Unknown: its kubelet is silent"),
        pytest.param({"Ready": ""}, False, id="empty"),
        pytest.param({}, False, id="no conditions yet"),
        pytest.param({"KubeletReady": "True", "NetworkUnavailable": "True"}, False, id="only others are True"),
    ],
)
def test_only_the_condition_ready_being_true_makes_a_node_ready(conditions: dict[str, str], counts: bool) -> None:
    """Neither False nor Unknown nor absence will do, and no other condition stands in."""
    one = node(conditions=tuple(NodeCondition(kind, status) for kind, status in conditions.items()))
    assert Rules(flavor(), DEFAULTS, NOW).why_excluded(one) is (None if counts else Exclusion.NOT_READY)
    assert amounts(seen([one])) == ({"batch": {"cpu": "1"}} if counts else {})


def test_a_cordoned_node_does_not_count() -> None:
    """Nothing new is scheduled there."""
    assert Rules(flavor(), DEFAULTS, NOW).why_excluded(node(unschedulable=True)) is Exclusion.CORDONED
    assert amounts(seen([node(unschedulable=True, has={"cpu": 3}), node("n2", has={"cpu": 4})])) == {
        "batch": {"cpu": "4"}
    }


def test_a_node_that_is_being_deleted_does_not_count() -> None:
    """It is about to go, though it is Ready still."""
    assert Rules(flavor(), DEFAULTS, NOW).why_excluded(node(deleting=True)) is Exclusion.DELETING
    assert amounts(seen([node(deleting=True, has={"cpu": 3}), node("n2", has={"cpu": 4})])) == {"batch": {"cpu": "4"}}


@pytest.mark.parametrize(
    ("taints", "tolerations", "declared", "counts"),
    [
        pytest.param([GPU_TAINT], [], [], False, id="nobody tolerates it"),
        pytest.param([Taint("k", "NoExecute")], [], [], False, id="nobody tolerates NoExecute"),
        pytest.param([Taint("k", "PreferNoSchedule")], [], [], True, id="PreferNoSchedule keeps nobody off"),
        pytest.param([Taint("k", "PreferNoSchedule"), GPU_TAINT], [], [], False, id="one of two keeps pods off"),
        # tolerations
        pytest.param([GPU_TAINT], [Toleration(GPU, "Exists")], [], True, id="Exists"),
        pytest.param([GPU_TAINT], [Toleration(GPU, "Exists", "", "NoSchedule")], [], True, id="Exists, the effect"),
        pytest.param([GPU_TAINT], [Toleration(GPU, "Exists", "", "NoExecute")], [], False, id="Exists, other effect"),
        pytest.param([GPU_TAINT], [Toleration("other", "Exists")], [], False, id="Exists, another key"),
        pytest.param([GPU_TAINT], [Toleration(GPU, "Equal", "present")], [], True, id="Equal"),
        pytest.param([GPU_TAINT], [Toleration(GPU, "", "present")], [], True, id="no operator is Equal"),
        pytest.param([GPU_TAINT], [Toleration(GPU, "Equal", "absent")], [], False, id="Equal, another value"),
        pytest.param([GPU_TAINT], [Toleration(GPU)], [], False, id="no operator and no value is an empty value"),
        pytest.param([Taint("k", "NoSchedule")], [Toleration("k")], [], True, id="an empty value equals none"),
        pytest.param([GPU_TAINT], [Toleration("", "Exists")], [], True, id="Exists of every key"),
        pytest.param([GPU_TAINT], [Toleration("", "Exists", "", "NoExecute")], [], False, id="every key, NoExecute"),
        pytest.param([Taint("a", "NoSchedule"), Taint("b", "NoSchedule")], [Toleration("a", "Exists")], [], False,
                     id="one of two taints is tolerated"),
        pytest.param([Taint("a", "NoSchedule"), Taint("b", "NoExecute")],
                     [Toleration("b", "Exists"), Toleration("a", "Exists")], [], True, id="each by another toleration"),
        pytest.param([Taint("a", "NoSchedule"), Taint("a", "NoExecute")],
                     [Toleration("a", "Exists", "", "NoSchedule")], [], False, id="same key, one of two effects"),
        # nodeTaints
        pytest.param([GPU_TAINT], [], [Taint(GPU, "NoSchedule", "present")], True, id="declared"),
        pytest.param([GPU_TAINT], [], [Taint(GPU, "NoSchedule", "other")], True, id="declared with another value"),
        pytest.param([GPU_TAINT], [], [Taint(GPU, "NoExecute", "present")], False, id="declared, another effect"),
        pytest.param([GPU_TAINT], [], [Taint("other", "NoSchedule", "present")], False, id="declared, another key"),
        pytest.param([Taint("a", "NoSchedule"), Taint("b", "NoExecute")], [Toleration("a", "Exists")],
                     [Taint("b", "NoExecute")], True, id="one is tolerated, one is declared"),
        pytest.param([], [], [Taint("k", "NoSchedule")], True, id="declared, and the node has none"),
    ],
)  # fmt: skip
def test_every_taint_that_keeps_pods_off_is_admitted_by_the_flavor(
    taints: list[Taint], tolerations: list[Toleration], declared: list[Taint], counts: bool
) -> None:
    """By one of its tolerations, as Kubernetes reads them, or by a nodeTaint of the same key and effect."""
    one = node(taints=tuple(taints))
    wanted = flavor(tolerations=tuple(tolerations), taints=tuple(declared))
    assert Rules(wanted, DEFAULTS, NOW).why_excluded(one) is (None if counts else Exclusion.UNTOLERATED_TAINT)
    assert amounts(seen([one], [wanted])) == ({"batch": {"cpu": "1"}} if counts else {})


def test_toleration_seconds_make_no_difference() -> None:
    """A pod that tolerates a taint for a while is scheduled there all the same."""
    known = known_kind("kueue.x-k8s.io/v1beta2", "ResourceFlavor")
    assert known is not None
    toleration = {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}
    manifest = {"metadata": {"name": "batch"}, "spec": {"tolerations": [toleration]}}
    wanted = decode(known, "v1beta2", manifest).object
    assert Rules(wanted, DEFAULTS, NOW).why_excluded(node(taints=(Taint("k", "NoExecute"),))) is None


@pytest.mark.parametrize(
    ("deleting", "not_ready", "cordoned", "tainted"), list(itertools.product([True, False], repeat=4))
)
def test_of_several_reasons_the_first_in_their_order_is_given_once(
    deleting: bool, not_ready: bool, cordoned: bool, tainted: bool
) -> None:
    """Deleting, NotReady, Cordoned, UntoleratedTaint: a node stands under one of them in the summary."""
    one = node(
        deleting=deleting,
        conditions=() if not_ready else READY,
        unschedulable=cordoned,
        taints=(GPU_TAINT,) if tainted else (),
    )
    states = {"Deleting": deleting, "NotReady": not_ready, "Cordoned": cordoned, "UntoleratedTaint": tainted}
    first = next((reason for reason, holds in states.items() if holds), None)
    assert Rules(flavor(), DEFAULTS, NOW).why_excluded(one) == first
    summary = f"batch: 0 nodes; excluded: {first}=1" if first else "batch: 1 node, 1 cpu"
    assert seen([one]).summary == summary
