"""What the GPU agent takes at rest, and how long it is from an XID to the capacity that lacks the GPU."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Final

from bench import audit, cluster, gpu_hosts, gpu_steps
from bench.gpu_hosts import GPUS, Host
from bench.measure import MEGABYTE, ask, print_load, print_title
from tests.controlplane.plane import ControlPlane
from tests.integration.daemons import install

_REST: Final = 180.0
_QUICK_REST: Final = 12.0
_AIM_MEMORY: Final = 60 * MEGABYTE
_AIM_CPU: Final = 0.5
"""Percent of a core."""
_HEARTBEAT: Final = 300.0
"""Seconds, as shipped."""
_SHORT_HEARTBEAT: Final = 10.0
_READINESS: Final = 5.0
"""Seconds between two questions of the kubelet whether the agent is ready, in the manifests; healthy: twice that."""
_SCRAPE: Final = 30.0
_HOUR: Final = 3600.0
_WHO_AM_I: Final = "create selfsubjectreviews"
"""An agent asks it before each heartbeat: its Node may have been made anew."""


def measure(*, quick: bool) -> None:
    rest = _QUICK_REST if quick else _REST
    with cluster.control_plane(audit=True) as plane, ExitStack() as hosts:
        installed = install(plane, "base/namespace", "base/nvidia-gpu-agent", "base/nvidia-gpu")

        def start(name: str, *arguments: str) -> Host:
            return hosts.enter_context(gpu_hosts.running(plane, name, *arguments, pool=gpu_steps.POOL))

        print_title(f"gpu-agent: {GPUS} GPUs, polled every 10 s")
        alone, asked = start("left-alone"), start("asked")
        with gpu_hosts.running(plane, "hurried", "--heartbeat", f"{_SHORT_HEARTBEAT:g}s", pool="") as hurried:
            _at_rest(plane, alone, asked, hurried, rest)
        print_load()
        gpu_steps.measure(plane, installed, alone, nodes=2, pairs=2 if quick else GPUS - 1)


def _at_rest(plane: ControlPlane, alone: Host, asked: Host, hurried: Host, seconds: float) -> None:
    """All three at the same time: one left alone, one asked as in a cluster, one with more heartbeats than usual."""
    time.sleep(_READINESS)  # what comes with the start is over
    hosts = (alone, asked, hurried)
    used, since = [host.agent.cpu_seconds() for host in hosts], time.time()
    _ask_for(asked, seconds)
    took = time.time() - since
    used = [host.agent.cpu_seconds() - before for host, before in zip(hosts, used, strict=True)]
    requests = [audit.requests_of(plane, host.pod, since) for host in hosts]

    print(f"\nat rest, over {took:.0f} s")
    resident, peak = (max(host.agent.memory(field) for host in (alone, asked)) for field in ("VmRSS", "VmHWM"))
    floors = {side: ask("gpu_agent", side)["resident"] / MEGABYTE for side in ("python", "libraries")}
    verdict = "reached" if resident <= _AIM_MEMORY else "MISSED"
    print(f"  memory                 {resident / MEGABYTE:10.1f} MB  (at its peak {peak / MEGABYTE:.1f} MB)", end="")
    print(f"   aim <= {_AIM_MEMORY / MEGABYTE:g} MB: {verdict}")
    print(f"  Python, no more        {floors['python']:10.1f} MB")
    print(f"  with its libraries     {floors['libraries']:10.1f} MB")
    for what, cpu in zip(("CPU, left alone", "CPU, asked"), used, strict=False):
        percent = 100 * cpu / took
        verdict = "reached" if percent <= _AIM_CPU else "MISSED"
        print(f"  {what:<22} {percent:10.2f} % of a core   aim <= {_AIM_CPU:g} %: {verdict}")

    others = [each for each in requests[0] if each not in {gpu_steps.REPORT_WRITE, _WHO_AM_I}]
    assert not others, f"an agent at rest has asked for {others}"
    writes, many = requests[0][gpu_steps.REPORT_WRITE], requests[2][gpu_steps.REPORT_WRITE]
    each = many * _SHORT_HEARTBEAT / took
    print(f"  API requests           {sum(requests[0].values()):10.0f}   heartbeats among them {writes}", end="")
    print(f", questions who it is {requests[0][_WHO_AM_I]}, all else 0")
    print(
        f"  with heartbeats of {_SHORT_HEARTBEAT:g} s {many:8.0f}   {each:.2f} for each {_SHORT_HEARTBEAT:g} s", end=""
    )
    print(f", and questions who it is {requests[2][_WHO_AM_I]}")
    hourly = each * _HOUR / _HEARTBEAT
    print(f"  API writes an hour     {hourly:10.1f}   extrapolated from that to heartbeats of {_HEARTBEAT / 60:g} min")


def _ask_for(host: Host, seconds: float) -> None:
    """Waits for so long, and asks the agent what a kubelet and a Prometheus ask."""
    began = time.monotonic()
    count = 0
    while (rest := began + seconds - time.monotonic()) > 0:
        time.sleep(min(rest, max(0.0, began + count * _READINESS - time.monotonic())))
        host.ask("/readyz")
        if count % 2 == 0:
            host.ask("/healthz")
        if count * _READINESS % _SCRAPE == 0:
            host.ask("/metrics")
        count += 1
