"""A cache over real connections, with a server that misbehaves."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from random import Random
from typing import Any

import pytest
from aiohttp import web
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from kueue_dqo.runtime.cache import Cache
from kueue_dqo.runtime.cache_metrics import CacheMetrics
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.clock import SystemClock
from kueue_dqo.runtime.errors import ApiError, Forbidden, Gone
from kueue_dqo.runtime.pace import Pace
from kueue_dqo.runtime.resources import CLUSTER_QUEUES, LEASES, NODES, Resource
from tests.unit.kueue_dqo.runtime.scripted_server import (
    Answer,
    ScriptedServer,
    bookmark,
    client_of,
    closes,
    cuts,
    drops,
    error_event,
    event,
    page,
    refuses,
    says,
    thing,
    until,
)

QUICK = Pace(inactivity=30, first_wait=0.001, longest_wait=0.002, longest_wait_for_resource=0.002)
FOREVER = Pace(inactivity=30, first_wait=10_000, longest_wait=10_000, longest_wait_for_resource=10_000)
"""A cache that waits at all does not come back within the test."""


def decode(raw: bytes) -> int:
    """The number in an object; some objects hold none."""
    return int(json.loads(raw).get("value", 0))


class Followed:
    """A cache that runs, and what it has reported."""

    def __init__(self, client: Client, resource: Resource = NODES, pace: Pace = QUICK, **options: Any) -> None:
        self.changes: list[tuple[str, int | None, int | None]] = []
        self.fails_on = ""
        self.cache: Cache[int] = Cache(
            client,
            resource,
            decode,
            on_change=self._changed,
            clock=SystemClock(),
            random=Random(1),
            pace=pace,
            **options,
        )

    def _changed(self, name: str, old: int | None, new: int | None) -> None:
        self.changes.append((name, old, new))
        if name == self.fails_on:
            raise RuntimeError("a fault of the listener")

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Cache[int]]:
        task = asyncio.create_task(self.cache.run())
        try:
            yield self.cache
        finally:
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer().running() as running:
        yield running


@pytest.fixture
async def client(server: ScriptedServer) -> AsyncIterator[Client]:
    async with client_of(server) as opened:
        yield opened


async def test_it_lists_in_pages_and_then_watches_from_the_list(server: ScriptedServer, client: Client) -> None:
    server.lists.extend(
        [
            page(9, thing("a", 1, value=1), thing("b", 2, value=2), thing("c", 3, value=3), goes_on="t1"),
            page(9, thing("d", 4, value=4), thing("e", 5, value=5), thing("f", 6, value=6), goes_on="t2"),
            page(9, thing("g", 7, value=7)),
        ]
    )
    server.watches.append(server.hang(event("ADDED", "h", 10, value=8)))
    followed = Followed(client, pace=Pace(page=3), label_selector="pool=x", field_selector="metadata.name!=z")
    async with followed.running() as cache:
        assert (cache.is_synced, cache.problem) == (False, "not listed yet")
        await cache.wait_synced()
        assert cache.is_synced
        await until(lambda: "h" in cache.objects)
        assert dict(cache.objects) == {name: number for number, name in enumerate("abcdefgh", start=1)}
        assert cache.problem is None
        assert cache.last_contact is not None
    first, second, third = server.seen_lists
    assert (first.query["limit"], first.query["labelSelector"]) == ("3", "pool=x")
    assert "resourceVersion" not in first.query
    assert [second.query["continue"], third.query["continue"]] == ["t1", "t2"]
    watch = server.seen_watches[0].query
    assert (watch["resourceVersion"], watch["allowWatchBookmarks"]) == ("9", "true")
    assert (watch["labelSelector"], watch["fieldSelector"]) == ("pool=x", "metadata.name!=z")
    assert 240 <= int(watch["timeoutSeconds"]) <= 480


async def test_changes_are_reported_in_the_order_of_events(server: ScriptedServer, client: Client) -> None:
    server.lists.append(page(5, thing("a", 1, value=1)))
    server.watches.append(
        server.hang(
            event("MODIFIED", "a", 6, value=2),
            event("ADDED", "b", 7, value=3),
            event("DELETED", "a", 8, value=2),
            event("ADDED", "a", 9, value=4),
        )
    )
    followed = Followed(client)
    async with followed.running():
        await until(lambda: len(followed.changes) == 5)
    assert followed.changes == [("a", None, 1), ("a", 1, 2), ("b", None, 3), ("a", 2, None), ("a", None, 4)]


async def test_names_hold_the_namespace_where_there_is_one(server: ScriptedServer, client: Client) -> None:
    server.lists.append(page(5, thing("n/a", 1, value=1)))
    server.watches.append(server.hang(event("DELETED", "n/a", 6), event("ADDED", "m/a", 7, value=2)))
    followed = Followed(client, LEASES)
    async with followed.running():
        await until(lambda: len(followed.changes) == 3)
    assert followed.changes == [("n/a", None, 1), ("n/a", 1, None), ("m/a", None, 2)]
    assert server.seen[0].path == "/apis/coordination.k8s.io/v1/leases"


async def test_one_namespace_can_be_followed_alone(server: ScriptedServer, client: Client) -> None:
    server.lists.append(page(5))
    server.watches.append(server.hang())
    async with Followed(client, LEASES, namespace="n").running() as cache:
        await cache.wait_synced()
    assert server.seen[0].path == "/apis/coordination.k8s.io/v1/namespaces/n/leases"


@pytest.mark.parametrize(
    "gone",
    [refuses(410, "Expired", "too old"), closes(error_event(410, "Expired")), closes(error_event(0, "Gone"))],
    ids=["answer", "event", "event without a code"],
)
async def test_a_version_that_is_too_old_leads_to_a_list_whose_differences_are_reported(
    server: ScriptedServer, client: Client, gone: Answer
) -> None:
    server.lists.extend(
        [
            page(5, thing("a", 1, value=1), thing("b", 2, value=2), thing("c", 3, value=3)),
            page(20, thing("b", 12, value=20), thing("c", 3, value=3), thing("d", 14, value=4)),
        ]
    )
    server.watches.extend([gone, server.hang()])
    followed = Followed(client)
    async with followed.running() as cache:
        await until(lambda: len(server.seen_watches) == 2)
        assert dict(cache.objects) == {"b": 20, "c": 3, "d": 4}
    assert sorted(followed.changes[3:], key=str) == [("a", 1, None), ("b", 2, 20), ("d", None, 4)]
    assert server.seen_watches[1].query["resourceVersion"] == "20"


async def test_a_continue_token_that_expired_leads_to_a_new_list(server: ScriptedServer, client: Client) -> None:
    server.lists.extend(
        [
            page(5, thing("a", 1, value=1), goes_on="t"),
            refuses(410, "Expired", "too old"),
            page(8, thing("b", 2, value=2)),
        ]
    )
    server.watches.append(server.hang())
    followed = Followed(client, pace=FOREVER)
    async with followed.running() as cache:
        await cache.wait_synced()
    assert followed.changes == [("b", None, 2)]


async def test_a_list_that_expires_every_time_is_a_failure_in_the_end(server: ScriptedServer, client: Client) -> None:
    server.lists.append(refuses(410, "Expired", "too old"))
    cache = Followed(client).cache
    with pytest.raises(Gone):
        await cache.refresh()
    assert len(server.seen) == 3


async def test_a_watch_that_ends_goes_on_where_it_was(server: ScriptedServer, client: Client) -> None:
    server.lists.append(page(5))
    server.watches.extend(
        [
            closes(event("ADDED", "a", 7, value=1)),
            closes(bookmark(30)),
            server.hang(event("ADDED", "b", 31, value=2)),
        ]
    )
    followed = Followed(client, pace=FOREVER)  # a watch that delivered something is resumed without a wait
    async with followed.running() as cache:
        await until(lambda: "b" in cache.objects)
        assert cache.problem is None
    assert [seen.query["resourceVersion"] for seen in server.seen_watches] == ["5", "7", "30"]
    assert len(server.seen_lists) == 1


@pytest.mark.parametrize(
    "broken",
    [
        closes(),
        cuts(),
        cuts(event("ADDED", "a", 6, value=1)[:20]),
        closes(event("ADDED", "a", 6, value=1)[:20]),
        closes(b"<html>a proxy's farewell</html>\n"),
        drops(),
        refuses(500, "InternalError"),
        refuses(429, "TooManyRequests"),
        says(502, b"<html>", "text/html"),
    ],
    ids=["closed", "cut", "cut in a line", "closed in a line", "text", "dropped", "500", "429", "502"],
)
async def test_a_watch_that_brings_nothing_is_resumed_after_a_wait_and_without_a_list(
    server: ScriptedServer, client: Client, broken: Answer
) -> None:
    server.lists.append(page(5, thing("kept", 1, value=7)))
    server.watches.extend([broken, broken, server.hang(event("ADDED", "a", 6, value=1))])
    followed = Followed(client)
    async with followed.running() as cache:
        await until(lambda: "a" in cache.objects)
        assert cache.problem is None
    assert followed.changes == [("kept", None, 7), ("a", None, 1)]
    assert [seen.query["resourceVersion"] for seen in server.seen_watches] == ["5", "5", "5"]
    assert len(server.seen_lists) == 1


@pytest.mark.parametrize("broken", [closes(), cuts(), refuses(503)], ids=["closed", "cut", "503"])
async def test_a_watch_that_brings_nothing_causes_no_storm(
    server: ScriptedServer, client: Client, broken: Answer
) -> None:
    server.lists.append(page(5))
    server.watches.append(broken)
    async with Followed(client, pace=FOREVER).running() as cache:
        await cache.wait_synced()
        await until(lambda: server.seen_watches)
        for _ in range(3):  # as many answers as a storm would need to show
            await client.get("/ping")
    assert len(server.seen_watches) == 1


async def test_a_watch_that_is_too_old_again_and_again_causes_no_storm_of_lists(
    server: ScriptedServer, client: Client
) -> None:
    server.lists.append(page(5))
    server.watches.append(refuses(410, "Expired"))
    async with Followed(client, pace=FOREVER).running():
        await until(lambda: server.seen_watches)
        for _ in range(3):
            await client.get("/ping")
    assert len([seen for seen in server.seen_lists if seen.path != "/ping"]) == 1


async def test_watches_that_end_as_soon_as_they_begin_are_not_begun_again_and_again(
    server: ScriptedServer, client: Client
) -> None:
    """A server may say something in each of them. Two in a row are none that is amiss."""
    server.lists.append(page(5))
    server.watches.append(closes(bookmark(6)))
    async with Followed(client, pace=FOREVER).running() as cache:
        await until(lambda: len(server.seen_watches) == 3)
        for _ in range(3):  # meanwhile others could have begun
            await cache.refresh()
        assert len(server.seen_watches) == 3


async def test_a_server_that_is_not_trusted_has_no_more_objects_than_it_may(
    server: ScriptedServer, client: Client
) -> None:
    """Neither in a list, however its pages are filled, nor by what a watch adds to it."""
    pace = Pace(page=2, most_objects=3, first_wait=0.001, longest_wait=0.002)
    three = [thing(name, 1, value=1) for name in "abc"]
    server.lists.extend([page(9, *three, thing("d", 1, value=1)), page(9, *three)])
    server.watches.append(server.hang(event("ADDED", "d", 10, value=1)))
    async with Followed(client, pace=pace).running() as cache:
        await until(lambda: "more than the 3 objects" in (cache.problem or ""))
        assert not cache.is_synced
        await cache.wait_synced()
        await until(lambda: "more than the 3 objects" in (cache.problem or ""))


@pytest.mark.parametrize(
    ("pages", "says"),
    [
        ([page(9, thing("a", 1, value=1), thing("a", 2, value=2))], "two objects of one name"),
        ([page(9, goes_on="on")], "does not end"),
    ],
    ids=["twice", "endless"],
)
async def test_a_list_of_a_server_that_is_not_trusted_is_believed_only_where_it_can_be(
    pages: list[Answer], says: str, server: ScriptedServer, client: Client
) -> None:
    server.lists.extend(pages)
    pace = Pace(page=2, most_objects=10, first_wait=0.001, longest_wait=0.002)
    async with Followed(client, pace=pace).running() as cache:
        await until(lambda: says in (cache.problem or ""))
        assert not cache.objects


async def test_waits_begin_anew_after_a_watch_that_delivered(server: ScriptedServer, client: Client) -> None:
    server.lists.append(page(5))
    for version in range(6, 12):
        server.watches.extend([*[refuses(503)] * 3, closes(event("ADDED", f"n{version}", version))])
    server.watches.append(server.hang())
    pace = Pace(first_wait=0.001, longest_wait=10_000)  # the 18th wait in a row would be of minutes
    async with Followed(client, pace=pace).running() as cache:
        await until(lambda: len(cache.objects) == 6)


async def test_a_silent_watch_is_given_up_and_goes_on(server: ScriptedServer, client: Client) -> None:
    server.lists.append(page(5))
    server.watches.extend(
        [server.hang(event("ADDED", "a", 6, value=1)), server.hang(event("ADDED", "b", 7, value=2)), server.hang()]
    )
    pace = Pace(inactivity=0.05, first_wait=0.001, longest_wait=0.002)
    async with Followed(client, pace=pace).running() as cache:
        await until(lambda: "b" in cache.objects)
        assert len(server.seen_lists) == 1
    assert [seen.query["resourceVersion"] for seen in server.seen_watches][:2] == ["5", "6"]


async def test_a_watch_that_was_silent_from_the_beginning_leads_to_a_list(
    server: ScriptedServer, client: Client
) -> None:
    """As one from a resourceVersion that a restored storage has not come to: the server waits without a word."""
    server.lists.extend([page(500, thing("a", 400, value=1)), page(90, thing("a", 80, value=2))])
    server.watches.append(server.hang())
    pace = Pace(inactivity=0.05, first_wait=0.001, longest_wait=0.002)
    async with Followed(client, pace=pace).running() as cache:
        await until(lambda: cache.objects.get("a") == 2)
        await until(lambda: server.seen_watches[-1].query["resourceVersion"] == "90")


async def test_a_server_that_is_too_busy_is_left_alone_for_as_long_as_it_asks(
    server: ScriptedServer, client: Client
) -> None:
    server.lists.append(refuses(429, "TooManyRequests", "later", Retry_After="1000"))
    async with Followed(client).running() as cache:
        await until(lambda: server.seen and cache.problem != "not listed yet")
        for _ in range(3):
            with pytest.raises(ApiError):
                await client.get("/ping")
        assert cache.problem == "cannot list nodes: GET /api/v1/nodes: 429 TooManyRequests: later"
    assert len([seen for seen in server.seen if seen.path != "/ping"]) == 1


async def test_a_server_is_left_alone_no_longer_than_its_follower_allows(
    server: ScriptedServer, client: Client
) -> None:
    """Be it a list or a watch that is held back."""
    busy = refuses(429, "TooManyRequests", "later", Retry_After="1000")
    server.lists.extend([busy, page(5, thing("a", 5, value=1))])
    server.watches.extend([busy, server.hang(event("MODIFIED", "a", 6, value=2))])
    pace = Pace(inactivity=30, first_wait=0.001, longest_wait=0.002, longest_retry_after=0.01)
    async with Followed(client, pace=pace).running() as cache:
        await until(lambda: cache.objects.get("a") == 2)


async def test_html_instead_of_a_list_is_a_problem_that_is_shown(server: ScriptedServer, client: Client) -> None:
    server.lists.extend([says(200, b"<html>Log in</html>", "text/html"), says(200, b"Log in"), page(5)])
    server.watches.append(server.hang())
    problems = set()
    async with Followed(client).running() as cache:
        while not cache.is_synced:
            problems.add(cache.problem)
            await asyncio.sleep(0)
        await until(lambda: cache.problem is None)
    assert any("<html>Log in</html>" in str(problem) for problem in problems)
    assert any("a page of the list is no list" in str(problem) for problem in problems)


async def test_a_resource_that_goes_away_and_comes_back(server: ScriptedServer, client: Client) -> None:
    missing = says(404, b"404 page not found\n", "text/plain")
    server.lists.extend([page(5, thing("a", 1, value=1)), missing, missing, page(9, thing("b", 8, value=2))])
    server.watches.extend([missing, server.hang()])
    followed = Followed(client, CLUSTER_QUEUES)
    seen_problem = None
    async with followed.running() as cache:
        await cache.wait_synced()
        while "b" not in cache.objects:
            if not cache.is_synced:
                seen_problem = cache.problem
                assert not cache.objects
            await asyncio.sleep(0)
        assert cache.is_synced
    assert followed.changes == [("a", None, 1), ("a", 1, None), ("b", None, 2)]
    assert seen_problem == (
        "the cluster has no clusterqueues.v1beta2.kueue.x-k8s.io; is its CustomResourceDefinition installed?"
    )


async def test_missing_rights_are_a_problem_that_names_them(server: ScriptedServer, client: Client) -> None:
    server.lists.extend([page(5, thing("a", 1, value=1)), page(5, thing("a", 1, value=1))])
    server.watches.append(refuses(403, "Forbidden", 'nodes is forbidden: User "x" cannot watch'))
    async with Followed(client).running() as cache:
        await until(lambda: str(cache.problem).startswith("no permission to watch nodes: nodes is forbidden"))
        await until(lambda: len(server.seen_watches) > 2)  # rights may be given later
        assert dict(cache.objects) == {"a": 1}
    assert len(server.seen_lists) == 1


async def test_what_is_held_stays_while_the_server_cannot_be_reached(server: ScriptedServer, client: Client) -> None:
    server.lists.extend([page(5, thing("a", 1, value=1)), drops()])
    server.watches.append(refuses(410, "Expired"))
    followed = Followed(client)
    async with followed.running() as cache:
        await until(lambda: len(server.seen_lists) > 3)
        assert dict(cache.objects) == {"a": 1}
        assert str(cache.problem).startswith("cannot list nodes: GET /api/v1/nodes: ")
        assert cache.is_synced
    assert len(followed.changes) == 1


async def test_an_own_write_is_held_at_once_and_not_undone_by_the_watch(server: ScriptedServer, client: Client) -> None:
    server.lists.append(page(5, thing("a", 1, value=1)))
    release = asyncio.Event()

    async def late(request: web.Request) -> web.StreamResponse:
        await release.wait()
        return await server.hang(
            event("MODIFIED", "a", 7, value=7), event("MODIFIED", "a", 9, value=9), event("MODIFIED", "a", 10, value=10)
        )(request)

    server.watches.append(late)
    followed = Followed(client)
    async with followed.running() as cache:
        await cache.wait_synced()
        assert cache.put(json.dumps(thing("a", 9, value=9)).encode()) == 9
        assert cache.objects["a"] == 9
        assert cache.put(json.dumps(thing("a", 8, value=8)).encode()) == 8
        assert cache.objects["a"] == 9
        release.set()
        await until(lambda: cache.objects["a"] == 10)
    assert followed.changes == [("a", None, 1), ("a", 1, 9), ("a", 9, 10)]


async def test_an_object_that_cannot_be_decoded_keeps_its_last_version(server: ScriptedServer, client: Client) -> None:
    registry = CollectorRegistry()
    server.lists.append(page(5, thing("a", 1, value=1), thing("b", 2, value="?"), {"metadata": {"name": 5}}))
    server.watches.append(server.hang(event("MODIFIED", "a", 6, value="?"), event("ADDED", "c", 7, value=3)))
    followed = Followed(client, metrics=CacheMetrics(registry))
    with capture_logs() as logs:
        async with followed.running() as cache:
            await until(lambda: "c" in cache.objects)
            await cache.refresh()  # what was logged is not logged again
            assert dict(cache.objects) == {"a": 1}
    errors = [entry for entry in logs if entry["log_level"] == "error"]
    assert [entry["name"] for entry in errors] == ["b", "", "a"]
    assert all(entry["event"] == "object cannot be decoded, its last version is kept" for entry in errors)
    assert all(entry["resource"] == "nodes" for entry in errors)
    undecodable = registry.get_sample_value("kueue_dqo_cache_undecodable_total", {"resource": "nodes"})
    assert undecodable == 5


async def test_a_listener_that_fails_does_not_end_the_cache(server: ScriptedServer, client: Client) -> None:
    server.lists.append(page(5, thing("a", 1, value=1), thing("b", 2, value=2)))
    server.watches.append(server.hang(event("MODIFIED", "a", 6, value=3), event("MODIFIED", "b", 7, value=4)))
    followed = Followed(client)
    followed.fails_on = "a"
    with capture_logs() as logs:
        async with followed.running() as cache:
            await until(lambda: cache.objects.get("b") == 4)
    assert followed.changes == [("a", None, 1), ("b", None, 2), ("a", 1, 3), ("b", 2, 4)]
    assert [entry["name"] for entry in logs if entry["event"] == "listener of the cache failed"] == ["a", "a"]


async def test_a_refresh_returns_with_a_list_that_began_after_it(server: ScriptedServer, client: Client) -> None:
    server.lists.extend([page(5, thing("a", 1, value=1)), page(9, thing("a", 8, value=2))])
    server.watches.append(server.hang())
    followed = Followed(client)
    async with followed.running() as cache:
        await cache.wait_synced()
        await cache.refresh()
        assert dict(cache.objects) == {"a": 2}
    assert "resourceVersion" not in server.seen_lists[1].query
    assert followed.changes == [("a", None, 1), ("a", 1, 2)]


async def test_refreshes_that_wait_share_one_list(server: ScriptedServer, client: Client) -> None:
    release = asyncio.Event()

    async def late(request: web.Request) -> web.StreamResponse:
        await release.wait()
        return await page(5)(request)

    server.lists.append(late)
    cache = Followed(client).cache
    first = asyncio.create_task(cache.refresh())
    await until(lambda: server.seen_lists)
    others = [asyncio.create_task(cache.refresh()) for _ in range(5)]
    await asyncio.sleep(0)  # all of them ask while the first list is on its way, which may be older than what they want
    release.set()
    await asyncio.gather(first, *others)
    assert len(server.seen_lists) == 2


async def test_a_refresh_that_fails_says_why_and_the_next_one_may_succeed(
    server: ScriptedServer, client: Client
) -> None:
    server.lists.extend([refuses(403, "Forbidden", "no"), page(5, thing("a", 1, value=1))])
    cache = Followed(client).cache
    with pytest.raises(Forbidden):
        await cache.refresh()
    assert not cache.is_synced
    await cache.refresh()
    assert dict(cache.objects) == {"a": 1}


async def test_a_refresh_does_not_hide_that_the_watch_is_broken(server: ScriptedServer, client: Client) -> None:
    server.lists.append(page(5))
    server.watches.append(refuses(403, "Forbidden", "no"))
    async with Followed(client, pace=FOREVER).running() as cache:
        await until(lambda: str(cache.problem).startswith("no permission to watch"))
        await cache.refresh()
        assert cache.problem == "no permission to watch nodes: no"


async def test_a_watch_that_lags_behind_a_refresh_brings_nothing_back(server: ScriptedServer, client: Client) -> None:
    server.lists.extend([page(5, thing("a", 1, value=1)), page(10)])
    release = asyncio.Event()

    async def late(request: web.Request) -> web.StreamResponse:
        await release.wait()
        return await server.hang(
            event("MODIFIED", "a", 7, value=7), event("DELETED", "a", 9), event("ADDED", "b", 11, value=11)
        )(request)

    server.watches.append(late)
    followed = Followed(client)
    async with followed.running() as cache:
        await cache.wait_synced()
        await cache.refresh()
        release.set()
        await until(lambda: "b" in cache.objects)
    assert followed.changes == [("a", None, 1), ("a", 1, None), ("b", None, 11)]


async def test_what_the_cache_does_is_counted(server: ScriptedServer, client: Client) -> None:
    registry = CollectorRegistry()
    server.lists.append(page(5, thing("a", 1, value=1), thing("b", 2, value=1)))
    server.watches.extend([refuses(503), server.hang(event("DELETED", "a", 6))])
    async with Followed(client, metrics=CacheMetrics(registry)).running() as cache:
        await until(lambda: "a" not in cache.objects and cache.is_synced)

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(name, {"resource": "nodes", **labels})

    assert value("kueue_dqo_cache_objects") == 1
    assert value("kueue_dqo_cache_up_to_date") == 1
    assert value("kueue_dqo_cache_lists_total") == 1
    assert value("kueue_dqo_cache_watches_total") == 1
    assert value("kueue_dqo_cache_failures_total", error="ServerFailed") == 1


async def test_its_owner_is_told_when_it_fails_and_when_it_follows_again(
    server: ScriptedServer, client: Client
) -> None:
    """By then `problem` says which of the two. A watch that ends well and begins again is nothing to tell of."""
    server.lists.extend([refuses(403, "Forbidden", "no"), page(5)])
    server.watches.extend([closes(bookmark(6)), refuses(503), closes(bookmark(7)), server.hang(event("ADDED", "b", 8))])
    told: list[bool] = []

    def tell() -> None:
        told.append(followed.cache.problem is None)

    followed: Followed = Followed(client, on_following=tell)
    async with followed.running() as cache:
        await until(lambda: "b" in cache.objects)
    assert told == [False, True, False, True]


async def test_a_problem_is_logged_once_and_not_at_every_try(server: ScriptedServer, client: Client) -> None:
    server.lists.extend([*[refuses(403, "Forbidden", "no")] * 4, page(5)])
    server.watches.append(server.hang())
    with capture_logs() as logs:
        async with Followed(client).running() as cache:
            await cache.wait_synced()
    said = [(entry["log_level"], entry["event"]) for entry in logs if entry["log_level"] != "debug"]
    assert said == [("warning", "cache does not follow the API server"), ("info", "cache follows the API server")]
