"""Which ClusterQueues MultiKueue sets the quotas of. Pure.

With `quotaManagement: Automated` in its MultiKueueConfig (alpha in Kueue 0.19), a manager's ClusterQueue gets its
quotas from its worker clusters. Two writers would undo each other's numbers, so such a queue is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from kueue_dqo.api.kueue import MULTI_KUEUE_CONTROLLER, AdmissionCheck, ClusterQueue, MultiKueueConfig, QuotaNode

_AUTOMATED: Final = "Automated"


def automated_checks(checks: Iterable[AdmissionCheck], configs: Mapping[str, MultiKueueConfig]) -> dict[str, str]:
    """The AdmissionChecks under automated quota management, each with its MultiKueueConfig."""
    found = {}
    for check in checks:
        parameters = check.spec.parameters
        config = configs.get(parameters.name) if parameters is not None else None
        if (
            check.spec.controller_name == MULTI_KUEUE_CONTROLLER
            and config is not None
            and config.spec.quota_management == _AUTOMATED
        ):
            found[check.metadata.name] = config.metadata.name
    return found


def why_automated(node: QuotaNode, automated: Mapping[str, str]) -> str | None:
    """Why the object's quotas are not ours to set, in words; None where they are."""
    if not isinstance(node, ClusterQueue) or not automated:
        return None
    used = [rule.name for rule in node.spec.admission_checks_strategy.admission_checks]
    used += node.spec.admission_checks  # as v1beta1 has them
    name = next((each for each in used if each in automated), None)
    if name is None:
        return None
    return (
        f"MultiKueue sets its quotas (AdmissionCheck {name}, MultiKueueConfig {automated[name]} with quotaManagement "
        "Automated): set that to Manual, or take the queue out of the subtree"
    )
