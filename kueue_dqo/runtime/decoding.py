"""Raw objects to what a cache holds; one object that does not fit is no reason to lose the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

import msgspec
import structlog

from kueue_dqo.runtime import wire
from kueue_dqo.runtime.cache_metrics import CacheMetrics
from kueue_dqo.runtime.resources import Resource

T = TypeVar("T")


class ObjectDecoder(Generic[T]):
    """Decodes objects of one resource. What cannot be decoded is logged, once for each version, counted and None."""

    def __init__(self, resource: Resource, decode: Callable[[bytes], T], metrics: CacheMetrics | None) -> None:
        self._resource = resource
        self.decode: Final = decode
        self._metrics = metrics
        self._undecodable: dict[str, str] = {}
        """Versions that were logged; every list brings them again."""
        self._log = structlog.get_logger(__name__).bind(resource=resource.full_name)

    def identity(self, raw: bytes) -> wire.Identity | None:
        try:
            return wire.decode_identity(raw)
        except msgspec.DecodeError as error:
            self._note("", "", error)
            return None

    def object(self, raw: bytes, identity: wire.Identity) -> T | None:
        try:
            decoded = self.decode(raw)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with one object, the others must be followed
            self._note(identity.key, identity.version, error)
            return None
        self._undecodable.pop(identity.key, None)
        return decoded

    def _note(self, name: str, version: str, error: Exception) -> None:
        if self._metrics:
            self._metrics.undecodable.labels(self._resource.full_name).inc()
        if self._undecodable.get(name) == version:
            return
        self._undecodable[name] = version
        self._log.error(
            "object cannot be decoded, its last version is kept", name=name, error=f"{type(error).__name__}: {error}"
        )
