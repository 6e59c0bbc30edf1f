"""A process that uses the agent's NVML for a test: a line in is a request, a line out an answer. Run as a program.

`read` answers with the reading, or with why there is none; `follow UUID…` has XIDs waited for; each XID is a line of
its own.
"""

from __future__ import annotations

import json
import random
import sys
import threading
from typing import Any

import msgspec

from kueue_dqo.runtime.logs import configure_logs
from providers.nvidia_gpu.agent.devices import NodeUnreadable, Xid
from providers.nvidia_gpu.agent.events import XidWatch
from providers.nvidia_gpu.agent.library import pynvml
from providers.nvidia_gpu.agent.nvml import Nvml

WAIT = 0.05
"""Seconds of one wait for an event."""


class Soon(random.Random):
    """Waits after failures are short."""

    def uniform(self, a: float, b: float) -> float:
        del b
        return a


def main() -> None:
    configure_logs(level="info", form="json", stream=sys.stderr)
    library = pynvml()
    nvml, lock = Nvml(library), threading.Lock()

    def say(kind: str, value: Any) -> None:
        with lock:
            sys.stdout.write(f"{json.dumps({kind: value})}\n")
            sys.stdout.flush()

    def told(xid: Xid) -> None:
        say("xid", xid._asdict())

    def failed(error: Exception) -> None:
        say("failed", repr(error))

    watch = XidWatch(library, deliver=told, failed=failed, random=Soon(), wait=WAIT)
    watch.start()
    for line in sys.stdin:
        request, *arguments = line.split()
        if request == "follow":
            watch.follow(arguments)
            continue
        try:
            say("reading", msgspec.to_builtins(nvml.read()._asdict()))
        except NodeUnreadable as error:
            say("unreadable", [error.reason, error.message, error.needs_restart])


if __name__ == "__main__":
    main()
