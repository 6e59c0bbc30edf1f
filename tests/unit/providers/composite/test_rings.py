"""Which composites lie on a ring, and which merely lead to one."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.composite.rings import ring_of


@pytest.mark.parametrize(
    ("start", "members", "ring"),
    [
        pytest.param("a", {"a": "b"}, None, id="a chain"),
        pytest.param("a", {"a": "bb", "b": ""}, None, id="a member twice"),
        pytest.param("a", {"a": "bc", "b": "d", "c": "d"}, None, id="two ways to the same member"),
        pytest.param("a", {"a": "a"}, "aa", id="itself"),
        pytest.param("a", {"a": "b", "b": "a"}, "aba", id="two"),
        pytest.param("b", {"a": "b", "b": "a"}, "bab", id="two, seen from the other one"),
        pytest.param("a", {"a": "b", "b": "c", "c": "d", "d": "a"}, "abcda", id="four"),
        pytest.param("a", {"a": "b", "b": "c", "c": "b"}, None, id="it leads to a ring"),
        pytest.param("b", {"a": "b", "b": "c", "c": "b"}, "bcb", id="the ring that another one leads to"),
        pytest.param("c", {"a": "b", "b": "ac", "c": ""}, None, id="a ring leads to it"),
        pytest.param("a", {"a": "bc", "b": "d", "d": "a", "c": "a"}, "aca", id="the shortest of two"),
        pytest.param("a", {"a": "cb", "b": "a", "c": "a"}, "aca", id="of two as short the one listed first"),
        pytest.param("a", {"a": "bb", "b": "cba", "c": "abc"}, "aba", id="rings within rings"),
    ],
)
def test_a_ring_is_named_from_the_one_that_is_asked_about(
    start: str, members: Mapping[str, str], ring: str | None
) -> None:
    """Each letter is a composite."""
    assert ring_of(start, members) == (tuple(ring) if ring else None)


graphs = st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdefg"), max_size=4), max_size=6)


@given(graphs)
def test_a_ring_is_found_just_where_a_member_can_be_reached_from_itself(graph: dict[str, list[str]]) -> None:
    """Compared with all steps taken as often as there are nodes; and each step of a ring is a member."""
    reached = {name: set(members) for name, members in graph.items()}
    for _ in range(7):
        for found in reached.values():
            found |= {further for each in list(found) for further in reached.get(each, ())}
    for name in "abcdefg":
        ring = ring_of(name, graph)
        assert (ring is not None) == (name in reached.get(name, ()))
        if ring is not None:
            assert ring[0] == ring[-1] == name
            assert len(set(ring)) == len(ring) - 1
            assert all(member in graph[reader] for reader, member in itertools.pairwise(ring))
