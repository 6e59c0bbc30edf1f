"""How long quotas stand still when the leader is killed in the middle of its writes."""

from __future__ import annotations

import signal
import statistics
import time
from typing import Final

from bench import cluster
from bench.measure import print_load, print_title
from tests.controlplane.plane import ControlPlane

_QUEUES: Final = 500
_ROUNDS: Final = 3
_LEASE, _RETRY = 15.0, 2.0
_AIM: Final = _LEASE + 2 * _RETRY


def measure(*, quick: bool) -> None:
    queues, rounds = (100, 1) if quick else (_QUEUES, _ROUNDS)
    print_title(f"failover: {queues} ClusterQueues, SIGKILL in the middle of the writes, lease of {_LEASE:g} s")
    with cluster.control_plane() as plane:
        cluster.fill(plane, queues)
        cluster.run(plane, lambda client: cluster.publish(client, queues, 100))
        times = [_round(plane, queues, 60 + 10 * number, str(number)) for number in range(rounds)]
    spread = f"({min(times):.1f} - {max(times):.1f})"
    verdict = "reached" if max(times) <= _AIM else "MISSED"
    print(
        f"  from the kill to the next write  {statistics.median(times):.1f} s  {spread}   aim <= {_AIM:g} s: {verdict}"
    )
    print_load()


def _round(plane: ControlPlane, queues: int, percent: int, number: str) -> float:
    replicas = [cluster.Daemon(plane, name=f"replica-{number}-{index}") for index in range(2)]
    try:
        cluster.wait_until(lambda: any(each.is_leader() for each in replicas), "a leader")
        leader = next(each for each in replicas if each.is_leader())
        other = next(each for each in replicas if each is not leader)
        cluster.wait_until(lambda: cluster.is_distributed(plane), "the distribution before")
        cluster.wait_until(lambda: leader.metric("kueue_dqo_passes_total") > 0, "a pass")
        before = leader.metric("kueue_dqo_quota_writes_total")
        cluster.run(plane, lambda client: cluster.publish(client, queues, percent))
        cluster.wait_until(
            lambda: leader.metric("kueue_dqo_quota_writes_total") > before + queues / 5, "a part of the writes", 0.01
        )
        leader.stop(signal.SIGKILL)
        killed = time.perf_counter()
        cluster.wait_until(lambda: other.metric("kueue_dqo_quota_writes_total") > 0, "the other's first write", 0.02)
        seconds = time.perf_counter() - killed
        cluster.wait_until(lambda: other.metric("kueue_dqo_quota_differences") == 0, "the end of the writes")
        return seconds
    finally:
        for each in replicas:
            if each.process.poll() is None:
                each.stop()
