"""`dqo capacity set`."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Final

import click

from kueue_dqo.api import dqo
from kueue_dqo.api.meta import time_text
from kueue_dqo.api.scheme import ObjectInvalid
from kueue_dqo.api.wording import LONGEST_MESSAGE
from kueue_dqo.cli.capacity.arguments import amounts_of
from kueue_dqo.cli.capacity.status import (
    DEFAULT_MESSAGE,
    NOT_READY_REASONS,
    Request,
    summary,
    wanted_status,
)
from kueue_dqo.cli.errors import CommandError
from kueue_dqo.cli.options import cluster_options
from kueue_dqo.cli.terminal import one_line
from kueue_dqo.runtime.errors import ApiError, Invalid, NotFound
from kueue_dqo.runtime.resources import CAPACITY_PROVIDERS
from providers.status import is_written, patch, read_provider

if TYPE_CHECKING:
    from kueue_dqo.runtime.client import Client

_ATTEMPTS: Final = 5


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def capacity() -> None:
    """Write the status of a CapacityProvider by hand."""


@capacity.command("set")
@click.argument("name")
@click.argument("pairs", metavar="[FLAVOR/RESOURCE=QUANTITY]...", nargs=-1)
@click.option(
    "--not-ready",
    type=click.Choice(NOT_READY_REASONS),
    help="Say that there is no trustworthy capacity at present. What is published stays, and is not used.",
)
@click.option("--message", metavar="TEXT", help="The message of the condition, for a person.")
@click.option("--force", is_flag=True, help="Also where a controller of kueue-dqo keeps the object.")
@click.option("--dry-run", is_flag=True, help="Have the API server check the write, and write nothing.")
@cluster_options
def set_(
    name: str,
    pairs: tuple[str, ...],
    not_ready: str | None,
    message: str | None,
    force: bool,
    dry_run: bool,
    kubeconfig: str | None,
    context: str | None,
) -> None:
    """Publish the capacity of the CapacityProvider NAME, and that it is synchronized.

    The pairs that are named are set; FLAVOR/RESOURCE- takes one away; all others stay as they are. Capacity and
    condition change in one write.

    Exit codes: 0 written, or so already; 1 an error, and nothing was written.
    """
    from kueue_dqo.cli.cluster import with_cluster  # the client is slow to import

    request = _request(pairs, not_ready, message, force=force)

    async def work(client: Client) -> list[str]:
        return await _set(client, name, request, dry_run=dry_run)

    for line in with_cluster(kubeconfig, context, work):
        click.echo(one_line(line))


def _request(pairs: tuple[str, ...], not_ready: str | None, message: str | None, *, force: bool) -> Request:
    if not_ready is not None and pairs:
        msg = "--not-ready keeps the capacity as it is: leave the pairs out"
        raise click.UsageError(msg)
    if not_ready is not None and not message:
        msg = "--not-ready needs --message TEXT, which tells a person why"
        raise click.UsageError(msg)
    if not_ready is None and not pairs:
        msg = "say what to set: FLAVOR/RESOURCE=QUANTITY, such as a100/nvidia.com/gpu=8"
        raise click.UsageError(msg)
    if message is not None and len(message) > LONGEST_MESSAGE:
        msg = f"--message has {len(message)} characters; {LONGEST_MESSAGE} are allowed"
        raise click.UsageError(msg)
    try:
        amounts = amounts_of(pairs)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    return Request(amounts, not_ready or dqo.SYNCHRONIZED, message or DEFAULT_MESSAGE, force)


async def _set(client: Client, name: str, request: Request, *, dry_run: bool) -> list[str]:
    """Reads, judges and writes, anew where somebody else has written in between."""
    from kueue_dqo.cli.cluster import FIELD_MANAGER, explained, what_became_of

    path = CAPACITY_PROVIDERS.path(name)
    for _ in range(_ATTEMPTS):
        try:
            held = read_provider(await client.get(path))
        except NotFound as error:
            raise CommandError(
                f"the cluster has no CapacityProvider {name}: create it first, or correct the name"
            ) from error
        except ObjectInvalid as error:
            raise CommandError(f"CapacityProvider/{name} cannot be read: {error}") from error
        now = time_text(datetime.datetime.now(datetime.UTC))
        status = wanted_status(held, request, now)
        lines = summary(held, status)
        if is_written(held, status):
            return [f"{lines[0]} (unchanged)", *lines[1:]]
        try:
            await client.json_patch(
                CAPACITY_PROVIDERS.path(name, subresource="status"),
                patch(held, status),
                field_manager=FIELD_MANAGER,
                params={"dryRun": "All"} if dry_run else {},
            )
        except Invalid as error:
            if not error.is_failed_test:
                raise CommandError(f"CapacityProvider/{name}: the API server refuses it: {error}") from error
        except ApiError as error:
            raise CommandError(f"CapacityProvider/{name} {what_became_of(error)}: {explained(error)}") from error
        else:
            return [f"{lines[0]} (dry run: nothing was written)", *lines[1:]] if dry_run else lines
    raise CommandError(
        f"CapacityProvider/{name} was changed by others {_ATTEMPTS} times while it was being written: see who writes "
        "to it (kubectl get capacityprovider -o yaml --show-managed-fields), and try again"
    )
