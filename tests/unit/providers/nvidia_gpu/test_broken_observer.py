"""When so many agents are silent that it is no fault of the nodes, and what a person is told then."""

from __future__ import annotations

import pytest

from providers.nvidia_gpu.hearing import Seen
from providers.nvidia_gpu.silence import Aside, Published
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
    listening,
    silent,
    troubled,
)

DAY = 86400
LOOK = (
    "look at the agents: `kubectl get pods -A -o wide -l app.kubernetes.io/component=nvidia-gpu-agent`, "
    "`kubectl logs -n kueue-dqo-system --prefix -l app.kubernetes.io/component=nvidia-gpu-agent`"
)
LEAVE_OUT = "nodes that are to have none are left out by spec.nodeSelector of the parameters"


def nodes(fresh: int, **others: Seen | None) -> dict[str, Seen | None]:
    """So many whose agents are heard, and these."""
    return fresh_nodes(fresh) | others


def is_broken(expected: dict[str, Seen | None], *, percent: int = 20, published: Published = Published.SOME) -> bool:
    return listening(expected, percent=percent, published=published).broken is not None


@pytest.mark.parametrize(
    "expected",
    [
        pytest.param({"n1": silent(1)}, id="the only one is silent"),
        pytest.param({"n1": silent(DAY)}, id="the only one is silent for a day"),
        pytest.param({"n1": troubled(1)}, id="the only one has a problem"),
        pytest.param({"n1": None}, id="the only one was never heard"),
        pytest.param({"n1": silent(DAY), "n2": silent(5 * DAY), "n3": silent(9 * DAY)}, id="one after the other"),
        pytest.param({"n1": silent(1), "n2": troubled(DAY), "n3": None}, id="each for a reason of its own"),
        pytest.param({"n1": heard(gone_ago=1), "n2": heard(gone_ago=1)}, id="all reports were deleted"),
        pytest.param({"n1": heard(9000, gone_ago=1), "n2": heard(9000, gone_ago=1)}, id="all that were silent deleted"),
    ],
)
@pytest.mark.parametrize("percent", [0, 20, 100])
def test_where_no_agent_is_heard_the_observer_is_broken(expected: dict[str, Seen | None], percent: int) -> None:
    assert is_broken(expected, percent=percent)


@pytest.mark.parametrize(
    ("expected", "ready", "others", "broken"),
    [
        pytest.param({"n1": silent(1)}, {}, 0, True, id="the only node"),
        pytest.param({"n1": silent(1)}, {}, 2, False, id="the only Ready one of three: a node with a fault"),
        pytest.param({"n1": troubled(DAY)}, {}, 2, False, id="beyond the grace too"),
        pytest.param({"n1": None}, {}, 2, True, id="the only Ready one, of which nothing is known"),
        pytest.param({"n1": silent(1), "n2": silent(DAY)}, {}, 2, True, id="both Ready ones"),
        pytest.param({"n1": silent(1)}, {"n2": silent(DAY)}, 2, True, id="both Ready ones, of which one is cordoned"),
        pytest.param({"n1": silent(1)}, {"n2": None}, 0, True, id="a cordoned one was never heard"),
        pytest.param({"n1": silent(1)}, {"n2": heard()}, 0, False, id="the agent of a cordoned one is heard"),
        pytest.param(
            {"n1": silent(1), "n2": silent(DAY), "n3": None}, {"n4": heard()}, 0, False, id="it is heard, and no other"
        ),
        pytest.param({"n1": silent(1), "n2": silent(2)}, {"n4": heard()}, 0, True, id="two at once are a group yet"),
        pytest.param({}, {"n1": silent(1), "n2": silent(DAY)}, 0, False, id="nobody has to be heard"),
    ],
)
def test_nodes_that_do_not_count_show_whether_the_observer_works(
    expected: dict[str, Seen | None], ready: dict[str, Seen | None], others: int, broken: bool
) -> None:
    assert (listening(expected, aside=Aside(ready, others)).broken is not None) is broken


def test_it_is_looked_at_again_when_the_last_witness_falls_silent() -> None:
    """Witnesses matter only while nobody else is heard."""
    aside = Aside({"c1": heard(100), "c2": heard(50), "c3": silent(9)}, 0)
    found = listening({"n1": silent(DAY)}, aside=aside)
    assert (found.broken, found.look_again) == (None, PATIENCE - 50)
    assert found.unheard == {"n1", "c3"}
    assert listening({"n1": silent(DAY)}, aside=aside, after=PATIENCE - 50).broken is not None
    assert listening({"n1": heard(10)}, aside=aside).look_again == PATIENCE - 10


@pytest.mark.parametrize(
    ("expected", "published", "broken"),
    [
        pytest.param({"n1": None}, Published.ZERO, False, id="the first node of a pool that was empty"),
        pytest.param({f"n{number}": None for number in range(100)}, Published.ZERO, False, id="a hundred"),
        pytest.param({"n1": None}, Published.NOTHING, True, id="nothing was ever published"),
        pytest.param({"n1": None}, Published.SOME, True, id="something would be lost"),
        pytest.param({"n1": None, "n2": silent(1)}, Published.ZERO, True, id="one was heard once"),
    ],
)
def test_nodes_that_were_never_heard_take_nothing_from_a_pool_that_was_empty(
    expected: dict[str, Seen | None], published: Published, broken: bool
) -> None:
    assert is_broken(expected, published=published) is broken


@pytest.mark.parametrize(
    ("expected", "broken"),
    [
        pytest.param(nodes(7, a=silent(1), b=silent(1), c=silent(1)), True, id="3 of 10"),
        pytest.param(nodes(8, a=silent(1), b=silent(1)), False, id="2 of 10: exactly 20 percent"),
        pytest.param(nodes(7, a=silent(1), b=silent(1)), True, id="2 of 9"),
        pytest.param(nodes(1, a=silent(1)), False, id="one of 2: a single node is no group"),
        pytest.param(nodes(1, a=silent(1), b=silent(1)), True, id="2 of 3"),
        pytest.param(nodes(7, a=silent(1), b=troubled(300), c=silent(600)), True, id="whatever the reasons"),
        pytest.param(nodes(7, a=silent(5), b=silent(PATIENCE + 5), c=silent(9)), True, id="just within three beats"),
        pytest.param(nodes(7, a=silent(5), b=silent(PATIENCE + 6), c=silent(9)), False, id="just not within"),
        pytest.param(nodes(7, a=silent(DAY), b=silent(DAY + 1), c=silent(DAY + 2)), True, id="a day ago, unrepaired"),
        pytest.param(nodes(7, a=silent(DAY), b=silent(3 * DAY), c=silent(5 * DAY)), False, id="one a day"),
        pytest.param(nodes(2, a=silent(DAY), b=silent(2 * DAY), c=silent(3 * DAY)), False, id="one a day, most of all"),
        pytest.param(nodes(10, a=silent(1), b=silent(2), c=silent(DAY), d=silent(DAY + 1)), False, id="2 and 2 of 14"),
        pytest.param(nodes(9, a=None, b=None, c=None, d=None), False, id="new nodes have fallen from nowhere"),
        pytest.param(
            nodes(8, a=silent(1), b=silent(1), **{f"new{number}": None for number in range(90)}),
            False,
            id="new nodes are in no group",
        ),
        pytest.param(
            nodes(7, a=silent(1), b=silent(1), **{f"new{number}": None for number in range(90)}),
            True,
            id="nor do new nodes make up for those that fell silent",
        ),
        pytest.param(
            nodes(
                2, **{f"new{number}": heard(problem=LIBRARY, problem_ago=9, has_inventory=False) for number in range(9)}
            ),
            False,
            id="new nodes whose driver is not installed yet",
        ),
        pytest.param(nodes(7, a=heard(gone_ago=1), b=heard(gone_ago=1), c=heard(gone_ago=2)), True, id="3 deleted"),
    ],
)
def test_too_many_that_fall_silent_at_once_are_a_broken_observer(
    expected: dict[str, Seen | None], broken: bool
) -> None:
    assert is_broken(expected) is broken


@pytest.mark.parametrize("slow_is_first", [True, False])
def test_of_two_heartbeats_the_shorter_one_says_what_is_at_once(slow_is_first: bool) -> None:
    """How long its heartbeat is, is an agent's own word."""
    first, last = (3600, 60) if slow_is_first else (60, 3600)
    assert is_broken(nodes(3, a=silent(280, heartbeat=first), b=silent(100, heartbeat=last)))
    assert not is_broken(nodes(3, a=silent(281, heartbeat=first), b=silent(100, heartbeat=last)))
    assert is_broken(nodes(3, a=silent(10000, heartbeat=3600), b=silent(100, heartbeat=3600)))


@pytest.mark.parametrize("since", [3 * DAY, DAY, 5])
def test_an_agent_that_says_it_speaks_once_a_day_does_not_make_one_accident_of_several(since: float) -> None:
    several = nodes(7, x1=silent(2 * DAY), x2=silent(DAY + 1000))
    assert not is_broken(several | {"liar": silent(since, heartbeat=DAY)}, percent=10)


def test_what_is_told_of_agents_of_different_heartbeats() -> None:
    """The first of them has the longest, and one that fell in the same moment the shortest."""
    group = nodes(3, a=silent(1000, heartbeat=3600), b=silent(1000, heartbeat=60), c=silent(100, heartbeat=600))
    assert "3 of the 6 agents that were heard fell out within 30m of each other" in (listening(group).broken or "")


def test_the_largest_of_several_groups_decides() -> None:
    """The later one has a member more, which fell just within three heartbeats of its first."""
    earlier = {f"x{number}": silent(DAY) for number in range(3)}
    later = {"y1": silent(5 + PATIENCE), "y2": silent(50), "y3": silent(50), "y4": silent(5)}
    assert is_broken(nodes(8, **earlier, **later))
    assert not is_broken(nodes(8, **earlier, **later | {"y4": silent(4)}))


@pytest.mark.parametrize(
    ("percent", "fallen", "broken"),
    [(0, 1, False), (0, 2, True), (50, 5, False), (50, 6, True), (99, 9, False), (100, 9, False)],
)
def test_how_many_are_too_many_is_a_parameter(percent: int, fallen: int, broken: bool) -> None:
    expected = fresh_nodes(10 - fallen) | {f"x{number}": silent(1) for number in range(fallen)}
    assert is_broken(expected, percent=percent) is broken


def test_it_is_broken_for_as_long_as_they_are_silent_and_not_longer() -> None:
    group: dict[str, Seen | None] = {"x1": silent(DAY), "x2": silent(DAY), "x3": silent(DAY)}
    found = listening(fresh_nodes(7) | group)
    assert found.broken is not None
    assert found.states["x1"] == excluded("AgentSilent", DAY)
    found = listening(fresh_nodes(7) | group | {"x3": heard(0)})
    assert found.broken is None
    assert (found.states["x1"], found.states["x3"]) == (excluded("AgentSilent", DAY), FRESH)


def test_deleting_the_reports_of_agents_that_were_taken_away_ends_it() -> None:
    seen = silent(100)
    deleted = seen._replace(gone_since=at(0))
    assert is_broken(nodes(7, x1=seen, x2=seen, x3=seen))
    assert is_broken(nodes(7, x1=seen, x2=seen, x3=deleted), percent=10)
    found = listening(nodes(7, x1=deleted, x2=deleted, x3=deleted))
    assert found.broken is None
    assert [found.states[name] for name in ("x1", "x2", "x3")] == [excluded("NoReport", 0)] * 3


def test_reports_that_are_deleted_under_living_agents_are_given_time_to_come_back() -> None:
    """Nobody knows at once whether the agents are there; three heartbeats after the grace everybody does."""
    deleted: dict[str, Seen | None] = {name: heard(10, gone_ago=0) for name in ("x1", "x2", "x3")}

    def broken_after(seconds: float) -> bool:
        others = {name: heard(10 - seconds) for name in fresh_nodes(7)}
        return listening(others | deleted, after=seconds).broken is not None

    assert broken_after(0)
    assert broken_after(GRACE + PATIENCE - 1)
    assert not broken_after(GRACE + PATIENCE)


@pytest.mark.parametrize(
    ("expected", "percent", "broken"),
    [
        pytest.param(nodes(8, a=None, b=None), 20, False, id="2 of 10 are missing"),
        pytest.param(nodes(7, a=None, b=None, c=None), 20, True, id="3 of 10 are missing"),
        pytest.param(nodes(2, a=None), 20, False, id="a single one is missing"),
        pytest.param(nodes(2, a=None), 0, False, id="a single one is missing where none may"),
        pytest.param(nodes(8, a=None, b=None), 0, True, id="two are missing where none may"),
        pytest.param(nodes(1, **{f"x{number}": None for number in range(99)}), 100, False, id="nobody waits for them"),
        pytest.param(nodes(7, a=None, b=None, c=heard(has_inventory=False)), 20, True, id="an empty report is none"),
        pytest.param(nodes(7, a=None, b=None, c=troubled(GRACE)), 20, False, id="a problem is a report"),
        pytest.param(
            nodes(7, a=None, b=None, c=heard(problem="InvalidReport", problem_ago=9, has_inventory=False)),
            20,
            True,
            id="a report that nobody understands is none",
        ),
        pytest.param(
            nodes(7, a=None, b=None, c=heard(problem="InvalidReport", problem_ago=9)),
            20,
            False,
            id="one that was understood once is",
        ),
        pytest.param(
            nodes(7, a=None, b=None, c=heard(problem=LIBRARY, problem_ago=9, has_inventory=False)),
            20,
            False,
            id="a problem is a report even if there is nothing else",
        ),
    ],
)
def test_the_first_capacity_waits_until_most_have_a_report(
    expected: dict[str, Seen | None], percent: int, broken: bool
) -> None:
    assert is_broken(expected, percent=percent, published=Published.NOTHING) is broken
    assert not is_broken(expected, percent=percent)


def test_a_cluster_that_grows_from_1_to_100_nodes_is_not_broken() -> None:
    found = listening(nodes(1, **{f"x{number}": None for number in range(99)}))
    assert found.broken is None
    assert list(found.states.values()) == [FRESH, *[NO_REPORT] * 99]


def test_what_is_told_where_no_agent_is_heard() -> None:
    expected = {"n3": None, "n2": silent(7200), "n1": silent(3600), "n4": troubled(60)}
    assert listening(expected).broken == (
        "no agent of any node with GPUs is heard, AgentSilent since 2026-09-20T08:00:00Z (n1, n2), LibraryNotFound "
        f"since 2026-09-20T09:59:00Z (n4), NoReport (n3): the last capacity stays until one is; {LOOK}; {LEAVE_OUT}"
    )


def test_what_is_told_where_many_fell_silent() -> None:
    expected = nodes(7, n20=silent(3600), n22=silent(3300), n21=troubled(3400), n23=None)
    assert listening(expected).broken == (
        "3 of the 10 agents that were heard fell out within 15m of each other, AgentSilent since 2026-09-20T09:00:00Z "
        "(n20, n22), LibraryNotFound since 2026-09-20T09:03:20Z (n21): more than spec.agents.maxSilentPercent of the "
        "parameters, 20, so that it is taken for a fault of the agents, not of the nodes, and the last capacity stays "
        f"until they are heard; {LOOK}; where they were taken away on purpose, delete their reports (`kubectl delete "
        f"nodegpureports.kueue-dqo.dev n20 n21 n22`); {LEAVE_OUT}; maxSilentPercent: 100 leaves every silent node out "
        "once spec.agents.grace is over"
    )


def test_what_is_told_where_the_first_capacity_waits() -> None:
    assert listening(nodes(2, n20=None, n21=None), published=Published.NOTHING).broken == (
        "2 of 4 nodes with GPUs have no report yet (n20, n21): more than spec.agents.maxSilentPercent of the "
        f"parameters, 20, so that the first capacity waits for them; {LOOK}; {LEAVE_OUT}; with maxSilentPercent: 100 "
        "it does not wait"
    )


def test_at_most_five_nodes_are_named() -> None:
    group: dict[str, Seen | None] = {f"x{number}": silent(60) for number in range(1, 8)}
    missing: dict[str, Seen | None] = dict.fromkeys(group)
    named = "(x1, x2, x3, x4, x5 and 2 more)"
    told = listening(fresh_nodes(3) | group).broken or ""
    assert f"AgentSilent since 2026-09-20T09:59:00Z {named}" in told
    assert "`kubectl delete nodegpureports.kueue-dqo.dev x1 x2 x3 x4 x5 …`" in told
    assert named in (listening(group).broken or "")
    assert named in (listening(fresh_nodes(3) | missing, published=Published.NOTHING).broken or "")
    assert "x6" not in told
