"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from kueue_dqo.api.quantity import Quantity, QuantityError

F = TypeVar("F", bound=Callable[..., Any])

TABLE: Final = "table"


class Size(click.ParamType):  # type: ignore[type-arg]  # generic only since click 8.4
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


def files_options(command: F) -> F:
    """`-f`, which may be left out: `files` and `more_files`, which paths are read."""
    for option in (
        click.argument("more_files", metavar="[PATH]...", nargs=-1),
        click.option(
            "-f",
            "--filename",
            "files",
            metavar="PATH",
            multiple=True,
            help="A file, a folder (read with all below it), or - for standard input. May be repeated; the -f may be "
            "left out.",
        ),
    ):
        command = option(command)
    return command


def output_option(text: str) -> Callable[[F], F]:
    """`-o`: a table, JSON or YAML."""
    return click.option(
        "-o", "--output", type=click.Choice([TABLE, "json", "yaml"]), default=TABLE, show_default=True, help=text
    )


def max_file_size_option(command: F) -> F:
    """`--max-file-size`."""
    option: Callable[[F], F] = click.option(
        "--max-file-size",
        type=Size(),
        default="1Gi",
        show_default=True,
        help="Refuse to read a file larger than this.",
    )
    return option(command)


def cluster_options(command: F) -> F:
    """`--kubeconfig` and `--context`: which cluster is meant, as kubectl takes them."""
    for option in (
        click.option(
            "--context",
            metavar="NAME",
            envvar="DQO_CONTEXT",
            show_envvar=True,
            help="The context of the kubeconfig, in place of the current one.",
        ),
        click.option(
            "--kubeconfig",
            metavar="PATH",
            envvar="DQO_KUBECONFIG",
            show_envvar=True,
            help="The kubeconfig file. Without it: the files in KUBECONFIG, a pod's service account, ~/.kube/config.",
        ),
    ):
        command = option(command)
    return command
