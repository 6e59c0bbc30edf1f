"""A plan as tables for a person. Colour only where the output is a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import Final

from kueue_dqo.api import dqo
from kueue_dqo.api.kueue import CLUSTER_QUEUE, COHORT
from kueue_dqo.api.meta import ObjectKey, find_condition
from kueue_dqo.api.quantity import NANOS, Quantity
from kueue_dqo.api.quotas import ResourceQuota, quotas_by_pair
from kueue_dqo.api.resources import FlavorResource
from kueue_dqo.api.wording import counted
from kueue_dqo.cli.errors import CommandError
from kueue_dqo.cli.plan.computation import Plan
from kueue_dqo.cli.plan.text import amount_text, rounded
from kueue_dqo.cli.terminal import one_line
from orchestrator.compute import Outcome
from orchestrator.members import Member

try:
    from rich.console import Console, Group
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text
except ImportError as error:
    _MSG = "the table needs rich: install kueue-dqo[cli], or use -o json"
    raise CommandError(_MSG) from error

_PIPED_WIDTH: Final = 120
_NARROWEST: Final = 60


def show(plan: Plan, warnings: list[str], notes: list[str]) -> None:
    """Prints the plan to standard output."""
    console = _console()
    with console.capture() as printed:
        for part in _parts(plan, warnings, notes):
            console.print(part)
    # The tables pad their lines to one width, which only a diff of two files would show.
    sys.stdout.write("\n".join(line.rstrip() for line in printed.get().split("\n")))


def _console() -> Console:
    """As wide as the terminal, elsewhere as COLUMNS says; never so narrow that a number would be cut."""
    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    width = console.width
    if not sys.stdout.isatty():
        columns = os.environ.get("COLUMNS", "")
        width = int(columns) if columns.isdecimal() else _PIPED_WIDTH
    console.width = max(width, _NARROWEST)
    return console


def _parts(plan: Plan, warnings: list[str], notes: list[str]) -> Iterator[Group | Text]:
    if plan.providers:
        yield _capacity(plan)
    for name in sorted(plan.orchestrators):
        yield _orchestrator(name, plan)
    if warnings:
        yield _bullets("Warnings", warnings, "yellow")
    if notes:
        yield _bullets("Notes", notes, "dim")
    yield _summary(plan, len(warnings))


# --- capacity ------------------------------------------------------------------------------------------------------


def _capacity(plan: Plan) -> Group:
    table = _table("PROVIDER", "STATE", "FLAVOR", "RESOURCE", right="CAPACITY", last="")
    lines: list[Text | Padding] = []
    wanted = _wanted(plan.hierarchy.members.values())
    for name, provider in sorted(plan.providers.items()):
        condition = find_condition(provider.status.conditions, dqo.CAPACITY_SYNCHRONIZED)
        state = _text("no status", "red")
        if condition is not None:
            state = _text(condition.reason, "green" if condition.status == "True" else "red")
        capacity = provider.status.capacity
        label = name
        for flavor, resource, amount, rest in _capacity_rows(capacity, wanted) or [("-", "-", "-", "")]:
            table.add_row(_text(label), state, _text(flavor), _text(resource), _text(amount), _text(rest, "dim"))
            label, state = "", Text()
        if condition is not None and condition.message:
            origin = "computed here from the nodes: " if name in plan.computed_providers else ""
            lines.append(_line(f"{name}: {origin}{condition.message}", "dim"))
    return Group(_heading("Capacity by provider"), _indented(table), *lines, Text())


def _wanted(members: Iterable[Member]) -> set[FlavorResource]:
    """The pairs that some queue has a quota for: what a person looks for among all that a node offers."""
    return {pair for member in members for pair, _ in quotas_by_pair(member.declared)}


def _capacity_rows(capacity: dqo.Capacity | None, wanted: set[FlavorResource]) -> list[tuple[str, str, str, str]]:
    """(flavor, resource, amount, others): a row for each wanted resource; the others stand beside the first."""
    rows: list[tuple[str, str, str, str]] = []
    for flavor in capacity.flavors if capacity is not None else ():
        amounts = {name: amount_text(quantity) for name, quantity in sorted(flavor.resources.items())}
        shown = {name: amount for name, amount in amounts.items() if FlavorResource(flavor.name, name) in wanted}
        if not shown:
            shown = amounts or {"(nothing reported)": "0"}
        others = ", ".join(f"{name} {amount}" for name, amount in amounts.items() if name not in shown)
        label, rest = flavor.name, f"also {others}" if others else ""
        for name, amount in shown.items():
            rows.append((label, name, amount, rest))
            label, rest = "", ""
    return rows


# --- orchestrators -------------------------------------------------------------------------------------------------


def _orchestrator(name: str, plan: Plan) -> Group:
    orchestrator = plan.orchestrators[name]
    target = f"→ {orchestrator.root}" if orchestrator.root is not None else "(discovery only: no quota changes)"
    heading = _heading(f"Orchestrator {name} {target}")
    outcome = plan.outcomes.get(name)
    if outcome is None:
        return Group(heading, _line("is being deleted: it writes nothing and does not compete", "dim"), Text())
    parts: list[Text | Padding] = [_made_of(orchestrator), *_conditions(outcome)]
    if outcome.status.effective_capacity is not None:
        wanted = _wanted(plan.hierarchy.members.values())
        table = _table("FLAVOR", "RESOURCE", right="EFFECTIVE CAPACITY", last="")
        for *cells, rest in _capacity_rows(outcome.status.effective_capacity, wanted):
            table.add_row(*map(_text, cells), _text(rest, "dim"))
        parts += [Text(), _indented(table)]
    if outcome.quotas:
        parts += [Text(), _indented(_quotas(outcome, plan))]
    return Group(heading, *parts, Text())


def _made_of(orchestrator: dqo.DynamicQuotaOrchestrator) -> Padding:
    one = Quantity.of(1)
    terms = [
        entry.name
        if entry.effective_capacity_multiplier == one
        else f"{entry.name} × {amount_text(entry.effective_capacity_multiplier)}"
        for entry in orchestrator.spec.capacity_discovery.providers
    ]
    return _line(f"capacity of {' + '.join(terms)}", "dim")


def _conditions(outcome: Outcome) -> Iterator[Padding]:
    for condition in outcome.status.conditions:
        if condition.type in (dqo.EFFECTIVE_CAPACITY_COMPUTED, dqo.DISTRIBUTED):
            style = "green" if condition.status == "True" else "red"
            line = _text(f"{condition.type} ")
            line.append_text(_text(f"{condition.status} {condition.reason}", style))
            line.append_text(_text(f": {condition.message}"))
            yield _indented(line)


def _quotas(outcome: Outcome, plan: Plan) -> Table:
    table = _table("QUEUE", "FLAVOR", "RESOURCE", right="DECLARED → EFFECTIVE")
    table.add_column("SHARE", justify="right", no_wrap=True)
    table.add_column("")
    for key, depth in _in_tree_order(outcome, plan):
        label = "  " * depth + (key.name if key.kind == CLUSTER_QUEUE else f"{key.name} (Cohort)")
        member = plan.hierarchy.members[key]
        declared = dict(quotas_by_pair(member.declared))
        in_force = dict(quotas_by_pair(member.in_force))
        rows = list(quotas_by_pair(outcome.quotas[key].resource_groups))
        if not rows:
            table.add_row(_text(label, "dim"), _text("-", "dim"), _text("-", "dim"), _text("-", "dim"))
        flavor = ""
        for pair, quota in rows:
            before, after = amount_text(declared[pair].nominal_quota), amount_text(quota.nominal_quota)
            mark, style = _mark(quota, in_force.get(pair), declared[pair])
            table.add_row(
                _text(label),
                _text("" if pair.flavor == flavor else pair.flavor),
                _text(pair.resource),
                _text(f"{before} → {after}", style),
                _text(_share(pair, quota, outcome)),
                _text(mark, style),
            )
            label, flavor = "", pair.flavor
    return table


def _in_tree_order(outcome: Outcome, plan: Plan) -> Iterator[tuple[ObjectKey, int]]:
    """The subtree from its root down, Cohorts before queues, each level by name; a cycle shows everything once."""
    children: dict[str, list[ObjectKey]] = {}
    for key in outcome.quotas:
        children.setdefault(plan.hierarchy.members[key].parent, []).append(key)
    for siblings in children.values():
        siblings.sort(key=lambda key: (key.kind != COHORT, key.name), reverse=True)
    root = next(each.root for each in plan.orchestrators.values() if plan.outcomes.get(each.metadata.name) is outcome)
    waiting, seen = ([(root, 0)] if root is not None else []), set()
    while waiting:
        key, depth = waiting.pop()
        if key in seen:
            continue
        seen.add(key)
        yield key, depth
        if key.kind == COHORT:
            waiting += [(child, depth + 1) for child in children.get(key.name, ())]


def _share(pair: FlavorResource, quota: ResourceQuota, outcome: Outcome) -> str:
    if pair.flavor not in (outcome.discovery.flavors or {}):
        return "as declared"
    amount = (outcome.discovery.flavors or {})[pair.flavor].get(pair.resource)
    if amount is None:
        return "unreported"
    if amount.attos == 0:
        return "-"
    return f"{rounded(quota.nominal_quota.nanos * NANOS * 100, amount.attos, 1)} %"


def _mark(quota: ResourceQuota, in_force: ResourceQuota | None, declared: ResourceQuota) -> tuple[str, str]:
    """What an admin should see at once: compared with the quota in force."""
    marks: list[str] = []
    style = ""
    before = in_force.nominal_quota if in_force is not None else declared.nominal_quota
    if quota.nominal_quota < before:
        becomes_zero = quota.nominal_quota.nanos == 0
        style = "bold red" if becomes_zero else "yellow"
        marks.append("▼ becomes 0" if becomes_zero else "▼ falls")
        if before != declared.nominal_quota:
            marks[-1] += f" (now {amount_text(before)})"
    elif before not in (declared.nominal_quota, quota.nominal_quota):
        marks.append(f"(now {amount_text(before)})")
    if quota.lending_limit is not None and quota.lending_limit != declared.lending_limit:
        marks.append(f"lends at most {amount_text(quota.lending_limit)}")
    return ", ".join(marks), style


# --- the end -------------------------------------------------------------------------------------------------------


def _bullets(title: str, texts: Iterable[str], style: str) -> Group:
    rows: list[Padding] = []
    for text in texts:
        grid = Table.grid(padding=(0, 1))
        grid.add_row(_text("•", style), _text(text, style))
        rows.append(_indented(grid))
    return Group(_heading(title), *rows, Text())


def _summary(plan: Plan, warnings: int) -> Text:
    if not plan.orchestrators:
        return _text("No DynamicQuotaOrchestrator in the files: no quota would change.")
    working = sum(1 for outcome in plan.outcomes.values() if outcome.quotas)
    parts = [
        f"{counted(len(plan.orchestrators), 'orchestrator')}, {working} distributing",
        f"{counted(len(plan.changed_quotas()), 'object')} with new quotas",
        counted(warnings, "warning"),
    ]
    return _text("; ".join(parts) + ". Nothing was written.", "bold")


# --- small things --------------------------------------------------------------------------------------------------


def _table(*left: str, right: str, last: str | None = None) -> Table:
    """Names may be folded where the terminal is narrow; numbers never are."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for title in left:
        table.add_column(title, overflow="fold")
    table.add_column(right, justify="right", no_wrap=True)
    if last is not None:
        table.add_column(last, overflow="fold")
    return table


def _text(text: str, style: str = "") -> Text:
    return Text(one_line(text), style)


def _heading(text: str) -> Text:
    return _text(text, "bold underline")


def _line(text: str, style: str = "") -> Padding:
    return _indented(_text(text, style))


def _indented(part: Table | Text) -> Padding:
    return Padding(part, (0, 0, 0, 2), expand=False)
