"""The ClusterQueues and Cohorts of workers out of JSON, in each version of Kueue's API, equal quotas shared. Pure."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from typing import Any, Final, Generic, TypeVar

import msgspec

from kueue_dqo.api import kueue
from kueue_dqo.api.meta import KUEUE_GROUP
from kueue_dqo.api.problems import OBJECT_NAME, RESOURCE_NAME, FieldProblem, repeated, unique
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.quotas import FlavorQuotas, ResourceGroup, ResourceQuota, quotas_by_pair
from kueue_dqo.api.scheme import KnownKind, ObjectInvalid, decode_json
from providers.multikueue.foreign_text import optional_name, refuse, refuse_misnamed

G = TypeVar("G")
Groups = tuple[ResourceGroup, ...]

PARENT_FIELDS: Final = {
    (kueue.CLUSTER_QUEUE, "v1beta2"): "cohortName",
    (kueue.CLUSTER_QUEUE, "v1beta1"): "cohort",
    (kueue.COHORT, "v1beta2"): "parentName",
    (kueue.COHORT, "v1beta1"): "parentName",
    (kueue.COHORT, "v1alpha1"): "parent",
}
"""The field of the spec that names the Cohort above, by kind and version."""
_MOST_GROUPS: Final = 16
_MOST_IN_A_GROUP: Final = 64
"""Flavors of a group, and resources of a flavor."""
_LONGEST_SHARED: Final = 8192
"""Bytes. Longer quotas are not kept for others: a worker must not decide how much this process remembers."""
_ABSENT: Any = ()


_LONGEST_UID: Final = 64


class Meta(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Metadata, as far as it matters here."""

    name: str
    uid: str = ""
    deletion_timestamp: str | None = None


class QueueCondition(msgspec.Struct, frozen=True, gc=False):
    """A condition without its times and its message, which change with every Workload."""

    type: str = ""
    status: str = ""
    reason: str = ""


class _EffectiveQuotas(msgspec.Struct, Generic[G], frozen=True, gc=False, rename="camel"):
    resource_groups: G = _ABSENT


class _Spec(msgspec.Struct, Generic[G], frozen=True, gc=False, rename="camel"):
    resource_groups: G = _ABSENT
    stop_policy: str = ""
    cohort_name: str = ""
    cohort: str = ""
    parent_name: str = ""
    parent: str = ""


class _Status(msgspec.Struct, Generic[G], frozen=True, gc=False, rename="camel"):
    effective_quotas: _EffectiveQuotas[G] | None = None
    conditions: tuple[QueueCondition, ...] = ()


class _Node(msgspec.Struct, Generic[G], frozen=True, gc=False):
    """Either kind in any version. `G` is what quotas are decoded to: not yet (Raw), or all the way."""

    metadata: Meta
    spec: _Spec[G] = _Spec()
    status: _Status[G] = _Status()


class QuotaNode(msgspec.Struct, frozen=True, gc=False):
    """What is needed of a ClusterQueue or a Cohort."""

    parent: str
    """The name of the Cohort above, empty for none."""
    quotas: Groups
    """Those in force, without what `coveredResources` repeats."""
    is_deleting: bool
    stop_policy: str
    conditions: tuple[QueueCondition, ...]
    uid: str


def decode_node(kind: str, version: str, raw: bytes) -> QuotaNode:
    """A ClusterQueue or a Cohort of that version.

    Raises:
        ObjectInvalid: it cannot be used. Amounts below zero are no reason: whether they matter depends on who asks.
        RecursionError: it is nested too deeply.
    """
    try:
        quick = _decode_quickly(raw)
        field, groups = _in_force(quick)
        return _taken(kind, version, quick, _shared(bytes(groups)) if groups else ())
    except (msgspec.DecodeError, ObjectInvalid):
        # The careful way knows null fields and can say what is wrong where.
        known = KnownKind(KUEUE_GROUP, kind, (version,), _Node[Groups])
        careful: _Node[Groups] = decode_json(known, version, raw).object
        field, whole = _in_force(careful)
        return _taken(kind, version, careful, _compact(field, whole))


def _in_force(node: _Node[G]) -> tuple[str, G]:
    """Effective quotas that are set are used instead of the spec, even where their list is empty."""
    if node.status.effective_quotas is not None:
        return "status.effectiveQuotas.resourceGroups", node.status.effective_quotas.resource_groups
    return "spec.resourceGroups", node.spec.resource_groups


def _taken(kind: str, version: str, node: _Node[Any], quotas: Groups) -> QuotaNode:
    spec = node.spec
    field = PARENT_FIELDS[kind, version]
    parent: str = {
        "cohortName": spec.cohort_name,
        "cohort": spec.cohort,
        "parentName": spec.parent_name,
        "parent": spec.parent,
    }[field]
    refuse_misnamed("metadata.name", OBJECT_NAME, [node.metadata.name])
    return QuotaNode(
        optional_name(f"spec.{field}", parent),
        quotas,
        node.metadata.deletion_timestamp is not None,
        spec.stop_policy,
        node.status.conditions,
        node.metadata.uid[:_LONGEST_UID],
    )


# --- quotas --------------------------------------------------------------------------------------------------------


def _quantity(_: type, value: object) -> Quantity:
    return Quantity.of(value)


_decode_quickly: Final = msgspec.json.Decoder(_Node[msgspec.Raw]).decode
_decode_groups: Final = msgspec.json.Decoder(Groups, dec_hook=_quantity).decode


def _shared(raw: bytes) -> Groups:
    return _decoded_once(raw) if len(raw) <= _LONGEST_SHARED else _decoded(raw)


def _decoded(raw: bytes) -> Groups:
    return _compact("resourceGroups", _decode_groups(raw))


_decoded_once: Final = functools.lru_cache(maxsize=1024)(_decoded)


def _compact(field: str, groups: Groups) -> Groups:
    """The same quotas with names that are held once. Raises ObjectInvalid where a pair cannot be told from another."""
    refuse(_problems(field, groups))
    return tuple(
        ResourceGroup(
            flavors=tuple(
                FlavorQuotas(sys.intern(flavor.name), tuple(map(_quota, flavor.resources))) for flavor in group.flavors
            )
        )
        for group in groups
    )


def _quota(quota: ResourceQuota) -> ResourceQuota:
    return ResourceQuota(sys.intern(quota.name), quota.nominal_quota, quota.borrowing_limit, quota.lending_limit)


def _problems(field: str, groups: Groups) -> Iterator[FieldProblem]:
    if len(groups) > _MOST_GROUPS:
        yield FieldProblem(field, f"{len(groups)} groups; at most {_MOST_GROUPS} are allowed")
        return
    for g, group in enumerate(groups):
        flavors = f"{field}[{g}].flavors"
        yield from unique(flavors, [flavor.name for flavor in group.flavors], _MOST_IN_A_GROUP)
        for f, flavor in enumerate(group.flavors):
            yield from OBJECT_NAME.problems(f"{flavors}[{f}].name", flavor.name)
            resources = f"{flavors}[{f}].resources"
            yield from unique(resources, [quota.name for quota in flavor.resources], _MOST_IN_A_GROUP)
            for r, quota in enumerate(flavor.resources):
                yield from RESOURCE_NAME.problems(f"{resources}[{r}].name", quota.name)
    for pair in repeated(str(pair) for pair, _ in quotas_by_pair(groups)):
        yield FieldProblem(field, f"{pair} has more than one quota: keep one of them")
