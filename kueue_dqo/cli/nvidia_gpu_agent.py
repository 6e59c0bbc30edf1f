"""`dqo provider nvidia-gpu --role agent`: what reads the GPUs of one node and reports them."""

from __future__ import annotations

from typing import Final, Unpack

import click

from kueue_dqo.api.durations import Duration
from kueue_dqo.api.problems import OBJECT_NAME
from kueue_dqo.cli.daemon_options import (
    CONTEXT_SETTINGS,
    DurationType,
    Name,
    ProcessArguments,
    option,
    process_options,
    run_daemon,
)

_LONGEST_HEARTBEAT: Final = Duration(24 * 3600)
"""As the definition of the report has it."""


@click.command("nvidia-gpu", context_settings=CONTEXT_SETTINGS)
@option(
    "--node-name",
    type=Name(OBJECT_NAME),
    help="The node that this is, which its report is named after. [default: as the pod's token says]",
)
@option(
    "--poll",
    type=DurationType(),
    default="10s",
    help="How often all GPUs are read; not more seldom than the heartbeat. An XID is answered at once.",
)
@option(
    "--heartbeat",
    type=DurationType(_LONGEST_HEARTBEAT),
    default="5m",
    help="After what time the report is renewed where nothing has changed; up to a tenth more or less.",
)
@option(
    "--nvml-timeout",
    type=DurationType(),
    default="30s",
    help="How long the driver may take for all GPUs. Then it hangs: the report says so and the process ends, to be "
    "started anew.",
)
@option(
    "--unknown-grace",
    type=DurationType(),
    default="10m",
    help="How long a GPU that was readable keeps its last state while reading it fails for a reason that is neither "
    "its loss nor its need of a reset.",
)
@option(
    "--disable-health-checks",
    metavar="LIST",
    help="Which signs of bad health are ignored: all, xids, or numbers of XIDs separated by commas; as the device "
    "plugin's DP_DISABLE_HEALTHCHECKS. A lost GPU is lost all the same.",
)
@option(
    "--enable-health-checks",
    metavar="LIST",
    help="XIDs that count all the same, those that are ignored by default included: their numbers, or xids for all of "
    "them; as the device plugin's DP_ENABLE_HEALTHCHECKS. By default, unlike there, 63 and 154 mark no GPU, but have "
    "all of them read at once.",
)
@process_options()
def agent(
    node_name: str | None,
    poll: Duration,
    heartbeat: Duration,
    nvml_timeout: Duration,
    unknown_grace: Duration,
    disable_health_checks: str | None,
    enable_health_checks: str | None,
    **process: Unpack[ProcessArguments],
) -> int:
    """Run the agent of one node: its NodeGPUReport says which NVIDIA GPUs are healthy.

    To be run on each node that has GPUs; what all of them report is published by the role aggregator. It ends on
    SIGTERM, and with exit code 1 where NVML can be used again only by another process.
    """
    from providers.nvidia_gpu.agent.checks import Checks
    from providers.nvidia_gpu.agent.process import Options, run

    try:
        checks = Checks.of(disable_health_checks or "", enable_health_checks or "")
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if poll > heartbeat:
        raise click.UsageError(
            f"--poll {poll} is longer than --heartbeat {heartbeat}: a heartbeat says when the GPUs were read last, and "
            "one without a reading since the last one would say nothing; poll more often, or give a longer --heartbeat"
        )
    host, port = process["listen"]
    options = Options(
        node_name=node_name,
        poll=float(poll.seconds),
        heartbeat=float(heartbeat.seconds),
        nvml_timeout=float(nvml_timeout.seconds),
        unknown_grace=float(unknown_grace.seconds),
        checks=checks,
        grace=process["grace"],
        host=host,
        port=port,
        kubeconfig=process["kubeconfig"],
        context=process["context"],
    )
    return run_daemon(process, lambda: run(options))
