"""`python -m tests.controlplane build` makes the programs, `… cluster` a control plane to try."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping

from tests.controlplane import bare, binaries, cluster, golang
from tests.controlplane.kubelet import RuntimeClass
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import ServerFailed
from tests.integration.daemons import install, start_daemon, start_orchestrator
from tests.nvml.devices import gpus
from tests.nvml.state import NvmlState


def main() -> int:
    """Runs what the first argument names; the exit code."""
    options = _parser().parse_args()
    try:
        binaries.find_all()
        match options:
            case argparse.Namespace(command="build"):
                binaries.say_on_stderr(f"the programs are in {binaries.cache()}")
                return 0
            case argparse.Namespace(variant="bare"):
                return bare.run(
                    binaries.say_on_stderr,
                    example=options.example,
                    effective_quotas=options.road == "status",
                    runtime_classes=runtime_classes,
                )
            case _:
                return cluster.run(binaries.say_on_stderr, _start_node_inventory, start_orchestrator)
    except (golang.BuildFailed, binaries.MissingProgram, ServerFailed) as error:
        binaries.say_on_stderr(str(error))
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.controlplane")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("build", help="build the programs that are missing")
    tried = commands.add_parser("cluster", help="a control plane to try things on, until Ctrl-C")
    tried.set_defaults(variant="")
    variants = tried.add_subparsers(dest="variant")
    without = variants.add_parser("bare", help="with Kueue and without this project, to install it on")
    without.add_argument(
        "--road", choices=["spec", "status"], default="spec", help="status: effective quotas, and no Kueue"
    )
    folders = sorted(each.parent.name for each in cluster.EXAMPLE.parent.glob("[0-9]*/queues.yaml"))
    without.add_argument(
        "--example", choices=folders, default=bare.EXAMPLE, metavar="NAME", help="a folder in examples/"
    )
    return parser


def _start_node_inventory(plane: ControlPlane) -> None:
    start_daemon(plane, install(plane, "base/namespace", "base/node-inventory"), name="node-inventory")


def runtime_classes(plane: ControlPlane) -> dict[str, RuntimeClass]:
    """That of NVIDIA's container toolkit, with a driver for as many GPUs as a node has allocatable."""
    name = "nvidia"
    plane.admin.apply(
        {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": name}, "handler": name}
    )
    drivers: dict[str, Mapping[str, str]] = {}
    for node in plane.admin.items("/api/v1/nodes"):
        if amount := node["status"].get("allocatable", {}).get("nvidia.com/gpu"):
            folder = plane.folder / "nvml" / node["metadata"]["name"]
            folder.mkdir(parents=True)
            drivers[node["metadata"]["name"]] = NvmlState(folder, gpus(int(amount))).environment
    return {name: lambda node: drivers.get(node, {})}


if __name__ == "__main__":
    sys.exit(main())
