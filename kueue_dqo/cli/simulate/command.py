"""`dqo simulate`."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import click

from admission.settling import Simulation
from admission.state import WorkloadState
from admission.statuses import cluster_queue_manifest, cohort_manifest, local_queue_manifest, workload_manifest
from kueue_dqo.api.kueue import CLUSTER_QUEUE, COHORT
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.queueing import LOCAL_QUEUE
from kueue_dqo.api.scheme import to_manifest
from kueue_dqo.cli.errors import CommandError
from kueue_dqo.cli.listing import as_json, as_yaml, listed
from kueue_dqo.cli.options import TABLE, files_options, max_file_size_option, output_option
from kueue_dqo.cli.simulate.difference import above_quota, borrowers, changes, snapshot_of
from kueue_dqo.cli.simulate.settled import row_of, trace_of
from kueue_dqo.cli.simulate.steps import ReadStep, read_steps
from kueue_dqo.cli.simulate.what_if import (
    CapacityChange,
    WeightChange,
    WhatIf,
    capacity_change,
    items_of,
    orchestrated,
    weight_change,
)
from kueue_dqo.cli.terminal import one_line

Manifest = dict[str, Any]


class _Simulate(click.Command):
    """Takes `--add -f FILE` as `--add FILE`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        plain: list[str] = []
        for each in args:
            if not (plain and plain[-1] == "--add" and each in ("-f", "--filename")):
                plain.append(each)
        return super().parse_args(ctx, plain)


class _Parsed(click.ParamType):  # type: ignore[type-arg]  # generic only since click 8.4
    """A value that a function of the text makes, or refuses with ValueError."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


@click.command(cls=_Simulate)
@files_options
@output_option("A table of each step for a person, or a v1 List of what the last step has settled at.")
@click.option("--trace", is_flag=True, help="Say what each scheduling cycle decides.")
@click.option(
    "--capacity",
    type=_Parsed("change", capacity_change),
    multiple=True,
    metavar="[QUEUE:]FLAVOR/RESOURCE=±N",
    help="What if there were so much more or less of it? With a queue or Cohort: in its quota.",
)
@click.option("--lose-node", "lost_nodes", metavar="NAME", multiple=True, help="What if this Node were gone?")
@click.option("--add", metavar="PATH", multiple=True, help="What if these objects came as well?")
@click.option(
    "--weight",
    type=_Parsed("weight", weight_change),
    multiple=True,
    metavar="QUEUE=W",
    help="What if a ClusterQueue, a Cohort or a LocalQueue (NAMESPACE/NAME) had this weight?",
)
@max_file_size_option
def simulate(
    files: tuple[str, ...],
    more_files: tuple[str, ...],
    output: str,
    capacity: tuple[CapacityChange, ...],
    lost_nodes: tuple[str, ...],
    add: tuple[str, ...],
    weight: tuple[WeightChange, ...],
    max_file_size: Quantity,
    *,
    trace: bool,
) -> int:
    """Show what Kueue would do with Workloads: who is admitted, on which flavors, who waits and why.

    Reads ClusterQueues, Cohorts, LocalQueues, ResourceFlavors, AdmissionChecks, classes of priority, Namespaces,
    LimitRanges, RuntimeClasses, Kueue's Configuration, Jobs and Workloads, in YAML or JSON. Jobs become Workloads as
    Kueue makes them. Subfolders whose names are numbers, such as 01 and 02, are steps in time: what they change
    happens after the steps before have settled. Nothing runs, and nothing is written.

    With --capacity, --lose-node, --add or --weight, which may be repeated, that happens after the last step, all at
    once, and the difference is shown: as a table, or as a List of the objects that are not as before.

    Exit codes: 0 done; 1 an error.
    """
    paths = files + more_files
    if not paths:
        msg = "name what is to be simulated: -f PATH (a file, a folder, or - for standard input)"
        raise CommandError(msg)
    asked = WhatIf(capacity, lost_nodes, weight)
    shown = TABLE if output == TABLE and not (add or any(asked)) else ""
    simulation = Simulation()
    for step in read_steps(paths, max_file_size):
        _take(simulation, step, shown, trace=trace)
    if add or any(asked):
        _difference(simulation, asked, add, max_file_size, output, trace=trace)
    elif output != TABLE:
        _write(list(manifests(simulation)), output)
    return 0


def _difference(
    simulation: Simulation, asked: WhatIf, add: tuple[str, ...], most: Quantity, output: str, *, trace: bool
) -> None:
    """Asks what if, and prints what is not as before."""
    now = datetime.datetime.now(datetime.UTC)
    notes: list[str] = []
    if asked.changes_capacity:
        planned = orchestrated(simulation.world, now)
        if planned:
            simulation.apply(planned)
            notes.append("quotas are those that the orchestrators among the objects compute, before and after")
    before, listed_before = snapshot_of(simulation), _by_name(manifests(simulation)) if output != TABLE else {}
    more = [item for step in read_steps(add, most) for item in step.items] if add else []
    settled = simulation.apply([*items_of(asked, simulation.world, now), *more])
    after = snapshot_of(simulation)
    notes += [*map(str, settled.findings), *above_quota(after)]
    if trace:
        for line in trace_of(settled):
            click.echo(one_line(line), err=output != TABLE)
    if output == TABLE:
        from kueue_dqo.cli.simulate.table import show_difference  # rich is slow to import

        show_difference("Difference", changes(before, after), borrowers(after, before), notes)
        return
    for note in notes:
        click.echo(one_line(f"Note: {note}"), err=True)
    listed_after = _by_name(manifests(simulation))
    _write([each for key, each in listed_after.items() if listed_before.get(key) != each], output)


def _by_name(found: Iterable[Manifest]) -> dict[tuple[str, str, str], Manifest]:
    return {(each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each for each in found}


def _write(items: list[Manifest], output: str) -> None:
    ascii_only = not sys.stdout.encoding.lower().startswith("utf")
    text = as_json if output == "json" else as_yaml
    sys.stdout.write(text(listed(items), ascii_only=ascii_only))


def manifests(simulation: Simulation) -> Iterator[Manifest]:
    """What the model has settled at: Workloads, then ClusterQueues, LocalQueues and Cohorts with their counters."""
    for _, workload in sorted(simulation.workloads.items()):
        yield workload_manifest(workload)
    yield from _cluster_queues(simulation)
    world, ledger = simulation.world, simulation.ledger
    inside: dict[str, list[WorkloadState]] = {}
    for workload in simulation.workloads.values():
        inside.setdefault(workload.local_queue, []).append(workload)
    for key, queue in sorted(world.of_kind(LOCAL_QUEUE).items()):
        consumed = to_manifest(ledger.status_of(key)) if ledger is not None else None
        yield local_queue_manifest(world, queue, inside.get(key, ()), consumed)
    for name in sorted(world.of_kind(COHORT)):
        yield cohort_manifest(simulation.state, name)


def _cluster_queues(simulation: Simulation) -> Iterator[Manifest]:
    world, state = simulation.world, simulation.state
    for name in sorted(world.of_kind(CLUSTER_QUEUE)):
        yield cluster_queue_manifest(world, state, state.queues[name], len(simulation.pending[name]))


def _take(simulation: Simulation, step: ReadStep, output: str, *, trace: bool) -> None:
    """Settles one step, and prints what it settled at; in other forms than the table only what is to be said."""
    settled = simulation.apply(step.items)
    title = f"Step {step.name}" if step.name else "Settled"
    notes = [*step.notices, *map(str, settled.findings), *(f"skipped: {each}" for each in step.skipped)]
    if output != TABLE:
        for note in notes:
            click.echo(one_line(f"Note: {note}"), err=True)
        if trace:
            for line in trace_of(settled):
                click.echo(one_line(f"{title}: {line}"), err=True)
        return
    from kueue_dqo.cli.simulate.table import show  # rich is slow to import

    rows = [row_of(each) for _, each in sorted(simulation.workloads.items())]
    show(title, trace_of(settled) if trace else (), rows, _queues(simulation), notes)


def _queues(simulation: Simulation) -> Iterator[tuple[str, ...]]:
    """A row for each flavor and resource; the queue stands in its first."""
    for manifest in _cluster_queues(simulation):
        status = manifest["status"]
        active = status["conditions"][0]
        counters = [str(status[f"{each}Workloads"]) for each in ("pending", "reserving", "admitted")]
        label = [manifest["metadata"]["name"], "yes" if active["status"] == "True" else active["reason"], *counters]
        pairs = [
            (f"{flavor['name']}/{each['name']}", each["total"], each["borrowed"])
            for flavor in status["flavorsReservation"]
            for each in flavor["resources"]
        ]
        for pair in pairs or [("-", "-", "-")]:
            yield (*label, *pair)
            label = [""] * len(label)
