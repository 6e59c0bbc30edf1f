"""`dqo plan`."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import click

from kueue_dqo.api.quantity import Quantity, QuantityError
from kueue_dqo.cli.errors import EXIT_CHANGES, EXIT_NOT_DISTRIBUTED
from kueue_dqo.cli.manifests import read_manifests
from kueue_dqo.cli.plan.computation import make_plan
from kueue_dqo.cli.plan.output import json_text, yaml_text
from kueue_dqo.cli.plan.warnings import notes, warnings
from kueue_dqo.cli.terminal import one_line
from orchestrator.enforcement.roads import Road

_TABLE: Final = "table"


class _Size(click.ParamType):  # type: ignore[type-arg]  # generic only since click 8.4
    """A file size in bytes, written as a quantity."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Quantity:
        if isinstance(value, Quantity):
            return value
        try:
            size = Quantity.of(value)
        except QuantityError as error:
            self.fail(str(error), param, ctx)
        if size < Quantity.of(1):
            self.fail(f"{value!r} is no size: write at least 1 byte, such as 2Gi", param, ctx)
        return size


@click.command
@click.option(
    "-f",
    "--filename",
    "files",
    metavar="PATH",
    multiple=True,
    help="A file, a folder (read with all below it), or - for standard input. May be repeated, and left out.",
)
@click.argument("more_files", metavar="[PATH]...", nargs=-1)
@click.option(
    "-o",
    "--output",
    type=click.Choice([_TABLE, "json", "yaml"]),
    default=_TABLE,
    show_default=True,
    help="A table for a person, or a v1 List of the objects with what would stand in them.",
)
@click.option(
    "--road",
    type=click.Choice([road.value for road in Road]),
    default=Road.STATUS.value,
    show_default=True,
    help="Where quotas take effect: status.effectiveQuotas (Kueue 0.20), or spec.resourceGroups (any Kueue).",
)
@click.option(
    "--detailed-exitcode",
    is_flag=True,
    help="Exit with 2 when something would change, 3 when some orchestrator cannot compute or distribute.",
)
@click.option(
    "--max-file-size",
    type=_Size(),
    default="1Gi",
    show_default=True,
    help="Refuse to read a file larger than this.",
)
def plan(
    files: tuple[str, ...],
    more_files: tuple[str, ...],
    output: str,
    road: str,
    detailed_exitcode: bool,
    max_file_size: Quantity,
) -> int:
    """Show what Dynamic Quota Orchestration would do, offline from manifests. Nothing is written.

    Reads Nodes, ResourceFlavors, ClusterQueues, Cohorts, CapacityProviders, DynamicQuotaOrchestrators and parameter
    objects, in YAML or JSON. A CapacityProvider of the node inventory that has no status is computed from the Nodes
    beside it.

    Exit codes: 0 done; 1 an error, and nothing was planned; with --detailed-exitcode also 2 and 3.
    """
    if not files + more_files:
        msg = "say what to plan from: -f PATH (a file, a folder, or - for standard input)"
        raise click.UsageError(msg)
    with _without_garbage_collection():
        return _plan(files + more_files, output, Road(road), max_file_size, detailed_exitcode=detailed_exitcode)


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


def _plan(paths: tuple[str, ...], output: str, road: Road, max_file_size: Quantity, *, detailed_exitcode: bool) -> int:
    planned = make_plan(read_manifests(paths, max_file_size), road)
    if output == _TABLE:
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
