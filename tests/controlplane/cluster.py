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
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import Server

EXAMPLE: Final = kueue.ROOT / "examples" / "01-two-teams-one-pool"

StartDaemons = Callable[[ControlPlane], None]
"""Starts this project's daemons as servers of the control plane (`new_server`), so that they end with it."""


def run(start_daemons: StartDaemons, say: Say, *, example: Path = EXAMPLE) -> int:
    """Starts everything, says how to reach it, and ends all on SIGINT, SIGTERM, or when a server ends by itself.

    Returns the exit code. Raises what the start raises, after it has ended what was started.
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
            start_daemons(plane)
            say(f"logs are in {plane.folder}")
            say("ready; Ctrl-C ends everything. In another shell:\n")
            print(f"export KUBECONFIG={shlex.quote(str(plane.kubeconfig()))}\n", flush=True)  # noqa: T201  # to be copied
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


def wait_for_an_end(servers: list[Server]) -> Server:
    """Waits, for ever where all is well, until one of the servers has ended. Returns it."""
    while True:
        for server in servers:
            if not server.is_running:
                return server
        time.sleep(1)
