"""What a process tells of its memory."""

from __future__ import annotations

import json
from pathlib import Path

from bench.measure import own_peak_bytes


def print_memory() -> None:
    """What it holds now, and what it held at its peak, in bytes, as JSON."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    resident = int(next(line for line in status.splitlines() if line.startswith("VmRSS:")).split()[1]) * 1024
    print(json.dumps({"resident": resident, "peak": own_peak_bytes()}))
