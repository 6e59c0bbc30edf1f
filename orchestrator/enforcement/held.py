"""Objects as the API server holds them: typed, and with the JSON of the fields that a write compares."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec

from kueue_dqo.api.kueue import CLUSTER_QUEUE, ClusterQueue, ClusterQueueSpec, Cohort, CohortSpec, QuotaNode
from kueue_dqo.api.meta import KUEUE_GROUP, ObjectKey, ObjectMeta
from kueue_dqo.api.quotas import EffectiveQuotas
from kueue_dqo.api.scheme import ObjectInvalid, decode_json, known_kind, plain_json
from orchestrator.members import Member

VERSION: Final = "v1beta2"


class View(NamedTuple):
    """An object as one road sees it.

    `applied` is what an orchestrator last wrote, None where none did; `is_settled` whether what it recorded beside it
    is still what the admin declares.
    """

    member: Member
    applied: EffectiveQuotas | None = None
    is_settled: bool = False

    @property
    def is_reverted(self) -> bool:
        """Whether others have undone what was applied, and declared nothing new by it."""
        return self.is_settled and self.applied is not None and self.member.in_force != self.applied.resource_groups


class Held(NamedTuple):
    """A ClusterQueue or Cohort of the cluster.

    `groups` and `effective` are the JSON of `spec.resourceGroups` and `status.effectiveQuotas`, None where they are
    absent; `problem` says why the object cannot be read, in words.
    """

    node: QuotaNode
    resource_version: str
    groups: msgspec.Raw | None = None
    effective: msgspec.Raw | None = None
    has_annotations: bool = False
    has_status: bool = False
    problem: str | None = None

    @property
    def key(self) -> ObjectKey:
        """Kind and name."""
        return self.node.key


class _Spec(msgspec.Struct, gc=False, rename="camel"):
    resource_groups: msgspec.Raw = msgspec.Raw()


class _Status(msgspec.Struct, gc=False, rename="camel"):
    effective_quotas: msgspec.Raw = msgspec.Raw()


class _Meta(msgspec.Struct, gc=False, rename="camel"):
    name: str
    uid: str = ""
    resource_version: str = ""
    annotations: msgspec.Raw = msgspec.Raw()


class _Parts(msgspec.Struct, gc=False, rename="camel"):
    metadata: _Meta
    spec: _Spec | None = None
    status: _Status | None = None


def held_of(kind: str, raw: bytes) -> Held:
    """The object in a piece of the API server's JSON.

    One that does not decode is held as well, without quotas and with its problem: it must not vanish from its subtree.

    Raises:
        ObjectInvalid: not even the object's name can be read.
    """
    try:
        parts = msgspec.json.decode(raw, type=_Parts)
        known = known_kind(f"{KUEUE_GROUP}/{VERSION}", kind)
        assert known is not None, kind  # noqa: S101 - both kinds are known
        node = decode_json(known, VERSION, raw).object
    except (ObjectInvalid, msgspec.DecodeError) as error:
        return _unreadable(kind, raw, str(error))
    status = parts.status
    return Held(
        node,
        parts.metadata.resource_version,
        own(parts.spec.resource_groups) if parts.spec is not None else None,
        own(status.effective_quotas) if status is not None else None,
        has_annotations=own(parts.metadata.annotations) is not None,
        has_status=status is not None,
    )


def own(part: msgspec.Raw) -> msgspec.Raw | None:
    """A copy, so that the whole object it was cut from can be let go; None for an absent field, which null is too."""
    return part.copy() if bytes(part) not in (b"", b"null") else None


def _unreadable(kind: str, raw: bytes, problem: str) -> Held:
    plain = plain_json(raw)
    content: dict[str, Any] = plain if isinstance(plain, dict) else {}
    metadata, spec = (part if isinstance(part := content.get(name), dict) else {} for name in ("metadata", "spec"))
    name, uid, version = (str(metadata.get(field) or "") for field in ("name", "uid", "resourceVersion"))
    if not name:
        raise ObjectInvalid(())
    meta = ObjectMeta(name, uid)
    parent = spec.get("cohortName" if kind == CLUSTER_QUEUE else "parentName")
    above = parent if isinstance(parent, str) else ""
    node: QuotaNode = (
        ClusterQueue(meta, ClusterQueueSpec(cohort_name=above))
        if kind == CLUSTER_QUEUE
        else Cohort(meta, CohortSpec(parent_name=above))
    )
    return Held(node, version, problem=f"it cannot be read: {problem}")
