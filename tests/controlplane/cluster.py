"""`make cluster`: a control plane to try things on, with Kueue's scheduler and an example, until Ctrl-C."""

from __future__ import annotations

import shlex
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.controlplane import kueue
from tests.controlplane.binaries import Say
from tests.controlplane.controllers import untaint
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import Server

EXAMPLE: Final = kueue.ROOT / "examples" / "01-two-teams-one-pool"

_TRY: Final = """

# Watch the quotas of two teams, declared as 10 and 20 cpu:
kubectl get clusterqueues -w -o jsonpath='{.metadata.name}{" "}{..nominalQuota}{"\\n"}'

# In a third shell, take a node away and bring it back; see why the quotas are what they are:
kubectl cordon batch-1.example.com
kubectl get capacityprovider batch-nodes -o jsonpath='{.status.conditions[0].message}{"\\n"}'
kubectl uncordon batch-1.example.com
.venv/bin/dqo plan
kubectl get capacityproviders,dynamicquotaorchestrators
kubectl get events -n default
"""

StartDaemons = Callable[[ControlPlane], object]
"""Starts this project's daemons as servers of the control plane (`new_server`), so that they end with it."""


def run(say: Say, *start_daemons: StartDaemons, example: Path = EXAMPLE) -> int:
    """Starts everything, the daemons last, says how to reach it, and ends all on Ctrl-C or when a server ends.

    The nodes are objects only: nobody keeps them but you. Returns the exit code. Raises what the start raises, after it
    has ended what was started.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        say("starting etcd and kube-apiserver")
        with ControlPlane(say=say) as plane:
            say("installing the definitions of Kueue and of kueue-dqo")
            kueue.install_crds(plane)
            say(f"applying {example.relative_to(kueue.ROOT)}")
            apply_folder(plane, example)
            say("starting Kueue's scheduler")
            kueue.start_minimal(plane)
            for start in start_daemons:
                start(plane)
            say(f"logs are in {plane.folder}")
            say("ready; Ctrl-C ends everything. In another shell:\n")
            # To be copied.
            print(f"export KUBECONFIG={shlex.quote(str(plane.kubeconfig()))}{_TRY}", flush=True)  # noqa: T201
            ended = wait_for_an_end(plane.servers)
            say(f"{ended.name} has ended by itself, so everything else is ended\n{ended.tail()}")
            return 1
    except KeyboardInterrupt:
        say("everything has ended")
        return 0


def apply_folder(plane: ControlPlane, folder: Path) -> None:
    """Applies every manifest of a folder, in the order of the files' names, with the status that it has."""
    for file in sorted(folder.glob("*.yaml")):
        plane.admin.apply(*kueue.read(file))
    for node in plane.admin.items("/api/v1/nodes"):
        untaint(plane, node["metadata"]["name"])


def wait_for_an_end(servers: list[Server]) -> Server:
    """Waits, for ever where all is well, until one of the servers has ended. Returns it."""
    while True:
        for server in servers:
            if not server.is_running:
                return server
        time.sleep(1)
