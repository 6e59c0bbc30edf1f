"""The Authorization header of a request, kept fresh."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import structlog

from kueue_dqo.runtime.errors import ConfigurationError

_REREAD_AFTER: Final = 60.0
"""Seconds for which the token of a file is used without a look at the file. The kubelet replaces a token when 80 % of
its lifetime has passed, and the shortest lifetime is 10 minutes."""
_RENEW_AT_MOST_EVERY: Final = 10.0
"""Seconds between two runs of a credential plugin, which may be slow, may ask a person, and may answer with something
that is expired already."""

_log = structlog.get_logger(__name__)


class Credentials(Protocol):
    async def header(self) -> str:
        """The value of the Authorization header; empty for none."""
        ...

    def reject(self) -> None:
        """The API server answered 401: what `header` returned is not valid any more."""
        ...


class FixedCredentials:
    """A header that never changes, or none at all: a client certificate, or nobody."""

    def __init__(self, header: str = "") -> None:
        self._header = header

    async def header(self) -> str:
        return self._header

    def reject(self) -> None:
        """There is no other."""


class TokenFile:
    """A bearer token in a file that somebody replaces from time to time."""

    def __init__(self, path: Path) -> None:
        """Reads the file. Raises ConfigurationError where it cannot be read or is empty."""
        self._path = path
        self._header = self._read()
        self._read_again_at = 0.0

    async def header(self) -> str:
        now = asyncio.get_running_loop().time()
        if now >= self._read_again_at:
            self._read_again_at = now + _REREAD_AFTER
            try:
                self._header = self._read()
            except ConfigurationError as error:
                # The token at hand may be valid for hours.
                _log.warning(
                    "token file cannot be read, its last token is used on", path=str(self._path), error=str(error)
                )
        return self._header

    def reject(self) -> None:
        self._read_again_at = 0.0

    def _read(self) -> str:
        try:
            token = self._path.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it holds no token"
            raise ConfigurationError(f"token file {self._path}: {reason}") from None
        if not token or len(token.split()) > 1:
            raise ConfigurationError(f"token file {self._path}: it holds no token")
        return f"Bearer {token}"


class Renewed(NamedTuple):
    """What a renewal brought."""

    header: str
    lifetime: float | None
    """Seconds for which it may be used; None: until it is rejected."""


class RenewedCredentials:
    """A header that is fetched when it is needed: from a credential plugin, or from an identity provider."""

    def __init__(self, renew: Callable[[], Awaitable[Renewed]], first: Renewed) -> None:
        """`renew` raises ConfigurationError. `first` is what it returned just now."""
        self._renew = renew
        self._lock = asyncio.Lock()
        self._header = first.header
        self._renewed_at, self._expires_at = self._span(first)

    async def header(self) -> str:
        loop = asyncio.get_running_loop()
        if loop.time() < self._expires_at:
            return self._header
        async with self._lock:
            if loop.time() >= self._expires_at:
                try:
                    self._take(await self._renew())
                except ConfigurationError as error:
                    self._expires_at = loop.time() + _RENEW_AT_MOST_EVERY
                    _log.warning("credentials cannot be renewed, the last ones are used on", error=str(error))
        return self._header

    def reject(self) -> None:
        self._expires_at = min(self._expires_at, self._renewed_at + _RENEW_AT_MOST_EVERY)

    def _take(self, renewed: Renewed) -> None:
        self._header = renewed.header
        self._renewed_at, self._expires_at = self._span(renewed)

    @staticmethod
    def _span(renewed: Renewed) -> tuple[float, float]:
        now = asyncio.get_running_loop().time()
        lifetime = float("inf") if renewed.lifetime is None else max(renewed.lifetime, _RENEW_AT_MOST_EVERY)
        return now, now + lifetime
