"""Writes that fail, are held back, are overtaken, or whose outcome nobody knows."""

from __future__ import annotations

import pytest

from tests.controlplane.admin import Refused
from tests.controlplane.faults import WRITES, Answer, Delay, Fault, LoseAnswer, LoseRequest
from tests.controlplane.processes import eventually
from tests.integration.daemons import NAMESPACE, ORCHESTRATOR, start_orchestrator
from tests.integration.objects import QUEUES, condition, nominal
from tests.integration.orchestrator.faults.teams import SHARES, Teams
from tests.integration.proxies import Proxy

_PATCH = frozenset({"patch"})
_QUOTAS = "/(clusterqueues|cohorts)/"
_ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/kueue-dqo-orchestrator"
_ONE_AT_A_TIME = {"DQO_CONCURRENCY": "1"}


def test_what_a_rival_writes_between_read_and_write_is_kept(teams: Teams, proxy: Proxy) -> None:
    """Our write, computed before, fails; the next one reckons with it."""
    daemon = start_orchestrator(teams.plane, server=proxy.url)
    teams.follow(2, 2)
    late = proxy.add(Delay(2, verbs=_PATCH, path="/team-c$", times=1))
    teams.publish(3, 1)
    eventually(lambda: late.hits == 1, "a write is on its way")
    path = f"{QUEUES}/team-c"
    groups = teams.plane.admin.get(path)["spec"]["resourceGroups"]
    groups[0]["flavors"][0]["resources"][0]["borrowingLimit"] = "5"
    teams.recorder.own(teams.plane.admin.patch(path, {"spec": {"resourceGroups": groups}}, manager="rival"))
    teams.settle()
    resources = teams.plane.admin.get(path)["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
    assert resources[0]["borrowingLimit"] == "5"
    assert daemon.metric("kueue_dqo_quota_writes_total", kind="ClusterQueue", result="outdated") == 1
    teams.check()


def test_an_object_that_is_deleted_between_read_and_write_gives_its_share_to_the_others(
    teams: Teams, proxy: Proxy
) -> None:
    """And nobody is held up by it."""
    start_orchestrator(teams.plane, server=proxy.url)
    teams.follow(2, 2)
    late = proxy.add(Delay(2, verbs=_PATCH, path="/team-d$", times=1))
    teams.publish(7, 3)
    eventually(lambda: late.hits == 1, "a write is on its way")
    teams.plane.admin.delete(f"{QUEUES}/team-d")

    def are_right() -> bool:
        found = [nominal(each) for each in teams.plane.admin.items(QUEUES)]
        return len(found) == len(SHARES) - 1 and sum(each["default/cpu"] for each in found) == 36 * 7 * 10**9

    eventually(are_right, "the others share everything")
    teams.check()


def test_the_server_is_left_alone_for_as_long_as_it_asks(teams: Teams, proxy: Proxy) -> None:
    """One write is refused, and the others wait with it instead of being refused as well."""
    daemon = start_orchestrator(teams.plane, server=proxy.url, environment=_ONE_AT_A_TIME)
    teams.follow(2, 2)
    busy = proxy.add(Answer(429, retry_after=3, verbs=_PATCH, path=_QUOTAS))
    teams.publish(3, 1)
    eventually(lambda: busy.hits > 0, "the server is busy")
    sent = proxy.count(verbs=_PATCH, path=_QUOTAS)
    assert teams.says("True", "QuotasDistributed")  # not settled, so the word stands as it did
    proxy.clear()
    teams.settle()
    assert proxy.count(verbs=_PATCH, path=_QUOTAS) <= sent + 2 * len(SHARES)
    assert daemon.metric("kueue_dqo_quota_writes_total", result="failed") == busy.hits == 1
    teams.check()


def test_every_third_write_fails(teams: Teams, proxy: Proxy) -> None:
    """Whatever it writes: quotas, statuses, its Lease, Events."""
    daemon = start_orchestrator(teams.plane, server=proxy.url)
    failing = proxy.add(Answer(500, verbs=WRITES, every=3))
    for cpu, memory in ((2, 2), (5, 1), (1, 5), (4, 4)):
        teams.follow(cpu, memory)
    assert failing.hits >= 4 * len(SHARES) / 3
    assert daemon.metric("kueue_dqo_quota_writes_total", result="failed") > 0
    assert daemon.metric("kueue_dqo_quota_writes_total", result="refused") == 0
    teams.check()


@pytest.mark.parametrize("loss", [LoseAnswer, LoseRequest])
def test_the_outcome_of_a_write_is_not_known(loss: type[Fault], teams: Teams, proxy: Proxy) -> None:
    """It counts as if it had landed and as if it had not, until the object is read."""
    daemon = start_orchestrator(teams.plane, server=proxy.url)
    teams.follow(2, 2)
    lost = proxy.add(loss(verbs=_PATCH, path=_QUOTAS, every=3, times=2))
    for cpu, memory in ((5, 1), (1, 5)):
        teams.follow(cpu, memory)
    assert daemon.metric("kueue_dqo_quota_writes_total", result="failed") == lost.hits == 2
    teams.check()


def test_a_server_that_refuses_everything_is_not_stormed(teams: Teams, proxy: Proxy) -> None:
    """A few tries, further and further apart; the word is not given meanwhile."""
    start_orchestrator(teams.plane, server=proxy.url)
    broken = proxy.add(Answer(500, verbs=_PATCH, path=_QUOTAS))
    teams.publish(2, 2)
    eventually(lambda: broken.hits >= 40, "it has been tried several times")
    assert not teams.says("True", "QuotasDistributed")
    assert teams.moved() == 0
    proxy.clear()
    teams.settle()
    teams.check()


def test_a_right_that_is_missing_for_a_while_is_used_again_soon(teams: Teams) -> None:
    """As after a start of the API server, which refuses everything until it has read the rights."""
    daemon = start_orchestrator(teams.plane)
    teams.follow(2, 2)
    rules = teams.plane.admin.get(_ROLE)["rules"]
    reading = [rule for rule in rules if not ("patch" in rule["verbs"] and "clusterqueues" in rule["resources"])]
    assert len(reading) == len(rules) - 1
    teams.plane.admin.patch(_ROLE, {"rules": reading})
    account = teams.plane.as_service_account(NAMESPACE, ORCHESTRATOR)

    def is_refused() -> bool:
        try:
            account.patch(f"{QUEUES}/team-a", {})
        except Refused as error:
            return error.code == 403
        return False

    eventually(is_refused, "the right is gone")
    teams.publish(5, 1)
    eventually(lambda: teams.says("False", "WriteRejected"), "it is said so")
    assert "cannot patch" in condition(teams.plane)["message"]
    refused = daemon.metric("kueue_dqo_quota_writes_total", result="refused")
    assert refused <= len(SHARES)
    teams.plane.admin.patch(_ROLE, {"rules": rules})
    teams.settle()
    assert daemon.metric("kueue_dqo_quota_writes_total", result="refused") == refused
    teams.check()
