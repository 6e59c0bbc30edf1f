"""A process of the benchmark of the GPU agent: the agent as a pod runs it, or what it stands on.

It imports next to nothing by itself, since what it holds is measured.
"""

# ruff: noqa: PLC0415

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

_SUPERFLUOUS = ("kubernetes_asyncio", "orchestrator", "yaml")
"""What the agent does without in a pod, where each would cost more memory than all that it does."""
sys.modules["rich"] = None  # type: ignore[assignment]  # the image does not have it; structlog imports it where it is


def _agent(service_account: str, *arguments: str) -> None:
    """`dqo provider nvidia-gpu --role agent`, with its service account in that folder instead of the kubelet's."""
    from kueue_dqo.cli.main import run
    from kueue_dqo.runtime.connection import find_connection

    defaults = find_connection.__kwdefaults__
    assert defaults is not None
    defaults["service_account"] = Path(service_account)
    code = run(["provider", "nvidia-gpu", "--role", "agent", *arguments])
    print(json.dumps({"superfluous": [name for name in _SUPERFLUOUS if name in sys.modules]}), flush=True)
    sys.exit(code)


def _libraries() -> None:
    """The floor of memory: Python with the libraries of every daemon."""
    for name in ("aiohttp", "msgspec", "prometheus_client", "structlog"):
        importlib.import_module(name)
    _tell_memory()


def _tell_memory() -> None:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    print(json.dumps({"resident": int(resident.split()[1]) * 1024}))


def main(side: str, *arguments: str) -> None:
    if side == "agent":
        _agent(*arguments)
    {"python": _tell_memory, "libraries": _libraries}[side]()


if __name__ == "__main__":
    main(*sys.argv[1:])
