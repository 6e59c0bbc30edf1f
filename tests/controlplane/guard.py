"""Kills the processes that it was told of when its standard input ends. Run by `Guard`, with the standard library only.

Lines: `+PID` begins to watch a process, `-PID` ends that.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys


def main() -> None:
    """Reads until the end, which comes when the process at the other side is gone or has closed the pipe."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it goes when its work is done, not before
    watched: set[int] = set()
    for line in sys.stdin:
        pid = int(line[1:])
        if line.startswith("+"):
            watched.add(pid)
        else:
            watched.discard(pid)
    for pid in watched:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
