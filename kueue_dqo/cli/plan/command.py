"""`dqo plan`."""

from __future__ import annotations

import datetime
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click
from click.core import ParameterSource

from kueue_dqo.api.meta import parse_time
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.cli.errors import EXIT_CHANGES, EXIT_NOT_DISTRIBUTED, CommandError, NoCluster
from kueue_dqo.cli.manifests import read_manifests
from kueue_dqo.cli.objects import Manifests
from kueue_dqo.cli.options import TABLE, cluster_options, files_options, max_file_size_option, output_option
from kueue_dqo.cli.plan.computation import make_plan
from kueue_dqo.cli.plan.output import json_text, yaml_text
from kueue_dqo.cli.plan.warnings import notes, warnings
from kueue_dqo.cli.terminal import one_line
from orchestrator.enforcement.roads import Road


class _Time(click.ParamType):  # type: ignore[type-arg]  # generic only since click 8.4
    """A time of RFC 3339."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime.datetime:
        if isinstance(value, datetime.datetime):
            return value
        try:
            return parse_time(value).astimezone(datetime.UTC)
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is no time: write it as 2026-12-24T00:00:00Z", param, ctx)


@click.command
@files_options
@output_option("A table for a person, or a v1 List of the objects with what would stand in them.")
@click.option(
    "--road",
    type=click.Choice([road.value for road in Road]),
    show_default="status; of a cluster, its own",
    help="Where quotas take effect: status.effectiveQuotas (Kueue 0.20), or spec.resourceGroups (any Kueue).",
)
@click.option(
    "--at",
    type=_Time(),
    show_default="now",
    help="Compute capacity that depends on the time, such as overrides of a ManualCapacity, for this time of RFC 3339.",
)
@click.option(
    "--detailed-exitcode",
    is_flag=True,
    help="Exit with 2 when something would change, 3 when some orchestrator cannot compute or distribute.",
)
@max_file_size_option
@cluster_options
def plan(
    files: tuple[str, ...],
    more_files: tuple[str, ...],
    output: str,
    road: str | None,
    at: datetime.datetime | None,
    detailed_exitcode: bool,
    max_file_size: Quantity,
    kubeconfig: str | None,
    context: str | None,
) -> int:
    """Show what Dynamic Quota Orchestration would do. Nothing is written.

    With -f, offline from manifests; without it, in the cluster of the kubeconfig, which is only read.

    Reads Nodes, Pods, NodeGPUReports, ResourceFlavors, ClusterQueues, Cohorts, CapacityProviders,
    DynamicQuotaOrchestrators and parameter objects, in YAML or JSON. A CapacityProvider of the node inventory, NVIDIA's
    GPUs, manual or composite that has no status is computed from what stands beside it.

    Exit codes: 0 done; 1 an error, and nothing was planned; with --detailed-exitcode also 2 and 3.
    """
    paths = files + more_files
    wanted = Road(road) if road is not None else None
    if paths:
        _refuse_cluster_options()
    with _without_garbage_collection():
        if paths:
            found = (read_manifests(paths, max_file_size), wanted or Road.STATUS)
        else:
            found = _of_cluster(kubeconfig, context, wanted)
        return _plan(*found, at, output, detailed_exitcode=detailed_exitcode)


def _refuse_cluster_options() -> None:
    """Two sources are no plan. What stands in the environment is for other calls."""
    call = click.get_current_context()
    for name in ("kubeconfig", "context"):
        if call.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            msg = f"--{name} is for a plan of a cluster: leave it out, or leave -f out"
            raise click.UsageError(msg)


def _of_cluster(kubeconfig: str | None, context: str | None, road: Road | None) -> tuple[Manifests, Road]:
    from kueue_dqo.cli.plan.live import read_cluster  # the client is slow to import

    try:
        return read_cluster(kubeconfig, context, road)
    except NoCluster as error:
        msg = f"{error}; or plan from files: -f PATH (a file, a folder, or - for standard input)"
        raise CommandError(msg) from error


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Of the many objects of a big cluster hardly any is garbage, and looking for it takes a third of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _plan(
    manifests: Manifests, road: Road, at: datetime.datetime | None, output: str, *, detailed_exitcode: bool
) -> int:
    planned = make_plan(manifests, road, at or datetime.datetime.now(datetime.UTC))
    if at is not None and not planned.depending_on_time:
        planned.notes.append("--at makes no difference: no capacity that is computed here depends on the time")
    if output == TABLE:
        from kueue_dqo.cli.plan.table import show  # rich is slow to import

        show(planned, warnings(planned), notes(planned))
    else:
        for warning in warnings(planned):
            click.echo(one_line(f"Warning: {warning}"), err=True)
        for note in notes(planned):
            click.echo(one_line(f"Note: {note}"), err=True)
        ascii_only = not sys.stdout.encoding.lower().startswith("utf")
        text = json_text if output == "json" else yaml_text
        sys.stdout.write(text(planned, ascii_only=ascii_only))
    if not detailed_exitcode:
        return 0
    if not planned.all_work:
        return EXIT_NOT_DISTRIBUTED
    return EXIT_CHANGES if planned.has_changes else 0
