"""What the API server would refuse: each limit at its edge, each problem with its field and value."""

from __future__ import annotations

import datetime
from typing import Any, Final, NamedTuple

import pytest

from kueue_dqo.api.core import Node, NodeMeta
from kueue_dqo.api.kueue import ClusterQueue, Cohort
from kueue_dqo.api.meta import ObjectMeta, parse_time
from kueue_dqo.api.problems import FieldProblem
from kueue_dqo.api.scheme import ObjectInvalid, decode, known_kind
from kueue_dqo.api.validation import problems_of

QUEUE: Final = "ClusterQueue"
COHORT: Final = "Cohort"
PROVIDER: Final = "CapacityProvider"
ORCHESTRATOR: Final = "DynamicQuotaOrchestrator"
API_VERSIONS: Final = {
    QUEUE: "kueue.x-k8s.io/v1beta2",
    COHORT: "kueue.x-k8s.io/v1beta2",
    PROVIDER: "kueue.x-k8s.io/v1alpha1",
    ORCHESTRATOR: "kueue.x-k8s.io/v1alpha1",
}
Path = tuple[str | int, ...]


def problems(kind: str, *changes: tuple[Path, Any]) -> list[FieldProblem]:
    """The problems of a good object of the kind after the changes."""
    content: dict[str, Any] = {"metadata": {"name": "sample"}, "spec": {}}
    if kind == PROVIDER:
        content["spec"] = {"controllerName": "example.com/a", "orchestratedFlavors": [{"name": "spot"}]}
    elif kind == ORCHESTRATOR:
        content["spec"] = {"capacityDiscovery": {"providers": [{"name": "nodes"}]}}
    for path, value in changes:
        inner: Any = content
        for step in path[:-1]:
            inner = inner[step] if isinstance(step, int) else inner.setdefault(step, {})
        inner[path[-1]] = value
    known = known_kind(API_VERSIONS[kind], kind)
    assert known is not None
    try:
        decode(known, known.versions[0], content)
    except ObjectInvalid as error:
        return list(error.problems)
    return []


def named(count: int) -> list[dict[str, Any]]:
    """Entries of a list by name."""
    return [{"name": f"n{number}"} for number in range(count)]


def resources(count: int) -> dict[str, str]:
    """Amounts by resource."""
    return {f"example.com/r{number}": "1" for number in range(count)}


def capacity(flavors: int, count: int) -> dict[str, Any]:
    """A capacity of so many flavors with so many resources each."""
    return {"flavors": [{"name": f"n{number}", "resources": resources(count)} for number in range(flavors)]}


def conditions(count: int) -> list[dict[str, Any]]:
    """Conditions of different types."""
    return [{"type": f"T{number}", "status": "True"} for number in range(count)]


def quota(**amounts: Any) -> list[dict[str, Any]]:
    """Resource groups with one quota."""
    return [{"flavors": [{"name": "spot", "resources": [{"name": "cpu", "nominalQuota": 1} | amounts]}]}]


def effective(groups: list[dict[str, Any]]) -> dict[str, Any]:
    """Effective quotas."""
    return {"orchestratorRef": {"apiGroup": "a", "kind": "b", "name": "c"}, "resourceGroups": groups}


def parameters(**changes: str) -> dict[str, str]:
    """A reference to parameters."""
    return {"apiGroup": "example.com", "kind": "Parameters", "name": "fast"} | changes


LONG: Final = ".".join(["a" * 63] * 4)[:253]
ROOT: Final[Path] = ("spec", "capacityDistribution", "subtreeRootQuotaRef")


@pytest.mark.parametrize("kind", API_VERSIONS)
def test_a_good_object_has_no_problem(kind: str) -> None:
    """Which is what the other tests begin with."""
    assert problems(kind) == []


# --- limits --------------------------------------------------------------------------------------------------------


class Limit(NamedTuple):
    """A field, the last value that is allowed there, the first that is not, and what a problem shows of it."""

    kind: str
    path: Path
    allowed: Any
    refused: Any
    shown: str
    field: str = ""


GROUPS: Final[Path] = ("spec", "resourceGroups")
EFFECTIVE: Final[Path] = ("status", "effectiveQuotas")
LIMITS: Final = {
    "flavors of a provider": Limit(PROVIDER, ("spec", "orchestratedFlavors"), named(64), named(65), "65 entries"),
    "no flavor of a provider": Limit(PROVIDER, ("spec", "orchestratedFlavors"), named(1), [], "is empty"),
    "controller name": Limit(PROVIDER, ("spec", "controllerName"), "a" * 253, "a" * 254, "254 characters"),
    "no controller name": Limit(PROVIDER, ("spec", "controllerName"), "a", "", "0 characters"),
    "parameters' group": Limit(
        PROVIDER,
        ("spec", "parameters"),
        parameters(apiGroup=LONG),
        parameters(apiGroup=LONG + "a"),
        LONG,
        "spec.parameters.apiGroup",
    ),
    "parameters' kind": Limit(
        PROVIDER,
        ("spec", "parameters"),
        parameters(kind="K" * 63),
        parameters(kind="K" * 64),
        "64 characters",
        "spec.parameters.kind",
    ),
    "no kind of parameters": Limit(
        PROVIDER,
        ("spec", "parameters"),
        parameters(kind="K"),
        parameters(kind=""),
        "0 characters",
        "spec.parameters.kind",
    ),
    "parameters' name": Limit(
        PROVIDER,
        ("spec", "parameters"),
        parameters(name="n" * 63),
        parameters(name="n" * 64),
        "n" * 64,
        "spec.parameters.name",
    ),
    "flavors of a reported capacity": Limit(
        PROVIDER, ("status", "capacity"), capacity(64, 1), capacity(65, 1), "65 entries", "status.capacity.flavors"
    ),
    "resources of a reported flavor": Limit(
        PROVIDER,
        ("status", "capacity"),
        capacity(1, 64),
        capacity(1, 65),
        "'n0' has 65 resources",
        "status.capacity.flavors[0].resources",
    ),
    "no resource of a reported flavor": Limit(
        PROVIDER,
        ("status", "capacity"),
        capacity(1, 1),
        capacity(1, 0),
        "'n0' has 0 resources",
        "status.capacity.flavors[0].resources",
    ),
    "conditions of a provider": Limit(PROVIDER, ("status", "conditions"), conditions(16), conditions(17), "17 entries"),
    "providers": Limit(ORCHESTRATOR, ("spec", "capacityDiscovery", "providers"), named(8), named(9), "9 entries"),
    "no provider": Limit(ORCHESTRATOR, ("spec", "capacityDiscovery", "providers"), named(1), [], "is empty"),
    "flavors of an effective capacity": Limit(
        ORCHESTRATOR,
        ("status", "effectiveCapacity"),
        capacity(128, 0),
        capacity(129, 0),
        "129 entries",
        "status.effectiveCapacity.flavors",
    ),
    "resources of an effective flavor": Limit(
        ORCHESTRATOR,
        ("status", "effectiveCapacity"),
        capacity(1, 64),
        capacity(1, 65),
        "'n0' has 65 resources",
        "status.effectiveCapacity.flavors[0].resources",
    ),
    "conditions of an orchestrator": Limit(
        ORCHESTRATOR, ("status", "conditions"), conditions(16), conditions(17), "17 entries"
    ),
    "groups of a queue": Limit(QUEUE, GROUPS, [{}] * 16, [{}] * 17, "17 groups"),
    "groups of a cohort": Limit(COHORT, GROUPS, [{}] * 16, [{}] * 17, "17 groups"),
    "effective groups of a queue": Limit(
        QUEUE,
        EFFECTIVE,
        effective([{}] * 16),
        effective([{}] * 17),
        "17 groups",
        "status.effectiveQuotas.resourceGroups",
    ),
    "effective groups of a cohort": Limit(
        COHORT,
        EFFECTIVE,
        effective([{}] * 16),
        effective([{}] * 17),
        "17 groups",
        "status.effectiveQuotas.resourceGroups",
    ),
    "flavors of a group": Limit(
        QUEUE,
        GROUPS,
        [{"flavors": named(64)}],
        [{"flavors": named(65)}],
        "65 entries",
        "spec.resourceGroups[0].flavors",
    ),
    "resources of a group": Limit(
        COHORT,
        GROUPS,
        [{}, {"coveredResources": list(resources(64))}],
        [{}, {"coveredResources": list(resources(65))}],
        "65 entries",
        "spec.resourceGroups[1].coveredResources",
    ),
    "object name": Limit(QUEUE, ("metadata", "name"), LONG, LONG + "a", LONG),
}


@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS)
def test_a_limit_holds_and_one_more_is_refused(limit: Limit) -> None:
    """The problem names the field and says how many, or which value, stands there."""
    assert len(LONG) == 253
    assert problems(limit.kind, (limit.path, limit.allowed)) == []
    (problem,) = problems(limit.kind, (limit.path, limit.refused))
    assert problem.field == (limit.field or ".".join(map(str, limit.path)))
    assert limit.shown in problem.problem


# --- values --------------------------------------------------------------------------------------------------------

TWICE: Final = [{"name": "twice"}, {"name": "once"}, {"name": "twice"}, {"name": "twice"}]
REFUSED: Final = {
    "flavor twice": Limit(PROVIDER, ("spec", "orchestratedFlavors"), TWICE[:2], TWICE, "'twice' is listed more than"),
    "reported flavor twice": Limit(
        PROVIDER,
        ("status", "capacity", "flavors"),
        [each | {"resources": {"cpu": 1}} for each in TWICE[:2]],
        [each | {"resources": {"cpu": 1}} for each in TWICE],
        "'twice' is listed more than once",
    ),
    "provider twice": Limit(
        ORCHESTRATOR, ("spec", "capacityDiscovery", "providers"), TWICE[:2], TWICE, "'twice' is listed more than once"
    ),
    "effective flavor twice": Limit(
        ORCHESTRATOR,
        ("status", "effectiveCapacity", "flavors"),
        TWICE[:2],
        TWICE,
        "'twice' is listed more than once",
    ),
    "condition of a provider twice": Limit(
        PROVIDER,
        ("status", "conditions"),
        [{"type": "A", "status": "True"}],
        [{"type": "A", "status": "True"}, {"type": "A", "status": "False"}],
        "'A' is listed more than once",
    ),
    "condition of an orchestrator twice": Limit(
        ORCHESTRATOR,
        ("status", "conditions"),
        [{"type": "A", "status": "True"}],
        [{"type": "A", "status": "True"}, {"type": "A", "status": "False"}],
        "'A' is listed more than once",
    ),
    "resource twice": Limit(
        QUEUE,
        GROUPS,
        [{"coveredResources": ["cpu", "memory"]}],
        [{"coveredResources": ["cpu", "memory", "cpu"]}],
        "'cpu' is listed more than once",
        "spec.resourceGroups[0].coveredResources",
    ),
    "flavor of a group twice": Limit(
        COHORT,
        GROUPS,
        [{"flavors": TWICE[:2]}],
        [{"flavors": TWICE}],
        "'twice' is listed more than once",
        "spec.resourceGroups[0].flavors",
    ),
    "pair in two groups": Limit(
        QUEUE,
        GROUPS,
        [*quota(), {"flavors": [{"name": "gpu", "resources": [{"name": "cpu", "nominalQuota": 1}]}]}],
        [*quota(), *quota()],
        "spot/cpu has more than one quota",
    ),
    "pair twice in effective quotas": Limit(
        COHORT,
        EFFECTIVE,
        effective(quota()),
        effective(quota() + quota()),
        "spot/cpu has more than one quota",
        "status.effectiveQuotas.resourceGroups",
    ),
    "negative multiplier": Limit(
        ORCHESTRATOR,
        ("spec", "capacityDiscovery", "providers"),
        [{"name": "a", "effectiveCapacityMultiplier": 0}, {"name": "b", "effectiveCapacityMultiplier": "1n"}],
        [{"name": "a", "effectiveCapacityMultiplier": 0}, {"name": "b", "effectiveCapacityMultiplier": "-1n"}],
        "-1n is negative",
        "spec.capacityDiscovery.providers[1].effectiveCapacityMultiplier",
    ),
    **{
        f"negative {name} of a {kind}": Limit(
            kind,
            GROUPS,
            quota(**{name: 0}),
            quota(**{name: "-1500m"}),
            "-1500m is negative",
            f"spec.resourceGroups[0].flavors[0].resources[0].{name}",
        )
        for kind in (QUEUE, COHORT)
        for name in ("nominalQuota", "borrowingLimit", "lendingLimit")
    },
    "negative effective quota": Limit(
        QUEUE,
        EFFECTIVE,
        effective(quota(nominalQuota=0)),
        effective(quota(nominalQuota=-1)),
        "-1 is negative",
        "status.effectiveQuotas.resourceGroups[0].flavors[0].resources[0].nominalQuota",
    ),
    "root kind": Limit(
        ORCHESTRATOR,
        ROOT,
        {"kind": "Cohort", "name": "a"},
        {"kind": "LocalQueue", "name": "a"},
        "'LocalQueue' is neither ClusterQueue nor Cohort",
        "spec.capacityDistribution.subtreeRootQuotaRef.kind",
    ),
    "root kind in lower case": Limit(
        ORCHESTRATOR,
        ROOT,
        {"kind": "ClusterQueue", "name": "a"},
        {"kind": "clusterqueue", "name": "a"},
        "'clusterqueue'",
        "spec.capacityDistribution.subtreeRootQuotaRef.kind",
    ),
    "empty name of the root": Limit(
        ORCHESTRATOR,
        ROOT,
        {"kind": "Cohort", "name": "a"},
        {"kind": "Cohort", "name": ""},
        "is empty",
        "spec.capacityDistribution.subtreeRootQuotaRef.name",
    ),
    "empty name of a flavor": Limit(
        PROVIDER,
        ("spec", "orchestratedFlavors"),
        named(2),
        [{"name": "a"}, {"name": ""}],
        "is empty",
        "spec.orchestratedFlavors[1].name",
    ),
    "empty name of a reported flavor": Limit(
        PROVIDER,
        ("status", "capacity", "flavors"),
        [{"name": "a", "resources": {"cpu": 1}}],
        [{"name": "", "resources": {"cpu": 1}}],
        "is empty",
        "status.capacity.flavors[0].name",
    ),
    "empty name of a provider": Limit(
        ORCHESTRATOR,
        ("spec", "capacityDiscovery", "providers"),
        named(1),
        [{"name": ""}],
        "is empty",
        "spec.capacityDiscovery.providers[0].name",
    ),
    "empty name of an effective flavor": Limit(
        ORCHESTRATOR,
        ("status", "effectiveCapacity", "flavors"),
        named(1),
        [{"name": ""}],
        "is empty",
        "status.effectiveCapacity.flavors[0].name",
    ),
    "empty type of a condition": Limit(
        PROVIDER,
        ("status", "conditions"),
        [{"type": "A", "status": "Unknown"}],
        [{"type": "", "status": "Unknown"}],
        "is empty",
        "status.conditions[0].type",
    ),
    "status of a provider's condition": Limit(
        PROVIDER,
        ("status", "conditions"),
        [{"type": "A", "status": "False"}],
        [{"type": "A", "status": "true"}],
        "'true' is none of True, False, Unknown",
        "status.conditions[0].status",
    ),
    "status of an orchestrator's condition": Limit(
        ORCHESTRATOR,
        ("status", "conditions"),
        [{"type": "B", "status": "True"}, {"type": "A", "status": "False"}],
        [{"type": "B", "status": "True"}, {"type": "A", "status": ""}],
        "'' is none of True, False, Unknown",
        "status.conditions[1].status",
    ),
    "time of creation": Limit(
        QUEUE,
        ("metadata", "creationTimestamp"),
        "2026-01-31T12:00:00Z",
        "yesterday",
        "'yesterday' is no time: write it as 2026-01-31T12:00:00Z",
    ),
    "time of deletion": Limit(
        ORCHESTRATOR,
        ("metadata", "deletionTimestamp"),
        "2026-01-31T12:00:00+01:00",
        "2026-01-31",
        "'2026-01-31' is no time",
    ),
    "no time": Limit(COHORT, ("metadata", "creationTimestamp"), "2026-01-31T12:00:00Z", "", "'' is no time"),
    **{
        f"group of parameters {text!r}": Limit(
            PROVIDER,
            ("spec", "parameters"),
            parameters(apiGroup="a.b-c.d1"),
            parameters(apiGroup=text),
            f"{text!r} is no API group",
            "spec.parameters.apiGroup",
        )
        for text in ("", "example.com/v1", "Example.com", "example..com", ".com", "example.com.", "a_b", "a b")
    },
    **{
        f"name of parameters {text!r}": Limit(
            PROVIDER,
            ("spec", "parameters"),
            parameters(name="a-1"),
            parameters(name=text),
            f"{text!r} is no DNS label",
            "spec.parameters.name",
        )
        for text in ("", "a.b", "A", "-a", "a-", "a_b", "a b", "a\n")
    },
    **{
        f"object name {text!r}": Limit(QUEUE, ("metadata", "name"), "a.b-c.1", text, f"{text!r} is no object name")
        for text in (
            "",
            "A",
            "-a",
            "a-",
            ".a",
            "a.",
            "a..b",
            "a.-b",
            "a_b",
            "a b",
            "a/b",
            "a\n",
            "\N{LATIN SMALL LETTER E WITH ACUTE}",
        )
    },
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_a_bad_value_is_named_with_its_field(case: Limit) -> None:
    """Once, however often it stands there; its good neighbours are not."""
    assert problems(case.kind, (case.path, case.allowed)) == []
    (problem,) = problems(case.kind, (case.path, case.refused))
    assert problem.field == (case.field or ".".join(map(str, case.path)))
    assert case.shown in problem.problem


def test_negative_capacity_is_decoded() -> None:
    """It is reported as invalid capacity, on the object, where its provider sees it."""
    flavors = [{"name": "a", "resources": {"cpu": "-1"}}]
    assert problems(PROVIDER, (("status", "capacity", "flavors"), flavors)) == []


def test_quotas_of_covered_resources_alone_may_repeat_between_flavors() -> None:
    """A pair is a flavor and a resource: either may stand in many."""
    pairs = [{"name": name, "nominalQuota": 1} for name in ("cpu", "memory")]
    groups = [{"flavors": [{"name": "a", "resources": pairs}, {"name": "b", "resources": pairs}]}]
    assert problems(QUEUE, (GROUPS, groups)) == []


def test_all_problems_are_named_at_once_in_the_order_of_the_fields() -> None:
    """So that one round of corrections is enough."""
    found = problems(
        ORCHESTRATOR,
        (("metadata", "name"), "A"),
        (("metadata", "creationTimestamp"), "x"),
        (("metadata", "deletionTimestamp"), "y"),
        (
            ("spec", "capacityDiscovery", "providers"),
            [{"name": "", "effectiveCapacityMultiplier": -1}, {"name": "a"}, {"name": "a"}],
        ),
        (ROOT, {"kind": "", "name": ""}),
        (("status", "effectiveCapacity"), capacity(129, 65)),
        (("status", "conditions"), [{"type": "", "status": ""}]),
    )
    fields = [problem.field for problem in found]
    assert fields[:11] == [
        "metadata.name",
        "metadata.creationTimestamp",
        "metadata.deletionTimestamp",
        "spec.capacityDiscovery.providers",
        "spec.capacityDiscovery.providers[0].name",
        "spec.capacityDiscovery.providers[0].effectiveCapacityMultiplier",
        "spec.capacityDistribution.subtreeRootQuotaRef.kind",
        "spec.capacityDistribution.subtreeRootQuotaRef.name",
        "status.effectiveCapacity.flavors",
        "status.effectiveCapacity.flavors[0].resources",
        "status.effectiveCapacity.flavors[1].resources",
    ]
    assert fields[-2:] == ["status.conditions[0].type", "status.conditions[0].status"]
    assert len(fields) == 9 + 129 + 2


def test_a_long_controller_name_is_shown_in_part() -> None:
    """A message stays readable."""
    (problem,) = problems(PROVIDER, (("spec", "controllerName"), "a" * 5000))
    assert len(problem.problem) < 200


@pytest.mark.parametrize("name", ["a", "0", "a-b", "a.b", "1.2.3", "node-1.eu-west-1.compute.internal"])
def test_a_node_has_a_name_like_any_object(name: str) -> None:
    """Its other metadata is not read."""
    assert list(problems_of(Node(NodeMeta(name)))) == []
    (problem,) = problems_of(Node(NodeMeta(name.upper() + "_")))
    assert problem.field == "metadata.name"


def test_objects_made_in_code_are_checked_alike() -> None:
    """Not only what was decoded."""
    assert list(problems_of(ClusterQueue(ObjectMeta("a")))) == []
    assert [problem.field for problem in problems_of(Cohort(ObjectMeta("")))] == ["metadata.name"]


def test_a_problem_reads_as_field_and_what_is_wrong_with_it() -> None:
    """As messages show it."""
    assert str(FieldProblem("spec.a", "is empty")) == "spec.a: is empty"


def test_an_invalid_object_shows_every_problem() -> None:
    """In one line."""
    error = ObjectInvalid((FieldProblem("a", "is empty"), FieldProblem("b", "is negative")))
    assert str(error) == "a: is empty; b: is negative"
    assert isinstance(error, ValueError)


# --- times ---------------------------------------------------------------------------------------------------------

NOON: Final = datetime.datetime(2026, 1, 31, 12, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-01-31T12:00:00Z", NOON),
        ("2026-01-31T12:00:00+00:00", NOON),
        ("2026-01-31T12:00:00-00:00", NOON),
        ("2026-01-31T13:30:00+01:30", NOON),
        ("2026-01-30T21:00:00-15:00", NOON),
        ("2026-01-31T12:00:00.5Z", NOON + datetime.timedelta(milliseconds=500)),
        ("2026-01-31T12:00:00.123456Z", NOON + datetime.timedelta(microseconds=123456)),
        ("2026-01-31T12:00:00.123456789Z", NOON + datetime.timedelta(microseconds=123456)),
        ("2024-02-29T00:00:00Z", datetime.datetime(2024, 2, 29, tzinfo=datetime.UTC)),
    ],
)
def test_a_time_is_read_with_its_offset(text: str, time: datetime.datetime) -> None:
    """Times in different zones compare as the moments they are."""
    assert parse_time(text) == time


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "now",
            "2026-01-31",
            "12:00:00Z",
            "2026-01-31T12:00:00",
            "2026-01-31T12:00:00Z ",
            " 2026-01-31T12:00:00Z",
        ),
        *("2026-01-31T12:00:00Z\n", "2026-02-30T12:00:00Z", "2026-13-01T12:00:00Z", "2025-02-29T00:00:00Z"),
        *(
            "2026-01-31T25:00:00Z",
            "2026-01-31T24:00:00Z",
            "2026-01-31T12:60:00Z",
            "2026-01-31T12:00:61Z",
            "2026-01-31T12:00:00+25:00",
        ),
        *("2026-1-31T12:00:00Z", "26-01-31T12:00:00Z", "2026-01-31T12:00:00 UTC", "1769860800"),
        "\N{FULLWIDTH DIGIT TWO}026-01-31T12:00:00Z",
    ],
    ids=ascii,
)
def test_what_is_no_time_is_refused(text: str) -> None:
    """A time without an offset included: it could be anywhere."""
    with pytest.raises(ValueError, match=r"."):
        parse_time(text)


@pytest.mark.parametrize(
    "text",
    [
        "20260131T120000Z",
        "2026-W05-6T12:00:00Z",
        "2026-01-31 12:00:00Z",
        "2026-01-31x12:00:00Z",
        "2026-01-31T12Z",
        "2026-01-31T12:00Z",
        "2026-01-31T12:00:00+0100",
        "2026-01-31T12:00:00+01",
        "2026-01-31T12:00:00+01:00:30",
    ],
)
def test_a_time_in_another_form_than_rfc_3339_is_refused(text: str) -> None:
    """The API server takes none of them, although ISO 8601 or Python would."""
    with pytest.raises(ValueError, match=r"."):
        parse_time(text)
    assert [problem.field for problem in problems(QUEUE, (("metadata", "creationTimestamp"), text))] == [
        "metadata.creationTimestamp"
    ]
