"""NodeGPUReport (`kueue-dqo.dev/v1alpha1`): what an agent found out about the GPUs of its node.

The object is named after the node, and owned by it. It is small on purpose, since there is one for each GPU node and
everybody who watches them reads all of them: healthy devices are counted, only unhealthy ones are listed.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Final

import msgspec

from kueue_dqo.api.core import NODE
from kueue_dqo.api.meta import ManagedFields

NODE_GPU_REPORT: Final = "NodeGPUReport"
GPU: Final = "nvidia.com/gpu"
"""The resource that NVIDIA's device plugin gives whole GPUs by default."""
NVIDIA_PREFIX: Final = "nvidia.com/"
MIG_PREFIX: Final = "nvidia.com/mig-"
"""Of the resources of MIG devices under the strategy `mixed`; the profile follows, such as `1g.10gb`."""
SHARED_SUFFIX: Final = ".shared"
"""What the device plugin puts behind the name of a resource that it shares, where it is told to rename these."""
MAX_DEVICE_RESOURCES: Final = 32
MAX_UNHEALTHY_DEVICES: Final = 64
MAX_DEVICES: Final = 4096
"""Of one resource on one node: 16 GPUs of 7 MIG devices are 112."""
LONGEST_HEARTBEAT: Final = 24 * 3600
"""Seconds. An agent that says nothing for a day is of no use to a scheduler."""
LONGEST_UUID: Final = 64
"""Characters: `MIG-GPU-<UUID>/<GPU instance>/<compute instance>`, as old drivers write it, has up to 52."""
LONGEST_REASON: Final = 32
LONGEST_TEXT: Final = 128
"""Characters of the versions and names that drivers and kernels give."""
LONGEST_PROBLEM: Final = 512
"""Characters of the message of a problem."""
NO_DEVICES: Final = "NoDevices"
"""The reason of a problem: NVML can be read, and lists no GPU."""
INVENTORY_MANAGER: Final = "kueue-dqo-nvidia-gpu-agent"
"""The field manager of `spec.inventory`."""
PROBLEM_MANAGER: Final = "kueue-dqo-nvidia-gpu-problem"
"""The field manager of `spec.problem`: one of its own, so that neither part takes the other one away."""


class DeviceCount(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """Devices of one kind: whole GPUs, or MIG devices of one profile; before sharing and before renaming."""

    name: str
    """The resource as the strategy `mixed` calls it: `nvidia.com/gpu` or `nvidia.com/mig-…`."""
    healthy: int
    unhealthy: int = 0


class UnhealthyDevice(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """A GPU, or a single MIG device, that no job should be given."""

    reason: str
    """In CamelCase, such as `Lost` or `Xid79`."""
    since: str
    """RFC 3339, UTC."""
    uuid: str = ""
    """`GPU-…` or `MIG-…`, or bare as integrated GPUs have it; empty for one that nobody could ask for its UUID, or that
    has none of its own."""
    index: int | None = None
    """NVML's, only of one without a UUID: it is not stable across reboots."""


class GPUInventory(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """What NVML said last, and when the agent said so last."""

    renew_time: str
    """RFC 3339, UTC. By the node's clock: for people. What counts is when the API server took it (`written`)."""
    heartbeat_seconds: int
    """After how many seconds at the latest, but for a tenth, it is renewed."""
    boot_id: str = ""
    """Of the kernel. XIDs that were seen before another boot mean nothing any more."""
    driver_version: str = ""
    product: str = ""
    """The name that NVML gives most of the node's GPUs, such as `NVIDIA H100 80GB HBM3`."""
    gpus: int = 0
    """Physical GPUs that are healthy, cut into MIG devices or not: what the strategy `none` counts."""
    mig_gpus: int = 0
    """Those of `gpus` whose MIG mode is on."""
    devices: tuple[DeviceCount, ...] = ()
    """Sorted by name."""
    unhealthy: tuple[UnhealthyDevice, ...] = ()
    """Sorted by UUID, then by index."""
    unhealthy_not_listed: int = 0
    """How many more there are than the object has room for."""


class AgentProblem(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Why the agent cannot read NVML. What stands in the inventory is the last that it read, and nobody knows more."""

    reason: str
    """In CamelCase, such as `LibraryNotFound`, `VersionMismatch`, `DriverCallHung`."""
    message: str
    since: str
    """RFC 3339, UTC."""


class NodeGPUReportSpec(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """Both parts are written by the agent of that node alone."""

    inventory: GPUInventory | None = None
    problem: AgentProblem | None = None


class OwnerReference(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """An entry of `metadata.ownerReferences`, as far as it tells whose report it is."""

    kind: str = ""
    uid: str = ""


def owning_node(owners: Iterable[OwnerReference]) -> str:
    """The UID of the Node that a report is of; empty where it has no such owner."""
    return next((each.uid for each in owners if each.kind == NODE), "")


class ReportMeta(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A report's metadata."""

    name: str
    uid: str = ""
    resource_version: str = ""
    managed_fields: tuple[ManagedFields, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()


class NodeGPUReport(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The report of one node; the names are equal."""

    metadata: ReportMeta
    spec: NodeGPUReportSpec = NodeGPUReportSpec()


class UnhealthyReason(enum.StrEnum):
    """Why a device is not given to jobs. An XID is `Xid` and its number."""

    LOST = "Lost"
    """It does not answer any more: fallen off the bus."""
    REMOVED = "Removed"
    """The agent has seen it, and NVML does not list it any more."""
    RESET_REQUIRED = "ResetRequired"
    """NVML says so, for this call or by its recovery action."""
    REBOOT_REQUIRED = "RebootRequired"
    DRAIN_REQUIRED = "DrainRequired"
    """The recovery action is to drain the GPU's peers (P2P), or to drain and reset."""
    IMEX_RECOVERY_REQUIRED = "ImexRecoveryRequired"
    """The recovery action is to recover the IMEX domain: of several nodes whose GPUs share memory over NVLink."""
    ROW_REMAP_FAILED = "RowRemapFailed"
    UNREADABLE = "Unreadable"
    """NVML cannot read it for reasons that nobody knows, and for longer than the agent waits."""
