"""Kueue on the control plane: the real scheduler follows quotas, the real manager's webhooks are asked."""

from __future__ import annotations

from typing import Any

import pytest

from tests.controlplane import kueue
from tests.controlplane.admin import Refused
from tests.controlplane.cleanup import remove_objects
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually

QUEUE_PATH = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/team"
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads"
FLAVOR = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "standard"}}
LOCAL_QUEUE = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "LocalQueue",
    "metadata": {"name": "team", "namespace": "default"},
    "spec": {"clusterQueue": "team"},
}
REFERENCE = {"apiGroup": "kueue.x-k8s.io", "kind": "DynamicQuotaOrchestrator", "name": "platform"}

NOBODY = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "nobody-there"},
    "webhooks": [
        {
            "name": "nobody.example.com",
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "rules": [
                {
                    "apiGroups": ["kueue.x-k8s.io"],
                    "apiVersions": ["*"],
                    "operations": ["UPDATE"],
                    "resources": ["*"],
                }
            ],
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
        }
    ],
}


def _groups(cpu: str, **limits: str) -> list[dict[str, Any]]:
    quota = {"name": "cpu", "nominalQuota": cpu, **limits}
    return [{"coveredResources": ["cpu"], "flavors": [{"name": "standard", "resources": [quota]}]}]


def _queue(cpu: str, **limits: str) -> dict[str, Any]:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "team"},
        "spec": {"cohortName": "company", "namespaceSelector": {}, "resourceGroups": _groups(cpu, **limits)},
    }


def _pod(cpu: str) -> dict[str, Any]:
    requests = {"resources": {"requests": {"cpu": cpu}}}
    return {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none", **requests}]}}


def _workload(name: str, cpu: str) -> dict[str, Any]:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"queueName": "team", "podSets": [{"name": "main", "count": 1, "template": _pod(cpu)}]},
    }


def _is_true(plane: ControlPlane, name: str, condition: str) -> bool:
    found = plane.admin.get(f"{WORKLOADS}/{name}").get("status", {}).get("conditions", [])
    return any(each["type"] == condition and each["status"] == "True" for each in found)


def _is_refused_quota(plane: ControlPlane, name: str) -> bool:
    """Whether the scheduler has looked at it and has said that it does not fit."""
    found = plane.admin.get(f"{WORKLOADS}/{name}").get("status", {}).get("conditions", [])
    return any(each["type"] == "QuotaReserved" and each["status"] == "False" for each in found)


@pytest.mark.parametrize("version", [kueue.V018, kueue.V019])
def test_the_scheduler_admits_what_fits_and_the_next_when_the_quota_is_raised(
    version: str, bare_plane: ControlPlane
) -> None:
    """Two Workloads of 8 CPUs and a quota of 10: the second waits until the quota is 16."""
    plane = bare_plane
    kueue.install_crds(plane, version=version)
    kueue.start_minimal(plane, version=version)
    plane.admin.apply(FLAVOR, _queue("10"), LOCAL_QUEUE)
    plane.admin.create(_workload("first", "8"))
    eventually(lambda: _is_true(plane, "first", "Admitted"), "the first is admitted")
    plane.admin.create(_workload("second", "8"))
    eventually(lambda: _is_refused_quota(plane, "second"), "the second waits")
    assert not _is_true(plane, "second", "Admitted")
    plane.admin.apply(_queue("16"))
    eventually(lambda: _is_true(plane, "second", "Admitted"), "the second is admitted")


def test_the_manager_admits_jobs_and_its_webhooks_refuse_nonsense(fresh_plane: ControlPlane) -> None:
    """A Job is let go when there is quota for it; a lendingLimit above the quota is refused."""
    plane = fresh_plane
    kueue.start_manager(plane)
    plane.admin.apply(FLAVOR, _queue("10"), LOCAL_QUEUE)
    with pytest.raises(Refused, match="lendingLimit"):
        plane.admin.apply(_queue("10", lendingLimit="11"))
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "train",
            "namespace": "default",
            "labels": {"kueue.x-k8s.io/queue-name": "team"},
        },
        "spec": {"suspend": True, "template": _pod("8")},
    }
    plane.admin.create(job)
    eventually(lambda: plane.admin.get(plane.admin.path_of(job))["spec"]["suspend"] is False, "the job is let go")


@pytest.mark.parametrize("kind", ["ClusterQueue", "Cohort"])
def test_effective_quotas_have_the_rules_of_the_quotas_of_the_spec(kind: str, status_plane: ControlPlane) -> None:
    """The same limits on groups, and the orchestrator has to be named."""
    admin = status_plane.admin
    obj = {**_queue("10"), "kind": kind}
    if kind == "Cohort":
        obj["spec"] = {"resourceGroups": _groups("10")}
    admin.apply(obj)
    path = f"{admin.path_of(obj)}/status"
    quotas = {"orchestratorRef": REFERENCE, "resourceGroups": _groups("4")}
    assert admin.patch(path, {"status": {"effectiveQuotas": quotas}})["status"]["effectiveQuotas"] == quotas
    empty = {"orchestratorRef": REFERENCE, "resourceGroups": []}
    assert admin.patch(path, {"status": {"effectiveQuotas": empty}})["status"]["effectiveQuotas"] == empty
    with pytest.raises(Refused, match=r"resourceGroups.*at most 16 items"):
        admin.patch(path, {"status": {"effectiveQuotas": {**quotas, "resourceGroups": _groups("4") * 17}}})
    group = {**_groups("4")[0], "coveredResources": ["cpu", "memory"]}
    with pytest.raises(Refused, match="same number of resources as the coveredResources"):
        admin.patch(path, {"status": {"effectiveQuotas": {**quotas, "resourceGroups": [group]}}})
    with pytest.raises(Refused, match=r"effectiveQuotas\.orchestratorRef"):
        admin.patch(path, {"status": {"effectiveQuotas": {"orchestratorRef": None, "resourceGroups": []}}})


def test_one_test_finds_nothing_of_another(shared_plane: ControlPlane, plane: ControlPlane) -> None:
    """What holds an object, such as a finalizer that no controller sees to, holds up nothing."""
    held = _queue("10")
    held["metadata"] |= {"finalizers": ["kueue.x-k8s.io/resource-in-use"]}
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "installed", "namespace": "default", "labels": {"app.kubernetes.io/part-of": "kueue-dqo"}},
    }
    plane.admin.apply(FLAVOR, held, LOCAL_QUEUE, account)
    plane.admin.create(_workload("first", "8"))
    plane.admin.create(NOBODY)
    remove_objects(shared_plane)
    for path in (QUEUE_PATH, f"{WORKLOADS}/first", plane.admin.path_of(account)):
        with pytest.raises(Refused, match="not found"):
            plane.admin.get(path)
