"""Objects in which an orchestrator has left its quotas."""

from __future__ import annotations

import json
from typing import Final

from kueue_dqo.api.quotas import EffectiveQuotas, OrchestratorRef
from kueue_dqo.api.scheme import to_manifest
from orchestrator.enforcement.held import Held, held_of
from orchestrator.enforcement.roads import Road
from tests.unit.orchestrator.builders import Flavors, groups, ref
from tests.unit.orchestrator.enforcement.roads import Manifest, manifest, with_written

TEN: Final[Flavors] = {"batch": {"cpu": 10}}
FOUR: Final[Flavors] = {"batch": {"cpu": 4}}


def left(
    name: str = "a",
    *,
    road: Road = Road.STATUS,
    owner: OrchestratorRef | None = None,
    parent: str = "",
    kind: str = "ClusterQueue",
) -> Manifest:
    """An object that declares ten and has four, written by an orchestrator (`dqo` unless said otherwise)."""
    found = manifest(TEN, kind=kind, name=name)
    if parent:
        found["spec"]["cohortName" if kind == "ClusterQueue" else "parentName"] = parent
    quotas = EffectiveQuotas(ref("dqo") if owner is None else owner, groups(FOUR))
    if road is Road.SPEC:
        return with_written(found, quotas)
    return {**found, "status": {"effectiveQuotas": to_manifest(quotas)}}


def held(plain: Manifest) -> Held:
    return held_of(plain["kind"], json.dumps(plain).encode())
