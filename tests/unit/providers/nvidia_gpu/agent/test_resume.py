"""What goes on when the agent starts again."""

from __future__ import annotations

import msgspec
import pytest

from kueue_dqo.api.gpu import GPUInventory
from providers.nvidia_gpu.agent.devices import Device
from tests.unit.providers.nvidia_gpu.agent.readings import (
    BOOT,
    GRACE,
    H100,
    HOUR,
    LOST,
    MINUTE,
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
    slices,
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
        (nameless(1, ODD), {"GPU-1": ("Unreadable", SINCE_ONE)}),
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


def test_a_lost_gpu_is_not_named_after_one_that_was_taken_out() -> None:
    made = health()
    judged(made, node(3))
    removed = judged(made, node(2))
    assert listed(removed) == {"GPU-2": ("Removed", SINCE_NOON)}
    inventory = judged(health(resumed=removed), reading(gpu(0), nameless(1, LOST)), NOON + HOUR)
    assert listed(inventory) == {"GPU-2": ("Removed", SINCE_NOON), 1: ("Lost", SINCE_ONE)}


class TestUnknownGrace:
    """It does not end with the agent: what was counted as healthy counts on, for a while from its start."""

    @pytest.mark.parametrize("unread", [gpu(7, error=ODD), nameless(7, ODD)], ids=["a UUID", "no UUID"])
    def test_a_gpu_that_was_healthy_and_cannot_be_read_at_the_start_counts_on(self, unread: Device) -> None:
        after = health(resumed=judged(health(), node(8)))
        seen = reading(*node(7).devices, unread)
        for later in (HOUR, HOUR + GRACE - MINUTE):
            inventory = judged(after, seen, NOON + later)
            assert (counts(inventory), inventory.gpus, inventory.unhealthy) == ({"gpu": (8, 0)}, 8, ())
        over = judged(after, seen, NOON + HOUR + GRACE)
        assert (counts(over), over.gpus) == ({"gpu": (7, 0)}, 7)
        assert list(listed(over).values()) == [("Unreadable", "2026-12-24T13:10:00Z")]

    def test_as_many_as_were_healthy_and_no_more(self, before: GPUInventory) -> None:
        """Two were: one of these is lost since, or read; so at most one is left."""
        for known in (gpu(0), gpu(0, error=LOST)):
            seen = reading(known, nameless(1, LOST), gpu(5, error=ODD), gpu(6, error=ODD), gpu(9))
            one_more = msgspec.structs.replace(before, gpus=3)
            inventory = judged(health(resumed=one_more), seen, NOON + HOUR)
            assert inventory.gpus == 2 + (known.error is None)
            assert listed(inventory)["GPU-6"] == ("Unreadable", SINCE_ONE)
            assert "GPU-5" not in listed(inventory)

    def test_one_that_was_unhealthy_is_not_healthy_for_that(self, before: GPUInventory) -> None:
        inventory = judged(health(resumed=before), reading(gpu(0), gpu(1, error=ODD)), NOON + HOUR)
        assert listed(inventory)["GPU-1"] == ("Unreadable", SINCE_ONE)
        assert inventory.gpus == 1

    @pytest.mark.parametrize(("boot", "driver"), [("another", "580.95.05"), (BOOT, "590.1")])
    def test_with_another_boot_or_driver_nobody_knows_it(self, boot: str, driver: str) -> None:
        after = health(boot=boot, resumed=judged(health(), node(2)))
        inventory = judged(after, reading(gpu(0), gpu(1, error=ODD), driver=driver), NOON + HOUR)
        assert (inventory.gpus, len(inventory.unhealthy)) == (1, 1)

    def test_it_has_the_mig_devices_that_are_missing(self) -> None:
        """Whole GPUs where some are missing, too."""
        seven = ("1g.10gb",) * 7
        whole = judged(health(), reading(slices(0, *seven), slices(1, "3g.40gb", "4g.40gb"), gpu(2), gpu(3)))
        for seen in (
            reading(slices(0, *seven), gpu(1, error=ODD), gpu(2), gpu(3)),
            reading(slices(0, *seven), gpu(1, error=ODD), gpu(2), nameless(3, ODD)),
            reading(gpu(0, error=ODD), gpu(1, error=ODD), gpu(2), gpu(3)),
            reading(slices(0, *seven), slices(1, "3g.40gb", "4g.40gb"), gpu(2), gpu(3, error=ODD)),
        ):
            inventory = judged(health(resumed=whole), seen, NOON + HOUR)
            assert msgspec.structs.replace(inventory, renew_time=whole.renew_time) == whole

    def test_a_gpu_that_is_read_in_the_meantime_has_its_own_grace(self) -> None:
        after = health(resumed=judged(health(), node(2)))
        judged(after, node(2, gpu_1=ODD))
        judged(after, node(2), NOON + MINUTE)
        assert judged(after, node(2, gpu_1=ODD), NOON + GRACE).gpus == 2
        assert judged(after, node(2, gpu_1=ODD), NOON + GRACE + GRACE - MINUTE).gpus == 2
        assert judged(after, node(2, gpu_1=ODD), NOON + GRACE + GRACE).gpus == 1
