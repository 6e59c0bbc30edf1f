"""Nodes whose clocks are ahead of ours wait for no longer than the delay."""

from __future__ import annotations

import datetime

from kueue_dqo.api.core import Node
from providers.node_inventory.ahead import Ahead
from tests.unit.providers.node_inventory.inventory import NOW, node, ready_since, seen, spec


def after(ahead: Ahead, one: Node, seconds: float) -> float | None:
    """For how long it is still to wait then, of a delay of two minutes."""
    now = NOW + datetime.timedelta(seconds=seconds)
    return seen(ahead.corrected([one]), parameters=spec(120), now=now).look_again


def test_the_delay_begins_when_the_node_was_first_seen_so() -> None:
    """And not in an hour, and not twice: also when the time that it names has come."""
    ahead = Ahead()
    one = node(conditions=ready_since(-3600))
    ahead.note(one, NOW)
    assert after(ahead, one, 0) == 120
    assert after(ahead, one, 100) == 20
    assert after(ahead, one, 120) is None
    ahead.note(one, NOW + datetime.timedelta(seconds=3601))
    assert after(ahead, one, 3601) is None


def test_a_node_that_becomes_ready_anew_waits_anew() -> None:
    ahead = Ahead()
    ahead.note(node(conditions=ready_since(-3600)), NOW)
    later = node(conditions=ready_since(-7200))
    ahead.note(later, NOW + datetime.timedelta(seconds=300))
    assert after(ahead, later, 310) == 110


def test_a_node_whose_clock_is_right_is_taken_at_its_word() -> None:
    """Also after it was ahead, or came back under its old name."""
    ahead = Ahead()
    wrong, right = node(conditions=ready_since(-3600)), node(conditions=ready_since(50))
    ahead.note(wrong, NOW)
    ahead.note(right, NOW)
    assert after(ahead, right, 0) == 70
    ahead.note(wrong, NOW)
    ahead.forget("n1")
    assert list(ahead.corrected([right])) == [right]
