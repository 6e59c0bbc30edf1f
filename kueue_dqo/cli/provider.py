"""`dqo provider`: the daemons that publish capacity, ours and third parties'. Each is known by an entry point."""

from __future__ import annotations

from functools import partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, cast

import click

from kueue_dqo.api.durations import Duration
from kueue_dqo.api.problems import DNS_LABEL
from kueue_dqo.cli.daemon_options import (
    CONTEXT_SETTINGS,
    DaemonArguments,
    DurationType,
    daemon_options,
    option,
    process_settings,
    run_daemon,
)
from kueue_dqo.cli.errors import CommandError
from kueue_dqo.cli.variants import by_flag, by_role
from kueue_dqo.provider import ENTRY_POINTS, CapacityController, Setting

_WITH_AGENT: Final = "nvidia-gpu"
"""The provider whose source is what agents report, one on each node."""
_ASKING_CLOUDS: Final = "cloud-quota"
"""The provider whose source can be asked without a cluster."""


class _Providers(click.Group):
    """A group whose commands are the entry points that are installed. None is imported before it is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return sorted({each.name for each in entry_points(group=ENTRY_POINTS)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        _check_name(cmd_name)
        daemon = partial(_command, cmd_name)
        if cmd_name == _WITH_AGENT:
            return by_role(cmd_name, {"aggregator": daemon, "agent": _agent})
        if cmd_name == _ASKING_CLOUDS:
            return by_flag(cmd_name, "--once", without=daemon, given=_once, text=_TEXT_OF_ONCE)
        return daemon()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the names, each with where it comes from."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, f"From {' and '.join(map(_origin, _found(name)))}.") for name in self.list_commands(ctx)]
            )


@click.group(cls=_Providers)
def provider() -> None:
    """Run a daemon that publishes the capacity of one kind of source.

    It keeps the status of each CapacityProvider whose spec.controllerName is its own. The commands are those of the
    packages that are installed.
    """


def _command(name: str) -> click.Command:
    """The daemon of that name. All have the same options, and those that its controller declares."""
    controller = _loaded(name)
    settings = {_key(setting): setting for setting in controller.settings}

    @click.command(
        name,
        context_settings=CONTEXT_SETTINGS,
        help=f"Run the provider {name}: the statuses of its CapacityProviders say what its source observes.\n\n"
        "Several replicas may run; one of them, the leader, asks the source and writes. It ends on SIGTERM.",
    )
    @option(
        "--only",
        metavar="NAME",
        multiple=True,
        help="Serve this CapacityProvider alone; may be repeated. Such a daemon needs a --lease-name of its own. "
        "[default: all of the controller's]",
    )
    @option(
        "--interval",
        type=DurationType(),
        default="5m",
        help="After what time the source is asked anew where nothing has changed; up to a tenth more or less.",
    )
    @option("--observe-timeout", type=DurationType(), default="60s", help="How long the source may take for an answer.")
    @option(
        "--concurrency",
        type=click.IntRange(min=1, max=64),
        default=4,
        help="CapacityProviders that the source is asked about at the same time.",
    )
    @daemon_options(f"kueue-dqo-{name}")
    def command(
        only: tuple[str, ...],
        interval: Duration,
        observe_timeout: Duration,
        concurrency: int,
        **others: Any,
    ) -> int:
        from providers.daemon import Options, run

        given = {setting.name: others.pop(key) for key, setting in settings.items()}
        daemon = cast("DaemonArguments", others)
        options = Options(
            name=name,
            only=frozenset(only),
            interval=float(interval.seconds),
            observe_timeout=float(observe_timeout.seconds),
            concurrency=concurrency,
            settings=given,
            **process_settings(daemon),
        )
        return run_daemon(daemon, lambda: run(options, controller))

    taken = {each.name for each in command.params} | {"help"}
    for key, setting in settings.items():
        if key in taken or not DNS_LABEL.fits(setting.name):
            raise CommandError(
                f"provider {name!r} of {' and '.join(map(_origin, _found(name)))} cannot be run: its setting "
                f"{setting.name!r} {'is an option of every daemon' if key in taken else 'can be no option'}; the "
                f"package has to give it another name ({DNS_LABEL.wanted})"
            )
        taken.add(key)
        command.params.append(_option_of(setting))
    return command


def _key(setting: Setting) -> str:
    return setting.name.replace("-", "_")


def _option_of(setting: Setting) -> click.Option:
    is_flag = isinstance(setting.default, bool)
    return click.Option(
        [f"--{setting.name}"],
        is_flag=is_flag,
        default=setting.default,
        metavar=None if is_flag else setting.metavar,
        help=setting.text,
        show_envvar=True,
        show_default=not is_flag and bool(setting.default),
    )


def _agent() -> click.Command:
    from kueue_dqo.cli.nvidia_gpu_agent import agent

    return agent


_TEXT_OF_ONCE: Final = (
    "Run no daemon: ask the clouds once about the parameters in files, and show what would be published. No cluster is "
    "needed. It has options of its own, which --once --help shows."
)


def _once() -> click.Command:
    from kueue_dqo.cli.cloud_quota.command import once

    return once


def _check_name(name: str) -> None:
    """Raises CommandError where the name of an entry point is of no use as a part of other names."""
    if not DNS_LABEL.fits(name):
        origins = " and ".join(map(_origin, _found(name)))
        raise CommandError(
            f"provider {name!r} of {origins} cannot be run: the name of an entry point becomes a part of a Lease's, "
            f"and this is no {DNS_LABEL.wanted}; the package has to give it another one"
        )


def _loaded(name: str) -> CapacityController[Any]:
    """What the entry point of that name leads to. Raises CommandError."""
    found = _found(name)
    if len(found) > 1:
        raise CommandError(
            f"provider {name!r} is given by {' and by '.join(map(_origin, found))}: uninstall all but one of them"
        )
    (entry,) = found
    try:
        controller = entry.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module may also end the process when it is imported
        raise CommandError(
            f"provider {name!r} cannot be loaded: {entry.value} of {_origin(entry)}: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(controller, CapacityController):
        raise CommandError(
            f"provider {name!r} cannot be run: {entry.value} of {_origin(entry)} is a {type(controller).__name__}, not "
            "a kueue_dqo.provider.CapacityController"
        )
    return controller


def _found(name: str) -> list[EntryPoint]:
    """Its entry points; a distribution that is on the path twice counts once."""
    found = {(_origin(each), each.value): each for each in entry_points(group=ENTRY_POINTS, name=name)}
    return [found[key] for key in sorted(found)]


def _origin(entry: EntryPoint) -> str:
    return f"the distribution {entry.dist.name}" if entry.dist is not None else "an unknown distribution"
