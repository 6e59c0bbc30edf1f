"""Chunks of a stream to lines, of any length."""

from __future__ import annotations


class LineSplitter:
    """Cuts a stream into lines without their ends. Linear in the size of a line, however many chunks it comes in."""

    def __init__(self) -> None:
        self.waiting = 0
        """How many bytes wait for the end of their line."""
        self._begun: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that the chunk completes; empty lines are left out."""
        *complete, begun = chunk.split(b"\n")
        if complete:
            complete[0] = b"".join((*self._begun, complete[0]))
            self._begun = []
            self.waiting = 0
        if begun:
            self._begun.append(begun)
            self.waiting += len(begun)
        return [line for line in complete if line]

    @property
    def rest(self) -> bytes:
        """What came after the last line's end."""
        return b"".join(self._begun)
