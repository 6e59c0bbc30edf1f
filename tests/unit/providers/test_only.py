"""`--only`: names that nobody has are told of, once."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from kueue_dqo.api import dqo
from kueue_dqo.api.meta import ObjectMeta
from kueue_dqo.provider import CapacityController, WithoutParameters
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.clock import SystemClock
from providers.directory import Directory, Observer
from providers.only import Named
from providers.status import Held
from tests.unit.providers.publishing import CONTROLLER

Logs = list[MutableMapping[str, Any]]
NO_SUCH = "there is no CapacityProvider of that name"


@pytest.fixture
def logs() -> Iterator[Logs]:
    with capture_logs() as found:
        yield found


class Heard(Observer):
    """What reaches the publisher."""

    def __init__(self) -> None:
        self.changes: list[object] = []

    def provider_changed(self, name: str, old: Held | None, new: Held | None) -> None:
        self.changes.append((name, old, new))

    def parameters_changed(self, name: str) -> None:
        self.changes.append(name)

    def flavors_changed(self) -> None:
        self.changes.append("flavors")


def named(*names: str, then: Observer | None = None, by_hand: bool = False) -> Named:
    without = WithoutParameters.BY_HAND if by_hand else WithoutParameters.DEFAULTS
    controller = CapacityController(name=CONTROLLER, open=lambda _: cast("Any", None), without_parameters=without)
    directory = Directory(cast("Client", None), controller, clock=SystemClock(), random=cast("Any", None))
    return Named(frozenset(names), directory, then or Observer())


def held(name: str, controller: str = CONTROLLER) -> Held:
    spec = dqo.CapacityProviderSpec(controller, (dqo.FlavorRef("h100"),))
    return Held(dqo.CapacityProvider(ObjectMeta(name, name), spec), "1")


def warnings(logs: Logs) -> list[tuple[str, str]]:
    return [(each["provider"], each["why"]) for each in logs if each["log_level"] == "warning"]


def test_a_name_that_nobody_has_is_told_of_when_the_first_list_is_complete(logs: Logs) -> None:
    only = named("pool", "pol")
    only.provider_changed("pool", None, held("pool", "example.com/other"))
    only.provider_changed("pool", held("pool", "example.com/other"), held("pool"))
    assert logs == []
    only.listed()
    assert warnings(logs) == [("pol", NO_SUCH)]


def test_a_provider_of_another_controller_is_told_of_with_its_controller(logs: Logs) -> None:
    only = named("pool")
    only.provider_changed("pool", None, held("pool", "example.com/other"))
    only.listed()
    why = f"its spec.controllerName is 'example.com/other', and this daemon serves '{CONTROLLER}'"
    assert warnings(logs) == [("pool", why)]


def test_one_that_is_kept_by_hand_is_told_of(logs: Logs) -> None:
    only = named("pool", by_hand=True)
    only.provider_changed("pool", None, held("pool"))
    only.listed()
    assert warnings(logs) == [("pool", "it has no spec.parameters, so its status is written by hand")]


def test_it_is_told_again_only_when_it_changes(logs: Logs) -> None:
    only = named("pool")
    only.listed()
    only.provider_changed("pool", None, held("pool", "example.com/other"))
    only.provider_changed("pool", held("pool", "example.com/other"), held("pool", "example.com/other"))
    only.provider_changed("pool", held("pool", "example.com/other"), held("pool"))
    only.provider_changed("pool", held("pool"), held("pool"))
    only.provider_changed("pool", held("pool"), None)
    assert [each["log_level"] for each in logs] == ["warning", "warning", "info", "warning"]
    assert [why == NO_SUCH for _, why in warnings(logs)] == [True, False, True]


def test_others_are_not_told_of_and_a_daemon_that_serves_all_says_nothing(logs: Logs) -> None:
    for only in (named("pool"), named()):
        only.provider_changed("pool", None, held("pool"))
        only.provider_changed("another", None, held("another", "example.com/other"))
        only.listed()
        only.provider_changed("another", held("another", "example.com/other"), None)
    assert logs == []


def test_every_change_goes_on_to_the_publisher() -> None:
    heard = Heard()
    only = named("pool", then=heard)
    changes = [("pool", None, held("pool")), ("another", held("another"), None)]
    for name, old, new in changes:
        only.provider_changed(name, old, new)
    only.parameters_changed("p")
    only.flavors_changed()
    assert heard.changes == [*changes, "p", "flavors"]
