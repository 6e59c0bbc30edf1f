"""Since when workers are unavailable, across looks and across processes."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from kueue_dqo.api import dqo
from kueue_dqo.api.multikueue import AfterGrace
from kueue_dqo.api.wording import LONGEST_MESSAGE, message_of
from kueue_dqo.provider import SourceUnavailable
from providers.multikueue.memory import Memory
from providers.multikueue.objects import Problem
from providers.multikueue.outages import Fate, Outage, left_out_in, outages_in, said, texts_of
from tests.unit.providers.multikueue.fleets import Processes, Seen, at, down, parameters, provider, worker

UNAVAILABLE = SourceUnavailable.reason
TEXT = "held until 2026-12-01T12:05:50Z: w, unavailable since 2026-12-01T12:00:50Z"
UP = worker({"cpu": "10"})
OTHER = worker({"cpu": "1"})


def since(fleet: Processes, name: str = "w") -> float | None:
    """Seconds after noon since when it is unavailable."""
    outage = fleet.memory.states("fleet")[name].outage
    return None if outage is None else (outage.since - at(0)).total_seconds()


# --- one process ---------------------------------------------------------------------------------------------------


def test_an_outage_begins_when_anybody_first_knew_of_it() -> None:
    """The problem may be put in other words, with another time, at every look."""
    fleet = Processes()
    fleet.look(0, a=OTHER, w=UP)
    for now, told, wanted in [(60, 50, 50), (70, 70, 50), (80, 40, 40), (90, 85, 40)]:
        fleet.look(now, a=OTHER, w=down(told))
        assert since(fleet) == wanted


def test_a_worker_that_fails_again_begins_a_new_grace() -> None:
    fleet = Processes()
    fleet.look(0, a=OTHER, w=UP)
    assert fleet.look(60, a=OTHER, w=down(50)) == "11 cpu"
    assert fleet.look(340, a=OTHER, w=worker({"cpu": "20"})) == "21 cpu"
    assert fleet.look(349, a=OTHER, w=down(345)) == "21 cpu"
    assert fleet.look(644, a=OTHER, w=down(345)) == "21 cpu"
    assert fleet.look(645, a=OTHER, w=down(345)) == "1 cpu"


def test_a_worker_that_is_named_no_more_is_forgotten_at_once() -> None:
    """What it had, and that it was unavailable."""
    fleet = Processes()
    fleet.look(0, a=OTHER, w=UP)
    fleet.look(60, a=OTHER, w=down(50))
    assert fleet.look(70, a=OTHER) == "1 cpu"
    assert "w, unavailable" not in str(fleet.message)
    assert [*fleet.memory.states("fleet")] == ["a"]
    fleet.look(80, a=OTHER, w=down(75))
    assert since(fleet) == 75


def test_a_worker_that_comes_and_was_never_read_holds_up_no_other() -> None:
    """It is no part of what is published. It is told, joins when it can be read, and has its grace from then on."""
    fleet = Processes()
    fleet.look(0, a=OTHER)
    assert fleet.look(60, a=OTHER, w=down(60)) == "1 cpu"
    assert "left out: w, unavailable since" in str(fleet.message)
    assert fleet.memory.look_again("fleet", at(60)) is None
    assert fleet.look(70, a=OTHER, w=UP) == "11 cpu"
    assert fleet.look(80, a=OTHER, w=down(80)) == "11 cpu"


def test_where_no_worker_may_be_left_out_one_that_comes_is_waited_for() -> None:
    fleet = Processes(parameters(after_grace=AfterGrace.SOURCE_UNAVAILABLE))
    fleet.look(0, a=OTHER)
    assert fleet.look(60, a=OTHER, w=down(60)) == UNAVAILABLE
    assert fleet.look(70, a=OTHER, w=UP) == "11 cpu"


def test_all_workers_are_waited_for_by_a_process_that_begins() -> None:
    """What was published before may have all of them in it."""
    fleet = Processes()
    assert fleet.look(0, a=OTHER, w=down(0)) == UNAVAILABLE
    assert fleet.look(10, a=OTHER, w=down(0)) == UNAVAILABLE


def test_without_a_grace_a_worker_is_out_at_once() -> None:
    fleet = Processes(parameters(grace=0))
    fleet.look(0, a=OTHER, w=UP)
    assert fleet.look(60, a=OTHER, w=down(60)) == "1 cpu"
    fleet.restart()
    assert fleet.look(61, a=OTHER, w=down(61)) == "1 cpu"


def test_another_grace_is_one_for_those_that_are_unavailable_already() -> None:
    fleet = Processes(parameters(grace=300))
    fleet.look(0, a=OTHER, w=UP)
    assert fleet.look(100, a=OTHER, w=down(50)) == "11 cpu"
    fleet.spec = parameters(grace=40)
    assert fleet.look(101, a=OTHER, w=down(50)) == "1 cpu"
    fleet.spec = parameters(grace=60)
    assert fleet.look(102, a=OTHER, w=down(50)) == "11 cpu"


def test_no_outage_begins_in_the_future() -> None:
    """Clocks of others may be ahead."""
    fleet = Processes()
    fleet.look(0, a=OTHER, w=UP)
    fleet.look(60, a=OTHER, w=down(5000))
    assert since(fleet) == 60


def test_an_outage_begins_with_a_whole_second() -> None:
    """That of the message, so that a restart does not change when it ends."""
    fleet = Processes()
    fleet.look(0, a=OTHER, w=UP)
    fleet.look(60, a=OTHER, w=down(50.9))
    assert since(fleet) == 50


def test_states_are_known_after_a_failure_as_well() -> None:
    fleet = Processes(parameters(after_grace=AfterGrace.SOURCE_UNAVAILABLE))
    assert fleet.memory.states("fleet") == {}
    fleet.look(0, a=OTHER, w=UP)
    assert fleet.look(400, a=OTHER, w=down(50)) == UNAVAILABLE
    states = fleet.memory.states("fleet")
    assert states["a"].outage is None
    assert states["w"].outage == Outage(at(50), at(350), "connection refused", Fate.OVERDUE)
    assert states["w"].counted is None


def test_providers_do_not_share_what_is_known() -> None:
    memory, unavailable = Memory(), parameters().unavailable_workers
    one, two = provider(name="one"), provider(name="two")
    memory.look(one, {"w": UP}, unavailable, at(0))
    outage = memory.look(two, {"w": down(0)}, unavailable, at(0))["w"].outage
    assert outage is not None
    assert outage.fate is Fate.AWAITED


@pytest.mark.parametrize("forget", [lambda memory: memory.forget("fleet"), lambda memory: memory.keep({"other"})])
def test_a_provider_that_is_forgotten_is_known_by_its_status_alone(forget: object) -> None:
    """Another replica may have published meanwhile."""
    assert callable(forget)
    fleet = Processes()
    fleet.look(0, a=OTHER, w=UP)
    fleet.look(60, a=OTHER, w=down(50))
    forget(fleet.memory)
    assert fleet.memory.states("fleet") == {}
    fleet.message = f"gpu: 11 cpu; {texts_of({'w': Outage(at(20), at(320), '', Fate.HELD)}, is_counted=True)[0]}"
    assert fleet.look(70, a=OTHER, w=down(65)) == UNAVAILABLE
    assert since(fleet) == 20


def test_a_provider_that_is_kept_is_not_forgotten() -> None:
    fleet = Processes()
    fleet.look(0, a=OTHER, w=UP)
    fleet.memory.keep({"fleet"})
    assert fleet.look(60, a=OTHER, w=down(50)) == "11 cpu"


# --- one process after the other -----------------------------------------------------------------------------------


def test_a_restart_does_not_begin_the_grace_anew() -> None:
    """Not even one that comes while nothing is published, or again and again."""
    fleet = Processes()
    fleet.look(0, a=OTHER, w=UP)
    assert fleet.look(60, a=OTHER, w=down(50)) == "11 cpu"
    for now in (100, 200, 300, 349):
        fleet.restart()
        assert fleet.look(now, a=OTHER, w=down(now)) == UNAVAILABLE
        assert fleet.told == "11 cpu"
    for now in (350, 400):
        fleet.restart()
        assert fleet.look(now, a=OTHER, w=down(now)) == "1 cpu"
        assert since(fleet) == 50


def test_a_worker_that_is_back_after_a_restart_counts_at_once() -> None:
    fleet = Processes()
    fleet.look(0, a=OTHER, w=UP)
    fleet.look(60, a=OTHER, w=down(50))
    fleet.restart()
    assert fleet.look(400, a=OTHER, w=UP) == "11 cpu"
    assert fleet.look(410, a=OTHER, w=down(405)) == "11 cpu"
    assert since(fleet) == 405


@pytest.mark.parametrize("after_grace", AfterGrace)
def test_a_restart_while_everything_is_down_knows_since_when(after_grace: AfterGrace) -> None:
    fleet = Processes(parameters(after_grace=after_grace))
    fleet.look(0, v=OTHER, w=UP)
    assert fleet.look(400, v=down(20), w=down(50)) == UNAVAILABLE
    for now in (500, 600):
        fleet.restart()
        assert fleet.look(now, v=down(now), w=down(now)) == UNAVAILABLE
        assert (since(fleet, "v"), since(fleet, "w")) == (20, 50)


def test_a_restart_while_the_capacity_is_invalid_knows_since_when() -> None:
    fleet = Processes()
    fleet.look(0, a=OTHER, w=UP)
    assert fleet.look(60, a=worker({"cpu": str(2**63 - 1)}), w=down(50)) == dqo.INVALID_CAPACITY
    fleet.restart()
    fleet.look(70, a=OTHER, w=down(65))
    assert since(fleet) == 50


def test_a_worker_that_was_left_out_is_left_out_by_a_new_process_as_well() -> None:
    """At once: it is no part of what is published. It joins when it can be read, and has its grace from then on."""
    fleet = Processes()
    fleet.look(0, a=OTHER)
    assert fleet.look(60, a=OTHER, w=down(60)) == "1 cpu"
    for now in (70, 80):
        fleet.restart()
        assert fleet.look(now, a=OTHER, w=down(now)) == "1 cpu"
        assert "left out: w, unavailable since 2026-12-01T12:01:00Z" in str(fleet.message)
    assert fleet.look(90, a=OTHER, w=UP) == "11 cpu"
    assert fleet.look(100, a=OTHER, w=down(100)) == "11 cpu"


def test_a_worker_that_was_left_out_stays_so_while_others_fail() -> None:
    """What fails in between says so as well."""
    fleet = Processes()
    fleet.look(0, a=OTHER)
    fleet.look(60, a=OTHER, w=down(60))
    assert fleet.look(301, a=down(0), w=down(60)) == UNAVAILABLE
    fleet.restart()
    assert fleet.look(302, a=OTHER, w=down(302)) == "1 cpu"


def test_a_worker_that_was_held_or_waited_for_is_waited_for_by_a_new_process() -> None:
    fleet = Processes()
    fleet.look(0, a=OTHER, v=OTHER, w=UP)
    assert fleet.look(60, a=OTHER, v=OTHER, w=down(50)) == "12 cpu"
    for now in (70, 80):
        fleet.restart()
        assert fleet.look(now, a=OTHER, v=OTHER, w=down(now)) == UNAVAILABLE


def test_where_no_worker_may_be_left_out_one_that_was_is_waited_for() -> None:
    fleet = Processes()
    fleet.look(0, a=OTHER)
    fleet.look(60, a=OTHER, w=down(60))
    fleet.restart()
    fleet.spec = parameters(after_grace=AfterGrace.SOURCE_UNAVAILABLE)
    assert fleet.look(70, a=OTHER, w=down(70)) == UNAVAILABLE


def test_a_message_about_something_else_reminds_of_what_is_unavailable() -> None:
    """Since when each is, and whether others were published without it: through failing looks and restarts."""
    fleet = Processes()
    assert fleet.memory.reminder("fleet") == ""
    fleet.look(0, a=OTHER, w=UP)
    assert fleet.memory.reminder("fleet") == ""
    fleet.look(60, a=OTHER, new=down(55), w=down(50))
    reminder = fleet.memory.reminder("fleet")
    assert reminder == (
        "left out: new, unavailable since 2026-12-01T12:00:55Z; "
        "at the last look: w, unavailable since 2026-12-01T12:00:50Z"
    )
    for now in (70, 80):
        fleet.restart()
        fleet.message = f"MultiKueueParameters fleet: spec is wrong; {reminder}"
        fleet.memory.resume(provider(message=fleet.message), at(now))
        assert fleet.memory.reminder("fleet") == reminder
    assert fleet.look(90, a=OTHER, new=down(90), w=UP) == "11 cpu"
    assert since(fleet, "new") == 55
    assert fleet.memory.reminder("fleet") == "left out: new, unavailable since 2026-12-01T12:00:55Z"
    fleet.look(100, a=OTHER, new=OTHER, w=UP)
    assert fleet.memory.reminder("fleet") == ""


def test_a_reminder_has_room_in_a_message() -> None:
    fleet = Processes()
    names = [f"{number:04}-{'n' * 200}" for number in range(1000)]
    fleet.look(0, **dict.fromkeys(names, down(0)))
    reminder = fleet.memory.reminder("fleet")
    assert len(reminder) < LONGEST_MESSAGE / 2 + 100
    assert reminder.endswith(f"; and {1000 - len(outages_in(reminder))} more are unavailable")


def test_the_last_message_is_read_once() -> None:
    """Later on it is older than what this process knows."""
    fleet = Processes()
    fleet.look(0, a=OTHER, w=UP)
    fleet.message = "held until 2026-12-01T12:05:10Z: w, unavailable since 2026-12-01T12:00:10Z: x"
    fleet.look(60, a=OTHER, w=down(50))
    assert since(fleet) == 50


def test_resuming_keeps_what_a_message_said_that_was_overwritten_meanwhile() -> None:
    """Something else may fail before workers are looked at, and be published."""
    memory = Memory()
    text = texts_of({"w": Outage(at(20), at(320), "", Fate.HELD)}, is_counted=True)[0]
    memory.resume(provider(message=text), at(60))
    states = memory.look(provider(message="spec: x"), {"w": down(60)}, parameters().unavailable_workers, at(60))
    assert states["w"].outage is not None
    assert states["w"].outage.since == at(20)


def test_a_time_that_is_still_to_come_when_a_message_is_read_is_none() -> None:
    """Nor does it become one later on."""
    memory = Memory()
    memory.resume(provider(message=TEXT), at(40))
    states = memory.look(provider(message=TEXT), {"w": down(55)}, parameters().unavailable_workers, at(60))
    assert states["w"].outage is not None
    assert states["w"].outage.since == at(55)


@pytest.mark.parametrize("after_grace", AfterGrace)
def test_the_end_of_a_grace_is_known_after_a_failure_as_well(after_grace: AfterGrace) -> None:
    """Else the last capacity would stay for longer than it has to."""
    fleet = Processes(parameters(after_grace=after_grace))
    assert fleet.memory.look_again("fleet", at(0)) is None
    assert fleet.look(60, a=OTHER, v=down(50), w=down(30)) == UNAVAILABLE
    assert fleet.memory.look_again("fleet", at(60)) == pytest.approx(270, abs=0.1)
    assert fleet.memory.look_again("fleet", at(329.5)) == pytest.approx(0.5, abs=0.1)
    assert fleet.memory.look_again("fleet", at(340)) == pytest.approx(0, abs=0.1)
    fleet.look(340, a=OTHER, v=down(50), w=down(30))
    assert fleet.memory.look_again("fleet", at(340)) == pytest.approx(10, abs=0.1)
    fleet.look(350, a=OTHER, v=down(50), w=down(30))
    assert fleet.memory.look_again("fleet", at(350)) is None


# --- what is read from a message -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "known"),
    [
        (TEXT, 50.0),
        (f"{TEXT}: connection refused", 50.0),
        (f"holding gpu until 2026-12-01T12:30:00Z: observed 1, published 11 cpu; gpu: 1 cpu; {TEXT}: x", 50.0),
        (f"gpu: 1 cpu from 1 worker; {TEXT}: x; headroom gpu: 1 cpu", 50.0),
        ("gpu: 1 cpu; left out: w, unavailable since 2026-12-01T12:00:50Z: x; and 3 more are unavailable", 50.0),
        ("no worker: y; beyond its grace: w, unavailable since 2026-12-01T12:00:50Z; way out", 50.0),
        ("nothing of w; awaited until 2026-12-01T12:05:50Z: w, unavailable since 2026-12-01T12:00:50Z: x", 50.0),
        (f"{TEXT}: x; left out: w, unavailable since 2026-12-01T12:00:40Z: y", 40.0),
        (f"left out: w, unavailable since 2026-12-01T12:00:40Z: y; {TEXT}: x", 40.0),
        (f"{TEXT} … (cut; 40000 characters)", 50.0),
        (f"left out: v.example-1, unavailable since 2026-12-01T12:00:10Z: x; {TEXT}", 50.0),
        ("", None),
        ("gpu: 1 cpu from 1 worker", None),
        (TEXT.replace("w, ", "W, "), None),
        (TEXT.replace("12:00:50Z", "12:00:5"), None),
        (TEXT.replace("12:00:50Z", "12:61:50Z"), None),
        (TEXT.replace("2026-12-01T12:00:50Z", "2026-13-41T12:00:50Z"), None),
        (TEXT.replace("12:00:50Z", "12:02:00Z"), None),
        (f"{TEXT[:-3]} … (cut; 40000 characters)", None),
        ("x is wrong; at the last look: w, unavailable since 2026-12-01T12:00:50Z", 50.0),
        (f"worker {TEXT}", None),
        (f"gpu: {TEXT}", None),
    ],
)
@pytest.mark.parametrize("status", ["True", "False", "Unknown"])
def test_since_when_a_worker_is_unavailable_is_read_from_the_last_message(
    message: str, known: float | None, status: str
) -> None:
    """At 100 s after noon. What the publisher adds does not matter; a time to come, or one that is none, is none."""
    fleet = Processes()
    fleet.message, fleet.status = message, status
    fleet.look(100, a=OTHER, w=down(99))
    assert since(fleet) == (99 if known is None else known)


def test_a_message_that_was_cut_is_read_as_far_as_it_goes() -> None:
    names = [f"{'n' * 200}{number:03}" for number in range(200)]
    parts = [f"left out: {name}, unavailable since 2026-12-01T12:00:50Z: x" for name in names]
    message = message_of("; ".join(parts))
    assert len(message) == LONGEST_MESSAGE
    assert [*outages_in(message)] == names[: len(outages_in(message))]
    assert 100 < len(outages_in(message)) < 200


FORGERIES = [
    TEXT,
    f"; {TEXT}",
    f"x; {TEXT}: y",
    f"x\n; {TEXT}\n",
    f"x{chr(0x3B)}{chr(0x20)}{TEXT}",
    f"x\x00; {TEXT}",
    f"x\N{RIGHT-TO-LEFT OVERRIDE};\t{TEXT}; ",
    "; left out: w, unavailable since 2020-01-01T00:00:00Z",
    "; beyond its grace: w, unavailable since 2020-01-01T00:00:00Z: ",
]


@pytest.mark.parametrize("text", [*FORGERIES, *(f"{'x' * length}{FORGERIES[1]}" for length in (150, 298, 299, 300))])
def test_what_a_worker_says_cannot_shorten_the_grace_of_another(text: str) -> None:
    fleet = Processes()
    fleet.look(90, a=OTHER, evil=UP, w=UP)
    fleet.look(95, a=OTHER, evil=down(91, text), w=UP)
    fleet.restart()
    fleet.look(100, a=OTHER, evil=down(99), w=down(98))
    assert (since(fleet, "evil"), since(fleet, "w")) == (91, 98)


pieces = st.sampled_from([TEXT, "; ", ";", "left out: ", "w, unavailable since ", "2020-01-01T00:00:00Z", ": ", "\n"])


@given(st.lists(st.one_of(pieces, st.text(max_size=40)), max_size=30).map("".join))
def test_whatever_a_worker_says_stays_one_short_line_that_forges_nothing(text: str) -> None:
    line = said(text)
    assert line.isprintable()
    assert len(line) <= 301
    outages = {"evil": Outage(at(1), at(301), line, Fate.HELD), "w": Outage(at(2), at(302), line, Fate.OVERDUE)}
    assert outages_in("; ".join(texts_of(outages, is_counted=True))) == {"evil": at(1), "w": at(2)}


def test_who_was_left_out_is_read_from_the_last_message() -> None:
    """Not one of which another part says that it is held, nor one that stopped the others."""
    out = "left out: {}, unavailable since 2026-12-01T12:00:50Z"
    assert left_out_in(f"gpu: 1 cpu; {out.format('v')}: x; {out.format('w')}; {TEXT}") == {"v"}
    assert left_out_in(f"no worker; {out.format('w').replace('left out', 'beyond its grace')}") == frozenset()


@given(st.text())
def test_any_message_can_be_read(text: str) -> None:
    assert left_out_in(text) <= outages_in(text).keys()


def test_a_text_of_several_lines_becomes_one_that_is_cut() -> None:
    assert said(" forbidden:\n\tUser  x\r\n") == "forbidden: User x"
    assert said("x" * 10_000) == "x" * 300 + "…"
    assert said("x" * 300) == "x" * 300


# --- what holds of every fleet -------------------------------------------------------------------------------------

GRACE = 60
NAMES = "abc"


class World:
    """Looks at workers that come and go, by a seed; what each has is another amount at each look."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)
        self.after_grace = chance.choice(list(AfterGrace))
        self.looks: list[tuple[int, dict[str, Seen]]] = []
        self.restarts: set[int] = set()
        now = 0
        down_since: dict[str, int] = {}
        for number in range(chance.randint(1, 20)):
            now += chance.choice([1, 7, 20, 59, 60, 61])
            for name in NAMES:
                if name in down_since and chance.random() < 0.25:
                    del down_since[name]
                elif name not in down_since and chance.random() < 0.3:
                    down_since[name] = now - chance.choice([0, 0, 1, 5])
            if chance.random() < 0.3:
                self.restarts.add(number)
            named = [name for name in NAMES if chance.random() < 0.97]
            self.looks.append((now, {name: self._seen(number, name, down_since) for name in named}))

    @staticmethod
    def _seen(number: int, name: str, down_since: dict[str, int]) -> Seen:
        if name in down_since:
            return Problem(f"; left out: a, unavailable since {number}", at(down_since[name]))
        return worker({"cpu": str(number + 1000 ** (1 + NAMES.index(name)))})

    def published(self, *, restarts: bool) -> Sequence[tuple[str, dict[str, int]]]:
        """The result of each look, and what is published of each worker after it, by nanos."""
        fleet = Processes(parameters(GRACE, self.after_grace))
        results = []
        for number, (now, seen) in enumerate(self.looks):
            if restarts and number in self.restarts:
                fleet.restart()
            result = fleet.look(now, **seen)
            results.append((result, self._by_worker(fleet) if fleet.error is None else {}))
        return results

    @staticmethod
    def _by_worker(fleet: Processes) -> dict[str, int]:
        assert fleet.fleet is not None
        return {name: sum(each.nanos for each in has.values()) for name, has in fleet.fleet.workers.items()}


worlds = st.integers(0, 2**32).map(World)


def outage_begins(world: World, number: int, name: str) -> int | None:
    """When the outage of that look began: the earliest time since it was last read or not named; None for none."""
    begin: int | None = None
    for now, seen in world.looks[: number + 1]:
        each = seen.get(name)
        if isinstance(each, Problem):
            told = min(now, int((each.since - at(0)).total_seconds()))
            begin = told if begin is None else min(begin, told)
        else:
            begin = None
    return begin


@given(worlds)
def test_no_worker_counts_with_its_last_count_after_its_grace(world: World) -> None:
    """And with nothing but its last count within it; what can be read counts as it is."""
    for restarts in (False, True):
        for number, (result, by_worker) in enumerate(world.published(restarts=restarts)):
            now, seen = world.looks[number]
            event(result if result == UNAVAILABLE else "published")
            for name, nanos in by_worker.items():
                each = seen[name]  # nothing else is counted
                if isinstance(each, Problem):
                    begin = outage_begins(world, number, name)
                    assert begin is not None
                    assert now < begin + GRACE
                    assert nanos == last_count(world, number, name)
                else:
                    assert nanos == sum(quantity.nanos for quantity in each.amounts.values())


def last_count(world: World, number: int, name: str) -> int | None:
    for _, seen in reversed(world.looks[:number]):
        each = seen.get(name)
        if each is None:
            return None
        if not isinstance(each, Problem):
            return sum(quantity.nanos for quantity in each.amounts.values())
    return None


@given(worlds)
def test_a_restart_at_any_moment_changes_nothing_but_holds(world: World) -> None:
    """What it publishes is what is published without it; or else what was published before it stays."""
    straight, restarted = world.published(restarts=False), world.published(restarts=True)
    for without, with_restarts in zip(straight, restarted, strict=True):
        assert with_restarts in (without, (UNAVAILABLE, {}))


@given(worlds)
def test_a_worker_within_its_grace_is_never_left_out(world: World) -> None:
    for restarts in (False, True):
        for number, (result, by_worker) in enumerate(world.published(restarts=restarts)):
            if result == UNAVAILABLE:
                continue
            now, seen = world.looks[number]
            for name in seen:
                begin = outage_begins(world, number, name)
                is_within = begin is not None and now < begin + GRACE and not came_unread(world, number, name)
                assert (name in by_worker) == (begin is None or is_within)


def came_unread(world: World, number: int, name: str) -> bool:
    """Whether it was named first while others were looked at, and has not been read since."""
    for _, seen in reversed(world.looks[: number + 1]):
        each = seen.get(name)
        if each is None:
            return True
        if not isinstance(each, Problem):
            return False
    return False
