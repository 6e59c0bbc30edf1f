"""What the API server's audit log says of the requests of service accounts."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from tests.controlplane.plane import ControlPlane

Event = Mapping[str, Any]

_POD_CLAIM: Final = "authentication.kubernetes.io/pod-name"


def requests_of(plane: ControlPlane, pod: str, since: float) -> Counter[str]:
    """What the process in that pod has asked for since then, by verb and resource."""
    return Counter(what(event) for event in plane.requests() if pods(event) == [pod] and received(event) >= since)


def first(events: Iterable[Event], wanted: str) -> Event:
    """The first of these requests that has this verb and resource."""
    return min((event for event in events if what(event) == wanted), key=received)


def what(event: Event) -> str:
    """Such as `patch capacityproviders/status`."""
    obj = event.get("objectRef") or {}
    return f"{event['verb']} {'/'.join(filter(None, (obj.get('resource'), obj.get('subresource'))))}"


def pods(event: Event) -> list[str]:
    """The pod that the token is bound to, if it is to one."""
    return list(event["user"].get("extra", {}).get(_POD_CLAIM, ()))


def received(event: Event) -> float:
    """When the server had the request, in seconds since the epoch."""
    return clock(event["requestReceivedTimestamp"])


def answered(event: Event) -> float:
    """When it had answered it; of a watch, when it was open."""
    return clock(event["stageTimestamp"])


def clock(text: str) -> float:
    """Seconds since the epoch of a time of RFC 3339."""
    return datetime.datetime.fromisoformat(text).timestamp()
