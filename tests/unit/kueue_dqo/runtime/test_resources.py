"""Paths of resources on an API server."""

from __future__ import annotations

import pytest

from kueue_dqo.runtime import resources
from kueue_dqo.runtime.resources import Resource


@pytest.mark.parametrize(
    ("resource", "parts", "path"),
    [
        (resources.NODES, {}, "/api/v1/nodes"),
        (resources.NODES, {"name": "a.b"}, "/api/v1/nodes/a.b"),
        (resources.CLUSTER_QUEUES, {}, "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"),
        (
            resources.CLUSTER_QUEUES,
            {"name": "a", "subresource": "status"},
            "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/a/status",
        ),
        (resources.LEASES, {}, "/apis/coordination.k8s.io/v1/leases"),
        (resources.LEASES, {"namespace": "n"}, "/apis/coordination.k8s.io/v1/namespaces/n/leases"),
        (resources.LEASES, {"name": "x", "namespace": "n"}, "/apis/coordination.k8s.io/v1/namespaces/n/leases/x"),
        (resources.EVENTS, {"name": "a/../b?c", "namespace": "n"}, "/api/v1/namespaces/n/events/a%2F..%2Fb%3Fc"),
    ],
)
def test_a_path_names_the_collection_the_object_or_its_subresource(
    resource: Resource, parts: dict[str, str], path: str
) -> None:
    assert resource.path(**parts) == path


@pytest.mark.parametrize(
    ("resource", "parts", "message"),
    [
        (resources.NODES, {"namespace": "n"}, "nodes have no namespace, but 'n' is given"),
        (resources.LEASES, {"name": "x"}, "leases 'x' is named without its namespace"),
        (resources.NODES, {"subresource": "status"}, "'status' only one by one: a name is missing"),
    ],
)
def test_parts_that_do_not_go_together_are_refused(resource: Resource, parts: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        resource.path(**parts)


def test_names_of_versions_and_resources() -> None:
    assert (resources.NODES.api_version, resources.NODES.full_name) == ("v1", "nodes")
    assert resources.COHORTS.api_version == "kueue.x-k8s.io/v1beta2"
    assert resources.COHORTS.full_name == "cohorts.v1beta2.kueue.x-k8s.io"
