"""Health and metrics over real HTTP on loopback."""

from __future__ import annotations

from collections.abc import Sequence

import aiohttp
import pytest
from prometheus_client import CollectorRegistry, Counter
from structlog.testing import capture_logs

from kueue_dqo.runtime.serving import Check, HealthServer


def _nothing() -> Sequence[str]:
    return ()


def _server(*, ready: Check = _nothing, healthy: Check = _nothing, port: int = 0) -> HealthServer:
    registry = CollectorRegistry()
    Counter("dqo_example", "An example", registry=registry).inc(3)
    return HealthServer(host="127.0.0.1", port=port, ready=ready, healthy=healthy, registry=registry)


async def _get(server: HealthServer, path: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{server.port}{path}") as answer:
        return answer.status, await answer.text()


async def test_a_free_port_is_taken_and_named() -> None:
    async with _server() as one, _server() as other:
        assert 0 != one.port != other.port != 0
        assert await _get(one, "/healthz") == (200, "ok")
        assert await _get(other, "/readyz") == (200, "ok")


async def test_each_reason_is_a_line_of_a_503_as_long_as_it_holds() -> None:
    reasons = ["nodes are not read yet", "not\nconnected"]
    async with _server(ready=lambda: reasons) as server:
        assert await _get(server, "/readyz") == (503, "nodes are not read yet\nnot connected\n")
        assert await _get(server, "/healthz") == (200, "ok")
        reasons.clear()
        assert await _get(server, "/readyz") == (200, "ok")


async def test_health_and_readiness_are_two_things() -> None:
    async with _server(healthy=lambda: ["the loop hangs"]) as server:
        assert await _get(server, "/healthz") == (503, "the loop hangs\n")
        assert await _get(server, "/readyz") == (200, "ok")


async def test_a_check_that_raises_is_no_sign_of_health_and_is_logged() -> None:
    def broken() -> Sequence[str]:
        raise RuntimeError("broken check")

    with capture_logs() as logs:
        async with _server(healthy=broken) as server:
            assert await _get(server, "/healthz") == (503, "the check itself failed: RuntimeError: broken check\n")
    assert [str(line["exc_info"]) for line in logs if line["event"] == "check failed"] == ["broken check"]


async def test_metrics_are_those_of_the_registry_alone() -> None:
    async with _server() as server:
        status, text = await _get(server, "/metrics")
    assert status == 200
    assert "dqo_example_total 3.0" in text
    assert "python_info" not in text


@pytest.mark.parametrize("path", ["/", "/healthz/more", "/debug"])
async def test_there_is_nothing_else(path: str) -> None:
    async with _server() as server:
        assert (await _get(server, path))[0] == 404


async def test_a_port_that_is_taken_is_named() -> None:
    async with _server() as server:
        with pytest.raises(OSError, match=f"127.0.0.1.*{server.port}"):
            await _server(port=server.port).start()


async def test_nobody_listens_after_the_end() -> None:
    async with _server() as server:
        pass
    with pytest.raises(aiohttp.ClientConnectorError):
        await _get(server, "/healthz")
