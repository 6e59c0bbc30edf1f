"""The composite as a process: what other providers report, combined; and what cannot be."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.controlplane.plane import ControlPlane
from tests.integration.objects import Manifest, flavor, provider, publish
from tests.integration.providers.adapter import Adapter
from tests.integration.providers.adapters import Composite
from tests.integration.providers.scenes import (
    GPU,
    POOL,
    capacity,
    wait_failed,
    wait_published,
    wait_told,
)

H100: Final = f"h100/{GPU}"
pytestmark = pytest.mark.parametrize("_shared", [Composite], indirect=True, ids=["composite"])


def _composite(name: str, *members: str, combine: str = "Min", **spec: Any) -> tuple[Manifest, Manifest]:
    """A composite of flavor h100, and its parameters."""
    parameters = {
        "apiVersion": Composite.api_version,
        "kind": Composite.kind,
        "metadata": {"name": name},
        "spec": {"members": [{"name": each} for each in members], "combine": combine, **spec},
    }
    return parameters, provider(name, "h100", controller=Composite.controller, parameters=parameters)


def _members(plane: ControlPlane, **gpus: int) -> None:
    """Providers by hand, each with so many GPUs."""
    plane.admin.apply(flavor("h100"), *(provider(name, "h100") for name in gpus))
    for name, number in gpus.items():
        publish(plane, name, {"h100": {GPU: str(number)}})


@pytest.mark.parametrize(("combine", "wanted"), [("Min", 60), ("Max", 80), ("Sum", 140)])
def test_members_are_combined(combine: str, wanted: int, adapter: Adapter) -> None:
    """And again when one of them changes."""
    plane = adapter.plane
    _members(plane, nodes=80, contract=60)
    plane.admin.apply(*_composite(POOL, "nodes", "contract", combine=combine))
    wait_published(plane, {H100: wanted}, "nodes", "contract")
    publish(plane, "nodes", {"h100": {GPU: "100"}})
    wait_published(plane, {H100: {"Min": 60, "Max": 100, "Sum": 160}[combine]})


def test_a_member_that_is_not_ready_fails_the_composite_or_is_skipped(adapter: Adapter) -> None:
    """As the parameters say. It is named, with what it says itself; skipping is told by an Event."""
    plane = adapter.plane
    _members(plane, nodes=80, contract=60)
    plane.admin.apply(*_composite(POOL, "nodes", "contract"))
    wait_published(plane, {H100: 60})
    publish(plane, "contract", {"h100": {GPU: "60"}}, status="False", reason="SourceUnavailable")
    wait_failed(plane, "SourceUnavailable", "contract", "onMemberNotReady")
    assert capacity(plane) == {H100: "60"}
    plane.admin.apply(*_composite(POOL, "nodes", "contract", onMemberNotReady="Skip"))
    wait_published(plane, {H100: 80}, "contract")
    wait_told(plane, "MembersSkipped", "contract")
    publish(plane, "nodes", {"h100": {GPU: "80"}}, status="False", reason="InvalidCapacity")
    wait_failed(plane, "SourceUnavailable", "nodes", "contract")  # of nothing there is no minimum
    publish(plane, "contract", {"h100": {GPU: "50"}})
    wait_published(plane, {H100: 50})


def test_a_member_with_a_capacity_of_an_old_generation_is_not_ready(adapter: Adapter) -> None:
    """Its spec was edited, and nobody has answered yet."""
    plane = adapter.plane
    _members(plane, nodes=80)
    plane.admin.apply(*_composite(POOL, "nodes"))
    wait_published(plane, {H100: 80})
    plane.admin.apply(flavor("a100"), provider("nodes", "h100", "a100"))
    wait_failed(plane, "SourceUnavailable", "nodes")
    publish(plane, "nodes", {"h100": {GPU: "72"}})
    wait_published(plane, {H100: 72})


def test_a_member_that_does_not_exist_is_misconfigured(adapter: Adapter) -> None:
    """Until it does."""
    plane = adapter.plane
    _members(plane, nodes=80)
    plane.admin.apply(*_composite(POOL, "nodes", "contract"))
    wait_failed(plane, "Misconfigured", "spec.members[1].name", "contract", "create it")
    _members(plane, contract=60)
    wait_published(plane, {H100: 60})


def test_composites_of_each_other_are_refused(adapter: Adapter) -> None:
    """All of the ring say so, with its names; who reads one of them is told that it is not ready."""
    plane = adapter.plane
    _members(plane, nodes=80)
    plane.admin.apply(*_composite("a", "b"), *_composite("b", "nodes", "a"), *_composite("reader", "a"))
    wait_failed(plane, "Misconfigured", "a → b → a", name="a")
    wait_failed(plane, "Misconfigured", "b → a → b", name="b")
    wait_failed(plane, "SourceUnavailable", "a", name="reader")
    plane.admin.apply(*_composite("b", "nodes"))
    for name in ("b", "a", "reader"):
        wait_published(plane, {H100: 80}, name=name)
    plane.admin.apply(*_composite("b", "b"))
    wait_failed(plane, "Misconfigured", "b → b", name="b")
    assert capacity(plane, "b") == {H100: "80"}


def test_more_resources_than_a_status_takes_are_told(adapter: Adapter) -> None:
    """Together the members report too many."""
    plane = adapter.plane
    _members(plane, nodes=80, contract=60)
    plane.admin.apply(*_composite(POOL, "nodes", "contract"))
    wait_published(plane, {H100: 60})
    for name, numbers in (("nodes", range(40)), ("contract", range(40, 80))):
        publish(plane, name, {"h100": {f"example.com/resource-{number}": "1" for number in numbers}})
    wait_failed(plane, "Misconfigured", "h100", "80", "64")
    assert capacity(plane) == {H100: "60"}


def test_impossible_numbers_of_members_are_invalid(adapter: Adapter) -> None:
    """Who reports them is named."""
    plane = adapter.plane
    _members(plane, nodes=80, contract=60)
    plane.admin.apply(*_composite(POOL, "nodes", "contract", combine="Sum"))
    wait_published(plane, {H100: 140})
    publish(plane, "contract", {"h100": {GPU: "-1"}})
    wait_failed(plane, "InvalidCapacity", "contract", "-1")
    publish(plane, "contract", {"h100": {GPU: str(2**63 - 1)}})
    wait_failed(plane, "InvalidCapacity", "nodes", "contract")
    assert capacity(plane) == {H100: "140"}
