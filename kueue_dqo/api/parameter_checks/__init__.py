"""What is wrong with parameters, as far as one object shows it: the rules of their definitions in `manifests/crds`.

A manifest that never saw an API server is judged by these; so is an object that was stored before a rule was made.
"""

from __future__ import annotations

from collections.abc import Iterator

from kueue_dqo.api.cloud import CloudQuotaParametersSpec
from kueue_dqo.api.multikueue import MultiKueueParametersSpec
from kueue_dqo.api.parameter_checks.cloud import cloud_quota_problems
from kueue_dqo.api.parameter_checks.common import common_problems
from kueue_dqo.api.parameter_checks.composite import composite_problems
from kueue_dqo.api.parameter_checks.gpus import nvidia_gpu_problems
from kueue_dqo.api.parameter_checks.manual import manual_problems
from kueue_dqo.api.parameter_checks.multikueue import multikueue_problems
from kueue_dqo.api.parameter_checks.nodes import node_inventory_problems
from kueue_dqo.api.parameters import (
    CommonParameters,
    CompositeParametersSpec,
    ManualCapacitySpec,
    NodeInventoryParametersSpec,
    NvidiaGpuParametersSpec,
)
from kueue_dqo.api.problems import FieldProblem


def problems_of_parameters(spec: CommonParameters) -> Iterator[FieldProblem]:
    """Every problem of the spec; of one that a third party derived, those of the fields that all have."""
    yield from common_problems(spec)
    match spec:
        case NodeInventoryParametersSpec():
            yield from node_inventory_problems(spec)
        case CloudQuotaParametersSpec():
            yield from cloud_quota_problems(spec)
        case NvidiaGpuParametersSpec():
            yield from nvidia_gpu_problems(spec)
        case MultiKueueParametersSpec():
            yield from multikueue_problems(spec)
        case ManualCapacitySpec():
            yield from manual_problems(spec)
        case CompositeParametersSpec():
            yield from composite_problems(spec)
