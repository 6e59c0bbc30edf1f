"""What goes on when the agent starts again."""

from __future__ import annotations

import msgspec
import pytest

from kueue_dqo.api.gpu import GPUInventory
from providers.nvidia_gpu.agent.devices import Device
from tests.unit.providers.nvidia_gpu.agent.readings import (
    BOOT,
    H100,
    HOUR,
    LOST,
    NOON,
    ODD,
    RESET,
    SINCE_NOON,
    SINCE_ONE,
    counts,
    gpu,
    health,
    judged,
    listed,
    nameless,
    node,
    reading,
)


@pytest.fixture
def before() -> GPUInventory:
    """GPU-1 is lost since noon."""
    made = health()
    judged(made, node(3))
    return judged(made, node(3, gpu_1=LOST))


def test_since_goes_on(before: GPUInventory) -> None:
    inventory = judged(health(resumed=before), node(3, gpu_1=LOST), NOON + HOUR)
    assert listed(inventory) == {"GPU-1": ("Lost", SINCE_NOON)}
    assert msgspec.structs.replace(inventory, renew_time=before.renew_time) == before


def test_the_uuid_of_a_lost_gpu_goes_on(before: GPUInventory) -> None:
    inventory = judged(health(resumed=before), reading(gpu(0), nameless(1, LOST), gpu(2)), NOON + HOUR)
    assert listed(inventory) == {"GPU-1": ("Lost", SINCE_NOON)}
    assert counts(inventory) == {"gpu": (2, 1)}


def test_a_gpu_without_uuid_goes_on_by_its_index() -> None:
    before = judged(health(), reading(gpu(0), nameless(1, LOST)))
    inventory = judged(health(resumed=before), reading(gpu(0), nameless(1, LOST)), NOON + HOUR)
    assert listed(inventory) == {1: ("Lost", SINCE_NOON)}


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        (gpu(1), {}),
        (gpu(1, error=RESET), {"GPU-1": ("ResetRequired", SINCE_ONE)}),
        (gpu(1, error=ODD), {"GPU-1": ("Unreadable", SINCE_ONE)}),
        (None, {"GPU-1": ("Removed", SINCE_ONE)}),
    ],
)
def test_what_has_changed_is_told_since_now(
    before: GPUInventory, device: Device | None, expected: dict[str, tuple[str, str]]
) -> None:
    devices = [gpu(0), gpu(2), *([device] if device is not None else [])]
    assert listed(judged(health(resumed=before), reading(*devices), NOON + HOUR)) == expected


def test_after_another_boot_everything_begins_anew(before: GPUInventory) -> None:
    after = health(boot="another", resumed=before)
    assert listed(judged(after, reading(gpu(0), nameless(1, LOST), gpu(2)), NOON + HOUR)) == {1: ("Lost", SINCE_ONE)}


def test_with_another_driver_everything_begins_anew(before: GPUInventory) -> None:
    after = health(resumed=before)
    inventory = judged(after, reading(gpu(0), nameless(1, LOST), driver="590.1"), NOON + HOUR)
    assert listed(inventory) == {1: ("Lost", SINCE_ONE)}


def test_where_nobody_knows_the_boot_nothing_goes_on(before: GPUInventory) -> None:
    nowhere = msgspec.structs.replace(before, boot_id="")
    after = health(boot="", resumed=nowhere)
    assert listed(judged(after, node(3, gpu_1=LOST), NOON + HOUR)) == {"GPU-1": ("Lost", SINCE_ONE)}


def test_a_report_that_is_not_there_is_a_beginning() -> None:
    assert judged(health(resumed=None), node(1)).gpus == 1


def test_the_product_goes_on_where_no_gpu_can_say_it(before: GPUInventory) -> None:
    assert before.boot_id == BOOT
    assert judged(health(resumed=before), reading(nameless(0, LOST))).product == H100


def test_a_driver_version_that_had_to_be_cut_is_recognized() -> None:
    long = "580.95.05-" + "x" * 70
    before = judged(health(), reading(nameless(0, LOST), driver=long))
    after = judged(health(resumed=before), reading(nameless(0, LOST), driver=long), NOON + HOUR)
    assert listed(after) == {0: ("Lost", SINCE_NOON)}
