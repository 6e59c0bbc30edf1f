"""What the daemon tells, and where: Events with their subjects, logs that machines read, nothing secret."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import ORCHESTRATOR, QUICK_ELECTION, ROOT, Daemon, start_orchestrator
from tests.integration.objects import wait_for_condition, wait_for_quotas
from tests.integration.orchestrator.roads_and_rivals.scenes import (
    DQO,
    EVENTS,
    KUEUE,
    OURS,
    TEAM_A,
    capacity,
    drop_effective_quotas,
    effective,
    told,
    wait_seen,
    wait_told,
)

REVERTS = "kueue_dqo_quota_reverts_total"
FAMILIES = re.compile(r'"(kueue_dqo_[a-z_]+)"')


def test_events_name_their_subjects_and_nothing_secret_is_told(status_teams: ControlPlane) -> None:
    """Every change of a condition is one; so is each quota that was undone. Logs are lines of JSON."""
    plane = status_teams
    daemon = start_orchestrator(plane, "status")
    capacity(plane, 48)
    wait_for_condition(plane, "True", "QuotasDistributed")
    drop_effective_quotas(plane, TEAM_A)
    wait_told(plane, "QuotasReverted", "team-a")
    eventually(lambda: effective(plane, TEAM_A) is not None, "the quotas are there again")
    wait_told(plane, "QuotasDistributed", "dqo")
    capacity(plane, 48, is_ready=False)
    wait_told(plane, "EffectiveCapacityNotComputed", "dqo")
    metrics = daemon.get("/metrics")[1]
    daemon.server.stop()

    objects = {"dqo": plane.admin.get(DQO), "team-a": plane.admin.get(TEAM_A)}
    events = plane.admin.items(EVENTS)
    assert {event["reason"] for event in events} >= {
        "Computed",
        "QuotasDistributed",
        "ProviderNotReady",
        "EffectiveCapacityNotComputed",
        "QuotasReverted",
    }
    for event in events:
        subject = objects[event["involvedObject"]["name"]]
        assert event["involvedObject"] == {
            "apiVersion": subject["apiVersion"],
            "kind": subject["kind"],
            "name": subject["metadata"]["name"],
            "uid": subject["metadata"]["uid"],
        }
        assert event["source"] == {"component": OURS}
        assert event["type"] == ("Normal" if event["reason"] in {"Computed", "QuotasDistributed"} else "Warning")

    everything = daemon.server.log.read_text() + json.dumps(events) + metrics
    for secret in _secrets(plane):
        assert secret not in everything
    _check_log(daemon)


def test_of_two_replicas_only_the_leader_tells(status_teams: ControlPlane) -> None:
    """Both see that quotas were undone. The one that takes over goes on without a word about the past."""
    plane = status_teams
    leader = start_orchestrator(plane, "status", environment=QUICK_ELECTION)
    capacity(plane, 48)
    wait_for_condition(plane, "True", "QuotasDistributed")
    standby = start_orchestrator(plane, "status", name="standby", environment=QUICK_ELECTION)
    drop_effective_quotas(plane, TEAM_A)
    eventually(lambda: leader.metric(REVERTS, name="team-a", manager=KUEUE) == 1, "the leader has counted it")
    wait_told(plane, "QuotasReverted", "team-a")
    eventually(lambda: effective(plane, TEAM_A) is not None, "the quotas are there again")
    shown = "kueue_dqo_effective_quota"
    eventually(lambda: standby.metric(shown, name="team-a") == 16, "the standby has seen it, too")
    assert standby.metric(REVERTS) == 0
    leader.server.stop()
    capacity(plane, 30)
    wait_for_quotas(plane, road="status", team_a=10, team_b=20)
    wait_seen(standby, 30)
    standby.server.stop()
    (event,) = told(plane, "QuotasReverted", "team-a")
    assert event["count"] == 1


def test_every_metric_family_is_served(teams: ControlPlane) -> None:
    """Those of the orchestrator's own module, which the documentation lists."""
    daemon = start_orchestrator(teams)
    capacity(teams, 48)
    wait_for_condition(teams, "True", "QuotasDistributed")
    wait_seen(daemon, 48)
    served = daemon.get("/metrics")[1]
    families = FAMILIES.findall((ROOT / "orchestrator" / "metrics.py").read_text())
    assert len(families) > 10
    for family in families:
        assert f"# HELP {family} " in served
    assert daemon.metric("kueue_dqo_capacity", provider="pool", flavor="default", resource="cpu") == 48
    assert daemon.metric("kueue_dqo_provider_ready", provider="pool") == 1
    assert daemon.metric("kueue_dqo_effective_capacity", orchestrator="dqo", flavor="default", resource="cpu") == 48
    assert daemon.metric("kueue_dqo_effective_quota", kind="ClusterQueue", name="team-b", resource="cpu") == 32
    assert daemon.metric("kueue_dqo_quota_writes_total", kind="ClusterQueue", result="landed") == 2
    assert daemon.metric("kueue_dqo_quota_differences", orchestrator="dqo") == 0
    verdict = {"orchestrator": "dqo", "type": "Distributed", "status": "True", "reason": "QuotasDistributed"}
    assert daemon.metric("kueue_dqo_orchestrator_condition", **verdict) == 1
    assert daemon.get("/healthz") == (200, "ok")
    assert daemon.get("/readyz") == (200, "ok")


def _secrets(plane: ControlPlane) -> list[str]:
    """What the daemon's kubeconfigs hold that nobody may read."""
    found = []
    for path in Path(plane.folder).glob(f"*{ORCHESTRATOR}*.kubeconfig"):
        for user in json.loads(path.read_text())["users"]:
            found += [user["user"]["token"], user["user"]["token"].split(".")[2]]
    assert found
    return found


def _check_log(daemon: Daemon) -> None:
    """Each line is one JSON object with a constant text, and what varies beside it."""
    lines = daemon.server.log.read_text().splitlines()
    assert len(lines) == len(daemon.logs())
    for line in daemon.logs():
        assert {"timestamp", "level", "logger", "event"} <= line.keys()
        assert not re.search(r"team-|dqo\b|pool|\d", line["event"]), line["event"]
    names = {line.get("orchestrator") for line in daemon.logs("condition changed")}
    assert names == {"dqo"}
