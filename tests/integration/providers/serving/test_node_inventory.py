"""The node inventory as a process: whose a node is, what no node is, what cannot be, what does not matter."""

from __future__ import annotations

import re
from typing import Any, Final

import pytest

from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import Daemon
from tests.integration.objects import (
    NODES,
    PROVIDERS,
    Manifest,
    flavor,
    provider,
    queue,
)
from tests.integration.providers.adapter import LABEL, Adapter
from tests.integration.providers.adapters import CountingPods
from tests.integration.providers.scenes import (
    GPU,
    POOL,
    capacity,
    history_of_providers,
    message,
    observations,
    wait_failed,
    wait_observed,
    wait_published,
)
from tests.integration.providers.serving.begin import (
    CPU,
    H100,
    ONLY_GPUS,
    add_nodes,
    begin_with_nodes,
    node_name,
)

LARGEST: Final = 2**63 - 1

pytestmark = pytest.mark.parametrize("_shared", [CountingPods], indirect=True, ids=["node-inventory"])


def _parameters(name: str, **spec: Any) -> Manifest:
    return {
        "apiVersion": "kueue-dqo.dev/v1alpha1",
        "kind": "NodeInventoryParameters",
        "metadata": {"name": name},
        "spec": spec,
    }


# --- which node is whose ---------------------------------------------------------------------------------------------


def test_a_node_of_two_flavors_is_misconfigured(adapter: Adapter) -> None:
    """Node and flavors are named, and the last capacity is kept, until one of them lets go."""
    plane = adapter.plane
    begin_with_nodes(adapter, 2, **ONLY_GPUS)
    plane.admin.apply(flavor("spot", {"example.com/spot": "yes"}), adapter.capacity_provider("h100", "spot"))
    wait_published(plane, {H100: 16, f"spot/{GPU}": 0})
    plane.admin.patch(f"{NODES}/{node_name(1)}", {"metadata": {"labels": {"example.com/spot": "yes"}}})
    wait_failed(plane, "Misconfigured", node_name(1), "h100", "spot", "nodeLabels")
    assert capacity(plane) == {H100: "16", f"spot/{GPU}": "0"}
    plane.admin.patch(f"{NODES}/{node_name(1)}", {"metadata": {"labels": {LABEL: None}}})
    wait_published(plane, {H100: 8, f"spot/{GPU}": 8})


def test_a_flavor_without_labels_beside_others_overlaps_with_them(adapter: Adapter) -> None:
    """It takes every node. The message says so."""
    plane = adapter.plane
    begin_with_nodes(adapter, 2, **ONLY_GPUS)
    wait_published(plane, {H100: 16})
    plane.admin.apply(flavor("everything"), adapter.capacity_provider("h100", "everything"))
    wait_failed(plane, "Misconfigured", "h100", "everything", "flavor everything has no nodeLabels")
    assert capacity(plane) == {H100: "16"}


def test_two_providers_share_a_flavor_by_disjoint_resources(adapter: Adapter) -> None:
    """Both are fine. Where they are not disjoint, both are told."""
    plane = adapter.plane
    begin_with_nodes(adapter, 2, **ONLY_GPUS)
    rest = _parameters("rest", resources={"exclude": [GPU]})
    other = provider("rest", "h100", controller=adapter.controller, parameters=rest)
    plane.admin.apply(rest, other)
    wait_published(plane, {H100: 16})
    wait_published(plane, {CPU: 128}, name="rest")
    plane.admin.apply(_parameters("rest", resources={"exclude": ["example.com/other"]}))
    wait_failed(plane, "Misconfigured", "CapacityProvider pool", "h100", name="rest")
    wait_failed(plane, "Misconfigured", "CapacityProvider rest", "h100")
    assert (capacity(plane), capacity(plane, "rest")) == ({H100: "16"}, {CPU: "128"})
    plane.admin.delete(f"{PROVIDERS}/rest")
    wait_published(plane, {H100: 16})


# --- nothing at all --------------------------------------------------------------------------------------------------


def test_all_nodes_gone_at_once_wait_for_an_acknowledgement(adapter: Adapter) -> None:
    """More likely a broken observer. Acknowledged, they are explicit zeros."""
    plane = adapter.plane
    begin_with_nodes(adapter, 3, guards={"maxFallPercent": 50, "breakerGrace": "1h"}, **ONLY_GPUS)
    wait_published(plane, {H100: 24})
    for number in range(3):
        plane.admin.delete(f"{NODES}/{node_name(number)}")
    wait_published(plane, {H100: 24}, f"observed 0, published 24 {GPU}", "h100: 0 nodes")
    found = re.search(r"kueue-dqo\.dev/acknowledge=(\w+)", message(plane))
    assert found
    annotations = {"kueue-dqo.dev/acknowledge": found[1]}
    plane.admin.patch(f"{PROVIDERS}/{POOL}", {"metadata": {"annotations": annotations}})
    assert wait_published(plane, {H100: 0}).startswith("h100: 0 nodes")


def test_no_node_is_zero_of_what_queues_declare(adapter: Adapter) -> None:
    """Where the parameters name nothing."""
    plane = adapter.plane
    plane.admin.apply(queue("team", {"h100": {GPU: 8, "cpu": 64}}))
    begin_with_nodes(adapter, 1)
    wait_published(plane, {H100: 8, CPU: 64})
    plane.admin.delete(f"{NODES}/{node_name(0)}")
    wait_published(plane, {H100: 0, CPU: 0})


# --- impossible and too much -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("allocatable", "told"),
    [({GPU: LARGEST}, GPU), ({"cpu": "1e30"}, "cpu"), ({"bad name!": 1}, "bad name!")],
    ids=["too many together", "too much", "no name of a resource"],
)
def test_impossible_numbers_are_invalid(allocatable: dict[str, Any], told: str, adapter: Adapter) -> None:
    """Those that the API server takes from a kubelet: it refuses negative amounts and broken devices itself."""
    begin_with_nodes(adapter, 1)
    wait_published(adapter.plane, {H100: 8, CPU: 64})
    add_nodes(adapter.plane, [1, 2], allocatable=allocatable)
    wait_failed(adapter.plane, "InvalidCapacity", "h100", told)
    assert capacity(adapter.plane) == {H100: "8", CPU: "64"}


def test_more_resources_than_a_status_takes_are_told(adapter: Adapter) -> None:
    """The way out is in the message, and works."""
    begin_with_nodes(adapter, 1)
    wait_published(adapter.plane, {H100: 8, CPU: 64})
    many = {f"example.com/resource-{number}": 1 for number in range(63)}
    add_nodes(adapter.plane, [0], allocatable={GPU: 8, "cpu": 64, **many})
    wait_failed(adapter.plane, "Misconfigured", "h100", "65", "64", "resources.include")
    assert capacity(adapter.plane) == {H100: "8", CPU: "64"}
    adapter.configure(resources={"exclude": ["example.com/resource-0"]})
    wanted = {f"h100/{name}": amount for name, amount in many.items() if not name.endswith("-0")}
    wait_published(adapter.plane, {H100: 8, CPU: 64, **wanted})


# --- quiet, and blind ------------------------------------------------------------------------------------------------


def test_heartbeats_lead_to_nothing(adapter: Adapter, daemon: Daemon) -> None:
    """Neither a write nor a look: the next change after them is the next look."""
    plane = adapter.plane
    begin_with_nodes(adapter, 2, **ONLY_GPUS)
    wait_published(plane, {H100: 16})
    wait_observed(plane, daemon, 1)
    eventually(lambda: daemon.metric("workqueue_depth") == 0, "it is idle")
    history, looks = history_of_providers(plane), observations(daemon)
    for second in range(10):
        for number in range(2):
            _heartbeat(plane, node_name(number), f"2026-01-31T12:00:{second:02}Z")
    other = _parameters("other", resources={"include": ["example.com/other"]})
    plane.admin.apply(other, provider("witness", "h100", controller=adapter.controller, parameters=other))
    wait_published(plane, {"h100/example.com/other": 0}, name="witness")
    assert observations(daemon) <= looks + 2  # a new peer and its parameters
    assert [each for each in history.versions() if each.key.name == POOL] == []


def _heartbeat(plane: ControlPlane, name: str, time: str) -> None:
    ready = next(each for each in plane.admin.get(f"{NODES}/{name}")["status"]["conditions"] if each["type"] == "Ready")
    condition = {**ready, "lastHeartbeatTime": time}
    plane.admin.request(
        "PATCH",
        f"{NODES}/{name}/status",
        {"status": {"conditions": [condition]}},
        content_type="application/strategic-merge-patch+json",
    )
