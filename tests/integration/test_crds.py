"""The definitions of CapacityProvider and DynamicQuotaOrchestrator, on a real API server: what they take, what not."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.controlplane.admin import Admin, Refused
from tests.controlplane.plane import ControlPlane

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "manifests" / "crds" / "kueue"
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("[0-9]*/*") if path.suffix in {".yaml", ".json"})
API = "/apis/kueue.x-k8s.io/v1alpha1"

CONDITION = {
    "type": "CapacitySynchronized",
    "status": "True",
    "reason": "Synchronized",
    "message": "h100: 10 nodes",
    "observedGeneration": 1,
    "lastTransitionTime": "2026-01-31T12:00:00Z",
}
PROVIDER: dict[str, Any] = {
    "apiVersion": "kueue.x-k8s.io/v1alpha1",
    "kind": "CapacityProvider",
    "metadata": {"name": "nodes"},
    "spec": {
        "controllerName": "kueue-dqo.dev/node-inventory",
        "orchestratedFlavors": [{"name": "h100"}],
        "parameters": {"apiGroup": "kueue-dqo.dev", "kind": "NodeInventoryParameters", "name": "nodes"},
    },
    "status": {
        "capacity": {"flavors": [{"name": "h100", "resources": {"nvidia.com/gpu": "8"}}]},
        "conditions": [CONDITION],
    },
}
ORCHESTRATOR: dict[str, Any] = {
    "apiVersion": "kueue.x-k8s.io/v1alpha1",
    "kind": "DynamicQuotaOrchestrator",
    "metadata": {"name": "platform"},
    "spec": {
        "capacityDiscovery": {"providers": [{"name": "nodes", "effectiveCapacityMultiplier": "0.95"}]},
        "capacityDistribution": {"subtreeRootQuotaRef": {"kind": "Cohort", "name": "company"}},
    },
    "status": {
        "effectiveCapacity": {"flavors": [{"name": "h100", "resources": {"nvidia.com/gpu": "7600m"}}]},
        "conditions": [{**CONDITION, "type": "EffectiveCapacityComputed", "reason": "Computed"}],
    },
}
ABSENT: Any = object()
FLAVORS, PARAMETERS = "spec.orchestratedFlavors", "spec.parameters"
CAPACITY, EFFECTIVE = "status.capacity.flavors", "status.effectiveCapacity.flavors"
PROVIDERS = "spec.capacityDiscovery.providers"
ROOT_REF = "spec.capacityDistribution.subtreeRootQuotaRef"
CONDITIONS = "status.conditions"
SUBDOMAIN = ".".join(["a" * 61] * 4)
assert len(SUBDOMAIN) == 247


def _named(count: int, **more: Any) -> list[dict[str, Any]]:
    return [{"name": f"n{number}", **more} for number in range(count)]


def _resources(count: int) -> dict[str, str]:
    return {f"example.com/r{number}": "1" for number in range(count)}


def _conditions(count: int) -> list[dict[str, Any]]:
    return [{**CONDITION, "type": f"Type{number}"} for number in range(count)]


def _changed(base: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The object with another value, or none, at a path such as `status.conditions.0.type`."""
    obj = copy.deepcopy(base)
    at: Any = obj
    *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    for part in parents:
        at = at[part]
    if value is ABSENT:
        del at[last]
    else:
        at[last] = value
    return obj


@pytest.fixture
def admin(shared_plane: ControlPlane) -> Iterator[Admin]:
    """The administrator of the shared control plane, which is emptied of just these two kinds: tests are many."""
    yield shared_plane.admin
    for plural in ("capacityproviders", "dynamicquotaorchestrators"):
        shared_plane.admin.request("DELETE", f"{API}/{plural}")


def _write(admin: Admin, obj: dict[str, Any]) -> None:
    """Creates it, then writes its status, as a controller does: with a PUT of the subresource, which merges no list."""
    admin.create({key: value for key, value in obj.items() if key != "status"})
    if "status" in obj:
        path = f"{admin.path_of(obj)}/status"
        admin.request("PUT", path, {**admin.get(path), "status": obj["status"]})


ACCEPTED = [
    (PROVIDER, "spec.controllerName", "x"),
    (PROVIDER, "spec.controllerName", "x" * 253),
    (PROVIDER, FLAVORS, _named(64)),
    (PROVIDER, f"{FLAVORS}.0.name", "a.b-c.d"),
    (PROVIDER, f"{FLAVORS}.0.name", SUBDOMAIN),
    (PROVIDER, PARAMETERS, ABSENT),
    (PROVIDER, f"{PARAMETERS}.apiGroup", SUBDOMAIN),
    (PROVIDER, f"{PARAMETERS}.kind", "K" * 63),
    (PROVIDER, f"{PARAMETERS}.name", "n" * 63),
    (PROVIDER, "status", ABSENT),
    (PROVIDER, "status", {}),
    (PROVIDER, CAPACITY, []),
    (PROVIDER, CAPACITY, _named(64, resources={"cpu": "1"})),
    (PROVIDER, f"{CAPACITY}.0.resources", _resources(64)),
    *(
        (PROVIDER, f"{CAPACITY}.0.resources.cpu", quantity)
        for quantity in (0, "0", 12, "12", "1.5", ".5", "5.", "+1", "100m", "1n", "3u", "1k", "2M", "1Ki", "8Ei", "1E")
    ),
    (PROVIDER, f"{CAPACITY}.0.resources.cpu", "1E3"),
    (PROVIDER, f"{CAPACITY}.0.resources.cpu", "1e-3"),
    # Negative capacity is for the orchestrator to judge: the API has the reason InvalidCapacity for it.
    (PROVIDER, f"{CAPACITY}.0.resources.cpu", "-1"),
    (PROVIDER, CONDITIONS, _conditions(16)),
    (PROVIDER, f"{CONDITIONS}.0.status", "Unknown"),
    (PROVIDER, f"{CONDITIONS}.0.observedGeneration", ABSENT),
    (PROVIDER, f"{CONDITIONS}.0.type", "example.com/Ready"),
    (PROVIDER, f"{CONDITIONS}.0.message", ""),
    (ORCHESTRATOR, PROVIDERS, _named(8)),
    (ORCHESTRATOR, f"{PROVIDERS}.0.name", SUBDOMAIN),
    *(
        (ORCHESTRATOR, f"{PROVIDERS}.0.effectiveCapacityMultiplier", good)
        for good in (0, "0", 2, "0.95", "2500m", "-0")
    ),
    (ORCHESTRATOR, "spec.capacityDistribution", ABSENT),
    (ORCHESTRATOR, f"{ROOT_REF}.kind", "ClusterQueue"),
    (ORCHESTRATOR, f"{ROOT_REF}.name", SUBDOMAIN),
    (ORCHESTRATOR, "status", ABSENT),
    (ORCHESTRATOR, EFFECTIVE, _named(128, resources={"cpu": "1"})),
    (ORCHESTRATOR, f"{EFFECTIVE}.0.resources", {}),
    (ORCHESTRATOR, f"{EFFECTIVE}.0.resources", ABSENT),
    (ORCHESTRATOR, f"{EFFECTIVE}.0.resources", _resources(64)),
    (ORCHESTRATOR, CONDITIONS, _conditions(16)),
]

# Each with a part of what the refusal says; the field's full path is looked for besides.
REFUSED = [
    (PROVIDER, "spec", ABSENT, "Required"),
    (PROVIDER, "spec.controllerName", ABSENT, "Required"),
    (PROVIDER, "spec.controllerName", "", "at least 1 chars"),
    (PROVIDER, "spec.controllerName", "x" * 254, "Too long"),
    (PROVIDER, FLAVORS, ABSENT, "Required"),
    (PROVIDER, FLAVORS, [], "at least 1 items"),
    (PROVIDER, FLAVORS, _named(65), "at most 64 items"),
    (PROVIDER, FLAVORS, [{"name": "h100"}, {"name": "h100"}], "Duplicate"),
    (PROVIDER, FLAVORS, [{}], "Required"),
    *((PROVIDER, f"{FLAVORS}.0.name", name, "should match") for name in ("H100", "a_b", "-a", "a..b", "a.")),
    (PROVIDER, f"{FLAVORS}.0.name", "", "at least 1 chars"),
    (PROVIDER, f"{FLAVORS}.0.name", "a" * 254, "Too long"),
    *((PROVIDER, f"{PARAMETERS}.{field}", ABSENT, "Required") for field in ("apiGroup", "kind", "name")),
    *((PROVIDER, f"{PARAMETERS}.{field}", "", "at least 1 chars") for field in ("apiGroup", "kind", "name")),
    *((PROVIDER, f"{PARAMETERS}.{field}", "a" * 254, "Too long") for field in ("apiGroup", "kind", "name")),
    (PROVIDER, f"{PARAMETERS}.apiGroup", "Kueue", "should match"),
    (PROVIDER, f"{PARAMETERS}.apiGroup", "kueue-dqo.dev/v1alpha1", "should match"),
    (PROVIDER, f"{PARAMETERS}.kind", "K" * 64, "Too long"),
    (PROVIDER, f"{PARAMETERS}.name", "n" * 64, "Too long"),
    (PROVIDER, f"{PARAMETERS}.name", "a.b", "should match"),
    (PROVIDER, CAPACITY, _named(65, resources={"cpu": "1"}), "at most 64 items"),
    (PROVIDER, CAPACITY, [{"name": "a", "resources": {"cpu": "1"}}] * 2, "Duplicate"),
    (PROVIDER, f"{CAPACITY}.0.name", ABSENT, "Required"),
    (PROVIDER, f"{CAPACITY}.0.name", "A", "should match"),
    (PROVIDER, f"{CAPACITY}.0.resources", ABSENT, "Required"),
    (PROVIDER, f"{CAPACITY}.0.resources", {}, "at least 1 properties"),
    (PROVIDER, f"{CAPACITY}.0.resources", _resources(65), "at most 64 items"),
    *(
        (PROVIDER, f"{CAPACITY}.0.resources.cpu", quantity, "should match")
        for quantity in (
            "",
            "1K",
            "1 Gi",
            "1_000",
            "NaN",
            "Infinity",
            "\uff11",
            "1e1.5",
            "1e9999",
            "0x10",
            "--1",
            "1Mi ",
        )
    ),
    (PROVIDER, f"{CAPACITY}.0.resources.cpu", 1.5, "must be of type integer,string"),
    (PROVIDER, CONDITIONS, _conditions(17), "at most 16 items"),
    (PROVIDER, CONDITIONS, [CONDITION, CONDITION], "Duplicate"),
    *(
        (PROVIDER, f"{CONDITIONS}.0.{field}", ABSENT, "Required")
        for field in ("type", "status", "reason", "message", "lastTransitionTime")
    ),
    (PROVIDER, f"{CONDITIONS}.0.type", "a b", "should match"),
    (PROVIDER, f"{CONDITIONS}.0.status", "true", "Unsupported value"),
    (PROVIDER, f"{CONDITIONS}.0.reason", "", "at least 1 chars"),
    (PROVIDER, f"{CONDITIONS}.0.reason", "not synchronized", "should match"),
    (PROVIDER, f"{CONDITIONS}.0.message", "m" * 32769, "Too long"),
    (PROVIDER, f"{CONDITIONS}.0.observedGeneration", -1, "greater than or equal to 0"),
    (PROVIDER, f"{CONDITIONS}.0.lastTransitionTime", "yesterday", "date-time"),
    (ORCHESTRATOR, "spec", ABSENT, "Required"),
    (ORCHESTRATOR, "spec.capacityDiscovery", ABSENT, "Required"),
    (ORCHESTRATOR, PROVIDERS, ABSENT, "Required"),
    (ORCHESTRATOR, PROVIDERS, [], "at least 1 items"),
    (ORCHESTRATOR, PROVIDERS, _named(9), "at most 8 items"),
    (ORCHESTRATOR, PROVIDERS, [{"name": "a"}, {"name": "a", "effectiveCapacityMultiplier": "2"}], "Duplicate"),
    (ORCHESTRATOR, f"{PROVIDERS}.0.name", ABSENT, "Required"),
    (ORCHESTRATOR, f"{PROVIDERS}.0.name", "A", "should match"),
    *(
        (ORCHESTRATOR, f"{PROVIDERS}.0.effectiveCapacityMultiplier", bad, "must be 0 or more")
        for bad in (-1, "-1", "-0.001", "-1n", "-1Ki", "-1e-3")
    ),
    *(
        (ORCHESTRATOR, f"{PROVIDERS}.0.effectiveCapacityMultiplier", bad, "should match")
        for bad in ("", "95%", "1,5", "1K", "1e99999999")
    ),
    (ORCHESTRATOR, f"{PROVIDERS}.0.effectiveCapacityMultiplier", 0.5, "must be of type integer,string"),
    (ORCHESTRATOR, f"{PROVIDERS}.0.effectiveCapacityMultiplier", "1" * 65, "Too long"),
    (ORCHESTRATOR, ROOT_REF, ABSENT, "Required"),
    (ORCHESTRATOR, f"{ROOT_REF}.kind", ABSENT, "Required"),
    (ORCHESTRATOR, f"{ROOT_REF}.kind", "LocalQueue", "Unsupported value"),
    (ORCHESTRATOR, f"{ROOT_REF}.name", ABSENT, "Required"),
    (ORCHESTRATOR, f"{ROOT_REF}.name", "", "at least 1 chars"),
    (ORCHESTRATOR, f"{ROOT_REF}.name", "Company", "should match"),
    (ORCHESTRATOR, EFFECTIVE, _named(129, resources={}), "at most 128 items"),
    (ORCHESTRATOR, EFFECTIVE, _named(1) * 2, "Duplicate"),
    (ORCHESTRATOR, f"{EFFECTIVE}.0.name", ABSENT, "Required"),
    (ORCHESTRATOR, f"{EFFECTIVE}.0.resources", _resources(65), "at most 64 items"),
    (ORCHESTRATOR, f"{EFFECTIVE}.0.resources.cpu", "much", "should match"),
    (ORCHESTRATOR, CONDITIONS, _conditions(17), "at most 16 items"),
    (ORCHESTRATOR, f"{CONDITIONS}.0.status", "yes", "Unsupported value"),
]


def _id(case: tuple[Any, ...]) -> str:
    base, path, value, *_ = case
    shown = "absent" if value is ABSENT else repr(value)
    return f"{base['kind']} {path} {shown[:30]}".encode("ascii", "replace").decode()


@pytest.mark.parametrize(("base", "path", "value"), [pytest.param(*case, id=_id(case)) for case in ACCEPTED])
def test_what_the_rules_allow_is_taken_and_kept(base: dict[str, Any], path: str, value: Any, admin: Admin) -> None:
    """Kept as it was written: nothing is pruned, nothing is put into another form."""
    obj = _changed(base, path, value)
    _write(admin, obj)
    stored = admin.get(admin.path_of(obj))
    assert _without_defaults(stored["spec"]) == _without_defaults(obj["spec"])
    assert stored.get("status", {}) == obj.get("status", {})


def _without_defaults(spec: dict[str, Any]) -> dict[str, Any]:
    spec = copy.deepcopy(spec)
    for provider in spec.get("capacityDiscovery", {}).get("providers", []):
        provider.setdefault("effectiveCapacityMultiplier", "1")
    return spec


@pytest.mark.parametrize(("base", "path", "value", "says"), [pytest.param(*case, id=_id(case)) for case in REFUSED])
def test_what_the_rules_forbid_is_refused_with_a_message_that_names_the_field(
    base: dict[str, Any], path: str, value: Any, says: str, admin: Admin
) -> None:
    """The object without that one change is taken, so it is that change which is refused."""
    with pytest.raises(Refused) as refused:
        _write(admin, _changed(base, path, value))
    assert refused.value.code == 422
    assert says in refused.value.message
    field = _dotted(path)
    assert any(cause.get("field", "").startswith(field) for cause in refused.value.causes), refused.value.causes


def _dotted(path: str) -> str:
    """`spec.providers.0.name` as the server writes it: `spec.providers[0].name`."""
    parts = [f"[{part}]" if part.isdigit() else f".{part}" for part in path.split(".")]
    return "".join(parts).removeprefix(".")


def test_the_controller_of_a_provider_cannot_be_changed(admin: Admin) -> None:
    """Everything else of its spec can."""
    admin.apply(PROVIDER)
    path = admin.path_of(PROVIDER)
    with pytest.raises(Refused, match=r"spec\.controllerName: .*cannot be changed; create another CapacityProvider"):
        admin.patch(path, {"spec": {"controllerName": "example.com/other"}})
    changed = admin.patch(path, {"spec": {"parameters": None, "orchestratedFlavors": [{"name": "a100"}]}})
    assert changed["spec"] == {
        "controllerName": PROVIDER["spec"]["controllerName"],
        "orchestratedFlavors": [{"name": "a100"}],
    }


def test_the_multiplier_is_one_where_it_is_not_written(admin: Admin) -> None:
    """A 0 that is written stays 0."""
    obj = _changed(ORCHESTRATOR, PROVIDERS, [{"name": "a"}, {"name": "b", "effectiveCapacityMultiplier": 0}])
    admin.apply(obj)
    stored = admin.get(admin.path_of(obj))["spec"]["capacityDiscovery"]["providers"]
    assert [provider["effectiveCapacityMultiplier"] for provider in stored] == ["1", 0]


@pytest.mark.parametrize("base", [PROVIDER, ORCHESTRATOR], ids=lambda base: base["kind"])
def test_status_is_written_only_by_its_subresource(base: dict[str, Any], admin: Admin) -> None:
    """A status in a manifest that is created has no effect; a write of the status leaves the spec and generation."""
    admin.create(base)
    path = admin.path_of(base)
    assert "status" not in admin.get(path)
    after = admin.patch(f"{path}/status", {"spec": {"controllerName": "other"}, "status": base["status"]})
    assert after["status"] == base["status"]
    assert after["spec"] == _without_defaults(base["spec"])
    assert after["metadata"]["generation"] == 1


@pytest.mark.parametrize("base", [PROVIDER, ORCHESTRATOR], ids=lambda base: base["kind"])
def test_two_writers_of_conditions_do_not_touch_each_other(base: dict[str, Any], admin: Admin) -> None:
    """Server-side apply merges conditions by their type."""
    admin.apply(base)
    other = {**CONDITION, "type": "example.com/Checked"}
    mine = {**base, "status": {"conditions": [other]}}
    admin.apply({key: value for key, value in mine.items() if key != "spec"} | {"spec": base["spec"]}, manager="other")
    types = [each["type"] for each in admin.get(admin.path_of(base))["status"]["conditions"]]
    assert sorted(types) == sorted([base["status"]["conditions"][0]["type"], "example.com/Checked"])


def test_a_provider_is_listed_with_its_controller_and_how_it_is(admin: Admin) -> None:
    """As `kubectl get cp -o wide` shows it."""
    admin.apply(PROVIDER, {**PROVIDER, "metadata": {"name": "silent"}, "status": {}})
    nodes, silent = admin.table(f"{API}/capacityproviders")
    assert nodes.pop("Age")
    assert nodes == {
        "Name": "nodes",
        "Controller": "kueue-dqo.dev/node-inventory",
        "Synchronized": "True",
        "Reason": "Synchronized",
        "Message": "h100: 10 nodes",
    }
    assert {silent["Synchronized"], silent["Reason"]} == {None}


def test_an_orchestrator_is_listed_with_its_providers_its_root_and_how_it_is(admin: Admin) -> None:
    """As `kubectl get dqo -o wide` shows it."""
    distributed = {**CONDITION, "type": "Distributed", "status": "False", "reason": "Misconfigured"}
    conditions = [*ORCHESTRATOR["status"]["conditions"], distributed]
    admin.apply(_changed(ORCHESTRATOR, CONDITIONS, conditions))
    (row,) = admin.table(f"{API}/dynamicquotaorchestrators")
    assert row.pop("Age")
    assert row == {
        "Name": "platform",
        "Providers": '[{"effectiveCapacityMultiplier":"0.95","name":"nodes"}]',
        "Computed": "True",
        "Distributed": "False",
        "Root": "company",
        "Root kind": "Cohort",
    }


def test_plain_kubectl_get_shows_the_providers_of_an_orchestrator_too(admin: Admin) -> None:
    """Only which kind its root is takes `-o wide`."""
    definition = admin.get(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/dynamicquotaorchestrators.kueue.x-k8s.io"
    )
    columns = definition["spec"]["versions"][0]["additionalPrinterColumns"]
    shown = [column["name"] for column in columns if not column.get("priority")]
    assert shown == ["Providers", "Computed", "Distributed", "Root", "Age"]


@pytest.mark.parametrize(("plural", "short_name"), [("capacityproviders", "cp"), ("dynamicquotaorchestrators", "dqo")])
def test_the_definitions_have_their_short_name_scope_and_labels(plural: str, short_name: str, admin: Admin) -> None:
    """The label is how the orchestrator tells this definition from the one that Kueue brings."""
    resource = admin.resources_of("kueue.x-k8s.io/v1alpha1")[plural]
    assert (resource["shortNames"], resource["namespaced"]) == ([short_name], False)
    name = f"{plural}.kueue.x-k8s.io"
    definition = admin.get(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")
    assert definition["metadata"]["labels"] == {
        "app.kubernetes.io/part-of": "kueue-dqo",
        "app.kubernetes.io/managed-by": "kueue-dqo",
    }


FOLDERS = sorted(path for path in FOLDER.parent.iterdir() if path.is_dir())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.name))
def test_every_definition_is_in_the_kustomization(folder: Path) -> None:
    """And nothing else is."""
    listed = yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]
    assert sorted(listed) == sorted(path.name for path in folder.glob("*.yaml") if path.name != "kustomization.yaml")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.name))
def test_every_field_is_described(folder: Path) -> None:
    """`kubectl explain` has something to say about each; metadata is the server's own."""
    undescribed = []

    def look(schema: dict[str, Any], path: str) -> None:
        for name, field in schema.get("properties", {}).items():
            if "description" not in field and (path, name) != ("", "metadata"):
                undescribed.append(f"{path}.{name}")
            look(field.get("items", field), f"{path}.{name}")

    for file in folder.glob("*s.yaml"):
        for version in yaml.safe_load(file.read_text())["spec"]["versions"]:
            look(version["schema"]["openAPIV3Schema"], "")
    assert undescribed == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_examples_are_accepted(path: Path, status_plane: ControlPlane) -> None:
    """With their status, and with every field known to the server. One has effective quotas, as of Kueue 0.20."""
    documents = [document for document in yaml.safe_load_all(path.read_text()) if document]
    objects = [each for document in documents for each in document.get("items", [document])]
    namespaces = {each["metadata"]["namespace"] for each in objects if "namespace" in each["metadata"]}
    for name in sorted(namespaces):
        account = {"name": "default", "namespace": name}  # no controller makes it here
        status_plane.admin.apply(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account},
        )
    status_plane.admin.apply(*objects)
