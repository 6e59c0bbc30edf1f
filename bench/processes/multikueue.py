"""What a process holds that has imported what the multikueue daemon imports."""

from __future__ import annotations

import asyncio
import sys

import providers.multikueue.source  # noqa: F401 - what is measured
from bench.processes import sides

if __name__ == "__main__":
    asyncio.run(sides.imports(sys.argv[1]))
