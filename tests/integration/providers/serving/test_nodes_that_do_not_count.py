"""The node inventory as a process: nodes that do not count, or not with all they have; real Node and Pod objects."""

from __future__ import annotations

import datetime

import pytest

from tests.integration.daemons import Daemon
from tests.integration.objects import (
    NODES,
    PODS,
    add_pod,
    end_pod,
)
from tests.integration.providers.adapter import Adapter
from tests.integration.providers.adapters import CountingPods
from tests.integration.providers.scenes import (
    GPU,
    POOL,
    history_of_providers,
    wait_observed,
    wait_published,
    wait_told,
)
from tests.integration.providers.serving.begin import (
    CPU,
    H100,
    ONLY_GPUS,
    add_nodes,
    begin_with_nodes,
    node_name,
)

pytestmark = pytest.mark.parametrize("_shared", [CountingPods], indirect=True, ids=["node-inventory"])


def test_a_node_that_is_not_ready_is_taken_off(adapter: Adapter, daemon: Daemon) -> None:
    """Of ten nodes of 8 GPUs one goes NotReady: 72. The message, an Event and a metric name the reason."""
    begin_with_nodes(adapter, 10, **ONLY_GPUS)
    assert wait_published(adapter.plane, {H100: 80}) == f"h100: 10 nodes, 80 {GPU}"
    add_nodes(adapter.plane, [3], ready="Unknown")
    said = wait_published(adapter.plane, {H100: 72})
    assert said == f"h100: 9 nodes, 72 {GPU}; excluded: NotReady=1"
    event = wait_told(adapter.plane, "NodesExcluded", "NotReady")
    assert (event["type"], node_name(3) in event["message"]) == ("Warning", True)
    prefix, pair = "kueue_dqo_node_inventory", {"provider": POOL, "flavor": "h100"}
    assert daemon.metric(f"{prefix}_excluded_nodes", reason="NotReady", **pair) == 1
    assert daemon.metric(f"{prefix}_nodes", **pair) == 9
    add_nodes(adapter.plane, [3])
    assert "excluded" not in wait_published(adapter.plane, {H100: 80})
    assert daemon.metric(f"{prefix}_excluded_nodes", **pair) == 0


def test_what_kueue_still_holds_on_a_cordoned_node_counts_until_it_ends(adapter: Adapter, daemon: Daemon) -> None:
    """Of ten nodes one is cordoned with 5 of its 8 GPUs in use: 77 until the pods end, then 72."""
    plane = adapter.plane
    begin_with_nodes(adapter, 10, cordoned="CountAllocated", **ONLY_GPUS)
    add_pod(plane, "managed-2", node_name(0), {GPU: 2}, managed=True)
    add_pod(plane, "managed-3", node_name(0), {GPU: 3}, managed=True)
    add_pod(plane, "daemon", node_name(0), {GPU: 1}, managed=False)
    add_pod(plane, "elsewhere", node_name(1), {GPU: 8}, managed=True)
    wait_published(plane, {H100: 80})
    plane.admin.patch(f"{NODES}/{node_name(0)}", {"spec": {"unschedulable": True}})
    said = wait_published(plane, {H100: 77}, "excluded: Cordoned=1")
    assert f"5 {GPU}" in said
    gauge = "kueue_dqo_node_inventory_allocated_on_cordoned"
    assert daemon.metric(gauge, provider=POOL, flavor="h100", resource=GPU) == 5
    end_pod(plane, "managed-3")
    wait_published(plane, {H100: 74})
    plane.admin.delete(f"{PODS}/managed-2")
    wait_published(plane, {H100: 72})
    plane.admin.patch(f"{NODES}/{node_name(0)}", {"spec": {"unschedulable": None}})
    wait_published(plane, {H100: 80})


def test_a_cordoned_node_is_taken_off_where_nothing_else_is_asked_for(adapter: Adapter) -> None:
    """Its pods do not matter then."""
    begin_with_nodes(adapter, 2, **ONLY_GPUS)
    add_pod(adapter.plane, "managed", node_name(0), {GPU: 5}, managed=True)
    wait_published(adapter.plane, {H100: 16})
    adapter.plane.admin.patch(f"{NODES}/{node_name(0)}", {"spec": {"unschedulable": True}})
    wait_published(adapter.plane, {H100: 8}, "excluded: Cordoned=1")


def test_a_node_counts_once_its_devices_have_appeared(adapter: Adapter, daemon: Daemon) -> None:
    """Its cpu does not count before that either: a job would be admitted to GPUs that are not there."""
    required = [{"flavor": "h100", "resource": GPU}]
    begin_with_nodes(adapter, 2, requiredResources=required)
    wait_published(adapter.plane, {H100: 16, CPU: 128})
    add_nodes(adapter.plane, [2], allocatable={"cpu": 64})
    wait_published(adapter.plane, {H100: 16, CPU: 128}, "excluded: MissingRequiredResource=1")
    add_nodes(adapter.plane, [2], allocatable={"cpu": 64, GPU: 0})
    wait_observed(adapter.plane, daemon, 1)
    wait_published(adapter.plane, {H100: 16, CPU: 128}, "excluded: MissingRequiredResource=1")
    add_nodes(adapter.plane, [2])
    assert "excluded" not in wait_published(adapter.plane, {H100: 24, CPU: 192})


def test_a_node_counts_after_its_ready_delay_by_itself(adapter: Adapter) -> None:
    """Nothing else happens that would be a reason to look."""
    begin_with_nodes(adapter, 1, readyDelay="3s", **ONLY_GPUS)
    wait_published(adapter.plane, {H100: 8})
    history = history_of_providers(adapter.plane)
    now = datetime.datetime.now(datetime.UTC)
    add_nodes(adapter.plane, [1], since=now.strftime("%Y-%m-%dT%H:%M:%SZ"))
    wait_published(adapter.plane, {H100: 16})
    messages = [
        each.obj["status"]["conditions"][0]["message"]
        for each in history.versions()
        if each.obj is not None and each.key.name == POOL
    ]
    assert any("ReadyDelay=1" in each for each in messages)


def test_nodes_with_an_excluded_condition_and_those_not_selected_do_not_count(adapter: Adapter) -> None:
    """The first are named as excluded; the second are none of the provider's."""
    selector = {"matchExpressions": [{"key": "example.com/broken", "operator": "DoesNotExist"}]}
    conditions = [{"type": "KernelDeadlock"}]
    begin_with_nodes(adapter, 4, nodeSelector=selector, excludedConditions=conditions, **ONLY_GPUS)
    wait_published(adapter.plane, {H100: 32})
    adapter.plane.admin.patch(f"{NODES}/{node_name(0)}", {"metadata": {"labels": {"example.com/broken": "yes"}}})
    assert "excluded" not in wait_published(adapter.plane, {H100: 24})
    deadlock = {
        "type": "KernelDeadlock",
        "status": "True",
        "reason": "DockerHung",
        "message": "",
        "lastHeartbeatTime": "2026-01-31T12:00:00Z",
        "lastTransitionTime": "2026-01-31T12:00:00Z",
    }
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node_name(1)},
        "status": {"conditions": [deadlock]},
    }
    adapter.plane.admin.apply(node, manager="node-problem-detector")
    wait_published(adapter.plane, {H100: 16}, "excluded: ExcludedCondition=1")


def test_pods_that_kueue_does_not_manage_are_reserved_for(adapter: Adapter, daemon: Daemon) -> None:
    """Per node, what they request; a node that has less than that adds nothing of it, not less than nothing."""
    plane = adapter.plane
    begin_with_nodes(adapter, 2, reserve="UnmanagedPods")
    add_pod(plane, "daemon-0", node_name(0), {"cpu": "1500m"}, managed=False)
    add_pod(plane, "daemon-1", node_name(1), {"cpu": "500m", GPU: 1}, managed=False)
    add_pod(plane, "managed", node_name(1), {"cpu": 32, GPU: 4}, managed=True)
    said = wait_published(plane, {CPU: 126, H100: 15})
    assert "reserve" in said
    assert daemon.metric("kueue_dqo_node_inventory_reserve", provider=POOL, flavor="h100", resource="cpu") == 2
    end_pod(plane, "daemon-1")
    wait_published(plane, {CPU: "126500m", H100: 16})
