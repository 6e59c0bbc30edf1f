"""Leader election: never two that may write, no wall clock, a lease that is lost, stolen or given back."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
from collections.abc import Awaitable, Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from kueue_dqo.runtime.leader import LeaderElector, LeaderMetrics
from tests.unit.kueue_dqo.runtime.lease_server import LeaseNetwork, LeaseServer, random_trouble
from tests.unit.kueue_dqo.runtime.virtual_time import VirtualClock, run_in_virtual_time

pytestmark = pytest.mark.looptime


class Replica:
    """An elector with its clock, its way to the server, and what it leads."""

    def __init__(self, server: LeaseServer, identity: str, *, skew: float = 0.0, seed: int = 1) -> None:
        self.identity = identity
        self.clock = VirtualClock(skew)
        self.network = LeaseNetwork(server)
        self.registry = CollectorRegistry()
        self.terms: list[tuple[float, float]] = []
        """When each `lead` began and ended."""
        self.drain = 0.0
        self.elector = LeaderElector(
            self.network,
            namespace="kueue-system",
            name="dqo",
            identity=identity,
            clock=self.clock,
            random=random.Random(seed),
            metrics=LeaderMetrics(self.registry),
            labels={"app": "dqo"},
        )
        self._running: asyncio.Task[None] | None = None

    def start(self, lead: Callable[[], Awaitable[None]] | None = None) -> asyncio.Task[None]:
        self._running = asyncio.create_task(self.elector.run(lead or self.lead))
        return self._running

    async def stop(self) -> None:
        assert self._running is not None
        self._running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._running

    async def lead(self) -> None:
        began = asyncio.get_running_loop().time()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(self.drain)
            self.terms.append((began, asyncio.get_running_loop().time()))

    def value(self, name: str) -> float | None:
        return self.registry.get_sample_value(name, {"name": "dqo"})


@pytest.fixture
def server() -> LeaseServer:
    return LeaseServer()


@pytest.fixture(autouse=True)
def logs() -> Iterator[list[dict[str, object]]]:
    with capture_logs() as captured:
        yield captured  # type: ignore[misc] # an EventDict is a mutable mapping


async def _until(condition: Callable[[], bool], limit: float = 600) -> float:
    """Waits in steps of 10 ms. Returns the time at which it came true."""
    async with asyncio.timeout(limit):
        while not condition():  # noqa: ASYNC110 - what is waited for sets no event
            await asyncio.sleep(0.01)
    return asyncio.get_running_loop().time()


async def _written(server: LeaseServer) -> float:
    """Waits for the next write. Returns its time."""
    before = server.writes
    return await _until(lambda: server.writes > before)


async def test_the_first_replica_creates_the_lease_and_leads_at_once(server: LeaseServer) -> None:
    replica = Replica(server, "a")
    replica.start()
    assert await _until(replica.elector.may_write) < 0.1
    assert replica.elector.is_leader
    assert server.lease is not None
    assert server.lease["metadata"]["labels"] == {"app": "dqo"}
    assert server.spec == {
        "holderIdentity": "a",
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-01-01T00:00:00.000000Z",
        "renewTime": "2026-01-01T00:00:00.000000Z",
        "leaseTransitions": 0,
    }
    assert replica.value("leader_election_master_status") == 1
    await replica.stop()
    assert replica.value("leader_election_master_status") == 0


async def test_it_renews_for_ever_with_jitter_and_keeps_what_others_wrote_beside(server: LeaseServer) -> None:
    server.lease = {
        "metadata": {"name": "dqo", "resourceVersion": "0", "annotations": {"kept": "yes"}, "labels": {"kept": "yes"}},
        "spec": {"holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 6, "preferredHolder": "kept"},
    }
    replica = Replica(server, "a")
    replica.start()
    await _until(replica.elector.may_write)
    times = [await _written(server) for _ in range(50)]
    gaps = [after - before for before, after in itertools.pairwise(times)]
    assert all(1.59 <= gap <= 2.02 for gap in gaps)
    assert len({round(gap, 2) for gap in gaps}) > 5
    assert replica.elector.may_write()
    assert server.lease["metadata"]["annotations"] == {"kept": "yes"}
    assert server.lease["metadata"]["labels"] == {"kept": "yes", "app": "dqo"}
    assert (server.spec["preferredHolder"], server.spec["leaseTransitions"]) == ("kept", 7)
    assert server.spec["acquireTime"] == "2026-01-01T00:00:00.000000Z"
    assert {method for method, _ in replica.network.requests[2:]} == {"PUT"}, "a renewal needs no read"
    await replica.stop()


@pytest.mark.parametrize("skew", [-600.0, 0.0, 600.0])
async def test_a_dead_leader_is_followed_after_the_lease_duration_whatever_the_clocks_show(
    server: LeaseServer, skew: float
) -> None:
    dead, standby = Replica(server, "dead"), Replica(server, "standby", skew=skew)
    dead.start()
    await _until(dead.elector.may_write)
    standby.start()
    await asyncio.sleep(100)
    assert not standby.elector.is_leader, "it steals from a leader that is well"
    dead.network.trouble = lambda _: "refused"
    since = asyncio.get_running_loop().time()
    lost_at = await _until(lambda: not dead.elector.may_write())
    won_at = await _until(standby.elector.may_write)
    assert lost_at <= since + 10.02
    assert since + 12 <= won_at <= since + 15 + 2 * 2
    assert server.spec["leaseTransitions"] == 1
    await dead.stop()
    await standby.stop()
    assert server.holder == ""


async def test_a_lease_with_an_old_time_is_watched_for_its_whole_duration_first(server: LeaseServer) -> None:
    """Its holder's clock may be years off: only a change that is seen, or none, counts."""
    other = Replica(server, "other")
    other.start()
    await _until(other.elector.may_write)
    other.network.trouble = lambda _: "hangs"
    server.edit(renewTime="1999-01-01T00:00:00.000000Z", leaseDurationSeconds=40)
    since = asyncio.get_running_loop().time()
    late = Replica(server, "late")
    late.start()
    won_at = await _until(late.elector.may_write)
    assert since + 40 <= won_at <= since + 42.1, "what counts is the duration that the record promises"
    await late.stop()
    await other.stop()


async def test_the_leader_stops_writing_after_the_renew_deadline_although_the_server_hangs(server: LeaseServer) -> None:
    replica = Replica(server, "a")
    replica.start()
    await _until(replica.elector.may_write)
    await asyncio.sleep(20)
    renewed_at = await _written(server)
    replica.network.trouble = lambda _: "hangs"
    replica.network.requests.clear()
    lost_at = await _until(lambda: not replica.elector.may_write())
    assert lost_at == pytest.approx(renewed_at + 10, abs=0.03)
    await _until(lambda: bool(replica.terms))
    assert replica.terms[0][1] == pytest.approx(renewed_at + 10, abs=0.03)
    renewals = [timeout for method, timeout in replica.network.requests if method == "PUT"]
    assert len(renewals) >= 2, "one hanging request must not use up the deadline"
    assert all(timeout < 10 for timeout in renewals)
    await replica.stop()


async def test_a_renewal_never_has_more_time_than_is_left_of_the_deadline(server: LeaseServer) -> None:
    replica = Replica(server, "a")
    left: list[tuple[float, float]] = []
    replica.start()
    renewed_at = await _until(replica.elector.may_write)

    def trouble(method: str) -> str:
        del method
        left.append((replica.network.requests[-1][1], renewed_at + 10 - asyncio.get_running_loop().time()))
        return "hangs"

    replica.network.trouble = trouble
    await _until(lambda: not replica.elector.may_write())
    assert left
    assert all(0 < timeout < remaining for timeout, remaining in left)
    await replica.stop()


async def test_may_write_is_false_on_time_although_the_loop_was_blocked(server: LeaseServer) -> None:
    replica = Replica(server, "a")
    replica.start()
    await _until(replica.elector.may_write)
    replica.clock.stall = 9.9
    assert replica.elector.may_write()
    replica.clock.stall = 10.1  # nothing has run on the loop since
    assert not replica.elector.may_write()
    assert not replica.elector.is_leader
    await _until(lambda: bool(replica.terms))
    await _until(replica.elector.may_write)
    assert server.holder == "a", "its own lease it takes again without waiting"
    await replica.stop()


async def test_a_renewal_whose_answer_comes_after_the_deadline_does_not_revive_a_leader(server: LeaseServer) -> None:
    replica = Replica(server, "a")
    replica.start()
    await _until(replica.elector.may_write)

    def trouble(method: str) -> float:
        del method
        replica.clock.stall += 9  # the process stands still between request and answer, over the deadline
        return 0.0

    replica.network.trouble = trouble
    await _until(lambda: replica.clock.stall > 0)
    replica.network.trouble = lambda _: 0.0
    # The term has ended; what follows is another one, as its own lease it takes again without waiting.
    await _until(lambda: bool(replica.terms), limit=1)
    await replica.stop()


async def test_a_stolen_lease_ends_the_term_at_the_next_renewal(server: LeaseServer) -> None:
    replica = Replica(server, "a")
    replica.start()
    await _until(replica.elector.may_write)
    server.edit(holderIdentity="thief", renewTime="2026-01-01T00:00:00.500000Z")
    since = asyncio.get_running_loop().time()
    await _until(lambda: bool(replica.terms))
    assert asyncio.get_running_loop().time() <= since + 2.1
    assert not replica.elector.may_write()
    assert server.holder == "thief"
    assert replica.value("leader_election_slowpath_total") == 1
    await replica.stop()
    assert server.holder == "thief", "it gives back what is not its own"


@pytest.mark.parametrize("trouble", ["cut", "failed", "refused"])
async def test_a_single_failed_renewal_costs_nothing(server: LeaseServer, trouble: str) -> None:
    replica = Replica(server, "a")
    replica.start()
    await _until(replica.elector.may_write)
    kinds = iter([trouble])
    replica.network.trouble = lambda _: next(kinds, 0.0)
    await asyncio.sleep(60)
    assert replica.elector.may_write()
    assert replica.terms == []
    assert replica.value("kueue_dqo_leader_election_failures_total") == 1
    await replica.stop()


async def test_somebody_who_labels_the_lease_disturbs_neither_leader_nor_expiry(server: LeaseServer) -> None:
    leader, standby = Replica(server, "leader"), Replica(server, "standby")
    leader.start()
    await _until(leader.elector.may_write)
    standby.start()
    server.edit()
    await asyncio.sleep(5)
    assert leader.elector.may_write()
    assert leader.terms == []
    leader.network.trouble = lambda _: "refused"
    since = asyncio.get_running_loop().time()
    while not standby.elector.may_write():
        server.edit()
        await asyncio.sleep(1)
    assert asyncio.get_running_loop().time() <= since + 20
    await leader.stop()
    await standby.stop()


async def test_who_stands_by_says_for_whom_once_for_each_holder(
    server: LeaseServer, logs: list[dict[str, object]]
) -> None:
    def told() -> list[object]:
        return [(line["identity"], line["holder"]) for line in logs if line["event"] == "standing by"]

    leader, standby = Replica(server, "leader"), Replica(server, "standby")
    leader.start()
    await _until(leader.elector.may_write)
    standby.start()
    await asyncio.sleep(600)
    assert told() == [("standby", "leader")]
    server.edit(holderIdentity="rival")
    await asyncio.sleep(10)
    assert set(told()[1:]) == {("standby", "rival"), ("leader", "rival")}
    assert len(told()) == 3
    await leader.stop()
    await standby.stop()


async def test_the_sign_of_life_of_a_provider_is_not_taken_and_that_is_an_error(
    server: LeaseServer, logs: list[dict[str, object]]
) -> None:
    """Whether it is renewed or not. Once it is gone, the election goes on."""
    labels = {"kueue-dqo.dev/controller-name": "kueue-dqo.dev.manual"}
    server.lease = {
        "metadata": {"name": "dqo", "resourceVersion": "0", "labels": labels},
        "spec": {"holderIdentity": "of_manual", "leaseDurationSeconds": 60},
    }
    replica = Replica(server, "a")
    replica.start()
    await asyncio.sleep(600)
    assert not replica.elector.may_write()
    assert server.writes == 0
    errors = [str(line["error"]) for line in logs if line["log_level"] == "error"]
    assert "Lease kueue-system/dqo is labelled kueue-dqo.dev/controller-name=kueue-dqo.dev.manual" in errors[0]
    assert "choose another --lease-name, or rename that CapacityProvider and delete the Lease" in errors[0]
    server.lease = None
    await _until(replica.elector.may_write, 70)
    await replica.stop()


async def test_a_lease_that_is_deleted_is_created_again_by_its_leader_and_by_nobody_before_it_would_have_expired(
    server: LeaseServer,
) -> None:
    leader, standby = Replica(server, "leader"), Replica(server, "standby")
    leader.start()
    await _until(leader.elector.may_write)
    standby.start()
    await asyncio.sleep(5)
    server.lease = None
    await _until(lambda: server.lease is not None)
    assert server.holder == "leader"
    leader.network.trouble = lambda _: "hangs"
    server.lease = None
    await _until(lambda: not leader.elector.may_write() or standby.elector.may_write())
    assert not standby.elector.may_write()
    await _until(standby.elector.may_write)
    await leader.stop()
    await standby.stop()


async def test_cancellation_drains_first_keeps_renewing_meanwhile_and_then_gives_the_lease_back(
    server: LeaseServer,
) -> None:
    leader, standby = Replica(server, "leader"), Replica(server, "standby")
    leader.drain = 30
    leader.start()
    await _until(leader.elector.may_write)
    standby.start()
    await asyncio.sleep(5)
    stopping = asyncio.create_task(leader.stop())
    await asyncio.sleep(29)
    assert leader.elector.may_write(), "its last writes are a leader's"
    assert server.holder == "leader"
    await stopping
    assert not leader.elector.may_write()
    assert (server.holder, server.spec["leaseDurationSeconds"]) == ("", 1)
    since = asyncio.get_running_loop().time()
    assert await _until(standby.elector.may_write) <= since + 2.1, "a lease that was given back needs no waiting"
    await standby.stop()


async def test_a_second_cancellation_does_not_cut_the_drain_short(server: LeaseServer) -> None:
    replica = Replica(server, "a")
    replica.drain = 5
    running = replica.start()
    await _until(replica.elector.may_write)
    running.cancel()
    await asyncio.sleep(1)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    began, ended = replica.terms[0]
    assert ended == pytest.approx(began + 5, abs=0.1)


async def test_an_acquisition_that_is_cancelled_underway_is_given_back_as_well(server: LeaseServer) -> None:
    replica = Replica(server, "a")
    replica.network.trouble = lambda method: 2.0 if method == "POST" else 0.0
    running = replica.start()
    await asyncio.sleep(2.5)
    assert server.holder == "a"
    assert not replica.elector.may_write()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert server.holder == ""
    assert replica.terms == []


async def test_a_release_that_fails_is_logged_and_ends_all_the_same(
    server: LeaseServer, logs: list[dict[str, object]]
) -> None:
    replica = Replica(server, "a")
    replica.start()
    await _until(replica.elector.may_write)
    replica.network.trouble = lambda _: "hangs"
    await replica.stop()
    assert [line["event"] for line in logs][-1] == "lease not released"
    assert not replica.elector.may_write()


async def test_when_the_work_returns_the_lease_is_given_back_and_the_election_ends(server: LeaseServer) -> None:
    replica = Replica(server, "a")

    async def work() -> None:
        await asyncio.sleep(30)

    await replica.start(work)
    assert server.holder == ""


async def test_work_that_fails_is_logged_and_lets_another_replica_try(
    server: LeaseServer, logs: list[dict[str, object]]
) -> None:
    broken, well = Replica(server, "broken"), Replica(server, "well")

    async def fail() -> None:
        await asyncio.sleep(3)
        raise RuntimeError("broken work")

    broken.start(fail)
    await _until(broken.elector.may_write)
    well.start()
    await _until(well.elector.may_write, limit=6)
    assert [str(line["exc_info"]) for line in logs if line["event"] == "leading failed, standing back"] == [
        "broken work"
    ]
    await well.stop()
    await _until(broken.elector.may_write, limit=20)
    await broken.stop()


async def test_an_error_while_draining_is_logged(server: LeaseServer, logs: list[dict[str, object]]) -> None:
    replica = Replica(server, "a")

    async def lead() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise RuntimeError("cannot drain")

    replica.start(lead)
    await _until(replica.elector.may_write)
    await replica.stop()
    assert [str(line["exc_info"]) for line in logs if line["event"] == "leading ended with an error"] == [
        "cannot drain"
    ]
    assert server.holder == ""


async def test_answers_that_are_no_lease_are_logged_and_tried_again(
    server: LeaseServer, logs: list[dict[str, object]]
) -> None:
    server.lease = {"metadata": {"resourceVersion": "1"}, "spec": {"leaseDurationSeconds": "forever"}}
    replica = Replica(server, "a")
    replica.start()
    await asyncio.sleep(10)
    assert len([line for line in logs if line["event"] == "lease not acquired"]) >= 5
    server.lease = None
    await _until(replica.elector.may_write, limit=3)
    await replica.stop()


@pytest.mark.parametrize(
    ("lease_duration", "renew_deadline", "retry_period"), [(10, 10, 2), (15, 2, 2), (15, 10, 0), (5, 10, 2)]
)
def test_durations_without_room_are_refused(lease_duration: float, renew_deadline: float, retry_period: float) -> None:
    with pytest.raises(ValueError, match="Lease n/l: retry period"):
        LeaderElector(
            LeaseNetwork(LeaseServer()),
            namespace="n",
            name="l",
            identity="a",
            clock=VirtualClock(),
            random=random.Random(1),
            metrics=LeaderMetrics(CollectorRegistry()),
            lease_duration=lease_duration,
            renew_deadline=renew_deadline,
            retry_period=retry_period,
        )


def test_an_empty_identity_is_refused() -> None:
    with pytest.raises(ValueError, match="identity is empty"):
        Replica(LeaseServer(), "")


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32), skew=st.sampled_from([-600.0, -7.5, 0.0, 7.5, 600.0]))
def test_never_two_may_write_and_one_does_once_the_network_is_well(seed: int, skew: float) -> None:
    """Delays, failures, lost answers, requests that land long after they were given up, clocks ten minutes apart."""
    troubles_end = 200.0

    async def scenario() -> None:
        server = LeaseServer()
        chance = random.Random(seed)
        replicas = [
            Replica(server, "a", seed=chance.getrandbits(32)),
            Replica(server, "b", seed=chance.getrandbits(32), skew=skew),
        ]
        overlaps: list[float] = []
        terms = 0

        async def lead() -> None:
            nonlocal terms
            terms += 1
            try:
                while True:
                    # Whoever may write too does so from the moment at which the later of the two began.
                    if all(replica.elector.may_write() for replica in replicas):
                        overlaps.append(asyncio.get_running_loop().time())
                    await asyncio.sleep(2)
            finally:
                await asyncio.sleep(chance.choice([0, 0, chance.uniform(0, 20)]))

        for replica in replicas:
            replica.network.trouble = random_trouble(chance, troubles_end)
            replica.start(lead)
            await asyncio.sleep(chance.uniform(0, 5))
        while asyncio.get_running_loop().time() < troubles_end:
            await asyncio.sleep(chance.uniform(5, 60))
            who = chance.choice(replicas)
            if chance.random() < 0.5:
                await who.stop()
                who.start(lead)
            else:
                usual, who.network.trouble = who.network.trouble, lambda _: "hangs"
                await asyncio.sleep(chance.uniform(0, 40))
                who.network.trouble = usual
        # What was sent before lands within 20 s; the lease expires, and a drain may take 20 s.
        await asyncio.sleep(60)
        assert terms > 0
        assert [replica.elector.may_write() for replica in replicas].count(True) == 1
        for replica in replicas:
            await replica.stop()
        assert overlaps == []
        assert server.holder == ""

    with capture_logs():
        run_in_virtual_time(scenario())
