"""Server processes: started, watched until they are ready, and always ended."""

from __future__ import annotations

import http.client
import random
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

LOOPBACK: Final = "127.0.0.1"
READY_WITHIN: Final = 120.0
"""Seconds. Far more than any server takes, so that only one that hangs fails by it."""
ENDS_WITHIN: Final = 30.0
"""Seconds between SIGTERM and SIGKILL."""
_ANSWERS_WITHIN: Final = 5.0
_POLL: Final = 0.05
_LONGEST_LINE: Final = 300
_FIRST_PORT, _LAST_PORT = 20_000, 32_000  # below the range from which systems take the ports of outgoing connections
_GUARD: Final = Path(__file__).with_name("guard.py")


class ServerFailed(Exception):
    """A server did not start, or ended by itself; the message shows the end of its log."""


def free_port() -> int:
    """A loopback port that nothing listens on, and that stays free for a server that is down for a while."""
    while True:
        port = random.randint(_FIRST_PORT, _LAST_PORT)
        with socket.socket() as probe:
            try:
                probe.bind((LOOPBACK, port))
            except OSError:
                continue
            return port


def eventually(holds: Callable[[], bool], what: str, *, within: float = READY_WITHIN) -> None:
    """Waits until a condition holds. Raises TimeoutError, which says what was waited for, after `within` seconds."""
    deadline = time.monotonic() + within
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not so within {within:g} s")
        time.sleep(_POLL)


@contextmanager
def repeating(action: Callable[[], object], *, every: float) -> Iterator[None]:
    """Does something again and again meanwhile, in a thread of its own, with so many seconds in between."""
    ended = threading.Event()

    def go_on() -> None:
        while not ended.wait(every):
            action()

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def http_status(port: int, path: str, tls: ssl.SSLContext | None = None) -> int | None:
    """The status of a GET on a loopback port, by HTTPS where there is a context; None where nobody answers."""
    connection = (
        http.client.HTTPSConnection(LOOPBACK, port, context=tls, timeout=_ANSWERS_WITHIN)
        if tls
        else http.client.HTTPConnection(LOOPBACK, port, timeout=_ANSWERS_WITHIN)
    )
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):  # not there yet, or no longer
        return None
    finally:
        connection.close()


class Guard:
    """Ends the servers when this process is gone, however it ended.

    It is a process of its own that reads from a pipe. Only the death of this process closes the pipe without a word,
    and then it kills what it was told of. A parent-death signal would not do: Linux sends it when the *thread* that
    started the server ends.
    """

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", _GUARD], stdin=subprocess.PIPE, start_new_session=True
        )

    def watch(self, pid: int) -> None:
        self._tell(f"+{pid}")

    def forget(self, pid: int) -> None:
        self._tell(f"-{pid}")

    def close(self) -> None:
        """Ends the guard, and with it whatever still runs."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()

    def _tell(self, line: str) -> None:
        if self._process.stdin is None:
            raise RuntimeError("the guard has no standard input")
        self._process.stdin.write(f"{line}\n".encode())
        self._process.stdin.flush()


class Server:
    """One server program. It can be stopped and started again, on the same ports and data.

    Its methods block and may be called from any thread, one at a time: in a coroutine, by `asyncio.to_thread`.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        *,
        log: Path,
        ready: Callable[[], bool],
        guard: Guard,
        folder: Path | None = None,
    ) -> None:
        """`ready` says whether it serves; `folder` is the one it works in."""
        self.name = name
        self.log = log
        self._command = list(command)
        self._ready = ready
        self._guard = guard
        self._folder = folder
        self._printed_from = 0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Its process id; raises ServerFailed where it does not run."""
        if self._process is None or not self.is_running:
            raise ServerFailed(f"{self.name} is not running")
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the process is there, paused or not."""
        return self._process is not None and self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """Of a process that has ended by itself, negative for a signal; None while it runs, and where it was ended."""
        return self._process.poll() if self._process is not None else None

    def start(self) -> None:
        """Starts it, and returns when it is ready. Raises ServerFailed."""
        self.launch()
        self.wait_ready()

    def launch(self) -> None:
        """Starts it, and does not wait."""
        if self.is_running:
            raise ServerFailed(f"{self.name} is running already, as process {self.pid}")
        self._forget()
        with self.log.open("ab") as log:
            self._printed_from = log.tell()
            # A session of its own: Ctrl-C reaches only the process that started it, which then ends all in order.
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                cwd=self._folder,
            )
        self._guard.watch(self._process.pid)

    def wait_ready(self, within: float = READY_WITHIN) -> None:
        """Returns when it is ready. Raises ServerFailed where it ended instead, or is not ready in time (seconds)."""

        def ready_or_ended() -> bool:
            return not self.is_running or self._ready()

        try:
            eventually(ready_or_ended, f"{self.name} is ready", within=within)
        except TimeoutError as error:
            raise ServerFailed(f"{error}\n{self.tail()}") from error
        if not self.is_running:
            code = self._process.returncode if self._process is not None else None
            self._forget()
            raise ServerFailed(f"{self.name} ended with exit code {code} before it was ready\n{self.tail()}")

    def stop(self) -> None:
        """Ends it in order, by SIGTERM; after 30 seconds by SIGKILL. No error where it does not run."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Ends it at once, by SIGKILL. No error where it does not run."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Ends it in order and starts it again."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """Freezes it: connections stay open, nothing is answered."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Ends a pause."""
        self._signal(signal.SIGCONT)

    def printed(self) -> str:
        """What it has printed since it was last started."""
        with self.log.open("rb") as log:
            log.seek(self._printed_from)
            return log.read().decode(errors="replace")

    def tail(self, lines: int = 30) -> str:
        """The end of its log, under a line that names the file."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join(
            [f"--- {self.name}: {self.log}", *(line[:_LONGEST_LINE] for line in text.splitlines()[-lines:])]
        )

    def _signal(self, number: signal.Signals) -> None:
        if self._process is None or not self.is_running:
            raise ServerFailed(f"{self.name} is not running: it cannot get {number.name}")
        self._process.send_signal(number)

    def _end(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(number)
        self._process.send_signal(signal.SIGCONT)  # a paused process gets SIGTERM only when it goes on
        try:
            self._process.wait(ENDS_WITHIN)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._forget()

    def _forget(self) -> None:
        if self._process is not None:
            self._guard.forget(self._process.pid)
            self._process = None
