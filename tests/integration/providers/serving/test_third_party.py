"""The example of a third party: a distribution of its own, found by its entry point, with the service that it asks."""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path
from typing import Final

import pytest
import yaml

from tests.controlplane.processes import eventually
from tests.e2e.process import dqo
from tests.integration.providers.adapter import Adapter
from tests.integration.providers.adapters import EXAMPLE, RackPower, install_distribution
from tests.integration.providers.scenes import (
    GPU,
    capacity,
    wait_failed,
    wait_published,
)

only_rack_power = pytest.mark.parametrize("_shared", [RackPower], indirect=True, ids=["rack-power"])
H100: Final = f"h100/{GPU}"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `pip install` makes of the example, away from this tree."""
    folder = tmp_path_factory.mktemp("third-party")
    install_distribution(EXAMPLE, folder)
    return folder


def test_its_entry_point_makes_it_a_command(installed: Path) -> None:
    """Beside ours. Without it the name is unknown."""
    shown = dqo("provider", "--help", PYTHONPATH=str(installed))
    assert (shown.code, shown.err) == (0, "")
    for name in ("composite", "manual", "node-inventory", "rack-power"):
        assert f"\n  {name} " in shown.out
    assert dqo("provider", "rack-power", "--help", PYTHONPATH=str(installed)).code == 0
    unknown = dqo("provider", "rack-power", "--help")
    assert (unknown.code, "rack-power" in unknown.err) == (1, True)


def test_its_distribution_holds_its_package_and_nothing_else(installed: Path) -> None:
    """And its metadata."""
    assert {path.name.partition("-")[0] for path in installed.iterdir()} == {"rack_power"}
    assert (installed / "rack_power" / "source.py").read_text() == (EXAMPLE / "rack_power" / "source.py").read_text()


@only_rack_power
def test_the_example_in_its_readme_is_accepted(adapter: Adapter) -> None:
    """Every object of it, strictly; with a service of its own, it is served."""
    assert isinstance(adapter, RackPower)
    plane = adapter.plane
    objects = [each for each in yaml.safe_load_all((EXAMPLE / "cluster.yaml").read_text()) if each]
    for each in objects:
        if each["kind"] == "RackPower":
            each["spec"]["url"] = adapter.service.url
    adapter.service.say({"hall-a": 22})
    plane.admin.apply(*objects)
    wait_published(plane, {H100: 22}, "h100: 22", name="rack-power")


@only_rack_power
def test_the_service_is_asked_cheaply_and_followed(adapter: Adapter) -> None:
    """What has not changed is not sent again; what has, is published."""
    assert isinstance(adapter, RackPower)
    adapter.begin({"h100": {GPU: 80}})
    wait_published(adapter.plane, {H100: 80})
    service = adapter.service
    eventually(lambda: service.asked[-2:] == [HTTPStatus.NOT_MODIFIED] * 2, "it has asked twice for nothing")
    adapter.say({"h100": {GPU: 88}})
    wait_published(adapter.plane, {H100: 88})


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (HTTPStatus.SERVICE_UNAVAILABLE, b"", "503"),
        (HTTPStatus.OK, b'{"pools": {"hall-h100": [{"rack": "1", "gp', "truncated"),
        (HTTPStatus.OK, b'{"pools": {"hall-h100": [{"rack": "1", "gpus": "many"}]}}', "int"),
    ],
    ids=["refused", "cut", "another form"],
)
@only_rack_power
def test_what_is_no_answer_is_not_zero(status: HTTPStatus, body: bytes, told: str, adapter: Adapter) -> None:
    """The service is named, and the last capacity is kept."""
    assert isinstance(adapter, RackPower)
    adapter.begin({"h100": {GPU: 80}})
    wait_published(adapter.plane, {H100: 80})
    adapter.service.break_down(body, status)
    wait_failed(adapter.plane, "SourceUnavailable", adapter.service.url, told)
    assert capacity(adapter.plane) == {H100: "80"}


@only_rack_power
def test_what_the_service_cannot_mean_is_invalid_and_what_it_does_not_know_misconfigured(adapter: Adapter) -> None:
    """A negative number; a pool that it does not have; a flavor that has no pool."""
    assert isinstance(adapter, RackPower)
    adapter.begin({"h100": {GPU: 80}})
    wait_published(adapter.plane, {H100: 80})
    adapter.service.say({"hall-h100": -8})
    wait_failed(adapter.plane, "InvalidCapacity", "hall-h100-1", "-4")
    adapter.service.say({"hall-b": 8})
    wait_failed(adapter.plane, "Misconfigured", "hall-h100", "hall-b")
    adapter.tell()
    wait_published(adapter.plane, {H100: 80})
    adapter.say({"a100": {GPU: 8}})
    adapter.configure()
    wait_failed(adapter.plane, "Misconfigured", "flavor h100 has no pool", "spec.pools")
    assert capacity(adapter.plane) == {H100: "80"}
