"""What a pod requests, by the rules of the scheduler, and the sums by node."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.nodes.decoding import decode_pod
from providers.nodes.pods import HOLDS_NOTHING, NodePods, PodIndex, PodUse

SIDECAR = {"restartPolicy": "Always"}


def asks(name: str = "main", **requests: object) -> dict[str, Any]:
    """A container, by resource; `gpu` is the extended resource."""
    renamed = {"nvidia.com/gpu" if key == "gpu" else key: value for key, value in requests.items()}
    return {"name": name, "image": "x", "resources": {"requests": renamed, "limits": {"cpu": "1000"}}}


def pod(
    *containers: dict[str, Any],
    spec: dict[str, Any] | None = None,
    status: dict[str, Any] | None = None,
    labels: dict[str, str] | None = None,
) -> dict[str, Any]:
    """A pod that runs on a node, as the API server sends it."""
    return {
        "metadata": {"name": "p", "namespace": "team", "labels": labels or {"app": "web"}},
        "spec": {"nodeName": "n1", "containers": list(containers), **(spec or {})},
        "status": {"phase": "Running", **(status or {})},
    }


def held(manifest: dict[str, Any]) -> dict[str, float]:
    """Units by resource that it holds, without the one of `pods`."""
    use = decode_pod(json.dumps(manifest).encode())
    amounts = {name: nanos / 10**9 for name, nanos in use.requests}
    assert amounts.pop("pods") == 1
    return amounts


def statuses(name: str = "main", **fields: Any) -> list[dict[str, Any]]:
    return [{"name": "other", "allocatedResources": {"cpu": 100}}, {"name": name, **fields}]


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        pytest.param(pod(asks(cpu=1, gpu=2), asks("b", cpu="500m")), {"cpu": 1.5, "nvidia.com/gpu": 2}, id="their sum"),
        pytest.param(pod({"name": "main"}, {"name": "b", "resources": {}}), {}, id="nothing is requested"),
        pytest.param(pod(asks(cpu=0)), {}, id="zero is requested"),
        # containers at the start
        pytest.param(pod(asks(cpu=1), spec={"initContainers": [asks("i", cpu=3), asks("j", cpu=2)]}), {"cpu": 3},
                     id="the largest of those at the start"),
        pytest.param(pod(asks(cpu=4), spec={"initContainers": [asks("i", cpu=3), asks("j", cpu=3)]}), {"cpu": 4},
                     id="those at the start are less"),
        pytest.param(pod(asks(cpu=1, memory=9), spec={"initContainers": [asks("i", cpu=3, memory=5)]}),
                     {"cpu": 3, "memory": 9}, id="each resource by itself"),
        pytest.param(pod(asks(cpu=1), spec={"initContainers": [asks("s", cpu=2) | SIDECAR]}), {"cpu": 3},
                     id="one that goes on is added"),
        pytest.param(pod(asks(cpu=1), spec={"initContainers": [asks("s", cpu=2) | SIDECAR, asks("i", cpu=5)]}),
                     {"cpu": 7}, id="one that starts beside one that goes on"),
        pytest.param(pod(asks(cpu=1), spec={"initContainers": [asks("i", cpu=5), asks("s", cpu=2) | SIDECAR]}),
                     {"cpu": 5}, id="one that ends before the one that goes on"),
        pytest.param(pod(asks(cpu=1), spec={"initContainers": [
            asks("s", cpu=1) | SIDECAR, asks("i", cpu=4), asks("t", cpu=2) | SIDECAR, asks("j", cpu=1)]}),
                     {"cpu": 5}, id="several of both kinds"),
        # the pod as a whole
        pytest.param(pod(asks(cpu=1), spec={"overhead": {"cpu": "250m", "memory": 5}}), {"cpu": 1.25, "memory": 5},
                     id="the overhead of its sandbox"),
        pytest.param(pod(asks(cpu=1), spec={"initContainers": [asks("i", cpu=3)], "overhead": {"cpu": 1}}), {"cpu": 4},
                     id="the overhead comes on top of the largest"),
        pytest.param(pod(asks(cpu=1, gpu=1), spec={"resources": {"requests": {"cpu": 6}}}),
                     {"cpu": 6, "nvidia.com/gpu": 1}, id="requests of the pod replace the sum, resource by resource"),
        pytest.param(pod(asks(cpu=9), spec={"resources": {"requests": {"cpu": 6}}, "overhead": {"cpu": 1}}), {"cpu": 7},
                     id="overhead on top of the requests of the pod"),
        # a resize in place
        pytest.param(pod(asks(cpu=1), status={"containerStatuses": statuses(allocatedResources={"cpu": 2})}),
                     {"cpu": 2}, id="more is allocated than asked for: it shrinks"),
        pytest.param(pod(asks(cpu=3), status={"containerStatuses": statuses(allocatedResources={"cpu": 2})}),
                     {"cpu": 3}, id="less is allocated than asked for: it grows"),
        pytest.param(pod(asks(cpu=1), status={"containerStatuses": statuses(
            allocatedResources={"cpu": 2}, resources={"requests": {"cpu": 4}})}), {"cpu": 4}, id="more is in use"),
        pytest.param(pod(asks(cpu=1), spec={"initContainers": [asks("s", cpu=2) | SIDECAR]},
                         status={"initContainerStatuses": statuses("s", allocatedResources={"cpu": 3})}),
                     {"cpu": 4}, id="of one that goes on"),
        pytest.param(pod(asks(cpu=1), spec={"initContainers": [asks("i", cpu=2)]},
                         status={"initContainerStatuses": statuses("i", allocatedResources={"cpu": 9})}),
                     {"cpu": 2}, id="one that only starts is never resized"),
    ],
)  # fmt: skip
def test_a_pod_holds_what_the_scheduler_takes_off_its_node(
    manifest: dict[str, Any], expected: dict[str, float]
) -> None:
    assert held(manifest) == expected


@pytest.mark.parametrize(
    ("labels", "is_managed"),
    [
        pytest.param({"kueue.x-k8s.io/podset": "main"}, True, id="the label"),
        pytest.param({"kueue.x-k8s.io/podset": ""}, True, id="the label without a value"),
        pytest.param({"kueue.x-k8s.io/queue-name": "q"}, False, id="another label of Kueue"),
        pytest.param({"app": "web"}, False, id="none"),
    ],
)
def test_kueue_manages_the_pods_with_its_label(labels: dict[str, str], is_managed: bool) -> None:
    use = decode_pod(json.dumps(pod(asks(cpu=1), labels=labels)).encode())
    assert (use.node, use.is_managed) == ("n1", is_managed)


@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(pod(asks(cpu=1), spec={"nodeName": ""}), id="no node yet"),
        pytest.param(pod(asks(cpu=1), status={"phase": "Succeeded"}), id="it has ended well"),
        pytest.param(pod(asks(cpu=1), status={"phase": "Failed"}), id="it has failed"),
    ],
)
def test_a_pod_without_a_node_or_that_has_finished_holds_nothing(manifest: dict[str, Any]) -> None:
    assert decode_pod(json.dumps(manifest).encode()) == HOLDS_NOTHING
    index = PodIndex()
    index.change(None, A)
    assert index.change(A, HOLDS_NOTHING)
    assert index.nodes == {}


def test_a_pod_on_its_way_out_holds_its_resources_until_it_is_gone() -> None:
    leaving = pod(asks(cpu=1))
    leaving["metadata"]["deletionTimestamp"] = "2026-09-20T10:00:00Z"
    assert held(leaving) == {"cpu": 1}


def test_null_fields_are_as_absent() -> None:
    empty = pod(asks(cpu=1), spec={"initContainers": None, "overhead": None}, status={"containerStatuses": None})
    assert held(empty) == {"cpu": 1}


# --- the sums ------------------------------------------------------------------------------------------------------

A = PodUse("n1", is_managed=True, requests=(("cpu", 3), ("pods", 1)))
B = PodUse("n1", is_managed=False, requests=(("cpu", 4), ("memory", 5), ("pods", 1)))


def test_pods_come_change_and_go() -> None:
    index = PodIndex()
    assert index.change(None, A)
    assert index.change(None, B)
    assert index.nodes == {"n1": NodePods({"cpu": 3, "pods": 1}, {"cpu": 4, "memory": 5, "pods": 1})}
    assert index.change(B, A)
    assert index.nodes == {"n1": NodePods({"cpu": 6, "pods": 2}, {})}
    assert index.change(A, A._replace(node="n2"))
    assert index.nodes == {"n1": NodePods({"cpu": 3, "pods": 1}), "n2": NodePods({"cpu": 3, "pods": 1})}
    assert index.change(A, None)
    assert index.change(A._replace(node="n2"), None)
    assert index.nodes == {}


def test_a_change_that_changes_no_sum_is_none() -> None:
    """A status with another condition, a pod that still waits for a node."""
    index = PodIndex()
    index.change(None, A)
    assert not index.change(A, PodUse(*A))
    assert not index.change(None, None)


uses = st.builds(
    PodUse,
    st.sampled_from(["n1", "n2"]),
    st.booleans(),
    st.dictionaries(st.sampled_from(["cpu", "gpu"]), st.integers(0, 3)).map(lambda held: tuple(sorted(held.items()))),
)


@given(st.lists(st.tuples(st.integers(0, 4), st.none() | uses), max_size=20))
def test_the_sums_are_those_of_the_pods_that_are_there(changes: list[tuple[int, PodUse | None]]) -> None:
    """Whatever happened before: counting once more from the beginning gives the same."""
    index = PodIndex()
    pods: dict[int, PodUse | None] = {}
    for name, new in changes:
        index.change(pods.get(name), new)
        pods[name] = new
    expected: dict[str, NodePods] = {}
    for use in pods.values():
        if use is not None and use.requests:
            sums = expected.setdefault(use.node, NodePods())
            side = sums.allocated if use.is_managed else sums.unmanaged
            for resource, nanos in use.requests:
                side[resource] = side.get(resource, 0) + nanos
    assert {node: _without_zeros(sums) for node, sums in index.nodes.items()} == {
        node: _without_zeros(sums) for node, sums in expected.items()
    }


def _without_zeros(sums: NodePods) -> list[dict[str, int]]:
    return [{name: nanos for name, nanos in side.items() if nanos} for side in (sums.allocated, sums.unmanaged)]
