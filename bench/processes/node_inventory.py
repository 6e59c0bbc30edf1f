"""A process of the benchmark of the node inventory: the daemon, or a floor that begins with the same imports."""

from __future__ import annotations

import asyncio
import sys

import msgspec

import providers.node_inventory.source  # noqa: F401 - no side waits for it once its clock has begun
from bench.processes import sides
from kueue_dqo.api.core import Node, NodeMeta
from kueue_dqo.runtime.resources import NODES
from kueue_dqo.runtime.wire import ListMeta


class _Page(msgspec.Struct):
    metadata: ListMeta
    items: list[Node]


class _Metadata(NodeMeta, frozen=True, gc=False, rename="camel"):
    resource_version: str = ""


class _Watched(Node, frozen=True, gc=False, rename="camel"):
    metadata: _Metadata


class _Event(msgspec.Struct):
    type: str
    object: _Watched


def main(side: str, *arguments: str) -> None:
    if side == "daemon":
        sides.daemon("node-inventory", *arguments)
    (kubeconfig,) = arguments
    floors = {
        "imports": lambda: sides.imports(kubeconfig),
        "list": lambda: sides.read_all(kubeconfig, {NODES.path(): sides.decoder(_Page)}),
        "watch": lambda: sides.follow(kubeconfig, NODES.path(), sides.decoder(_Event)),
    }
    asyncio.run(floors[side]())


if __name__ == "__main__":
    main(*sys.argv[1:])
