"""Parameters of the provider of NVIDIA's GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kueue_dqo.api.gpu import GPU, MAX_DEVICE_RESOURCES, NVIDIA_PREFIX, SHARED_SUFFIX
from kueue_dqo.api.gpu_checks import DEVICES, NVIDIA_RESOURCE
from kueue_dqo.api.parameter_checks.nodes import selector
from kueue_dqo.api.parameters import MigStrategy, NvidiaGpuParametersSpec, SharedResource
from kueue_dqo.api.problems import RESOURCE_NAME, FieldProblem, repeated, shown, unique

MAX_SHARED_RESOURCES: Final = MAX_DEVICE_RESOURCES
MAX_REPLICAS: Final = 1000
"""More parts of one device are a slip of the pen, and the kubelet has to list every one. The least is 1: that says of a
resource that it is not shared, whatever the labels of nodes say."""


def nvidia_gpu_problems(spec: NvidiaGpuParametersSpec) -> Iterator[FieldProblem]:
    """Every problem of the fields that only this provider has, and of those that it has its own rules for."""
    yield from selector("spec.nodeSelector", spec.node_selector)
    yield from _reported(spec)
    yield from unique("spec.sharing", [each.resource for each in spec.sharing], MAX_SHARED_RESOURCES)
    for name in repeated(each.rename for each in spec.sharing if each.rename is not None):
        yield FieldProblem("spec.sharing", f"{shown(name)} is the new name of more than one resource")
    for index, shared in enumerate(spec.sharing):
        yield from _shared(f"spec.sharing[{index}]", shared, spec.mig_strategy)
    percent = spec.agents.max_silent_percent
    if not 0 <= percent <= 100:  # noqa: PLR2004 - percent
        yield FieldProblem("spec.agents.maxSilentPercent", f"{percent} is no share: 0 to 100 percent are allowed")


def _reported(spec: NvidiaGpuParametersSpec) -> Iterator[FieldProblem]:
    """A resource that this provider never reports would become quota 0, or would not be kept back."""
    include, exclude = spec.resources.include, spec.resources.exclude
    fields = [
        *((f"spec.resources.include[{index}]", name) for index, name in enumerate(include)),
        *((f"spec.headroom[{index}].resource", each.resource) for index, each in enumerate(spec.headroom)),
    ]
    for field, name in fields:
        if RESOURCE_NAME.fits(name) and not name.startswith(NVIDIA_PREFIX):
            yield FieldProblem(field, f"{shown(name)} is not reported by this provider: {NVIDIA_PREFIX}… alone is")
    renamed = {each.resource: each.rename for each in spec.sharing if each.rename is not None}
    fields += [(f"spec.resources.exclude[{index}]", name) for index, name in enumerate(exclude)]
    for field, name in fields:
        if name in renamed:
            yield FieldProblem(field, f"{shown(name)} is renamed by spec.sharing: write {shown(renamed[name])}")


def _shared(field: str, shared: SharedResource, strategy: MigStrategy) -> Iterator[FieldProblem]:
    resource, rename = shared.resource, shared.rename
    yield from DEVICES.problems(f"{field}.resource", resource)
    if resource.endswith(SHARED_SUFFIX):
        before = resource.removesuffix(SHARED_SUFFIX)
        yield FieldProblem(f"{field}.resource", f"{shown(resource)} is a name of shared devices: write {shown(before)}")
    elif resource != GPU and strategy in {MigStrategy.NONE, MigStrategy.SINGLE}:
        yield FieldProblem(
            f"{field}.resource",
            f"{shown(resource)} is not offered with migStrategy {strategy}: share {GPU}, or choose another strategy",
        )
    if not 1 <= shared.replicas <= MAX_REPLICAS:
        yield FieldProblem(
            f"{field}.replicas",
            f"{shared.replicas} is no number of replicas: 1 (not shared) to {MAX_REPLICAS} are allowed",
        )
    if rename is None:
        return
    yield from NVIDIA_RESOURCE.problems(f"{field}.rename", rename)
    if DEVICES.fits(rename) and not rename.endswith(SHARED_SUFFIX):
        yield FieldProblem(
            f"{field}.rename",
            f"{shown(rename)} is the name of devices that are not shared: choose another one, such as "
            f"{resource}{SHARED_SUFFIX}, or leave it out",
        )
