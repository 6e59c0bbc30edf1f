"""What was read: typed objects, where each stands, and what there is to say about the reading. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from kueue_dqo.api.cloud import CLOUD_QUOTA_CONTROLLER
from kueue_dqo.api.dqo import CapacityProvider
from kueue_dqo.api.meta import ObjectKey
from kueue_dqo.api.multikueue import MULTIKUEUE_CONTROLLER
from kueue_dqo.api.scheme import QUOTA_KINDS, Kinds
from kueue_dqo.api.wording import counted

FILES: Final = "the files"
CLUSTER: Final = "the cluster"
"""Where objects can come from, as messages say it."""
_PROBLEMS_SHOWN: Final = 20
_UNASKED: Final = frozenset({CLOUD_QUOTA_CONTROLLER, MULTIKUEUE_CONTROLLER})
"""The controllers whose sources a plan does not ask, so that it takes what a status says."""


class Place(NamedTuple):
    """Where an object stands: file, document, item of a List."""

    file: str
    document: int
    line: int | None = None
    item: int | None = None

    def __str__(self) -> str:
        """`queues.yaml, document 2 (line 14), item 3`."""
        line = f" (line {self.line})" if self.line is not None else ""
        item = f", item {self.item}" if self.item is not None else ""
        return f"{self.file}, document {self.document}{line}{item}"


@dataclass(slots=True)
class Manifests:
    """The objects that were read, by kind and name, and what there is to say about the reading."""

    objects: dict[str, dict[str, Any]] = field(default_factory=dict)
    kinds: Kinds = field(default_factory=lambda: QUOTA_KINDS)
    """Which kinds are read; objects of others are skipped."""
    places: dict[ObjectKey, Place] = field(default_factory=dict)
    """In the order in which they were read."""
    skipped: Counter[str] = field(default_factory=Counter)
    notices: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    unusable: dict[ObjectKey, str] = field(default_factory=dict)
    """What cannot be used although it is there, and why: of a cluster only, and only what a plan can do without."""
    origin: str = FILES

    @property
    def is_live(self) -> bool:
        """Whether they are those of a cluster, so that what is in force is known of each."""
        return self.origin == CLUSTER

    def of_kind(self, kind: str) -> Mapping[str, Any]:
        """The objects of one kind by name; Pods by `namespace/name`."""
        return self.objects.get(kind, {})

    def add(self, kind: str, obj: Any, place: Place) -> None:
        """Takes an object, and refuses a second one of the same name.

        But a provider that asks clouds or other clusters may stand there once as it is applied, and once more as it was
        answered.
        """
        key = key_of(kind, obj)
        if key in self.places:
            answered = _answered(self.objects[kind][key.name], obj)
            if answered is not None:
                self.objects[kind][key.name] = answered
                return
            self.problems.append(f"{place}: {key} stands twice, first in {self.places[key]}: keep one of them")
            return
        self.places[key] = place
        self.objects.setdefault(kind, {})[key.name] = obj


def _answered(first: Any, second: Any) -> CapacityProvider | None:
    """Of two objects of one name, a provider whose source a plan does not ask and that has a status.

    None where the other one lacks more than that.
    """
    if not isinstance(first, CapacityProvider) or first.spec.controller_name not in _UNASKED:
        return None
    if first.spec != second.spec or first.has_status == second.has_status:
        return None
    return first if first.has_status else second


def key_of(kind: str, obj: Any) -> ObjectKey:
    """Kind and name of an object; of one that says its namespace, that stands before the name."""
    namespace = getattr(obj.metadata, "namespace", "")
    return ObjectKey(kind, f"{namespace}/{obj.metadata.name}" if namespace else obj.metadata.name)


def problems_text(problems: list[str], place: str) -> str:
    """All of them in one message, up to twenty."""
    if len(problems) == 1:
        return problems[0]
    shown = problems[:_PROBLEMS_SHOWN]
    if len(problems) > len(shown):
        shown.append(f"and {len(problems) - len(shown)} more")
    return "\n  ".join([f"{len(problems)} problems in {place}:", *shown])


def skipped_text(skipped: Counter[str]) -> str:
    """`2 objects of kinds that dqo does not read: 1 Job (batch/v1), 1 Pod (v1)`."""
    listed = ", ".join(f"{count} {kind}" for kind, count in sorted(skipped.items()))
    return f"{counted(skipped.total(), 'object')} of kinds that dqo does not read: {listed}"
