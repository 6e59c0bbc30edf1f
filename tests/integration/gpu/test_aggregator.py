"""From NVML to capacity: agents of several nodes as processes, and the aggregator that makes one number of them."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Final

import pytest

from tests.controlplane.cleanup import remove_objects
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import QUICK_ELECTION, Daemon, install, start_daemon
from tests.integration.gpu.agents import GPU, Fleet, Manifest
from tests.integration.gpu.pool import BEATING, H100, Pool
from tests.integration.history import Version
from tests.integration.objects import NODES, add_pod, end_pod
from tests.integration.providers.adapter import composed, servers_ended
from tests.integration.providers.scenes import (
    OURS,
    POOL,
    capacity,
    clear,
    condition_of,
    history_of_providers,
    message,
    observations,
    published_in,
    wait_failed,
    wait_published,
    wait_told,
)
from tests.nvml.devices import Gpu, Mig, gpus, uuid_of_gpu

MIG: Final = "nvidia.com/mig-1g.10gb"
REPORTS: Final = f"{OURS}/nodegpureports"
FOLDERS: Final = ("base/namespace", "base/nvidia-gpu", "base/nvidia-gpu-agent")


@pytest.fixture(scope="module")
def installed(shared_plane: ControlPlane) -> Iterator[list[Manifest]]:
    """Aggregator and agents, the first with the right to count pods."""
    with ExitStack() as stack:
        yield install(shared_plane, composed(stack, FOLDERS, "components/nvidia-gpu-pods"))
    remove_objects(shared_plane)


@pytest.fixture(scope="module")
def aggregator(shared_plane: ControlPlane, installed: list[Manifest]) -> Iterator[Daemon]:
    """One for all tests."""
    with servers_ended(shared_plane):
        yield start_daemon(shared_plane, installed, name="nvidia-gpu", environment=QUICK_ELECTION)


@pytest.fixture
def pool(
    shared_plane: ControlPlane,
    installed: list[Manifest],
    aggregator: Daemon,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Pool]:
    """Without nodes."""
    with servers_ended(shared_plane):
        yield Pool(shared_plane, Fleet(shared_plane, installed, tmp_path_factory.mktemp("nvml")), aggregator)
    clear(shared_plane, f"{OURS}/nvidiagpuparameters", REPORTS)


def _messages(versions: list[Version]) -> list[tuple[str, str]]:
    """What was published of flavor h100 and said, write by write."""
    found = []
    for each in versions:
        if each.key.name == POOL and each.obj is not None and "status" in each.obj:
            amounts = published_in([each])[0]
            found.append((amounts.get(H100, ""), condition_of(each.obj)["message"]))
    return found


# --- what counts -----------------------------------------------------------------------------------------------------


def test_a_lost_gpu_is_taken_off_and_named(pool: Pool) -> None:
    """Three nodes of 8 GPUs, one of which is lost: 23. With its node NotReady: 16. Back again: 24."""
    _, second, _ = pool.running(3)
    pool.provide()
    assert wait_published(pool.plane, {H100: 24}) == f"h100: 3 nodes, 24 {GPU}"
    second.nvml.lose(3)
    uuid = uuid_of_gpu(3, node=2)
    wait_published(pool.plane, {H100: 23}, f"h100: 3 nodes, 23 {GPU}; unhealthy: n2 {uuid} Lost since 20")
    assert uuid in wait_told(pool.plane, "DevicesUnhealthy", "n2", "Lost")["message"]
    gauge = "kueue_dqo_nvidia_gpu_unhealthy_devices"
    assert pool.aggregator.metric(gauge, provider=POOL, flavor="h100", reason="Lost") == 1
    pool.kubelet(second, ready="Unknown")
    assert uuid not in wait_published(pool.plane, {H100: 16}, f"h100: 2 nodes, 16 {GPU}; excluded: NotReady=1")
    second.nvml.mend()
    pool.kubelet(second)
    assert wait_published(pool.plane, {H100: 24}) == f"h100: 3 nodes, 24 {GPU}"


def test_mig_devices_count_by_name_beside_whole_gpus(pool: Pool) -> None:
    """One GPU is cut into seven, seven are whole. A lost GPU takes all of its devices with it."""
    pool.node([Gpu(uuid_of_gpu(7, node=1), mig=[Mig()] * 7), *gpus(7, node=1)], allocatable={GPU: 7, MIG: 7}).start()
    pool.nodes[0].agent.server.wait_ready()
    pool.provide()
    wait_published(pool.plane, {H100: 7, f"h100/{MIG}": 7})
    pool.nodes[0].nvml.lose(0)
    wait_published(pool.plane, {H100: 7, f"h100/{MIG}": 0}, f"n1 {uuid_of_gpu(7, node=1)} Lost")


@pytest.mark.parametrize(
    ("product", "resource"),
    [("NVIDIA-L4-SHARED", GPU), ("NVIDIA-L4", f"{GPU}.shared")],
    ids=["same name", "renamed"],
)
def test_each_gpu_counts_as_often_as_it_is_shared(product: str, resource: str, pool: Pool) -> None:
    """By the labels of GPU feature discovery: 4 for each, and 4 less for one that is lost."""
    labels = {"nvidia.com/gpu.product": product, "nvidia.com/gpu.replicas": "4"}
    (node,) = pool.running(1, labels=labels, allocatable={resource: 32})
    pool.provide()
    wait_published(pool.plane, {f"h100/{resource}": 32})
    node.nvml.lose(0)
    wait_published(pool.plane, {f"h100/{resource}": 28}, "n1", "Lost")


def test_no_more_counts_than_is_allocatable(pool: Pool) -> None:
    """What the device plugin does not offer, no pod can get. Unless the parameters want it counted."""
    pool.running(1, allocatable={GPU: 6})
    pool.provide()
    wait_published(pool.plane, {H100: 6}, f"capped by allocatable: n1 6 of 8 {GPU}")
    gauge = "kueue_dqo_nvidia_gpu_capped"
    assert pool.aggregator.metric(gauge, provider=POOL, flavor="h100", resource=GPU) == 2
    pool.provide(capByAllocatable=False)
    assert "capped" not in wait_published(pool.plane, {H100: 8})


def test_what_pods_hold_of_a_cordoned_node_counts(pool: Pool) -> None:
    """Those of Kueue, on GPUs that are healthy: a quota that falls below what runs would say nothing true."""
    first, _ = pool.running(2)
    add_pod(pool.plane, "managed", first.name, {GPU: 5}, managed=True)
    add_pod(pool.plane, "other", first.name, {GPU: 1}, managed=False)
    pool.provide(cordoned="CountAllocated")
    wait_published(pool.plane, {H100: 16})
    pool.plane.admin.patch(f"{NODES}/n1", {"spec": {"unschedulable": True}})
    wait_published(pool.plane, {H100: 13}, f"including 5 {GPU} still allocated on cordoned nodes", "Cordoned=1")
    for gpu in range(4):
        first.nvml.lose(gpu)
    wait_published(pool.plane, {H100: 12})
    end_pod(pool.plane, "managed")
    wait_published(pool.plane, {H100: 8})


# --- agents that say nothing -----------------------------------------------------------------------------------------


def test_a_node_does_not_count_before_its_agent_spoke(pool: Pool) -> None:
    """However many GPUs its kubelet has to give."""
    pool.running(1)
    late = pool.node()
    pool.provide()
    wait_published(pool.plane, {H100: 8}, "excluded: NoReport=1 (n2)")
    late.start()
    wait_published(pool.plane, {H100: 16})


def test_a_node_without_the_library_is_held_and_then_left_out(pool: Pool) -> None:
    """By name: what its agent said last counts for the grace time. It counts again with the library."""
    _, second, _ = pool.running(3)
    pool.provide(agents={"grace": "5s"})
    wait_published(pool.plane, {H100: 24})
    history = history_of_providers(pool.plane)
    second.nvml.uninstall()
    second.restart()
    wait_published(pool.plane, {H100: 16}, f"h100: 2 nodes, 16 {GPU}; excluded: LibraryNotFound=1 (n2)")
    written = _messages(history.versions())
    assert [amount for amount, _ in written] == ["24", "16"]
    assert "3 nodes" in written[0][1]
    assert "holding n2 until 20" in written[0][1]
    assert written[0][1].endswith(": LibraryNotFound")
    second.nvml.install()
    wait_published(pool.plane, {H100: 24})


def test_a_silent_agent_is_held_and_then_left_out(pool: Pool) -> None:
    """Whoever missed three heartbeats is silent. Its node counts again once it is heard."""
    pool.running(2)
    (third,) = pool.running(1, environment=BEATING)
    pool.provide(agents={"grace": "5s"})
    wait_published(pool.plane, {H100: 24})
    history = history_of_providers(pool.plane)
    third.agent.server.kill()
    wait_published(pool.plane, {H100: 16}, "excluded: AgentSilent=1 (n3)")
    assert any("holding n3 until" in said for amount, said in _messages(history.versions()) if amount == "24")
    third.agent.server.start()
    wait_published(pool.plane, {H100: 24})


def test_silence_of_all_agents_is_no_fall(pool: Pool) -> None:
    """The observer is broken: the last capacity stays until agents are heard again."""
    nodes = pool.running(2, environment=BEATING)
    pool.provide()
    wait_published(pool.plane, {H100: 16})
    history = history_of_providers(pool.plane)
    for node in nodes:
        node.agent.server.kill()
    wait_failed(pool.plane, "SourceUnavailable", "no agent of any node", "AgentSilent since 20", "(n1, n2)", "kubectl")
    assert capacity(pool.plane) == {H100: "16"}
    assert wait_told(pool.plane, "SourceUnavailable")["type"] == "Warning"
    for node in nodes:
        node.agent.server.launch()
    wait_published(pool.plane, {H100: 16}, f"h100: 2 nodes, 16 {GPU}")
    assert published_in(history.versions()) == [{H100: "16"}]


# --- the aggregator itself -------------------------------------------------------------------------------------------


def test_neither_a_killed_aggregator_nor_a_failover_is_a_dip(pool: Pool, installed: list[Manifest]) -> None:
    """Whoever leads next knows from the API server what the last one knew, a silence with its beginning included."""
    plane = pool.plane
    first, second, _ = pool.running(3)
    pool.provide(agents={"grace": "1h"})
    wait_published(plane, {H100: 24})
    first.nvml.lose(5)
    second.nvml.uninstall()
    second.restart()
    until = _until(wait_published(plane, {H100: 23}, "unhealthy: n1", "holding n2 until"))
    history = history_of_providers(plane)
    other = start_daemon(plane, installed, name="another", environment=QUICK_ELECTION)
    for dies, goes_on in ((pool.aggregator, other), (other, pool.aggregator)):
        dies.server.kill()
        eventually(lambda heir=goes_on: observations(heir) > 0, f"{goes_on.server.name} has looked")  # type: ignore[misc]  # mypy infers no type for a default
        assert abs(_until(message(plane)) - until) <= datetime.timedelta(seconds=1)
        dies.server.start()
    assert {amount for amount, _ in _messages(history.versions())} <= {"23"}
    first.nvml.mend()
    wait_published(plane, {H100: 24}, "holding n2 until")


def _until(said: str) -> datetime.datetime:
    """When the node that is held will be left out; by the second in which the problem was written, or seen."""
    found = re.search(r"holding n2 until ([^ ]+Z): LibraryNotFound", said)
    assert found, said
    return datetime.datetime.fromisoformat(found[1])
