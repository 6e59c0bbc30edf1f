"""A plan as a list of objects: what is in it, what is not, and that it reads back as what it was."""

from __future__ import annotations

import copy
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kueue_dqo.api.kueue import ClusterQueue, Cohort
from kueue_dqo.api.scheme import decode, known_kind
from kueue_dqo.cli.documents import documents
from kueue_dqo.cli.errors import CommandError
from kueue_dqo.cli.plan.computation import Plan
from kueue_dqo.cli.plan.output import as_list, json_text, yaml_text
from orchestrator.enforcement.roads import Road
from orchestrator.enforcement.spec import APPLIED_QUOTAS, DECLARED_QUOTAS
from tests.unit.kueue_dqo.cli.plan.builders import (
    DELETED,
    GPU,
    REF,
    Plain,
    cohort,
    condition,
    effective,
    flavor,
    groups,
    node,
    orchestrator,
    plan_of,
    provider,
    queue,
    reporting,
)

EXAMPLES = Path(__file__).parents[5] / "examples"
LIMITED = {"nominalQuota": "10", "borrowingLimit": "0", "lendingLimit": 5}
EVERYTHING = [
    node(has={"cpu": "1500m", "memory": "3Gi", GPU: "120e3"}),
    flavor(),
    provider(),
    provider("broken", ["gone"]),
    orchestrator(root="Cohort/teams"),
    orchestrator("going", deletionTimestamp=DELETED),
    orchestrator("lost", root="Cohort/nowhere", uid="z"),
    orchestrator("waits", root=None, providers=["broken"]),
    cohort("teams"),
    queue(
        "a",
        {"batch": {"cpu": LIMITED, "memory": "1Gi", GPU: "1e3"}, "static": {"cpu": "2500m"}},
        cohort="teams",
        uid="9",
    ),
    queue("b", {"batch": {"cpu": 20}}, cohort="teams", uid="1"),
    queue("elsewhere"),
]


def items(plan: Plan) -> dict[str, Plain]:
    """By `Kind/name`."""
    return {f"{item['kind']}/{item['metadata']['name']}": item for item in as_list(plan)["items"]}


def read_back(plan: Plan) -> dict[str, Any]:
    """The list as four readers see it: JSON and YAML, each by a library and by the command itself."""
    in_json, in_yaml = json_text(plan), yaml_text(plan)
    (own_json,) = documents(in_json.encode(), is_json=True)
    (own_yaml,) = documents(in_yaml.encode())
    return {
        "json": json.loads(in_json),
        "json, by the command": own_json.content,
        "yaml": yaml.safe_load(in_yaml),
        "yaml, by the command": own_yaml.content,
    }


def assert_reads_back(plan: Plan) -> None:
    expected = as_list(plan)
    for reader, content in read_back(plan).items():
        assert content == expected, reader


# --- what is in it --------------------------------------------------------------------------------------------------


def test_the_list_holds_what_would_be_written_and_nothing_else() -> None:
    """Computed providers, orchestrators, ClusterQueues, Cohorts, each by name; an object left alone is absent."""
    listed = as_list(plan_of(*EVERYTHING))
    assert (listed["apiVersion"], listed["kind"]) == ("v1", "List")
    assert [(item["apiVersion"], item["kind"], item["metadata"]["name"]) for item in listed["items"]] == [
        ("kueue.x-k8s.io/v1alpha1", "CapacityProvider", "broken"),
        ("kueue.x-k8s.io/v1alpha1", "CapacityProvider", "nodes"),
        ("kueue.x-k8s.io/v1alpha1", "DynamicQuotaOrchestrator", "dqo"),
        ("kueue.x-k8s.io/v1alpha1", "DynamicQuotaOrchestrator", "lost"),
        ("kueue.x-k8s.io/v1alpha1", "DynamicQuotaOrchestrator", "waits"),
        ("kueue.x-k8s.io/v1beta2", "ClusterQueue", "a"),
        ("kueue.x-k8s.io/v1beta2", "ClusterQueue", "b"),
        ("kueue.x-k8s.io/v1beta2", "Cohort", "teams"),
    ]


def test_the_order_of_the_files_does_not_show() -> None:
    """Two plans of the same objects are equal to the byte."""
    plan, turned = plan_of(*EVERYTHING), plan_of(*EVERYTHING[::-1])
    assert json_text(plan) == json_text(turned)
    assert yaml_text(plan) == yaml_text(turned)


def test_a_provider_with_a_status_is_left_alone() -> None:
    """Somebody else writes it."""
    assert list(items(plan_of(reporting(), orchestrator(), queue()))) == [
        "DynamicQuotaOrchestrator/dqo",
        "ClusterQueue/q",
    ]


def test_objects_carry_their_name_and_the_fields_that_would_be_written() -> None:
    """On the status road nothing but a status."""
    assert items(plan_of(reporting(), orchestrator(), queue("q", {"batch": {"cpu": LIMITED}}, labels={"a": "b"}))) == {
        "DynamicQuotaOrchestrator/dqo": {
            "apiVersion": "kueue.x-k8s.io/v1alpha1",
            "kind": "DynamicQuotaOrchestrator",
            "metadata": {"name": "dqo"},
            "status": {
                "effectiveCapacity": {"flavors": [{"name": "batch", "resources": {"cpu": "48"}}]},
                "conditions": [
                    {
                        "type": "EffectiveCapacityComputed",
                        "status": "True",
                        "reason": "Computed",
                        "message": "Capacity of 1 flavor from nodes",
                        "observedGeneration": 1,
                    },
                    {
                        "type": "Distributed",
                        "status": "True",
                        "reason": "QuotasDistributed",
                        "message": "Quotas of 1 ClusterQueue and 0 Cohorts follow the capacity",
                        "observedGeneration": 1,
                    },
                ],
            },
        },
        "ClusterQueue/q": {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "ClusterQueue",
            "metadata": {"name": "q"},
            "status": {
                "effectiveQuotas": {
                    "orchestratorRef": REF,
                    "resourceGroups": [
                        {
                            "coveredResources": ["cpu"],
                            "flavors": [
                                {
                                    "name": "batch",
                                    "resources": [
                                        {
                                            "name": "cpu",
                                            "nominalQuota": "48",
                                            "borrowingLimit": "0",
                                            "lendingLimit": "5",
                                        }
                                    ],
                                }
                            ],
                        }
                    ],
                }
            },
        },
    }


def test_a_computed_provider_carries_its_whole_status() -> None:
    """Capacity and condition, or the condition alone where nothing can be published."""
    found = items(plan_of(*EVERYTHING))
    assert found["CapacityProvider/nodes"]["status"]["capacity"] == {
        "flavors": [{"name": "batch", "resources": {"cpu": "1500m", "memory": "3Gi", GPU: "120e3"}}]
    }
    assert found["CapacityProvider/nodes"]["status"]["conditions"][0]["reason"] == "Synchronized"
    assert list(found["CapacityProvider/broken"]["status"]) == ["conditions"]


def test_a_cleared_effective_capacity_is_absent() -> None:
    """Neither null nor empty, also where one stood before."""
    old = {"effectiveCapacity": {"flavors": []}, "conditions": []}
    found = items(plan_of(orchestrator(root=None, status=old)))
    assert list(found["DynamicQuotaOrchestrator/dqo"]["status"]) == ["conditions"]


def test_a_flavor_of_which_nothing_is_reported_has_an_empty_mapping() -> None:
    """It is orchestrated all the same."""
    found = items(plan_of(node(), flavor(), flavor("gpu", {"pool": "b"}), provider(flavors=["gpu", "batch"]),
                          orchestrator(root=None)))  # fmt: skip
    assert found["DynamicQuotaOrchestrator/dqo"]["status"]["effectiveCapacity"]["flavors"] == [
        {"name": "batch", "resources": {"cpu": "1"}},
        {"name": "gpu", "resources": {}},
    ]


@pytest.mark.parametrize("road", Road)
def test_an_empty_list_of_resource_groups_is_there(road: Road) -> None:
    """Set means used, also when it is empty: leaving it out would mean the spec."""
    plan = plan_of(reporting(), orchestrator(root="Cohort/teams"), cohort("teams"), queue(cohort="teams"), road=road)
    teams = items(plan)["Cohort/teams"]
    written = teams["status"]["effectiveQuotas"] if road is Road.STATUS else teams["spec"]
    assert written["resourceGroups"] == []
    for content in read_back(plan).values():
        (again,) = (item for item in content["items"] if item["kind"] == "Cohort")
        assert again == teams


def test_quotas_that_nobody_may_write_are_left_out() -> None:
    """Of two orchestrators of one root the younger writes its own status only; where both fail, no queue is listed."""
    younger = orchestrator("younger", creationTimestamp="2026-09-02T08:00:00Z")
    old = queue(status=effective({"batch": {"cpu": 1}}, REF | {"name": "younger"}))
    found = items(plan_of(reporting(), orchestrator(), younger, old))
    assert found["ClusterQueue/q"]["status"]["effectiveQuotas"]["orchestratorRef"]["name"] == "dqo"
    assert list(items(plan_of(reporting(), orchestrator(providers=["gone"]), younger, old))) == [
        "DynamicQuotaOrchestrator/dqo",
        "DynamicQuotaOrchestrator/younger",
    ]


# --- how it is written ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("road", Road)
def test_json_and_yaml_read_back_as_the_same_list(road: Road) -> None:
    """By a library, and by the command when it is given its own output."""
    assert_reads_back(plan_of(*EVERYTHING, road=road))


def test_a_list_is_laid_out_for_reading() -> None:
    """Indented, and with the keys of an object in their usual order, in both formats."""
    plan = plan_of(*EVERYTHING)
    assert json_text(plan).startswith(
        '{\n  "apiVersion": "v1",\n  "kind": "List",\n  "items": [\n    {\n      "apiVersion"'
    )
    assert yaml_text(plan).startswith("apiVersion: v1\nkind: List\nitems:\n- apiVersion: kueue.x-k8s.io/v1alpha1\n")
    assert json.dumps(yaml.safe_load(yaml_text(plan))) == json.dumps(as_list(plan))
    for item in as_list(plan)["items"]:
        assert list(item)[:3] == ["apiVersion", "kind", "metadata"]


@pytest.mark.parametrize("road", Road)
def test_what_begins_like_a_number_is_quoted_in_yaml(road: Road) -> None:
    """Readers of YAML 1.1 and 1.2 differ in what they take for one: 120e3 is a number to some of them only."""
    plan = plan_of(*EVERYTHING, reporting("1e3"), orchestrator("0x1f", root=None), road=road)
    plain = [line.strip("- ") for line in yaml_text(plan).splitlines() if re.match(r"[-\s]*\w+: [-+.]?[0-9]", line)]
    assert {line.partition(":")[0] for line in plain} == {"observedGeneration"}
    assert 'nominalQuota: "120e3"' in yaml_text(plan)
    assert 'name: "0x1f"' in yaml_text(plan)


def scalars(content: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(content, dict):
        for name, each in content.items():
            yield from scalars(each, name)
    elif isinstance(content, list):
        for each in content:
            yield from scalars(each, key)
    else:
        yield key, content


@pytest.mark.parametrize("road", Road)
def test_everything_but_a_generation_is_a_string(road: Road) -> None:
    """Quantities above all: 120e3 without quotes is a number to some readers, and 0.1 loses digits."""
    for reader, content in read_back(plan_of(*EVERYTHING, road=road)).items():
        found = list(scalars(content))
        assert {type(each) for key, each in found if key != "observedGeneration"} == {str}, reader
        assert {type(each) for key, each in found if key == "observedGeneration"} == {int}, reader
        assert ("nominalQuota", "120e3") in found, reader


AWKWARD = ["y", "n", "yes", "no", "on", "off", "true", "null", "1", "017", "0x1f", "1e3", "1.5", "2026-01-31", "0b1"]


@pytest.mark.parametrize("name", AWKWARD)
def test_a_name_that_looks_like_something_else_reads_back_as_a_name(name: str) -> None:
    """All of these are names that Kubernetes allows."""
    assert_reads_back(plan_of(reporting(name, {name: {name: 1}}), orchestrator(name, f"ClusterQueue/{name}", [name]),
                              queue(name, {name: {name: 1}})))  # fmt: skip


@settings(max_examples=300)
@given(st.text(min_size=1))
def test_any_text_in_a_message_reads_back(message: str) -> None:
    """Line ends, quotes, colons, control characters: whatever a controller wrote."""
    failed = condition("CapacitySynchronized", "False", "SourceUnavailable", message)
    plan = plan_of(provider(status={"conditions": [failed]}), orchestrator(root=None))
    assert message in as_list(plan)["items"][0]["status"]["conditions"][0]["message"]
    assert_reads_back(plan)


def test_text_is_readable_as_it_is() -> None:
    """No escapes for other scripts, no aliases for what occurs twice, a line end at the end."""
    failed = condition("CapacitySynchronized", "False", "SourceUnavailable", "größer, 更大")
    for text in (json_text, yaml_text):
        assert "größer, 更大" in text(plan_of(provider(status={"conditions": [failed]}), orchestrator(root=None)))
        assert text(plan_of(*EVERYTHING)).endswith("\n")
    assert "&id" not in yaml_text(plan_of(*EVERYTHING))


def test_without_pyyaml_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON needs nothing that is not installed."""
    plan = plan_of(*EVERYTHING)
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(CommandError, match=r"^YAML needs PyYAML: install kueue-dqo\[cli\], or use -o json$"):
        yaml_text(plan)
    assert json.loads(json_text(plan)) == as_list(plan)


# --- the spec road --------------------------------------------------------------------------------------------------


def test_the_spec_road_prints_the_spec_and_both_annotations_and_no_status() -> None:
    """The numbers in force, the declaration, and what was applied for whom."""
    plan = plan_of(reporting(), orchestrator(), queue("q", {"batch": {"cpu": LIMITED}}), road=Road.SPEC)
    written = items(plan)["ClusterQueue/q"]
    limits = {"borrowingLimit": "0", "lendingLimit": "5"}
    applied = groups({"batch": {"cpu": {"nominalQuota": "48", **limits}}})
    assert set(written) == {"apiVersion", "kind", "metadata", "spec"}
    assert written["spec"] == {"resourceGroups": applied}
    assert set(written["metadata"]) == {"name", "annotations"}
    annotations = {key: json.loads(text) for key, text in written["metadata"]["annotations"].items()}
    assert annotations == {
        DECLARED_QUOTAS: groups({"batch": {"cpu": LIMITED}}),  # as it was written
        APPLIED_QUOTAS: {"orchestratorRef": REF, "resourceGroups": applied},
    }


def test_orchestrators_have_their_status_on_the_spec_road_too() -> None:
    """It is only the quotas of queues and Cohorts that take another road."""
    on_status, on_spec = (items(plan_of(*EVERYTHING, road=road)) for road in Road)
    assert list(on_status) == list(on_spec)
    for name, item in on_status.items():
        is_quota = name.startswith(("ClusterQueue/", "Cohort/"))
        assert (on_spec[name] == item) is not is_quota
        assert ("status" in on_spec[name]) is not is_quota


def decoded(item: Plain) -> ClusterQueue | Cohort:
    known = known_kind(item["apiVersion"], item["kind"])
    assert known is not None
    found = decode(known, "v1beta2", item).object
    assert isinstance(found, ClusterQueue | Cohort)
    return found


@pytest.mark.parametrize("reader", ["json", "json, by the command", "yaml", "yaml, by the command"])
def test_the_declaration_survives_the_way_through_the_output(reader: str) -> None:
    """The printed objects, read back, declare what the first ones did."""
    plan = plan_of(*EVERYTHING, road=Road.SPEC)
    found = {item["metadata"]["name"]: item for item in read_back(plan)[reader]["items"] if "spec" in item}
    assert set(found) == {"a", "b", "teams"}
    for key, quotas in plan.outcomes["dqo"].quotas.items():
        member = Road.SPEC.member_of(decoded(found[key.name]))
        assert member.problem is None
        assert member.declared == plan.hierarchy.members[key].declared
        assert member.in_force == quotas.resource_groups
        assert member.owner == quotas.orchestrator_ref


def merged(old: Any, new: Any) -> Any:
    """As an API server takes a merge patch."""
    if isinstance(old, dict) and isinstance(new, dict):
        return old | {key: merged(old.get(key), each) for key, each in new.items()}
    return copy.deepcopy(new)


def carried_out(objects: list[Plain], plan: Plan) -> list[Plain]:
    """The objects after everything in the plan was written."""
    written = items(plan)
    return [merged(each, written.get(f"{each['kind']}/{each['metadata']['name']}", {})) for each in objects]


def example(name: str) -> list[Plain]:
    """The objects of an example, without those of kinds that are not read."""
    found: list[Plain] = []
    for path in sorted((EXAMPLES / name).iterdir()):
        if path.suffix in {".yaml", ".json"}:
            for document in documents(path.read_bytes()):
                content = document.content
                found += content["items"] if content["kind"] == "List" else [content]
    return [each for each in found if known_kind(each["apiVersion"], each["kind"]) is not None]


WORKING = [each for each in EVERYTHING if each["metadata"]["name"] not in {"broken", "waits", "lost"}]


@pytest.mark.parametrize("road", Road)
@pytest.mark.parametrize(
    "objects",
    [
        pytest.param(WORKING, id="small"),
        *(pytest.param(example(path.name), id=path.name) for path in sorted(EXAMPLES.glob("[0-9]*"))),
    ],
)
def test_a_plan_that_was_carried_out_plans_nothing_more(objects: list[Plain], road: Road) -> None:
    """The second plan declares the same, comes to the same quotas, and changes nothing."""
    first = plan_of(*objects, road=road)
    second = plan_of(*carried_out(objects, first), road=road)
    assert first.has_changes
    assert not second.has_changes
    for key, member in first.hierarchy.members.items():
        assert second.hierarchy.members[key].declared == member.declared
    for name, outcome in first.outcomes.items():
        assert second.outcomes[name].quotas == outcome.quotas


@pytest.mark.parametrize("road", Road)
def test_the_declaration_survives_any_number_of_changes(road: Road) -> None:
    """Down to nothing and up again: shares are of what the admin wrote, not of what was applied last."""
    declared = {"batch": {"cpu": {"nominalQuota": "10", "lendingLimit": "5"}, "memory": "1Gi"}}
    rest = [orchestrator(root="Cohort/teams"), cohort("teams")]
    queues = [queue("a", declared, cohort="teams"), queue("b", {"batch": {"cpu": 20}}, cohort="teams")]
    for amount in (48, 0, "100m", 3, 48):
        capacity = reporting(amounts={"batch": {"cpu": amount, "memory": "1Gi"}})
        plan = plan_of(capacity, *rest, *queues, road=road)
        queues = carried_out(queues, plan)
    fresh = plan_of(capacity, *rest, queue("a", declared, cohort="teams"), *carried_out(queues[1:], plan), road=road)
    for key, quotas in fresh.outcomes["dqo"].quotas.items():
        assert plan.outcomes["dqo"].quotas[key] == quotas
    assert list(plan.outcomes["dqo"].quotas) == list(fresh.outcomes["dqo"].quotas)
