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
    """Decodes objects of one resource. What cannot be decoded is logged, counted and None."""

    def __init__(self, resource: Resource, decode: Callable[[bytes], T], metrics: CacheMetrics | None) -> None:
        self._resource = resource
        self.decode: Final = decode
        self._metrics = metrics
        self._log = structlog.get_logger(__name__).bind(resource=resource.full_name)

    def identity(self, raw: bytes) -> wire.Identity | None:
        try:
            identity = wire.decode_identity(raw)
        except msgspec.DecodeError as error:
            self._note("", error)
            return None
        return identity

    def object(self, raw: bytes, identity: wire.Identity) -> T | None:
        try:
            return self.decode(raw)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with one object, the others must be followed
            self._note(identity.key, error)
            return None

    def _note(self, name: str, error: Exception) -> None:
        self._log.error(
            "object cannot be decoded, its last version is kept", name=name, error=f"{type(error).__name__}: {error}"
        )
        if self._metrics:
            self._metrics.undecodable.labels(self._resource.full_name).inc()
