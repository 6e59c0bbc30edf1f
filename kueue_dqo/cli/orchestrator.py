"""`dqo orchestrator`: the daemon."""

from __future__ import annotations

from typing import Unpack

import click

from kueue_dqo.cli.daemon_options import (
    CONTEXT_SETTINGS,
    DaemonArguments,
    Number,
    daemon_options,
    option,
    process_settings,
    run_daemon,
)


@click.command(context_settings=CONTEXT_SETTINGS)
@option(
    "--enforcement",
    type=click.Choice(["auto", "spec", "status", "observe"]),
    default="auto",
    help="How quotas take effect. spec: through spec.resourceGroups, for any Kueue. status: through "
    "status.effectiveQuotas, for Kueue 0.20 without its own orchestrator. observe: nothing is written. auto: spec "
    "where the DynamicQuotaOrchestrator CRD is this project's, observe where it is Kueue's.",
)
@option("--concurrency", type=click.IntRange(min=1, max=256), default=16, help="Writes under way at the same time.")
@option("--write-qps", type=Number(0, 100_000), default=100.0, help="Writes a second, 0 for no limit.")
@option(
    "--write-burst",
    type=click.IntRange(min=1, max=1_000_000),
    default=200,
    help="Writes at once before the limit is felt.",
)
@option(
    "--quota-metrics/--no-quota-metrics", default=True, help="A metric for each pair of each ClusterQueue and Cohort."
)
@daemon_options("kueue-dqo-orchestrator")
def orchestrator(
    enforcement: str,
    concurrency: int,
    write_qps: float,
    write_burst: int,
    quota_metrics: bool,
    **daemon: Unpack[DaemonArguments],
) -> int:
    """Run the orchestrator: quotas of a subtree follow the capacity that providers report.

    Several replicas may run; one of them, the leader, writes. It ends on SIGTERM once the writes under way are through.
    """
    from orchestrator.cluster import Enforcement
    from orchestrator.daemon import Options, run

    options = Options(
        enforcement=Enforcement(enforcement),
        concurrency=concurrency,
        write_qps=write_qps,
        write_burst=write_burst,
        quota_metrics=quota_metrics,
        **process_settings(daemon),
    )
    return run_daemon(daemon, lambda: run(options))
