"""What docs/security.md says of whoever may edit queues and none of our objects, on the road `spec`.

The editor is an account with every right to ClusterQueues and Cohorts; the orchestrator is the daemon. There is
capacity for 24 cpu: 6 for team-a, 18 for team-b.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pytest

from tests.controlplane.admin import Admin
from tests.controlplane.cleanup import remove_objects
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import Daemon
from tests.integration.objects import (
    APPLIED,
    DECLARED,
    cohort,
    cores,
    flavor,
    groups,
    orchestrator,
    provider,
    publish,
    queue,
    wait_for_condition,
    wait_for_quotas,
)
from tests.integration.orchestrator.spec_road.scenes import (
    OF_A,
    OF_B,
    TEAM_A,
    TEAM_B,
    capacity,
    start_adopted,
    told,
    two_teams,
    wait_for_computation,
    wait_for_message,
)

CAPACITY = 24
FAR_TOO_MUCH = groups({"default": {"cpu": "1000", "memory": "10Gi"}})
ACCOUNT = {"namespace": "default", "name": "editor"}


class Scene(NamedTuple):
    """The cluster, the daemon and the attacker."""

    plane: ControlPlane
    daemon: Daemon
    editor: Admin

    def edit(self, *, annotations: Mapping[str, Any] | None = None, manager: str = "eve", **spec: Any) -> None:
        """A change of team-a, in one request."""
        body = {"metadata": {"annotations": annotations or {}}, "spec": spec}
        self.editor.patch(TEAM_A, body, manager=manager)


@pytest.fixture(scope="module")
def started(shared_plane: ControlPlane) -> Iterator[Scene]:
    """One daemon for all tests, and a second subtree with a provider of its own."""
    before = list(shared_plane.servers)
    admin = shared_plane.admin
    two_teams(shared_plane)
    admin.apply(flavor("apart"), cohort("apart"), queue("apart", {"apart": {"cpu": "1"}}, cohort="apart"))
    admin.apply(provider("apart", "apart"), orchestrator("apart", "apart", root=("Cohort", "apart")))
    publish(shared_plane, "apart", {"apart": {"cpu": "3"}})
    rbac = "rbac.authorization.k8s.io"
    labels = {"app.kubernetes.io/part-of": "kueue-dqo"}  # so that they are removed with all else
    admin.apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": ACCOUNT},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "editor", "labels": labels},
            "rules": [{"apiGroups": ["kueue.x-k8s.io"], "resources": ["clusterqueues", "cohorts"], "verbs": ["*"]}],
        },
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "editor", "labels": labels},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "editor"},
            "subjects": [{"kind": "ServiceAccount", **ACCOUNT}],
        },
    )
    daemon = start_adopted(shared_plane)
    yield Scene(shared_plane, daemon, shared_plane.as_service_account("default", "editor"))
    for server in reversed(shared_plane.servers[len(before) :]):
        server.stop()
        shared_plane.servers.remove(server)
    remove_objects(shared_plane)


@pytest.fixture
def scene(started: Scene) -> Scene:
    """With new queues: of those before, the daemon remembers who has undone its quotas."""
    admin = started.plane.admin
    capacity(started.plane, CAPACITY)
    for path in (TEAM_A, TEAM_B):
        admin.request("DELETE", path)
    admin.apply(queue("team-a", OF_A, cohort="teams"), queue("team-b", OF_B, cohort="teams"), manager="git")
    wait_for_quotas(started.plane, team_a=6, team_b=18)
    wait_for_condition(started.plane, "True", "QuotasDistributed")
    return started


def _applied(by: Mapping[str, str]) -> str:
    return json.dumps({"orchestratorRef": dict(by), "resourceGroups": FAR_TOO_MUCH})


OURS = {"apiGroup": "kueue.x-k8s.io", "kind": "DynamicQuotaOrchestrator", "name": "dqo"}
STRANGER = {"apiGroup": "example.com", "kind": "Distributor", "name": "mine"}
TOO_MUCH_DECLARED = json.dumps(FAR_TOO_MUCH)

FORGED: dict[str, dict[str, Any]] = {
    "the spec alone": {"resourceGroups": FAR_TOO_MUCH},
    "what is declared": {"annotations": {DECLARED: TOO_MUCH_DECLARED}},
    "what is declared, and the spec": {
        "annotations": {DECLARED: TOO_MUCH_DECLARED},
        "resourceGroups": FAR_TOO_MUCH,
    },
    "as if it had been distributed": {
        "annotations": {DECLARED: TOO_MUCH_DECLARED, APPLIED: _applied(OURS)},
        "resourceGroups": FAR_TOO_MUCH,
    },
    "as if by an orchestrator that is not there": {
        "annotations": {DECLARED: TOO_MUCH_DECLARED, APPLIED: _applied(OURS | {"name": "gone"})},
        "resourceGroups": FAR_TOO_MUCH,
    },
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
def test_an_editor_gets_a_share_however_much_they_declare(forged: dict[str, Any], scene: Scene) -> None:
    """A large one, since what is declared is a weight; together it is the capacity still."""
    scene.edit(**forged)
    # 1000 to 30 of 24 cpu
    eventually(lambda: cores(scene.plane, "team-a") > CAPACITY - 1, "the share of 1000")
    eventually(
        lambda: cores(scene.plane, "team-a") + cores(scene.plane, "team-b") == CAPACITY, "together, all of the capacity"
    )
    wait_for_condition(scene.plane, "True", "QuotasDistributed")


class Broken(NamedTuple):
    """What is done to the annotations, as whom, and the reason that the condition gives."""

    annotations: dict[str, Any]
    manager: str = "eve"
    reason: str = "Misconfigured"


BROKEN = {
    "declared is no JSON": Broken({DECLARED: "[{"}),
    "declared is nested without an end": Broken({DECLARED: "[" * 100_000}),
    "declared is without an end": Broken({DECLARED: json.dumps(groups({"default": {"cpu": "9" * 100_000}}))}),
    "declared is beyond all numbers": Broken({DECLARED: json.dumps(groups({"default": {"cpu": "1e999999999"}}))}),
    "applied is gone, the spec as if it were ours": Broken({APPLIED: None}, manager="kueue-dqo-orchestrator"),
    "applied is a stranger's": Broken({APPLIED: _applied(STRANGER)}, reason="EffectiveQuotasConflict"),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_an_editor_stops_a_subtree_and_keeps_what_they_took(broken: Broken, scene: Scene) -> None:
    """Nothing is written there while it lasts, so no limit holds. It is told, and no affair of other subtrees."""
    scene.edit(annotations=broken.annotations, manager=broken.manager, resourceGroups=FAR_TOO_MUCH)
    message = wait_for_message(scene.plane, broken.reason, "ClusterQueue/team-a")
    assert len(message) < 2000
    capacity(scene.plane, 8)
    wait_for_computation(scene.plane, 8)
    assert cores(scene.plane, "team-a") == 1000
    assert cores(scene.plane, "team-b") == CAPACITY * 3 / 4
    for cpu in (2, 3):
        publish(scene.plane, "apart", {"apart": {"cpu": str(cpu)}})
        wait_for_quotas(scene.plane, pair="apart/cpu", apart=cpu)
    assert scene.daemon.server.is_running


def test_an_editor_takes_a_queue_out_of_the_subtree_and_what_it_has_is_theirs(scene: Scene) -> None:
    """The others have the capacity among themselves, and this one what stands in its spec."""
    scene.edit(cohortName=None, resourceGroups=FAR_TOO_MUCH)
    wait_for_quotas(scene.plane, team_a=1000, team_b=CAPACITY)
    wait_for_condition(scene.plane, "True", "QuotasDistributed")


def test_an_editor_who_undoes_the_quotas_again_and_again_is_left_alone_with_theirs(scene: Scene) -> None:
    """For ten minutes, after the third time: the others have what is left. It is told."""
    for _ in range(4):
        scene.edit(resourceGroups=FAR_TOO_MUCH)
        if _is_left_alone(scene):
            break
    capacity(scene.plane, 8)
    wait_for_computation(scene.plane, 8)
    wait_for_message(scene.plane, "EffectiveQuotasConflict", "Left alone", "ClusterQueue/team-a")
    eventually(lambda: cores(scene.plane, "team-b") < 1, "the others are kept up")
    assert cores(scene.plane, "team-a") == 1000


def _is_left_alone(scene: Scene) -> bool:
    """Once the daemon has either written its share over it or told that it will not."""

    def is_left() -> bool:
        return bool(told(scene.plane, "QuotasLeftAlone", "team-a"))

    eventually(lambda: cores(scene.plane, "team-a") < CAPACITY or is_left(), "the answer to an edit")
    return is_left()
