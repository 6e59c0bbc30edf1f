"""What the parameters of every provider can ask for: chosen resources, headroom, guards. Told by message and metric."""

from __future__ import annotations

import copy
import http.client
import re
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.controlplane.admin import Refused
from tests.controlplane.kueue import apply_crds
from tests.controlplane.processes import eventually
from tests.integration.daemons import Daemon
from tests.integration.objects import PROVIDERS
from tests.integration.providers.adapter import Adapter
from tests.integration.providers.adapters import ADAPTERS, RackPower
from tests.integration.providers.scenes import (
    GPU,
    POOL,
    capacity,
    capacity_of,
    condition_of,
    history_of_providers,
    message,
    published_in,
    wait_failed,
    wait_observed,
    wait_published,
    wait_told,
)

PATH: Final = f"{PROVIDERS}/{POOL}"
H100: Final = f"h100/{GPU}"
A100: Final = f"a100/{GPU}"
ACKNOWLEDGE: Final = "kueue-dqo.dev/acknowledge"
REPORT_ANY: Final = [kind for kind in ADAPTERS if kind.reports_any]
HELD_UNTIL: Final = "kueue_dqo_provider_held_until_timestamp_seconds"


def _amounts(h100: int, a100: int = 16) -> dict[str, dict[str, Any]]:
    return {"h100": {GPU: h100}, "a100": {GPU: a100}}


def _gauge(daemon: Daemon, name: str, flavor: str = "h100") -> float:
    return daemon.metric(f"kueue_dqo_provider_{name}", provider=POOL, flavor=flavor, resource=GPU)


@pytest.mark.parametrize(
    ("selection", "kept"),
    [({"include": [GPU]}, {GPU}), ({"exclude": [GPU]}, {"cpu"})],
    ids=["include", "exclude"],
)
def test_only_chosen_resources_are_reported(selection: dict[str, Any], kept: set[str], adapter: Adapter) -> None:
    """What is excluded is not zero but absent: another provider may report it."""
    there = {GPU: 80} | ({"cpu": 64} if adapter.reports_any else {})
    adapter.begin({"h100": {GPU: 80, "cpu": 64}}, resources=selection)
    wait_published(adapter.plane, {f"h100/{name}": amount for name, amount in there.items() if name in kept})
    adapter.configure()
    wait_published(adapter.plane, {f"h100/{name}": amount for name, amount in there.items()})


@pytest.mark.parametrize("_shared", REPORT_ANY, indirect=True, ids=lambda kind: kind.label())
def test_what_is_both_included_and_excluded_is_not_reported(adapter: Adapter) -> None:
    """Of providers that take the name of any resource."""
    adapter.begin({"h100": {GPU: 80, "cpu": 64}}, resources={"include": [GPU, "cpu"], "exclude": ["cpu"]})
    wait_published(adapter.plane, {H100: 80})


@pytest.mark.parametrize(
    ("headroom", "published", "held_back"),
    [({"percent": 7}, 74, 6), ({"quantity": "8"}, 72, 8), ({"quantity": "100"}, 0, 80)],
    ids=["percent", "quantity", "more than there is"],
)
def test_headroom_is_kept_back_and_told(
    headroom: dict[str, Any], published: int, held_back: int, adapter: Adapter, daemon: Daemon
) -> None:
    """A share is rounded in its favour, to a whole device; nothing falls below zero."""
    adapter.begin(_amounts(80), headroom=[{"flavor": "h100", "resource": GPU, **headroom}])
    said = wait_published(adapter.plane, {H100: published, A100: 16}, f"headroom h100: {held_back} {GPU}")
    assert "headroom a100" not in said
    assert [_gauge(daemon, name) for name in ("observed_capacity", "headroom", "published_capacity")] == [
        80,
        held_back,
        published,
    ]
    adapter.configure()
    assert "headroom" not in wait_published(adapter.plane, {H100: 80, A100: 16})
    assert _gauge(daemon, "headroom") == 0


def test_a_fall_is_held_and_told(adapter: Adapter, daemon: Daemon) -> None:
    """By message, metric and Event; in other flavors it goes on. Without the guard it is published at once."""
    adapter.begin(_amounts(80), guards={"fallAfter": "1h"})
    wait_published(adapter.plane, {H100: 80, A100: 16})
    adapter.say(_amounts(72, 24))
    said = wait_published(adapter.plane, {H100: 80, A100: 24}, f"observed 72, published 80 {GPU}")
    assert re.match(r"holding h100 until \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ: ", said)
    assert "a100 until" not in said
    assert _gauge(daemon, "observed_capacity") == 72
    assert _gauge(daemon, "published_capacity") == 80
    held = daemon.metric(HELD_UNTIL, provider=POOL, flavor="h100", guard="fall")
    assert held > 0
    assert "h100" in wait_told(adapter.plane, "CapacityHeld")["message"]
    wait_observed(adapter.plane, daemon, 2)
    assert message(adapter.plane) == said  # until when is decided once
    assert daemon.metric(HELD_UNTIL, provider=POOL, flavor="h100") == held
    adapter.configure()
    assert "holding" not in wait_published(adapter.plane, {H100: 72, A100: 24})
    eventually(lambda: daemon.metric(HELD_UNTIL, provider=POOL) == 0, "nothing is held")
    assert "h100" in wait_told(adapter.plane, "CapacityReleased")["message"]


def test_a_rise_is_held_for_its_time_and_then_published(adapter: Adapter) -> None:
    """By itself, while nothing else happens."""
    adapter.begin(_amounts(80), guards={"riseAfter": "2s"})
    wait_published(adapter.plane, {H100: 80, A100: 16})
    history = history_of_providers(adapter.plane)
    adapter.say(_amounts(88))
    wait_published(adapter.plane, {H100: 88, A100: 16})
    own = [each.obj for each in history.versions() if each.key.name == POOL and each.obj is not None]
    assert [capacity_of(each)[H100] for each in own] == ["80", "88"]
    assert "holding h100 until" in condition_of(own[0])["message"]
    assert "observed 88, published 80" in condition_of(own[0])["message"]


def test_a_fall_that_is_over_in_time_was_never_published(adapter: Adapter) -> None:
    """What a flapping node or a restarted service does."""
    adapter.begin(_amounts(80), guards={"fallAfter": "1h"})
    wait_published(adapter.plane, {H100: 80, A100: 16})
    history = history_of_providers(adapter.plane)
    adapter.say(_amounts(0))
    wait_published(adapter.plane, {H100: 80, A100: 16}, "holding h100")
    adapter.say(_amounts(80))
    eventually(lambda: "holding" not in message(adapter.plane), "nothing is held any more")
    assert published_in(history.versions()) == [{H100: "80", A100: "16"}]


def test_a_large_fall_waits_for_an_acknowledgement(adapter: Adapter, daemon: Daemon) -> None:
    """The message says how. It is good for this fall alone."""
    adapter.begin(_amounts(80), guards={"maxFallPercent": 50, "breakerGrace": "1h"})
    wait_published(adapter.plane, {H100: 80, A100: 16})
    adapter.say(_amounts(40))
    wait_published(adapter.plane, {H100: 40, A100: 16})  # half is no more than half
    adapter.say(_amounts(0))
    said = wait_published(adapter.plane, {H100: 40, A100: 16}, "holding h100 until", "a fall of 100 %")
    assert daemon.metric(HELD_UNTIL, provider=POOL, flavor="h100", guard="breaker") > 0
    assert wait_told(adapter.plane, "CapacityHeld")["type"] == "Warning"
    _acknowledge(adapter, "0123456789")
    wait_observed(adapter.plane, daemon, 1)
    assert message(adapter.plane) == said
    _acknowledge(adapter, _hash(said))
    assert "holding" not in wait_published(adapter.plane, {H100: 0, A100: 16})
    assert _hash(said) in wait_told(adapter.plane, "FallAcknowledged")["message"]
    adapter.say(_amounts(40, 0))
    assert "a100" in wait_published(adapter.plane, {H100: 40, A100: 16}, "holding a100 until")


@pytest.mark.parametrize("separately", [False, True], ids=["by the command", "hash by hash"])
def test_several_large_falls_are_acknowledged_together(adapter: Adapter, *, separately: bool) -> None:
    """By what the message says, or in a hurry: there is one annotation, and no value of it is lost."""
    adapter.begin(_amounts(80), guards={"maxFallPercent": 50, "breakerGrace": "1h"})
    wait_published(adapter.plane, {H100: 80, A100: 16})
    adapter.say(_amounts(0, 0))
    said = wait_published(
        adapter.plane, {H100: 80, A100: 16}, "holding h100 until", "holding a100 until", "publishes them now"
    )
    for value in _hash(said).split(",") if separately else [_hash(said)]:
        _acknowledge(adapter, value)
    assert "holding" not in wait_published(adapter.plane, {H100: 0, A100: 0})


def _hash(said: str) -> str:
    """As the command has it."""
    found = re.search(rf"kubectl annotate capacityproviders\.kueue\.x-k8s\.io {POOL} {ACKNOWLEDGE}=([\w,]+)", said)
    assert found, said
    return found[1]


def _acknowledge(adapter: Adapter, value: str) -> None:
    adapter.plane.admin.patch(PATH, {"metadata": {"annotations": {ACKNOWLEDGE: value}}})


nonsense = pytest.mark.parametrize(
    ("common", "field", "value"),
    [
        ({"guards": {"maxFallPercent": 50}}, "guards", "breakerGrace"),
        ({"headroom": [{"flavor": "h100", "resource": GPU}]}, "headroom[0]", "percent"),
        ({"headroom": [{"flavor": "h100", "resource": GPU, "quantity": "eight"}]}, "headroom[0].quantity", "eight"),
        ({"headroom": [{"flavor": "h100", "resource": GPU, "quantity": "-8"}]}, "headroom[0].quantity", "-8"),
    ],
    ids=["breaker without grace", "headroom without amount", "no quantity", "negative quantity"],
)


@nonsense
def test_nonsense_is_refused_when_it_is_applied(
    common: dict[str, Any], field: str, value: str, adapter: Adapter
) -> None:
    """By the definition of every kind, the example of a third party included."""
    del value  # some rules name only the field
    adapter.begin(_amounts(80))
    with pytest.raises(Refused) as refused:
        adapter.configure(**common)
    assert refused.value.code == http.client.UNPROCESSABLE_ENTITY
    assert f"spec.{field}" in str(refused.value)


@nonsense
@pytest.mark.parametrize("_shared", [RackPower], indirect=True, ids=["rack-power"])
@pytest.mark.usefixtures("_lenient")
def test_nonsense_that_a_definition_lets_through_is_refused_by_the_provider(
    common: dict[str, Any], field: str, value: str, adapter: Adapter
) -> None:
    """A third party's definition may lack the rules. Field and value are named, and the last capacity is kept."""
    adapter.begin(_amounts(80))
    wait_published(adapter.plane, {H100: 80, A100: 16})
    adapter.configure(**common)
    wait_failed(adapter.plane, "Misconfigured", f"{adapter.kind}/{POOL}", f"spec.{field}", value)
    assert capacity(adapter.plane) == {H100: "80", A100: "16"}


@pytest.fixture
def _lenient(adapter: Adapter) -> Iterator[None]:
    """The definition of the adapter's parameters takes everything in the common fields, until the test is over."""
    (strict,) = (each for each in adapter.installed if each["kind"] == "CustomResourceDefinition")
    lenient = copy.deepcopy(strict)
    spec = lenient["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    del spec["x-kubernetes-validations"]
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    spec["properties"] |= {"resources": anything, "guards": anything, "headroom": {"type": "array", "items": anything}}

    def takes_nonsense() -> bool:
        parameters = adapter.parameters()
        parameters["spec"]["guards"] = {"maxFallPercent": "much"}
        try:
            adapter.plane.admin.request("POST", adapter.collection(), parameters, query={"dryRun": "All"})
        except Refused:
            return False
        return True

    apply_crds(adapter.plane, lenient)
    eventually(takes_nonsense, "the lenient definition is in force")
    yield
    adapter.clear()
    apply_crds(adapter.plane, strict)
    eventually(lambda: not takes_nonsense(), "the strict definition is in force again")
