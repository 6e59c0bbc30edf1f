"""What the cloud quota provider costs: calls an hour, the time of a look, memory."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from bench import cluster
from bench.accounts import ACCOUNTS
from bench.clouds import Clouds, fakes
from bench.measure import MEGABYTE, ask, dqo, print_each, print_load, print_ratio, print_title
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import LOOPBACK, free_port
from tests.integration.objects import flavor, provider

_CONTROLLER: Final = "kueue-dqo.dev/cloud-quota"
_NAMES: Final = {"aws": "AWS", "gcp": "Google Cloud"}
_LATENCIES: Final = (0.05, 0.0)
"""Seconds that each answer takes longer."""
_PAIRS: Final = 15
_LOOKS: Final = 10
_INTERVAL: Final = 2
"""Seconds between two looks while calls are counted: long enough for all answers of a look to be out of use again."""
_SHIPPED: Final = 300
_DAY: Final = 24
_OBSERVATIONS: Final = "kueue_dqo_provider_observations_total"


def measure(*, quick: bool) -> None:
    pairs, looks = (2, 2) if quick else (_PAIRS, _LOOKS)
    with tempfile.TemporaryDirectory() as folder, fakes(Path(folder)) as clouds:
        for cloud, title in _NAMES.items():
            print_title(f"cloud-quota: one account of {title} with 4 flavors")
            for latency in _LATENCIES:
                clouds.set_latency(latency)
                _times(clouds, cloud, latency, pairs)
        clouds.set_latency(0)
        with cluster.control_plane() as plane:
            for cloud in _NAMES:
                _daemon(plane, clouds, cloud, looks)
    print_load()


# --- the time of a look ----------------------------------------------------------------------------------------------


def _times(clouds: Clouds, cloud: str, latency: float, pairs: int) -> None:
    """Both sides have made the same calls, which the process asserts."""
    with clouds.as_environment(cloud):
        answer = ask("cloud_quota", cloud, str(pairs))
    for look in ("first", "later"):
        floor, ours = zip(*answer[look], strict=True)
        calls = answer["calls"][look]
        print(f"\n{_NAMES[cloud]}, {look} look, {calls} calls, answers after {1000 * latency:g} ms")
        print_each("one by one", floor)
        print_each("look", ours)
        print_ratio(floor, ours)


# --- calls and memory ------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _running(plane: ControlPlane, clouds: Clouds, cloud: str) -> Iterator[cluster.Served]:
    """The daemon with an account to look at."""
    names = [each["name"] for each in ACCOUNTS[cloud]["flavors"]]
    plane.admin.apply(*map(flavor, names), _parameters(cloud), _provider(cloud, names))
    port = free_port()
    command = [str(dqo()), "provider", "cloud-quota", "--only", cloud, "--interval", f"{_INTERVAL}s"]
    values = {
        "DQO_NAMESPACE": "default",
        "DQO_LEASE_NAME": f"cloud-quota-{cloud}",
        "DQO_LISTEN": f"{LOOPBACK}:{port}",
        "DQO_KUBECONFIG": str(plane.kubeconfig()),
        **clouds.environments[cloud],
    }
    daemon = cluster.Served(command, cluster.log_of(plane, cloud), port, values)
    try:
        yield daemon
    finally:
        daemon.stop()


def _parameters(cloud: str) -> dict[str, Any]:
    return {
        "apiVersion": "kueue-dqo.dev/v1alpha1",
        "kind": "CloudQuotaParameters",
        "metadata": {"name": cloud},
        "spec": {cloud: ACCOUNTS[cloud]},
    }


def _provider(cloud: str, names: list[str]) -> dict[str, Any]:
    found = provider(cloud, *names, controller=_CONTROLLER)
    found["spec"]["parameters"] = {"apiGroup": "kueue-dqo.dev", "kind": "CloudQuotaParameters", "name": cloud}
    return found


def _daemon(plane: ControlPlane, clouds: Clouds, cloud: str, looks: int) -> None:
    clouds.requests(cloud)  # those of before are not the daemon's
    with _running(plane, clouds, cloud) as daemon:
        cluster.wait_until(daemon.is_leader, "leadership")
        seen = _after(daemon, 1)
        at_first = clouds.requests(cloud)
        ended = _after(daemon, seen + looks)
        later = clouds.requests(cloud)
        resident, peak = (daemon.memory(field) / MEGABYTE for field in ("VmRSS", "VmHWM"))
    _print_calls(cloud, at_first, later, round(ended - seen))
    _print_memory(clouds, cloud, resident, peak)


def _after(daemon: cluster.Served, count: float) -> float:
    """Waits for so many looks since the start, and returns how many there were then. None may have failed."""
    cluster.wait_until(lambda: daemon.metric(_OBSERVATIONS) >= count, "looks")
    found, good = daemon.metric(_OBSERVATIONS), daemon.metric(_OBSERVATIONS, result="success")
    assert found == good, f"{found - good:g} looks have failed: {daemon.log.read_text()[-2000:]}"
    return found


def _print_calls(cloud: str, at_first: dict[str, int], later: dict[str, int], looks: int) -> None:
    """Extrapolated: what each look asks, by looks every 5 minutes; what only the first one asked, once a day."""
    print(f"\n{_NAMES[cloud]}, calls an hour, from {looks} looks after the first, by --interval {_SHIPPED}s")
    hourly = 3600 / _SHIPPED
    total = 0.0
    for name in sorted(at_first | later):
        each = later.get(name, 0) / looks
        rate = each * hourly + max(0.0, at_first.get(name, 0) - each) / _DAY
        total += rate
        print(f"  {name:<42} {rate:8.2f}   ({each:g} a look, {at_first.get(name, 0)} in the first)")
    print(
        f"  {'all':<42} {total:8.2f}   ({sum(later.values()) / looks:g} a look, {sum(at_first.values())} in the first)"
    )


def _print_memory(clouds: Clouds, cloud: str, resident: float, peak: float) -> None:
    with clouds.as_environment(cloud):
        floor = ask(f"bare_{cloud}")
    print(f"\n{_NAMES[cloud]}, memory of the daemon after its looks")
    print(f"  SDK with its clients   {floor['resident'] / MEGABYTE:10.1f} MB")
    print(f"  daemon                 {resident:10.1f} MB  (at its peak {peak:.1f} MB)")
    print(f"  above the SDK          {resident - floor['resident'] / MEGABYTE:10.1f} MB")
