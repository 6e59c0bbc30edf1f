"""What most tests of this folder begin with: a provider that has published something."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from tests.controlplane.plane import ControlPlane
from tests.integration.objects import PROVIDERS, add_node, flavor
from tests.integration.providers.adapter import LABEL, Adapter
from tests.integration.providers.scenes import GPU, POOL, wait_published

PATH: Final = f"{PROVIDERS}/{POOL}"
H100: Final = f"h100/{GPU}"
CPU: Final = "h100/cpu"
ONLY_GPUS: Final = {"resources": {"include": [GPU]}}


def begin(adapter: Adapter, **common: Any) -> str:
    """80 GPUs are published, whatever the provider. Returns the message."""
    adapter.begin({"h100": {GPU: 80}}, **common)
    return wait_published(adapter.plane, {H100: 80})


def begin_with_nodes(adapter: Adapter, nodes: int, **spec: Any) -> None:
    """So many nodes of flavor h100, and the node inventory; nobody has looked yet."""
    plane = adapter.plane
    plane.admin.apply(flavor("h100", {LABEL: "h100"}))
    add_nodes(plane, range(nodes))
    adapter.configure(**spec)
    plane.admin.apply(adapter.capacity_provider("h100"))


def add_nodes(plane: ControlPlane, numbers: Iterable[int], **changes: Any) -> None:
    """Nodes of 8 GPUs and 64 cpu of flavor h100, or the same with other properties."""
    for number in numbers:
        options: dict[str, Any] = {"labels": {LABEL: "h100"}, **changes}
        allocatable = options.pop("allocatable", {GPU: 8, "cpu": 64})
        add_node(plane, node_name(number), allocatable, **options)


def node_name(number: int) -> str:
    """Of one of these nodes."""
    return f"h100-{number}"
