"""A process of the benchmark of the GPU aggregator: the daemon, or a floor that begins with the same imports."""

from __future__ import annotations

import asyncio
import sys

import msgspec

import providers.nvidia_gpu.source  # noqa: F401 - no side waits for it once its clock has begun
from bench.processes import sides
from kueue_dqo.api.core import Node
from kueue_dqo.api.gpu import NodeGPUReport
from kueue_dqo.runtime.resources import NODE_GPU_REPORTS, NODES
from kueue_dqo.runtime.wire import ListMeta


class _Nodes(msgspec.Struct):
    metadata: ListMeta
    items: list[Node]


class _Reports(msgspec.Struct):
    metadata: ListMeta
    items: list[NodeGPUReport]


class _Event(msgspec.Struct):
    type: str
    object: NodeGPUReport


def main(side: str, *arguments: str) -> None:
    if side == "daemon":
        sides.daemon("nvidia-gpu", *arguments)
    (kubeconfig,) = arguments
    collections = {NODES.path(): sides.decoder(_Nodes), NODE_GPU_REPORTS.path(): sides.decoder(_Reports)}
    floors = {
        "imports": lambda: sides.imports(kubeconfig),
        "list": lambda: sides.read_all(kubeconfig, collections),
        "watch": lambda: sides.follow(kubeconfig, NODE_GPU_REPORTS.path(), sides.decoder(_Event)),
    }
    asyncio.run(floors[side]())


if __name__ == "__main__":
    main(*sys.argv[1:])
