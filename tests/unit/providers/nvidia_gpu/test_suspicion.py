"""What becomes of the last ones that are not heard, when a broken observer works again."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kueue_dqo.provider import Observation, SourceUnavailable
from providers.nvidia_gpu.hearing import Held, Seen
from providers.nvidia_gpu.memory import Memory
from providers.nvidia_gpu.silence import Aside
from providers.nvidia_gpu.suspicion import NOBODY
from tests.unit.providers.nvidia_gpu.agents import (
    FRESH,
    GRACE,
    LIBRARY,
    NO_REPORT,
    PATIENCE,
    at,
    excluded,
    fresh_nodes,
    heard,
    held,
    listening,
    silent,
    troubled,
)
from tests.unit.providers.nvidia_gpu.gpus import GPU, ago, amounts, manifest, node, observed, published

SILENT = "AgentSilent"
HOUR = 3600
DAY = 86400
NAMES = tuple(f"n{number:02}" for number in range(1, 11))


def back(count: int, since: float = HOUR, *, after: float = 0) -> dict[str, Seen | None]:
    """Ten nodes that fell silent together, of which so many are heard again after so many seconds."""
    return {name: heard(-after) if index < count else silent(since) for index, name in enumerate(NAMES)}


def test_the_last_ones_to_come_back_are_held_for_three_of_their_heartbeats() -> None:
    found = listening(back(0))
    assert found.broken is not None
    found = listening(back(1), suspicion=found.suspicion)
    assert found.broken is not None
    found = listening(back(8, after=60), after=60, suspicion=found.suspicion)
    assert found.broken is None
    last = Held(SILENT, at(-HOUR), at(60 + PATIENCE))
    assert found.states == {**dict.fromkeys(NAMES[:8], FRESH), "n09": last, "n10": last}
    assert found.look_again == PATIENCE
    assert found.unheard == {"n09", "n10"}
    found = listening(back(9, after=100), after=100, suspicion=found.suspicion)
    assert (found.states["n09"], found.states["n10"]) == (FRESH, last)
    assert found.look_again == PATIENCE - 40
    after = 60 + PATIENCE
    found = listening(back(9, after=after), after=after, suspicion=found.suspicion)
    assert found.states["n10"] == excluded(SILENT, HOUR)
    assert found.look_again == PATIENCE
    assert not found.suspicion.until


def test_it_lasts_from_the_moment_the_observer_works_again_however_long_nobody_has_looked() -> None:
    """Nothing is looked at while nothing changes."""
    found = listening(back(0, DAY), after=-DAY / 2)
    assert listening(back(9, DAY), suspicion=found.suspicion).states["n10"] == Held(SILENT, at(-DAY), at(PATIENCE))


def test_whoever_knows_of_no_broken_observer_sees_a_node_with_a_fault() -> None:
    assert listening(back(9)).states["n10"] == excluded(SILENT, HOUR)


def test_a_first_look_at_a_few_that_are_back_is_enough() -> None:
    found = listening(back(1))
    assert found.broken is not None
    assert isinstance(listening(back(9), suspicion=found.suspicion).states["n10"], Held)


def test_a_fault_that_is_repaired_node_by_node_is_held_too() -> None:
    bad = troubled(HOUR)
    found = listening(fresh_nodes(7) | {"x1": bad, "x2": bad, "x3": bad, "old": silent(DAY)})
    assert found.broken is not None
    found = listening(fresh_nodes(8) | {"x2": bad, "x3": bad, "old": silent(DAY)}, suspicion=found.suspicion)
    assert found.states["x3"] == Held(LIBRARY, at(-HOUR), at(PATIENCE))
    assert found.states["old"] == excluded(SILENT, DAY)  # not one of the group


def test_a_node_that_was_left_out_before_has_a_fault_of_its_own() -> None:
    """Else the capacity would grow by it."""
    one_out = fresh_nodes(9) | {"n10": silent(GRACE)}
    found = listening(one_out)
    assert found.states["n10"] == excluded(SILENT, GRACE)
    everybody = {name: silent(GRACE if name == "n10" else 1) for name in NAMES}
    found = listening(everybody, suspicion=found.suspicion)
    assert found.broken is not None
    found = listening(one_out, suspicion=found.suspicion)
    assert found.states["n10"] == excluded(SILENT, GRACE)
    unaware = listening(one_out, suspicion=listening(everybody).suspicion)
    assert unaware.states["n10"] == Held(SILENT, at(-GRACE), at(PATIENCE))


def test_once_heard_again_it_has_no_fault_of_its_own_any_more() -> None:
    found = listening(fresh_nodes(9) | {"n10": silent(GRACE)})
    half: dict[str, Seen | None] = {name: silent(1) for name in NAMES[:5]}
    found = listening(fresh_nodes(10) | half, suspicion=found.suspicion)
    assert found.broken is not None
    found = listening(back(0), suspicion=found.suspicion)
    assert isinstance(listening(back(9), suspicion=found.suspicion).states["n10"], Held)


def test_of_nodes_that_fell_before_nobody_was_heard_those_are_held_that_counted_then() -> None:
    others = {"n1": silent(GRACE + 100), "n2": silent(GRACE + 101), "n3": silent(100)}
    found = listening(others)
    assert found.broken is not None
    found = listening(others | {"n3": heard(0)}, percent=100, suspicion=found.suspicion)
    assert found.states["n1"] == Held(SILENT, at(-GRACE - 100), at(PATIENCE))
    alone = listening(others, percent=100)
    assert alone.suspicion.until.keys() == {"n1", "n3"}


def test_a_second_accident_does_not_make_the_first_one_forgotten() -> None:
    first: dict[str, Seen | None] = {f"x{number}": silent(DAY) for number in range(3)}
    second: dict[str, Seen | None] = {f"y{number}": silent(1) for number in range(4)}
    found = listening(fresh_nodes(7) | first | fresh_nodes(4, first=8))
    assert found.broken is not None
    found = listening(fresh_nodes(7) | first | {"x0": heard()} | second, suspicion=found.suspicion)
    assert "4 of the 14 agents" in (found.broken or "")
    found = listening(fresh_nodes(11) | first | {"x0": heard()}, suspicion=found.suspicion)
    assert found.states["x2"] == Held(SILENT, at(-DAY), at(PATIENCE))


def test_a_hold_of_its_own_that_lasts_longer_goes_on() -> None:
    found = listening(back(0, 1), grace=HOUR)
    found = listening(back(9, 1), grace=HOUR, suspicion=found.suspicion)
    assert found.states["n10"] == held(SILENT, 1, grace=HOUR)
    assert found.look_again == PATIENCE


@pytest.mark.parametrize(
    "word",
    [
        pytest.param(None, id="forgotten"),
        pytest.param(heard(HOUR, gone_ago=0), id="its report is deleted on purpose"),
        pytest.param(heard(has_inventory=False), id="a report that says nothing"),
    ],
)
def test_whose_report_is_gone_is_not_waited_for(word: Seen | None) -> None:
    found = listening(back(0))
    found = listening(back(9) | {"n10": word}, suspicion=found.suspicion)
    assert found.states["n10"] == (NO_REPORT if word is None or word.gone_since is None else excluded("NoReport", 0))
    assert listening(back(9), suspicion=found.suspicion).states["n10"] == excluded(SILENT, HOUR)


def test_a_report_that_nobody_writes_anew_is_given_up_as_always() -> None:
    deleted: Mapping[str, Seen | None] = {name: heard(10, gone_ago=0) for name in NAMES}
    found = listening(deleted, after=PATIENCE)
    assert found.broken is not None
    others = {name: heard(-PATIENCE) for name in NAMES[:9]}
    found = listening({**deleted, **others}, after=PATIENCE, suspicion=found.suspicion)
    assert found.states["n10"] == Held(SILENT, at(0), at(GRACE + PATIENCE))


def test_once_heard_it_is_under_no_suspicion_any_more() -> None:
    found = listening(back(0))
    found = listening(back(9), suspicion=found.suspicion)
    found = listening(back(10), suspicion=found.suspicion)
    assert found.suspicion == NOBODY
    assert listening(back(9), suspicion=found.suspicion).states["n10"] == excluded(SILENT, HOUR)


def test_a_node_that_is_cordoned_meanwhile_is_held_when_it_is_not_any_more() -> None:
    found = listening(back(0))
    rest = {name: seen for name, seen in back(9).items() if name != "n10"}
    found = listening(rest, aside=Aside({"n10": silent(HOUR)}, 0), suspicion=found.suspicion)
    assert isinstance(listening(back(9), suspicion=found.suspicion).states["n10"], Held)


# --- the capacity --------------------------------------------------------------------------------------------------


def look(fresh: int, memory: Memory) -> Observation:
    reports = [manifest(name, renewed=ago(1 if index < fresh else 9000)) for index, name in enumerate(NAMES)]
    return observed([node(name) for name in NAMES], reports, memory=memory, status=published(80))


def test_a_capacity_does_not_fall_while_agents_come_back_one_by_one() -> None:
    memory = Memory()
    for count in range(8):
        with pytest.raises(SourceUnavailable):
            look(count, memory)
    for count in (8, 9, 10):
        assert amounts(look(count, memory)) == {"h100": {GPU: "80"}}
    assert amounts(look(9, Memory())) == {"h100": {GPU: "72"}}


def test_what_is_told_of_those_that_are_held() -> None:
    memory = Memory()
    with pytest.raises(SourceUnavailable):
        look(1, memory)
    observation = look(9, memory)
    assert observation.summary == f"h100: 10 nodes, 80 {GPU}; holding n10 until 2026-09-20T10:15:00Z: AgentSilent"
    (notice,) = observation.notices
    assert notice.message.startswith(
        "1 node counts as the agent said last, for 10m at most, or for three heartbeats after many agents were not "
        "heard, AgentSilent: n10; "
    )
