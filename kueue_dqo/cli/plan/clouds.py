"""Warnings about what only clouds know, and a plan does not ask. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from kueue_dqo.api.cloud import CLOUD_QUOTA_CONTROLLER
from kueue_dqo.api.wording import some
from kueue_dqo.cli.plan.computation import Plan


def without_answers(plan: Plan) -> Iterator[str]:
    """What an account holds follows from no manifest, so its provider has no capacity before its daemon wrote one."""
    waiting = sorted(
        name
        for name, provider in plan.providers.items()
        if provider.spec.controller_name == CLOUD_QUOTA_CONTROLLER
        and not provider.has_status
        and provider.metadata.deletion_timestamp is None
    )
    if not waiting:
        return
    way_out = (
        "look at the daemon that keeps it: kubectl get pods -A -l app.kubernetes.io/component=cloud-quota"
        if plan.manifests.is_live
        else "plan with what `dqo provider cloud-quota --once -f FILE -o yaml` prints as well"
    )
    yield (
        f"CapacityProvider {some(waiting)} has no status, and a plan asks no cloud: nothing is known of what the "
        f"account holds; {way_out}"
    )
