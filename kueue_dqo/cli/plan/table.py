"""A plan as tables for a person. Colour only where the output is a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import Final

from kueue_dqo.api import dqo
from kueue_dqo.api.kueue import COHORT
from kueue_dqo.api.meta import Condition, ObjectKey, find_condition
from kueue_dqo.api.parameters import NODE_INVENTORY_CONTROLLER, NVIDIA_GPU_CONTROLLER
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.quotas import ResourceQuota, quotas_by_pair
from kueue_dqo.api.resources import FlavorResource
from kueue_dqo.api.wording import counted
from kueue_dqo.cli.errors import CommandError
from kueue_dqo.cli.plan.computation import Plan
from kueue_dqo.cli.plan.text import amount_text, share_text, tree_label
from kueue_dqo.cli.terminal import one_line
from orchestrator.compute import Outcome
from orchestrator.members import Member

try:
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    from kueue_dqo.cli.plan.changes import changes
    from kueue_dqo.cli.plan.columns import Columns
except ImportError as error:
    _MSG = "the table needs rich: install kueue-dqo[cli], or use -o json"
    raise CommandError(_MSG) from error

_COMPUTED_FROM: Final = {
    NODE_INVENTORY_CONTROLLER: " from the nodes",
    NVIDIA_GPU_CONTROLLER: " from the reports of GPUs",
}
_PIPED_WIDTH: Final = 120
_NARROWEST: Final = 60


_Part = Columns | Text | Padding


def show(plan: Plan, warnings: list[str], notes: list[str]) -> None:
    """Prints the plan to standard output."""
    console = _console()
    with console.capture() as printed:
        for part in _parts(plan, warnings, notes):
            if isinstance(part, Columns):
                console.print(part.text(), soft_wrap=True)
            else:
                console.print(part)
    # Folded texts are padded to the width, which only a diff of two outputs would show.
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


def _parts(plan: Plan, warnings: list[str], notes: list[str]) -> Iterator[_Part]:
    if plan.providers:
        yield from _capacity(plan)
    for name in sorted(plan.orchestrators):
        yield from _orchestrator(name, plan)
    if warnings:
        yield from _bullets("Warnings", warnings, "yellow")
    if notes:
        yield from _bullets("Notes", notes, "dim")
    yield _summary(plan, len(warnings))


# --- capacity ------------------------------------------------------------------------------------------------------


def _capacity(plan: Plan) -> Iterator[_Part]:
    table = Columns("PROVIDER", "STATE", "FLAVOR", "RESOURCE", "CAPACITY", right=("CAPACITY",))
    lines: list[Padding] = []
    wanted = _wanted(plan.hierarchy.members.values())
    for name, provider in sorted(plan.providers.items()):
        condition = find_condition(provider.status.conditions, dqo.CAPACITY_SYNCHRONIZED)
        state = ("no status", "red")
        if condition is not None:
            state = (one_line(condition.reason), "green" if condition.status == "True" else "red")
        rows, others = _capacity_rows(provider.status.capacity, wanted)
        label, title = name, f"{dqo.CAPACITY_PROVIDER} {name}"
        for row in rows or [("-", "-", "-")]:
            table.add(label, state, *row)
            label, state = "", ("", "")
        if condition is not None and condition.message:
            origin = ""
            if name in plan.computed_providers:
                origin = f" (computed here{_COMPUTED_FROM.get(provider.spec.controller_name, '')})"
            lines.append(_line(f"{title}{origin}: {condition.message}", "dim"))
        lines += (_line(f"{title}: {other}", "dim") for other in others)
    yield _heading("Capacity by provider")
    yield table
    yield from lines
    yield Text()


def _wanted(members: Iterable[Member]) -> set[FlavorResource]:
    """The pairs that some queue has a quota for: what a person looks for among all that a node offers."""
    return {pair for member in members for pair, _ in quotas_by_pair(member.declared)}


def _capacity_rows(
    capacity: dqo.Capacity | None, wanted: set[FlavorResource]
) -> tuple[list[tuple[str, str, str]], list[str]]:
    """A row (flavor, resource, amount) for each resource that a queue declares; a line for the others of a flavor."""
    rows: list[tuple[str, str, str]] = []
    others: list[str] = []
    for flavor in capacity.flavors if capacity is not None else ():
        amounts = {one_line(name): amount_text(quantity) for name, quantity in sorted(flavor.resources.items())}
        shown = [name for name in amounts if FlavorResource(flavor.name, name) in wanted] or list(amounts)
        label = one_line(flavor.name)
        if not amounts:
            rows.append((label, "(nothing reported)", "0"))
        for name in shown:
            rows.append((label, name, amounts[name]))
            label = ""
        rest = [f"{name} {amount}" for name, amount in amounts.items() if name not in shown]
        if rest:
            others.append(f"flavor {flavor.name} also has what no queue declares: {', '.join(rest)}")
    return rows, others


# --- orchestrators -------------------------------------------------------------------------------------------------


def _orchestrator(name: str, plan: Plan) -> Iterator[_Part]:
    orchestrator = plan.orchestrators[name]
    target = f"→ {orchestrator.root}" if orchestrator.root is not None else "(discovery only: no quota changes)"
    yield _heading(f"Orchestrator {name} {target}")
    outcome = plan.outcomes.get(name)
    if outcome is None:
        yield _line("is being deleted: it writes nothing and does not compete", "dim")
        yield Text()
        return
    yield _made_of(orchestrator)
    yield from _conditions(outcome, orchestrator.status.conditions if plan.manifests.is_live else ())
    if outcome.status.effective_capacity is not None:
        rows, others = _capacity_rows(outcome.status.effective_capacity, _wanted(plan.hierarchy.members.values()))
        table = Columns("FLAVOR", "RESOURCE", "EFFECTIVE CAPACITY", right=("EFFECTIVE CAPACITY",))
        for row in rows:
            table.add(*row)
        yield Text()
        yield table
        yield from (_line(other, "dim") for other in others)
    if outcome.quotas:
        yield Text()
        order = _in_tree_order(orchestrator.root, outcome, plan)
        yield changes(order, outcome, plan) if plan.manifests.is_live else _quotas(order, outcome, plan)
    yield Text()


def _made_of(orchestrator: dqo.DynamicQuotaOrchestrator) -> Padding:
    one = Quantity.of(1)
    terms = [
        entry.name
        if entry.effective_capacity_multiplier == one
        else f"{entry.name} × {amount_text(entry.effective_capacity_multiplier)}"
        for entry in orchestrator.spec.capacity_discovery.providers
    ]
    return _line(f"capacity of {' + '.join(terms)}", "dim")


def _conditions(outcome: Outcome, present: tuple[Condition, ...]) -> Iterator[Padding]:
    """The conditions to come, each with the present one where that says something else."""
    for condition in outcome.status.conditions:
        if condition.type in (dqo.EFFECTIVE_CAPACITY_COMPUTED, dqo.DISTRIBUTED):
            style = "green" if condition.status == "True" else "red"
            line = _text(f"{condition.type} ")
            line.append_text(_text(f"{condition.status} {condition.reason}", style))
            now = find_condition(present, condition.type)
            if now is not None and (now.status, now.reason) != (condition.status, condition.reason):
                line.append_text(_text(f" (now {now.status} {now.reason})"))
            line.append_text(_text(f": {condition.message}"))
            yield _indented(line)


def _quotas(order: Iterator[tuple[ObjectKey, int]], outcome: Outcome, plan: Plan) -> Columns:
    numbers = ("DECLARED → EFFECTIVE", "SHARE")
    table = Columns("QUEUE", "FLAVOR", "RESOURCE", *numbers, "", right=numbers)
    for key, depth in order:
        label = tree_label(key, depth)
        member = plan.hierarchy.members[key]
        declared = dict(quotas_by_pair(member.declared))
        in_force = dict(quotas_by_pair(member.in_force))
        rows = list(quotas_by_pair(outcome.quotas[key].resource_groups))
        if not rows:
            table.add(*((cell, "dim") for cell in (label, "-", "-", "-")))
        flavor = ""
        for pair, quota in rows:
            before, after = amount_text(declared[pair].nominal_quota), amount_text(quota.nominal_quota)
            mark, style = _mark(quota, in_force.get(pair), declared[pair])
            table.add(
                label,
                "" if pair.flavor == flavor else one_line(pair.flavor),
                one_line(pair.resource),
                (f"{before} → {after}", style),
                share_text(pair, quota, outcome),
                (mark, style),
            )
            label, flavor = "", pair.flavor
    return table


def _in_tree_order(root: ObjectKey | None, outcome: Outcome, plan: Plan) -> Iterator[tuple[ObjectKey, int]]:
    """The subtree from its root down, Cohorts before queues, each level by name; a cycle shows everything once."""
    children: dict[str, list[ObjectKey]] = {}
    for key in outcome.quotas:
        children.setdefault(plan.hierarchy.members[key].parent, []).append(key)
    for siblings in children.values():
        siblings.sort(key=lambda key: (key.kind != COHORT, key.name), reverse=True)
    waiting, seen = ([(root, 0)] if root is not None else []), set()
    while waiting:
        key, depth = waiting.pop()
        if key in seen:
            continue
        seen.add(key)
        yield key, depth
        if key.kind == COHORT:
            waiting += [(child, depth + 1) for child in children.get(key.name, ())]


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


def _bullets(title: str, texts: Iterable[str], style: str) -> Iterator[_Part]:
    yield _heading(title)
    for text in texts:
        grid = Table.grid(padding=(0, 1))
        grid.add_row(_text("•", style), _text(text, style))
        yield _indented(grid)
    yield Text()


def _summary(plan: Plan, warnings: int) -> Text:
    if not plan.orchestrators:
        return _text(f"No DynamicQuotaOrchestrator in {plan.manifests.origin}: no quota would change.")
    working = sum(1 for outcome in plan.outcomes.values() if outcome.quotas)
    parts = [
        f"{counted(len(plan.orchestrators), 'orchestrator')}, {working} distributing",
        f"{counted(len(plan.changed_quotas()), 'object')} with new quotas",
        counted(warnings, "warning"),
    ]
    return _text("; ".join(parts) + ". Nothing was written.", "bold")


# --- small things --------------------------------------------------------------------------------------------------


def _text(text: str, style: str = "") -> Text:
    return Text(one_line(text), style)


def _heading(text: str) -> Text:
    return _text(text, "bold underline")


def _line(text: str, style: str = "") -> Padding:
    return _indented(_text(text, style))


def _indented(part: Table | Text) -> Padding:
    return Padding(part, (0, 0, 0, 2), expand=False)
