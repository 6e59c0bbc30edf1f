"""The text of a hold, and what is read back from a message, whoever wrote it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kueue_dqo.api.quantity import Quantity
from providers.guards import Guard, Hold, holds_in, texts_of
from providers.pipeline import message_of_status
from tests.unit.providers.guards.guarded import GPU, NOON, Guarded, capacity, guards, h100

FALL = "holding h100 until 2026-11-30T12:00:00Z: observed 0, published 80 nvidia.com/gpu"
RISE = (
    "holding a100.x until 2026-11-30T12:00:00Z: "
    "observed 2, published 1500m cpu and observed 16Gi, published nothing memory"
)
STEPS = "holding h100 until 2026-11-30T12:00:00Z: observed 0, published 72, then 64, lately 80 nvidia.com/gpu"


def breaker_text() -> str:
    """One hold, and the command behind it."""
    pool = Guarded(guards(percent=50, grace=600), h100(80))
    pool.see(0, h100(0))
    return "; ".join(pool.message.split("; ")[:3])


def test_a_hold_is_read_back_from_the_beginning_of_a_message() -> None:
    assert holds_in(f"{FALL}; h100: 10 nodes") == (
        Hold("h100", Guard.FALL, NOON, {GPU: Quantity.of(0)}, {GPU: Quantity.of(80)}),
    )


@pytest.mark.parametrize("text", [FALL, RISE, STEPS, breaker_text()])
@pytest.mark.parametrize("rest", ["", "; h100: 10 nodes", "; "])
def test_what_is_read_back_is_what_was_written(text: str, rest: str) -> None:
    assert written(holds_in(text + rest)) == text


def test_several_holds_are_read_back_in_their_order() -> None:
    texts = [FALL, STEPS.replace("h100", "h200"), breaker_text().replace("holding h100", "holding b200")]
    assert written(holds_in("; ".join([*texts, "h100: 10 nodes"]))) == "; ".join(texts)


def test_the_command_stands_behind_all_holds_and_is_read_back_from_there() -> None:
    """Whose holds they are is told once."""
    (breaker,) = holds_in(breaker_text())
    holds = (breaker, only_one(holds_in(RISE)), breaker._replace(flavor="b200", hash="0123456789"))
    message = message_of_status(holds, "summary", ())
    assert message.split("; kubectl annotate ")[0].endswith("acknowledge=0123456789)")
    assert breaker.provider == "pool"
    assert holds_in(message) == holds


@pytest.mark.parametrize(
    ("text", "by"),
    [
        (" --overwrite", ""),
        ("pool", ""),
        ("dev/acknowledge=", "dev/acknowledge=0123456789"),
        ("kubectl annotate", "h100: 10 nodes; kubectl annotate"),
    ],
)
def test_a_large_fall_without_its_command_is_not_taken_up(text: str, by: str) -> None:
    assert text in breaker_text()
    message = f"{FALL.replace('h100', 'h200')}; {breaker_text().replace(text, by)}"
    assert [hold.guard for hold in holds_in(message)] == [Guard.FALL]


def test_a_direction_is_read_back() -> None:
    assert only_one(holds_in(RISE)).guard is Guard.RISE
    assert only_one(holds_in(FALL)).guard is Guard.FALL


@pytest.mark.parametrize(
    "message",
    [
        "",
        "h100: 10 nodes, 80 nvidia.com/gpu",
        f"h100: 10 nodes; {FALL}",
        f" {FALL}",
        f"{FALL}\n",
        f"{FALL}, and more",
        FALL.replace("0, published 80", "80, published 80"),
        FALL.replace("published 80", "published 8O"),
        FALL.replace("published 80", "published 080"),
        FALL.replace("published 80", "published -80"),
        FALL.replace("published 80", f"published {'8' * 65}"),
        FALL.replace("published 80", "published 1e999999999"),
        FALL.replace("published 80", "published 80.0"),
        FALL.replace(" nvidia.com/gpu", ""),
        FALL.replace("2026-11-30T12:00:00Z", "2026-11-31T12:00:00Z"),
        FALL.replace("2026-11-30T12:00:00Z", "2026-11-30T12:00:60Z"),
        FALL.replace("2026-11-30T12:00:00Z", "2026-11-30T13:00:00+01:00"),
        FALL.replace("2026-11-30T12:00:00Z", "9999-12-31T23:59:59-23:59"),
        FALL.replace("2026-11-30T12:00:00Z", "0000-01-01T00:00:00Z"),
        FALL.replace("2026-11-30T12:00:00Z", "soon"),
        f"{FALL} and observed 1, published 2 nvidia.com/gpu",
        f"{FALL} and observed 3, published 2 rise.example.com/x",
        f"{FALL} and observed 1, published 2 before.it",
        f"{FALL} (a fall of 100 %; do as you like)",
        breaker_text().replace("a fall of 100 %", "a fall of 10 %"),
        breaker_text().replace("capacityproviders.kueue.x-k8s.io", "nodes"),
        breaker_text().replace("acknowledge=", "acknowledge=x"),
        breaker_text()[:-1],
        f"{FALL} " * 2000,
        f"{FALL} and " * 2000,
        "holding " * 4000,
    ],
)
def test_any_other_text_holds_nothing(message: str) -> None:
    assert holds_in(message) == ()


def test_a_resource_is_held_once() -> None:
    assert len(holds_in(f"{FALL}; {FALL}; {STEPS}")) == 1


@given(st.text(max_size=200) | st.from_regex(r"holding [a-z0-9.-]{1,9} until [0-9TZ:-]{20}: observed .*"))
def test_no_text_is_too_strange(text: str) -> None:
    for hold in holds_in(text):
        assert text.startswith(str(hold))


edits = st.tuples(st.integers(0, 400), st.sampled_from(["", "0", "9", " ", ";", "-", "a", "Z", "and", "nothing", "\n"]))


@given(st.sampled_from([FALL, STEPS, breaker_text()]), edits)
def test_an_edited_text_holds_what_it_says_or_nothing(text: str, edit: tuple[int, str]) -> None:
    place, by = edit
    place %= len(text)
    edited = f"{text[:place]}{by}{text[place + 1 :]}"
    # A semicolon ends what is held; what comes after it is a summary.
    assert all(f"{edited};".startswith(f"{hold};") for hold in holds_in(edited))


def test_a_capacity_of_many_flavors_that_fall_at_once_is_acknowledged_by_one_command() -> None:
    """Also where their texts are longer than a message may be."""
    flavors = tuple(f"flavor-{number:02}" for number in range(64))
    resources = [f"example.com/a-resource-with-a-rather-long-name-{number:02}" for number in range(16)]
    pool = Guarded(
        guards(percent=50, grace=600),
        capacity({name: dict.fromkeys(resources, 80) for name in flavors}),
        flavors=flavors,
    )
    gone = capacity({name: dict.fromkeys(resources, 0) for name in flavors})
    holds = pool.see(0, gone).holds
    assert len(holds) == 64
    assert len(pool.message) <= 32_768
    assert pool.message.endswith("--overwrite publishes them now; h100: 10 nodes; headroom h100: 8 cpu")
    read = holds_in(pool.message)
    assert 10 < len(read) < 64
    assert read == holds[: len(read)]
    assert f"; and {64 - len(read)} more are held; kubectl annotate" in pool.message
    pool.acknowledged = pool.message.partition("kueue-dqo.dev/acknowledge=")[2].split(" ")[0]
    assert pool.see(1, gone).capacity == gone


@pytest.mark.parametrize(("year", "gpus"), [("1000", 0), ("1969", 0), ("9999", 80)])
def test_a_time_far_away_breaks_nothing(year: str, gpus: int) -> None:
    pool = Guarded(guards(fall=60), h100(80))
    pool.see(0, h100(0))
    pool.message = pool.message.replace("2026", year)
    pool = pool.restart()
    assert pool.see(30, h100(0)).capacity == h100(gpus)
    assert pool.see(90, h100(0)).capacity == h100(0)


def test_an_edited_breaker_is_not_taken_up() -> None:
    pool = Guarded(guards(percent=50, grace=600), h100(80))
    pool.see(0, h100(0))
    pool.message = pool.message.replace("2026-11-30T12:10:00Z", "2026-11-30T12:00:01Z")
    assert len(holds_in(pool.message)) == 1
    assert pool.restart().see(30, h100(0)).capacity == h100(80)


def test_a_message_that_is_too_long_is_cut_and_keeps_its_first_holds() -> None:
    hold = only_one(holds_in(FALL))
    holds = [hold._replace(flavor=f"flavor-{number}") for number in range(1000)]
    message = message_of_status(holds, "summary", ())
    assert 30_000 < len(message) <= 32_768
    assert message.endswith(" more are held; summary")
    read = holds_in(message)
    assert len(read) > 300
    assert list(read) == holds[: len(read)]


@pytest.mark.parametrize("length", range(10, 90, 10))
def test_holds_leave_room_for_what_a_source_says(length: int) -> None:
    """It may be why it fails. Only its end is cut."""
    holds = [only_one(holds_in(FALL))._replace(flavor=f"{'f' * length}-{number}") for number in range(1000)]
    message = message_of_status(holds, "x" * 40_000, ())
    assert len(message) == 32_768
    assert f" more are held; {'x' * 1900}" in message


@pytest.mark.parametrize("room", range(180, 600, 7))
def test_holds_with_their_command_keep_to_their_room(room: int) -> None:
    (breaker,) = holds_in(breaker_text())
    holds = [only_one(holds_in(FALL)), breaker, breaker._replace(flavor="b200"), only_one(holds_in(RISE))]
    texts = texts_of(holds, room=room)
    assert sum(len(f"{text}; ") for text in texts) <= room
    assert texts[-1].startswith("kubectl annotate")


def written(holds: tuple[Hold, ...]) -> str:
    return "; ".join(texts_of(holds, room=10_000))


def only_one(holds: tuple[Hold, ...]) -> Hold:
    (hold,) = holds
    return hold
