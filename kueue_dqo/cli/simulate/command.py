"""`dqo simulate`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
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
from kueue_dqo.cli.simulate.settled import row_of, trace_of
from kueue_dqo.cli.simulate.steps import ReadStep, read_steps
from kueue_dqo.cli.terminal import one_line

Manifest = dict[str, Any]


@click.command
@files_options
@output_option("A table of each step for a person, or a v1 List of what the last step has settled at.")
@click.option("--trace", is_flag=True, help="Say what each scheduling cycle decides.")
@max_file_size_option
def simulate(
    files: tuple[str, ...], more_files: tuple[str, ...], output: str, max_file_size: Quantity, *, trace: bool
) -> int:
    """Show what Kueue would do with Workloads: who is admitted, on which flavors, who waits and why.

    Reads ClusterQueues, Cohorts, LocalQueues, ResourceFlavors, AdmissionChecks, classes of priority, Namespaces,
    LimitRanges, RuntimeClasses, Kueue's Configuration, Jobs and Workloads, in YAML or JSON. Jobs become Workloads as
    Kueue makes them. Subfolders whose names are numbers, such as 01 and 02, are steps in time: what they change
    happens after the steps before have settled. Nothing runs, and nothing is written.

    Exit codes: 0 done; 1 an error.
    """
    paths = files + more_files
    if not paths:
        msg = "name what is to be simulated: -f PATH (a file, a folder, or - for standard input)"
        raise CommandError(msg)
    simulation = Simulation(keeps_cycles=trace)
    for step in read_steps(paths, max_file_size):
        _take(simulation, step, output, trace=trace)
    if output != TABLE:
        ascii_only = not sys.stdout.encoding.lower().startswith("utf")
        text = as_json if output == "json" else as_yaml
        sys.stdout.write(text(listed(list(manifests(simulation))), ascii_only=ascii_only))
    return 0


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
