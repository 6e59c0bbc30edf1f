"""The definition of reports of GPUs, on a real API server: what it takes, what not, what is shown, who owns what."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from kueue_dqo.api.gpu import INVENTORY_MANAGER, PROBLEM_MANAGER
from tests.controlplane.admin import Admin, Refused
from tests.controlplane.plane import ControlPlane
from tests.unit.kueue_dqo.api.parameter_specs import API_VERSION
from tests.unit.kueue_dqo.api.report_specs import BAD, FULL, GOOD, KIND, Case

REPORTS = f"/apis/{API_VERSION}/nodegpureports"
NAME = "gpu-1.example.com"


@pytest.fixture
def admin(shared_plane: ControlPlane) -> Iterator[Admin]:
    """The administrator of the shared control plane, which is emptied of just this kind: tests are many."""
    yield shared_plane.admin
    shared_plane.admin.request("DELETE", REPORTS)


def _report(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": NAME}, "spec": spec}


@pytest.mark.parametrize("case", GOOD, ids=str)
def test_what_the_rules_allow_is_taken_and_kept(case: Case, admin: Admin) -> None:
    """The same table as for the checks of manifests. Nothing is pruned, nothing added."""
    admin.create(case.manifest)
    assert admin.get(f"{REPORTS}/{NAME}")["spec"] == case.manifest["spec"]


@pytest.mark.parametrize("case", BAD, ids=str)
def test_what_the_rules_forbid_is_refused_with_a_message_that_names_the_field(case: Case, admin: Admin) -> None:
    """The field or what it is in."""
    with pytest.raises(Refused) as refused:
        admin.create(case.manifest)
    assert refused.value.code == 422
    named = _steps(case.named)
    fields = [_steps(each["field"]) for each in refused.value.causes]
    assert any(all(a == b for a, b in zip(named, field, strict=False)) for field in fields), fields


def _steps(field: str) -> list[str]:
    return [step for step in re.split(r"[.\[\]]", field) if step]


def test_a_report_is_listed_with_what_is_the_matter(admin: Admin) -> None:
    """As `kubectl get ngr -o wide` shows it."""
    admin.create(_report(**FULL))
    (row,) = admin.table(REPORTS)
    assert row.pop("Age")
    assert row.pop("Renewed")
    assert json.loads(row.pop("Devices") or "") == FULL["inventory"]["devices"]
    assert row == {
        "Name": NAME,
        "GPUs": 6,
        "Unhealthy": "Lost",
        "Driver": "570.86.15",
        "Product": "NVIDIA H100 80GB HBM3",
        "Problem": "LibraryNotFound",
    }


def test_the_definition_has_its_short_name_scope_and_labels(shared_plane: ControlPlane) -> None:
    """And no status of its own: all of a report is what the agent says."""
    resources = shared_plane.admin.resources_of(API_VERSION)
    assert (resources["nodegpureports"]["shortNames"], resources["nodegpureports"]["namespaced"]) == (["ngr"], False)
    assert "nodegpureports/status" not in resources
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodegpureports.kueue-dqo.dev"
    assert shared_plane.admin.get(path)["metadata"]["labels"] == {
        "app.kubernetes.io/part-of": "kueue-dqo",
        "app.kubernetes.io/managed-by": "kueue-dqo",
    }


def test_the_parts_of_a_report_have_their_own_owners(admin: Admin) -> None:
    """A problem that is applied away leaves the inventory, a new inventory leaves the problem."""
    inventory, problem = FULL["inventory"], FULL["problem"]
    admin.apply(_report(inventory=inventory), manager=INVENTORY_MANAGER)
    admin.apply(_report(problem=problem), manager=PROBLEM_MANAGER)
    smaller = {"renewTime": "2026-09-20T10:05:00Z", "heartbeatSeconds": 300}
    admin.apply(_report(inventory=smaller), manager=INVENTORY_MANAGER)
    assert admin.get(f"{REPORTS}/{NAME}")["spec"] == {"inventory": smaller, "problem": problem}
    admin.apply(_report(), manager=PROBLEM_MANAGER)
    assert admin.get(f"{REPORTS}/{NAME}")["spec"] == {"inventory": smaller}


def test_the_last_part_of_a_report_can_be_taken_out(admin: Admin) -> None:
    """An agent whose problem is over, before it has read anything."""
    admin.apply(_report(problem=FULL["problem"]), manager=PROBLEM_MANAGER)
    admin.apply(_report(), manager=PROBLEM_MANAGER)
    assert admin.get(f"{REPORTS}/{NAME}")["spec"] == {}


def test_owners_take_little_room(admin: Admin) -> None:
    """However much there is in an inventory: it is owned as a whole."""
    admin.apply(_report(inventory=FULL["inventory"]), manager=INVENTORY_MANAGER)
    admin.apply(_report(problem=FULL["problem"]), manager=PROBLEM_MANAGER)
    fields = {each["manager"]: each["fieldsV1"] for each in admin.get(f"{REPORTS}/{NAME}")["metadata"]["managedFields"]}
    assert fields == {
        INVENTORY_MANAGER: {"f:spec": {"f:inventory": {}}},
        PROBLEM_MANAGER: {"f:spec": {"f:problem": {}}},
    }
