"""What is made of a report in JSON, and what is held only once."""

from __future__ import annotations

import datetime
from typing import Any

import msgspec
import pytest

from kueue_dqo.api.gpu import INVENTORY_MANAGER
from kueue_dqo.api.meta import time_text
from tests.unit.providers.nvidia_gpu.gpus import GPU, NOW, SMALL, ago, decoded, manifest

LOST = {"GPU-5a": "Lost"}


def test_a_heartbeat_makes_no_new_content() -> None:
    first = decoded(manifest(broken=LOST, renewed=ago(300)))
    second = decoded(manifest(broken=LOST), first)
    assert second.content is first.content
    assert (first.inventory_written, second.inventory_written) == (ago(300), NOW)
    assert first.renewed != second.renewed


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(manifest(healthy={GPU: 7}, broken=LOST), id="a device"),
        pytest.param(manifest(unhealthyNotListed=1), id="a number"),
        pytest.param(manifest(driverVersion="575.1"), id="the driver"),
    ],
)
def test_another_content_is_another_object(changed: dict[str, Any]) -> None:
    first = decoded(manifest())
    assert decoded(changed, first).content.spec.inventory != first.content.spec.inventory


def test_a_problem_that_comes_leaves_the_inventory_the_object_that_it_is() -> None:
    """What a node adds is computed anew only where its inventory is another one."""
    first = decoded(manifest())
    second = decoded(manifest(problem="LibraryNotFound"), first)
    assert second.content is not first.content
    assert second.content.spec.inventory is first.content.spec.inventory
    assert second.problem_began == NOW


def test_nodes_that_are_alike_hold_their_devices_once() -> None:
    one, other = (decoded(manifest(name, {GPU: 7, SMALL: 7})).content.spec.inventory for name in ("n1", "n2"))
    assert one is not None
    assert other is not None
    assert one.devices is other.devices
    assert one.product is other.product


def test_the_time_is_that_of_the_api_server_for_the_manager_of_the_inventory() -> None:
    """The node's clock, and what others wrote, are no matter."""
    content = manifest(renewed=ago(100))
    content["spec"]["inventory"]["renewTime"] = "2036-01-01T00:00:00Z"
    content["metadata"]["managedFields"].append({"manager": "kubectl", "time": "2036-01-01T00:00:00Z"})
    assert decoded(content).inventory_written == ago(100)


def test_without_managed_fields_the_renew_time_has_to_do() -> None:
    content = manifest(renewed=ago(100))
    del content["metadata"]["managedFields"]
    assert decoded(content).inventory_written == ago(100)
    content["spec"]["inventory"]["renewTime"] = "yesterday"
    assert decoded(content).inventory_written is None


def test_null_is_as_absent() -> None:
    content = manifest()
    content["spec"]["problem"] = None
    content["spec"]["inventory"]["unhealthy"] = None
    assert decoded(content).content == decoded(manifest()).content
    empty = manifest()
    empty["spec"] = None
    assert decoded(empty).content.spec.inventory is None


def problem_of(content: dict[str, Any]) -> str:
    problem = decoded(content).content.spec.problem
    assert problem is not None
    assert problem.reason == "InvalidReport"
    return problem.message


@pytest.mark.parametrize(
    ("inventory", "message"),
    [
        pytest.param({"heartbeatSeconds": 0}, "heartbeatSeconds: 0 is out of range: 1 to 86400", id="heartbeat"),
        pytest.param({"migGpus": 9}, "migGpus: 9 of 8 GPUs cannot be", id="more with MIG than there are"),
        pytest.param({"unhealthyNotListed": -2}, "unhealthyNotListed: -2 is out of range", id="negative rest"),
        pytest.param(
            {"devices": [{"name": f"{SMALL}{number}", "healthy": 1} for number in range(33)]},
            "devices: 33 entries; at most 32",
            id="too many kinds",
        ),
        pytest.param(
            {"devices": [{"name": f"nvidia.com/mig-{'x' * 60}", "healthy": 1}]}, "mig-<profile>", id="a name too long"
        ),
        pytest.param(
            {"devices": [{"name": "nvidia.com/mig-.", "healthy": 1}]},
            "devices[0].name: 'nvidia.com/mig-.' is no ",
            id="a name that no resource can have",
        ),
        pytest.param(
            {"unhealthy": [{"reason": "on fire", "since": "2026-09-20T09:30:00Z"}]},
            "unhealthy[0].reason: 'on fire' is no reason",
            id="no reason",
        ),
        pytest.param({"unhealthy": [{"reason": "Lost", "since": "now"}]}, "since: 'now' is no time", id="no time"),
        pytest.param({"devices": 7}, "devices: ", id="no list"),
    ],
)
def test_what_cannot_be_is_named_with_its_field(inventory: dict[str, Any], message: str) -> None:
    assert message in problem_of(manifest(**inventory))


def test_a_reason_of_a_problem_that_is_none_is_refused_too() -> None:
    """It becomes the label of a series, and a word in a message."""
    assert "spec.problem.reason: 'so; what' is no reason" in problem_of(manifest(problem="so; what"))


def test_an_agent_that_renews_nonsense_makes_no_new_content() -> None:
    first = decoded(manifest(gpus=-1, renewed=ago(300)))
    second = decoded(manifest(gpus=-1), first)
    assert second.content is first.content
    assert second.inventory_written == NOW


def test_what_has_no_name_is_no_report() -> None:
    with pytest.raises(msgspec.DecodeError):
        decoded({"metadata": {}, "spec": {}})


def test_only_the_manager_of_the_inventory_counts_where_it_is_there_several_times() -> None:
    content = manifest(renewed=ago(100))
    later = ago(40).astimezone(datetime.UTC).isoformat()
    content["metadata"]["managedFields"].append({"manager": INVENTORY_MANAGER, "time": later})
    assert decoded(content).inventory_written == ago(40)


@pytest.mark.parametrize(
    ("since", "skew", "began"),
    [
        pytest.param(90, 0, 90, id="longer than it has its message"),
        pytest.param(90, 3600, 90, id="by a clock of the node that is ahead"),
        pytest.param(90, -3600, 90, id="by one that is behind"),
        pytest.param(200, 0, 100, id="never before the inventory that was read"),
        pytest.param(10, 0, 20, id="never after the API server has it"),
    ],
)
def test_since_when_there_is_a_problem_whatever_changes_its_message(since: float, skew: float, began: float) -> None:
    """The inventory was written 100 seconds ago, the last message of the problem 20 seconds ago."""
    content = manifest(problem="NVMLError", renewed=ago(100))
    content["spec"]["inventory"]["renewTime"] = time_text(ago(100 - skew))
    content["spec"]["problem"]["since"] = time_text(ago(since - skew))
    content["metadata"]["managedFields"][1]["time"] = time_text(ago(20))
    assert decoded(content).problem_began == ago(began)


def test_since_when_there_is_a_problem_without_an_inventory() -> None:
    content = manifest(problem="NVMLError", renewed=ago(100))
    del content["spec"]["inventory"]
    assert decoded(content).problem_began == ago(100)


def test_the_owner_is_the_node_and_nobody_else() -> None:
    assert decoded(manifest(owner="uid-of-node")).owner == "uid-of-node"
    assert decoded(manifest()).owner == ""
