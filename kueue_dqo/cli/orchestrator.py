"""`dqo orchestrator`: the daemon."""

from __future__ import annotations

import math
import socket
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from kueue_dqo.cli.errors import CommandError

F = TypeVar("F", bound=Callable[..., Any])

_NAMESPACE_FILE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_DEFAULT_NAMESPACE: Final = "kueue-dqo-system"
_LEAST: Final = 0.01


class _Address(click.ParamType):  # type: ignore[type-arg]  # generic only since click 8.4
    """`HOST:PORT`."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        if isinstance(value, tuple):
            return value
        host, _, port = str(value).rpartition(":")
        if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:  # noqa: PLR2004 - the last port
            self.fail(f"{value!r} is no address: write HOST:PORT, such as 0.0.0.0:8080 or [::]:8080", param, ctx)
        return host.removeprefix("[").removesuffix("]"), int(port)


class _Number(click.FloatRange):
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


def _option(name: str, **settings: Any) -> Callable[[F], F]:
    """An option with its environment variable in the help."""
    return click.option(name, show_envvar=True, show_default=True, **settings)


@click.command(context_settings={"auto_envvar_prefix": "DQO"})
@_option(
    "--enforcement",
    type=click.Choice(["auto", "spec", "status", "observe"]),
    default="auto",
    help="How quotas take effect. spec: through spec.resourceGroups, for any Kueue. status: through "
    "status.effectiveQuotas, for Kueue 0.20 without its own orchestrator. observe: nothing is written. auto: spec "
    "where the DynamicQuotaOrchestrator CRD is this project's, observe where it is Kueue's.",
)
@_option("--namespace", help=f"Where the Leases are. [default: the pod's own, else {_DEFAULT_NAMESPACE}]")
@_option("--lease-name", default="kueue-dqo-orchestrator", help="The Lease that replicas elect their leader by.")
@_option("--lease-duration", type=_Number(1, 3600), default=15.0, help="Seconds after which a silent leader has lost.")
@_option(
    "--renew-deadline",
    type=_Number(0.5, 3600),
    default=10.0,
    help="Seconds after which a leader that cannot renew gives up.",
)
@_option("--retry-period", type=_Number(0.1, 3600), default=2.0, help="Seconds between two tries.")
@_option("--leader-elect/--no-leader-elect", default=True, help="Whether to write only as the elected leader.")
@_option("--identity", help="This replica in the election; a random part is added. [default: the host name]")
@_option("--listen", type=_Address(), default="0.0.0.0:8080", help="Where /healthz, /readyz and /metrics are served.")
@_option("--concurrency", type=click.IntRange(min=1, max=256), default=16, help="Writes under way at the same time.")
@_option("--write-qps", type=_Number(0, 100_000), default=100.0, help="Writes a second, 0 for no limit.")
@_option(
    "--write-burst",
    type=click.IntRange(min=1, max=1_000_000),
    default=200,
    help="Writes at once before the limit is felt.",
)
@_option(
    "--kubeconfig", help="A kubeconfig file. [default: the pod's service account, else KUBECONFIG, else ~/.kube/config]"
)
@_option("--context", help="A context of the kubeconfig. [default: its current one]")
@_option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    help="The least important logs.",
)
@_option(
    "--log-format", type=click.Choice(["json", "console"]), default="json", help="Logs for machines or for people."
)
@_option(
    "--quota-metrics/--no-quota-metrics", default=True, help="A metric for each pair of each ClusterQueue and Cohort."
)
@_option("--grace", type=_Number(1, 3600), default=20.0, help="Seconds to finish after SIGTERM.")
def orchestrator(
    enforcement: str,
    namespace: str | None,
    lease_name: str,
    lease_duration: float,
    renew_deadline: float,
    retry_period: float,
    leader_elect: bool,
    identity: str | None,
    listen: tuple[str, int],
    concurrency: int,
    write_qps: float,
    write_burst: int,
    kubeconfig: str | None,
    context: str | None,
    log_level: str,
    log_format: str,
    quota_metrics: bool,
    grace: float,
) -> int:
    """Run the orchestrator: quotas of a subtree follow the capacity that providers report.

    Several replicas may run; one of them, the leader, writes. It ends on SIGTERM once the writes under way are through.
    """
    import asyncio

    from kueue_dqo.runtime.daemon import run_until_signalled
    from kueue_dqo.runtime.errors import ConfigurationError
    from kueue_dqo.runtime.logs import configure_logs
    from orchestrator.cluster import Enforcement
    from orchestrator.daemon import CannotListen, Options, run

    if not 0 < retry_period < renew_deadline < lease_duration:
        msg = (
            f"--retry-period {retry_period:g}, --renew-deadline {renew_deadline:g} and --lease-duration "
            f"{lease_duration:g} have to be each longer than the one before"
        )
        raise click.UsageError(msg)
    if leader_elect and lease_duration - renew_deadline < 1:
        msg = (
            f"--renew-deadline {renew_deadline:g} is too close to --lease-duration {lease_duration:g}: what a leader "
            "sends in its last moment needs 1 second at least to be over before the next one begins"
        )
        raise click.UsageError(msg)
    host, port = listen
    options = Options(
        enforcement=Enforcement(enforcement),
        namespace=namespace or _own_namespace(),
        # A restarted process is another one: what its predecessor has sent may still be under way.
        identity=f"{identity or socket.gethostname()}_{uuid.uuid4().hex[:8]}",
        lease_name=lease_name,
        lease_duration=lease_duration,
        renew_deadline=renew_deadline,
        retry_period=retry_period,
        leader_elect=leader_elect,
        host=host,
        port=port,
        concurrency=concurrency,
        write_qps=write_qps,
        write_burst=write_burst,
        kubeconfig=kubeconfig,
        context=context,
        quota_metrics=quota_metrics,
    )
    configure_logs(level=log_level, form="console" if log_format == "console" else "json")
    failed: list[str] = []

    async def main() -> None:
        try:
            await run(options)
        except ConfigurationError as error:
            failed.append(str(error))
        except CannotListen as error:
            failed.append(f"{error}; choose another address with --listen")

    code = asyncio.run(run_until_signalled(main, grace=grace))
    if failed:
        raise CommandError(failed[0])
    return code


def _own_namespace() -> str:
    try:
        return _NAMESPACE_FILE.read_text(encoding="utf-8").strip() or _DEFAULT_NAMESPACE
    except FileNotFoundError:
        return _DEFAULT_NAMESPACE
