"""A right that is missing is named: by the readiness probe, by the condition, or in the log."""

from __future__ import annotations

from typing import Any

import pytest

from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import NAMESPACE, Daemon, start_orchestrator
from tests.integration.objects import cores, wait_for_quotas
from tests.integration.orchestrator.spec_road.history import OURS
from tests.integration.orchestrator.spec_road.scenes import (
    wait_for_message,
)

_RBAC = "/apis/rbac.authorization.k8s.io/v1"
READS = f"{_RBAC}/clusterroles/{OURS}"
EVENTS = f"{_RBAC}/namespaces/default/roles/{OURS}-events"
LEASES = f"{_RBAC}/namespaces/{NAMESPACE}/roles/{OURS}-leases"


def _without(plane: ControlPlane, role: str, verb: str, resource: str) -> Daemon:
    """Starts the daemon with the shipped rights but this one; it is not waited for."""
    daemon = start_orchestrator(plane, wait=False)
    daemon.server.kill()
    rules: list[dict[str, Any]] = []
    for rule in plane.admin.get(role)["rules"]:
        kept = [each for each in rule["resources"] if each != resource]
        left = [each for each in rule["verbs"] if each != verb]
        rules += [{**rule, "resources": kept}] if kept else []
        rules += [{**rule, "resources": [resource], "verbs": left}] if resource in rule["resources"] and left else []
    plane.admin.patch(role, {"rules": rules})
    daemon.server.log.unlink()
    daemon.server.launch()
    return daemon


def _forbidden(verb: str, resource: str) -> str:
    """As the API server words it."""
    return f'cannot {verb} resource "{resource}"'


def _probe(daemon: Daemon) -> str:
    try:
        return daemon.get("/readyz")[1]
    except OSError:  # not listening yet
        return ""


def _log(daemon: Daemon) -> str:
    return str(daemon.logs()) if daemon.server.log.exists() else ""


@pytest.mark.parametrize(
    "resource", ["clusterqueues", "cohorts", "dynamicquotaorchestrators", "capacityproviders", "admissionchecks"]
)
def test_what_cannot_be_listed_is_named_by_the_readiness_probe(resource: str, teams: ControlPlane) -> None:
    """Nothing is computed from half of the cluster."""
    daemon = _without(teams, READS, "list", resource)
    eventually(lambda: _forbidden("list", resource) in _probe(daemon), "the probe names the right")
    assert daemon.get("/readyz")[0] == 503
    assert cores(teams, "team-a") == 10


@pytest.mark.parametrize(
    ("role", "verb", "resource"),
    [
        (READS, "watch", "capacityproviders"),
        (READS, "list", "multikueueconfigs"),
        (LEASES, "list", "leases"),
        (LEASES, "create", "leases"),
        (LEASES, "get", "leases"),
        (EVENTS, "create", "events"),
        (READS, "patch", "dynamicquotaorchestrators/status"),
    ],
)
def test_what_else_is_missing_is_named_in_the_log(role: str, verb: str, resource: str, teams: ControlPlane) -> None:
    """In the API server's words."""
    daemon = _without(teams, role, verb, resource)
    eventually(lambda: _forbidden(verb, resource) in _log(daemon), "the log names the right")


def test_quotas_that_may_not_be_written_are_named_in_the_condition(teams: ControlPlane) -> None:
    """With the object, and what may be written is."""
    daemon = _without(teams, READS, "patch", "cohorts")
    message = wait_for_message(teams, "WriteRejected", "Cohort/teams", _forbidden("patch", "cohorts"))
    assert "ClusterQueue" not in message
    wait_for_quotas(teams, team_a=6, team_b=18)
    assert daemon.metric("kueue_dqo_quota_writes_total", kind="Cohort", result="refused") == 1
