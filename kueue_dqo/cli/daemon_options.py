"""What the daemons have in common: the options of any process, those of an election, and how a daemon is run."""

from __future__ import annotations

import math
import socket
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, TypedDict, TypeVar

import click

from kueue_dqo.api import durations
from kueue_dqo.api.problems import DNS_LABEL, OBJECT_NAME, Form, shown
from kueue_dqo.cli.errors import CommandError

F = TypeVar("F", bound=Callable[..., Any])

CONTEXT_SETTINGS: Final = {"auto_envvar_prefix": "DQO"}
"""Of a daemon's command: each option can be given by an environment variable as well."""
_NAMESPACE_FILE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_DEFAULT_NAMESPACE: Final = "kueue-dqo-system"
_LEAST: Final = 0.01


class ProcessArguments(TypedDict):
    """What the options of `process_options` give a command."""

    listen: tuple[str, int]
    kubeconfig: str | None
    context: str | None
    log_level: str
    log_format: str
    grace: float


class ElectionArguments(TypedDict):
    """What the options of `election_options` give a command."""

    namespace: str | None
    lease_name: str
    lease_duration: float
    renew_deadline: float
    retry_period: float
    leader_elect: bool
    identity: str | None


class DaemonArguments(ElectionArguments, ProcessArguments):
    """What the options of `daemon_options` give a command."""


class Address(click.ParamType):  # type: ignore[type-arg]  # generic only since click 8.4
    """`HOST:PORT`."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        if isinstance(value, tuple):
            return value
        host, _, port = str(value).rpartition(":")
        if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:  # noqa: PLR2004 - the last port
            self.fail(f"{value!r} is no address: write HOST:PORT, such as 0.0.0.0:8080 or [::]:8080", param, ctx)
        return host.removeprefix("[").removesuffix("]"), int(port)


class Number(click.FloatRange):
    """A number within bounds, which rules out infinity; and NaN, which no comparison does."""

    def __init__(self, low: float, high: float) -> None:
        super().__init__(min=low, max=high)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is no number", param, ctx)
        if 0 < number < _LEAST:
            self.fail(f"{value!r} is too little: {_LEAST:g} is the least above 0", param, ctx)
        return number


class DurationType(click.ParamType):  # type: ignore[type-arg]  # generic only since click 8.4
    """A duration of at least one second."""

    name = "duration"

    def __init__(self, longest: durations.Duration | None = None) -> None:
        """`longest`: more than that is refused."""
        self._longest = longest

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> durations.Duration:
        if isinstance(value, durations.Duration):
            return value
        try:
            duration = durations.Duration.of(value)
        except durations.DurationError as error:
            self.fail(str(error), param, ctx)
        if not duration:
            self.fail(f"{value!r} is too short: 1s is the least", param, ctx)
        if self._longest is not None and duration > self._longest:
            self.fail(f"{value!r} is more than {self._longest}", param, ctx)
        return duration


class Name(click.ParamType):  # type: ignore[type-arg]  # generic only since click 8.4
    """The name of an object, which is looked for or created only after a while: too late to find it impossible."""

    name = "text"

    def __init__(self, form: Form) -> None:
        self._form = form

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not self._form.fits(value):
            self.fail(f"{shown(value)} is no {self._form.wanted}", param, ctx)
        return str(value)


def option(*names: str, **settings: Any) -> Callable[[F], F]:
    """An option with its environment variable in the help."""
    return click.option(*names, show_envvar=True, show_default=True, **settings)


def daemon_options(lease_name: str) -> Callable[[F], F]:
    """The options of a daemon whose replicas elect their leader by that Lease, unless they are told another one."""
    return _together(election_options(lease_name), process_options())


def election_options(lease_name: str) -> Callable[[F], F]:
    """Where and how replicas elect their leader; by that Lease, unless they are told another one."""
    return _together(
        option(
            "--namespace",
            type=Name(DNS_LABEL),
            help=f"Where the Leases are. [default: the pod's own, else {_DEFAULT_NAMESPACE}]",
        ),
        option(
            "--lease-name",
            type=Name(OBJECT_NAME),
            default=lease_name,
            help="The Lease that replicas elect their leader by.",
        ),
        option(
            "--lease-duration", type=Number(1, 3600), default=15.0, help="Seconds after which a silent leader has lost."
        ),
        option(
            "--renew-deadline",
            type=Number(0.5, 3600),
            default=10.0,
            help="Seconds after which a leader that cannot renew gives up.",
        ),
        option("--retry-period", type=Number(0.1, 3600), default=2.0, help="Seconds between two tries."),
        option("--leader-elect/--no-leader-elect", default=True, help="Whether to write only as the elected leader."),
        option("--identity", help="This replica in the election; a random part is added. [default: the host name]"),
    )


def process_options() -> Callable[[F], F]:
    """Of any process that runs until a signal: its address, its cluster, its logs, its end."""
    return _together(
        option(
            "--listen", type=Address(), default="0.0.0.0:8080", help="Where /healthz, /readyz and /metrics are served."
        ),
        option(
            "--kubeconfig",
            help="A kubeconfig file. [default: the pod's service account, else KUBECONFIG, else ~/.kube/config]",
        ),
        option("--context", help="A context of the kubeconfig. [default: its current one]"),
        option(
            "--log-level",
            type=click.Choice(["debug", "info", "warning", "error"]),
            default="info",
            help="The least important logs.",
        ),
        option(
            "--log-format",
            type=click.Choice(["json", "console"]),
            default="json",
            help="Logs for machines or for people.",
        ),
        option("--grace", type=Number(1, 3600), default=20.0, help="Seconds to finish after SIGTERM."),
    )


def _together(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """As if they stood one below the other."""

    def decorate(function: F) -> F:
        for each in reversed(decorators):
            function = each(function)
        return function

    return decorate


def process_settings(arguments: DaemonArguments) -> dict[str, Any]:
    """The fields of ProcessOptions. Raises click.UsageError where the times of the election do not go together."""
    lease_duration, renew_deadline = arguments["lease_duration"], arguments["renew_deadline"]
    if not 0 < arguments["retry_period"] < renew_deadline < lease_duration:
        msg = (
            f"--retry-period {arguments['retry_period']:g}, --renew-deadline {renew_deadline:g} and --lease-duration "
            f"{lease_duration:g} have to be each longer than the one before"
        )
        raise click.UsageError(msg)
    if arguments["leader_elect"] and lease_duration - renew_deadline < 1:
        msg = (
            f"--renew-deadline {renew_deadline:g} is too close to --lease-duration {lease_duration:g}: what a leader "
            "sends in its last moment needs 1 second at least to be over before the next one begins"
        )
        raise click.UsageError(msg)
    host, port = arguments["listen"]
    same = ("lease_name", "lease_duration", "renew_deadline", "retry_period", "leader_elect", "kubeconfig", "context")
    values: dict[str, Any] = {**arguments}
    return {
        "namespace": arguments["namespace"] or _own_namespace(),
        # A restarted process is another one: what its predecessor has sent may still be under way.
        "identity": f"{arguments['identity'] or socket.gethostname()}_{uuid.uuid4().hex[:8]}",
        "host": host,
        "port": port,
        **{name: values[name] for name in same},
    }


def run_daemon(arguments: ProcessArguments, run: Callable[[], Awaitable[int | None]]) -> int:
    """Runs it until a signal, or until it returns. Returns the exit code, which `run` may say.

    Raises CommandError for what a user can put right.
    """
    from kueue_dqo.runtime.daemon import EXIT_FAILED, run_process
    from kueue_dqo.runtime.errors import ConfigurationError
    from kueue_dqo.runtime.logs import configure_logs
    from kueue_dqo.runtime.process import CannotListen

    configure_logs(level=arguments["log_level"], form="console" if arguments["log_format"] == "console" else "json")
    failed: list[str] = []

    async def main() -> int | None:
        try:
            return await run()
        except ConfigurationError as error:
            failed.append(str(error))
        except CannotListen as error:
            failed.append(f"{error}; choose another address with --listen")
        return EXIT_FAILED

    code = run_process(main, grace=arguments["grace"])
    if failed:
        raise CommandError(failed[0])
    return code


def _own_namespace() -> str:
    try:
        return _NAMESPACE_FILE.read_text(encoding="utf-8").strip() or _DEFAULT_NAMESPACE
    except FileNotFoundError:
        return _DEFAULT_NAMESPACE
