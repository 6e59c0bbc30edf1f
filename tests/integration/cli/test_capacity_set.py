"""`dqo capacity set` against a real API server."""

from __future__ import annotations

from typing import Any

import pytest

from tests.controlplane.plane import ControlPlane
from tests.integration.cli.clusters import EARLIER, path_of, provider, user
from tests.integration.cli.conftest import Dqo
from tests.integration.cli.interference import interfere

P = path_of(provider())
OTHER = {
    "type": "Verified",
    "status": "True",
    "reason": "Checked",
    "message": "",
    "lastTransitionTime": EARLIER,
}


def status_of(plane: ControlPlane) -> dict[str, Any]:
    found: dict[str, Any] = plane.admin.get(P).get("status", {})
    return found


def published(plane: ControlPlane) -> dict[str, str]:
    flavors = status_of(plane).get("capacity", {}).get("flavors", [])
    return {f"{each['name']}/{name}": amount for each in flavors for name, amount in each["resources"].items()}


def synchronized(plane: ControlPlane) -> dict[str, Any]:
    (found,) = (each for each in status_of(plane)["conditions"] if each["type"] == "CapacitySynchronized")
    return dict(found)


@pytest.fixture
def cluster(plane: ControlPlane) -> ControlPlane:
    """One provider, which nobody has written to."""
    plane.admin.apply(provider())
    return plane


def test_capacity_and_condition_are_written_in_one_step(cluster: ControlPlane, dqo: Dqo) -> None:
    """By the field manager of the command, in the subresource."""
    printed = dqo(cluster.kubeconfig(), "capacity", "set", "p", "batch/cpu=40", "batch/memory=1024Mi")
    assert (printed.code, printed.err) == (0, "")
    assert printed.out.splitlines() == [
        "CapacityProvider/p: batch/cpu 40 (was absent), batch/memory 1Gi (was absent)",
        "CapacitySynchronized=True Synchronized at generation 1: set by hand with dqo capacity set",
    ]
    assert published(cluster) == {"batch/cpu": "40", "batch/memory": "1Gi"}
    condition = synchronized(cluster)
    assert (condition["status"], condition["reason"], condition["observedGeneration"]) == ("True", "Synchronized", 1)
    managers = cluster.admin.get(P)["metadata"]["managedFields"]
    assert [each["subresource"] for each in managers if each["manager"] == "kueue-dqo-cli"] == ["status"]


def test_the_generation_is_that_of_the_object(cluster: ControlPlane, dqo: Dqo) -> None:
    """After a change of the spec, what was published before is stale until it is published anew."""
    dqo(cluster.kubeconfig(), "capacity", "set", "p", "batch/cpu=40")
    flavors = [{"name": "batch"}, {"name": "a100"}]
    cluster.admin.patch(P, {"spec": {"orchestratedFlavors": flavors}})
    before = synchronized(cluster)
    assert dqo(cluster.kubeconfig(), "capacity", "set", "p", "a100/nvidia.com/gpu=8").code == 0
    assert published(cluster) == {"batch/cpu": "40", "a100/nvidia.com/gpu": "8"}
    assert synchronized(cluster) == before | {"observedGeneration": 2}


def test_a_second_write_of_the_same_is_none(cluster: ControlPlane, dqo: Dqo) -> None:
    """The object stays as it is, and the command says so."""
    dqo(cluster.kubeconfig(), "capacity", "set", "p", "batch/cpu=1")
    before = cluster.admin.get(P)
    printed = dqo(cluster.kubeconfig(), "capacity", "set", "p", "batch/cpu=1000m")
    assert (printed.code, printed.out.splitlines()[0]) == (0, "CapacityProvider/p: batch/cpu 1 (unchanged)")
    assert cluster.admin.get(P) == before


def test_not_ready_keeps_the_capacity_and_other_conditions(cluster: ControlPlane, dqo: Dqo) -> None:
    """The way back is to say the numbers again."""
    dqo(cluster.kubeconfig(), "capacity", "set", "p", "batch/cpu=40")
    cluster.admin.patch(f"{P}/status", {"status": {"conditions": [OTHER, synchronized(cluster)]}})
    call = ("--not-ready", "SourceUnavailable", "--message", "the hall is dark")
    assert dqo(cluster.kubeconfig(), "capacity", "set", "p", *call).code == 0
    assert published(cluster) == {"batch/cpu": "40"}
    assert status_of(cluster)["conditions"][0] == OTHER
    found = synchronized(cluster)
    assert (found["status"], found["reason"], found["message"]) == ("False", "SourceUnavailable", "the hall is dark")


def test_a_dry_run_is_judged_by_the_server_and_writes_nothing(cluster: ControlPlane, dqo: Dqo) -> None:
    """It says what would be there."""
    printed = dqo(cluster.kubeconfig(), "capacity", "set", "p", "batch/cpu=40", "--dry-run")
    assert printed.code == 0
    assert printed.out.startswith("CapacityProvider/p: batch/cpu 40 (was absent) (dry run: nothing was written)\n")
    assert status_of(cluster) == {}


def test_what_others_write_in_between_is_not_lost(
    cluster: ControlPlane, dqo: Dqo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test of the patch fails, and the object is read anew."""
    memory = {"flavors": [{"name": "batch", "resources": {"memory": "1Gi"}}]}

    def others(count: int) -> None:
        if count == 1:
            cluster.admin.patch(f"{P}/status", {"status": {"capacity": memory}})

    interfere(monkeypatch, others)
    printed = dqo(cluster.kubeconfig(), "capacity", "set", "p", "batch/cpu=40")
    assert (printed.code, printed.err) == (0, "")
    assert published(cluster) == {"batch/cpu": "40", "batch/memory": "1Gi"}


def test_whoever_writes_all_the_time_is_an_error(
    cluster: ControlPlane, dqo: Dqo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a few attempts."""
    interfere(monkeypatch, lambda count: cluster.admin.patch(P, {"metadata": {"labels": {"count": str(count)}}}))
    printed = dqo(cluster.kubeconfig(), "capacity", "set", "p", "batch/cpu=40")
    assert (printed.code, printed.out) == (1, "")
    assert "was changed by others 5 times" in printed.err
    assert status_of(cluster) == {}


def test_the_object_of_a_daemon_is_refused(plane: ControlPlane, dqo: Dqo) -> None:
    """And written with --force."""
    plane.admin.apply(provider(controller="kueue-dqo.dev/node-inventory"))
    printed = dqo(plane.kubeconfig(), "capacity", "set", "p", "batch/cpu=40")
    assert (printed.code, printed.out) == (1, "")
    assert "is kept by kueue-dqo.dev/node-inventory" in printed.err
    assert status_of(plane) == {}
    assert dqo(plane.kubeconfig(), "capacity", "set", "p", "batch/cpu=40", "--force").code == 0
    assert published(plane) == {"batch/cpu": "40"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["other", "batch/cpu=1"], "the cluster has no CapacityProvider other", id="no object"),
        pytest.param(["p", "a100/cpu=1"], "flavor 'a100' is not in its spec.orchestratedFlavors (batch)", id="flavor"),
        pytest.param(["p", "batch/cpu=-1"], "-1 is negative", id="negative"),
        pytest.param(["p"], "say what to set", id="nothing"),
        pytest.param(["p", "--not-ready", "SourceUnavailable"], "--not-ready needs --message", id="no message"),
        pytest.param(
            ["p", "batch/cpu=1", "--not-ready", "Misconfigured", "--message", "x"], "leave the pairs out", id="both"
        ),
        pytest.param(["p", "--not-ready", "Tired", "--message", "x"], "'Tired' is not one of", id="an unknown reason"),
        pytest.param(["p", "batch/cpu=1", "--message", "x" * 32_769], "has 32769 characters", id="a long message"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: list[str], says: str, cluster: ControlPlane, dqo: Dqo) -> None:
    """And nothing is written."""
    printed = dqo(cluster.kubeconfig(), "capacity", "set", *arguments)
    assert (printed.code, printed.out) == (1, "")
    assert says in printed.err
    assert status_of(cluster) == {}


def test_a_missing_right_is_named(cluster: ControlPlane, dqo: Dqo) -> None:
    """Reading is allowed here, writing the status is not."""
    reading = [{"apiGroups": ["kueue.x-k8s.io"], "resources": ["capacityproviders"], "verbs": ["get"]}]
    printed = dqo(user(cluster, "reader", reading), "capacity", "set", "p", "batch/cpu=40")
    assert (printed.code, printed.out) == (1, "")
    assert "CapacityProvider/p was not written: not allowed: PATCH " in printed.err
    assert 'cannot patch resource "capacityproviders/status"' in printed.err
    assert "granted by a ClusterRole" in printed.err
