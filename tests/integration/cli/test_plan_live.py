"""`dqo plan` of a live cluster."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path
from typing import Any

import pytest

from kueue_dqo.cli.main import run
from kueue_dqo.runtime.connection import find_connection
from tests.controlplane.kueue import CRDS
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.cli.clusters import (
    EARLIER,
    LABELS,
    ORCHESTRATOR_MANAGER,
    QUEUES,
    cohort,
    effective,
    groups,
    orchestrator,
    provider,
    queue,
    user,
    write_spec,
    write_status,
)
from tests.integration.cli.conftest import Dqo

CRD = f"{CRDS}/dynamicquotaorchestrators.kueue.x-k8s.io"
LABEL = "kueue-dqo.dev/controller-name"
TEAMS = [cohort("teams"), queue("a", "10", cohort="teams"), queue("b", "30", cohort="teams")]
LISTED = [
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]},
    {"apiGroups": ["kueue.x-k8s.io", "kueue-dqo.dev"], "resources": ["*"], "verbs": ["list"]},
]


def row(text: str, first: str) -> list[str]:
    (found,) = (line for line in text.splitlines() if re.match(rf"\s*{re.escape(first)}(\s|$)", line))
    return re.split(r"\s{2,}", found.strip())


def in_one_line(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture
def cluster(plane: ControlPlane, dqo: Dqo) -> ControlPlane:
    """Two teams that declare 10 and 30, of which 20 are there."""
    plane.admin.apply(*TEAMS, provider(), orchestrator())
    assert dqo(plane.kubeconfig(), "capacity", "set", "p", "batch/cpu=20").code == 0
    return plane


def test_present_and_planned_quotas_stand_side_by_side(cluster: ControlPlane, dqo: Dqo) -> None:
    """On the road on which quotas are in force, which is said."""
    write_spec(cluster, TEAMS[1], groups("10"), effective("8"))
    write_spec(cluster, TEAMS[2], groups("30"), effective("15"))
    printed = dqo(cluster.kubeconfig(), "plan")
    assert printed.code == 0, printed.err
    assert row(printed.out, "a") == ["a", "batch", "cpu", "10", "8 → 5", "25.0 %", "▼ falls"]
    assert row(printed.out, "b") == ["b", "batch", "cpu", "30", "15", "75.0 %", "unchanged"]
    assert "planned for the road spec: ClusterQueue/a has the annotation" in in_one_line(printed.out)


def test_without_quotas_in_force_the_definitions_tell_the_road(cluster: ControlPlane, dqo: Dqo) -> None:
    """Those of this project are there where Kueue has none of its own."""
    printed = dqo(cluster.kubeconfig(), "plan")
    assert "planned for the road spec: the definition" in in_one_line(printed.out)
    assert "came with kueue-dqo" in in_one_line(printed.out)


def test_nothing_is_written(cluster: ControlPlane, dqo: Dqo) -> None:
    """Every object is what it was."""
    kinds = ("v1beta2/clusterqueues", "v1beta2/cohorts", "v1alpha1/capacityproviders")
    paths = [f"/apis/kueue.x-k8s.io/{each}" for each in (*kinds, "v1alpha1/dynamicquotaorchestrators")]
    before = [cluster.admin.items(path) for path in paths]
    assert dqo(cluster.kubeconfig(), "plan", "-o", "json").code == 0
    assert [cluster.admin.items(path) for path in paths] == before


def test_what_a_plan_says_is_unchanged_once_it_is_written(cluster: ControlPlane, dqo: Dqo) -> None:
    """The objects of its list are what a daemon would write."""
    planned = dqo(cluster.kubeconfig(), "plan", "-o", "json", "--detailed-exitcode")
    assert planned.code == 2
    items: list[dict[str, Any]] = json.loads(planned.out)["items"]
    for each in items:
        for condition in each.get("status", {}).get("conditions", ()):
            condition["lastTransitionTime"] = EARLIER
        each.setdefault("spec", cluster.admin.get(cluster.admin.path_of(each))["spec"])
    cluster.admin.apply(*items, manager=ORCHESTRATOR_MANAGER)
    printed = dqo(cluster.kubeconfig(), "plan", "--detailed-exitcode")
    assert printed.code == 0, printed.out
    assert [row(printed.out, name)[-1] for name in ("teams", "a", "b")] == ["unchanged"] * 3


def test_effective_quotas_in_the_status_are_the_road(status_plane: ControlPlane, dqo: Dqo) -> None:
    """Whosever the definitions are: what is in force there is unchanged, and no false alarm before an upgrade."""
    status_plane.admin.apply(*TEAMS, provider(), orchestrator())
    kubeconfig = status_plane.kubeconfig()
    assert dqo(kubeconfig, "capacity", "set", "p", "batch/cpu=20").code == 0
    write_status(status_plane, TEAMS[1], effective("5"))
    write_status(status_plane, TEAMS[2], effective("15"))
    printed = dqo(kubeconfig, "plan")
    assert "planned for the road status: ClusterQueue/a has effective quotas of" in in_one_line(printed.out)
    assert [row(printed.out, name)[-1] for name in ("a", "b")] == ["unchanged"] * 2


def test_the_road_can_be_chosen(cluster: ControlPlane, dqo: Dqo) -> None:
    """Then nobody has to be told why."""
    printed = dqo(cluster.kubeconfig(), "plan", "--road", "status", "-o", "json")
    assert "planned for the road" not in printed.err
    written = [each for each in json.loads(printed.out)["items"] if each["kind"] == "ClusterQueue"]
    assert [set(each["status"]) for each in written] == [{"effectiveQuotas"}] * 2


def test_without_the_right_to_read_definitions_the_road_is_the_status(cluster: ControlPlane, dqo: Dqo) -> None:
    """Listing is all that a plan needs."""
    printed = dqo(user(cluster, "reader", LISTED), "plan", "-o", "json")
    assert printed.code == 0, printed.err
    assert "planned for the road status: the definition" in printed.err
    assert "may not be read (verb get)" in printed.err


def test_what_may_not_be_listed_is_named_with_the_way_out(plane: ControlPlane, dqo: Dqo) -> None:
    """All kinds at once."""
    printed = dqo(user(plane, "half", LISTED[1:]), "plan")
    assert (printed.code, printed.out) == (1, "")
    assert printed.err.startswith("Error: not allowed to list nodes: nodes is forbidden: User ")
    assert "have the verb list granted on them by a ClusterRole" in printed.err
    printed = dqo(user(plane, "nobody", []), "plan")
    assert "not allowed to list nodes, resourceflavors.v1beta2.kueue.x-k8s.io, clusterqueues." in printed.err
    assert printed.err.count("Error") == 1


def test_an_object_that_cannot_be_used_is_a_problem_by_its_name(plane: ControlPlane, dqo: Dqo) -> None:
    """As in files: every problem is listed, and nothing is planned. Without its webhooks, Kueue lets these through."""
    plane.admin.apply(queue("a", "-1"), queue("b", "-2"), queue("c"))
    printed = dqo(plane.kubeconfig(), "plan")
    assert (printed.code, printed.out) == (1, "")
    assert "2 problems in the cluster:" in printed.err
    assert "ClusterQueue/a: spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: -1 is negative" in printed.err
    assert "ClusterQueue/b: " in printed.err


def test_a_cluster_that_does_not_answer_is_one_clear_error(plane: ControlPlane, dqo: Dqo) -> None:
    """With the other way to plan."""
    printed = dqo(plane.kubeconfig(server="https://127.0.0.1:9"), "plan")
    assert (printed.code, printed.out) == (1, "")
    assert printed.err.startswith("Error: the cluster cannot be reached: GET /")
    assert "or plan from files: -f PATH" in printed.err


@pytest.mark.parametrize("option", [("--context", "nowhere"), ("--context", "admin")], ids=" ".join)
def test_a_context_is_chosen(option: tuple[str, str], plane: ControlPlane, dqo: Dqo) -> None:
    """One that is not there is an error that lists those that are."""
    printed = dqo(plane.kubeconfig(), "plan", *option)
    assert printed.code == (0 if option[1] == "admin" else 1)
    assert ("there is no context 'nowhere'; there are: admin" in printed.err) == (printed.code == 1)


def test_the_kubeconfigs_of_the_environment_are_used(
    plane: ControlPlane, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """DQO_KUBECONFIG before KUBECONFIG, as --kubeconfig is with kubectl."""
    monkeypatch.delenv("DQO_KUBECONFIG", raising=False)
    monkeypatch.setenv("KUBECONFIG", str(plane.kubeconfig()))
    assert run(["plan"]) == 0
    monkeypatch.setenv("DQO_KUBECONFIG", "/nowhere")
    assert run(["plan"]) == 1
    assert "kubeconfig /nowhere: there is no such file" in capsys.readouterr().err


def test_kinds_that_the_cluster_lacks_are_left_out(fresh_plane: ControlPlane, dqo: Dqo) -> None:
    """And said; the road follows the definition of the orchestrator."""
    fresh_plane.admin.apply(*TEAMS, provider(), orchestrator())
    fresh_plane.admin.patch(CRD, {"metadata": {"labels": {"app.kubernetes.io/managed-by": None}}})
    printed = dqo(fresh_plane.kubeconfig(), "plan", "-o", "json")
    assert printed.code == 0, printed.err
    assert "planned for the road status: the definition dynamicquotaorchestrators.kueue.x-k8s.io did not" in printed.err
    assert "it is Kueue's own" in printed.err
    fresh_plane.admin.delete(CRD)
    fresh_plane.admin.delete(f"{CRDS}/admissionchecks.kueue.x-k8s.io")

    def is_gone() -> bool:
        return dqo(fresh_plane.kubeconfig(), "plan").out.count("dynamicquotaorchestrators.v1alpha1.kueue.x-k8s.io") > 0

    eventually(is_gone, "the definitions are gone")
    printed = dqo(fresh_plane.kubeconfig(), "plan")
    assert printed.code == 0
    assert "the cluster has no admissionchecks.v1beta2.kueue.x-k8s.io" in in_one_line(printed.out)
    assert "planned for the road status: the cluster has no definition" in in_one_line(printed.out)
    assert "No DynamicQuotaOrchestrator in the cluster: no quota would change." in printed.out


def test_a_queue_whose_quotas_multikueue_sets_is_left_alone(cluster: ControlPlane, dqo: Dqo) -> None:
    """As by the daemon, and its whole subtree with it."""
    group, config = "kueue.x-k8s.io", {"kind": "MultiKueueConfig", "name": "workers"}
    remote = queue("a", "10", cohort="teams")
    remote["spec"]["admissionChecksStrategy"] = {"admissionChecks": [{"name": "remote"}]}
    cluster.admin.apply(
        {
            "apiVersion": QUEUES,
            "kind": config["kind"],
            "metadata": {"name": config["name"]},
            "spec": {"clusters": ["one"], "quotaManagement": "Automated"},
        },
        {
            "apiVersion": QUEUES,
            "kind": "AdmissionCheck",
            "metadata": {"name": "remote"},
            "spec": {"controllerName": f"{group}/multikueue", "parameters": {"apiGroup": group, **config}},
        },
        remote,
    )
    printed = dqo(cluster.kubeconfig(), "plan", "-o", "json", "--detailed-exitcode")
    assert printed.code == 3
    (item,) = json.loads(printed.out)["items"]
    (found,) = (each for each in item["status"]["conditions"] if each["type"] == "Distributed")
    assert (found["status"], found["reason"]) == ("False", "Misconfigured")
    assert "ClusterQueue/a: MultiKueue sets its quotas (AdmissionCheck remote" in found["message"]


def lease(name: str, renewed: datetime.datetime, *, namespace: str = "default", label: str = LABEL) -> dict[str, Any]:
    labels = LABELS | ({label: "example.com.by-hand"} if label else {})
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "holderIdentity": "p-0",
            "leaseDurationSeconds": 15,
            "renewTime": renewed.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        },
    }


NOW = datetime.datetime.now(datetime.UTC)
LONG_AGO, FAR_AWAY = NOW - datetime.timedelta(days=1), NOW + datetime.timedelta(days=1)


def test_a_provider_whose_lease_ran_out_is_warned_of(cluster: ControlPlane, dqo: Dqo) -> None:
    """Wherever it is; as long as no other Lease of its name is in force."""
    namespaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each}} for each in ("default", "old")]
    cluster.admin.apply(*namespaces, lease("p", LONG_AGO), lease("other", LONG_AGO))
    printed = dqo(cluster.kubeconfig(), "plan", "-o", "json")
    (warning,) = (line for line in printed.err.splitlines() if line.startswith("Warning: "))
    assert "example.com/by-hand seems to be dead" in warning
    ran_out = re.search(r"its Lease default/p ran out (\d+) s ago", warning)
    assert ran_out is not None
    assert int(ran_out[1]) > 80_000  # a day before this file was read, however long ago that is
    cluster.admin.apply(lease("p", FAR_AWAY), lease("p", LONG_AGO, namespace="old"))
    assert "seems to be dead" not in dqo(cluster.kubeconfig(), "plan", "-o", "json").err


def test_a_lease_that_is_no_sign_of_a_provider_is_passed_over(cluster: ControlPlane, dqo: Dqo) -> None:
    """Whatever its name is: what others elect their leader by has no such label."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
    cluster.admin.apply(namespace, lease("p", LONG_AGO, label=""))
    assert "seems to be dead" not in dqo(cluster.kubeconfig(), "plan", "-o", "json").err


def test_without_the_right_to_list_leases_a_note_says_so(cluster: ControlPlane, dqo: Dqo) -> None:
    """They change no quota."""
    printed = dqo(user(cluster, "reader", LISTED), "plan", "-o", "json")
    assert printed.code == 0
    assert "Note: the Leases of providers could not be listed, so none was looked at: " in printed.err
    assert "leases.coordination.k8s.io is forbidden" in printed.err
    more = [*LISTED, {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["list"]}]
    assert "could not be listed" not in dqo(user(cluster, "watcher", more), "plan", "-o", "json").err


def test_a_kubeconfig_that_is_set_goes_before_the_service_account_of_a_pod(
    plane: ControlPlane, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As with kubectl: this pod's own API server does not answer."""
    account = tmp_path / "serviceaccount"
    account.mkdir()
    (account / "token").write_text("none")
    (account / "ca.crt").write_bytes(plane.ca.read_bytes())
    assert find_connection.__kwdefaults__ is not None
    monkeypatch.setitem(find_connection.__kwdefaults__, "service_account", account)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "9")
    for name in ("KUBECONFIG", "DQO_KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)
    assert run(["plan"]) == 1
    assert "the cluster cannot be reached" in capsys.readouterr().err
    monkeypatch.setenv("KUBECONFIG", str(plane.kubeconfig()))
    assert run(["plan"]) == 0
