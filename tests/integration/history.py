"""Every version of Kueue's objects since a moment, in the order in which the control plane took them on.

Read afterwards from etcd itself: a watch of the API server ends where that is killed, and what it would have told last
is lost. etcd keeps all versions, until it is compacted; the API server has that done after five minutes.
"""

from __future__ import annotations

import base64
import json
import secrets
import urllib.request
from collections.abc import Iterator, Mapping
from http.client import HTTPResponse
from typing import Any, Final, NamedTuple

from kueue_dqo.api.dqo import DYNAMIC_QUOTA_ORCHESTRATOR
from kueue_dqo.api.kueue import CLUSTER_QUEUE, COHORT
from tests.controlplane.plane import ControlPlane

Manifest = dict[str, Any]

ORCHESTRATED: Final = {
    "clusterqueues": CLUSTER_QUEUE,
    "cohorts": COHORT,
    "dynamicquotaorchestrators": DYNAMIC_QUOTA_ORCHESTRATOR,
}
_PREFIX: Final = "/registry/kueue.x-k8s.io/"
_TIMEOUT: Final = 60.0


class HistoryLost(Exception):
    """etcd has been compacted: what was written first is not there any more."""


class Key(NamedTuple):
    """Kind and name of an object."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class Version(NamedTuple):
    """An object as one write has left it, None where it was deleted; `number` is its resourceVersion."""

    number: int
    key: Key
    obj: Manifest | None


class History:
    """`start` holds the objects at the beginning; the versions since then are read when they are asked for.

    Of some kinds only: a mapping from plural names.
    """

    def __init__(self, plane: ControlPlane, kinds: Mapping[str, str] = ORCHESTRATED) -> None:
        self._url = plane.etcd_url
        self._kinds = kinds
        answer = self._ask("/v3/kv/range", {"key": _coded(_PREFIX), "range_end": _coded(_end(_PREFIX))})
        self._since = int(answer["header"]["revision"])
        self.start: dict[Key, Manifest] = {}
        for entry in answer.get("kvs") or []:
            version = self._version_of(entry, is_deleted=False)
            if version is not None and version.obj is not None:
                self.start[version.key] = version.obj

    def versions(self) -> list[Version]:
        """All until now. Raises HistoryLost."""
        marker = f"{_PREFIX}~{secrets.token_hex()}"  # in no folder that the API server looks into
        self._ask("/v3/kv/put", {"key": _coded(marker), "value": _coded("")})
        return list(self._read_until(_coded(marker)))

    def _read_until(self, marker: str) -> Iterator[Version]:
        request = {
            "key": _coded(_PREFIX),
            "range_end": _coded(_end(_PREFIX)),
            "start_revision": str(self._since + 1),
        }
        with self._send("/v3/watch", {"create_request": request}) as stream:
            for line in stream:
                result = json.loads(line)["result"]
                if result.get("canceled"):
                    raise HistoryLost(f"versions since {self._since}: {result}")
                for event in result.get("events") or []:
                    if event["kv"]["key"] == marker:
                        return
                    version = self._version_of(event["kv"], is_deleted=event.get("type") == "DELETE")
                    if version is not None:
                        yield version
        raise HistoryLost(f"versions since {self._since}: the stream ended")

    def _version_of(self, entry: Mapping[str, str], *, is_deleted: bool) -> Version | None:
        """The version in an entry of etcd; None for an object of another kind."""
        path = base64.b64decode(entry["key"]).decode().removeprefix(_PREFIX)
        plural, _, name = path.partition("/")
        kind = self._kinds.get(plural)
        if kind is None:
            return None
        obj = None if is_deleted else json.loads(base64.b64decode(entry["value"]))
        return Version(int(entry["mod_revision"]), Key(kind, name), obj)

    def _ask(self, path: str, body: Mapping[str, Any]) -> Any:
        with self._send(path, body) as answer:
            return json.load(answer)

    def _send(self, path: str, body: Mapping[str, Any]) -> HTTPResponse:
        request = urllib.request.Request(  # noqa: S310  # the URL of an etcd of ours
            f"{self._url}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        answer: HTTPResponse = urllib.request.urlopen(request, timeout=_TIMEOUT)  # noqa: S310  # as above
        return answer


def _coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _end(prefix: str) -> str:
    """The first key behind all that begin with the prefix."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)
