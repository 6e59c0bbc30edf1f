"""The definitions of the parameters, on a real API server: what they take, what not, what is shown of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.controlplane.admin import Admin, Refused
from tests.controlplane.plane import ControlPlane
from tests.unit.kueue_dqo.api import cloud_specs, multikueue_specs
from tests.unit.kueue_dqo.api.parameter_specs import (
    API_VERSION,
    BAD,
    BASES,
    CLOUD,
    FULL,
    GCP,
    GOOD,
    KINDS,
    MULTIKUEUE,
    Case,
    present,
)

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "manifests/crds/providers"
EXAMPLES = sorted((ROOT / "examples/parameters").glob("*.yaml"))
PLURALS = dict(
    zip(
        KINDS,
        (
            "nodeinventoryparameters",
            "cloudquotaparameters",
            "nvidiagpuparameters",
            "multikueueparameters",
            "manualcapacities",
            "compositeparameters",
        ),
        strict=True,
    )
)
each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def admin(shared_plane: ControlPlane) -> Iterator[Admin]:
    """The administrator of the shared control plane, which is emptied of just these kinds: tests are many."""
    yield shared_plane.admin
    for plural in PLURALS.values():
        shared_plane.admin.request("DELETE", f"/apis/{API_VERSION}/{plural}")


def _try(admin: Admin, manifest: dict[str, Any], *, strict: bool = True) -> None:
    """What `kubectl create --dry-run=server` does."""
    query = {"dryRun": "All", "fieldValidation": "Strict" if strict else "Ignore"}
    admin.request("POST", admin.collection_of(manifest), manifest, query=query)


def _object(kind: str, name: str = "sample") -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": present(FULL[kind])}


@pytest.mark.parametrize("case", [*GOOD, *cloud_specs.GOOD, *multikueue_specs.GOOD], ids=str)
def test_what_the_rules_allow_is_taken(case: Case, shared_plane: ControlPlane) -> None:
    """The same table as for the checks of manifests."""
    _try(shared_plane.admin, case.manifest)


def test_shares_are_not_added_up_by_a_definition(shared_plane: ControlPlane) -> None:
    """As docs of the provider say: it is the provider that refuses them."""
    for case in cloud_specs.BEYOND_DEFINITIONS:
        _try(shared_plane.admin, case.manifest)


def test_clusters_of_several_mappings_are_not_compared_by_a_definition(shared_plane: ControlPlane) -> None:
    """As docs of the provider say: with what is decoded, they are."""
    for case in multikueue_specs.BEYOND_DEFINITIONS:
        _try(shared_plane.admin, case.manifest)


@pytest.mark.parametrize("case", [*BAD, *cloud_specs.BAD, *multikueue_specs.BAD], ids=str)
def test_what_the_rules_forbid_is_refused_with_a_message_that_names_the_field(
    case: Case, shared_plane: ControlPlane
) -> None:
    """The field or what it is in, with a field for each cause."""
    with pytest.raises(Refused) as refused:
        _try(shared_plane.admin, case.manifest)
    if refused.value.code == 400:  # an unknown field
        assert f'unknown field "{case.named}"' in refused.value.message
        return
    assert refused.value.code == 422
    fields = [_steps(each["field"]) for each in refused.value.causes if each.get("field") not in (None, "<nil>")]
    assert fields
    named = _steps(case.named)
    assert all(named[: len(field)] == field[: len(named)] for field in fields), fields


def _steps(field: str) -> list[str]:
    """`a[0].b`, of which the server writes entries of mappings in both ways."""
    return [step for step in re.split(r"[.\[\]]", field) if step]


@each_kind
@pytest.mark.parametrize("name", ["a.b", "a" * 64])
def test_a_name_that_no_provider_can_give_is_refused(kind: str, name: str, shared_plane: ControlPlane) -> None:
    """`spec.parameters.name` of a CapacityProvider takes less than Kubernetes takes for the name of an object."""
    _try(shared_plane.admin, _object(kind, "a" * 63))
    with pytest.raises(Refused, match=r"metadata: Invalid value: .*spec\.parameters\.name"):
        _try(shared_plane.admin, _object(kind, name))


@each_kind
def test_an_unknown_field_is_dropped_where_nobody_asked_for_strictness(kind: str, admin: Admin) -> None:
    """`kubectl` asks for it unless it is told not to."""
    obj = _object(kind)
    admin.create({**obj, "spec": {**obj["spec"], "resource": {"include": ["cpu"]}}})
    assert "resource" not in admin.get(admin.path_of(obj))["spec"]


@each_kind
def test_nothing_is_added_and_nothing_put_into_another_form(kind: str, admin: Admin) -> None:
    """Where a field is absent, that has a meaning of its own."""
    obj = _object(kind)
    admin.create(obj)
    assert admin.get(admin.path_of(obj))["spec"] == obj["spec"]


def test_a_condition_excludes_nodes_while_it_is_true_unless_told_otherwise(admin: Admin) -> None:
    """The status is part of what tells two entries apart, so it is filled in."""
    obj = _object("NodeInventoryParameters")
    obj["spec"] = {"excludedConditions": [{"type": "GpuFault"}, {"type": "GpuFault", "status": "Unknown"}]}
    admin.create(obj)
    stored = admin.get(admin.path_of(obj))["spec"]["excludedConditions"]
    assert [each["status"] for each in stored] == ["True", "Unknown"]


@pytest.mark.parametrize("without", [{"spec": {}}, {"spec": None}, {}], ids=["empty", "null", "absent"])
@pytest.mark.parametrize("kind", ["NodeInventoryParameters", "NvidiaGpuParameters"])
def test_the_last_field_of_what_is_all_optional_can_be_taken_out(
    kind: str, without: dict[str, Any], admin: Admin
) -> None:
    """Server-side apply makes null of what it has emptied, however the manifest writes that."""
    obj = _object(kind)
    admin.apply({**obj, "spec": {"cordoned": "CountAllocated"}})
    del obj["spec"]
    admin.apply({**obj, **without})
    assert admin.get(admin.path_of(obj))["spec"] == {}


@each_kind
@pytest.mark.parametrize("field", ["resources", "guards"])
def test_a_part_that_is_not_wanted_any_more_can_be_left_out(field: str, kind: str, admin: Admin) -> None:
    """As docs/troubleshooting.md says: what is emptied instead is refused, with a message about null."""
    obj = _object(kind)
    admin.apply(obj)
    with pytest.raises(Refused, match=f'spec.{field} in body must be of type object: "null"'):
        admin.apply({**obj, "spec": {**obj["spec"], field: {}}})
    del obj["spec"][field]
    admin.apply(obj)
    assert field not in admin.get(admin.path_of(obj))["spec"]


def test_overrides_keep_the_order_in_which_they_are_applied(admin: Admin) -> None:
    """The last one counts, whoever applied the others before."""
    obj = _object("ManualCapacity")
    first, second = obj["spec"]["overrides"]
    admin.apply(obj)
    admin.apply({**obj, "spec": {**obj["spec"], "overrides": [second, first]}}, manager="other")
    assert admin.get(admin.path_of(obj))["spec"]["overrides"] == [second, first]


ROWS: dict[str, dict[str, Any]] = {
    "NodeInventoryParameters": {"Cordoned": "CountAllocated", "Reserve": "UnmanagedPods"},
    CLOUD: {
        "AWS": '["us-east-1","us-west-2"]',
        "Role": "arn:aws:iam::111122223333:role/kueue-dqo",
        "Google Cloud": None,
        "Project": None,
    },
    "NvidiaGpuParameters": {"MIG strategy": "Mixed", "Grace": "30m"},
    MULTIKUEUE: {"Subtree": "research", "Queues": None, "Counts": "WorkerProviders", "Grace": "10m"},
    "ManualCapacity": {"Baseline": '[{"name":"h100","resources":{"cpu":"960","memory":"1.5Ti","nvidia.com/gpu":80}}]'},
    "CompositeParameters": {"Combine": "Min", "Members": '[{"name":"nodes"},{"name":"account.eu-west-1"}]'},
}


@each_kind
def test_parameters_are_listed_with_what_matters_most(kind: str, admin: Admin) -> None:
    """As `kubectl get -o wide` shows them."""
    admin.create(_object(kind))
    (row,) = admin.table(f"/apis/{API_VERSION}/{PLURALS[kind]}")
    assert row.pop("Age")
    assert row == {"Name": "sample", **ROWS[kind], "Fall after": "10m", "Max fall": 30}


def test_a_project_of_google_cloud_is_listed_too(admin: Admin) -> None:
    """Of two clouds, an object has one."""
    admin.create({**_object(CLOUD), "spec": BASES[GCP]})
    (row,) = admin.table(f"/apis/{API_VERSION}/{PLURALS[CLOUD]}")
    assert (row["Google Cloud"], row["Project"]) == ('["us-central1","europe-west4"]', "vision-prod")
    assert row["AWS"] is row["Role"] is None


@each_kind
def test_a_definition_has_its_scope_and_labels(kind: str, shared_plane: ControlPlane) -> None:
    """As those of Kueue's kinds have them."""
    admin = shared_plane.admin
    assert admin.resources_of(API_VERSION)[PLURALS[kind]]["namespaced"] is False
    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{PLURALS[kind]}.kueue-dqo.dev"
    assert admin.get(path)["metadata"]["labels"] == {
        "app.kubernetes.io/part-of": "kueue-dqo",
        "app.kubernetes.io/managed-by": "kueue-dqo",
    }


def test_every_definition_is_in_the_kustomization() -> None:
    """And nothing else is, but the reports that agents write."""
    listed = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"]
    assert sorted(listed) == sorted([*(f"{plural}.yaml" for plural in PLURALS.values()), "nodegpureports.yaml"])


def _documents(path: Path) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all(path.read_text()) if document]


def test_there_is_an_example_of_every_kind() -> None:
    """With every field that the kind has."""
    shown: dict[str, set[str]] = {}
    for path in EXAMPLES:
        for document in _documents(path):
            shown.setdefault(document["kind"], set()).update(document["spec"])
    for kind in KINDS:
        clouds = BASES[GCP].keys() if kind == CLOUD else set()
        assert shown[kind] == FULL[kind].keys() | clouds


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_are_taken(path: Path, shared_plane: ControlPlane) -> None:
    """With every field known to the server."""
    for document in _documents(path):
        _try(shared_plane.admin, document)
