"""One name of a command, several roles: `--role` says which command is meant, and each has options of its own."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, Final

import click

from kueue_dqo.cli.daemon_options import CONTEXT_SETTINGS

_OPTION: Final = "--role"


class WithRoles(click.Command):
    """Parses and runs the command of the role that the arguments, or DQO_ROLE, name."""

    def __init__(self, name: str, roles: Mapping[str, Callable[[], click.Command]]) -> None:
        """`roles`: how to come by the command of each; the first is the default. Only the one asked for is called."""
        super().__init__(name, context_settings=CONTEXT_SETTINGS)
        self.roles: Final = tuple(roles)
        self._commands = roles
        self._choice = click.Choice(self.roles)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """The context of the role's command. Raises click.UsageError."""
        role = self._asked(info_name, list(args), parent, **extra)
        command = copy.copy(self._commands[role]())
        command.params = [self._option(), *command.params]
        return command.make_context(info_name, args, parent, **extra)

    def _asked(self, info_name: str | None, args: list[str], parent: click.Context | None, **extra: Any) -> str:
        """The role. All other arguments are left to its command, which knows what they mean."""

        @click.command(
            add_help_option=False,
            context_settings={**CONTEXT_SETTINGS, "ignore_unknown_options": True, "allow_extra_args": True},
        )
        @click.option(_OPTION, type=self._choice, default=self.roles[0])
        def pick(role: str) -> None:
            del role

        role: str = pick.make_context(info_name, args, parent, **extra).params["role"]
        return role

    def _option(self) -> click.Option:
        """For the help of each role's command, and so that it knows the option when it meets it."""
        return click.Option(
            [_OPTION],
            type=self._choice,
            default=self.roles[0],
            show_default=True,
            show_envvar=True,
            expose_value=False,
            help="What this process is. Each role has options of its own, which --role ROLE --help shows.",
        )
