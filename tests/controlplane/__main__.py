"""`python -m tests.controlplane build` makes the programs, `… cluster` a control plane to try."""

from __future__ import annotations

import sys

from tests.controlplane import binaries, cluster, golang
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import ServerFailed
from tests.integration.daemons import install, start_daemon, start_orchestrator


def main() -> int:
    """Runs what the first argument names; the exit code."""
    try:
        match sys.argv[1:]:
            case ["build"]:
                binaries.find_all()
                binaries.say_on_stderr(f"the programs are in {binaries.cache()}")
                return 0
            case ["cluster"]:
                binaries.find_all()
                return cluster.run(binaries.say_on_stderr, _start_node_inventory, start_orchestrator)
            case _:
                binaries.say_on_stderr("usage: python -m tests.controlplane build | cluster")
                return 2
    except (golang.BuildFailed, binaries.MissingProgram, ServerFailed) as error:
        binaries.say_on_stderr(str(error))
        return 1


def _start_node_inventory(plane: ControlPlane) -> None:
    start_daemon(plane, install(plane, "base/namespace", "base/node-inventory"), name="node-inventory")


if __name__ == "__main__":
    sys.exit(main())
