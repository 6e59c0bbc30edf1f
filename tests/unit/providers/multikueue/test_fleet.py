"""What a fleet comes to, and what a person is told of it."""

from __future__ import annotations

import msgspec
import pytest

from kueue_dqo.api.durations import Duration
from kueue_dqo.api.multikueue import AfterGrace, Counts, FlavorMapping, InactiveQueues, UnavailableWorkers
from kueue_dqo.api.parameters import ResourceSelection
from kueue_dqo.api.wording import LONGEST_MESSAGE
from kueue_dqo.provider import Notice, SourceUnavailable
from providers.amounts import FLAVOR_WITHOUT_AMOUNTS
from providers.multikueue.fleet import Fleet, observe
from providers.multikueue.mapping import FlavorMap
from providers.multikueue.memory import Memory
from providers.multikueue.outages import outages_in
from providers.multikueue.wording import WORKER_FLAVOR_NOT_MAPPED, WORKER_HELD, WORKER_LEFT_OUT
from tests.unit.providers.multikueue.fleets import (
    GPU,
    Processes,
    Seen,
    amounts_of,
    at,
    down,
    parameters,
    provider,
    request,
    worker,
    worker_of,
)

WORKER1 = worker({"cpu": "13"})
WORKER2 = worker({"cpu": "8", GPU: "5"})
LARGEST = str(2**63 - 1)


def looked(
    flavors: tuple[str, ...] = ("gpu",),
    *,
    mapping: tuple[FlavorMapping, ...] = (),
    others: str | None = None,
    resources: ResourceSelection | None = None,
    out_at_once: bool = False,
    **seen: Seen,
) -> Fleet:
    """One look of a process that has just begun."""
    spec, asked = parameters(mapping=mapping, others=others, resources=resources), provider(flavors)
    if out_at_once:
        spec = msgspec.structs.replace(spec, unavailable_workers=UnavailableWorkers(grace=Duration(0)))
    return observe(request(spec, 0, asked), FlavorMap.of(asked, spec), seen, Memory())


def messages(fleet: Fleet, reason: str) -> list[str]:
    return [notice.message for notice in fleet.observation.notices if notice.reason == reason]


# --- amounts -------------------------------------------------------------------------------------------------------


def test_the_capacity_is_the_sum_over_the_workers() -> None:
    fleet = looked(worker1=WORKER1, worker2=WORKER2)
    assert amounts_of(fleet) == {"gpu": {"cpu": "21", GPU: "5"}}
    assert fleet.observation.summary == (
        "gpu: 21 cpu, 5 nvidia.com/gpu from 2 workers; "
        "largest single worker: 13 cpu (worker1), 5 nvidia.com/gpu (worker2)"
    )
    assert fleet.observation.look_again is None
    assert fleet.observation.notices == ()


def test_sums_are_exact() -> None:
    """To the nano, where floats would have lost it; and a binary amount stays one."""
    fleet = looked(a=worker({"cpu": "9007199254740993", "memory": "1Gi"}), b=worker({"cpu": "1n", "memory": "1Gi"}))
    assert amounts_of(fleet) == {"gpu": {"cpu": "9007199254740993000000001n", "memory": "2Gi"}}


def test_flavors_of_workers_count_as_those_that_the_mapping_names() -> None:
    """Several flavors of one worker may count as the same."""
    seen = worker_of({"h100": {GPU: "8"}, "h200": {GPU: "4"}, "spot": {GPU: "2"}})
    mapping = (FlavorMapping("h100", "gpu"), FlavorMapping("spot", "spot", ("b",)))
    fleet = looked(("spot", "gpu"), mapping=mapping, others="gpu", a=seen, b=seen)
    assert amounts_of(fleet) == {"spot": {GPU: "2"}, "gpu": {GPU: "26"}}
    assert {
        cluster: {str(pair): str(each) for pair, each in has.items()} for cluster, has in fleet.workers.items()
    } == {
        "a": {f"gpu/{GPU}": "14"},
        "b": {f"gpu/{GPU}": "12", f"spot/{GPU}": "2"},
    }


def test_flavors_are_published_in_the_order_of_the_spec() -> None:
    seen = worker_of({name: {"cpu": "1"} for name in ("a", "b", "c")})
    for order in (("c", "a", "b"), ("b", "c", "a")):
        mapping = tuple(FlavorMapping(name, name) for name in order)
        assert [*amounts_of(looked(order, mapping=mapping, one=seen))] == [*order]


def test_a_zero_that_a_worker_has_is_published() -> None:
    """It says that there is a quota of nothing, which is something else than no quota."""
    fleet = looked(a=worker({"cpu": "1", GPU: "0"}), b=worker({"cpu": "1"}))
    assert amounts_of(fleet) == {"gpu": {"cpu": "2", GPU: "0"}}


def test_a_sum_above_the_largest_quantity_is_the_problem_of_the_worker_with_the_most() -> None:
    """It must not stop the others, whoever it belongs to; the largest quantity itself is a capacity."""
    assert amounts_of(looked(a=worker({"cpu": LARGEST}), b=worker({"cpu": "0"})))["gpu"]["cpu"] == LARGEST
    fleet = looked(out_at_once=True, a=worker({"cpu": LARGEST}), b=worker({"cpu": "1"}), c=worker({GPU: "1"}))
    assert amounts_of(fleet) == {"gpu": {"cpu": "1", GPU: "1"}}
    both = looked(out_at_once=True, a=worker({"cpu": LARGEST}), b=worker({"cpu": LARGEST}), c=worker({"cpu": "1"}))
    assert amounts_of(both) == {"gpu": {"cpu": "1"}}
    told = fleet.observation.summary
    assert "left out: a, unavailable since" in told
    assert f"its {LARGEST} of gpu/cpu and what the others have are more than the largest quantity" in told


def test_what_is_not_reported_is_no_reason_to_fail() -> None:
    only_gpus = ResourceSelection(include=(GPU,))
    fleet = looked(resources=only_gpus, a=worker({"cpu": LARGEST, GPU: "1"}), b=worker({"cpu": "1", GPU: "2"}))
    assert amounts_of(fleet) == {"gpu": {GPU: "3"}}
    assert "cpu" not in fleet.observation.summary


# --- the largest single worker -------------------------------------------------------------------------------------


def test_the_largest_single_worker_is_that_of_its_sum() -> None:
    """What it has of several flavors that count as one is added up; of equal ones the first by name is named."""
    fleet = looked(
        b=worker_of({"x": {"cpu": "3"}, "y": {"cpu": "4"}}),
        a=worker_of({"x": {"cpu": "7"}}),
        c=worker_of({"x": {"cpu": "6"}}),
    )
    assert {str(pair): (str(each.quantity), each.cluster) for pair, each in fleet.largest.items()} == {
        "gpu/cpu": ("7", "a")
    }


@pytest.mark.parametrize(
    "seen",
    [
        {"a": worker({"cpu": "3"})},
        {"a": worker({"cpu": "3"}), "b": worker({"cpu": "0"})},
        {"a": worker({"cpu": "3"}), "b": worker()},
        {"a": worker({"cpu": "0"}), "b": worker({"cpu": "0"})},
    ],
)
def test_the_largest_single_worker_goes_without_saying_where_no_other_has_anything(seen: dict[str, Seen]) -> None:
    fleet = Processes()
    fleet.look(0, **seen)
    assert str(fleet.message).startswith("gpu: ")
    assert "largest" not in str(fleet.message)


def test_the_largest_single_worker_is_told_by_flavor_where_there_are_several() -> None:
    mapping = tuple(FlavorMapping(name, name) for name in ("gpu", "cold", "none"))
    a, b = worker_of({"gpu": {GPU: "8"}, "cold": {"cpu": "1"}}), worker_of({"gpu": {GPU: "4", "cpu": "0"}})
    assert looked(("gpu", "cold", "none"), mapping=mapping, a=a, b=b).observation.summary == (
        f"gpu: 0 cpu, 12 {GPU} from 2 workers; cold: 1 cpu from 1 worker; none: nothing; "
        f"largest single worker of gpu: 8 {GPU} (a)"
    )


# --- queues and flavors --------------------------------------------------------------------------------------------


def test_inactive_queues_are_told() -> None:
    """The first few by name."""
    inactive = {f"q{number}": "Stopped" for number in range(6)}
    summary = looked(
        a=worker({"cpu": "1"}, inactive={"old": "Deleting"}), b=worker(inactive=inactive)
    ).observation.summary
    assert "not counted: a/old (Deleting), b/q0 (Stopped)" in summary
    assert "b/q3 (Stopped) and 2 more" in summary
    assert "nothing related" not in summary


def test_workers_without_related_queues_are_told() -> None:
    """Not those whose related queues have nothing, or are not active."""
    fleet = looked(
        a=worker({"cpu": "1"}),
        b=worker(queues=()),
        c=worker(queues=()),
        d=worker(),
        e=worker(queues=(), inactive={"q": "Stopped"}),
    )
    assert fleet.observation.summary == (
        "gpu: 1 cpu from 1 worker; not counted: e/q (Stopped); nothing related on b, c"
    )


def test_flavors_that_nothing_maps_are_an_event() -> None:
    """They do not count, nor do those that are mapped for other workers only."""
    mapping = (FlavorMapping("gpu", "gpu", ("a",)),)
    fleet = looked(
        mapping=mapping, a=worker_of({"gpu": {"cpu": "1"}, "spot": {"cpu": "2"}}), b=worker_of({"gpu": {"cpu": "4"}})
    )
    assert amounts_of(fleet) == {"gpu": {"cpu": "1"}}
    [told] = messages(fleet, WORKER_FLAVOR_NOT_MAPPED)
    assert "a/spot, b/gpu" in told
    many = worker_of({f"f{number}": {"cpu": "1"} for number in range(9)})
    [told] = messages(looked(mapping=mapping, a=many), WORKER_FLAVOR_NOT_MAPPED)
    assert "and 4 more" in told


def test_orchestrated_flavors_without_any_amount_are_an_event() -> None:
    fleet = looked(("gpu", "cold"), others="gpu", a=worker({"cpu": "1"}))
    [told] = messages(fleet, FLAVOR_WITHOUT_AMOUNTS)
    assert "nothing" not in told
    assert "anything of cold, so its quotas become 0" in told
    fleet = looked(resources=ResourceSelection(exclude=("cpu",)), a=worker({"cpu": "1"}))
    [told] = messages(fleet, FLAVOR_WITHOUT_AMOUNTS)
    assert "anything of gpu that spec.resources lets through" in told


# --- workers that cannot be read -----------------------------------------------------------------------------------


def test_a_worker_that_is_gone_for_a_while_counts_until_its_grace_is_over() -> None:
    """21 of cpu until then, 13 after that, and 21 when it is back."""
    fleet = Processes()
    assert fleet.look(0, worker1=WORKER1, worker2=WORKER2) == f"21 cpu, 5 {GPU}"
    assert fleet.look(60, worker1=WORKER1, worker2=down(50)) == f"21 cpu, 5 {GPU}"
    assert fleet.message == (
        "gpu: 21 cpu, 5 nvidia.com/gpu from 2 workers; "
        "largest single worker: 13 cpu (worker1), 5 nvidia.com/gpu (worker2); "
        "held until 2026-12-01T12:05:50Z: worker2, unavailable since 2026-12-01T12:00:50Z: connection refused"
    )
    assert fleet.look(349, worker1=WORKER1, worker2=down(50)) == f"21 cpu, 5 {GPU}"
    assert fleet.look(350, worker1=WORKER1, worker2=down(50)) == f"13 cpu, 0 {GPU}"
    assert fleet.message == (
        "gpu: 13 cpu, 0 nvidia.com/gpu from 1 worker; no worker that counts has nvidia.com/gpu; "
        "left out: worker2, unavailable since 2026-12-01T12:00:50Z: connection refused"
    )
    assert fleet.look(400, worker1=WORKER1, worker2=WORKER2) == f"21 cpu, 5 {GPU}"
    assert "worker2, unavailable" not in str(fleet.message)


def test_what_others_have_is_counted_anew_while_one_is_held() -> None:
    fleet = Processes()
    fleet.look(0, worker1=WORKER1, worker2=WORKER2)
    assert fleet.look(60, worker1=worker({"cpu": "3"}), worker2=down(50)) == f"11 cpu, 5 {GPU}"


def test_what_is_held_counts_by_the_present_mapping() -> None:
    fleet = Processes()
    fleet.look(0, worker1=WORKER1, worker2=WORKER2)
    fleet.spec = parameters(mapping=[FlavorMapping("gpu", "gpu", ("worker1",))])
    assert fleet.look(60, worker1=WORKER1, worker2=down(50)) == f"13 cpu, 0 {GPU}"


@pytest.mark.parametrize(
    "changes",
    [
        {"counts": Counts.QUOTA_AND_BORROWABLE},
        {"counts": Counts.WORKER_PROVIDERS},
        {"worker_providers": ("nodes",)},
        {"inactive_queues": InactiveQueues.COUNT},
        {},
    ],
    ids=str,
)
def test_what_was_counted_in_another_way_is_not_held(changes: dict[str, object]) -> None:
    """Or of other LocalQueues. It is waited for; and where the question is the old one again, it holds again."""
    fleet = Processes()
    before = fleet.spec
    fleet.reached = {"worker1": frozenset({"ns/a"}), "worker2": frozenset({"ns/a", "ns/b"})}
    fleet.look(0, worker1=WORKER1, worker2=WORKER2)
    assert fleet.look(60, worker1=WORKER1, worker2=down(50)) == f"21 cpu, 5 {GPU}"
    fleet.spec = msgspec.structs.replace(before, **changes)
    if not changes:
        fleet.reached = {"worker1": frozenset({"ns/a"}), "worker2": frozenset({"ns/a"})}
    assert fleet.look(70, worker1=WORKER1, worker2=down(50)) == SourceUnavailable.reason
    assert "awaited until 2026-12-01T12:05:50Z: worker2, unavailable since 2026-12-01T12:00:50Z" in str(fleet.message)
    fleet.spec, fleet.reached["worker2"] = before, frozenset({"ns/a", "ns/b"})
    assert fleet.look(80, worker1=WORKER1, worker2=down(50)) == f"21 cpu, 5 {GPU}"
    fleet.spec = msgspec.structs.replace(before, **changes)
    assert fleet.look(350, worker1=WORKER1, worker2=down(50)) == f"13 cpu, 0 {GPU}"


def test_what_does_not_change_the_count_of_a_worker_leaves_it_held() -> None:
    """Another worker's LocalQueues, or what of the count is reported."""
    fleet = Processes()
    fleet.reached = {"worker1": frozenset({"ns/a"}), "worker2": frozenset({"ns/a"})}
    fleet.look(0, worker1=WORKER1, worker2=WORKER2)
    fleet.reached["worker1"] = frozenset({"ns/b"})
    fleet.spec = parameters(resources=ResourceSelection(include=("cpu",)))
    assert fleet.look(60, worker1=WORKER1, worker2=down(50)) == "21 cpu"


def test_a_worker_that_may_not_be_left_out_stops_everything_after_its_grace() -> None:
    fleet = Processes(parameters(after_grace=AfterGrace.SOURCE_UNAVAILABLE))
    fleet.look(0, worker1=WORKER1, worker2=WORKER2)
    assert fleet.look(349, worker1=WORKER1, worker2=down(50)) == f"21 cpu, 5 {GPU}"
    assert fleet.look(350, worker1=WORKER1, worker2=down(50)) == SourceUnavailable.reason
    assert fleet.told == f"21 cpu, 5 {GPU}"
    assert fleet.message == (
        "worker2 cannot be read within the grace, so that the last capacity stays until that is repaired, or the "
        "worker is taken out of its MultiKueueConfig; "
        "beyond its grace: worker2, unavailable since 2026-12-01T12:00:50Z: connection refused; "
        "spec.unavailableWorkers.afterGrace of MultiKueueParameters fleet: LeaveOut would do without"
    )


@pytest.mark.parametrize("after_grace", AfterGrace)
def test_a_fleet_of_which_nothing_can_be_read_is_never_a_capacity_of_zero(after_grace: AfterGrace) -> None:
    fleet = Processes(parameters(after_grace=after_grace))
    fleet.look(0, worker1=WORKER1, worker2=WORKER2)
    assert fleet.look(299, worker1=down(0), worker2=down(0)) == f"21 cpu, 5 {GPU}"
    assert fleet.look(300, worker1=down(0), worker2=down(0)) == SourceUnavailable.reason
    assert "no worker can be read within its grace" in str(fleet.message)
    assert [*outages_in(str(fleet.message))] == ["worker1", "worker2"]


@pytest.mark.parametrize("after_grace", AfterGrace)
def test_a_fleet_without_workers_is_never_a_capacity_of_zero(after_grace: AfterGrace) -> None:
    fleet = Processes(parameters(after_grace=after_grace))
    fleet.look(0, worker1=WORKER1)
    assert fleet.look(1) == SourceUnavailable.reason
    assert "no worker is left" in str(fleet.message)


def test_workers_that_can_be_read_and_have_nothing_are_a_capacity() -> None:
    assert looked(a=worker(queues=())).observation.summary == "gpu: nothing; nothing related on a"


@pytest.mark.parametrize(
    ("after_grace", "then", "afterwards"),
    [
        (AfterGrace.LEAVE_OUT, "what cannot be read by then is left out, as long as another worker counts", "13 cpu"),
        (
            AfterGrace.SOURCE_UNAVAILABLE,
            "it stays then as well, as spec.unavailableWorkers.afterGrace of MultiKueueParameters fleet says",
            SourceUnavailable.reason,
        ),
    ],
)
def test_a_worker_of_which_nothing_is_known_is_waited_for(after_grace: AfterGrace, then: str, afterwards: str) -> None:
    """What it has may be most of all that there is."""
    fleet = Processes(parameters(after_grace=after_grace))
    assert fleet.look(60, worker1=WORKER1, worker2=down(50)) == SourceUnavailable.reason
    assert fleet.message == (
        "this process has not read worker2 as it is asked for now, so that the last capacity stays; awaited until "
        f"2026-12-01T12:05:50Z: worker2, unavailable since 2026-12-01T12:00:50Z: connection refused; {then}"
    )
    assert fleet.look(350, worker1=WORKER1, worker2=down(50)) == afterwards


def test_it_is_looked_at_again_when_the_next_grace_ends() -> None:
    """And then that grace is over."""
    fleet = Processes()
    fleet.look(0, a=WORKER1, b=WORKER1, c=WORKER1, d=WORKER1)
    seen: dict[str, Seen] = {"a": down(50), "b": down(20.5), "c": down(90), "d": WORKER1}
    now = 100.25
    for left in (39, 26, 13):
        fleet.look(now, **seen)
        assert fleet.fleet is not None
        look_again = fleet.fleet.observation.look_again
        assert look_again is not None
        assert look_again > min(each for each in (320, 350, 390) if each > now) - now
        fleet.look(now + look_again - 0.02, **seen)
        now += look_again
        assert fleet.look(now, **seen) == f"{left} cpu"
    assert fleet.fleet is not None
    assert fleet.fleet.observation.look_again is None


# --- Events --------------------------------------------------------------------------------------------------------


def notices(fleet: Processes) -> tuple[Notice, ...]:
    assert fleet.fleet is not None
    return fleet.fleet.observation.notices


def test_events_of_unavailable_workers_change_with_their_fate_alone() -> None:
    """Whatever words the failure is put in at each look."""
    fleet = Processes()
    fleet.look(0, worker1=WORKER1, worker2=WORKER2)
    fleet.look(60, worker1=WORKER1, worker2=down(50))
    held = notices(fleet)
    assert [(each.reason, each.is_warning) for each in held] == [(WORKER_HELD, True)]
    assert "since 2026-12-01T12:00:50Z: what was last read of it counts until 2026-12-01T12:05:50Z" in held[0].message
    assert "and then it is left out" in held[0].message
    fleet.look(70, worker1=worker({"cpu": "1"}), worker2=down(65, "timed out"))
    assert notices(fleet) == held
    fleet.look(400, worker1=WORKER1, worker2=down(50))
    left_out = notices(fleet)
    assert [each.reason for each in left_out] == [WORKER_LEFT_OUT]
    assert "worker2 is unavailable since 2026-12-01T12:00:50Z, for longer than its grace of 5m" in left_out[0].message
    fleet.look(999, worker1=WORKER1, worker2=down(50, "no route to host"))
    assert notices(fleet) == left_out
    fleet.look(1000, worker1=WORKER1, worker2=WORKER2)
    assert notices(fleet) == ()


def test_events_say_what_comes_after_the_grace() -> None:
    fleet = Processes(parameters(after_grace=AfterGrace.SOURCE_UNAVAILABLE))
    fleet.look(0, worker1=WORKER1, worker2=WORKER2)
    fleet.look(60, worker1=WORKER1, worker2=down(50))
    assert "and then nothing new is published" in notices(fleet)[0].message


def test_an_event_tells_of_a_worker_that_was_never_read() -> None:
    """Until its grace is over, it is not out for longer than that."""
    fleet = Processes()
    fleet.look(0, worker1=WORKER1)
    fleet.look(60, worker1=WORKER1, worker2=down(60))
    [told] = notices(fleet)
    assert told.reason == WORKER_LEFT_OUT
    assert told.message.startswith(
        "MultiKueueCluster worker2 is unavailable since 2026-12-01T12:01:00Z and is left out; "
    )


# --- bounds --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("down_workers", [20, 100])
def test_a_message_has_room_for_a_fleet_that_is_down(down_workers: int) -> None:
    """Whatever is said of each, it is known since when all of them are unavailable."""
    fleet = Processes()
    names = [f"cluster-{number}" for number in range(down_workers)]
    fleet.look(0, a=WORKER1, **dict.fromkeys(names, WORKER2))
    fleet.look(60, a=WORKER1, **{name: down(number % 50, "x" * 100_000) for number, name in enumerate(names)})
    message = str(fleet.message)
    assert len(message) < LONGEST_MESSAGE
    assert outages_in(message) == {name: at(number % 50) for number, name in enumerate(names)}


def test_a_message_says_how_many_more_are_unavailable() -> None:
    fleet = Processes()
    names = [f"{number:04}-{'n' * 200}" for number in range(1000)]
    fleet.look(0, a=WORKER1, **dict.fromkeys(names, WORKER2))
    fleet.look(60, a=WORKER1, **dict.fromkeys(names, down(50, "why")))
    message = str(fleet.message)
    assert len(message) < LONGEST_MESSAGE
    listed = len(outages_in(message))
    assert 30 < listed < 1000
    assert message.endswith(f"; and {1000 - listed} more are unavailable")


def test_a_message_has_room_for_unavailable_workers_behind_any_amounts() -> None:
    fleet = Processes(
        parameters(mapping=[FlavorMapping(f"f{n}", f"f{n}") for n in range(64)]), [f"f{n}" for n in range(64)]
    )
    seen = worker_of({f"f{n}": {f"example.com/{'r' * 200}-{m}": "1" for m in range(20)} for n in range(64)})
    fleet.look(0, a=seen, b=seen, c=seen)
    fleet.look(60, a=seen, b=seen, c=down(50))
    assert len(str(fleet.message)) < LONGEST_MESSAGE
    assert outages_in(str(fleet.message)) == {"c": at(50)}
