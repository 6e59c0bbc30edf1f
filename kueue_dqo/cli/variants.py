"""One name, several commands: an option says which of them is meant, and each has options of its own."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, Final

import click

from kueue_dqo.cli.daemon_options import CONTEXT_SETTINGS

Factory = Callable[[], click.Command]
"""How to come by a command, whose code is imported only then."""


class Variants(click.Command):
    """Parses and runs the command that the arguments, or the option's environment variable, name."""

    def __init__(
        self, name: str, option: click.Option, commands: Mapping[Any, Factory], calls: tuple[tuple[str, ...], ...]
    ) -> None:
        """Takes the commands behind the name; use `by_role` or `by_flag`.

        Args:
            name: of the command.
            option: says by its value which command is meant.
            commands: by that value. Only the one asked for is called.
            calls: the arguments that lead to each of them, for the documentation.
        """
        super().__init__(name, context_settings=CONTEXT_SETTINGS)
        self.calls: Final = calls
        self._option = option
        self._commands = commands

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """The context of the command that is meant. Raises click.UsageError."""
        chosen = self._asked(info_name, list(args), parent, **extra)
        command = copy.copy(self._commands[chosen]())
        # It knows the option when it meets it, and tells of it in its help; the value is not for it.
        option = copy.copy(self._option)
        option.expose_value = False
        command.params = [option, *command.params]
        return command.make_context(info_name, args, parent, **extra)

    def _asked(self, info_name: str | None, args: list[str], parent: click.Context | None, **extra: Any) -> Any:
        """The value of the option. All other arguments are left to the command, which knows what they mean."""
        pick = click.Command(
            self.name,
            params=[self._option],
            add_help_option=False,
            context_settings={**CONTEXT_SETTINGS, "ignore_unknown_options": True, "allow_extra_args": True},
        )
        return pick.make_context(info_name, args, parent, **extra).params[self._option.name or ""]


def by_role(name: str, roles: Mapping[str, Factory]) -> Variants:
    """`--role ROLE`, or DQO_ROLE, says which command is meant: the first one where it is not given."""
    option = click.Option(
        ["--role"],
        type=click.Choice(tuple(roles)),
        default=next(iter(roles)),
        show_default=True,
        show_envvar=True,
        help="What this process is. Each role has options of its own, which --role ROLE --help shows.",
    )
    return Variants(name, option, roles, tuple(("--role", role) for role in roles))


def by_flag(name: str, flag: str, *, without: Factory, given: Factory, text: str) -> Variants:
    """The flag, such as `--once`, says that the command `given` is meant; on the command line only."""
    option = click.Option([flag], is_flag=True, allow_from_autoenv=False, help=text)
    return Variants(name, option, {False: without, True: given}, ((), (flag,)))
