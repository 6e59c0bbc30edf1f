"""`dqo explain` of a live cluster, beside what the real Kueue says."""

from __future__ import annotations

from typing import Any

import pytest

from tests.controlplane import kueue
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.cli.clusters import user
from tests.integration.cli.conftest import Dqo
from tests.integration.objects import flavor, queue

WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads"
LOCAL_QUEUE = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "LocalQueue",
    "metadata": {"name": "team", "namespace": "default"},
    "spec": {"clusterQueue": "team"},
}
OF_QUEUES = [{"apiGroups": ["kueue.x-k8s.io"], "resources": ["*"], "verbs": ["list"]}]


def _job(name: str, cpu: str) -> dict[str, Any]:
    containers = [{"name": "c", "image": "none", "resources": {"requests": {"cpu": cpu}}}]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "team"}},
        "spec": {"suspend": True, "template": {"spec": {"restartPolicy": "Never", "containers": containers}}},
    }


def _reserved(plane: ControlPlane, job: str) -> tuple[str, str]:
    """What Kueue says of the reservation of a Job's Workload."""
    for each in plane.admin.items(WORKLOADS):
        if each["metadata"]["ownerReferences"][0]["name"] == job:
            for condition in each.get("status", {}).get("conditions", []):
                if condition["type"] == "QuotaReserved":
                    return condition["status"], condition["message"]
    return "", ""


@pytest.fixture
def cluster(fresh_plane: ControlPlane) -> ControlPlane:
    """One Job has five of eight CPUs, another one that wants four waits."""
    plane = fresh_plane
    kueue.start_manager(plane)
    plane.admin.apply(flavor("standard"), queue("team", {"standard": {"cpu": "8"}}), LOCAL_QUEUE)
    plane.admin.create(_job("first", "5"))
    eventually(lambda: _reserved(plane, "first")[0] == "True", "the first is admitted")
    plane.admin.create(_job("second", "4"))
    eventually(lambda: _reserved(plane, "second")[0] == "False", "the second waits")
    return plane


def test_who_waits_in_a_cluster_is_told_why(cluster: ControlPlane, dqo: Dqo) -> None:
    """In the numbers of the real Kueue; whoever may list Kueue's objects alone is told as well."""
    assert "insufficient unused quota for cpu in flavor standard, 1 more needed" in _reserved(cluster, "second")[1]
    for kubeconfig in (cluster.kubeconfig(), user(cluster, "of-queues", OF_QUEUES)):
        printed = dqo(kubeconfig, "explain", "workload", "default/second")
        assert printed.code == 2, printed
        assert "standard lacks 1 of cpu" in printed.out
        assert "standard/cpu is held by default/first 5 (team)" in printed.out
    assert dqo(cluster.kubeconfig(), "explain", "workload", "default/first").code == 0


def test_quotas_of_a_cluster_are_told(cluster: ControlPlane, dqo: Dqo) -> None:
    """As they are in force."""
    printed = dqo(cluster.kubeconfig(), "explain", "quota", "team")
    assert (printed.code, printed.out.splitlines()[0]) == (0, "standard/cpu: ClusterQueue/team has 8 in force")


def test_who_may_not_list_workloads_is_told_how(cluster: ControlPlane, dqo: Dqo) -> None:
    """With the verb that is missing."""
    printed = dqo(user(cluster, "of-nothing", []), "explain", "workload", "default/second")
    assert printed.code == 1
    assert "not allowed" in printed.err
