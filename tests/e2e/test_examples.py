"""The examples: every number that their READMEs state comes out of the command, and stands in its README."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from kueue_dqo.api.quantity import Quantity
from tests.e2e.process import EXAMPLES, ROOT, Finished, dqo

TEAMS = "01-two-teams-one-pool"
POOLS = "02-gpu-pools"
CONFLICT = "03-two-orchestrators-in-conflict"
DUMP = "04-cluster-dump"
CALENDAR = "05-capacity-by-calendar"
CEILING = "06-nodes-below-a-ceiling"
TROUBLE = "07-machines-in-trouble"
DIED = "08-gpus-that-died"
WITNESSES = "09-gpus-by-two-witnesses"
AWS = "10-cloud-quota-aws"
GCP = "11-cloud-quota-gcp"
MULTIKUEUE = "12-multikueue"
OPTIONS = {CALENDAR: ("--at", "2026-10-06T22:00:00+02:00"), TROUBLE: ("--at", "2026-09-20T10:00:00Z")}
"""What stands in the command of the README besides the folder."""
GPU = "nvidia.com/gpu"
GIBI = 2**30 * 10**9  # nanos


class Quota(NamedTuple):
    """A row of a README: a pair of a queue or Cohort, what was there before, what is planned."""

    queue: str
    flavor: str
    resource: str
    before: str
    planned: str


QUOTAS = {
    TEAMS: [
        Quota("team-a", "batch", "cpu", "10", "16"),
        Quota("team-a", "batch", "memory", "64Gi", "95988Mi"),
        Quota("team-b", "batch", "cpu", "20", "32"),
        Quota("team-b", "batch", "memory", "64Gi", "95988Mi"),
    ],
    POOLS: [
        Quota("org", "h100", GPU, "4", "3"),
        Quota("org", "h100", "cpu", "96", "72.751"),
        Quota("org", "h100", "memory", "960Gi", "765.9Gi"),
        Quota("research", "h100", GPU, "4", "3"),
        Quota("research", "h100", "cpu", "96", "72.751"),
        Quota("research", "h100", "memory", "960Gi", "765.9Gi"),
        Quota("research-llm", "h100", GPU, "16", "12"),
        Quota("research-llm", "h100", "cpu", "384", "291.004"),
        Quota("research-llm", "h100", "memory", "3840Gi", "3063.6Gi"),
        Quota("research-vision", "h100", GPU, "4", "3"),
        Quota("research-vision", "h100", "cpu", "96", "72.751"),
        Quota("research-vision", "h100", "memory", "960Gi", "765.9Gi"),
        Quota("product-training", "h100", GPU, "12", "9"),
        Quota("product-training", "h100", "cpu", "288", "218.253"),
        Quota("product-training", "h100", "memory", "2880Gi", "2297.7Gi"),
        Quota("product-training", "h100", "example.com/license", "50", "0"),
        Quota("org", "a100", GPU, "5", "3"),
        Quota("org", "a100", "cpu", "55", "42.572"),
        Quota("org", "a100", "memory", "600Gi", "499.5Gi"),
        Quota("research-vision", "a100", GPU, "8", "6"),
        Quota("research-vision", "a100", "cpu", "88", "68.115"),
        Quota("research-vision", "a100", "memory", "960Gi", "799.2Gi"),
        Quota("product-serving", "a100", GPU, "12", "8"),
        Quota("product-serving", "a100", "cpu", "132", "102.172"),
        Quota("product-serving", "a100", "memory", "1440Gi", "1198.9Gi"),
        Quota("ci", "a100", GPU, "7", "5"),
        Quota("ci", "a100", "cpu", "77", "59.601"),
        Quota("ci", "a100", "memory", "840Gi", "699.3Gi"),
    ],
    CONFLICT: [
        Quota("ml-training", "general", "cpu", "20", "31"),
        Quota("ml-training", "general", "memory", "80Gi", "120Gi"),
        Quota("ml-notebooks", "general", "cpu", "5", "7.75"),
        Quota("ml-notebooks", "general", "memory", "20Gi", "30Gi"),
        Quota("web-batch", "general", "cpu", "15", "23.25"),
        Quota("web-batch", "general", "memory", "60Gi", "90Gi"),
        Quota("lab-audio", "lab", "cpu", "32", "32"),
        Quota("lab-audio", "lab", GPU, "4", "4"),
        Quota("lab-robots", "lab", "cpu", "32", "32"),
        Quota("lab-robots", "lab", GPU, "4", "3"),
        Quota("lab-text", "lab", "cpu", "32", "32"),
        Quota("lab-text", "lab", GPU, "4", "3"),
    ],
    DUMP: [
        Quota("analytics", "etl", "cpu", "52.967", "42.373"),
        Quota("analytics", "etl", "memory", "208037200Ki", "166429760Ki"),
        Quota("etl", "etl", "cpu", "13.241", "10.593"),
        Quota("etl", "etl", "memory", "52009300Ki", "41607440Ki"),
        Quota("reports", "etl", "cpu", "13.242", "10.594"),
        Quota("reports", "etl", "memory", "52009300Ki", "41607440Ki"),
    ],
    CALENDAR: [
        Quota("simulation", "offsite", "cpu", "60", "180"),
        Quota("simulation", "offsite", "memory", "240Gi", "720Gi"),
        Quota("rendering", "offsite", "cpu", "36", "108"),
        Quota("rendering", "offsite", "memory", "144Gi", "432Gi"),
    ],
    CEILING: [
        Quota("crash-tests", "hourly", "cpu", "72", "48"),
        Quota("crash-tests", "hourly", "memory", "270Gi", "225Gi"),
        Quota("aerodynamics", "hourly", "cpu", "24", "16"),
        Quota("aerodynamics", "hourly", "memory", "90Gi", "75Gi"),
    ],
    TROUBLE: [
        Quota("training", "gpu", GPU, "32", "12"),
        Quota("training", "gpu", "cpu", "256", "90"),
        Quota("training", "gpu", "memory", "2000Gi", "800Gi"),
        Quota("notebooks", "gpu", GPU, "16", "6"),
        Quota("notebooks", "gpu", "cpu", "128", "45"),
        Quota("notebooks", "gpu", "memory", "1000Gi", "400Gi"),
    ],
    DIED: [
        Quota("training", "h100", GPU, "16", "15"),
        Quota("training", "h100", "cpu", "380", "380"),
        Quota("training", "h100", "memory", "2012Gi", "2012Gi"),
        Quota("inference", "h100", GPU, "8", "8"),
        Quota("inference", "h100", "cpu", "190", "190"),
        Quota("inference", "h100", "memory", "1006Gi", "1006Gi"),
    ],
    WITNESSES: [
        Quota("lattice", "h100", GPU, "16", "15"),
        Quota("lattice", "h100", "cpu", "380", "380"),
        Quota("lattice", "h100", "memory", "2012Gi", "2012Gi"),
        Quota("plasma", "h100", GPU, "8", "7"),
        Quota("plasma", "h100", "cpu", "190", "190"),
        Quota("plasma", "h100", "memory", "1006Gi", "1006Gi"),
        *(
            Quota(queue, "l40s", resource, before, planned)
            for queue in ("lattice", "plasma")
            for resource, before, planned in ((GPU, "4", "3"), ("cpu", "62", "62"), ("memory", "503Gi", "503Gi"))
        ),
    ],
    AWS: [
        Quota("pretraining", "p5-block", GPU, "48", "24"),
        Quota("pretraining", "p5-block", "cpu", "1140", "570"),
        Quota("pretraining", "p5-block", "memory", "11580Gi", "5790Gi"),
        Quota("evaluation", "p5-block", GPU, "16", "8"),
        Quota("evaluation", "p5-block", "cpu", "380", "190"),
        Quota("evaluation", "p5-block", "memory", "3860Gi", "1930Gi"),
        *(
            Quota(queue, "p5-on-demand", resource, before, planned)
            for queue in ("pretraining", "evaluation")
            for resource, before, planned in ((GPU, "4", "8"), ("cpu", "95", "190"), ("memory", "965Gi", "1930Gi"))
        ),
    ],
    GCP: [
        Quota("labelling", "l4", GPU, "12", "6"),
        Quota("labelling", "l4", "cpu", "144", "72"),
        Quota("labelling", "l4", "memory", "576Gi", "288Gi"),
        Quota("training", "l4", GPU, "4", "2"),
        Quota("training", "l4", "cpu", "48", "24"),
        Quota("training", "l4", "memory", "192Gi", "96Gi"),
        Quota("training", "h100", GPU, "32", "16"),
        Quota("training", "h100", "cpu", "832", "416"),
        Quota("training", "h100", "memory", "7488Gi", "3744Gi"),
    ],
    MULTIKUEUE: [
        Quota("vision", "h100", GPU, "16", "40"),
        Quota("vision", "h100", "cpu", "256", "672"),
        Quota("vision", "h100", "memory", "2048Gi", "5376Gi"),
        Quota("speech", "h100", GPU, "8", "20"),
        Quota("speech", "h100", "cpu", "128", "336"),
        Quota("speech", "h100", "memory", "1024Gi", "2688Gi"),
    ],
}
LIMITS = {
    POOLS: [
        ("research-llm", "h100", GPU, "lendingLimit", "14", "12"),
        ("research-llm", "h100", "cpu", "lendingLimit", "336", "291.004"),
        ("research-llm", "h100", "memory", "lendingLimit", "3360Gi", "3212400984Ki"),
        ("research-vision", "h100", GPU, "lendingLimit", "2", "2"),
        ("research-vision", "h100", GPU, "borrowingLimit", "8", "8"),
        ("research", "h100", GPU, "lendingLimit", "4", "4"),
        ("product-training", "h100", GPU, "borrowingLimit", "4", "4"),
        ("product-serving", "a100", GPU, "borrowingLimit", "0", "0"),
    ],
    DUMP: [("analytics", "etl", "cpu", "lendingLimit", "20", "20")],
}
CAPACITIES = [
    (TEAMS, "teams", "batch", "cpu", "48"),
    (TEAMS, "teams", "batch", "memory", "191976Mi"),
    (POOLS, "org", "h100", GPU, "30.4"),
    (POOLS, "org", "h100", "cpu", "727.51"),
    (POOLS, "org", "h100", "memory", "8031002460Ki"),
    (POOLS, "org", "a100", GPU, "22.8"),
    (POOLS, "org", "a100", "cpu", "272.46"),
    (POOLS, "org", "a100", "memory", "3352255671Ki"),
    (CONFLICT, "platform", "general", "cpu", "62"),
    (CONFLICT, "platform", "general", "memory", "240Gi"),
    (CONFLICT, "ml-half", "general", "cpu", "31"),
    (CONFLICT, "ml-half", "general", "memory", "120Gi"),
    (CONFLICT, "lab", "lab", "cpu", "96"),
    (CONFLICT, "lab", "lab", GPU, "10"),
    (DUMP, "data", "etl", "cpu", "63.56"),
    (DUMP, "data", "etl", "memory", "249644640Ki"),
    (CALENDAR, "labs", "offsite", "cpu", "288"),
    (CALENDAR, "labs", "offsite", "memory", "1152Gi"),
    (CEILING, "engineering", "hourly", "cpu", "64"),
    (CEILING, "engineering", "hourly", "memory", "300Gi"),
    (TROUBLE, "research", "gpu", GPU, "18"),
    (TROUBLE, "research", "gpu", "cpu", "135"),
    (TROUBLE, "research", "gpu", "memory", "1200Gi"),
    (DIED, "vision", "h100", GPU, "23"),
    (DIED, "vision", "h100", "cpu", "570"),
    (DIED, "vision", "h100", "memory", "3018Gi"),
    (WITNESSES, "physics", "h100", GPU, "22"),
    (WITNESSES, "physics", "h100", "cpu", "570"),
    (WITNESSES, "physics", "h100", "memory", "3018Gi"),
    (WITNESSES, "physics", "l40s", GPU, "6"),
    (WITNESSES, "physics", "l40s", "cpu", "124"),
    (WITNESSES, "physics", "l40s", "memory", "1006Gi"),
    (AWS, "foundation", "p5-on-demand", GPU, "16"),
    (AWS, "foundation", "p5-on-demand", "cpu", "380"),
    (AWS, "foundation", "p5-on-demand", "memory", "3860Gi"),
    (AWS, "foundation", "p5-block", GPU, "32"),
    (AWS, "foundation", "p5-block", "cpu", "760"),
    (AWS, "foundation", "p5-block", "memory", "7720Gi"),
    (GCP, "vision", "l4", GPU, "8"),
    (GCP, "vision", "l4", "cpu", "96"),
    (GCP, "vision", "l4", "memory", "384Gi"),
    (GCP, "vision", "h100", GPU, "16"),
    (GCP, "vision", "h100", "cpu", "416"),
    (GCP, "vision", "h100", "memory", "3744Gi"),
    (MULTIKUEUE, "research", "h100", GPU, "60"),
    (MULTIKUEUE, "research", "h100", "cpu", "1008"),
    (MULTIKUEUE, "research", "h100", "memory", "8064Gi"),
]
EMPTY = {
    TEAMS: {"teams"},
    POOLS: {"product"},
    CONFLICT: {"company", "ml", "lab"},
    DUMP: {"data"},
    CALENDAR: {"labs"},
    CEILING: {"engineering"},
    TROUBLE: {"research"},
    DIED: {"vision"},
    WITNESSES: {"physics"},
    AWS: {"foundation"},
    GCP: {"vision"},
    MULTIKUEUE: {"research"},
}
"""Cohorts that declare nothing and get an empty list."""

COMPUTED, DISTRIBUTED = "EffectiveCapacityComputed", "Distributed"
CONDITIONS = {
    (CONFLICT, "platform"): {COMPUTED: ("True", "Computed"), DISTRIBUTED: ("True", "QuotasDistributed")},
    (CONFLICT, "ml-half"): {
        COMPUTED: ("True", "Computed"),
        DISTRIBUTED: ("False", "ConflictingDynamicQuotaOrchestrator"),
    },
    (CONFLICT, "lab"): {COMPUTED: ("True", "Computed"), DISTRIBUTED: ("True", "QuotasDistributed")},
    (CONFLICT, "burst-preview"): {COMPUTED: ("False", "ProviderNotReady")},
    (TEAMS, "teams"): {COMPUTED: ("True", "Computed"), DISTRIBUTED: ("True", "QuotasDistributed")},
    (POOLS, "org"): {COMPUTED: ("True", "Computed"), DISTRIBUTED: ("True", "QuotasDistributed")},
    (DUMP, "data"): {COMPUTED: ("True", "Computed"), DISTRIBUTED: ("True", "QuotasDistributed")},
    (CALENDAR, "labs"): {COMPUTED: ("True", "Computed"), DISTRIBUTED: ("True", "QuotasDistributed")},
    (CEILING, "engineering"): {COMPUTED: ("True", "Computed"), DISTRIBUTED: ("True", "QuotasDistributed")},
    (TROUBLE, "research"): {COMPUTED: ("True", "Computed"), DISTRIBUTED: ("True", "QuotasDistributed")},
    (DIED, "vision"): {COMPUTED: ("True", "Computed"), DISTRIBUTED: ("True", "QuotasDistributed")},
    (WITNESSES, "physics"): {COMPUTED: ("True", "Computed"), DISTRIBUTED: ("True", "QuotasDistributed")},
    (AWS, "foundation"): {COMPUTED: ("True", "Computed"), DISTRIBUTED: ("True", "QuotasDistributed")},
    (GCP, "vision"): {COMPUTED: ("True", "Computed"), DISTRIBUTED: ("True", "QuotasDistributed")},
    (MULTIKUEUE, "research"): {COMPUTED: ("True", "Computed"), DISTRIBUTED: ("True", "QuotasDistributed")},
}
WARNINGS: dict[str, list[tuple[str, ...]]] = {
    TEAMS: [],
    POOLS: [
        ("h100/example.com/license becomes 0 for ClusterQueue/product-training",),
        (
            "ClusterQueue/research-llm uses 14 h100/nvidia.com/gpu",
            "new quota is 12",
            "the 2 above it count as borrowed",
        ),
    ],
    CONFLICT: [],
    DUMP: [("ClusterQueue/analytics uses 48 etl/cpu", "new quota is 42373m", "the 5627m above it count as borrowed")],
    CALENDAR: [],
    CEILING: [],
    TROUBLE: [],
    DIED: [],
    WITNESSES: [],
    AWS: [],
    GCP: [],
    MULTIKUEUE: [],
}


def _plan(example: str, *options: str, columns: int = 120) -> Finished:
    """What comes of the command in the README."""
    return dqo("plan", "-f", EXAMPLES / example, *OPTIONS.get(example, ()), *options, COLUMNS=str(columns))


@cache
def _planned(example: str) -> dict[tuple[str, str], Any]:
    """What the command writes, by kind and name."""
    finished = _plan(example, "-o", "json")
    assert finished.code == 0, finished.err
    return {(item["kind"], item["metadata"]["name"]): item for item in json.loads(finished.out)["items"]}


@cache
def _readme(example: str) -> str:
    """Without the signs for bold text and for code."""
    return (EXAMPLES / example / "README.md").read_text().replace("**", "").replace("`", "")


@cache
def _manifests(example: str) -> list[Any]:
    """Every object of the example, read by nothing of the command's."""
    found: list[Any] = []
    for path in sorted((EXAMPLES / example).iterdir()):
        if path.suffix in (".yaml", ".json"):
            for document in yaml.safe_load_all(path.read_text()):
                found += document["items"] if document["kind"] == "List" else [document]
    return found


def _quota_of(groups: list[Any], flavor: str, resource: str) -> dict[str, Any]:
    [quota] = [
        quota
        for group in groups
        for each in group["flavors"]
        if each["name"] == flavor
        for quota in each["resources"]
        if quota["name"] == resource
    ]
    return dict(quota)


def _groups(example: str, name: str) -> list[Any]:
    """The planned resource groups of a ClusterQueue or Cohort."""
    [item] = [
        item for (kind, each), item in _planned(example).items() if each == name and kind in ("ClusterQueue", "Cohort")
    ]
    return list(item["status"]["effectiveQuotas"]["resourceGroups"])


def _groups_before(example: str, name: str) -> list[Any]:
    """Those in force where there are any, else those declared."""
    [item] = [
        each
        for each in _manifests(example)
        if each["metadata"]["name"] == name and each["kind"] in ("ClusterQueue", "Cohort")
    ]
    effective = item.get("status", {}).get("effectiveQuotas")
    return list((effective or item["spec"]).get("resourceGroups", []))


def _is(quantity: object, text: str) -> bool:
    """Whether a README may write the quantity so: exactly, or with one decimal place of Gi."""
    value = Quantity.of(quantity)
    if text.endswith("Gi") and "." in text:
        return f"{float(Fraction(value.nanos, GIBI)):.1f}Gi" == text
    return value == Quantity.of(text)


def _stands(text: str, line: str) -> bool:
    """Whether the number stands there as a number of its own."""
    return re.search(rf"(?<![\w.]){re.escape(text)}(?![\w]|\.\d)", line) is not None


def _rows(example: str, name: str) -> Iterator[str]:
    """The lines of tables that speak of the queue or Cohort."""
    for line in _readme(example).splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.lstrip().startswith("|") and cells[0].removeprefix("Cohort ") == name:
            yield line


def test_every_example_is_looked_at() -> None:
    """A new one needs its expectations here, and its line in the list."""
    folders = {path.name for path in EXAMPLES.glob("[0-9]*")}
    assert folders == QUOTAS.keys()
    listed = re.findall(r"\]\(([\w-]+)/README\.md\)", (EXAMPLES / "README.md").read_text())
    assert sorted(name for name in listed if name[0].isdigit()) == sorted(folders)


@pytest.mark.parametrize("example", QUOTAS)
def test_the_command_of_the_readme_works(example: str) -> None:
    """As it stands there, from the root of the tree."""
    commands = re.findall(r"^(dqo plan .*)$", _readme(example), flags=re.MULTILINE)
    assert commands == [" ".join(["dqo plan -f", f"examples/{example}", *OPTIONS.get(example, ())])]
    finished = dqo(*commands[0].split()[1:], cwd=ROOT)
    assert (finished.code, finished.err) == (0, "")


@pytest.mark.parametrize(
    ("example", "row"),
    [(example, row) for example, rows in QUOTAS.items() for row in rows],
    ids=lambda value: "-".join(value[:3]) if isinstance(value, Quota) else value,
)
def test_quotas_are_those_of_the_readme(example: str, row: Quota) -> None:
    """Before and after, by table."""
    before = _quota_of(_groups_before(example, row.queue), row.flavor, row.resource)
    planned = _quota_of(_groups(example, row.queue), row.flavor, row.resource)
    assert _is(before["nominalQuota"], row.before)
    assert _is(planned["nominalQuota"], row.planned)
    if row.resource != "example.com/license":
        assert any(_stands(row.before, line) and _stands(row.planned, line) for line in _rows(example, row.queue))


@pytest.mark.parametrize("example", QUOTAS)
def test_no_quota_is_left_out_of_the_readme(example: str) -> None:
    """All pairs of all queues and Cohorts are in the tables; a Cohort that declares nothing has an empty list."""
    written = {
        (name, flavor["name"], quota["name"])
        for (kind, name), item in _planned(example).items()
        if kind in ("ClusterQueue", "Cohort")
        for group in item["status"]["effectiveQuotas"]["resourceGroups"]
        for flavor in group["flavors"]
        for quota in flavor["resources"]
    }
    assert written == {row[:3] for row in QUOTAS[example]}
    assert {name for kind, name in _planned(example) if kind == "Cohort" and not _groups(example, name)} == EMPTY[
        example
    ]


@pytest.mark.parametrize(
    ("example", "limit"), [(example, limit) for example, limits in LIMITS.items() for limit in limits]
)
def test_limits_are_those_of_the_readme(example: str, limit: tuple[str, str, str, str, str, str]) -> None:
    """Capped or copied, as the text says."""
    name, flavor, resource, field, before, planned = limit
    assert _is(_quota_of(_groups_before(example, name), flavor, resource)[field], before)
    assert _is(_quota_of(_groups(example, name), flavor, resource)[field], planned)
    assert _stands(planned, _readme(example))


@pytest.mark.parametrize(("example", "orchestrator", "flavor", "resource", "text"), CAPACITIES)
def test_effective_capacity_is_that_of_the_readme(
    example: str, orchestrator: str, flavor: str, resource: str, text: str
) -> None:
    """What the orchestrator has to share out."""
    status = _planned(example)["DynamicQuotaOrchestrator", orchestrator]["status"]
    [resources] = [each["resources"] for each in status["effectiveCapacity"]["flavors"] if each["name"] == flavor]
    assert _is(resources[resource], text)
    assert _stands(text, _readme(example))


@pytest.mark.parametrize(("example", "orchestrator"), CONDITIONS)
def test_conditions_are_those_of_the_readme(example: str, orchestrator: str) -> None:
    """Those of all orchestrators of all examples."""
    conditions = _planned(example)["DynamicQuotaOrchestrator", orchestrator]["status"]["conditions"]
    wanted = CONDITIONS[example, orchestrator]
    assert {each["type"]: (each["status"], each["reason"]) for each in conditions} == wanted
    if example == CONFLICT:
        [row] = [line for line in _rows(example, orchestrator) if "True" in line or "False" in line]
        assert all(f"{status}, {reason}" in row for status, reason in wanted.values())
    names = {name for kind, name in _planned(example) if kind == "DynamicQuotaOrchestrator"}
    assert names == {name for each, name in CONDITIONS if each == example}


@pytest.mark.parametrize("example", WARNINGS)
def test_warnings_are_those_of_the_readme(example: str) -> None:
    """No more and no fewer."""
    finished = _plan(example, "-o", "json")
    warnings = [line for line in finished.err.splitlines() if line.startswith("Warning: ")]
    assert len(warnings) == len(WARNINGS[example])
    for warning, parts in zip(warnings, WARNINGS[example], strict=True):
        assert all(part in warning for part in parts), warning


@pytest.mark.parametrize(
    ("example", "code"), [*((example, 2) for example in QUOTAS if example != CONFLICT), (CONFLICT, 3)]
)
def test_the_detailed_exit_code_is_that_of_the_readme(example: str, code: int) -> None:
    """Where the README states one."""
    assert _plan(example, "--detailed-exitcode").code == code
    stated = re.search(r"With --detailed-exitcode the command ends with (\d)", _readme(example))
    assert stated is None or int(stated[1]) == code
    assert (stated is not None) == (example in (CONFLICT, DUMP))


# --- what the texts say besides ------------------------------------------------------------------------------------


def _summary(example: str, provider: str) -> str:
    return str(_planned(example)["CapacityProvider", provider]["status"]["conditions"][0]["message"])


def test_two_teams_count_six_machines_of_eight_cpus() -> None:
    """6 × 8 = 48 and 6 × 31996Mi = 191976Mi; 18 CPUs belonged to nobody's quota."""
    assert _summary(TEAMS, "batch-nodes") == "batch: 6 nodes, 48 cpu, 191976Mi memory"
    nodes = [each for each in _manifests(TEAMS) if each["kind"] == "Node"]
    assert [(each["status"]["allocatable"]["cpu"], each["status"]["allocatable"]["memory"]) for each in nodes] == [
        ("8", "32763904Ki")
    ] * 6
    assert Quantity.of("32763904Ki") == Quantity.of("31996Mi")
    assert 48 - sum(int(row.before) for row in QUOTAS[TEAMS] if row.resource == "cpu") == 18
    assert all(text in _readme(TEAMS) for text in ("6 × 8 = 48", "6 × 31996Mi = 191976Mi", "18 CPUs"))


def test_without_one_machine_two_teams_share_forty_cpus(tmp_path: Path) -> None:
    """What the README invites to try; the millicore that is left over goes to the larger remainder."""
    folder = shutil.copytree(EXAMPLES / TEAMS, tmp_path / TEAMS)
    nodes = folder / "nodes.yaml"
    text = nodes.read_text()
    nodes.write_text(text.replace("    podCIDR:", "    unschedulable: true\n    podCIDR:", 1))
    assert nodes.read_text() != text
    planned = json.loads(dqo("plan", "-f", folder, "-o", "json").out)["items"]
    quotas = {
        item["metadata"]["name"]: _quota_of(item["status"]["effectiveQuotas"]["resourceGroups"], "batch", "cpu")
        for item in planned
        if item["kind"] == "ClusterQueue"
    }
    assert {name: Quantity.of(quota["nominalQuota"]) for name, quota in quotas.items()} == {
        "team-a": Quantity.of("13.333"),
        "team-b": Quantity.of("26.667"),
    }
    assert all(_stands(text, _readme(TEAMS)) for text in ("40 CPUs", "13.333", "26.667"))


def test_gpu_pools_leave_out_the_cordoned_and_the_failed_machine() -> None:
    """4 of 5 H100 machines and 3 of 4 A100 machines count, with eight GPUs each."""
    assert _summary(POOLS, "gpu-nodes") == (
        "h100: 4 nodes, 32 nvidia.com/gpu; a100: 3 nodes, 24 nvidia.com/gpu; excluded: NotReady=1, Cordoned=1"
    )
    assert sum(each["kind"] == "Node" for each in _manifests(POOLS)) == 10
    for flavor, declared in (("h100", 40), ("a100", 32)):
        rows = [row for row in QUOTAS[POOLS] if row.flavor == flavor and row.resource == GPU]
        assert sum(int(row.before) for row in rows) == declared
    assert sum(int(row.planned) for row in QUOTAS[POOLS] if row.flavor == "a100" and row.resource == GPU) == 22
    assert sum(int(row.planned) for row in QUOTAS[POOLS] if row.flavor == "h100" and row.resource == GPU) == 30


@pytest.mark.parametrize(
    ("queue", "declared", "share"),
    [("org", 5, "3.4375"), ("research-vision", 8, "5.5"), ("product-serving", 12, "8.25"), ("ci", 7, "4.8125")],
)
def test_exact_shares_of_the_a100_are_those_of_the_readme(queue: str, declared: int, share: str) -> None:
    """22 × declared ÷ 32."""
    assert Fraction(22 * declared, 32) == Fraction(share)
    assert any(_stands(share, line) and _stands(str(declared), line) for line in _rows(POOLS, queue))


def test_the_dump_says_what_was_there_before() -> None:
    """The capacity that was in force, the declared quotas, and the UIDs that settled the ties."""
    objects = {(each["kind"], each["metadata"]["name"]): each for each in _manifests(DUMP)}
    [before] = objects["DynamicQuotaOrchestrator", "data"]["status"]["effectiveCapacity"]["flavors"]
    assert _is(before["resources"]["cpu"], "79.45")
    assert _is(before["resources"]["memory"], "312055800Ki")
    assert all(
        any(_stands(text, line) for line in _rows(DUMP, "effective capacity"))
        for text in ("79.45", "63.56", "312055800Ki", "249644640Ki")
    )
    declared = {
        name: _quota_of(each["spec"]["resourceGroups"], "etl", "cpu")["nominalQuota"]
        for (kind, name), each in objects.items()
        if kind == "ClusterQueue"
    }
    assert {name: Quantity.of(quota) for name, quota in declared.items()} == {
        "analytics": Quantity.of(40),
        "etl": Quantity.of(10),
        "reports": Quantity.of(10),
    }
    for name, begins in (("reports", "1f93ad6e"), ("analytics", "5d0c41a7"), ("etl", "b81e6f02")):
        assert objects["ClusterQueue", name]["metadata"]["uid"].startswith(begins)
        assert f"{begins}…" in _readme(DUMP)
    reservation = objects["ClusterQueue", "analytics"]["status"]["flavorsReservation"][0]["resources"]
    assert {each["name"]: each["total"] for each in reservation} == {"cpu": "48", "memory": "144Gi"}
    assert all(_stands(text, _readme(DUMP)) for text in ("48 CPUs", "5.627", "144Gi", "4 × 15890m = 63.56"))


def test_the_preview_keeps_a_number_that_nobody_uses() -> None:
    """256 CPUs stand in a status that is not ready."""
    [account] = [each for each in _manifests(CONFLICT) if each["metadata"]["name"] == "burst-account"]
    assert account["status"]["capacity"]["flavors"][0]["resources"]["cpu"] == "256"
    assert account["status"]["conditions"][0]["reason"] == "SourceUnavailable"
    assert "effectiveCapacity" not in _planned(CONFLICT)["DynamicQuotaOrchestrator", "burst-preview"]["status"]
    assert "The 256 CPUs" in _readme(CONFLICT)


def test_the_calendar_is_that_of_the_readme() -> None:
    """Each line of its last table, planned for the time that stands there."""
    assert _summary(CALENDAR, "partner").startswith("override nights until 2026-10-07T04:00:00Z; ")
    assert "override nights until 2026-10-07T04:00:00Z" in _readme(CALENDAR)
    rows = re.findall(r"^\| (20\S+) \| .* \| (\d+) \| (\d+) \| (\d+) \|$", _readme(CALENDAR), flags=re.MULTILINE)
    assert len(rows) == 4
    for at, capacity, simulation, rendering in rows:
        finished = dqo("plan", "-f", EXAMPLES / CALENDAR, "-o", "json", "--at", at)
        items = {item["metadata"]["name"]: item["status"] for item in json.loads(finished.out)["items"]}
        assert items["partner"]["capacity"]["flavors"][0]["resources"]["cpu"] == capacity
        for name, planned in (("simulation", simulation), ("rendering", rendering)):
            groups = items[name]["effectiveQuotas"]["resourceGroups"]
            assert _is(_quota_of(groups, "offsite", "cpu")["nominalQuota"], planned)


def test_the_ceiling_is_the_lesser_of_each_resource() -> None:
    """What the members report stands in the README."""
    assert _summary(CEILING, "rented-nodes") == "hourly: 5 nodes, 80 cpu, 300Gi memory; excluded: NotReady=1"
    assert _summary(CEILING, "budget").endswith("hourly: 64 cpu, 320Gi memory")
    assert _summary(CEILING, "rented").endswith("hourly: 64 cpu, 300Gi memory")
    for name, amounts in (("rented-nodes: five machines", ("80", "300Gi")), ("budget", ("64", "320Gi"))):
        assert any(all(_stands(amount, line) for amount in amounts) for line in _rows(CEILING, name))


def _with(example: str, tmp_path: Path, file: str, old: str, new: str) -> Path:
    """The example with one change."""
    folder = shutil.copytree(EXAMPLES / example, tmp_path / example)
    text = (folder / file).read_text()
    assert text.count(old) == 1
    (folder / file).write_text(text.replace(old, new))
    return folder


def test_below_a_higher_ceiling_the_machines_are_the_bound(tmp_path: Path) -> None:
    """What the README invites to try."""
    folder = _with(CEILING, tmp_path, "providers.yaml", 'cpu: "64"', 'cpu: "100"')
    out = dqo("plan", "-f", folder, COLUMNS="200").out
    assert re.search(r"crash-tests .* 72 → 60 ", out)
    assert re.search(r"aerodynamics .* 24 → 20 ", out)
    assert "60 and 20 CPUs" in _readme(CEILING)


def test_a_member_listed_beside_its_composite_is_warned_of(tmp_path: Path) -> None:
    """As the README says."""
    folder = _with(CEILING, tmp_path, "dqo.yaml", "    - name: rented\n", "    - name: rented\n    - name: budget\n")
    finished = dqo("plan", "-f", folder, "-o", "json")
    assert "lists the composite rented and its member budget: the capacity of budget counts twice" in finished.err


def test_machines_in_trouble_count_as_the_readme_says() -> None:
    """20 GPUs, less two; and the machines that do not count, by reason."""
    message = _summary(TROUBLE, "gpu-nodes")
    assert message.startswith("gpu: 2 nodes, 20 nvidia.com/gpu (including 4 nvidia.com/gpu still allocated on cordoned")
    assert "without 1 cpu, 6Gi memory reserved for pods" in message
    reasons = ("Cordoned", "MissingRequiredResource", "ExcludedCondition", "ReadyDelay")
    assert f"excluded: {', '.join(f'{reason}=1' for reason in reasons)}" in message
    assert all(reason in _readme(TROUBLE) for reason in reasons)
    assert "headroom gpu: 2 nvidia.com/gpu, 15 cpu" in message
    assert any(all(_stands(text, row) for text in ("20", "150", "1200Gi")) for row in _rows(TROUBLE, "together"))


def test_without_a_time_the_sixth_machine_counts() -> None:
    """What the README invites to try."""
    finished = dqo("plan", "-f", EXAMPLES / TROUBLE, "-o", "json")
    [provider] = [item for item in json.loads(finished.out)["items"] if item["kind"] == "CapacityProvider"]
    assert provider["status"]["capacity"]["flavors"][0]["resources"][GPU] == "26"
    assert "26 GPUs" in _readme(TROUBLE)


def _amount(folder: Path, provider: str, resource: str, flavor: str) -> str:
    """What a provider would publish."""
    items = json.loads(dqo("plan", "-f", folder, "-o", "json").out)["items"]
    [status] = [
        item["status"] for item in items if item["metadata"]["name"] == provider and "capacity" in item["status"]
    ]
    [amounts] = [each["resources"] for each in status["capacity"]["flavors"] if each["name"] == flavor]
    return str(amounts[resource])


def test_a_gpu_that_died_is_named() -> None:
    """With its machine, the reason, and since when."""
    lost = "gpu-2.example.com GPU-5d4c1e2a-7b1f-4c58-9e06-3a5f8b2c90d1 Lost since 2026-09-20T07:41:07Z"
    assert _summary(DIED, "gpus") == f"h100: 3 nodes, 23 nvidia.com/gpu; unhealthy: {lost}"
    assert f"unhealthy: {lost}" in " ".join(_readme(DIED).split())
    assert _summary(DIED, "machines") == "h100: 3 nodes, 570 cpu, 3018Gi memory"
    [row] = [line for line in _readme(DIED).splitlines() if line.startswith("| gpu-2 ")]
    assert all(_stands(text, row) for text in ("Lost", "7", "190", "1006Gi"))


def test_without_its_machine_the_other_seven_go_too(tmp_path: Path) -> None:
    """What the README invites to try."""
    folder = shutil.copytree(EXAMPLES / DIED, tmp_path / DIED)
    machines = (folder / "nodes.yaml").read_text().split("- apiVersion: v1\n")
    assert "name: gpu-2.example.com" in machines[2]
    machines[2] = machines[2].replace('type: Ready, status: "True"', 'type: Ready, status: "False"')
    (folder / "nodes.yaml").write_text("- apiVersion: v1\n".join(machines))
    assert _amount(folder, "gpus", GPU, "h100") == "16"
    assert _amount(folder, "machines", "cpu", "h100") == "380"
    assert "16 GPUs, and 380 CPUs" in _readme(DIED)


def test_gpus_that_both_providers_report_are_warned_of(tmp_path: Path) -> None:
    """As the README says: nobody has 47."""
    folder = _with(DIED, tmp_path, "providers.yaml", "[cpu, memory]", "[cpu, memory, nvidia.com/gpu]")
    finished = dqo("plan", "-f", folder, "-o", "json")
    assert "orchestrator vision adds up h100/nvidia.com/gpu of machines and of gpus: the same GPUs count twice" in (
        finished.err
    )
    [orchestrator] = [each for each in json.loads(finished.out)["items"] if each["kind"] == "DynamicQuotaOrchestrator"]
    assert _is(orchestrator["status"]["effectiveCapacity"]["flavors"][0]["resources"][GPU], "47")
    assert "47 GPUs" in _readme(DIED)


def test_each_witness_is_the_lesser_one_for_some_flavor() -> None:
    """What the members say stands in the README."""
    found = {
        name: tuple(_amount(EXAMPLES / WITNESSES, name, GPU, flavor) for flavor in ("h100", "l40s"))
        for name in ("gpus-offered", "gpus-healthy", "gpus")
    }
    assert found == {"gpus-offered": ("24", "6"), "gpus-healthy": ("22", "8"), "gpus": ("22", "6")}
    for name, amounts in found.items():
        [row] = [line for line in _readme(WITNESSES).splitlines() if re.match(rf"\| {name}[,:]", line)]
        assert all(_stands(amount, row) for amount in amounts)


def test_a_provider_of_gpus_that_caps_needs_no_second_witness(tmp_path: Path) -> None:
    """What the README invites to try."""
    folder = _with(WITNESSES, tmp_path, "providers.yaml", "  capByAllocatable: false\n", "")
    assert _amount(folder, "gpus-healthy", GPU, "l40s") == "6"
    assert "6 L40S then" in _readme(WITNESSES)


def test_witnesses_that_are_listed_themselves_are_warned_of(tmp_path: Path) -> None:
    """As the README says."""
    folder = _with(
        WITNESSES, tmp_path, "dqo.yaml", "- name: gpus\n", "- name: gpus-offered\n    - name: gpus-healthy\n"
    )
    err = dqo("plan", "-f", folder, "-o", "json").err
    assert "adds up h100/nvidia.com/gpu, l40s/nvidia.com/gpu of gpus-offered and of gpus-healthy" in err
    assert "list a composite of both with `combine: Min` in their place" in err


def test_half_of_the_quota_is_two_machines_and_the_block_four() -> None:
    """Only whole machines, and what a node has for jobs: 190 CPUs and 1930Gi of each."""
    objects = {each["kind"]: each for each in _manifests(AWS)}
    [[quota], [block]] = [each["entries"] for each in objects["CloudQuotaParameters"]["spec"]["aws"]["flavors"]]
    published = {
        each["name"]: each["resources"] for each in objects["CapacityProvider"]["status"]["capacity"]["flavors"]
    }
    assert "800 vCPUs × 0.5 = 400" in _readme(AWS)
    machines = int(800 * Fraction(quota["share"]) / 192)
    for entry, flavor, count in ((quota, "p5-on-demand", machines), (block, "p5-block", 4)):
        of_one = {GPU: 8, **entry["perInstance"]}
        assert published[flavor].keys() == of_one.keys()
        for resource, amount in of_one.items():
            assert Quantity.of(published[flavor][resource]).nanos == Quantity.of(amount).nanos * count


def _with_status(example: str, tmp_path: Path, *changes: tuple[str, str]) -> dict[tuple[str, str], str]:
    """The GPUs of each queue and flavor after these changes of the amounts in the recorded status."""
    folder = shutil.copytree(EXAMPLES / example, tmp_path / example)
    text = (folder / "provider.yaml").read_text()
    for old, new in changes:
        assert text.count(f"{old}\n") == 1
        text = text.replace(f"{old}\n", f"{new}\n")
    (folder / "provider.yaml").write_text(text)
    return {
        (item["metadata"]["name"], flavor["name"]): quota["nominalQuota"]
        for item in json.loads(dqo("plan", "-f", folder, "-o", "json").out)["items"]
        if item["kind"] == "ClusterQueue"
        for group in item["status"]["effectiveQuotas"]["resourceGroups"]
        for flavor in group["flavors"]
        for quota in flavor["resources"]
        if quota["name"] == GPU
    }


def test_at_the_end_of_the_block_its_quotas_are_gone(tmp_path: Path) -> None:
    """What the README invites to try; what is on demand stays."""
    gpus = _with_status(AWS, tmp_path, ('"760"', '"0"'), ("7720Gi", '"0"'), ('"32"', '"0"'))
    assert {flavor: gpus["pretraining", flavor] for flavor in ("p5-block", "p5-on-demand")} == {
        "p5-block": "0",
        "p5-on-demand": "8",
    }
    assert _stands("become 0", " ".join(_readme(AWS).split()))


def test_a_higher_quota_over_all_regions_gives_all_of_the_l4(tmp_path: Path) -> None:
    """What the README invites to try."""
    gpus = _with_status(GCP, tmp_path, ('"96"', '"192"'), ("384Gi", "768Gi"), ('"8"', '"16"'))
    assert (gpus["labelling", "l4"], gpus["training", "l4"]) == ("12", "4")
    assert "the two queues get 12 and 4" in _readme(GCP)


def test_the_workers_of_the_readme_make_up_what_was_published() -> None:
    """Queue by queue; and the largest of them is the one that the message names."""
    row = re.compile(r"^\| (oslo|paris) \| \w+ \| \S+ \| (\d+) \| (\d+) \| (\S+) \|$", re.MULTILINE)
    rows = row.findall(_readme(MULTIKUEUE))
    assert len(rows) == 4
    of_worker: dict[str, dict[str, int]] = {}
    for worker, *amounts in rows:
        for resource, amount in zip((GPU, "cpu", "memory"), amounts, strict=True):
            has = of_worker.setdefault(worker, dict.fromkeys((GPU, "cpu", "memory"), 0))
            has[resource] += Quantity.of(amount).nanos
    [provider] = [each for each in _manifests(MULTIKUEUE) if each["kind"] == "CapacityProvider"]
    [published] = [each["resources"] for each in provider["status"]["capacity"]["flavors"]]
    for resource, quantity in published.items():
        assert sum(has[resource] for has in of_worker.values()) == Quantity.of(quantity).nanos
        worker = max(of_worker, key=lambda name: of_worker[name][resource])
        [amount] = re.findall(rf"(\S+) {resource} \({worker}\)", provider["status"]["conditions"][0]["message"])
        assert Quantity.of(amount).nanos == of_worker[worker][resource]


def test_a_worker_that_is_lost_takes_its_part_along(tmp_path: Path) -> None:
    """What the README invites to try, with the multiplier and without."""
    gpus = _with_status(MULTIKUEUE, tmp_path, ('"672"', '"384"'), ("5376Gi", "3072Gi"), ('"40"', '"16"'))
    assert (gpus["vision", "h100"], gpus["speech", "h100"]) == ("16", "8")
    assert "The quotas become 16 and 8 GPUs" in " ".join(_readme(MULTIKUEUE).split())
    folder = _with(MULTIKUEUE, tmp_path / "exact", "dqo.yaml", '      effectiveCapacityMultiplier: "1.5"\n', "")
    items = json.loads(dqo("plan", "-f", folder, "-o", "json").out)["items"]
    groups = {
        item["metadata"]["name"]: item["status"]["effectiveQuotas"]["resourceGroups"]
        for item in items
        if item["kind"] == "ClusterQueue"
    }
    exact = [_quota_of(groups[name], "h100", GPU)["nominalQuota"] for name in ("vision", "speech")]
    assert exact == ["27", "13"]
    assert "27 and 13 GPUs" in _readme(MULTIKUEUE)


@pytest.mark.parametrize("example", QUOTAS)
def test_the_table_shows_what_json_says(example: str) -> None:
    """The planned amounts of the README stand in the table, too."""
    finished = _plan(example, columns=200)
    for row in QUOTAS[example]:
        if row.resource != "memory":
            assert re.search(rf"→ {re.escape(row.planned)}\b", finished.out), row
