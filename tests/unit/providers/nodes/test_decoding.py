"""Nodes out of the API server's JSON: what is equal is shared, and what has not changed is the same object."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest

from kueue_dqo.api.core import Node
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.scheme import ObjectInvalid, decode_json, known_kind
from providers.nodes.decoding import NodeDecoder


def manifest(name: str = "n1", **status: Any) -> dict[str, Any]:
    ready = {
        "type": "Ready",
        "status": "True",
        "lastHeartbeatTime": "2026-09-20T09:59:41Z",
        "lastTransitionTime": "2026-09-01T08:00:00Z",
        "reason": "KubeletReady",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "resourceVersion": "5",
            "labels": {"pool": "a", "kubernetes.io/hostname": name, "a-label-whose-name-is-longer-than-others/x": "y"},
            "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
        },
        "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}], "podCIDR": "10.0.0.0/24"},
        "status": {"allocatable": {"cpu": "8", "memory": "16Gi", "pods": "110"}, "conditions": [ready], **status},
    }


class Decoded:
    """What a cache would hold."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self._decoder = NodeDecoder(self.nodes.get)

    def take(self, content: dict[str, Any]) -> Node:
        node = self._decoder.decode(json.dumps(content).encode())
        self.nodes[node.metadata.name] = node
        return node


def plainly(content: dict[str, Any]) -> Node:
    known = known_kind("v1", "Node")
    assert known is not None
    node = decode_json(known, "v1", json.dumps(content).encode()).object
    assert isinstance(node, Node)
    return node


def test_a_node_is_decoded_as_everywhere_else() -> None:
    """Sharing changes no value; null is as absent."""
    for content in (
        manifest(),
        {"metadata": {"name": "n1"}},
        manifest(allocatable=None),
        manifest(allocatable={"cpu": None, "gpu": 1.5}, conditions=None),
    ):
        assert Decoded().take(content) == plainly(content)
    since = Decoded().take(manifest()).ready
    assert since is not None
    assert since.last_transition_time == datetime.datetime(2026, 9, 1, 8, tzinfo=datetime.UTC)


def heartbeat(content: dict[str, Any]) -> None:
    content["status"]["conditions"][0]["lastHeartbeatTime"] = "2026-09-20T10:04:41Z"
    content["metadata"]["resourceVersion"] = "6"
    content["metadata"]["annotations"]["example.com/seen"] = "now"
    content["status"]["images"] = [{"names": ["x"], "sizeBytes": 1}]


@pytest.mark.parametrize("null", [False, True], ids=["", "with a null field"])
def test_a_heartbeat_gives_the_very_node_that_is_held(null: bool) -> None:
    """So that nothing has to be compared, and nothing is held twice."""
    decoded = Decoded()
    content = manifest(nodeInfo=None) | ({"spec": None} if null else {})
    before = decoded.take(content)
    heartbeat(content)
    assert decoded.take(content) is before


def cordon(content: dict[str, Any]) -> None:
    content["spec"]["unschedulable"] = True


def delete(content: dict[str, Any]) -> None:
    content["metadata"]["deletionTimestamp"] = "2026-09-20T10:00:00Z"


def relabel(content: dict[str, Any]) -> None:
    content["metadata"]["labels"]["pool"] = "b"


def untaint(content: dict[str, Any]) -> None:
    content["spec"]["taints"] = []


def fail(content: dict[str, Any]) -> None:
    content["status"]["conditions"][0]["status"] = "Unknown"


def come_back(content: dict[str, Any]) -> None:
    content["status"]["conditions"][0]["lastTransitionTime"] = "2026-09-20T10:00:00Z"


def lose_device(content: dict[str, Any]) -> None:
    content["status"]["allocatable"]["cpu"] = "7"


@pytest.mark.parametrize("change", [cordon, delete, relabel, untaint, fail, come_back, lose_device])
def test_whatever_counts_gives_another_node(change: Any) -> None:
    decoded = Decoded()
    content = manifest()
    before = decoded.take(content)
    change(content)
    after = decoded.take(content)
    assert after != before
    assert after == plainly(content)


def test_an_amount_that_is_written_otherwise_is_no_change() -> None:
    decoded = Decoded()
    before = decoded.take(manifest())
    assert decoded.take(manifest(allocatable={"pods": "110", "memory": "16384Mi", "cpu": "8000m"})) is before


def test_nodes_of_a_kind_share_what_is_equal() -> None:
    decoded = Decoded()
    one, two = decoded.take(manifest("n1")), decoded.take(manifest("n2"))
    assert one.status.allocatable is two.status.allocatable
    assert one.status.conditions[0] is two.status.conditions[0]
    assert one.spec.taints is two.spec.taints
    for each, other in zip(one.metadata.labels, two.metadata.labels, strict=True):
        assert each is other
    assert one.metadata.labels["pool"] is two.metadata.labels["pool"]
    assert one.status.allocatable["cpu"] == Quantity.of(8)


def test_what_cannot_be_read_is_named() -> None:
    content = manifest(allocatable={"cpu": "much"})
    with pytest.raises(ObjectInvalid, match=r"status\.allocatable\[cpu\].*much"):
        Decoded().take(content)
    content = manifest()
    content["status"]["conditions"][0]["lastTransitionTime"] = "yesterday"
    with pytest.raises(ObjectInvalid, match=r"status\.conditions\[0\]\.lastTransitionTime"):
        Decoded().take(content)
