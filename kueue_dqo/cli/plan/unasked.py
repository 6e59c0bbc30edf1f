"""Warnings about what only clouds and other clusters know, and a plan does not ask. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from kueue_dqo.api.cloud import CLOUD_QUOTA_CONTROLLER
from kueue_dqo.api.multikueue import MULTIKUEUE_CONTROLLER
from kueue_dqo.api.wording import some
from kueue_dqo.cli.plan.computation import Plan


class _Source(NamedTuple):
    """What a controller knows that no manifest says."""

    controller: str
    unasked: str
    unknown: str
    printed_by: str
    """The command whose output has the capacity, with the `{names}` of the CapacityProviders where it takes them."""

    @property
    def component(self) -> str:
        """The label of the daemon's pods."""
        return self.controller.rpartition("/")[2]


_SOURCES: Final = (
    _Source(
        CLOUD_QUOTA_CONTROLLER,
        "asks no cloud",
        "of what the account holds",
        "dqo provider cloud-quota --once -f FILE -o yaml",
    ),
    _Source(
        MULTIKUEUE_CONTROLLER,
        "reads no worker cluster",
        "of what the workers have",
        "kubectl get capacityproviders {names} -o yaml",
    ),
)


def without_answers(plan: Plan) -> Iterator[str]:
    """What a source knows follows from no manifest, so its provider has no capacity before its daemon wrote one."""
    for source in _SOURCES:
        waiting = sorted(
            name
            for name, provider in plan.providers.items()
            if provider.spec.controller_name == source.controller
            and not provider.has_status
            and provider.metadata.deletion_timestamp is None
        )
        if waiting:
            way_out = (
                "look at the daemon that keeps it: kubectl get pods -A -l "
                f"app.kubernetes.io/component={source.component}"
                if plan.manifests.is_live
                else f"plan with what `{source.printed_by.format(names=' '.join(waiting))}` prints as well"
            )
            yield (
                f"CapacityProvider {some(waiting)} has no status, and a plan {source.unasked}: nothing is known "
                f"{source.unknown}; {way_out}"
            )
