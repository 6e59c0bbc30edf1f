"""As how many each device is offered, and by which name: the device plugin's time-slicing and MPS. Pure.

GPU feature discovery labels a node from the configuration that the device plugin reads, for every resource as it is
called before it is renamed:

- `<resource>.replicas`: as how many each device is offered; 0 where it cannot be shared as it stands, such as whole
  GPUs on a node that cuts them all;
- `<resource>.sharing-strategy`: none, time-slicing or mps; older versions do not write it;
- `<resource>.product`: ends in `-SHARED` where devices are shared and the resource keeps its name.

Where the parameters say something of the resource, the labels do not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from kueue_dqo.api.core import Node
from kueue_dqo.api.gpu import SHARED_SUFFIX
from kueue_dqo.api.parameter_checks.gpus import MAX_REPLICAS
from kueue_dqo.api.parameters import NvidiaGpuParametersSpec
from kueue_dqo.api.quantity import NANOS
from kueue_dqo.api.wording import counted

_NOT_SHARED: Final = "none"
_STRATEGIES: Final = ("time-slicing", "mps")
_PRODUCT_OF_SHARED: Final = "-SHARED"
_NUMBER: Final = re.compile(r"[0-9]{1,4}")


class Sharing(NamedTuple):
    """How devices of one resource are offered."""

    name: str
    """The resource's name after it is renamed."""
    replicas: int
    is_told: bool = True
    """Whether the parameters or a label say so; where nobody says anything, devices count as not shared."""
    problems: tuple[str, ...] = ()
    """As of Offered."""


def sharing_of(resource: str, node: Node, parameters: NvidiaGpuParametersSpec) -> Sharing:
    """How the node's devices of the resource are offered. A label that makes no sense is a problem, and no sharing."""
    for each in parameters.sharing:
        if each.resource == resource:
            return Sharing(each.rename or resource, each.replicas)
    labels = node.metadata.labels
    problem = _problem_of(resource, labels)
    replicas = 1 if problem else _replicas(resource, labels)
    return Sharing(
        resource + SHARED_SUFFIX if _is_renamed(resource, node, replicas) else resource,
        replicas,
        is_told=f"{resource}.replicas" in labels,
        problems=(problem,) if problem else (),
    )


def seems_shared(resource: str, name: str, devices: int, node: Node) -> Iterator[str]:
    """A problem where the node has a multiple of its devices, as with time-slicing that no label tells of."""
    quantity = node.status.allocatable.get(name)
    if quantity is None or devices == 0:
        return
    replicas, rest = divmod(quantity.nanos, devices * NANOS)
    if replicas > 1 and rest == 0:
        yield (
            f"has {quantity} {name} in status.allocatable and {counted(devices, 'device')}: if its device plugin "
            f"offers each as {replicas}, say so in spec.sharing of the parameters, or run GPU feature discovery, which "
            f"labels the node with {resource}.replicas; so far each counts as one"
        )


def _replicas(resource: str, labels: Mapping[str, str]) -> int:
    if labels.get(f"{resource}.sharing-strategy") == _NOT_SHARED:
        return 1
    return max(int(labels.get(f"{resource}.replicas", "1")), 1)


def _problem_of(resource: str, labels: Mapping[str, str]) -> str | None:
    """What is wrong with the labels that `_replicas` reads."""
    key = f"{resource}.sharing-strategy"
    strategy = labels.get(key, _NOT_SHARED)
    if strategy not in {_NOT_SHARED, *_STRATEGIES}:
        return _ignored(key, strategy, "neither none, time-slicing nor mps")
    key = f"{resource}.replicas"
    number = labels.get(key, "1")
    if not _NUMBER.fullmatch(number) or int(number) > MAX_REPLICAS:
        return _ignored(key, number, f"no whole number up to {MAX_REPLICAS}")
    return None


def _ignored(label: str, value: str, why: str) -> str:
    return (
        f"has the label {label}={value}, which is {why}, so that its devices count as not shared: correct it, or set "
        "spec.sharing of the parameters"
    )


def _is_renamed(resource: str, node: Node, replicas: int) -> bool:
    """Whether the device plugin renames what it shares.

    What the node's allocatable has settles it, where it has one of the names. Where all devices are unhealthy it has
    neither, and the labels have to do.
    """
    has_renamed = _has(node, resource + SHARED_SUFFIX)
    if has_renamed != _has(node, resource):
        return has_renamed
    product = node.metadata.labels.get(f"{resource}.product")
    return replicas > 1 and product is not None and not product.endswith(_PRODUCT_OF_SHARED)


def _has(node: Node, resource: str) -> bool:
    # The kubelet keeps a resource that is not offered any more, with an amount of 0.
    quantity = node.status.allocatable.get(resource)
    return quantity is not None and quantity.nanos > 0
