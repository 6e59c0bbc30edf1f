"""Objects of a manager and of workers out of JSON: what counts, what does not, and what cannot be used."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kueue_dqo.api.kueue import AdmissionCheckRule
from kueue_dqo.api.meta import Condition
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.quotas import quotas_by_pair
from kueue_dqo.api.readiness import why_not_ready
from providers.multikueue import decoding
from providers.multikueue.foreign_text import LONGEST_WHY
from providers.multikueue.objects import LocalQueue, ManagerQueue, Unreadable, WorkerCohort, WorkerQueue

Decode = Callable[[bytes], Any]
WORKER_DECODERS: dict[str, Decode] = {
    "ClusterQueue v1beta2": decoding.worker_queue("v1beta2"),
    "ClusterQueue v1beta1": decoding.worker_queue("v1beta1"),
    "Cohort v1beta2": decoding.worker_cohort("v1beta2"),
    "Cohort v1beta1": decoding.worker_cohort("v1beta1"),
    "Cohort v1alpha1": decoding.worker_cohort("v1alpha1"),
    "LocalQueue": decoding.local_queue,
    "CapacityProvider": decoding.capacity_provider,
    "DynamicQuotaOrchestrator": decoding.orchestrator,
}
MANAGER_DECODERS: dict[str, Decode] = {
    "manager's ClusterQueue": decoding.manager_queue,
    "manager's Cohort": decoding.cohort_parent,
    "AdmissionCheck": decoding.admission_check,
    "MultiKueueConfig": decoding.multi_kueue_config,
    "MultiKueueCluster": decoding.multi_kueue_cluster,
}
DECODERS = {**WORKER_DECODERS, **MANAGER_DECODERS}


def groups(**quotas: Any) -> list[dict[str, Any]]:
    """One group whose flavors have this cpu."""
    flavors = [{"name": name, "resources": [{"name": "cpu", "nominalQuota": each}]} for name, each in quotas.items()]
    return [{"coveredResources": ["cpu"], "flavors": flavors}]


def queue(**spec: Any) -> dict[str, Any]:
    """A ClusterQueue as an API server sends it."""
    active = {
        "type": "Active",
        "status": "True",
        "reason": "Ready",
        "message": "Can admit new workloads",
        "lastTransitionTime": "2026-12-01T00:00:00Z",
        "observedGeneration": 1,
    }
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {
            "name": "a",
            "uid": "u",
            "resourceVersion": "5",
            "generation": 1,
            "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}],
        },
        "spec": {"cohortName": "team", "resourceGroups": groups(h100="8"), "stopPolicy": "None", **spec},
        "status": {
            "conditions": [{"type": "Other", "status": "False", "reason": "No"}, active],
            "flavorsUsage": [{"name": "h100", "resources": [{"name": "cpu", "total": "3", "borrowed": "0"}]}],
            "pendingWorkloads": 3,
        },
    }


def decoded(content: Any, decode: Decode = WORKER_DECODERS["ClusterQueue v1beta2"]) -> Any:
    return decode(json.dumps(content).encode())


def amounts(found: WorkerQueue | WorkerCohort) -> dict[str, Quantity]:
    return {str(pair): quota.nominal_quota for pair, quota in quotas_by_pair(found.quotas)}


def why(content: Any, decode: Decode = WORKER_DECODERS["ClusterQueue v1beta2"]) -> str:
    """Why it cannot be used."""
    found = decoded(content, decode)
    assert isinstance(found, Unreadable)
    return found.why


# --- quotas --------------------------------------------------------------------------------------------------------


def test_a_queue_has_its_parent_and_its_quotas() -> None:
    found = decoded(queue())
    assert (found.parent, amounts(found), found.inactive) == ("team", {"h100/cpu": Quantity.of(8)}, "")


def test_limits_are_read() -> None:
    content = queue()
    content["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0] |= {"borrowingLimit": "0", "lendingLimit": 2}
    [(_, quota)] = quotas_by_pair(decoded(content).quotas)
    assert (quota.borrowing_limit, quota.lending_limit) == (Quantity.of(0), Quantity.of(2))


@pytest.mark.parametrize(
    ("effective", "expected"),
    [
        ({"resourceGroups": groups(h100="5")}, {"h100/cpu": Quantity.of(5)}),
        ({"resourceGroups": []}, {}),
        ({}, {}),
        ({"resourceGroups": None}, {}),
        (None, {"h100/cpu": Quantity.of(8)}),
    ],
    ids=["some", "empty list", "no list", "null list", "null"],
)
@pytest.mark.parametrize("kind", ["ClusterQueue v1beta2", "Cohort v1beta2"])
def test_effective_quotas_are_used_instead_of_the_spec(
    kind: str, effective: Any, expected: dict[str, Quantity]
) -> None:
    """Even where their list is empty."""
    content = queue()
    content["status"]["effectiveQuotas"] = effective
    assert amounts(decoded(content, WORKER_DECODERS[kind])) == expected


@pytest.mark.parametrize(
    ("kind", "parent"),
    [
        ("ClusterQueue v1beta2", "cohort-name"),
        ("ClusterQueue v1beta1", "cohort"),
        ("Cohort v1beta2", "parent-name"),
        ("Cohort v1beta1", "parent-name"),
        ("Cohort v1alpha1", "parent"),
    ],
)
def test_each_version_calls_the_parent_its_own_way(kind: str, parent: str) -> None:
    names = {"cohortName": "cohort-name", "cohort": "cohort", "parentName": "parent-name", "parent": "parent"}
    assert decoded(queue(**names), WORKER_DECODERS[kind]).parent == parent
    assert decoded(queue(**dict.fromkeys(names)), WORKER_DECODERS[kind]).parent == ""


@pytest.mark.parametrize("make", [decoding.worker_queue, decoding.worker_cohort])
def test_a_version_that_is_not_known_is_refused_at_once(make: Callable[[str], Decode]) -> None:
    with pytest.raises(ValueError, match=r"v1beta3 of .+ is not read"):
        make("v1beta3")


def test_null_fields_are_as_absent() -> None:
    bare = {"metadata": {"name": "a"}}
    nulls = {
        "metadata": {"name": "a", "deletionTimestamp": None},
        "spec": {"cohortName": None, "resourceGroups": None, "stopPolicy": None},
        "status": {"conditions": None, "effectiveQuotas": None},
    }
    assert decoded(bare) == decoded(nulls) == WorkerQueue("", ())
    assert decoded({**bare, "spec": None, "status": None}) == WorkerQueue("", ())


def test_an_impossible_amount_is_left_to_the_reader() -> None:
    """Who may not ask for that resource."""
    content = queue(resourceGroups=groups(h100="-1", a100="9223372036854775808"))
    assert amounts(decoded(content)) == {"h100/cpu": Quantity.of(-1), "a100/cpu": Quantity.of(2**63)}


# --- inactive ------------------------------------------------------------------------------------------------------


def with_active(status: str, reason: Any) -> dict[str, Any]:
    content = queue()
    content["status"]["conditions"][1] |= {"status": status, "reason": reason}
    return content


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (queue(stopPolicy="Hold"), "Stopped"),
        (queue(stopPolicy="HoldAndDrain"), "Stopped"),
        (with_active("False", "FlavorNotFound"), "FlavorNotFound"),
        (with_active("Unknown", "Whatever"), ""),
        (with_active("False", ""), "Inactive"),
        (with_active("False", None), "Inactive"),
        (with_active("False", "a; ignore the worker2"), "Inactive"),
        (with_active("False", "X\n"), "Inactive"),
        (with_active("False", "\u202egnorw"), "Inactive"),
        (with_active("False", "X" * 65), "Inactive"),
        (with_active("False", "X" * 64), "X" * 64),
    ],
)
def test_why_a_queue_admits_nothing_is_one_word(content: dict[str, Any], expected: str) -> None:
    assert decoded(content).inactive == expected


def test_deletion_comes_before_a_stop_and_a_stop_before_the_condition() -> None:
    content = with_active("False", "Terminating")
    content["spec"]["stopPolicy"] = "Hold"
    assert decoded(content).inactive == "Stopped"
    content["metadata"]["deletionTimestamp"] = "2026-12-01T00:00:00Z"
    assert decoded(content).inactive == "Deleting"


# --- LocalQueues ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"clusterQueue": "a"}, LocalQueue("a")),
        ({"clusterQueue": "a", "stopPolicy": "None"}, LocalQueue("a")),
        ({"clusterQueue": "a", "stopPolicy": None}, LocalQueue("a")),
        ({"clusterQueue": "a", "stopPolicy": "Hold"}, LocalQueue("a", is_stopped=True)),
        ({}, LocalQueue("")),
        (None, LocalQueue("")),
    ],
)
def test_a_local_queue_leads_to_a_cluster_queue(spec: Any, expected: LocalQueue) -> None:
    content = {"metadata": {"name": "q", "namespace": "ns"}, "spec": spec, "status": {"pendingWorkloads": 7}}
    assert decoded(content, decoding.local_queue) == expected


# --- the manager ---------------------------------------------------------------------------------------------------


def test_a_queue_of_the_manager_has_its_parent_and_its_checks() -> None:
    rules = [{"name": "mk", "onFlavors": ["gpu"]}, {"name": "budget"}]
    content = queue(admissionChecksStrategy={"admissionChecks": rules})
    expected = (AdmissionCheckRule("mk", ("gpu",)), AdmissionCheckRule("budget"))
    assert decoded(content, decoding.manager_queue) == ManagerQueue("team", expected, "u")
    assert decoded(queue(admissionChecksStrategy=None), decoding.manager_queue) == ManagerQueue("team", (), "u")


def test_a_cohort_of_the_manager_is_its_parent() -> None:
    assert decoded({"metadata": {"name": "team"}, "spec": {"parentName": "all"}}, decoding.cohort_parent) == "all"
    assert decoded({"metadata": {"name": "all"}}, decoding.cohort_parent) == ""


def test_checks_and_configs_lead_to_clusters() -> None:
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "config"}
    spec = {"controllerName": "kueue.x-k8s.io/multikueue", "parameters": parameters}
    found = decoded({"metadata": {"name": "mk"}, "spec": spec}, decoding.admission_check)
    assert (found.spec.controller_name, found.spec.parameters.name) == ("kueue.x-k8s.io/multikueue", "config")
    content = {"metadata": {"name": "config"}, "spec": {"clusters": ["w2", "w1"]}}
    assert decoded(content, decoding.multi_kueue_config).spec.clusters == ("w2", "w1")


def cluster(status: str = "False", **condition: Any) -> dict[str, Any]:
    active = {"type": "Active", "status": status, "reason": "ClientConnectionFailed", **condition}
    source = {"kubeConfig": {"location": "worker1", "locationType": "Secret"}}
    return {
        "metadata": {"name": "w1", "annotations": {"a": "b"}, "resourceVersion": "1"},
        "spec": {"clusterSource": source},
        "status": {"conditions": [active]},
    }


def test_a_worker_cluster_has_its_source_and_whether_it_is_active() -> None:
    found = decoded(cluster(), decoding.multi_kueue_cluster)
    assert found.spec.cluster_source.kube_config.location == "worker1"
    assert found.status.conditions == (Condition("Active", "False", "ClientConnectionFailed"),)


# --- what changes all the time -------------------------------------------------------------------------------------


def capacity_provider(**condition: Any) -> dict[str, Any]:
    synchronized = {
        "type": "CapacitySynchronized",
        "status": "True",
        "reason": "Synchronized",
        "message": "h100: 8 cpu",
        "observedGeneration": 2,
        "lastTransitionTime": "2026-12-01T00:00:00Z",
    }
    return {
        "metadata": {"name": "nodes", "uid": "u", "generation": 2, "annotations": {"a": "b"}, "managedFields": []},
        "spec": {"controllerName": "kueue-dqo.dev/node-inventory", "orchestratedFlavors": [{"name": "h100"}]},
        "status": {
            "capacity": {"flavors": [{"name": "h100", "resources": {"cpu": "8"}}]},
            "conditions": [synchronized | condition],
        },
    }


def orchestrator() -> dict[str, Any]:
    root = {"kind": "Cohort", "name": "team"}
    return {
        "metadata": {"name": "all", "uid": "u", "generation": 1},
        "spec": {
            "capacityDiscovery": {"providers": [{"name": "nodes"}]},
            "capacityDistribution": {"subtreeRootQuotaRef": root},
        },
        "status": {"effectiveCapacity": {"flavors": []}, "conditions": []},
    }


OBJECTS: dict[str, dict[str, Any]] = {
    **{kind: queue() for kind in WORKER_DECODERS},
    **{kind: queue() for kind in MANAGER_DECODERS},
    "CapacityProvider": capacity_provider(),
    "DynamicQuotaOrchestrator": orchestrator(),
    "MultiKueueCluster": cluster(),
}


@pytest.mark.parametrize("null", [False, True], ids=["", "with a null field"])
@pytest.mark.parametrize("kind", DECODERS)
def test_what_a_workload_or_a_heartbeat_changes_makes_no_other_object(kind: str, null: bool) -> None:
    content = copy.deepcopy(OBJECTS[kind])
    before = decoded(content, DECODERS[kind])
    assert not isinstance(before, Unreadable)
    content["metadata"] |= {
        "resourceVersion": "77",
        "annotations": {"seen": "now"},
        "managedFields": [{"manager": "x"}],
    }
    content["status"] |= {"flavorsUsage": [], "pendingWorkloads": 9, "admittedWorkloads": 1}
    for condition in content["status"]["conditions"]:
        condition |= {"message": "other words", "lastTransitionTime": "2026-12-02T00:00:00Z"}
    content["status"]["conditions"].append({"type": "New", "status": "True", "reason": "X", "message": ""})
    if null:
        content["spec"]["resourceGroups" if "resourceGroups" not in content["spec"] else "other"] = None
        content["metadata"]["deletionTimestamp"] = None
    assert decoded(content, DECODERS[kind]) == before


def test_a_provider_of_a_worker_keeps_whether_its_capacity_holds() -> None:
    found = decoded(capacity_provider(), decoding.capacity_provider)
    assert why_not_ready(found) is None
    assert found.status.capacity.flavors[0].resources == {"cpu": Quantity.of(8)}
    found = decoded(capacity_provider(observedGeneration=1), decoding.capacity_provider)
    assert "is stale" in (why_not_ready(found) or "")
    content = capacity_provider(status="False", reason="SourceUnavailable", message="a\nlong story")
    assert why_not_ready(decoded(content, decoding.capacity_provider)) == (
        "CapacityProvider nodes is not ready: CapacitySynchronized=False, SourceUnavailable"
    )
    content["metadata"]["deletionTimestamp"] = "2026-12-01T00:00:00Z"
    assert decoded(content, decoding.capacity_provider).metadata.deletion_timestamp == "2026-12-01T00:00:00Z"


def test_an_orchestrator_of_a_worker_keeps_its_root_and_its_providers() -> None:
    found = decoded(orchestrator(), decoding.orchestrator)
    assert (found.root, found.competes) == (("Cohort", "team"), True)
    assert [each.name for each in found.spec.capacity_discovery.providers] == ["nodes"]


# --- sharing -------------------------------------------------------------------------------------------------------


def test_queues_of_a_kind_share_their_quotas_and_names() -> None:
    one, two = decoded(queue()), decoded(queue())
    assert one.quotas is two.quotas
    assert one.parent is two.parent
    other = decoded(queue(resourceGroups=groups(h100="9")))
    assert other.quotas[0].flavors[0].name is one.quotas[0].flavors[0].name


def test_long_quotas_are_not_kept_for_others() -> None:
    """A worker must not decide how much this process remembers."""
    content = queue(resourceGroups=groups(**{f"flavor-{number}-{'x' * 200}": "1" for number in range(60)}))
    one, two = decoded(content), decoded(content)
    assert one == two
    assert one.quotas is not two.quotas


# --- what cannot be used -------------------------------------------------------------------------------------------


QUOTA = "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota"


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"cohortName": 5}, "spec.cohortName: 5 is an integer; a string is wanted: quote it"),
        ({"cohortName": "A b"}, "spec.cohortName: 'A b' is no object name"),
        ({"cohortName": "a\nb"}, r"spec.cohortName: 'a\nb' is no object name"),
        ({"stopPolicy": []}, "spec.stopPolicy: [] is a list"),
        ({"resourceGroups": {}}, "spec.resourceGroups: {} is a mapping"),
        ({"resourceGroups": [5]}, "spec.resourceGroups[0]: 5 is an integer"),
        (
            {"resourceGroups": groups(h100="much")},
            "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: 'much'",
        ),
        ({"resourceGroups": groups(h100="9" * 300)}, "too long for a quantity"),
        ({"resourceGroups": groups(h100="1e999")}, "has an exponent beyond 512"),
        ({"resourceGroups": groups(h100=10**600)}, f"{QUOTA}: an integer of more than 512 digits"),
        ({"resourceGroups": groups(h100=float("nan"))}, "nan"),
        ({"resourceGroups": groups(h100=None)}, "nominalQuota: is required and missing"),
        (
            {"resourceGroups": groups(**{"H 100": 1})},
            "spec.resourceGroups[0].flavors[0].name: 'H 100' is no object name",
        ),
        ({"resourceGroups": groups(h=1) * 17}, "spec.resourceGroups: 17 groups; at most 16 are allowed"),
        ({"resourceGroups": groups(h=1) * 2}, "spec.resourceGroups: h/cpu has more than one quota"),
        (
            {"resourceGroups": groups(**{f"f{number}": 1 for number in range(65)})},
            "spec.resourceGroups[0].flavors: 65 entries; at most 64 are allowed",
        ),
        (
            {"resourceGroups": [{"flavors": [{"name": "h", "resources": [{"name": "c p", "nominalQuota": 1}]}]}]},
            "spec.resourceGroups[0].flavors[0].resources[0].name: 'c p' is no name of a resource",
        ),
        (
            {
                "resourceGroups": [
                    {"flavors": [{"name": "h", "resources": [{"name": f"r{n}", "nominalQuota": 1} for n in range(65)]}]}
                ]
            },
            "spec.resourceGroups[0].flavors[0].resources: 65 entries; at most 64 are allowed",
        ),
    ],
)
def test_what_cannot_be_used_is_named_with_its_field(spec: dict[str, Any], text: str) -> None:
    assert text in why(queue(**spec))


def test_effective_quotas_that_cannot_be_used_are_named() -> None:
    """And are not passed over for the spec."""
    content = queue()
    content["status"]["effectiveQuotas"] = {"resourceGroups": groups(h100="much")}
    assert "status.effectiveQuotas.resourceGroups[0].flavors[0].resources[0].nominalQuota: 'much'" in why(content)
    content["status"]["effectiveQuotas"] = 5
    assert "status.effectiveQuotas: 5 is an integer" in why(content)


def test_a_local_queue_that_leads_to_no_name_cannot_be_used() -> None:
    content = {"metadata": {"name": "q"}, "spec": {"clusterQueue": "x" * 254}}
    assert why(content, decoding.local_queue).startswith("spec.clusterQueue: 'xxx")


@pytest.mark.parametrize(
    ("field", "content"),
    [
        ("spec.controllerName", {"spec": {"controllerName": "a\nb", "orchestratedFlavors": [{"name": "h"}]}}),
        ("spec.orchestratedFlavors", {"spec": {"controllerName": "a", "orchestratedFlavors": [{"name": "h h"}]}}),
        ("status.capacity.flavors", {"status": {"capacity": {"flavors": [{"name": "h h", "resources": {"c": 1}}]}}}),
        ("status.capacity.flavors", {"status": {"capacity": {"flavors": [{"name": "h", "resources": {"c ": 1}}]}}}),
        (
            "status.capacity.flavors[0].resources[cpu]",
            {"status": {"capacity": {"flavors": [{"name": "h", "resources": {"cpu": "much"}}]}}},
        ),
    ],
)
def test_a_provider_with_names_that_are_none_cannot_be_used(field: str, content: dict[str, Any]) -> None:
    assert why(capacity_provider() | content, decoding.capacity_provider).startswith(f"{field}: ")


@pytest.mark.parametrize(
    ("field", "spec"),
    [
        ("spec.capacityDiscovery.providers", {"capacityDiscovery": {"providers": [{"name": "a b"}]}}),
        (
            "spec.capacityDistribution.subtreeRootQuotaRef.name",
            {"capacityDistribution": {"subtreeRootQuotaRef": {"kind": "Cohort", "name": "a b"}}},
        ),
    ],
)
def test_an_orchestrator_with_names_that_are_none_cannot_be_used(field: str, spec: dict[str, Any]) -> None:
    content = orchestrator()
    content["spec"] |= spec
    assert why(content, decoding.orchestrator).startswith(f"{field}: 'a b' is no object name")


DEEP = b'{"x":' * 100_000 + b"1" + b"}" * 100_000
HOSTILE = {
    "nothing": b"",
    "no JSON": b"{",
    "a list": b"[]",
    "null": b"null",
    "a number": b"9" * 5000,
    "not UTF-8": b'{"metadata":{"name":"\xff"}}',
    "half a surrogate pair": rb'{"metadata":{"name":"a"},"spec":{"cohortName":"\ud800","clusterQueue":"\ud800"}}',
    "deep": DEEP,
    "deep inside": b'{"metadata":{"name":"a"},"spec":' + DEEP + b"}",
    "deep groups": b'{"metadata":{"name":"a"},"spec":{"resourceGroups":' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
    "no name": b'{"metadata":{},"spec":{}}',
    "no metadata": b"{}",
    "a long name": b'{"metadata":{"name":"' + b"x" * 100_000 + b'"}}',
    "a name with a line end": rb'{"metadata":{"name":"a\nb"}}',
}


@pytest.mark.parametrize("raw", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("kind", DECODERS)
def test_nothing_is_raised_whatever_is_sent(kind: str, raw: bytes) -> None:
    assert_harmless(DECODERS[kind](raw))


@pytest.mark.parametrize("kind", ["no name", "no metadata", "a long name", "deep", "no JSON", "a list", "null"])
def test_what_is_no_object_is_unreadable(kind: str) -> None:
    assert isinstance(WORKER_DECODERS["ClusterQueue v1beta2"](HOSTILE[kind]), Unreadable)


def assert_harmless(found: Any) -> None:
    """All text in it is short, on one line, and has no control characters."""
    if isinstance(found, Unreadable):
        assert len(found.why) <= LONGEST_WHY + 1
        assert found.why.isprintable()
    if isinstance(found, WorkerQueue):
        assert len(found.inactive) <= 64
        assert found.inactive.isprintable()
    if isinstance(found, WorkerQueue | WorkerCohort):
        assert found.parent.isascii()
        assert all(pair.flavor.isascii() and pair.resource.isascii() for pair, _ in quotas_by_pair(found.quotas))


def test_a_time_of_any_length_does_no_harm() -> None:
    """It is shown of a provider that is being deleted."""
    content = capacity_provider()
    content["metadata"] |= {"deletionTimestamp": f"2026-12-01T00:00:00.{'0' * 1000}Z"}
    assert len(decoded(content, decoding.capacity_provider).metadata.deletion_timestamp) == 40


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["cpu", "1", "h"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def places(content: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The ways to all that is in it."""
    found = [path] if path else []
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        found += places(value, (*path, key))
    return found


@pytest.mark.parametrize("kind", DECODERS)
@given(data=st.data())
def test_nothing_is_raised_whatever_stands_where(kind: str, data: st.DataObject) -> None:
    """Any value in any place of an object that is right otherwise."""
    content = copy.deepcopy(OBJECTS[kind])
    content["status"]["effectiveQuotas"] = {"resourceGroups": groups(h100="5")}
    *way, last = data.draw(st.sampled_from(places(content)))
    holder = content
    for step in way:
        holder = holder[step]
    holder[last] = data.draw(_JSON)
    assert_harmless(decoded(content, DECODERS[kind]))


_QUOTAS = st.dictionaries(
    st.sampled_from(["h100", "a100", "t4"]), st.integers(0, 10**30) | st.sampled_from(["1500m", "2Gi", "1e3", "0.5"])
)


@given(spec=_QUOTAS, effective=st.none() | _QUOTAS, null=st.booleans())
@example(spec={}, effective=None, null=True)
def test_the_quick_and_the_careful_way_agree(spec: dict[str, Any], effective: Any, null: bool) -> None:
    """A null field changes the way, not what comes out; and nothing is lost on either."""
    content = queue(resourceGroups=groups(**spec))
    if effective is not None:
        content["status"]["effectiveQuotas"] = {"resourceGroups": groups(**effective)}
    expected = {f"{name}/cpu": Quantity.of(each) for name, each in (spec if effective is None else effective).items()}
    if null:
        content["spec"]["stopPolicy"] = None
    assert amounts(decoded(content)) == expected
