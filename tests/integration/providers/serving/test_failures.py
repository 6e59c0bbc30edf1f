"""Conformance: a failure of any provider keeps the last capacity and says what is wrong where, and the way out."""

from __future__ import annotations

import pytest

from tests.controlplane.admin import Refused
from tests.controlplane.processes import eventually
from tests.integration.daemons import Daemon
from tests.integration.objects import flavor
from tests.integration.providers.adapter import LABEL, Adapter
from tests.integration.providers.scenes import (
    FLAVORS,
    GPU,
    POOL,
    capacity,
    history_of_providers,
    observations,
    wait_failed,
    wait_published,
    wait_told,
)
from tests.integration.providers.serving.begin import (
    H100,
    PATH,
    begin,
)


def test_a_failure_keeps_the_last_capacity(adapter: Adapter, daemon: Daemon) -> None:
    """It is told, and over as soon as the source is well again."""
    begin(adapter)
    reason = adapter.fail()
    said = wait_failed(adapter.plane, reason)
    assert capacity(adapter.plane) == {H100: "80"}
    event = wait_told(adapter.plane, reason)
    assert (event["type"], event["message"]) == ("Warning", said)
    assert event["source"]["component"] == f"kueue-dqo-{adapter.command}"
    _wait_metrics(daemon, reason, is_failed=True)
    adapter.recover()
    wait_published(adapter.plane, {H100: 80})
    _wait_metrics(daemon, reason, is_failed=False)
    assert wait_told(adapter.plane, "Synchronized")["type"] == "Normal"


def _wait_metrics(daemon: Daemon, reason: str, *, is_failed: bool) -> None:
    """They follow the status, which is seen as soon as the API server has it."""

    def they_say_so() -> bool:
        synchronized = daemon.metric("kueue_dqo_provider_synchronized", provider=POOL)
        told = daemon.metric("kueue_dqo_provider_condition", provider=POOL, reason=reason)
        return (synchronized, told) == ((0, 1) if is_failed else (1, 0))

    eventually(they_say_so, f"the metrics say {reason}: {is_failed}")


def test_a_flavor_without_object_is_misconfigured(adapter: Adapter) -> None:
    """Until there is one. The last capacity stays."""
    begin(adapter)
    adapter.plane.admin.delete(f"{FLAVORS}/h100")
    wait_failed(adapter.plane, "Misconfigured", "ResourceFlavor", "h100", "create it")
    assert capacity(adapter.plane) == {H100: "80"}
    adapter.plane.admin.apply(flavor("h100", {LABEL: "h100"}))
    wait_published(adapter.plane, {H100: 80})


def test_parameters_that_are_not_there_are_misconfigured(adapter: Adapter) -> None:
    """By kind and name. Created again, they are used at once."""
    begin(adapter)
    adapter.plane.admin.delete(f"{adapter.collection()}/{POOL}")
    wait_failed(adapter.plane, "Misconfigured", adapter.kind, POOL, "create it")
    assert capacity(adapter.plane) == {H100: "80"}
    adapter.configure()
    wait_published(adapter.plane, {H100: 80})


@pytest.mark.parametrize(
    ("field", "value"), [("kind", "ConfigMap"), ("apiGroup", "example.org")], ids=["another kind", "another group"]
)
def test_parameters_of_another_kind_are_misconfigured(field: str, value: str, adapter: Adapter) -> None:
    """Both are named: what is there, and what should be."""
    begin(adapter)
    adapter.plane.admin.patch(PATH, {"spec": {"parameters": {field: value}}})
    group = adapter.api_version.partition("/")[0]
    wait_failed(adapter.plane, "Misconfigured", "spec.parameters", value, adapter.kind, group)
    assert capacity(adapter.plane) == {H100: "80"}


def test_headroom_of_what_is_not_orchestrated_is_misconfigured(adapter: Adapter) -> None:
    """More likely a slip than meant. Both are named; a definition that sees the flavors may refuse it at once."""
    begin(adapter)
    refusal = ""
    try:
        adapter.configure(headroom=[{"flavor": "absent", "resource": GPU, "percent": 5}])
    except Refused as error:
        refusal = str(error)
    if refusal:
        assert "spec.headroom: Invalid value: names a flavor" in refusal
    else:
        wait_failed(adapter.plane, "Misconfigured", "headroom", "absent", "spec.orchestratedFlavors")
    assert capacity(adapter.plane) == {H100: "80"}


def test_parameters_may_be_missing_only_where_they_have_defaults(adapter: Adapter, daemon: Daemon) -> None:
    """What counts nodes goes on; what is manual is then written by hand; the others need to be told."""
    begin(adapter)
    history = history_of_providers(adapter.plane)
    adapter.plane.admin.patch(PATH, {"spec": {"parameters": None}})
    if adapter.has_defaults:
        wait_published(adapter.plane, {H100: 80})
    elif adapter.command == "manual":
        other = adapter.capacity_provider("h100")
        adapter.plane.admin.apply({**other, "metadata": {"name": "witness"}})
        eventually(lambda: observations(daemon, "witness") > 0, "it has looked")
        (edit,) = (each for each in history.versions() if each.key.name == POOL)  # nobody answers
        assert edit.obj is not None
        assert "parameters" not in edit.obj["spec"]
    else:
        wait_failed(adapter.plane, "Misconfigured", "spec.parameters", adapter.kind)
    assert capacity(adapter.plane) == {H100: "80"}
