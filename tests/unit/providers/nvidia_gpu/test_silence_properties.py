"""What holds whatever was heard and whenever: the rules word by word, and that nothing changes before its time."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Mapping
from typing import NamedTuple

from hypothesis import event, given, settings
from hypothesis import strategies as st

from kueue_dqo.api.durations import Duration
from kueue_dqo.api.parameters import Agents
from providers.nvidia_gpu.hearing import Excluded, Fresh, Held, Seen
from providers.nvidia_gpu.silence import NOBODY_ASIDE, Aside, Listening, Published, listen
from providers.nvidia_gpu.suspicion import NOBODY, Suspicion
from tests.unit.providers.nvidia_gpu.agents import NOW, at, heard

AN_INSTANT = datetime.timedelta(microseconds=1)
HORIZON = 400
"""Seconds after which nothing can change any more: longer than all times below together."""

AGOS = (0, 0.5, 1, 2, 3, 5, 9.9, 10, 14.9, 15, 15.1, 20, 25, 30, 40, 60, 61, 75, 76, 100, 135, 150)

heartbeats = st.sampled_from([1, 5, 5, 5, 20])
agos = st.sampled_from(AGOS)
problems = st.sampled_from([None] * len(AGOS) + [("LibraryNotFound", ago) for ago in AGOS])
deletions = st.sampled_from([*AGOS, *[None] * (2 * len(AGOS))])


def any_report(
    ago: float, heartbeat: int, problem: tuple[str, float] | None, gone_ago: float | None, *, has_inventory: bool
) -> Seen:
    """A problem and a deletion come in any order with the last write."""
    reason, problem_ago = problem or (None, None)
    return heard(
        ago,
        heartbeat=heartbeat,
        problem=reason,
        problem_ago=problem_ago,
        gone_ago=gone_ago,
        has_inventory=has_inventory,
    )


reports = st.builds(
    any_report, agos, heartbeats, problems, deletions, has_inventory=st.sampled_from([True, True, True, True, False])
)
lively = st.builds(heard, st.sampled_from([0, 1, 2]), heartbeat=heartbeats)
anything = st.one_of(lively, lively, reports, reports, st.none())
clusters = st.lists(anything, max_size=7).map(lambda seen: {f"n{number}": each for number, each in enumerate(seen)})
publications = st.sampled_from(Published)
asides = st.builds(
    Aside,
    st.lists(anything, max_size=3).map(lambda seen: {f"c{number}": each for number, each in enumerate(seen)}),
    st.integers(0, 2),
)
rules = st.builds(Agents, st.sampled_from([0, 1, 10, 60]).map(Duration), st.sampled_from([0, 10, 20, 34, 50, 99, 100]))


def at_time(
    expected: Mapping[str, Seen | None],
    agents: Agents,
    now: datetime.datetime = NOW,
    *,
    published: Published = Published.SOME,
    aside: Aside = NOBODY_ASIDE,
    suspicion: Suspicion = NOBODY,
) -> Listening:
    return listen(expected, agents, now, published=published, aside=aside, suspicion=suspicion)


# --- the rules word by word ----------------------------------------------------------------------------------------


class Fate(NamedTuple):
    """When what happens to a node, in seconds before or after NOW."""

    fell: float
    """No longer heard."""
    patience: float
    is_tidied_up: bool
    """Its report was deleted when nothing was heard any more."""
    given_up: float
    """Its report was deleted, and nobody writes another one."""


def fate_of(seen: Seen, grace: float) -> Fate:
    def seconds(time: datetime.datetime) -> float:
        return (time - NOW).total_seconds()

    inventory = seen.report.spec.inventory
    assert inventory is not None
    patience = 3 * inventory.heartbeat_seconds
    times = [seconds(seen.written) + patience]
    if seen.problem_since is not None:
        times.append(seconds(seen.problem_since))
    gone = None if seen.gone_since is None else seconds(seen.gone_since)
    is_tidied_up = gone is not None and gone >= min(times)
    if gone is not None:
        times.append(gone)
    given_up = float("inf") if gone is None else gone + grace + patience
    return Fate(min(times), patience, is_tidied_up, given_up)


def expected_kind(seen: Seen | None, grace: float) -> type[Fresh | Held | Excluded]:
    if seen is None or seen.report.spec.inventory is None:
        return Excluded
    fate = fate_of(seen, grace)
    if fate.is_tidied_up:
        return Excluded
    return Fresh if fate.fell > 0 else Held if fate.fell + grace > 0 else Excluded


def expected_break(expected: Mapping[str, Seen | None], agents: Agents, *, published: Published) -> bool:
    grace, percent = agents.grace.seconds, agents.max_silent_percent
    kinds = [expected_kind(seen, grace) for seen in expected.values()]
    reporting = [seen for seen in expected.values() if seen is not None and seen.report.spec.inventory is not None]
    fates = [fate_of(seen, grace) for seen in reporting]
    members = [fate for fate in fates if not fate.is_tidied_up and fate.given_up > 0]
    if kinds and Fresh not in kinds and (members or published is not Published.ZERO):
        return True
    fallen = [fate for fate in members if fate.fell <= 0]
    for first in fallen:
        group = [other for other in fallen if 0 <= other.fell - first.fell <= min(first.patience, other.patience)]
        if len(group) >= 2 and len(group) / len(members) > percent / 100:
            event("a group")
            return True
    reported = len(members) + sum(
        1
        for seen in expected.values()
        if seen is not None
        and seen.report.spec.inventory is None
        and seen.report.spec.problem is not None
        and seen.gone_since is None
    )
    missing = len(expected) - reported
    return published is Published.NOTHING and missing >= 2 and missing / len(expected) > percent / 100


@settings(max_examples=200)
@given(clusters, rules, publications)
def test_it_does_what_the_rules_say(expected: dict[str, Seen | None], agents: Agents, published: Published) -> None:
    found = at_time(expected, agents, published=published)
    kinds = {name: type(state) for name, state in found.states.items()}
    assert kinds == {name: expected_kind(seen, agents.grace.seconds) for name, seen in expected.items()}
    assert (found.broken is not None) is expected_break(expected, agents, published=published)
    event(f"broken: {found.broken is not None}")


# --- time ----------------------------------------------------------------------------------------------------------


@settings(max_examples=200)
@given(clusters, rules, publications, asides)
def test_nothing_changes_before_the_next_look_and_a_state_does_at_it(
    expected: dict[str, Seen | None], agents: Agents, published: Published, aside: Aside
) -> None:
    found = at_time(expected, agents, published=published, aside=aside)
    end = at(HORIZON if found.look_again is None else found.look_again)
    moments = [NOW + (end - NOW) * step / 8 for step in range(8)]
    for moment in (*moments, max(NOW, end - AN_INSTANT)):
        between = at_time(expected, agents, moment, published=published, aside=aside)
        assert between[:3] == found[:3]
        if found.look_again is not None:
            assert moment + datetime.timedelta(seconds=between.look_again or 0) == end
    if found.look_again is not None:
        assert found.look_again > 0
        later = at_time(expected, agents, end, published=published, aside=aside)
        assert (later.states, later.unheard) != (found.states, found.unheard)


@settings(max_examples=200)
@given(clusters, rules)
def test_where_nothing_is_heard_any_more_all_are_left_out_in_the_end(
    expected: dict[str, Seen | None], agents: Agents
) -> None:
    now, found = NOW, at_time(expected, agents)
    for _ in range(3 * len(expected)):
        if found.look_again is None:
            break
        now += datetime.timedelta(seconds=found.look_again)
        found = at_time(expected, agents, now)
    assert found.look_again is None
    assert now <= at(HORIZON)
    assert all(isinstance(state, Excluded) for state in found.states.values())
    assert (found.broken is not None) is bool(expected)


@settings(max_examples=200)
@given(clusters, rules)
def test_what_is_held_is_held_for_the_grace(expected: dict[str, Seen | None], agents: Agents) -> None:
    for state in at_time(expected, agents).states.values():
        if isinstance(state, Held):
            assert state.since <= NOW < state.until
            assert state.until - state.since == datetime.timedelta(seconds=agents.grace.seconds)


@settings(max_examples=200)
@given(clusters, rules, st.integers(-(10**8), 10**8))
def test_only_differences_of_times_matter(expected: dict[str, Seen | None], agents: Agents, shift: int) -> None:
    by = datetime.timedelta(seconds=shift)
    shifted = {name: None if seen is None else moved(seen, by) for name, seen in expected.items()}
    found, later = at_time(expected, agents), at_time(shifted, agents, NOW + by)
    assert later.look_again == found.look_again
    assert (later.broken is None) is (found.broken is None)
    assert list(map(type, later.states.values())) == list(map(type, found.states.values()))


def moved(seen: Seen, by: datetime.timedelta) -> Seen:
    return Seen(
        seen.report,
        seen.written + by,
        None if seen.problem_since is None else seen.problem_since + by,
        None if seen.gone_since is None else seen.gone_since + by,
    )


# --- who was not heard because nobody could be --------------------------------------------------------------------


@settings(max_examples=200)
@given(clusters, clusters, rules, asides, st.sampled_from([0, 1, 9, 40]))
def test_whoever_is_under_suspicion_is_held_longer_and_nothing_else_changes(
    before: dict[str, Seen | None], expected: dict[str, Seen | None], agents: Agents, aside: Aside, later: float
) -> None:
    suspicion = at_time(before, agents, at(-later)).suspicion
    plain = at_time(expected, agents, aside=aside)
    found = at_time(expected, agents, aside=aside, suspicion=suspicion)
    assert (found.broken, found.unknown, found.unheard) == (plain.broken, plain.unknown, plain.unheard)
    for name, state in found.states.items():
        raw = plain.states[name]
        if state != raw:
            event("held longer")
            assert found.broken is None
            assert name in suspicion.until
            assert isinstance(state, Held)
            assert state.until > NOW
            assert not isinstance(raw, Fresh)
            assert (state.reason, state.since) == (raw.reason, raw.since)
            assert isinstance(raw, Excluded) or raw.until < state.until


@settings(max_examples=200)
@given(clusters, clusters, rules, st.sampled_from([0, 1, 9, 40]))
def test_with_suspicion_too_nothing_changes_before_the_next_look(
    before: dict[str, Seen | None], expected: dict[str, Seen | None], agents: Agents, later: float
) -> None:
    found = at_time(expected, agents, suspicion=at_time(before, agents, at(-later)).suspicion)
    end = at(HORIZON if found.look_again is None else found.look_again)
    for moment in (*(NOW + (end - NOW) * step / 8 for step in range(8)), max(NOW, end - AN_INSTANT)):
        assert at_time(expected, agents, moment, suspicion=found.suspicion)[:3] == found[:3]
    if found.look_again is not None:
        assert found.look_again > 0
        at_end = at_time(expected, agents, end, suspicion=found.suspicion)
        assert (at_end.states, at_end.unheard) != (found.states, found.unheard)


# --- the observer --------------------------------------------------------------------------------------------------


@settings(max_examples=200)
@given(st.lists(lively, min_size=1, max_size=7), st.one_of(reports, st.none()), rules, publications)
def test_one_node_of_several_never_breaks_the_observer(
    others: list[Seen], one: Seen | None, agents: Agents, published: Published
) -> None:
    expected = {f"n{number}": each for number, each in enumerate([*others, one])}
    assert at_time(expected, agents, published=published).broken is None


@settings(max_examples=200)
@given(clusters, rules, publications, st.data())
def test_another_agent_that_is_heard_never_breaks_the_observer(
    expected: dict[str, Seen | None], agents: Agents, published: Published, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from([*expected, "another"]))
    if at_time(expected, agents, published=published).broken is None:
        assert at_time(expected | {name: heard(0)}, agents, published=published).broken is None


@settings(max_examples=200)
@given(clusters, rules, publications, asides)
def test_whoever_does_not_count_can_only_speak_for_the_observer(
    expected: dict[str, Seen | None], agents: Agents, published: Published, aside: Aside
) -> None:
    alone = at_time(expected, agents, published=published)
    found = at_time(expected, agents, published=published, aside=aside)
    assert found.states == alone.states
    assert found.unknown == alone.unknown
    if alone.broken is None:
        assert found.broken is None


@settings(max_examples=200)
@given(clusters, rules, publications)
def test_whoever_tolerates_more_silence_sees_no_more_breaks(
    expected: dict[str, Seen | None], agents: Agents, published: Published
) -> None:
    breaks = [
        at_time(expected, Agents(agents.grace, percent), published=published).broken is not None
        for percent in (0, 1, 10, 20, 33, 34, 50, 66, 67, 99, 100)
    ]
    assert breaks == sorted(breaks, reverse=True)


@settings(max_examples=200)
@given(clusters, rules, publications, st.randoms(use_true_random=False))
def test_the_order_of_the_nodes_changes_nothing_that_is_told(
    expected: dict[str, Seen | None], agents: Agents, published: Published, chance: object
) -> None:
    names = list(expected)
    chance.shuffle(names)  # type: ignore[attr-defined]
    shuffled = {name: expected[name] for name in names}
    assert at_time(shuffled, agents, published=published) == at_time(expected, agents, published=published)


@settings(max_examples=200)
@given(st.integers(1, 60), st.integers(6, 20))
def test_losses_that_trickle_in_never_break_the_observer(gap: int, count: int) -> None:
    """One after the other, each more than three heartbeats after the one before, until one agent is left."""
    agents = Agents(Duration(10), 10)
    lost = {f"n{number}": heard(15 + number * (15 + gap), heartbeat=5) for number in range(count)}
    for left in range(1, count):
        found = at_time({"last": heard(0), **dict(itertools.islice(lost.items(), left))}, agents)
        assert found.broken is None
        assert all(not isinstance(found.states[name], Fresh) for name in itertools.islice(lost, left))
