"""By which resource names, and how many of each, the device plugin offers what a node's agent reports. Pure.

The agent knows the hardware, not how the device plugin of its node is configured: which MIG strategy it has, and how
it shares devices (`sharing.py`). The parameters say it, or else the labels that GPU feature discovery gives the node.
The strategy's is `nvidia.com/mig.strategy`, single or mixed; under the strategy none there is no such label.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from kueue_dqo.api.core import Node
from kueue_dqo.api.gpu import GPU, MIG_PREFIX, DeviceCount, GPUInventory, UnhealthyReason
from kueue_dqo.api.parameters import MigStrategy, NvidiaGpuParametersSpec
from kueue_dqo.api.wording import counted, some
from providers.nvidia_gpu.sharing import seems_shared, sharing_of

_STRATEGY_LABEL: Final = "nvidia.com/mig.strategy"
_STRATEGIES: Final = {"none": MigStrategy.NONE, "single": MigStrategy.SINGLE, "mixed": MigStrategy.MIXED}
_MIG_UUID: Final = "MIG-"


class Offered(NamedTuple):
    """What a node offers by the names that the device plugin gives, after sharing; not yet capped by allocatable."""

    healthy: Mapping[str, int]
    """How many may be used, by resource; a resource all of whose devices are unhealthy is here as 0."""
    total: Mapping[str, int]
    """Those and the unhealthy ones, of the same resources."""
    problems: tuple[str, ...]
    """What is wrong with the node's labels or its MIG layout: each a text that can follow the node's name."""


def offered(inventory: GPUInventory, node: Node, parameters: NvidiaGpuParametersSpec) -> Offered:
    """What the node offers. A label that makes no sense is as one that is not there, and a problem.

    There always is a resource, if only `nvidia.com/gpu` as 0: NVML finding nothing is not the same as nobody knowing.
    """
    strategy = _strategy(node, parameters)
    problems = [*_unknown_strategy(node, parameters)]
    if strategy is MigStrategy.SINGLE:
        problems += _unequal(inventory)
    healthy: dict[str, int] = {}
    total: dict[str, int] = {}
    for each in _devices(inventory, strategy):
        sharing = sharing_of(each.name, node, parameters)
        problems += sharing.problems
        # Where some are unhealthy or gone, nobody knows how many the device plugin has left out.
        if not sharing.is_told and not inventory.unhealthy:
            problems += seems_shared(each.name, sharing.name, each.healthy, node)
        healthy[sharing.name] = healthy.get(sharing.name, 0) + each.healthy * sharing.replicas
        total[sharing.name] = total.get(sharing.name, 0) + (each.healthy + each.unhealthy) * sharing.replicas
    return Offered(healthy, total, tuple(problems))


def _strategy(node: Node, parameters: NvidiaGpuParametersSpec) -> MigStrategy:
    if parameters.mig_strategy is not MigStrategy.AUTO:
        return parameters.mig_strategy
    told = _STRATEGIES.get(node.metadata.labels.get(_STRATEGY_LABEL, ""))
    if told is not None:
        return told
    has_mig = any(
        name.startswith(MIG_PREFIX) for name, quantity in node.status.allocatable.items() if quantity is not None
    )
    return MigStrategy.MIXED if has_mig else MigStrategy.NONE


def _unknown_strategy(node: Node, parameters: NvidiaGpuParametersSpec) -> Iterator[str]:
    label = node.metadata.labels.get(_STRATEGY_LABEL)
    if parameters.mig_strategy is MigStrategy.AUTO and label is not None and label not in _STRATEGIES:
        yield (
            f"has the label {_STRATEGY_LABEL}={label}, which is neither none, single nor mixed, so that it is ignored: "
            "correct it, or set spec.migStrategy of the parameters"
        )


def _devices(inventory: GPUInventory, strategy: MigStrategy) -> Iterable[DeviceCount]:
    """What there is by the names of the strategy, before it is shared."""
    match strategy:
        case MigStrategy.MIXED if inventory.devices:
            return inventory.devices
        case MigStrategy.MIXED | MigStrategy.SINGLE:
            healthy = sum(each.healthy for each in inventory.devices)
            return [DeviceCount(GPU, healthy, sum(each.unhealthy for each in inventory.devices))]
        case _:
            return [DeviceCount(GPU, inventory.gpus, _unhealthy_gpus(inventory))]


def _unequal(inventory: GPUInventory) -> Iterator[str]:
    """A message where the strategy single does not allow what there is."""
    uncut = sum(each.healthy for each in inventory.devices if each.name == GPU)
    profiles = [name.removeprefix(MIG_PREFIX) for name in _mig_resources(inventory)]
    wrong = []
    if uncut and (profiles or inventory.mig_gpus):
        wrong.append(f"{counted(uncut, 'GPU')} without MIG beside others with it")
    if len(profiles) > 1:
        wrong.append(f"MIG devices of the profiles {some(profiles)}")
    if wrong:
        yield (
            f"has {' and '.join(wrong)}: under the MIG strategy single the device plugin wants one kind of device, and "
            "offers nothing where there are several; cut all GPUs of the node alike, or give it the strategy mixed (as "
            "well as spec.migStrategy of the parameters, where that is set)"
        )


def _mig_resources(inventory: GPUInventory) -> list[str]:
    return [
        each.name for each in inventory.devices if each.name.startswith(MIG_PREFIX) and each.healthy + each.unhealthy
    ]


def _unhealthy_gpus(inventory: GPUInventory) -> int:
    """Physical GPUs that are there and unhealthy. Those that are cut are not counted as GPUs, they are only listed."""
    uncut = sum(each.unhealthy for each in inventory.devices if each.name == GPU)
    if not inventory.mig_gpus and not _mig_resources(inventory):
        return uncut
    listed = [each for each in inventory.unhealthy if not each.uuid.startswith(_MIG_UUID)]
    return max(uncut, sum(each.reason != UnhealthyReason.REMOVED for each in listed))
