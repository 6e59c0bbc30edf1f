"""`dqo cleanup`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kueue_dqo.api.kueue import CLUSTER_QUEUE, COHORT
from kueue_dqo.api.meta import ObjectKey
from kueue_dqo.api.wording import counted
from kueue_dqo.cli.cleanup.report import is_due, report
from kueue_dqo.cli.errors import EXIT_ERROR, CommandError
from kueue_dqo.cli.options import cluster_options
from kueue_dqo.cli.terminal import one_line
from orchestrator.cleanup import Leftover, Standing

if TYPE_CHECKING:
    from kueue_dqo.cli.cleanup.reading import Found
    from kueue_dqo.runtime.client import Client


@click.command
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--yes", is_flag=True, help="Restore without asking.")
@click.option("--stale", is_flag=True, help="Also where the orchestrator exists and has Distributed=False.")
@click.option(
    "--all", "everything", is_flag=True, help="Also where the orchestrator keeps them up: to uninstall kueue-dqo."
)
@cluster_options
def cleanup(
    names: tuple[str, ...], yes: bool, stale: bool, everything: bool, kubeconfig: str | None, context: str | None
) -> int:
    """List effective quotas that nobody keeps up any more, and put the declared ones in force again.

    NAME is a ClusterQueue or a Cohort, or Kind/NAME; without one, all of the cluster are looked at. Without --yes the
    command asks before it writes.

    Exit codes: 0 all done, or nothing to do; 1 something was not done.
    """
    from kueue_dqo.cli.cluster import with_cluster  # the client is slow to import

    standings = {Standing.ABANDONED}
    if stale or everything:
        standings.add(Standing.STALLED)
    if everything:
        standings.add(Standing.KEPT)

    async def work(client: Client) -> bool:
        return await _cleanup(client, names, standings, yes=yes)

    return 0 if with_cluster(kubeconfig, context, work) else EXIT_ERROR


async def _cleanup(client: Client, names: tuple[str, ...], standings: set[Standing], *, yes: bool) -> bool:
    from kueue_dqo.cli.cleanup.reading import read
    from kueue_dqo.cli.cleanup.restoring import restore, still_due

    found = await read(client)
    wanted = _wanted(found, names)
    for note in found.notes:
        _complain(f"Note: {note}")
    lines = list(report(wanted, standings))
    for line in lines:
        _say(line)
    all_due = [each for each in wanted if is_due(each, standings)]
    due = [each for each in all_due if each.problem is None]
    if not due:
        _say("Nothing to restore." if lines else "No quotas are left behind.")
        return not all_due
    if any(each.standing is not Standing.ABANDONED for each in due):
        _complain("Warning: an orchestrator would write its quotas again: make sure that none runs")

    def may_be_restored(leftover: Leftover) -> bool:
        return is_due(leftover, standings) and leftover.problem is None

    if not yes:
        _ask(due)
        # People take their time.
        due = await still_due(client, {each.identity for each in due}, may_be_restored, _say)
    is_skipped = any(each.problem is not None for each in all_due)
    return await restore(client, due, may_be_restored, _say, _complain) and not is_skipped


def _wanted(found: Found, names: tuple[str, ...]) -> Sequence[Leftover]:
    """Those of the objects that are named, or all. Raises CommandError for a name that no object has."""
    if not names:
        return found.leftovers
    wanted: set[ObjectKey] = set()
    for name in names:
        kind, _, rest = name.rpartition("/")
        keys = {ObjectKey(each, rest) for each in ([kind] if kind else [CLUSTER_QUEUE, COHORT])} & found.keys
        if not keys:
            msg = f"the cluster has no ClusterQueue or Cohort {name!r}: write NAME, ClusterQueue/NAME or Cohort/NAME"
            raise CommandError(msg)
        wanted |= keys
    return [each for each in found.leftovers if each.held.key in wanted]


def _ask(due: Sequence[Leftover]) -> None:
    """Raises CommandError where the answer is no, or where nobody can be asked."""
    objects = counted(len({each.held.key for each in due}), "object")
    if sys.stdin is None or not sys.stdin.isatty():
        msg = (
            f"nothing was written: standard input is no terminal to ask on; restore the quotas of {objects} with --yes"
        )
        raise CommandError(msg)
    if not click.confirm(f"Put the declared quotas of {objects} in force again?"):
        msg = "nothing was written"
        raise CommandError(msg)


def _say(line: str) -> None:
    click.echo(one_line(line))


def _complain(line: str) -> None:
    click.echo(one_line(line), err=True)
