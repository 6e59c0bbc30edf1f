"""A plan as a v1 List of the objects that would be written, in JSON or YAML."""

from __future__ import annotations

from typing import Any, Final

from kueue_dqo.api import dqo
from kueue_dqo.api.kueue import CLUSTER_QUEUE, COHORT
from kueue_dqo.api.meta import KUEUE_GROUP
from kueue_dqo.api.scheme import to_manifest
from kueue_dqo.cli.listing import as_json, as_yaml, listed
from kueue_dqo.cli.plan.computation import Plan

_DQO_VERSION: Final = f"{KUEUE_GROUP}/v1alpha1"
_QUEUE_VERSION: Final = f"{KUEUE_GROUP}/v1beta2"


def as_list(plan: Plan) -> dict[str, Any]:
    """The providers that the plan computed, the orchestrators, the ClusterQueues and Cohorts that they keep.

    Each with what would stand in the fields that are ours, whether or not it stands there already, and nothing else. An
    object left alone is absent.
    """
    items = [
        _object(
            _DQO_VERSION,
            dqo.CAPACITY_PROVIDER,
            name,
            {"status": to_manifest(plan.providers[name].status)},
        )
        for name in sorted(plan.computed_providers)
    ]
    items += [
        _object(_DQO_VERSION, dqo.DYNAMIC_QUOTA_ORCHESTRATOR, name, {"status": to_manifest(outcome.status)})
        for name, outcome in sorted(plan.outcomes.items())
    ]
    quotas = {key: each for outcome in plan.outcomes.values() for key, each in outcome.quotas.items()}
    for kind in (CLUSTER_QUEUE, COHORT):
        items += [
            _object(_QUEUE_VERSION, kind, key.name, plan.road.written(plan.nodes[key], quotas[key]))
            for key in sorted(quotas)
            if key.kind == kind
        ]
    return listed(items)


def json_text(plan: Plan, *, ascii_only: bool = False) -> str:
    """The list as JSON; other characters than ASCII's are escaped where the output cannot hold them."""
    return as_json(as_list(plan), ascii_only=ascii_only)


def yaml_text(plan: Plan, *, ascii_only: bool = False) -> str:
    """The list as YAML, like `json_text`. Raises CommandError where PyYAML is not installed."""
    return as_yaml(as_list(plan), ascii_only=ascii_only)


def _object(api_version: str, kind: str, object_name: str, fields: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": object_name, **fields.get("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata} | {
        name: value for name, value in fields.items() if name != "metadata"
    }
