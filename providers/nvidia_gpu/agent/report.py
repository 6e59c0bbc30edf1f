"""What the agent applies: both parts of a NodeGPUReport, so small that the object stays within 2 KiB. Pure.

There is one of them for each GPU node, and everybody who lists or watches them reads all of them.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kueue_dqo.api.gpu import (
    INVENTORY_MANAGER,
    MAX_DEVICE_RESOURCES,
    NODE_GPU_REPORT,
    PROBLEM_MANAGER,
    AgentProblem,
    GPUInventory,
    UnhealthyDevice,
)
from kueue_dqo.api.meta import OUR_GROUP
from providers.nvidia_gpu.agent.marks import MIG_UUID_PREFIX, is_mark
from providers.nvidia_gpu.agent.sizes import DRIVER_VERSION_ROOM, MESSAGE_ROOM, cut, encoded_size

ROOM: Final = 2048
"""Bytes of the whole object as JSON, what the API server adds included."""
_API_VERSION: Final = f"{OUR_GROUP}/v1alpha1"
_PRODUCT_ROOM: Final = 64
_SHORTEST_MESSAGE_ROOM: Final = 40
_UID: Final = "00000000-0000-0000-0000-000000000000"
_TIME: Final = "2000-01-01T00:00:00Z"
_OWNED: Final[dict[str, Any]] = {"f:ownerReferences": {f'k:{{"uid":"{_UID}"}}': {}}}


def fitted(inventory: GPUInventory, *, node: str, problem: AgentProblem | None = None) -> GPUInventory:
    """The inventory, with so much left out that the report of this node stays within ROOM, with that problem beside it.

    First unhealthy devices, which `unhealthy_not_listed` counts then: MIG devices before GPUs, and those that an XID
    marked last, since nobody can find these out again. Then the product. Counts are never changed: with more profiles
    of MIG devices than there is room for, on a node of a very long name, the object is larger. Only of more kinds than
    the definition of reports takes, as no driver has, the last are missing.
    """
    cutting = msgspec.structs.replace(
        inventory,
        devices=inventory.devices[:MAX_DEVICE_RESOURCES],
        product=cut(inventory.product, _PRODUCT_ROOM),
        driver_version=cut(inventory.driver_version, DRIVER_VERSION_ROOM),
    )

    def listing(listed: list[UnhealthyDevice], **changes: Any) -> GPUInventory:
        left_out = inventory.unhealthy_not_listed + len(inventory.unhealthy) - len(listed)
        unhealthy = tuple(sorted(listed, key=lambda device: (device.uuid, device.index or 0)))
        return msgspec.structs.replace(cutting, unhealthy=unhealthy, unhealthy_not_listed=left_out, **changes)

    kept = sorted(inventory.unhealthy, key=_importance)
    while stored_size(listing(kept), problem, node=node) > ROOM:
        if not kept:
            return listing(kept, product="")
        kept.pop()
    return listing(kept)


def fitted_problem(problem: AgentProblem, *, node: str, beside: GPUInventory | None = None) -> AgentProblem:
    """The problem, its message cut to what a report of this node has room for.

    `beside`: the inventory that stands there; nothing of it but its counts takes room from a message.
    """
    room = MESSAGE_ROOM
    if beside is not None:
        left_out = beside.unhealthy_not_listed + len(beside.unhealthy)
        least = msgspec.structs.replace(beside, product="", unhealthy=(), unhealthy_not_listed=left_out)
        silent = msgspec.structs.replace(problem, message="")
        room = min(room, max(_SHORTEST_MESSAGE_ROOM, ROOM - stored_size(least, silent, node=node)))
    return msgspec.structs.replace(problem, message=cut(problem.message, room))


def same(one: GPUInventory | None, other: GPUInventory | None) -> bool:
    """Whether they say the same, whenever each was said."""
    if one is None or other is None:
        return one is other
    return msgspec.structs.replace(one, renew_time="") == msgspec.structs.replace(other, renew_time="")


def inventory_body(node: str, uid: str | None, inventory: GPUInventory) -> dict[str, Any]:
    """What INVENTORY_MANAGER applies. `uid` is the node's; without one, the object has no owner."""
    return _body(node, uid) | {"spec": {"inventory": msgspec.to_builtins(inventory)}}


def problem_body(node: str, problem: AgentProblem | None) -> dict[str, Any]:
    """What PROBLEM_MANAGER applies: None takes the problem away that it applied before.

    The owner is INVENTORY_MANAGER's alone: with two managers, that of a node which was made anew would stay beside the
    new one.
    """
    body = _body(node, None)
    return body if problem is None else body | {"spec": {"problem": msgspec.to_builtins(problem)}}


def stored_size(inventory: GPUInventory, problem: AgentProblem | None, *, node: str) -> int:
    """Bytes of the object as the API server keeps it, and sends it: with all that it adds."""
    body = _body(node, _UID)
    managed = [_managed(INVENTORY_MANAGER, {"f:metadata": _OWNED, "f:spec": {"f:inventory": {}}})]
    spec = {"inventory": msgspec.to_builtins(inventory)}
    if problem is not None:
        managed.append(_managed(PROBLEM_MANAGER, {"f:spec": {"f:problem": {}}}))
        spec["problem"] = msgspec.to_builtins(problem)
    metadata = body["metadata"] | {
        "uid": _UID,
        "resourceVersion": "9" * 12,
        "creationTimestamp": _TIME,
        "generation": 9_999_999,  # one for each heartbeat: of 95 years
        "managedFields": managed,
    }
    return encoded_size(body | {"metadata": metadata, "spec": spec})


def _body(node: str, uid: str | None) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": node}
    if uid is not None:
        metadata["ownerReferences"] = [{"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid}]
    return {"apiVersion": _API_VERSION, "kind": NODE_GPU_REPORT, "metadata": metadata}


def _managed(manager: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {
        "manager": manager,
        "operation": "Apply",
        "apiVersion": _API_VERSION,
        "time": _TIME,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }


def _importance(device: UnhealthyDevice) -> tuple[bool, bool, str, int]:
    """The most important first."""
    return device.uuid.startswith(MIG_UUID_PREFIX), not is_mark(device.reason), device.uuid, device.index or 0
