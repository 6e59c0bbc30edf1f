"""What is the orchestrator's own about its installation. What all daemons have in common is in `test_daemons.py`."""

from __future__ import annotations

import pytest

from tests.manifests.commands import command, environment
from tests.manifests.rendered import ORCHESTRATOR, OVERLAYS, container, of_kind, overlay, render


@pytest.mark.parametrize("name", OVERLAYS)
def test_the_container_runs_the_orchestrator_on_its_road(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The image's program with this argument, and the variable of the overlay's name."""
    assert container(name)["args"] == ["orchestrator"]
    assert command(name, monkeypatch).params["enforcement"] == name


@pytest.mark.parametrize("name", OVERLAYS)
def test_the_overlay_says_how_quotas_take_effect(name: str) -> None:
    """By the variable of its own name."""
    assert environment(name)["DQO_ENFORCEMENT"] == {"name": "DQO_ENFORCEMENT", "value": name}


@pytest.mark.parametrize("name", OVERLAYS)
def test_the_role_for_the_lease_names_the_lease(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that the daemon uses, which is a leader's only if it is elected."""
    roles = {each["metadata"]["name"]: each for each in of_kind(overlay(name), "Role")}
    named = {lease for rule in roles[f"{ORCHESTRATOR}-leases"]["rules"] for lease in rule.get("resourceNames", [])}
    context = command(name, monkeypatch)
    assert context.params["leader_elect"] is True
    assert named == {context.params["lease_name"]}


def test_the_base_writes_no_quota() -> None:
    """Whoever applies it alone is on the safe side."""
    objects = render("base/orchestrator")
    (deployment,) = of_kind(objects, "Deployment")
    environment = deployment["spec"]["template"]["spec"]["containers"][0]["env"]
    assert {"name": "DQO_ENFORCEMENT", "value": "observe"} in environment
    assert objects == tuple(each for each in overlay("observe") if each["kind"] not in ("Namespace", "PriorityClass"))
