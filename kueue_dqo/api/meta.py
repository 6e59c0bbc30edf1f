"""What every object carries: its group and kind, its metadata, its conditions."""

from __future__ import annotations

import datetime
import re
from typing import Any, Final, NamedTuple

import msgspec

KUEUE_GROUP: Final = "kueue.x-k8s.io"
OUR_GROUP: Final = "kueue-dqo.dev"
_RFC_3339: Final = re.compile(r"\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)", re.ASCII)


class ObjectKey(NamedTuple):
    """Kind and name of a cluster-scoped object."""

    kind: str
    name: str

    def __str__(self) -> str:
        """`Kind/name`, as messages name the object."""
        return f"{self.kind}/{self.name}"


class ManagedFields(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Which fields a manager owns (`metadata.managedFields[]`)."""

    manager: str = ""
    operation: str = ""
    subresource: str = ""
    time: str | None = None
    fields_v1: dict[str, Any] | None = None

    def owns(self, *path: str) -> bool:
        """Whether the field at this path, such as `spec`, `resourceGroups`, is among them."""
        fields: Any = self.fields_v1
        for step in path:
            fields = (fields or {}).get(f"f:{step}")
        return fields is not None


class ObjectMeta(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Metadata, as far as the suite reads it. A manifest from git lacks what the API server fills in."""

    name: str
    uid: str = ""
    generation: int | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    annotations: dict[str, str] = {}
    managed_fields: tuple[ManagedFields, ...] = ()


class Condition(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A standard condition. `status` is True, False or Unknown."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    observed_generation: int | None = None
    last_transition_time: str | None = None


def find_condition(conditions: tuple[Condition, ...], kind: str) -> Condition | None:
    """The condition of that type, or None."""
    return next((condition for condition in conditions if condition.type == kind), None)


def condition_is(conditions: tuple[Condition, ...], kind: str, status: str) -> bool:
    """Whether the condition of that type is there and has that status; an absent one has none."""
    condition = find_condition(conditions, kind)
    return condition is not None and condition.status == status


def time_text(time: datetime.datetime) -> str:
    """`2026-12-24T00:00:00Z`: the time in UTC, as Kubernetes writes it; less than a second is cut off."""
    return time.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: str) -> datetime.datetime:
    """An RFC 3339 time. Raises ValueError for any other text, a time without an offset included."""
    if not _RFC_3339.fullmatch(text):
        msg = f"{text!r} is no time of RFC 3339"
        raise ValueError(msg)
    return datetime.datetime.fromisoformat(text)
