"""Credentials that change, in virtual time."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from kueue_dqo.runtime.credentials import FixedCredentials, Renewed, RenewedCredentials, TokenFile
from kueue_dqo.runtime.errors import ConfigurationError

pytestmark = pytest.mark.looptime


async def test_fixed_credentials_stay() -> None:
    credentials = FixedCredentials("Bearer x")
    credentials.reject()
    assert await credentials.header() == "Bearer x"
    assert await FixedCredentials().header() == ""


async def test_a_token_file_is_read_again_after_a_minute(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one\n")
    credentials = TokenFile(path)
    assert await credentials.header() == "Bearer one"
    path.write_text("two")
    await asyncio.sleep(59)
    assert await credentials.header() == "Bearer one"
    await asyncio.sleep(2)
    assert await credentials.header() == "Bearer two"


async def test_a_token_file_is_read_again_when_its_token_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one")
    credentials = TokenFile(path)
    assert await credentials.header() == "Bearer one"
    path.write_text("two")
    credentials.reject()
    assert await credentials.header() == "Bearer two"


@pytest.mark.parametrize("content", [None, "", " \n", "two tokens", "ü"])
async def test_a_token_file_that_becomes_bad_is_logged_and_its_last_token_is_used_on(
    tmp_path: Path, content: str | None
) -> None:
    path = tmp_path / "token"
    path.write_text("one")
    credentials = TokenFile(path)
    if content is None:
        path.unlink()
    else:
        path.write_text(content)
    credentials.reject()
    with capture_logs() as logs:
        assert await credentials.header() == "Bearer one"
    assert [entry["path"] for entry in logs] == [str(path)]
    assert "two tokens" not in str(logs)
    path.write_text("three")
    await asyncio.sleep(61)
    assert await credentials.header() == "Bearer three"


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "No such file or directory"), ("", "it holds no token"), ("a b", "it holds no token")],
)
async def test_a_token_file_that_is_bad_from_the_beginning_is_an_error(
    tmp_path: Path, content: str | None, reason: str
) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ConfigurationError, match=f"token file {path}: {reason}"):
        TokenFile(path)


class Plugin:
    """Counts how often it is asked, and takes its time."""

    def __init__(self, lifetime: float | None) -> None:
        self.lifetime = lifetime
        self.asked = 0
        self.fails = False

    async def renew(self) -> Renewed:
        self.asked += 1
        await asyncio.sleep(1)
        if self.fails:
            raise ConfigurationError("the plugin is out of order")
        return Renewed(f"Bearer {self.asked}", self.lifetime)


async def credentials_of(plugin: Plugin) -> RenewedCredentials:
    return RenewedCredentials(plugin.renew, await plugin.renew())


async def test_a_plugin_is_asked_when_its_token_expires_and_once_for_all_who_wait() -> None:
    plugin = Plugin(lifetime=600)
    credentials = await credentials_of(plugin)
    await asyncio.sleep(599)
    assert await credentials.header() == "Bearer 1"
    await asyncio.sleep(2)
    assert await asyncio.gather(*(credentials.header() for _ in range(10))) == ["Bearer 2"] * 10
    assert plugin.asked == 2


async def test_a_token_without_an_expiry_is_used_until_it_is_rejected() -> None:
    plugin = Plugin(lifetime=None)
    credentials = await credentials_of(plugin)
    await asyncio.sleep(1_000_000)
    assert await credentials.header() == "Bearer 1"
    credentials.reject()
    assert await credentials.header() == "Bearer 2"


@pytest.mark.parametrize("lifetime", [-100, 0, 1])
async def test_a_plugin_is_not_asked_at_every_request_although_its_tokens_are_expired(lifetime: float) -> None:
    plugin = Plugin(lifetime)
    credentials = await credentials_of(plugin)
    for _ in range(10):
        await credentials.header()
        credentials.reject()
    assert plugin.asked == 1
    await asyncio.sleep(10)
    assert await credentials.header() == "Bearer 2"


async def test_a_plugin_that_fails_is_logged_and_asked_again_later() -> None:
    plugin = Plugin(lifetime=60)
    credentials = await credentials_of(plugin)
    plugin.fails = True
    await asyncio.sleep(61)
    with capture_logs() as logs:
        assert [await credentials.header() for _ in range(3)] == ["Bearer 1"] * 3
    assert [entry["error"] for entry in logs] == ["the plugin is out of order"]
    plugin.fails = False
    await asyncio.sleep(10)
    assert await credentials.header() == "Bearer 3"


async def test_who_is_cancelled_while_a_plugin_runs_does_not_lock_out_the_others() -> None:
    plugin = Plugin(lifetime=60)
    credentials = await credentials_of(plugin)
    await asyncio.sleep(61)
    waiting = asyncio.create_task(credentials.header())
    await asyncio.sleep(0.5)
    waiting.cancel()
    assert await credentials.header() == "Bearer 3"
