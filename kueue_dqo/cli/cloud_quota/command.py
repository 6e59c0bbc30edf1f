"""`dqo provider cloud-quota --once`."""

from __future__ import annotations

import asyncio
import os
import random
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Final

import click

from kueue_dqo.api.cloud import CLOUD_QUOTA_PARAMETERS
from kueue_dqo.api.dqo import CAPACITY_PROVIDER
from kueue_dqo.api.kueue import RESOURCE_FLAVOR
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.cli.errors import EXIT_ERROR, CommandError
from kueue_dqo.cli.listing import as_json, as_yaml, listed
from kueue_dqo.cli.manifests import read_manifests
from kueue_dqo.cli.objects import Manifests
from kueue_dqo.cli.options import TABLE, files_options, max_file_size_option, output_option
from kueue_dqo.cli.terminal import one_line
from kueue_dqo.runtime.clock import SystemClock
from kueue_dqo.runtime.logs import configure_logs
from providers.cloud_quota.asking import THREADS_PREFIX
from providers.cloud_quota.once import Asked, Given, Once, is_ours, made_up

_LAST_CHANCE: Final = 1.0
"""Seconds that calls which were given up have left to end."""
_INTERRUPTED: Final = 130
"""The exit code by which shells tell of SIGINT."""


@click.command("cloud-quota", context_settings={"help_option_names": ["-h", "--help"]})
@files_options
@output_option("A table for a person, or a v1 List of CapacityProviders with the status that would be written.")
@max_file_size_option
def once(files: tuple[str, ...], more_files: tuple[str, ...], output: str, max_file_size: Quantity) -> int:
    """Ask clouds once, and show what would be published and from which calls. Nothing is written.

    Reads CloudQuotaParameters, and the CapacityProviders that name them, from manifests in YAML or JSON. Where none
    names them, one with all of their flavors is made up. No API server is asked; each cloud is asked with the
    credentials that its SDK finds here.

    With -o yaml or json, dqo plan -f takes the output for the CapacityProviders. What there is to say of it goes to
    standard error.

    Exit codes: 0 done; 1 an error, or nothing would be published for one of them.
    """
    paths = files + more_files
    if not paths:
        msg = "say where the parameters are: -f PATH (a file, a folder, or - for standard input)"
        raise click.UsageError(msg)
    # Libraries may have something to say, which is none of the output.
    configure_logs(level="warning", form="console", stream=sys.stderr)
    manifests = read_manifests(paths, max_file_size)
    given, notes = _given(manifests, ", ".join(paths))
    code = _INTERRUPTED
    try:
        found = asyncio.run(_ask(given))
        _show(found, notes, output)
        code = 0 if all(asked.is_published for asked in found) else EXIT_ERROR
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
    _leave_calls_behind(code)
    return code


def _leave_calls_behind(code: int) -> None:
    """Ends the process where calls still hang: Python would wait for them, and an answer may trickle for ever."""
    deadline = time.monotonic() + _LAST_CHANCE
    calls = [thread for thread in threading.enumerate() if thread.name.startswith(THREADS_PREFIX)]
    for thread in calls:
        thread.join(max(deadline - time.monotonic(), 0))
    if any(thread.is_alive() for thread in calls):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _given(manifests: Manifests, where: str) -> tuple[Given, list[str]]:
    """What is asked about, and what was taken for granted. Raises CommandError where there is nothing to ask about."""
    given = Given(
        providers=manifests.of_kind(CAPACITY_PROVIDER),
        parameters=manifests.of_kind(CLOUD_QUOTA_PARAMETERS),
        flavors=manifests.of_kind(RESOURCE_FLAVOR),
    )
    made = made_up(given)
    taken = sorted(made.keys() & given.providers.keys())
    if taken:
        msg = (
            f"no CapacityProvider names {CLOUD_QUOTA_PARAMETERS}/{taken[0]}, and one that would cannot be called as "
            f"they are, since CapacityProvider/{taken[0]} is another one: add it to the files"
        )
        raise CommandError(msg)
    given = Given(providers={**given.providers, **made}, parameters=given.parameters, flavors=given.flavors)
    if not any(map(is_ours, given.providers.values())):
        msg = f"no {CLOUD_QUOTA_PARAMETERS} in {where}: there is nothing to ask about"
        raise CommandError(msg)
    return given, [*_notes(given, made), *manifests.notices]


def _notes(given: Given, made: Iterable[str]) -> Iterator[str]:
    for name in made:
        yield (
            f"CapacityProvider/{name} is made up, with all flavors of {CLOUD_QUOTA_PARAMETERS}/{name}, which no "
            "CapacityProvider in the files names"
        )
    if not given.flavors:
        return
    for _, provider in sorted(given.providers.items()):
        missing = [flavor for flavor in provider.flavor_names if flavor not in given.flavors]
        if is_ours(provider) and missing:
            yield (
                f"{provider.key}: ResourceFlavor {', '.join(missing)} is not among the files: in a cluster without it, "
                "nothing is published"
            )


async def _ask(given: Given) -> list[Asked]:
    asking = Once(given, clock=SystemClock(), random=random.SystemRandom())
    try:
        return [await asking.ask(each) for _, each in sorted(given.providers.items()) if is_ours(each)]
    finally:
        asking.close()


def _show(found: list[Asked], notes: list[str], output: str) -> None:
    from kueue_dqo.cli.cloud_quota import report

    if output == TABLE:
        for line in report.table(found, notes):
            click.echo(one_line(line))
        return
    ascii_only = not sys.stdout.encoding.lower().startswith("utf")
    text = as_json if output == "json" else as_yaml
    for line in report.remarks(found, notes):
        click.echo(one_line(line), err=True)
    sys.stdout.write(text(listed(report.items(found)), ascii_only=ascii_only))
