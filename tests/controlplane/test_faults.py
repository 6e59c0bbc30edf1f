"""The proxy that makes things go wrong: each fault is what a client really sees, and without faults nothing changes."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from tests.controlplane.admin import Refused
from tests.controlplane.faults import (
    WATCHES,
    WRITES,
    Answer,
    CutWatch,
    Delay,
    ExpireWatch,
    FaultProxy,
    LoseAnswer,
    LoseRequest,
    verb_of,
)
from tests.controlplane.plane import ControlPlane

FLAVORS = "/apis/kueue.x-k8s.io/v1beta2/resourceflavors"


def _flavor(name: str) -> dict[str, Any]:
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": name}}


@pytest.fixture
async def proxy(plane: ControlPlane) -> AsyncIterator[FaultProxy]:
    async with FaultProxy(plane) as running:
        yield running


@pytest.fixture
async def client(plane: ControlPlane, proxy: FaultProxy) -> AsyncIterator[aiohttp.ClientSession]:
    """A client of the proxy with the administrator's token, as a kubeconfig gives it."""
    kubeconfig = json.loads(plane.kubeconfig(server=proxy.url).read_text())
    headers = {"Authorization": f"Bearer {kubeconfig['users'][0]['user']['token']}"}
    trusted = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=str(plane.ca)))
    server = kubeconfig["clusters"][0]["cluster"]["server"]
    async with aiohttp.ClientSession(server, connector=trusted, headers=headers) as session:
        yield session


async def _create(client: aiohttp.ClientSession, name: str) -> int:
    async with client.post(FLAVORS, json=_flavor(name)) as answer:
        await answer.read()
        return answer.status


async def test_without_faults_requests_and_answers_pass_unchanged(
    plane: ControlPlane, proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    """Credentials, queries, bodies, refusals and big answers alike; each is counted."""
    assert await _create(client, "a") == 201
    assert await _create(client, "a") == 409
    big = {**_flavor("big"), "metadata": {"name": "big", "annotations": {"text": "x" * 200_000}}}
    await asyncio.to_thread(plane.admin.create, big)
    async with client.get(FLAVORS, params={"limit": "1"}, headers={"Accept-Encoding": "gzip"}) as answer:
        page = await answer.json()
    assert len(page["items"]) == 1
    assert page["metadata"]["continue"]
    async with client.get(f"{FLAVORS}/big") as answer:
        assert await answer.json() == await asyncio.to_thread(plane.admin.get, f"{FLAVORS}/big")
    async with client.get(FLAVORS, headers={"Authorization": "Bearer wrong"}) as answer:
        assert answer.status == 401
    assert proxy.requests == {("create", FLAVORS): 2, ("list", FLAVORS): 2, ("get", f"{FLAVORS}/big"): 1}
    assert (proxy.count(), proxy.count(verbs=WRITES), proxy.count(path="/big$")) == (5, 2, 1)


async def test_a_watch_streams_and_is_cut_in_the_middle(proxy: FaultProxy, client: aiohttp.ClientSession) -> None:
    """Events arrive as they happen; the cut is a broken connection, not an end."""
    fault = proxy.add(CutWatch(1))
    async with client.get(FLAVORS, params={"watch": "true"}) as answer:
        await _create(client, "a")
        event = json.loads(await answer.content.readline())
        assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "a")
        with pytest.raises(aiohttp.ClientPayloadError):
            await answer.content.readline()
    assert fault.hits == 1


async def test_every_nth_write_fails_and_reads_do_not(
    plane: ControlPlane, proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    """What fails has not reached the server; afterwards all goes well again."""
    proxy.add(Answer(500, verbs=WRITES, every=3))
    assert [await _create(client, name) for name in "abcdef"] == [201, 201, 500, 201, 201, 500]
    async with client.get(FLAVORS) as answer:
        assert answer.status == 200
    names = {obj["metadata"]["name"] for obj in await asyncio.to_thread(plane.admin.items, FLAVORS)}
    assert names == set("abde")
    proxy.clear()
    assert [await _create(client, name) for name in "cf"] == [201, 201]


async def test_too_many_requests_says_when_to_come_back_and_ends(
    proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    """`times` bounds a fault; the body is a Status, as the server's."""
    proxy.add(Answer(429, retry_after=7, times=1, path="flavors$"))
    async with client.get(FLAVORS) as answer:
        assert (answer.status, answer.headers["Retry-After"]) == (429, "7")
        assert (await answer.json())["reason"] == "TooManyRequests"
    async with client.get(FLAVORS) as answer:
        assert answer.status == 200


@pytest.mark.parametrize("as_event", [False, True])
async def test_a_watch_that_is_resumed_is_told_that_it_is_too_late(
    as_event: bool, proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    """By the status of the answer, or by an event in it. A watch from now on is not concerned."""
    proxy.add(ExpireWatch(as_event=as_event))
    async with client.get(FLAVORS, params={"watch": "true", "resourceVersion": "1"}) as answer:
        body = await answer.json()
        assert answer.status == (200 if as_event else 410)
        status = body["object"] if as_event else body
        assert (status["code"], status["reason"]) == (410, "Expired")
    async with client.get(FLAVORS, params={"watch": "true", "timeoutSeconds": "1"}) as answer:
        assert answer.status == 200
        assert await answer.read() == b""


async def test_the_outcome_of_a_write_is_unknown(
    plane: ControlPlane, proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    """Either way the client sees a broken connection; only once has the server acted."""
    landed = proxy.add(LoseAnswer(times=1))
    with pytest.raises(aiohttp.ClientConnectionError):
        await _create(client, "landed")
    proxy.add(LoseRequest(verbs=WRITES, times=1))
    with pytest.raises(aiohttp.ClientConnectionError):
        await _create(client, "lost")
    assert landed.hits == 1
    assert await asyncio.to_thread(plane.admin.get, f"{FLAVORS}/landed")
    with pytest.raises(Refused, match="not found"):
        await asyncio.to_thread(plane.admin.get, f"{FLAVORS}/lost")


async def test_a_delayed_request_can_be_given_up(
    plane: ControlPlane, proxy: FaultProxy, client: aiohttp.ClientSession
) -> None:
    """The server never sees it."""
    fault = proxy.add(Delay(600, verbs=WRITES))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await _create(client, "late")
    assert fault.hits == 1
    assert await asyncio.to_thread(plane.admin.items, FLAVORS) == []


async def test_nobody_is_there_and_then_again(proxy: FaultProxy, client: aiohttp.ClientSession) -> None:
    """Open watches break, new connections are refused, and later all is as before, on the same port."""
    async with client.get(FLAVORS, params={"watch": "true"}) as answer:
        await proxy.refuse()
        with pytest.raises(aiohttp.ClientError):
            await answer.content.readline()
    with pytest.raises(aiohttp.ClientConnectorError):
        await _create(client, "a")
    await proxy.listen()
    assert await _create(client, "a") == 201


async def test_plain_http_in_front(plane: ControlPlane) -> None:
    """For a client that is told nothing of certificates."""
    async with (
        FaultProxy(plane, tls=False) as proxy,
        aiohttp.ClientSession(proxy.url) as client,
        client.get("/version") as answer,
    ):
        assert answer.status == 200


@pytest.mark.parametrize(
    ("method", "path", "query", "verb"),
    [
        ("GET", "/api/v1/nodes", {}, "list"),
        ("GET", "/api/v1/nodes", {"watch": "true"}, "watch"),
        ("GET", "/api/v1/nodes", {"watch": "1"}, "watch"),
        ("GET", "/api/v1/nodes", {"watch": "false"}, "list"),
        ("GET", "/api/v1/nodes/n", {}, "get"),
        ("GET", "/api/v1/namespaces", {}, "list"),
        ("GET", "/api/v1/namespaces/n", {}, "get"),
        ("GET", "/api/v1/namespaces/n/pods", {}, "list"),
        ("GET", "/api/v1/namespaces/n/pods/p", {}, "get"),
        ("GET", "/apis/g/v1/as", {}, "list"),
        ("PATCH", "/apis/g/v1/as/a/status", {}, "patch"),
        ("PUT", "/apis/g/v1/namespaces/n/as/a", {}, "update"),
        ("POST", "/apis/g/v1/as", {}, "create"),
        ("DELETE", "/apis/g/v1/as/a", {}, "delete"),
        ("DELETE", "/apis/g/v1/as", {}, "deletecollection"),
    ],
)
def test_requests_have_the_verbs_of_kubernetes(method: str, path: str, query: dict[str, str], verb: str) -> None:
    assert verb_of(method, path, query) == verb


async def test_a_fault_concerns_only_its_verbs_and_paths(proxy: FaultProxy, client: aiohttp.ClientSession) -> None:
    """Every other request is as ever, and does not count for `every`."""
    fault = proxy.add(Answer(500, verbs=WATCHES, path="nothing"))
    assert await _create(client, "a") == 201
    async with client.get(FLAVORS, params={"watch": "true", "timeoutSeconds": "1"}) as answer:
        assert answer.status == 200
    assert fault.hits == 0
