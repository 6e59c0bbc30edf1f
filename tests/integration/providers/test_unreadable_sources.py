"""A source that cannot be read is not a source with nothing in it: what was published before stays."""

from __future__ import annotations

from typing import Final

import pytest

from tests.controlplane.faults import Answer
from tests.integration.objects import flavor, publish
from tests.integration.providers.adapter import Adapter
from tests.integration.providers.adapters import NodeInventory, RackPower
from tests.integration.providers.nvidia_gpu import NvidiaGpu
from tests.integration.providers.scenes import (
    GPU,
    POOL,
    capacity,
    wait_failed,
    wait_published,
)
from tests.integration.proxies import Proxy

H100: Final = f"h100/{GPU}"


def _begin(adapter: Adapter) -> None:
    """A node of 16 GPUs."""
    adapter.begin({"h100": {GPU: 16}})


@pytest.mark.parametrize(
    ("alone", "unreadable"),
    [(NodeInventory, "nodes"), (NvidiaGpu, "nodegpureports")],
    indirect=["alone"],
    ids=["nodes", "reports"],
)
def test_what_cannot_be_read_is_not_nothing(alone: Adapter, unreadable: str, proxy: Proxy) -> None:
    """What was published before stays, until it can be read."""
    plane = alone.plane
    _begin(alone)
    publish(plane, POOL, {"h100": {GPU: "80"}})
    proxy.add(Answer(500, path=f"/{unreadable}$"))
    alone.start(server=proxy.url, arguments=["--observe-timeout", "15s"], wait=False)
    wait_failed(plane, "SourceUnavailable", f"{unreadable} could not be read", "ClusterRole")
    assert capacity(plane) == {H100: "80"}
    proxy.clear()
    wait_published(plane, {H100: 16})


@pytest.mark.parametrize("alone", [NodeInventory, NvidiaGpu], indirect=True, ids=["node-inventory", "nvidia-gpu"])
def test_pods_that_may_not_be_read_are_told(alone: Adapter) -> None:
    """The right is missing without its component; who does not count pods does not need it."""
    plane = alone.plane
    alone.start(arguments=["--observe-timeout", "15s"])
    _begin(alone)
    wait_published(plane, {H100: 16})
    alone.configure(cordoned="CountAllocated")
    wait_failed(plane, "SourceUnavailable", "pods", f"{alone.command}-pods")
    assert capacity(plane) == {H100: "16"}
    alone.configure()
    wait_published(plane, {H100: 16})


@pytest.mark.parametrize("alone", [RackPower], indirect=True, ids=["rack-power"])
def test_a_source_that_does_not_answer_holds_nothing_up(alone: Adapter) -> None:
    """Its time is limited. The last capacity is kept, an edit of the spec is answered all the same."""
    assert isinstance(alone, RackPower)
    alone.start(arguments=["--observe-timeout", "1s"])
    alone.begin({"h100": {GPU: 80}})
    wait_published(alone.plane, {H100: 80})
    alone.service.answers.clear()
    alone.configure(headroom=[{"flavor": "h100", "resource": GPU, "quantity": "8"}])
    wait_failed(alone.plane, "SourceUnavailable", "1 s", "--observe-timeout")
    alone.plane.admin.apply(flavor("a100"), alone.capacity_provider("h100", "a100"))
    wait_failed(alone.plane, "SourceUnavailable")
    assert capacity(alone.plane) == {H100: "80"}
    alone.plane.admin.apply(alone.capacity_provider("h100"))
    alone.service.answers.set()
    wait_published(alone.plane, {H100: 72})
