"""GPUs that have no UUID of their own: they are told by their indexes, and count as others do."""

from __future__ import annotations

import pytest

from providers.nvidia_gpu.agent.devices import Device, MigDevice, Xid
from providers.nvidia_gpu.agent.report import same
from tests.unit.providers.nvidia_gpu.agent.readings import (
    H100,
    HOUR,
    LOST,
    MINUTE,
    NOON,
    ODD,
    SINCE_NOON,
    SINCE_ONE,
    counts,
    gpu,
    health,
    judged,
    listed,
    reading,
    reasons,
)


def odd(index: int, **changes: object) -> Device:
    """A GPU of whose UUID nothing is left."""
    return Device(index, None, **{"product": H100, "odd_uuid": "", **changes})  # type: ignore[arg-type]  # of a test


def test_a_healthy_one_is_healthy() -> None:
    inventory = judged(health(), reading(gpu(0), odd(1), odd(2)))
    assert counts(inventory) == {"gpu": (3, 0)}
    assert inventory.gpus == 3


def test_a_bad_one_is_listed_by_its_index_and_says_the_same_in_every_poll() -> None:
    """Also for the next process."""
    made = health()
    bad = reading(gpu(0), odd(1, recovery_action=1), odd(2))
    first = judged(made, bad)
    assert listed(first) == {1: ("ResetRequired", SINCE_NOON)}
    assert counts(first) == {"gpu": (2, 1)}
    assert same(judged(made, bad, NOON + HOUR), first)
    assert same(judged(health(resumed=first), bad, NOON + HOUR), first)


def test_one_that_is_lost_is_lost_at_its_index() -> None:
    made = health()
    judged(made, reading(gpu(0), odd(1), odd(2)))
    lost = judged(made, reading(gpu(0), odd(1), Device(2, None, error=LOST)), NOON + HOUR)
    assert listed(lost) == {2: ("Lost", SINCE_ONE)}
    assert counts(lost) == {"gpu": (2, 1)}


def test_one_that_cannot_be_read_keeps_its_state_for_a_while() -> None:
    made = health()
    judged(made, reading(gpu(0), odd(1)))
    unread = reading(gpu(0), Device(1, None, error=ODD))
    assert counts(judged(made, unread, NOON + MINUTE)) == {"gpu": (2, 0)}
    assert reasons(judged(made, unread, NOON + HOUR)) == {1: "Unreadable"}


def test_one_that_is_not_listed_any_more_is_forgotten() -> None:
    """Nobody can tell which it was; another one may have its index."""
    made = health()
    judged(made, reading(gpu(0), odd(1)))
    assert counts(judged(made, reading(gpu(0)), NOON + MINUTE)) == {"gpu": (1, 0)}
    back = judged(made, reading(gpu(0), Device(1, None, error=ODD)), NOON + 2 * MINUTE)
    assert (counts(back), reasons(back)) == ({"gpu": (1, 0)}, {1: "Unreadable"})


def test_an_xid_of_nobody_marks_none_that_is_told_by_its_index() -> None:
    """Nobody waits for its XIDs, so that it was another's."""
    made = health()
    judged(made, reading(gpu(0), odd(1)))
    made.note(Xid(79, None), NOON)
    assert reasons(judged(made, reading(gpu(0), odd(1)))) == {"GPU-0": "Xid79"}


@pytest.mark.parametrize("uuid", ["", "MIG-a"])
def test_an_xid_of_a_mig_device_without_a_uuid_marks_its_gpu(uuid: str) -> None:
    made = health()
    mig = MigDevice(uuid, "1g.10gb", gpu_instance=3, compute_instance=0)
    seen = reading(gpu(0, mig_enabled=True, mig_devices=(mig,)))
    judged(made, seen)
    made.note(Xid(79, "GPU-0", 3, 0), NOON)
    assert reasons(judged(made, seen)) == {uuid or "GPU-0": "Xid79"}
