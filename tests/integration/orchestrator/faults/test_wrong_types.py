"""Objects with a field of a wrong type, as a cluster with another version of a definition may hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.controlplane.admin import JSON_PATCH, Refused
from tests.controlplane.cleanup import remove_objects
from tests.controlplane.kueue import CRDS, install_crds
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import start_orchestrator
from tests.integration.objects import (
    ORCHESTRATORS,
    PROVIDERS,
    QUEUES,
    condition,
    orchestrator,
    provider,
    publish,
    queue,
    wait_for_condition,
    wait_for_quotas,
)
from tests.integration.orchestrator.faults.teams import Teams

_ANYTHING: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_LOOSENED: Final = (
    ("clusterqueues", "spec"),
    ("capacityproviders", "status"),
    ("dynamicquotaorchestrators", "spec"),
)


@pytest.fixture(scope="module")
def loose_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane that takes anything where quotas, capacities and orchestrators stand."""
    with ControlPlane(tmp_path_factory.mktemp("controlplane")) as plane:
        install_crds(plane)
        for plural, part in _LOOSENED:
            _loosen(plane, plural, part)
        yield plane


@pytest.fixture
def plane(loose_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Without objects, apart from what this test makes; its daemon ends with it."""
    others = len(loose_plane.servers)
    yield loose_plane
    for server in reversed(loose_plane.servers[others:]):
        server.stop()
        loose_plane.servers.remove(server)
    remove_objects(loose_plane)


@pytest.fixture
def teams(plane: ControlPlane) -> Teams:
    """Beside another subtree, which nothing happens to."""
    plane.admin.apply(
        queue("apart", {"else": {"cpu": 1}}),
        provider("spare", "else"),
        orchestrator("other", "spare", root=("ClusterQueue", "apart")),
    )
    return Teams(plane)


def _loosen(plane: ControlPlane, plural: str, part: str) -> None:
    path = f"{CRDS}/{plural}.kueue.x-k8s.io"
    versions = plane.admin.get(path)["spec"]["versions"]
    plane.admin.patch(
        path,
        [
            {
                "op": "replace",
                "path": f"/spec/versions/{number}/schema/openAPIV3Schema/properties/{part}",
                "value": _ANYTHING,
            }
            for number in range(len(versions))
        ],
        JSON_PATCH,
    )


def _put(plane: ControlPlane, path: str, value: Any, *, at: str) -> dict[str, Any]:
    """Replaces a field, once the server has taken the looser definition into use."""
    answer: dict[str, Any] = {}

    def is_taken() -> bool:
        try:
            answer.update(
                plane.admin.patch(path, [{"op": "replace", "path": at, "value": value}], JSON_PATCH, manager="clumsy")
            )
        except Refused as error:
            if error.code != 422:
                raise
            return False
        return True

    eventually(is_taken, f"{path} takes anything")
    return answer


def _the_others_go_on(plane: ControlPlane, cpu: int) -> None:
    publish(plane, "spare", {"else": {"cpu": str(cpu)}})
    wait_for_quotas(plane, pair="else/cpu", apart=cpu)
    wait_for_condition(plane, "True", "QuotasDistributed", name="other")


@pytest.mark.parametrize("wrong", [{"amount": 3}, "many", None])
def test_a_quota_of_a_wrong_type(wrong: object, teams: Teams) -> None:
    """Its whole subtree is left as it is, and the condition names the queue and the field."""
    plane = teams.plane
    start_orchestrator(plane)
    teams.follow(2, 2)
    at = "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota"
    _put(plane, f"{QUEUES}/team-c", wrong, at=at)
    wait_for_condition(plane, "False", "Misconfigured")
    assert "ClusterQueue/team-c" in condition(plane)["message"]
    assert "nominalQuota" in condition(plane)["message"]
    before = {name: teams.present(name) for name in ("team-a", "team-h")}
    teams.publish(5, 1)
    _the_others_go_on(plane, 7)
    assert {name: teams.present(name) for name in before} == before
    _put(plane, f"{QUEUES}/team-c", 6, at=at)  # as it was: nothing new is declared
    teams.settle()
    _the_others_go_on(plane, 8)


@pytest.mark.parametrize("wrong", [[3], "many"])
def test_a_capacity_of_a_wrong_type(wrong: object, teams: Teams) -> None:
    """It is as good as none: quotas stay as they are, and the condition names the provider."""
    plane = teams.plane
    start_orchestrator(plane)
    teams.follow(2, 2)
    _put(plane, f"{PROVIDERS}/pool/status", wrong, at="/status/capacity/flavors/0/resources/cpu")
    wait_for_condition(plane, "False", "ProviderNotReady", "EffectiveCapacityComputed")
    wait_for_condition(plane, "False", "EffectiveCapacityNotComputed")
    assert "CapacityProvider pool" in condition(plane)["message"]
    _the_others_go_on(plane, 7)
    assert teams.is_right()
    teams.follow(5, 1)
    teams.check()


@pytest.mark.parametrize("wrong", [{"providers": {"pool": 2}}, "pool"])
def test_an_orchestrator_of_a_wrong_type(wrong: object, teams: Teams) -> None:
    """It says of itself that it cannot be read, and where; the other one does not suffer."""
    plane = teams.plane
    start_orchestrator(plane)
    teams.follow(2, 2)
    path = f"{ORCHESTRATORS}/dqo"
    right = plane.admin.get(path)["spec"]["capacityDiscovery"]
    _put(plane, path, wrong, at="/spec/capacityDiscovery")
    wait_for_condition(plane, "False", "Misconfigured", "EffectiveCapacityComputed")
    wait_for_condition(plane, "False", "EffectiveCapacityNotComputed")
    assert "spec.capacityDiscovery" in condition(plane)["message"]
    teams.publish(5, 1)
    _the_others_go_on(plane, 7)
    assert teams.moved() == 0
    _put(plane, path, right, at="/spec/capacityDiscovery")
    teams.settle()
    teams.check()
