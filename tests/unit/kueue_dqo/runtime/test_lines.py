"""Chunks to lines."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kueue_dqo.runtime.lines import LineSplitter


@given(st.binary(max_size=60).map(lambda text: text.replace(b"a", b"\n")), st.lists(st.integers(0, 60), max_size=8))
def test_lines_do_not_depend_on_the_chunks_that_they_come_in(text: bytes, cuts: list[int]) -> None:
    splitter = LineSplitter()
    edges = [0, *sorted(cuts), len(text)]
    lines = [line for start, end in pairwise(edges) for line in splitter.feed(text[start:end])]
    *complete, rest = text.split(b"\n")
    assert lines == [line for line in complete if line]
    assert splitter.rest == rest


def test_a_line_may_be_of_many_megabytes() -> None:
    splitter = LineSplitter()
    for _ in range(200):
        assert splitter.feed(b"x" * 65536) == []
    assert splitter.feed(b"\ny\n") == [b"x" * 200 * 65536, b"y"]


def test_it_is_known_how_much_waits_for_its_end() -> None:
    """In however many pieces it comes; lines that ended do not count."""
    splitter = LineSplitter()
    splitter.feed(b"x" * 6 + b"\n" + b"y" * 6)
    assert splitter.waiting == 6
    splitter.feed(b"y" * 4)
    assert splitter.waiting == 10
    splitter.feed(b"\n")
    assert splitter.waiting == 0
