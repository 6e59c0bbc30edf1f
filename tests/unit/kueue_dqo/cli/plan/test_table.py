"""The table: what a person sees of a plan."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable

import pytest

from kueue_dqo.cli.errors import CommandError
from kueue_dqo.cli.plan.table import show
from kueue_dqo.cli.plan.warnings import warnings
from orchestrator.enforcement.roads import Road
from tests.unit.kueue_dqo.cli.plan.builders import (
    DELETED,
    GPU,
    MANUAL,
    Plain,
    cohort,
    condition,
    effective,
    flavor,
    manual_capacity,
    node,
    orchestrator,
    plan_of,
    provider,
    queue,
    reporting,
    usage,
)

Table = Callable[..., str]
ENVIRONMENT = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "TTY_INTERACTIVE")


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def table(capsys: pytest.CaptureFixture[str]) -> Table:
    """Prints the plan of some objects, and returns what was printed."""

    def printed(*objects: Plain, road: Road = Road.STATUS, notes: list[str] | None = None) -> str:
        plan = plan_of(*objects, road=road)
        show(plan, warnings(plan), plan.notes if notes is None else notes)
        return capsys.readouterr().out

    return printed


def rows(text: str) -> list[list[str]]:
    """The lines, each as its cells."""
    return [re.split(r"\s{2,}", line.strip()) for line in text.splitlines() if line.strip()]


def row(text: str, *first_cells: str) -> list[str]:
    """The cells of the only row that begins so."""
    (found,) = [cells for cells in rows(text) if tuple(cells[: len(first_cells)]) == first_cells]
    return found


TEAMS = [cohort("teams"), queue("a", cohort="teams"), queue("b", {"batch": {"cpu": 20}}, cohort="teams")]


# --- capacity -------------------------------------------------------------------------------------------------------


def test_without_a_provider_there_is_no_table_of_capacity(table: Table) -> None:
    """A heading over nothing would say that something was lost."""
    assert table(orchestrator(), queue()).startswith("Orchestrator dqo → ClusterQueue/q\n")
    assert table(reporting()).startswith("Capacity by provider\n")


def test_every_provider_is_shown_with_its_state_and_its_message(table: Table) -> None:
    """In whatever state it is, whether or not an orchestrator reads it."""
    failed = condition("CapacitySynchronized", "False", "SourceUnavailable", "the service is silent")
    text = table(
        reporting("fine", {"batch": {"cpu": 48}}),
        provider("failed", status={"conditions": [failed]}),
        provider("fresh", controller="example.com/x"),
        reporting("old", {"batch": {"cpu": 7}}, generation=2),
    )
    assert row(text, "fine") == ["fine", "Synchronized", "batch", "cpu", "48"]
    assert row(text, "failed") == ["failed", "SourceUnavailable", "-", "-", "-"]
    assert row(text, "fresh") == ["fresh", "no status", "-", "-", "-"]
    assert row(text, "old") == ["old", "Synchronized", "batch", "cpu", "7"]
    assert row(text, "CapacityProvider failed: the service is silent")


def test_capacity_that_was_computed_here_is_told_from_one_that_was_reported(table: Table) -> None:
    """Only one of them is in the files."""
    text = table(node(has={"cpu": 8}), flavor(), flavor("gpu"), provider(), reporting("hand", {"gpu": {"cpu": 1}}))
    assert row(text, "CapacityProvider nodes (computed here from the nodes): batch: 1 node, 8 cpu")
    assert "CapacityProvider hand (computed" not in text
    by_person = provider("person", ["gpu"], controller=MANUAL, parameters="m")
    text = table(flavor("gpu"), by_person, manual_capacity("m", {"gpu": {"cpu": 1}}))
    assert row(text, "CapacityProvider person (computed here): baseline; gpu: 1 cpu")


def test_what_no_queue_asks_for_stands_aside(table: Table) -> None:
    """A row for each resource that some queue has a quota for, all others on a line of their own."""
    amounts = {"batch": {"cpu": 48, "memory": "9Gi", "pods": 110, "hugepages-2Mi": 0}}
    text = table(reporting(amounts=amounts), orchestrator(), queue("q", {"batch": {"cpu": 1, "memory": "1Gi"}}))
    assert row(text, "nodes") == ["nodes", "Synchronized", "batch", "cpu", "48"]
    assert "CapacityProvider nodes: flavor batch also has what no queue declares: hugepages-2Mi 0, pods 110" in text
    assert ["memory", "9Gi"] in rows(text.partition("Orchestrator")[0])
    assert not [cells for cells in rows(text) if cells[0] in {"pods", "hugepages-2Mi"}]


def test_where_no_queue_asks_for_anything_everything_has_a_row(table: Table) -> None:
    """Else the table would be empty."""
    text = table(reporting(amounts={"batch": {"cpu": 48, "pods": 110}}), queue("q", {"other": {"cpu": 1}}))
    assert row(text, "nodes") == ["nodes", "Synchronized", "batch", "cpu", "48"]
    assert row(text, "pods") == ["pods", "110"]


def test_a_flavor_of_which_nothing_is_reported_is_shown_as_zero(table: Table) -> None:
    """In the effective capacity, where it is listed without resources."""
    text = table(node(), flavor(), flavor("gpu", {"pool": "b"}), provider(flavors=["batch", "gpu"]),
                 orchestrator(root=None))  # fmt: skip
    assert row(text, "gpu") == ["gpu", "(nothing reported)", "0"]


# --- orchestrators --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("providers", "line"),
    [
        pytest.param(["nodes"], "capacity of nodes", id="one"),
        pytest.param(["nodes", "hand"], "capacity of nodes + hand", id="two"),
        pytest.param([("nodes", "0.95")], "capacity of nodes × 0.95", id="headroom"),
        pytest.param([("nodes", "1")], "capacity of nodes", id="times one"),
        pytest.param([("nodes", "1000m"), ("hand", 0)], "capacity of nodes + hand × 0", id="times zero"),
        pytest.param([("nodes", 2), ("hand", "0.5")], "capacity of nodes × 2 + hand × 0.5", id="overbooked"),
    ],
)
def test_the_sum_is_shown_as_it_is_made(table: Table, providers: list[str | tuple[str, object]], line: str) -> None:
    """Providers in the order of the spec, with their multipliers but for 1."""
    text = table(reporting(), reporting("hand"), orchestrator(root=None, providers=providers))
    assert row(text, line) == [line]


def test_each_orchestrator_says_where_its_capacity_goes(table: Table) -> None:
    """To the root of a subtree, nowhere, or nowhere any more; by name."""
    text = table(
        reporting(),
        orchestrator("c", root="Cohort/teams"),
        orchestrator("b", root=None),
        orchestrator("a", root="ClusterQueue/q", deletionTimestamp=DELETED),
        *TEAMS,
    )
    assert [line for line in text.splitlines() if line.startswith("Orchestrator")] == [
        "Orchestrator a → ClusterQueue/q",
        "Orchestrator b (discovery only: no quota changes)",
        "Orchestrator c → Cohort/teams",
    ]


def test_an_orchestrator_that_is_being_deleted_says_so_and_nothing_else(table: Table) -> None:
    """Neither capacity nor conditions: nobody writes them any more."""
    text = table(reporting(), orchestrator(deletionTimestamp=DELETED), queue(), notes=[])
    _, _, after = text.partition("Orchestrator dqo → ClusterQueue/q\n")
    assert after == (
        "  is being deleted: it writes nothing and does not compete\n\n"
        "1 orchestrator, 0 distributing; 0 objects with new quotas; 0 warnings. Nothing was written.\n"
    )


def test_conditions_are_shown_with_reason_and_message(table: Table) -> None:
    """Those of the orchestrator's own; conditions of others are not the plan's business."""
    theirs = {"conditions": [condition("Theirs", "True", "Fine")]}
    text = table(reporting(), orchestrator(root="Cohort/gone", status=theirs))
    assert "  EffectiveCapacityComputed True Computed: Capacity of 1 flavor from nodes\n" in text
    assert "  Distributed False Misconfigured: The root Cohort/gone does not exist" in text
    assert "Theirs" not in text


def test_without_an_effective_capacity_no_table_of_it_is_shown(table: Table) -> None:
    """It is cleared."""
    assert "EFFECTIVE CAPACITY" not in table(orchestrator(), queue())
    assert "EFFECTIVE CAPACITY" in table(reporting(), orchestrator(root=None))


# --- quotas ---------------------------------------------------------------------------------------------------------


def test_quotas_are_shown_as_declared_and_as_effective(table: Table) -> None:
    """With their share of the capacity; a Cohort that declares nothing has a row all the same."""
    text = table(reporting(), orchestrator(root="Cohort/teams"), *TEAMS)
    assert row(text, "teams (Cohort)") == ["teams (Cohort)", "-", "-", "-"]
    assert row(text, "a") == ["a", "batch", "cpu", "10 → 16", "33.3 %"]
    assert row(text, "b") == ["b", "batch", "cpu", "20 → 32", "66.7 %"]


def test_the_subtree_is_shown_from_its_root_down(table: Table) -> None:
    """Cohorts before queues, each level by name, two spaces deeper."""
    tree = [
        cohort("root"),
        queue("z", cohort="root"),
        queue("y", cohort="root"),
        cohort("low", parent="root"),
        cohort("high", parent="root"),
        queue("x", cohort="high"),
        cohort("deep", parent="high"),
        queue("w", cohort="deep"),
        queue("outside"),
    ]
    text = table(reporting(), orchestrator(root="Cohort/root"), *tree)
    quotas = text.partition("QUEUE")[2].splitlines()[1:]
    assert [re.split(r"\s{2,}", line[2:].rstrip())[:2] if line[2] == " " else line[2:].split("  ")[0]
            for line in quotas[:8]] == [
        "root (Cohort)", ["", "high (Cohort)"], ["", "deep (Cohort)"], ["", "w"], ["", "x"], ["", "low (Cohort)"],
        ["", "y"], ["", "z"],
    ]  # fmt: skip
    assert [len(line) - len(line.lstrip()) for line in quotas[:8]] == [2, 4, 6, 8, 6, 4, 4, 4]
    assert "outside" not in text


def test_a_queue_of_the_name_of_its_cohort_is_no_cohort(table: Table) -> None:
    """What belongs to the Cohort does not hang below the queue."""
    twins = [cohort("teams"), queue("teams", cohort="teams"), queue("z", cohort="teams")]
    quotas = table(reporting(), orchestrator(root="Cohort/teams"), *twins).partition("QUEUE")[2].splitlines()[1:4]
    assert [line.split("  ")[1:3] for line in quotas] == [["teams (Cohort)", "-"], ["", "teams"], ["", "z"]]


def test_a_pair_that_is_not_in_force_is_compared_with_the_declared_one(table: Table) -> None:
    """As where the effective quotas were cleared, or the pair is new."""
    text = table(reporting(), orchestrator(), queue(status=effective({})))
    assert row(text, "q") == ["q", "batch", "cpu", "10 → 48", "100.0 %"]


def test_a_lone_queue_is_a_tree_of_one(table: Table) -> None:
    """Its siblings are not in it."""
    text = table(reporting(), orchestrator(root="ClusterQueue/a"), *TEAMS)
    assert row(text, "a") == ["a", "batch", "cpu", "10 → 48", "100.0 %"]
    assert "teams (Cohort)" not in text


def test_a_cycle_of_cohorts_is_shown_once(table: Table) -> None:
    """Two Cohorts that are each above the other, and a Cohort above itself."""
    circle = [cohort("one", parent="two"), cohort("two", parent="one"), queue("q", cohort="two")]
    text = table(reporting(), orchestrator(root="Cohort/one"), *circle)
    assert [cells[0] for cells in rows(text.partition("QUEUE")[2])[1:4]] == ["one (Cohort)", "two (Cohort)", "q"]
    assert text.count("two (Cohort)") == 1
    text = table(reporting(), orchestrator(root="Cohort/self"), cohort("self", parent="self"), queue(cohort="self"))
    assert text.count("self (Cohort)") == 1
    assert row(text, "q") == ["q", "batch", "cpu", "10 → 48", "100.0 %"]


@pytest.mark.parametrize(
    ("amounts", "quotas", "share"),
    [
        pytest.param({"batch": {"cpu": 48}}, {"batch": {"cpu": 10}}, "100.0 %", id="all of it"),
        pytest.param({"batch": {"cpu": 48}}, {"batch": {"cpu": 0}}, "0.0 %", id="nothing of it"),
        pytest.param({"batch": {"cpu": 0}}, {"batch": {"cpu": 10}}, "-", id="there is nothing"),
        pytest.param({"batch": {"memory": 1}}, {"batch": {"cpu": 10}}, "unreported", id="nobody reports it"),
        pytest.param({"batch": {"cpu": 48}}, {"static": {"cpu": 10}}, "as declared", id="not orchestrated"),
    ],
)
def test_a_share_says_what_the_quota_is_of(
    table: Table, amounts: dict[str, dict[str, object]], quotas: dict[str, dict[str, object]], share: str
) -> None:
    """A part of the capacity, or why it is none."""
    assert row(table(reporting(amounts=amounts), orchestrator(), queue("q", quotas)), "q")[4] == share


@pytest.mark.parametrize(
    ("declared", "present", "mark"),
    [
        pytest.param(10, None, [], id="grows"),
        pytest.param(48, None, [], id="stays"),
        pytest.param(50, None, ["▼ falls"], id="falls below the declared one"),
        pytest.param(10, 50, ["▼ falls (now 50)"], id="falls below the one in force"),
        pytest.param(10, 40, ["(now 40)"], id="grows from the one in force"),
        pytest.param(10, 48, [], id="is in force"),
        pytest.param(50, 48, [], id="is in force, below the declared one"),
        pytest.param(50, 40, ["(now 40)"], id="grows, and stays below the declared one"),
    ],
)
def test_a_mark_compares_with_the_quota_in_force(
    table: Table, declared: object, present: object | None, mark: list[str]
) -> None:
    """Which is shown where it is not the declared one."""
    status = None if present is None else effective({"batch": {"cpu": present}})
    text = table(reporting(), orchestrator(), queue("q", {"batch": {"cpu": declared}}, status=status))
    assert row(text, "q") == ["q", "batch", "cpu", f"{declared} → 48", "100.0 %", *mark]


def test_a_quota_that_becomes_zero_stands_out(table: Table) -> None:
    """Whether it is reported as zero or not at all; one that was zero before does not."""
    quotas = {"batch": {"cpu": 10, GPU: 4, "memory": 0}}
    text = table(reporting(amounts={"batch": {"cpu": 0, "memory": 0}}), orchestrator(), queue("q", quotas))
    assert row(text, "q") == ["q", "batch", "cpu", "10 → 0", "-", "▼ becomes 0"]
    assert row(text, GPU) == [GPU, "4 → 0", "unreported", "▼ becomes 0"]
    assert row(text, "memory", "0 → 0") == ["memory", "0 → 0", "-"]


def test_a_lending_limit_that_is_lowered_is_shown(table: Table) -> None:
    """It is capped at the new quota; one below it is copied and needs no word."""
    limited = {"batch": {"cpu": {"nominalQuota": 50, "lendingLimit": 50}}}
    text = table(reporting(), orchestrator(), queue("q", limited))
    assert row(text, "q") == ["q", "batch", "cpu", "50 → 48", "100.0 %", "▼ falls, lends at most 48"]
    limited = {"batch": {"cpu": {"nominalQuota": 10, "lendingLimit": 5, "borrowingLimit": 5}}}
    assert row(table(reporting(), orchestrator(), queue("q", limited)), "q")[-1] == "100.0 %"


def test_a_flavor_is_named_once_for_its_resources(table: Table) -> None:
    """And again when another one stood between."""
    quotas = {"batch": {"cpu": 1, "memory": 1}, "gpu": {"cpu": 1}}
    text = table(reporting(amounts=quotas), orchestrator(), queue("q", quotas))
    shown = [cells for cells in rows(text.partition("QUEUE")[2]) if "→" in " ".join(cells)][1:]
    assert [cells[:-2] for cells in shown] == [["q", "batch", "cpu"], ["memory"], ["gpu", "cpu"]]


# --- the end --------------------------------------------------------------------------------------------------------


def test_warnings_and_notes_are_listed_where_there_are_any(table: Table) -> None:
    """Each as a bullet, long ones over several lines."""
    text = table(reporting(), orchestrator(), queue(status=usage({"batch": {"cpu": 50}})), notes=["one", "two " * 99])
    lines = text.splitlines()
    assert lines[lines.index("Warnings") + 1].startswith("  • ClusterQueue/q uses 50 batch/cpu")
    assert lines[lines.index("Notes") + 1] == "  • one"
    assert lines[lines.index("Notes") + 2].startswith("  • two two")
    assert lines[lines.index("Notes") + 3].startswith("    two two")
    calm = table(reporting(), orchestrator(), queue())
    assert "Warnings" not in calm
    assert "Notes" not in calm


@pytest.mark.parametrize(
    ("objects", "line"),
    [
        pytest.param([], "No DynamicQuotaOrchestrator in the files: no quota would change.", id="nobody"),
        pytest.param([reporting(), queue()], "No DynamicQuotaOrchestrator in the files: no quota would change.",
                     id="a provider and a queue"),
        pytest.param([reporting(), orchestrator(), queue()],
                     "1 orchestrator, 1 distributing; 1 object with new quotas; 0 warnings. Nothing was written.",
                     id="one"),
        pytest.param([reporting(), orchestrator(root="Cohort/teams"), *TEAMS],
                     "1 orchestrator, 1 distributing; 3 objects with new quotas; 0 warnings. Nothing was written.",
                     id="three objects"),
        pytest.param([reporting(), orchestrator(), queue(status=effective({"batch": {"cpu": 48}})),
                      orchestrator("other", root="Cohort/gone")],
                     "2 orchestrators, 1 distributing; 0 objects with new quotas; 0 warnings. Nothing was written.",
                     id="settled, and one that fails"),
        pytest.param([reporting(), orchestrator(), queue(status=usage({"batch": {"cpu": 50}}))],
                     "1 orchestrator, 1 distributing; 1 object with new quotas; 1 warning. Nothing was written.",
                     id="with a warning"),
    ],
)  # fmt: skip
def test_the_last_line_counts(table: Table, objects: list[Plain], line: str) -> None:
    """What it comes to, and that nothing has happened."""
    assert table(*objects).splitlines()[-1] == line


# --- odd input ------------------------------------------------------------------------------------------------------

HOSTILE = "\x1b[31mred\x1b]0;title\x07\rgone\b\x9b2J"
"""A colour, the title of the window, back to the start of the line, backspace, the whole screen."""
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


def refused(**fields: str) -> Plain:
    given = condition("CapacitySynchronized", "False", "Bad", "message") | fields
    return provider(status={"conditions": [given]})


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([refused(reason=HOSTILE)], id="the reason of a provider's condition"),
        pytest.param([refused(message=HOSTILE)], id="the message of a provider's condition"),
        pytest.param([refused(message=HOSTILE), orchestrator(root=None)], id="a message that is passed on"),
        pytest.param([reporting(amounts={HOSTILE: {"cpu": 1}})], id="a flavor with a capacity"),
        pytest.param([reporting(amounts={"batch": {HOSTILE: 1}})], id="a resource with a capacity"),
        pytest.param(
            [reporting(amounts={"batch": {"cpu": 1, HOSTILE: 1}}), queue()], id="a resource that stands aside"
        ),
        pytest.param([node(has={HOSTILE: 1}), flavor(), provider()], id="a resource of a node"),
        pytest.param([orchestrator(root=None, providers=[HOSTILE])], id="a provider that is missing"),
        pytest.param([reporting(), orchestrator(root=f"Cohort/{HOSTILE}")], id="a root that is missing"),
        pytest.param([reporting(), orchestrator(), queue("q", {HOSTILE: {"cpu": 1}})], id="a flavor with a quota"),
        pytest.param([reporting(), orchestrator(), queue("q", {"batch": {HOSTILE: 1}})], id="a resource with a quota"),
    ],
)
def test_no_text_of_a_manifest_steers_the_terminal(table: Table, objects: list[Plain]) -> None:
    """Whatever field it comes from; what it says stays readable."""
    text = table(*objects)
    assert sorted(set(CONTROL.findall(text))) == []
    assert "[31mred" in text


def test_notes_do_not_steer_the_terminal_either(table: Table) -> None:
    """A file may be named by anybody."""
    assert not CONTROL.search(table(reporting(), notes=[f"{HOSTILE}.yaml, document 1: is odd"]))


def test_square_brackets_are_no_markup(table: Table) -> None:
    """Nor are emoji names."""
    failed = condition("CapacitySynchronized", "False", "Bad", "[bold]not[/bold] [red]a[/] :warning: [link=x]y[/link]")
    text = table(provider(status={"conditions": [failed]}))
    assert "CapacityProvider nodes: [bold]not[/bold] [red]a[/] :warning: [link=x]y[/link]" in text


@pytest.mark.parametrize("quota", ["9" * 200, "9" * 200 + "Ei", "1e500", "0." + "0" * 100 + "1", 2**63 - 1])
def test_absurd_quotas_do_not_tear_the_table(table: Table, quota: object) -> None:
    """Every line keeps its width, and the new quota, which is an ordinary number, can be read."""
    text = table(reporting(amounts={"batch": {"memory": 48}}), orchestrator(), queue("q", {"batch": {"memory": quota}}))
    assert max(map(len, text.splitlines())) <= 120
    assert "→ 48" in text
    assert "100.0 %" in text


def test_sixty_four_flavors_are_all_shown(table: Table) -> None:
    """As many as a provider may have, each with the longest name that a label allows."""
    names = [f"{number:02}-{'x' * 20}" for number in range(64)]
    text = table(reporting(amounts={name: {"cpu": 48, GPU: 8} for name in names}), orchestrator(),
                 queue("q", {name: {"cpu": 10, GPU: 1} for name in names}))  # fmt: skip
    assert {name: text.count(f" {name} ") for name in names} == dict.fromkeys(names, 3)
    assert text.count("10 → 48") == 64
    assert text.count("1 → 8") == 64


def test_long_names_cut_no_amount(table: Table) -> None:
    """Names may have 253 characters; the numbers are what the table is for."""
    long = "x" * 250
    text = table(reporting(long, {long: {"cpu": 48, f"example.com/{long}": 7}}), orchestrator(providers=[long]),
                 queue("q", {long: {"cpu": 10, f"example.com/{long}": 1}}))  # fmt: skip
    assert "10 → 48" in text
    assert "1 → 7" in text


# --- the width, and what it is printed with -------------------------------------------------------------------------


@pytest.mark.parametrize("columns", ["", "abc", "-80", "1e3", "120", " 80 "])
def test_without_a_terminal_lines_are_120_wide(table: Table, monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    """Unless COLUMNS is a number."""
    usual = table(reporting(), orchestrator(), queue(), notes=["word " * 99])
    monkeypatch.setenv("COLUMNS", columns)
    assert table(reporting(), orchestrator(), queue(), notes=["word " * 99]) == usual
    assert 110 < max(map(len, usual.splitlines())) <= 120


@pytest.mark.parametrize(("columns", "width"), [("80", 80), ("200", 200), ("60", 60), ("40", 60), ("0", 60)])
def test_columns_sets_the_width_but_for_the_narrowest(
    table: Table, monkeypatch: pytest.MonkeyPatch, columns: str, width: int
) -> None:
    """Below 60 there is no table to speak of."""
    monkeypatch.setenv("COLUMNS", columns)
    text = table(reporting(), orchestrator(), queue(), notes=["x " * 199, "xx" + " x" * 199])
    assert max(map(len, text.splitlines())) == width


def test_lines_have_no_blanks_at_their_end(table: Table) -> None:
    """They would only show in a diff."""
    text = table(reporting(), orchestrator(root="Cohort/teams"), *TEAMS, notes=["word " * 99])
    assert [line for line in text.splitlines() if line != line.rstrip()] == []
    assert text.endswith(".\n")


def test_without_rich_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON needs nothing that is not installed."""
    monkeypatch.setitem(sys.modules, "rich.console", None)
    monkeypatch.delitem(sys.modules, "kueue_dqo.cli.plan.table")
    with pytest.raises(CommandError, match=r"^the table needs rich: install kueue-dqo\[cli\], or use -o json$"):
        importlib.import_module("kueue_dqo.cli.plan.table")
