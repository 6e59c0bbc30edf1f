"""Objects as an API server holds them, and what a pass of the orchestrator makes of them on the spec road."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any, Final

from kueue_dqo.api.kueue import ClusterQueue, Cohort
from kueue_dqo.api.meta import KUEUE_GROUP, ObjectKey
from kueue_dqo.api.quotas import EffectiveQuotas, ResourceGroup, quotas_by_pair
from kueue_dqo.api.scheme import decode, known_kind, to_manifest
from orchestrator.compute import Outcome
from orchestrator.enforcement.roads import Road
from orchestrator.enforcement.spec import APPLIED_QUOTAS, DECLARED_QUOTAS, FIELD_MANAGER
from tests.unit.orchestrator.builders import Amounts, Flavors, groups, orchestrator, provider, settled

VERSION: Final = "v1beta2"
Manifest = dict[str, Any]
Limits = tuple[str, str | None, str | None]
"""Nominal quota, borrowingLimit and lendingLimit, as they are written."""


def manifest(
    *declared: Flavors, kind: str = "ClusterQueue", name: str = "a", annotations: Mapping[str, str] | None = None
) -> Manifest:
    """An object from git, with no other field in its spec."""
    return {
        "apiVersion": f"{KUEUE_GROUP}/{VERSION}",
        "kind": kind,
        "metadata": {"name": name, "uid": name, "annotations": dict(annotations or {})},
        "spec": {"resourceGroups": to_manifest(groups(*declared))},
    }


def node(held: Manifest) -> ClusterQueue | Cohort:
    """The object as it is read back."""
    known = known_kind(held["apiVersion"], held["kind"])
    assert known is not None
    decoded = decode(known, VERSION, json.loads(json.dumps(held))).object
    assert isinstance(decoded, ClusterQueue | Cohort)
    return decoded


def outcome(capacity: Amounts, *held: Manifest, root: Manifest | None = None) -> Outcome:
    """What the orchestrator `dqo` on the root (else the first object) makes of the capacity."""
    key = ObjectKey((root or held[0])["kind"], (root or held[0])["metadata"]["name"])
    members = [Road.SPEC.member_of(node(each)) for each in held]
    return settled([orchestrator("dqo", "capacity", root=key)], [provider("capacity", capacity)], members)["dqo"]


def after_a_pass(held: Manifest, capacity: Amounts) -> Manifest:
    """The object after the orchestrator has written the capacity, all of it to this one."""
    (quotas,) = outcome(capacity, held).quotas.values()
    return with_written(held, quotas)


def with_written(held: Manifest, quotas: EffectiveQuotas) -> Manifest:
    """The object with the fields that the road writes, and their manager."""
    fields = Road.SPEC.written(node(held), quotas)
    after = copy.deepcopy(held)
    after["metadata"]["annotations"] |= fields["metadata"]["annotations"]
    after["spec"] |= fields["spec"]
    after["metadata"]["managedFields"] = [managed(FIELD_MANAGER, spec={"f:resourceGroups": {}})]
    return after


def managed(manager: str, **fields: Any) -> Manifest:
    """An entry of managedFields; `spec=…` stands for `f:spec`."""
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": f"{KUEUE_GROUP}/{VERSION}",
        "fieldsType": "FieldsV1",
        "fieldsV1": {f"f:{name}": value for name, value in fields.items()},
    }


def edited(held: Manifest, *declared: Flavors) -> Manifest:
    """The object with other resource groups in its spec: an admin's edit."""
    after = copy.deepcopy(held)
    after["spec"]["resourceGroups"] = to_manifest(groups(*declared))
    return after


def annotated(held: Manifest, **values: str | None) -> Manifest:
    """The object with `declared=…`, `applied=…` in place of its annotations; None takes one away."""
    after = copy.deepcopy(held)
    for name, value in values.items():
        key = {"declared": DECLARED_QUOTAS, "applied": APPLIED_QUOTAS}[name]
        if value is None:
            del after["metadata"]["annotations"][key]
        else:
            after["metadata"]["annotations"][key] = value
    return after


def as_annotation(*declared: Flavors) -> str:
    """Resource groups as git writes them into the annotation."""
    return json.dumps(to_manifest(groups(*declared)))


def by_pair(quotas: tuple[ResourceGroup, ...]) -> dict[str, Limits]:
    """Every quota by `flavor/resource`."""
    return {
        str(pair): (
            str(quota.nominal_quota),
            str(quota.borrowing_limit) if quota.borrowing_limit is not None else None,
            str(quota.lending_limit) if quota.lending_limit is not None else None,
        )
        for pair, quota in quotas_by_pair(quotas)
    }


def declaration(held: Manifest) -> dict[str, Limits]:
    """What the road takes for the admin's declaration, which has to be known."""
    member = Road.SPEC.member_of(node(held))
    assert member.problem is None
    return by_pair(member.declared)
