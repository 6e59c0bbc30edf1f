"""`dqo explain`."""

from __future__ import annotations

import datetime
from collections.abc import Iterable

import click

from admission.findings import Finding
from admission.settling import Simulation
from admission.state import WorkloadState
from admission.world import Item
from kueue_dqo.api.kueue import CLUSTER_QUEUE
from kueue_dqo.api.podtemplates import JOB
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.resources import FlavorResource
from kueue_dqo.api.wording import some
from kueue_dqo.cli.errors import CommandError
from kueue_dqo.cli.explain.ladder import Explanation, Outcome, explained
from kueue_dqo.cli.explain.nodes import node_side
from kueue_dqo.cli.explain.origin import origins, pairs_of
from kueue_dqo.cli.options import cluster_options, max_file_size_option
from kueue_dqo.cli.simulate.steps import read_steps
from kueue_dqo.cli.terminal import one_line

_MARKS = {Outcome.HOLDS: "✓", Outcome.FAILS: "✗", Outcome.OPEN: "·"}
_files = click.option(
    "-f",
    "--filename",
    "files",
    metavar="PATH",
    multiple=True,
    help="A file, a folder (read with all below it; subfolders named by numbers are steps), or - for standard input. "
    "Without it: the cluster of the kubeconfig, which is only read.",
)


@click.group
def explain() -> None:
    """Say why a Workload waits, and where a quota is from."""


@explain.command
@click.argument("name", metavar="NAMESPACE/NAME")
@_files
@max_file_size_option
@cluster_options
def workload(
    name: str, files: tuple[str, ...], max_file_size: Quantity, kubeconfig: str | None, context: str | None
) -> int:
    """Say why a Workload waits: the way from its job to its pods, and the first step that fails.

    NAME is that of the Workload or of its Job. What is said is what Kueue would do once all has settled: which flavor
    lacks how much of what, who holds it, whether waiting, preemption or more quota could help, how many of its pods
    would fit, and where the quota is from.

    Exit codes: 0 it is admitted or has finished; 1 an error; 2 it waits.
    """
    simulation, findings = _settled(files, max_file_size, kubeconfig, context)
    found = _found(simulation, name)
    if found is None:
        return _without_workload(simulation, name, findings)
    explanation = explained(simulation, found)
    _show(explanation)
    for line in node_side(simulation, found):
        click.echo(one_line(f"  {line}"))
    if explanation.queue and explanation.pairs:
        click.echo("\nWhere the quota is from")
        pairs = [FlavorResource(pair.flavor, pair.resource) for pair in explanation.pairs]
        for line in origins(simulation.world, explanation.queue, pairs, datetime.datetime.now(datetime.UTC)):
            click.echo(f"  {_printable(line)}")
    about = [each for each in findings if each.object.endswith(f"/{name}")]
    for note in about:
        click.echo(one_line(f"Note: {note}"))
    return 2 if any(rung.outcome is Outcome.FAILS for rung in explanation.rungs) else 0


@explain.command
@click.argument("queue", metavar="CLUSTERQUEUE")
@click.argument("pair", metavar="[FLAVOR/RESOURCE]", required=False)
@_files
@max_file_size_option
@cluster_options
def quota(
    queue: str,
    pair: str | None,
    files: tuple[str, ...],
    max_file_size: Quantity,
    kubeconfig: str | None,
    context: str | None,
) -> int:
    """Say where a quota is from: from the queue to its share, the orchestrator, the provider, and what that counted.

    Exit codes: 0 done; 1 an error.
    """
    simulation, _ = _settled(files, max_file_size, kubeconfig, context)
    queues = simulation.world.of_kind(CLUSTER_QUEUE)
    if queue not in queues:
        msg = f"there is no ClusterQueue {queue!r}; there is {some(sorted(queues)) or 'none'}"
        raise CommandError(msg)
    pairs = pairs_of(simulation.world, queue)
    if pair is not None:
        flavor, _, resource = pair.partition("/")
        pairs = [FlavorResource(flavor, resource)]
    for line in origins(simulation.world, queue, pairs, datetime.datetime.now(datetime.UTC)):
        click.echo(_printable(line))
    return 0


def _settled(
    files: tuple[str, ...], most: Quantity, kubeconfig: str | None, context: str | None
) -> tuple[Simulation, list[Finding]]:
    """All steps taken, and what was found in them."""
    simulation, findings = Simulation(), list[Finding]()
    steps: Iterable[tuple[Item, ...]]
    if files:
        steps = [step.items for step in read_steps(files, most)]
    else:
        from kueue_dqo.cli.explain.live import read_items  # the client is slow to import

        steps = [read_items(kubeconfig, context)]
    for items in steps:
        findings += simulation.apply(items).findings
    return simulation, findings


def _found(simulation: Simulation, name: str) -> WorkloadState | None:
    """By its own name, or by that of its Job."""
    by_key = simulation.workloads.get(name)
    if by_key is not None:
        return by_key
    of_job = [each for each in simulation.workloads.values() if f"{each.namespace}/{each.counted.job}" == name]
    return of_job[0] if of_job else None


def _without_workload(simulation: Simulation, name: str, findings: list[Finding]) -> int:
    if "/" not in name:
        msg = f"{name!r} is no NAMESPACE/NAME"
        raise CommandError(msg)
    told = [each for each in findings if each.object == f"{JOB}/{name}"]
    if name not in simulation.world.jobs or not told:
        near = [key for key in sorted(simulation.workloads) if key.partition("/")[0] == name.partition("/")[0]]
        msg = f"there is no Workload {name}, and no Job of that name has one; in its namespace: {some(near) or 'none'}"
        raise CommandError(msg)
    click.echo(f"{JOB} {name} has no Workload: Kueue does not look at it.")
    for each in told:
        click.echo(one_line(f"  ✗ {each}"))
    return 2


def _show(found: Explanation) -> None:
    click.echo(one_line(f"Workload of {found.name}: {found.verdict}"))
    click.echo()
    width = max((len(rung.title) for rung in found.rungs), default=0)
    for rung in found.rungs:
        click.echo(one_line(f"  {_MARKS[rung.outcome]} {rung.title.ljust(width)}  {rung.text}".rstrip()))
    for title, lines in (("In numbers", found.details), ("What would help", found.helps)):
        if lines:
            click.echo(f"\n{title}")
            for line in lines:
                click.echo(one_line(f"  {line}"))


def _printable(line: str) -> str:
    """On one line; blanks at its beginning stay."""
    indent = len(line) - len(line.lstrip(" "))
    return " " * indent + one_line(line.strip())
