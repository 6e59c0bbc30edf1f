"""What holds of every node, whatever NVML says."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kueue_dqo.api.gpu import MAX_UNHEALTHY_DEVICES, AgentProblem, GPUInventory
from providers.nvidia_gpu.agent.devices import Device, MigDevice, NodeUnreadable, Reading, Xid
from providers.nvidia_gpu.agent.health import Health
from providers.nvidia_gpu.agent.report import ROOM, fitted, fitted_problem, stored_size
from tests.unit.providers.nvidia_gpu.agent.readings import (
    DRIVER,
    H100,
    LOST,
    MINUTE,
    NOON,
    ODD,
    RESET,
    counts,
    health,
    judged,
    listed,
)

MOST = 5
"""GPUs of a node here."""


FEWER = settings(max_examples=200)


def states(number: int) -> list[Device | None]:
    """GPU-<number> at its index, in every state that makes a difference; None: NVML does not list it."""
    gpu = Device(number, f"GPU-{number}", product=H100 if number % 3 else "NVIDIA L4")
    cuts = [("1g.10gb", "1g.10gb"), ("2g.20gb", "1g.10gb", "3g.40gb"), ()]
    migs = [
        tuple(MigDevice(f"MIG-{number}-{at}", profile, at, 0) for at, profile in enumerate(profiles))
        for profiles in cuts
    ]
    whole = [gpu, replace(gpu, recovery_action=0), replace(gpu, recovery_action=4), replace(gpu, row_remap_failed=True)]
    cut = [replace(gpu, mig_enabled=True, mig_devices=each) for each in migs]
    failing = [Device(number, uuid, error=error) for error in (LOST, RESET, ODD) for uuid in (gpu.uuid, None)]
    return [*whole, *cut, replace(cut[0], recovery_action=2), *failing, None]


STATES = [states(number) for number in range(MOST)]


def is_one(devices: tuple[Device, ...]) -> bool:
    """Whether these may be what NVML says of a node that the agent can see: one of them can be read."""
    return any(device.error is None for device in devices)


def nodes(*, uuid_known: bool = False) -> st.SearchStrategy[Reading]:
    """A reading of all GPUs of a node."""
    kinds = [[one for one in each if not uuid_known or one is None or one.uuid is not None] for each in STATES]
    drawn = st.tuples(*(st.sampled_from(each) for each in kinds))
    listed_ones = drawn.map(lambda each: tuple(device for device in each if device is not None))
    return listed_ones.filter(is_one).map(lambda devices: Reading(DRIVER, devices))


readings = nodes()
with_uuids = nodes(uuid_known=True)
xids = st.builds(
    Xid,
    st.sampled_from([13, 48, 79]),
    st.one_of(st.none(), st.integers(0, MOST - 1).map(lambda number: f"GPU-{number}")),
    st.one_of(st.none(), st.integers(0, 3)),
    st.just(0),
)
stories = st.lists(st.one_of(readings, xids), min_size=1, max_size=6)


def told(made: Health, story: list[Reading | Xid]) -> list[GPUInventory]:
    """The inventories of a story; something happens every four minutes."""
    found = []
    for step, event in enumerate(story):
        now = NOON + 4 * step * MINUTE
        if isinstance(event, Xid):
            made.note(event, now)
        else:
            found.append(judged(made, event, now))
    return found


def end(story: list[Reading | Xid]) -> timedelta:
    return 4 * len(story) * MINUTE


@FEWER
@given(stories, readings)
def test_judging_the_same_twice_says_the_same(story: list[Reading | Xid], last: Reading) -> None:
    made = health()
    told(made, story)
    now = NOON + end(story)
    assert judged(made, last, now) == judged(made, last, now)


@FEWER
@given(stories, readings)
def test_every_gpu_is_counted_once(story: list[Reading | Xid], last: Reading) -> None:
    """Of those that NVML lists: healthy, or told by name or index; whole GPUs and MIG devices as they were read."""
    made = health()
    told(made, story)
    inventory = judged(made, last, NOON + end(story))
    there = {device.uuid for device in last.devices}
    whole_gpus = [key for key in listed(inventory) if not str(key).startswith("MIG-")]
    removed = [each.uuid for each in inventory.unhealthy if each.reason == "Removed"]
    assert not there.intersection(removed)
    assert inventory.gpus + len(whole_gpus) - len(removed) == len(last.devices)
    assert inventory.mig_gpus <= inventory.gpus
    for device in last.devices:
        if device.error is None and any(key == device.uuid for key in whole_gpus):
            assert not {mig.uuid for mig in device.mig_devices} & set(listed(inventory))
    if all(device.error is None for device in last.devices):
        expected = [mig.profile for device in last.devices for mig in device.mig_devices if device.mig_enabled]
        units = {f"mig-{profile}": expected.count(profile) for profile in expected}
        if whole := sum(not device.mig_enabled for device in last.devices):
            units["gpu"] = whole
        assert {name: sum(both) for name, both in counts(inventory).items()} == units


@FEWER
@given(stories, with_uuids, st.randoms(use_true_random=False))
def test_the_order_of_nvml_means_nothing_where_uuids_are_known(
    story: list[Reading | Xid], last: Reading, chance: random.Random
) -> None:
    shuffled = list(last.devices)
    chance.shuffle(shuffled)
    other = Reading(DRIVER, tuple(replace(device, index=index) for index, device in enumerate(shuffled)))
    answers = []
    for final in (last, other):
        made = health()
        told(made, story)
        answers.append(judged(made, final, NOON + end(story)))
    assert answers[0] == answers[1]


@FEWER
@given(stories, with_uuids)
def test_a_new_process_goes_on_with_since(story: list[Reading | Xid], last: Reading) -> None:
    """With the same reading, for every reason that it finds again."""
    made = health()
    told(made, story)
    before = judged(made, last, NOON + end(story))
    after = judged(health(resumed=before), last, NOON + end(story) + MINUTE)
    for key, (reason, since) in listed(after).items():
        if key in listed(before) and listed(before)[key][0] == reason:
            assert listed(before)[key][1] == since


@FEWER
@given(stories, with_uuids)
def test_a_new_process_says_the_same_of_gpus_that_can_be_read(story: list[Reading | Xid], last: Reading) -> None:
    """Where NVML has no recovery action that says that a mark is over."""
    readable = Reading(
        DRIVER, tuple(replace(device, recovery_action=None) for device in last.devices if device.error is None)
    )
    made = health()
    told(made, story)
    before = judged(made, readable, NOON + end(story))
    after = judged(health(resumed=before), readable, NOON + end(story))
    assert after == before


@FEWER
@given(stories, readings)
def test_a_reading_of_nothing_changes_nothing(story: list[Reading | Xid], last: Reading) -> None:
    blind = Reading(DRIVER, tuple(Device(index, None, error=ODD) for index in range(2)))
    answers = []
    for is_interrupted in (False, True):
        made = health()
        told(made, story)
        if is_interrupted:
            with pytest.raises(NodeUnreadable):
                judged(made, blind, NOON)
        answers.append(judged(made, last, NOON + end(story)))
    assert answers[0] == answers[1]


@FEWER
@given(stories, st.integers(1, 63), st.text(max_size=300))
def test_what_is_written_is_small_and_its_counts_are_true(
    story: list[Reading | Xid], length: int, message: str
) -> None:
    node = "n" * length
    problem = fitted_problem(AgentProblem("VersionMismatch", message, "2026-12-24T12:00:00Z"), node=node)
    for whole in told(health(), story):
        small = fitted(whole, node=node)
        assert stored_size(small, problem, node=node) <= ROOM
        kept = {"unhealthy": (), "unhealthy_not_listed": 0}
        assert msgspec.structs.replace(small, **kept) == msgspec.structs.replace(whole, **kept)
        assert set(small.unhealthy) <= set(whole.unhealthy)
        assert len(small.unhealthy) <= MAX_UNHEALTHY_DEVICES
        assert len(small.unhealthy) + small.unhealthy_not_listed == len(whole.unhealthy)
