"""One worker, followed over HTTP: versions, faults, new kubeconfigs."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime
import random
from collections.abc import AsyncIterator, Callable
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager
from functools import partial
from typing import cast

import pytest
from prometheus_client import CollectorRegistry

from kueue_dqo.provider import Environment
from kueue_dqo.runtime import answers
from kueue_dqo.runtime.cache import Cache
from kueue_dqo.runtime.cache_metrics import CacheMetrics
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.clock import SystemClock
from kueue_dqo.runtime.pace import Pace
from kueue_dqo.runtime.resources import CAPACITY_PROVIDERS, COHORTS, Resource
from providers.multikueue import session, worker
from providers.multikueue.kinds import ALWAYS
from providers.multikueue.locations import Kubeconfig, Locations
from providers.multikueue.objects import LocalQueue, Problem, WorkerQueue, WorkerView
from providers.multikueue.requests import WorkerRequests
from providers.multikueue.worker import Worker
from tests.unit.providers.multikueue.worker_api import WorkerApi, kubeconfig, local_queue, queue

DEADLINE = 20.0


class Clock(SystemClock):
    """The machine's, of which the time of day can be put on."""

    def __init__(self) -> None:
        self.ahead = datetime.timedelta()

    def now(self) -> datetime.datetime:
        return super().now() + self.ahead


class Spans(random.Random):
    """It notes from which spans waits between tries are drawn, and draws the shortest."""

    def __init__(self) -> None:
        super().__init__(1)
        self.longest: list[float] = []

    def uniform(self, a: float, b: float) -> float:
        if not a:
            self.longest.append(b)
        return a


class Followed:
    """A worker and the place where its kubeconfig is."""

    def __init__(self, *, allow_insecure: bool = True, source: random.Random | None = None) -> None:
        self.there: Kubeconfig | str | None = None
        self.running_task: asyncio.Task[None] | None = None
        self.needed: AbstractSet[Resource] = ALWAYS
        self.registry = CollectorRegistry()
        self.requests = WorkerRequests(self.registry)
        self.changes = 0
        self.clock = Clock()
        self._changed = asyncio.Event()
        self.worker = Worker(
            "worker1",
            ALWAYS,
            cast("Locations", self),
            Environment(
                client=cast("Client", None),
                clock=self.clock,
                random=source or random.Random(1),
                registry=self.registry,
                cache_metrics=CacheMetrics(CollectorRegistry()),
                look=self._note,
                settings={"allow-insecure-tls": allow_insecure},
            ),
            requests=self.requests,
            changed=self._note,
        )

    def at(self, cluster: str) -> Kubeconfig | str | None:
        assert cluster == "worker1"
        return self.there

    def put(self, api: WorkerApi, bearer: str = "t", origin: str = "Secret here/worker1") -> None:
        """Its kubeconfig leads there from now on."""
        self.move(Kubeconfig(kubeconfig(api, bearer), origin, allow_exec=False))

    def has_changed_since(self, changes: int) -> bool:
        return self.changes > changes

    def move(self, there: Kubeconfig | str | None) -> None:
        self.there = there
        self.worker.move()

    def _note(self) -> None:
        self.changes += 1
        self._changed.set()

    @property
    def view(self) -> WorkerView | None:
        seen = self.worker.sighting(self.needed).seen
        return seen if isinstance(seen, WorkerView) else None

    @property
    def problem(self) -> str:
        seen = self.worker.sighting(self.needed).seen
        return seen.text if isinstance(seen, Problem) else ""

    async def until(self, holds: Callable[[], object]) -> None:
        """Returns when it holds; it must be told when it does."""
        async with asyncio.timeout(DEADLINE):
            while not holds():
                self._changed.clear()
                await self._changed.wait()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = self.running_task = asyncio.create_task(self.worker.run())
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


@pytest.fixture
async def api() -> AsyncIterator[WorkerApi]:
    async with WorkerApi().running() as running:
        running.put("clusterqueues", queue("a", 6))
        running.put("localqueues", local_queue("lq", "a"))
        yield running


@pytest.fixture
async def followed() -> AsyncIterator[Followed]:
    found = Followed()
    async with found.running():
        yield found


async def reading(followed: Followed, api: WorkerApi) -> WorkerView:
    followed.put(api)
    await followed.until(lambda: followed.view)
    kinds = sum(each.plural in served(api) for each in followed.needed)
    await eventually(lambda: api.watchers == kinds)  # it replays nothing to a watch that comes later
    assert followed.view is not None
    return followed.view


def problem_of(followed: Followed, needed: AbstractSet[Resource]) -> str:
    seen = followed.worker.sighting(needed).seen
    return seen.text if isinstance(seen, Problem) else ""


def since_of(followed: Followed, needed: AbstractSet[Resource]) -> datetime.datetime:
    seen = followed.worker.sighting(needed).seen
    assert isinstance(seen, Problem)
    return seen.since


def served(api: WorkerApi) -> set[str]:
    return set().union(*api.served.values())


def cpu(view: WorkerView, name: str) -> str:
    found = view.queues[name]
    assert isinstance(found, WorkerQueue)
    return str(found.quotas[0].flavors[0].resources[0].nominal_quota)


async def eventually(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not holds():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)


# --- what is read ----------------------------------------------------------------------------------------------------


async def test_what_a_worker_has_is_read_and_followed(followed: Followed, api: WorkerApi) -> None:
    view = await reading(followed, api)
    assert view.local_queues == {"team/lq": LocalQueue("a")}
    assert cpu(view, "a") == "6"
    before = followed.worker.sighting(followed.needed).stamp
    api.put("clusterqueues", queue("a", 3))
    await followed.until(lambda: cpu(view, "a") == "3")
    assert followed.worker.sighting(followed.needed).stamp != before


async def test_usage_of_queues_counts_for_nothing(followed: Followed, api: WorkerApi) -> None:
    """Else every Workload would have all workers counted."""
    view = await reading(followed, api)
    before, changes = followed.worker.sighting(followed.needed).stamp, followed.changes
    api.put("clusterqueues", {**queue("a", 6), "status": {"pendingWorkloads": 7, "admittedWorkloads": 3}})
    api.put("clusterqueues", queue("b", 1))
    await followed.until(lambda: "b" in view.queues)
    assert followed.changes == changes + 1
    assert followed.worker.sighting(followed.needed).stamp == (before[0], before[1] + 1)


@pytest.mark.parametrize(
    "served",
    [
        {"v1beta1": {"clusterqueues", "localqueues", "cohorts"}},
        {"v1beta1": {"clusterqueues", "localqueues"}, "v1alpha1": {"cohorts"}},
        {"v1beta1": {"clusterqueues", "localqueues"}},
        {"v1beta1": {"clusterqueues", "localqueues"}, "v1beta2": {"clusterqueues", "localqueues", "cohorts"}},
    ],
    ids=["older", "cohorts in alpha", "no cohorts", "both"],
)
async def test_an_older_worker_is_read_in_the_version_that_it_serves(
    served: dict[str, set[str]], api: WorkerApi
) -> None:
    api.served = served
    followed = Followed()
    followed.needed = ALWAYS | {COHORTS}
    followed.worker.want(followed.needed)
    async with followed.running():
        view = await reading(followed, api)
    assert cpu(view, "a") == "6"
    best = {
        resource: max((version for version in served if resource in served[version]), default="")
        for resource in ("clusterqueues", "localqueues", "cohorts")
    }
    wanted = {f"/apis/kueue.x-k8s.io/{version}/{resource}" for resource, version in best.items() if version}
    assert set(api.lists) == wanted


async def test_a_worker_whose_kueue_is_renewed_is_read_in_the_new_version(followed: Followed, api: WorkerApi) -> None:
    api.served = {"v1beta1": {"clusterqueues", "localqueues"}}
    await reading(followed, api)
    api.served = {"v1beta2": {"clusterqueues", "localqueues"}}
    api.cut()
    await eventually(lambda: "/apis/kueue.x-k8s.io/v1beta2/clusterqueues" in api.lists)
    await followed.until(lambda: followed.view)


@pytest.mark.parametrize(
    ("served", "says"),
    [({}, "is Kueue installed there?"), ({"v1beta2": {"clusterqueues"}}, "does not serve localqueues")],
    ids=["no group", "no kind"],
)
async def test_a_worker_without_the_kinds_is_a_problem_until_it_has_them(
    served: dict[str, set[str]], says: str, followed: Followed, api: WorkerApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "_ASK_FOR_MISSING_EVERY", 0.1)
    api.served = served
    followed.put(api)
    await followed.until(lambda: says in followed.problem)
    api.served = {"v1beta2": {"clusterqueues", "localqueues"}}
    await followed.until(lambda: followed.view)


async def test_a_worker_with_too_much_is_not_read(
    followed: Followed, api: WorkerApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would take the memory that the others need."""
    monkeypatch.setattr(session, "_PACE", Pace(page=50, most_objects=200, first_wait=0.01, longest_wait=0.05))
    for number in range(200):
        api.put("localqueues", local_queue(f"lq-{number}", "a"))
    followed.put(api)
    await followed.until(lambda: "more than the 200 objects" in followed.problem)
    api.remove("localqueues", "lq-0")
    view = await reading(followed, api)
    assert len(view.local_queues) == 200
    api.put("localqueues", local_queue("one-more", "a"))
    await followed.until(lambda: "more than the 200 objects" in followed.problem)


async def test_what_one_needs_and_the_worker_lacks_is_no_problem_of_others(
    followed: Followed, api: WorkerApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One CapacityProvider may count by the worker's providers, of which that worker has no kind."""
    monkeypatch.setattr(session, "_ASK_FOR_MISSING_EVERY", 0.1)
    monkeypatch.setattr(worker, "_PATIENCE", 0.3)
    await reading(followed, api)
    more = ALWAYS | {CAPACITY_PROVIDERS}
    followed.worker.want(more)
    await followed.until(lambda: "capacityproviders" in problem_of(followed, more))
    assert followed.problem == ""
    api.objects["capacityproviders"] = {}
    api.served["v1alpha1"] = {"capacityproviders"}
    await followed.until(lambda: problem_of(followed, more) == "")
    assert followed.problem == ""


async def test_what_a_worker_gets_later_is_read_then(
    followed: Followed, api: WorkerApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It did without Cohorts, which are no problem where there are none; nothing is interrupted."""
    monkeypatch.setattr(session, "_ASK_FOR_MISSING_EVERY", 0.1)
    api.served = {"v1beta2": {"clusterqueues", "localqueues"}}
    followed.needed = ALWAYS | {COHORTS}
    followed.worker.want(followed.needed)
    await reading(followed, api)
    api.served["v1beta2"].add("cohorts")
    api.put("cohorts", {"metadata": {"name": "all"}, "spec": {}})
    await followed.until(lambda: followed.problem != "" or (followed.view is not None and followed.view.cohorts))
    assert followed.problem == ""
    await eventually(lambda: api.watchers == 3)


@pytest.mark.parametrize(
    "answer",
    [
        b"[" * 200_000,
        b'{"metadata":{"resourceVersion":"' + b"9" * 5_000 + b'"},"items":[]}',
        b'{"metadata":{"resourceVersion":"1"},"items":[' + b"[" * 100_000 + b"]" * 100_000 + b"]}",
        b'{"kind":"Status","code":429,"details":{"retryAfterSeconds":' + b"9" * 400 + b"}}",
        b'{"kind":"Status","code":503,"details":{"retryAfterSeconds":-1000}}',
        b"\xff\xfe",
        b"null",
        b'{"metadata":{"resourceVersion":"1","continue":"more"},"items":[]}',
    ],
    ids=["deep", "long version", "deep object", "long wait", "negative wait", "no text", "null", "endless"],
)
@pytest.mark.parametrize("where", ["group", "list", "watch"])
async def test_whatever_a_worker_answers_is_its_own_problem(
    answer: bytes, where: str, followed: Followed, api: WorkerApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is followed again when it has come to its senses."""
    monkeypatch.setattr(answers, "_LONGEST_WAIT", 1)
    monkeypatch.setattr(session, "_ASK_FOR_MISSING_EVERY", 0.2)
    api.nonsense = {where: answer}
    followed.put(api)
    await eventually(lambda: api.nonsense_told >= 1)
    assert followed.running_task is not None
    assert not followed.running_task.done()
    api.nonsense = {}
    api.cut()
    await followed.until(lambda: followed.view)
    assert api.nonsense_told < 50


async def test_changes_are_told_while_something_else_is_not_read_yet(followed: Followed, api: WorkerApi) -> None:
    """Some CapacityProvider needs more of this worker, and that is late; the others do not wait for it."""
    api.served["v1alpha1"] = {"capacityproviders"}
    api.silent = {"capacityproviders"}
    followed.worker.want(ALWAYS | {CAPACITY_PROVIDERS})
    followed.put(api)
    await followed.until(lambda: followed.view)
    await eventually(lambda: api.watchers == 2)
    api.put("clusterqueues", queue("a", 3))
    await followed.until(lambda: followed.view is not None and cpu(followed.view, "a") == "3")


# --- what fails ------------------------------------------------------------------------------------------------------


async def test_a_worker_is_left_alone_for_less_than_a_grace(
    followed: Followed, api: WorkerApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it asks for: else it would be back, and left out all the same."""
    assert session._PACE.longest_retry_after < 60  # noqa: SLF001 - the default grace is 5 minutes
    monkeypatch.setattr(session, "_PACE", dataclasses.replace(session._PACE, longest_retry_after=0.1))  # noqa: SLF001
    api.nonsense = {"list": b'{"kind":"Status","code":503,"details":{"retryAfterSeconds":100}}'}
    followed.put(api)
    await followed.until(lambda: "503" in followed.problem)
    api.nonsense = {}
    await followed.until(lambda: followed.view)


async def test_a_fault_of_this_program_is_tried_again_ever_less_often(
    api: WorkerApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It connects well each time, and lists anew."""

    class Broken(Cache[object]):
        async def run(self) -> None:
            await self._list(watch_from_it=True)
            raise ValueError("a fault")

    monkeypatch.setattr(session, "Cache", Broken)
    monkeypatch.setattr(session, "_FIRST_WAIT", 1.0)
    spans = Spans()
    followed = Followed(source=spans)
    async with followed.running():
        followed.put(api)
        await followed.until(lambda: spans.longest[:4] == [1.0, 2.0, 4.0, 8.0])
        assert "(ValueError): the log has the traceback" in followed.problem


async def test_a_worker_that_was_followed_for_a_while_is_tried_again_soon(
    api: WorkerApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(Cache[object]):
        async def run(self) -> None:
            raise ValueError("a fault")

    monkeypatch.setattr(session, "Cache", Broken)
    monkeypatch.setattr(session, "_STEADY", 0.0)
    monkeypatch.setattr(session, "_FIRST_WAIT", 2.0)
    spans = Spans()
    followed = Followed(source=spans)
    async with followed.running():
        followed.put(api)
        await followed.until(lambda: spans.longest.count(2.0) > 3)


async def test_a_fault_in_the_moment_of_its_end_does_not_keep_it_alive(
    api: WorkerApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A TaskGroup raises the fault then, and nobody hears of the cancellation."""

    class Broken(Cache[object]):
        async def run(self) -> None:
            try:
                await super().run()
            finally:
                raise ValueError("a fault")

    monkeypatch.setattr(session, "Cache", Broken)
    monkeypatch.setattr(session, "_FIRST_WAIT", 10_000.0)
    monkeypatch.setattr(session, "_LONGEST_WAIT", 10_000.0)
    followed = Followed()
    task = asyncio.create_task(followed.worker.run())
    await reading(followed, api)
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=DEADLINE)
    task.cancel()
    assert done


async def test_a_watch_that_is_opened_and_breaks_again_and_again_is_a_problem(
    followed: Followed, api: WorkerApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing that changes there would be seen, although it answers each time."""
    monkeypatch.setattr(session, "_TOLERATED", 0.2)
    monkeypatch.setattr(session, "_PACE", dataclasses.replace(session._PACE, first_wait=0.01, longest_wait=0.05))  # noqa: SLF001
    await reading(followed, api)
    api.nonsense = {"watch": b"garbage\n"}
    api.cut()
    await followed.until(lambda: "no event" in followed.problem)
    told, seen = api.nonsense_told, set[str]()
    while api.nonsense_told < told + 20:
        seen.add(followed.problem)
        await asyncio.sleep(0)
    assert "" not in seen
    api.nonsense = {}
    await followed.until(lambda: followed.view)


async def test_a_problem_has_begun_when_it_began_and_not_when_somebody_looks(
    followed: Followed, api: WorkerApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as a CapacityProvider is Misconfigured, nobody does; a new outage begins anew."""
    monkeypatch.setattr(session, "_TOLERATED", 0.0)
    monkeypatch.setattr(session, "_SETTLED", 0.0)
    monkeypatch.setattr(session, "_PACE", dataclasses.replace(session._PACE, first_wait=0.01, longest_wait=0.05))  # noqa: SLF001
    hour = datetime.timedelta(hours=1)
    for _ in range(2):
        await reading(followed, api)
        changes = followed.changes
        api.refuses = 503
        api.cut()
        await eventually(partial(followed.has_changed_since, changes))
        began = followed.clock.now()
        followed.clock.ahead += hour
        assert since_of(followed, ALWAYS) <= began
        assert since_of(followed, ALWAYS) > began - hour
        api.refuses = None
        await followed.until(lambda: followed.view)


async def test_a_problem_of_what_nobody_needs_any_more_is_forgotten(followed: Followed, api: WorkerApi) -> None:
    """Who needs it again in a later outage has a whole grace."""
    await reading(followed, api)
    more = ALWAYS | {CAPACITY_PROVIDERS}
    followed.worker.want(more)
    first = since_of(followed, more)
    followed.worker.want(ALWAYS)
    assert followed.problem == ""
    followed.clock.ahead += datetime.timedelta(hours=1)
    followed.worker.want(more)
    assert since_of(followed, more) >= first + datetime.timedelta(hours=1)


async def test_a_watch_that_breaks_off_and_goes_on_is_no_problem(followed: Followed, api: WorkerApi) -> None:
    view = await reading(followed, api)
    await eventually(lambda: api.watchers == 2)
    api.cut()
    await eventually(lambda: api.watchers == 0)
    await eventually(lambda: api.watchers == 2)
    assert followed.problem == ""
    api.put("clusterqueues", queue("b", 1))
    await followed.until(lambda: "b" in view.queues)


async def test_a_worker_that_refuses_is_a_problem_with_its_beginning(
    followed: Followed, api: WorkerApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read of it before is not shown: whoever counts holds what came of it."""
    monkeypatch.setattr(session, "_TOLERATED", 0.05)
    await reading(followed, api)
    api.refuses = 503
    api.cut()
    await followed.until(lambda: "cannot watch" in followed.problem)
    first = followed.worker.sighting(followed.needed).seen
    assert isinstance(first, Problem)
    api.refuses = 403
    await followed.until(lambda: "no permission to watch" in followed.problem)
    second = followed.worker.sighting(followed.needed).seen
    assert isinstance(second, Problem)
    assert second.since == first.since
    api.refuses = None
    await followed.until(lambda: followed.view)


async def test_a_kubeconfig_that_is_refused_is_a_problem(api: WorkerApi) -> None:
    """It leads to a server without TLS, and no flag allows that."""
    followed = Followed(allow_insecure=False)
    async with followed.running():
        followed.put(api, "s3cret-token")
        await followed.until(lambda: "Secret here/worker1" in followed.problem)
    assert "--allow-insecure-tls" in followed.problem
    assert "s3cret-token" not in followed.problem
    assert api.lists == []


async def test_a_worker_without_a_kubeconfig_is_a_problem_until_it_has_one(followed: Followed, api: WorkerApi) -> None:
    followed.there = "Secret here/worker1 does not exist"
    followed.worker.move()
    await followed.until(lambda: "does not exist" in followed.problem)
    await reading(followed, api)
    followed.there = "Secret here/worker1 does not exist"
    followed.worker.move()
    await followed.until(lambda: "does not exist" in followed.problem)
    await eventually(lambda: api.watchers == 0)


# --- another kubeconfig ----------------------------------------------------------------------------------------------


async def test_new_credentials_leave_no_gap(followed: Followed, api: WorkerApi) -> None:
    """What is read by the old ones counts until the new ones have read everything; nothing is left behind."""
    await reading(followed, api)
    api.answers.clear()
    followed.put(api, "another")
    seen: list[str] = []
    for _ in range(20):
        seen.append(followed.problem)
        await asyncio.sleep(0)
    before = followed.worker.sighting(followed.needed).stamp
    api.answers.set()
    await followed.until(lambda: followed.worker.sighting(followed.needed).stamp[0] != before[0])
    assert {*seen, followed.problem} == {""}
    await eventually(lambda: api.watchers == 2)


async def test_a_new_kubeconfig_that_does_not_work_is_told_in_the_end(
    followed: Followed, api: WorkerApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old connection may go on for ever: it is not what the admin wants any more."""
    monkeypatch.setattr(worker, "_PATIENCE", 0.3)
    api.bearer = "t"
    await reading(followed, api)
    followed.put(api, "wrong")
    await followed.until(lambda: "401" in followed.problem or "credentials" in followed.problem)
    assert followed.view is None
    followed.put(api, "t")
    await followed.until(lambda: followed.view)


async def test_a_kubeconfig_that_moves_leaves_no_gap(followed: Followed, api: WorkerApi) -> None:
    """To another Secret, or a file: until it has been read there, nobody knows what it is."""
    await reading(followed, api)
    before = followed.worker.sighting(followed.needed).stamp
    problems = set[str]()
    followed.move(None)
    for _ in range(20):
        problems.add(followed.problem)
        await asyncio.sleep(0)
    followed.put(api, origin="file /etc/worker1")
    while followed.worker.sighting(followed.needed).stamp[0] == before[0]:
        problems.add(followed.problem)
        await asyncio.sleep(0)
    assert {*problems, followed.problem} == {""}
    await eventually(lambda: api.watchers == 2)


async def test_a_kubeconfig_that_is_not_read_for_long_is_a_problem(
    followed: Followed, api: WorkerApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_PATIENCE", 0.2)
    await reading(followed, api)
    followed.move(None)
    await followed.until(lambda: followed.problem == "its kubeconfig is being read")
    await eventually(lambda: api.watchers == 0)
    followed.put(api)
    await followed.until(lambda: followed.view)


async def test_another_server_is_another_cluster(
    followed: Followed, api: WorkerApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the old one has says nothing of the new one, not even for as long as that is being read."""
    monkeypatch.setattr(worker, "_PATIENCE", 1_000.0)
    await reading(followed, api)
    async with WorkerApi().running() as other:
        other.answers.clear()
        followed.put(other)
        await followed.until(lambda: followed.problem == "it is being connected to")
        await eventually(lambda: api.watchers == 0)
        other.answers.set()
        await followed.until(lambda: followed.view)


async def test_a_replaced_cluster_is_another_one(followed: Followed, api: WorkerApi) -> None:
    await reading(followed, api)
    async with WorkerApi().running() as other:
        other.put("clusterqueues", queue("other", 1))
        followed.put(other)
        await followed.until(lambda: followed.view is not None and set(followed.view.queues) == {"other"})
        await eventually(lambda: api.watchers == 0)
        await eventually(lambda: other.watchers == 2)


async def test_more_is_read_where_more_is_wanted(followed: Followed, api: WorkerApi) -> None:
    """Without a gap for those who do not need it; who does, waits for it and never sees it half."""
    api.put("cohorts", {"metadata": {"name": "all"}, "spec": {}})
    view = await reading(followed, api)
    assert view.cohorts == {}
    more = ALWAYS | {COHORTS}
    followed.worker.want(more)
    assert followed.view is not None
    assert isinstance(followed.worker.sighting(more).seen, Problem)
    async with asyncio.timeout(DEADLINE):
        await followed.worker.wait_read(more)
    seen = followed.worker.sighting(more).seen
    assert isinstance(seen, WorkerView)
    assert seen.cohorts
    await eventually(lambda: api.watchers == 3)


# --- waiting ---------------------------------------------------------------------------------------------------------


async def test_a_first_question_waits_for_the_first_lists_but_not_for_long(
    followed: Followed, api: WorkerApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    followed.put(api)
    async with asyncio.timeout(DEADLINE):
        await followed.worker.wait_read(ALWAYS)
    assert followed.view is not None
    monkeypatch.setattr(worker, "_PATIENCE", 0.1)
    hanging = Followed()
    api.answers.clear()
    hanging.put(api)
    async with hanging.running(), asyncio.timeout(DEADLINE):
        await hanging.worker.wait_read(ALWAYS)
    assert hanging.view is None


async def test_a_first_question_does_not_wait_for_what_is_known_to_fail(followed: Followed, api: WorkerApi) -> None:
    """Else each new leader would be late by the whole of its patience, because of one worker that is away."""
    followed.there = "Secret here/worker1 does not exist"
    followed.worker.move()
    refused = Followed()
    api.refuses = 403
    refused.put(api)
    async with refused.running(), asyncio.timeout(5):
        await followed.worker.wait_read(ALWAYS)
        await refused.worker.wait_read(ALWAYS)


async def test_requests_are_counted_by_worker_for_as_long_as_it_is_followed(followed: Followed, api: WorkerApi) -> None:
    await reading(followed, api)
    labels = {"worker": "worker1", "code": "200", "method": "GET"}
    assert (followed.registry.get_sample_value("kueue_dqo_multikueue_worker_requests_total", labels) or 0) >= 4
    other = followed.requests.of("worker2")
    other.count("200", "GET")
    followed.requests.forget("worker1")
    assert followed.registry.get_sample_value("kueue_dqo_multikueue_worker_requests_total", labels) is None
    labels["worker"] = "worker2"
    assert followed.registry.get_sample_value("kueue_dqo_multikueue_worker_requests_total", labels) == 1
