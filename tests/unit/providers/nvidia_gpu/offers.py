"""Short ways to say what is in a node and what its labels tell of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kueue_dqo.api.core import Node, NodeMeta, NodeStatus
from kueue_dqo.api.gpu import GPU, MIG_PREFIX, DeviceCount, GPUInventory, UnhealthyDevice
from kueue_dqo.api.parameters import MigStrategy, NvidiaGpuParametersSpec, SharedResource
from kueue_dqo.api.quantity import Quantity
from providers.nvidia_gpu.naming import Offered, offered

SMALL: Final = f"{MIG_PREFIX}1g.10gb"
LARGE: Final = f"{MIG_PREFIX}3g.40gb"
MEDIA: Final = f"{MIG_PREFIX}1g.10gb.me"
SINCE: Final = "2026-09-20T09:00:00Z"
NOBODY_SAYS: Final[Mapping[str, str]] = {}


def inventory(
    devices: Mapping[str, int],
    *,
    gpus: int | None = None,
    mig_gpus: int = 0,
    unhealthy: Mapping[str, int] | None = None,
    listed: Mapping[str, str] | None = None,
) -> GPUInventory:
    """Healthy devices by name, as they are without sharing; `listed` is unhealthy ones by UUID with their reason."""
    broken = unhealthy or {}
    return GPUInventory(
        SINCE,
        300,
        gpus=devices.get(GPU, 0) + mig_gpus if gpus is None else gpus,
        mig_gpus=mig_gpus,
        devices=tuple(
            DeviceCount(name, devices.get(name, 0), broken.get(name, 0)) for name in sorted({*devices, *broken})
        ),
        unhealthy=tuple(UnhealthyDevice(reason, SINCE, uuid) for uuid, reason in sorted((listed or {}).items())),
    )


EIGHT: Final = inventory({GPU: 8})


def node(labels: Mapping[str, str] = NOBODY_SAYS, has: Mapping[str, int | None] | None = None) -> Node:
    """`has` is its allocatable."""
    amounts = {name: None if amount is None else Quantity.of(amount) for name, amount in (has or {}).items()}
    return Node(NodeMeta("n1", dict(labels)), status=NodeStatus(amounts))


def shared(
    resource: str, replicas: object, *, product: str | None = None, strategy: str | None = None
) -> dict[str, str]:
    """The labels of a resource that is shared."""
    labels = {"replicas": str(replicas), "product": product, "sharing-strategy": strategy}
    return {f"{resource}.{key}": value for key, value in labels.items() if value is not None}


def offer(
    found: GPUInventory,
    labels: Mapping[str, str] = NOBODY_SAYS,
    has: Mapping[str, int | None] | None = None,
    *,
    strategy: MigStrategy = MigStrategy.AUTO,
    sharing: tuple[SharedResource, ...] = (),
) -> Offered:
    """What a node with this inventory offers."""
    return offered(found, node(labels, has), NvidiaGpuParametersSpec(mig_strategy=strategy, sharing=sharing))
