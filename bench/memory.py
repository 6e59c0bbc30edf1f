"""What the orchestrator holds and asks for with 10,000 ClusterQueues."""

from __future__ import annotations

import time
from typing import Final

from bench import cluster
from bench.measure import MEGABYTE, print_load, print_title

_QUEUES: Final = 10_000
_QUICK: Final = 500
_REST: Final = 120.0
"""Seconds over which requests at rest are counted."""


def measure(*, quick: bool) -> None:
    queues, rest = (_QUICK, 20.0) if quick else (_QUEUES, _REST)
    print_title(f"memory: {queues:,} ClusterQueues of 12 pairs")
    with cluster.control_plane() as plane:
        with cluster.daemon(plane) as empty:
            cluster.wait_until(empty.is_leader, "leadership")
            print(f"  without any queue       {empty.memory('VmRSS') / MEGABYTE:8.1f} MB")
        cluster.fill(plane, queues)
        cluster.run(plane, lambda client: cluster.publish(client, queues, 80))
        with cluster.daemon(plane) as daemon:
            started = time.perf_counter()
            cluster.wait_until(lambda: cluster.is_distributed(plane), "the first distribution", interval=1)
            adoption = time.perf_counter() - started
            writes = daemon.metric("kueue_dqo_quota_writes_total")
            print(f"  first adoption of all   {adoption:8.1f} s   {writes:,.0f} writes")
            print(f"  peak after adoption     {daemon.memory('VmHWM') / MEGABYTE:8.1f} MB")
        with cluster.daemon(plane) as daemon:
            cluster.wait_until(
                lambda: daemon.is_leader() and daemon.metric("kueue_dqo_passes_total") > 0, "a pass", 0.5
            )
            print(f"  peak after a restart    {daemon.memory('VmHWM') / MEGABYTE:8.1f} MB")
            before = daemon.metric("rest_client_requests_total")
            cpu = daemon.metric("process_cpu_seconds_total")
            time.sleep(rest)
            requests = daemon.metric("rest_client_requests_total") - before
            used = daemon.metric("process_cpu_seconds_total") - cpu
            print(f"  at rest                 {daemon.memory('VmRSS') / MEGABYTE:8.1f} MB")
            print(f"  requests at rest        {requests * 60 / rest:8.1f} a minute, over {rest:g} s")
            print(f"  CPU at rest             {100 * used / rest:8.2f} % of a core")
    print_load()
