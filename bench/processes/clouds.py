"""The fakes of both clouds: a process that answers the SDKs by HTTP, and the benchmark by lines of JSON."""

from __future__ import annotations

import datetime
import json
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from bench import accounts
from tests.clouds.aws import rows
from tests.clouds.aws.account import Aws
from tests.clouds.aws.faults import Slow
from tests.clouds.aws.server import running
from tests.clouds.gcp import things
from tests.clouds.gcp.gcp import Gcp, Project
from tests.clouds.gcp.replies import Reply
from tests.clouds.gcp.server import gcp_services

_DATA = ("compute.", "cloudquotas.", "servicequotas:", "ec2:", "sts:")
"""How the names of calls begin that are not about credentials of the pod."""
_GCP_METHODS = (
    "compute.regions.get",
    "compute.projects.get",
    "compute.machineTypes.get",
    "compute.reservations.list",
    "cloudquotas.quotas.get",
)


class _Latency(threading.Event):
    """Is set after so many seconds, for whoever waits."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    def wait(self, timeout: float | None = None) -> bool:
        del timeout
        time.sleep(self._seconds)
        return True


def main(folder: str) -> None:
    with running() as aws, gcp_services() as gcp:
        _fill_aws(aws.aws)
        _fill_gcp(gcp.gcp)
        _say({"aws": aws.environment(Path(folder), aws.aws.credentials.user()), "gcp": gcp.environment()})
        seen: Counter[str] = Counter()
        for line in sys.stdin:
            command = json.loads(line)
            if "latency" in command:
                _delay(aws.aws, gcp.gcp, command["latency"])
                _say({})
                continue
            made = Counter(each.operation for each in aws.aws.requests) + gcp.gcp.counts()
            others = _GCP_METHODS if command["count"] == "aws" else {each for each in made if ":" in each}
            new = {name: count - seen[name] for name, count in made.items() if name not in others}
            seen.update(new)
            _say({name: count for name, count in new.items() if count and name.startswith(_DATA)})


def _say(content: Any) -> None:
    print(json.dumps(content), flush=True)


def _delay(aws: Aws, gcp: Gcp, seconds: float) -> None:
    def late(right: Reply) -> Reply:
        time.sleep(seconds)
        return right

    aws.heal()
    gcp.mend()
    if seconds:
        aws.add(Slow(released=_Latency(seconds)))
        for method in _GCP_METHODS:
            gcp.fail(method, late)


def _fill_aws(aws: Aws) -> None:
    """A quota that was raised, one that was not, a reservation, a block for as long as anybody measures."""
    region = aws.region(accounts.AWS_REGION)
    region.apply(accounts.P_QUOTA, 768.0)
    region.default(accounts.STANDARD_QUOTA, 5.0)
    end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=30)
    region.reservations = [
        rows.reservation(accounts.RESERVATION, rows.P5, 1),
        rows.block(accounts.BLOCK, rows.P5, 4, end),
    ]
    region.block_statuses = [rows.block_status(accounts.BLOCK, 4, 0)]


def _fill_gcp(gcp: Gcp) -> None:
    """Quotas of a region and over all of them, one by family, a reservation."""
    project, region = Project(accounts.PROJECT), accounts.GCP_REGION
    limits = {"NVIDIA_L4_GPUS": 16, "PREEMPTIBLE_NVIDIA_L4_GPUS": 64, "C3_CPUS": 500}
    project.regions[region] = things.region(accounts.PROJECT, region, limits)
    project.quotas = things.quotas({"GPUS_ALL_REGIONS": 128, "CPUS_ALL_REGIONS": 2000})
    shapes: tuple[tuple[str, str, int, dict[str, int]], ...] = (
        (f"{region}-a", "g2-standard-96", 96, {"nvidia-l4": 8}),
        (f"{region}-a", "a3-highgpu-8g", 208, {"nvidia-h100-80gb": 8}),
        (f"{region}-a", "c3-standard-8", 8, {}),
    )
    project.machine_types = [
        things.machine_type(
            accounts.PROJECT, zone, name, vcpus=vcpus, memory_mib=4096 * vcpus, accelerators=accelerators
        )
        for zone, name, vcpus, accelerators in shapes
    ]
    dimensions = {"region": region, "gpu_family": "NVIDIA_H100"}
    project.quota_infos = [things.gpu_families(accounts.PROJECT, [(dimensions, 64, [])])]
    project.reservations = [
        things.reservation(accounts.PROJECT, f"{region}-a", accounts.H100_RESERVATION, "a3-highgpu-8g", 3)
    ]
    gcp.add(project)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    main(*sys.argv[1:])
