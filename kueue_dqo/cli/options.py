"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


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
