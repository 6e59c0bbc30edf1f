"""What one parameters object shows to be wrong. The definitions judge the same table in `tests/integration`."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from kueue_dqo.api import gpu_checks, problems, recurrences
from kueue_dqo.api.dqo import ROOT_KINDS
from kueue_dqo.api.durations import LONGEST
from kueue_dqo.api.gpu import SHARED_SUFFIX
from kueue_dqo.api.meta import ObjectMeta
from kueue_dqo.api.parameter_checks import (
    cloud,
    cloud_aws,
    cloud_forms,
    cloud_gcp,
    common,
    composite,
    gpus,
    manual,
    multikueue,
    nodes,
)
from kueue_dqo.api.parameters import (
    CommonParameters,
    Guards,
    Headroom,
    ParametersObject,
    ResourceSelection,
    SelectorOperator,
)
from kueue_dqo.api.problems import FieldProblem, Form
from kueue_dqo.api.resources import CPU
from kueue_dqo.api.scheme import KnownKind, ObjectInvalid, decode, known_kind, to_manifest
from kueue_dqo.api.validation import problems_of
from providers.cloud_quota import shapes
from providers.guards.breaker import ONE_LOSS
from tests.unit.kueue_dqo.api import cloud_specs, multikueue_specs
from tests.unit.kueue_dqo.api.parameter_specs import API_VERSION, BAD, COMMON, FULL, GOOD, KINDS, MULTIKUEUE, Case

ROOT = Path(__file__).parents[4]
FOLDER = ROOT / "manifests/crds/providers"
EXAMPLE = ROOT / "examples/writing-a-provider/manifests/rackpowers.yaml"
"""Of a third party, whose like take it over."""
each_kind = pytest.mark.parametrize("kind", KINDS)


def _decoded(manifest: dict[str, Any]) -> Any:
    known = known_kind(API_VERSION, manifest["kind"])
    assert known is not None
    return decode(known, "v1alpha1", manifest).object


def _problems(manifest: dict[str, Any]) -> list[FieldProblem]:
    with pytest.raises(ObjectInvalid) as raised:
        _decoded(manifest)
    return list(raised.value.problems)


@pytest.mark.parametrize("case", [*GOOD, *cloud_specs.GOOD, *cloud_specs.ADDING_UP, *multikueue_specs.GOOD], ids=str)
def test_what_the_rules_allow_is_taken(case: Case) -> None:
    """And read whole, and written as it can be read again."""
    spec = _decoded(case.manifest).spec
    written = to_manifest(spec)
    assert case.manifest["spec"].keys() <= written.keys()
    assert _decoded({**case.manifest, "spec": written}).spec == spec


@pytest.mark.parametrize(
    "case",
    [
        *BAD,
        *(each for specs in (cloud_specs, multikueue_specs) for each in (*specs.BAD, *specs.BEYOND_DEFINITIONS)),
    ],
    ids=str,
)
def test_what_the_rules_forbid_is_named_with_its_field(case: Case) -> None:
    """That field and no other: the same parameters without the one change are good."""
    found = _problems(case.manifest)
    assert {each.field for each in found} == {case.named}
    assert any(case.says in each.problem for each in found), found


@each_kind
@pytest.mark.parametrize("name", ["a.b", "a" * 64])
def test_a_name_that_no_provider_can_give_is_refused(kind: str, name: str) -> None:
    """`spec.parameters.name` of a CapacityProvider takes less than Kubernetes takes for the name of an object."""
    (problem,) = _problems({"kind": kind, "metadata": {"name": name}, "spec": _present(kind)})
    assert problem.field == "metadata.name"
    assert "spec.parameters.name" in problem.problem


@each_kind
def test_a_name_that_no_object_can_have_is_told_once(kind: str) -> None:
    """The narrower rule adds nothing to it."""
    (problem,) = _problems({"kind": kind, "metadata": {"name": "A.b"}, "spec": _present(kind)})
    assert "'A.b' is no object name" in problem.problem


def test_parameters_of_a_third_party_get_the_common_checks() -> None:
    """Their own fields are theirs to check."""

    class ScannerSpec(CommonParameters, frozen=True, gc=False, kw_only=True):
        racks: tuple[str, ...] = ()

    spec = ScannerSpec(racks=("", ""), resources=ResourceSelection(include=("a b",)), headroom=(Headroom("f", "cpu"),))
    obj = ParametersObject(ObjectMeta("fast.scan"), spec)
    assert [problem.field for problem in problems_of(obj)] == [
        "metadata.name",
        "spec.resources.include[0]",
        "spec.headroom[0].resource",
        "spec.headroom[0]",
    ]


class Side(enum.StrEnum):
    HOT = "Hot"
    COLD = "Cold"


class RacksSpec(CommonParameters, frozen=True, gc=False, kw_only=True):
    """Parameters as a third party may have them."""

    preferred: Side | None = None
    sides: tuple[Side, ...] = ()
    by_rack: dict[str, Side] = msgspec.field(default_factory=dict)


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"preferred": "Warm"}, "spec.preferred"),
        ({"sides": ["Hot", "Warm"]}, "spec.sides[1]"),
        ({"byRack": {"r1": "Warm"}}, "spec.byRack"),
    ],
)
def test_choices_of_a_third_party_are_named_too(spec: dict[str, Any], field: str) -> None:
    """Wherever an enumeration stands."""
    known = KnownKind("example.com", "Racks", ("v1",), ParametersObject[RacksSpec])
    with pytest.raises(ObjectInvalid) as raised:
        decode(known, "v1", {"metadata": {"name": "a"}, "spec": spec})
    (problem,) = raised.value.problems
    assert problem.field.startswith(field)
    assert problem.problem.endswith(" is none of Hot, Cold")


@each_kind
def test_a_long_value_is_shown_in_part(kind: str) -> None:
    """A message goes into a condition and an Event."""
    spec = _present(kind) | {"resources": {"include": ["x" * 5000]}, "headroom": []}
    spec.pop("explicitZeros", None)
    (problem,) = _problems({"kind": kind, "metadata": {"name": "a"}, "spec": spec})
    assert len(problem.problem) < 500
    assert "5000 characters" in problem.problem


def test_all_problems_are_told_at_once() -> None:
    """One round of corrections is enough."""
    spec = {
        "baseline": {"flavors": [{"name": "A", "resources": {"cpu": -1}}]},
        "overrides": [
            {"name": "o", "begin": "x", "end": "y", "recurrence": "DAILY;BYDAY=X;FOO=1", "timeZone": "", "flavors": []}
        ],
        "headroom": [{"flavor": "A", "resource": "", "percent": 0, "quantity": -1}],
        "guards": {"maxFallPercent": 0},
    }
    found = _problems({"kind": "ManualCapacity", "metadata": {"name": "a"}, "spec": spec})
    assert [each.field.removeprefix("spec.") for each in found] == [
        *("headroom[0].flavor", "headroom[0].resource", "headroom[0]", "headroom[0].percent", "headroom[0].quantity"),
        *("guards.maxFallPercent", "guards.breakerGrace"),
        *("baseline.flavors[0].name", "baseline.flavors[0].resources[cpu]"),
        *("overrides[0].begin", "overrides[0].end", "overrides[0].timeZone"),
        *["overrides[0].recurrence"] * 3,
        "overrides[0].flavors",
    ]


# --- the definitions say the same ----------------------------------------------------------------------------------


def _present(kind: str) -> dict[str, Any]:
    spec: dict[str, Any] = Case(kind, "", FULL[kind]).manifest["spec"]
    return spec


def _schema(kind: str) -> dict[str, Any]:
    for file in (*FOLDER.glob("*s.yaml"), EXAMPLE):
        definition = yaml.safe_load(file.read_text())
        if definition["spec"]["names"]["kind"] == kind:
            schema: dict[str, Any] = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
            return schema
    raise LookupError(kind)


def _nodes(schema: dict[str, Any], path: str = "spec") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every part of a schema with its path; entries of lists and of mappings by a star."""
    yield path, schema
    for name, field in schema.get("properties", {}).items():
        yield from _nodes(field, f"{path}.{name}")
    for inner in ("items", "additionalProperties"):
        if inner in schema:
            yield from _nodes(schema[inner], f"{path}.*")


def _fields(kind: msgspec.inspect.Type, path: str = "spec") -> Iterator[str]:
    """Every field that the structs read, written as _nodes does."""
    yield path
    match kind:
        case msgspec.inspect.StructType():
            for field in kind.fields:
                yield from _fields(field.type, f"{path}.{field.encode_name}")
        case msgspec.inspect.UnionType():
            for each in kind.types:
                if not isinstance(each, msgspec.inspect.NoneType):
                    yield from _fields(each, path)
        case msgspec.inspect.VarTupleType():
            yield from _fields(kind.item_type, f"{path}.*")
        case msgspec.inspect.DictType():
            yield from _fields(kind.value_type, f"{path}.*")


@each_kind
def test_a_definition_has_exactly_the_fields_that_are_read(kind: str) -> None:
    """A field in one of the two alone would be pruned, or refused."""
    known = known_kind(API_VERSION, kind)
    assert known is not None
    (spec,) = (each.type for each in msgspec.inspect.type_info(known.type).fields if each.name == "spec")  # type: ignore[attr-defined]  # of a struct
    assert sorted({path for path, _ in _nodes(_schema(kind)["properties"]["spec"])}) == sorted(set(_fields(spec)))


@each_kind
def test_required_fields_and_choices_are_those_of_the_structs(kind: str) -> None:
    """Both by the type that decodes them."""
    known = known_kind(API_VERSION, kind)
    assert known is not None

    def look(found: msgspec.inspect.Type, schema: dict[str, Any]) -> None:
        match found:
            case msgspec.inspect.StructType():
                required = {field.encode_name for field in found.fields if field.required}
                assert set(schema.get("required", ())) == required
                for field in found.fields:
                    look(field.type, schema["properties"][field.encode_name])
            case msgspec.inspect.UnionType():
                for each in found.types:
                    if not isinstance(each, msgspec.inspect.NoneType):
                        look(each, schema)
            case msgspec.inspect.VarTupleType():
                look(found.item_type, schema["items"])
            case msgspec.inspect.DictType():
                look(found.value_type, schema["additionalProperties"])
            case msgspec.inspect.EnumType():
                assert set(schema["enum"]) == {each.value for each in found.cls}

    (spec,) = (each.type for each in msgspec.inspect.type_info(known.type).fields if each.name == "spec")  # type: ignore[attr-defined]  # of a struct
    look(spec, _schema(kind)["properties"]["spec"])


@pytest.mark.parametrize("kind", [*KINDS, "RackPower"])
def test_the_common_part_is_the_same_in_every_definition(kind: str) -> None:
    """Fields, limits, texts and rules; that of the example of a third party is no other."""
    first, own = _schema(KINDS[0]), _schema(kind)
    assert own["x-kubernetes-validations"] == first["x-kubernetes-validations"]
    assert _common_fields(own) == _common_fields(first)
    rules = _common_rules(first)
    assert len(rules) == 2
    assert [rule for rule in _common_rules(own) if rule in rules] == rules
    assert {field.encode_name for field in msgspec.structs.fields(CommonParameters)} == COMMON.keys()


def _common_fields(schema: dict[str, Any]) -> dict[str, Any]:
    fields = schema["properties"]["spec"]["properties"]
    return {name: fields[name] for name in COMMON}


def _common_rules(schema: dict[str, Any]) -> list[dict[str, str]]:
    """Those of the spec that join two of these fields."""
    rules = schema["properties"]["spec"]["x-kubernetes-validations"]
    return [rule for rule in rules if rule.get("fieldPath", "").removeprefix(".") in COMMON]


def test_what_a_fall_is_measured_by_is_told_as_it_is() -> None:
    """The time is a constant of the guards."""
    guards = _common_fields(_schema(KINDS[0]))["guards"]["properties"]
    within = f"the highest amount that was published within the last {ONE_LOSS // 60} minutes"
    for text in (guards["maxFallPercent"]["description"], Guards.__doc__):
        assert text is not None
        assert within in " ".join(text.split())


FORMS = {
    "aws.regions.*": cloud_forms.AWS_REGION,
    "aws.flavors.*.entries.*.region": cloud_forms.AWS_REGION,
    "assumeRole.arn": cloud_forms.ROLE_ARN,
    ".externalId": cloud_forms.EXTERNAL_ID,
    ".instanceType": cloud_forms.INSTANCE_TYPE,
    "quota.code": cloud_forms.QUOTA_CODE,
    "quota.service": cloud_forms.SERVICE_CODE,
    ".ids.*": cloud_forms.RESERVATION_ID,
    "gcp.regions.*": cloud_forms.GCP_REGION,
    ".accountId": cloud_forms.ACCOUNT_ID,
    "gcp.flavors.*.entries.*.region": cloud_forms.GCP_REGION,
    ".project": cloud_forms.PROJECT,
    ".impersonateServiceAccount": cloud_forms.SERVICE_ACCOUNT,
    ".machineType": cloud_forms.MACHINE_TYPE,
    "metric.name": cloud_forms.METRIC,
    ".globalMetric": cloud_forms.GLOBAL_METRIC,
    "gpuFamily.name": cloud_forms.GPU_FAMILY,
    "gpuFamily.quotaId": cloud_forms.QUOTA_ID,
    "gpuFamily.service": cloud_forms.QUOTA_SERVICE,
    "reservations.names.*": cloud_forms.GCP_RESERVATION,
    "reservations.zones.*": cloud_forms.GCP_ZONE,
    "subtree.name": problems.OBJECT_NAME,
    "clusterQueues.*": problems.OBJECT_NAME,
    ".workerFlavor": problems.OBJECT_NAME,
    "clusters.*": problems.OBJECT_NAME,
    ".otherFlavors": problems.OBJECT_NAME,
    "workerProviders.*": problems.OBJECT_NAME,
    "sharing.*.resource": gpu_checks.DEVICES,
    "sharing.*.rename": gpu_checks.NVIDIA_RESOURCE,
    ".flavor": problems.OBJECT_NAME,
    ".resource": problems.RESOURCE_NAME,
    "include.*": problems.RESOURCE_NAME,
    "exclude.*": problems.RESOURCE_NAME,
    "explicitZeros.*.resources.*": problems.RESOURCE_NAME,
    "matchLabels.*": problems.LABEL_VALUE,
    "values.*": problems.LABEL_VALUE,
    ".key": problems.LABEL_KEY,
    "excludedConditions.*.type": problems.CONDITION_TYPE,
    "flavors.*.name": problems.OBJECT_NAME,
    "overrides.*.name": problems.DNS_LABEL,
    "members.*.name": problems.OBJECT_NAME,
    ".begin": manual.TIME,
    ".end": manual.TIME,
    ".timeZone": manual.TIME_ZONE,
}


@each_kind
def test_texts_have_the_same_form_and_length_in_both(kind: str) -> None:
    """Of every text with a form of its own."""
    used = {}
    for path, schema in _nodes(_schema(kind)["properties"]["spec"]):
        form = next((FORMS[end] for end in FORMS if path.endswith(end)), None)
        if form is not None:
            used[path] = schema["maxLength"], schema["pattern"]
            assert used[path] == (form.longest, f"^{form.pattern.pattern}$"), path
        elif schema.get("type") == "string" and "enum" not in schema:
            assert path.endswith(
                (
                    *(".fallAfter", ".riseAfter", ".breakerGrace", ".readyDelay", ".grace", ".stopAdmittingBefore"),
                    *(".recurrence", ".tags.*"),
                )
            ), path
    assert used


@each_kind
def test_everything_has_a_limit(kind: str) -> None:
    """Without one, the API server could not tell what its checks cost, and refuses the definition."""
    for path, schema in _nodes(_schema(kind)["properties"]["spec"]):
        if schema.get("type") == "array":
            assert "maxItems" in schema, path
        if "additionalProperties" in schema:
            assert "maxProperties" in schema, path
        if schema.get("type") == "string" or schema.get("x-kubernetes-int-or-string"):
            assert "maxLength" in schema or "enum" in schema, path
        if schema.get("type") == "integer":
            assert {"minimum", "maximum"} <= schema.keys(), path


def _rules(schema: dict[str, Any]) -> str:
    return "\n".join(rule["rule"] for rule in schema.get("x-kubernetes-validations", ()))


def test_recurrences_have_the_same_form_in_both() -> None:
    """Frequencies, parts, the values of each part, and which may stand there once."""
    (schema,) = (schema for path, schema in _nodes(_schema("ManualCapacity")) if path.endswith(".recurrence"))
    parts = "|".join(f"{name}={value}" for name, value in recurrences.RECURRENCE_PARTS.items())
    assert schema["maxLength"] == recurrences.LONGEST_RECURRENCE
    assert f"'^FREQ=({'|'.join(recurrences.FREQUENCIES)})(;|$)'" in _rules(schema)
    assert f"'^[^;]*(;({parts}))*$'" in _rules(schema)
    once = re.search(r"\[([^\]]*)\]\s*\.all\(part", _rules(schema))
    assert once is not None
    assert re.findall("'([A-Z]+)'", once[1]) == list(recurrences.RECURRENCE_PARTS)


@each_kind
def test_keys_of_mappings_have_the_same_form_in_both(kind: str) -> None:
    """A schema has no patterns for keys, so a rule has."""
    for path, schema in _nodes(_schema(kind)["properties"]["spec"]):
        if path.endswith(".tags"):  # of which EC2 takes nearly any
            assert f"key.size() >= 1 && key.size() <= {cloud_forms.LONGEST_TAG_KEY}" in _rules(schema)
            assert schema["additionalProperties"]["maxLength"] == cloud_forms.LONGEST_TAG_VALUE
            assert schema["maxProperties"] == cloud_aws.MAX_TAGS
        elif "additionalProperties" in schema:
            form: Form = problems.LABEL_KEY if path.endswith("matchLabels") else problems.RESOURCE_NAME
            assert f"matches(r'^{form.pattern.pattern}$')" in _rules(schema), path
            assert f"size() <= {form.longest} " in _rules(schema), path


@each_kind
def test_a_year_is_as_long_in_both(kind: str) -> None:
    """Of every duration."""
    found = [_rules(schema) for _, schema in _nodes(_schema(kind)) if "duration(self)" in _rules(schema)]
    assert len(found) >= 3
    assert all(f"duration(self) <= duration('{LONGEST // 3600}h')" in rules for rules in found)


def test_limits_of_lists_are_the_same_in_both() -> None:
    """By path."""
    limits = {
        "spec.resources.include": common.MAX_SELECTED_RESOURCES,
        "spec.resources.exclude": common.MAX_SELECTED_RESOURCES,
        "spec.headroom": common.MAX_HEADROOM,
        "spec.nodeSelector.matchExpressions": nodes.MAX_SELECTOR_ENTRIES,
        "spec.nodeSelector.matchExpressions.*.values": nodes.MAX_SELECTOR_ENTRIES,
        "spec.excludedConditions": nodes.MAX_EXCLUDED_CONDITIONS,
        "spec.overrides": manual.MAX_OVERRIDES,
        "spec.sharing": gpus.MAX_SHARED_RESOURCES,
        "spec.managerQueues.clusterQueues": multikueue.MAX_CLUSTER_QUEUES,
        "spec.flavorMapping": multikueue.MAX_MAPPINGS,
        "spec.flavorMapping.*.clusters": multikueue.MAX_CLUSTERS,
        "spec.workerProviders": multikueue.MAX_WORKER_PROVIDERS,
        "spec.members": composite.MAX_MEMBERS,
        **{f"spec.{each}.regions": cloud.MAX_REGIONS for each in ("aws", "gcp")},
        **{f"spec.{each}.flavors.*.entries": cloud.MAX_ENTRIES for each in ("aws", "gcp")},
        "spec.aws.flavors.*.entries.*.capacityReservations.ids": cloud_aws.MAX_IDS,
        "spec.aws.flavors.*.entries.*.capacityBlocks.ids": cloud_aws.MAX_IDS,
        "spec.gcp.flavors.*.entries.*.reservations.names": cloud_gcp.MAX_NAMES,
        "spec.gcp.flavors.*.entries.*.reservations.zones": cloud_gcp.MAX_ZONES,
    }
    found = {
        path: schema["maxItems"]
        for kind in KINDS
        for path, schema in _nodes(_schema(kind)["properties"]["spec"])
        if path in limits
    }
    assert found == limits


def test_numbers_of_shares_are_the_same_in_both() -> None:
    """A device is offered as itself, or as so many at the most."""
    (replicas,) = (each for path, each in _nodes(_schema("NvidiaGpuParameters")) if path.endswith(".replicas"))
    assert (replicas["minimum"], replicas["maximum"]) == (1, gpus.MAX_REPLICAS)


def test_what_is_no_new_name_has_the_same_form_in_both() -> None:
    """The names of devices, which a rule tells apart from those of shared ones."""
    (rename,) = (each for path, each in _nodes(_schema("NvidiaGpuParameters")) if path.endswith(".rename"))
    assert f"matches(r'^{gpu_checks.DEVICES.pattern.pattern}$')" in _rules(rename)
    assert f"endsWith('{SHARED_SUFFIX}')" in _rules(rename)


def test_every_operator_of_a_selector_is_in_the_table() -> None:
    """With values where it takes them, and without where it does not."""
    told = {operator for operator in SelectorOperator if any(f"'{operator}'" in repr(case.value) for case in BAD)}
    assert told == set(SelectorOperator)


# --- cloud quotas --------------------------------------------------------------------------------------------------


def test_numbers_of_instances_are_the_same_in_both() -> None:
    """And of what is attached to each, and how long before its end a block counts no more."""
    nodes = dict(_nodes(_schema("CloudQuotaParameters")["properties"]["spec"]))
    for each in ("aws", "gcp"):
        most = nodes[f"spec.{each}.flavors.*.entries.*.maxInstances"]
        assert (most["minimum"], most["maximum"]) == (1, cloud.MAX_INSTANCES)
    attached = nodes["spec.gcp.flavors.*.entries.*.accelerators"]
    assert (attached["minimum"], attached["maximum"]) == (1, cloud_gcp.MAX_ACCELERATORS)
    stop = nodes["spec.aws.flavors.*.entries.*.capacityBlocks.stopAdmittingBefore"]
    assert f"duration(self) >= duration('{cloud_aws.LEAST_STOP}')" in _rules(stop)


def test_what_a_catalogue_may_say_is_the_same_everywhere() -> None:
    """What the provider makes of a catalogue, the checks and the rules of the definition."""
    made = {CPU, shapes.MEMORY, *shapes.RESOURCE_BY_MAKER.values()}
    assert set(cloud.IN_CATALOGUES) == made
    rules = _schema("CloudQuotaParameters")["properties"]["spec"]["x-kubernetes-validations"]
    lists = [re.findall("'([^']+)'", each["rule"]) for each in rules if "'cpu'" in each["rule"]]
    assert [set(each) for each in lists] == [made] * 4


def test_an_external_id_is_not_shown() -> None:
    """Some treat it as a secret, and a problem goes into a condition, an Event and logs."""
    case = Case("CloudQuotaParameters", "aws.assumeRole.externalId", "top secret!")
    (problem,) = _problems(case.manifest)
    assert "secret" not in str(problem)


@pytest.mark.parametrize(
    ("path", "value"),
    [("aws.flavors.0.entries.0.share", "-1"), ("headroom.0.flavor", "H100"), ("resources.include.1", "a b")],
)
def test_what_is_malformed_is_told_once(path: str, value: str) -> None:
    """The rules about what it means add nothing to it."""
    assert len(_problems(Case("CloudQuotaParameters", path, value).manifest)) == 1


def test_all_problems_of_an_account_are_told_at_once() -> None:
    """One round of corrections is enough."""
    entry = {"instanceType": "p5", "quota": {"code": "x"}, "share": 2, "maxInstances": 0, "region": "mars"}
    twice = {"instanceType": "p5.48xlarge", "quota": {"code": "L-417A185B"}}
    flavors = [
        {"name": "A", "entries": [entry, {"instanceType": "p5.48xlarge"}]},
        {"name": "c", "entries": [twice]},
        {"name": "d", "entries": [twice]},
    ]
    spec = {
        "aws": {"regions": ["mars-1x"], "flavors": flavors},
        "headroom": [{"flavor": "b", "resource": "pods", "percent": 1}],
    }
    found = _problems({"kind": "CloudQuotaParameters", "metadata": {"name": "a"}, "spec": spec})
    assert [each.field.removeprefix("spec.") for each in found] == [
        *("aws.regions[0]", "aws.flavors[0].name", "aws.flavors[0].entries[0].region"),
        *("aws.flavors[0].entries[0].share", "aws.flavors[0].entries[0].maxInstances", "aws.flavors[0].entries[1]"),
        *("aws.flavors[0].entries[0].instanceType", "aws.flavors[0].entries[0].quota.code", "aws.flavors"),
        *("headroom[0].resource", "headroom[0].flavor"),
    ]


# --- MultiKueue ----------------------------------------------------------------------------------------------------


def test_roots_of_a_subtree_and_the_longest_grace_are_the_same_in_both() -> None:
    """The kinds are those that an orchestrator takes."""
    nodes = dict(_nodes(_schema(MULTIKUEUE)["properties"]["spec"]))
    assert nodes["spec.managerQueues.subtree.kind"]["enum"] == list(ROOT_KINDS)
    hours = multikueue.LONGEST_GRACE.seconds // 3600
    assert f"duration(self) <= duration('{hours}h')" in _rules(nodes["spec.unavailableWorkers.grace"])


def test_all_problems_of_a_mapping_are_told_at_once() -> None:
    """An entry that is never reached is told once, whatever clusters it names."""
    mapping = [
        {"workerFlavor": "a", "flavor": "A", "clusters": ["x", "x"]},
        {"workerFlavor": "a", "flavor": "b", "clusters": ["x", "y"]},
        {"workerFlavor": "a", "flavor": "b"},
        {"workerFlavor": "a", "flavor": "b", "clusters": ["x", "y"]},
    ]
    found = _problems(
        {
            "kind": MULTIKUEUE,
            "metadata": {"name": "a"},
            "spec": {**multikueue_specs.ONE_QUEUE, "flavorMapping": mapping},
        }
    )
    assert [each.field.removeprefix("spec.flavorMapping") for each in found] == [
        *("[0].flavor", "[0].clusters", "[1].clusters", "[3]")
    ]
