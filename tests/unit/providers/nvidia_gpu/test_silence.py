"""One agent after the other: fresh, held, left out; and when the next of these begins."""

from __future__ import annotations

import pytest

from providers.nvidia_gpu.hearing import AgentState, Held, Seen
from providers.nvidia_gpu.silence import Listening, Published
from tests.unit.providers.nvidia_gpu.agents import (
    FRESH,
    GRACE,
    LIBRARY,
    NO_REPORT,
    PATIENCE,
    excluded,
    fresh_nodes,
    heard,
    held,
    listening,
    silent,
    troubled,
)

SILENT = "AgentSilent"


def state_of(seen: Seen | None, *, grace: int = GRACE) -> AgentState:
    return listening({"n1": seen}, grace=grace).states["n1"]


@pytest.mark.parametrize(
    ("seen", "state"),
    [
        pytest.param(None, NO_REPORT, id="never heard"),
        pytest.param(heard(0), FRESH, id="written just now"),
        pytest.param(heard(PATIENCE - 1), FRESH, id="almost three heartbeats ago"),
        pytest.param(heard(PATIENCE), held(SILENT, 0), id="three heartbeats ago"),
        pytest.param(silent(GRACE - 1), held(SILENT, GRACE - 1), id="silent for almost the grace"),
        pytest.param(silent(GRACE), excluded(SILENT, GRACE), id="silent for the grace"),
        pytest.param(silent(30 * 86400), excluded(SILENT, 30 * 86400), id="silent for a month"),
        pytest.param(heard(), FRESH, id="a problem that was cleared"),
        pytest.param(troubled(0), held(LIBRARY, 0), id="a problem just now"),
        pytest.param(troubled(GRACE - 1), held(LIBRARY, GRACE - 1), id="a problem for almost the grace"),
        pytest.param(troubled(GRACE), excluded(LIBRARY, GRACE), id="a problem for the grace"),
        pytest.param(
            heard(PATIENCE + 500, problem=LIBRARY, problem_ago=100),
            held(LIBRARY, 500),
            id="silent, then back with a problem: held since it was silent",
        ),
        pytest.param(
            heard(PATIENCE + GRACE + 500, problem=LIBRARY, problem_ago=100),
            excluded(LIBRARY, GRACE + 500),
            id="left out, then back with a problem: it stays left out",
        ),
        pytest.param(
            heard(200, problem=LIBRARY), held(LIBRARY, 200), id="a problem of unknown time is one since the inventory"
        ),
        pytest.param(heard(100, gone_ago=50), held(SILENT, 50), id="deleted: silent from that moment on"),
        pytest.param(heard(100 + GRACE, gone_ago=GRACE), excluded(SILENT, GRACE), id="deleted, and the grace is over"),
        pytest.param(
            heard(5000, gone_ago=GRACE + PATIENCE - 1),
            excluded("NoReport", GRACE + PATIENCE - 1),
            id="deleted when it was silent already",
        ),
        pytest.param(
            heard(PATIENCE + 100, gone_ago=100), excluded("NoReport", 100), id="deleted in the moment it fell silent"
        ),
        pytest.param(
            heard(2000, gone_ago=GRACE + PATIENCE - 1),
            excluded(SILENT, GRACE + PATIENCE - 1),
            id="deleted, and almost given up",
        ),
        pytest.param(
            heard(2000, gone_ago=GRACE + PATIENCE), excluded("NoReport", GRACE + PATIENCE), id="deleted and given up"
        ),
        pytest.param(
            heard(200, problem=LIBRARY, problem_ago=100, gone_ago=50),
            excluded("NoReport", 50),
            id="deleted when it had a problem already",
        ),
        pytest.param(
            heard(problem=LIBRARY, problem_ago=100, has_inventory=False),
            excluded(LIBRARY, 100),
            id="a problem from the beginning: there is nothing to hold",
        ),
        pytest.param(heard(has_inventory=False), NO_REPORT, id="a report that says nothing yet"),
        pytest.param(
            heard(problem=LIBRARY, problem_ago=100, gone_ago=50, has_inventory=False),
            NO_REPORT,
            id="a report that never said anything, deleted",
        ),
    ],
)
def test_what_is_made_of_one_agent(seen: Seen | None, state: AgentState) -> None:
    assert state_of(seen) == state


@pytest.mark.parametrize("heartbeat", [1, 60, 86400])
def test_silence_is_measured_by_each_reports_own_heartbeat(heartbeat: int) -> None:
    nodes = {"n1": heard(3 * heartbeat - 1, heartbeat=heartbeat), "n2": heard(3 * heartbeat, heartbeat=heartbeat)}
    assert listening(nodes).states == {"n1": FRESH, "n2": held(SILENT, 0)}


@pytest.mark.parametrize(("heartbeat", "taken_as"), [(0, 1), (-(2**62), 1), (86401, 86400), (2**62, 86400)], ids=str)
def test_an_absurd_heartbeat_is_taken_as_the_nearest_allowed_one(heartbeat: int, taken_as: int) -> None:
    assert state_of(heard(3 * taken_as - 1, heartbeat=heartbeat)) == FRESH
    assert state_of(heard(3 * taken_as, heartbeat=heartbeat)) == held(SILENT, 0)


@pytest.mark.parametrize(
    ("seen", "state"),
    [
        pytest.param(heard(PATIENCE - 1), FRESH, id="heard"),
        pytest.param(heard(PATIENCE), excluded(SILENT, 0), id="silent"),
        pytest.param(troubled(0), excluded(LIBRARY, 0), id="a problem"),
        pytest.param(heard(gone_ago=0), excluded(SILENT, 0), id="deleted"),
    ],
)
def test_without_grace_nothing_is_held(seen: Seen, state: AgentState) -> None:
    assert state_of(seen, grace=0) == state


@pytest.mark.parametrize(
    ("seen", "look_again"),
    [
        pytest.param(None, None, id="never heard"),
        pytest.param(heard(10), PATIENCE - 10, id="fresh, until it would be silent"),
        pytest.param(heard(0.25), PATIENCE - 0.25, id="to the part of a second"),
        pytest.param(silent(100), GRACE - 100, id="silent, until the grace is over"),
        pytest.param(troubled(100), GRACE - 100, id="a problem, until the grace is over"),
        pytest.param(silent(GRACE), None, id="silent and left out"),
        pytest.param(troubled(GRACE), None, id="left out with a problem"),
        pytest.param(heard(gone_ago=5), GRACE - 5, id="deleted, until the grace is over"),
        pytest.param(heard(GRACE + 10, gone_ago=GRACE + 5), PATIENCE - 5, id="deleted, until it is given up"),
        pytest.param(heard(GRACE + 1000, gone_ago=GRACE + PATIENCE), None, id="deleted and given up"),
        pytest.param(heard(problem=LIBRARY, problem_ago=5, has_inventory=False), None, id="a problem ever since"),
    ],
)
def test_when_to_look_again(seen: Seen | None, look_again: float | None) -> None:
    assert listening({"n1": seen}).look_again == look_again


def test_the_next_change_of_any_node_is_the_next_look() -> None:
    nodes = {"n1": heard(10), "n2": silent(590), "n3": None, "n4": heard(880), "n5": silent(700)}
    assert listening(nodes).look_again == 10


def test_states_are_of_every_node_in_the_order_given() -> None:
    nodes = {"n2": heard(), "n3": None, "n1": silent(1)}
    assert list(listening(nodes).states) == ["n2", "n3", "n1"]


def test_where_no_node_is_expected_nothing_is_wrong() -> None:
    assert listening({}, published=Published.NOTHING) == Listening({}, None, None, None, frozenset())


def test_a_node_without_its_library_is_held_then_left_out_and_never_a_broken_observer() -> None:
    nodes = fresh_nodes(2) | {"n03": heard(30, problem=LIBRARY, problem_ago=20)}
    for after, state in ((0, held(LIBRARY, 20)), (579, held(LIBRARY, 20)), (580, excluded(LIBRARY, 20))):
        found = listening(nodes, after=after)
        assert found.states == {"n01": FRESH, "n02": FRESH, "n03": state}
        assert found.broken is None


def test_an_agent_that_is_heard_again_is_fresh_at_once() -> None:
    nodes: dict[str, Seen | None] = fresh_nodes(9) | {"n10": silent(10 * GRACE)}
    assert listening(nodes).states["n10"] == excluded(SILENT, 10 * GRACE)
    assert listening(nodes | {"n10": heard(0)}).states["n10"] == FRESH


def test_a_clock_that_was_ahead_and_is_set_back_leaves_a_report_fresh() -> None:
    found = listening({"n1": heard(-50)})
    assert found == Listening({"n1": FRESH}, None, None, PATIENCE + 50, frozenset())


def test_a_clock_that_jumps_ahead_is_as_if_that_time_had_passed() -> None:
    found = listening(fresh_nodes(3), after=PATIENCE)
    assert {type(state) for state in found.states.values()} == {Held}
    assert found.broken is not None
