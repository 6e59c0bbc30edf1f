"""What an XID marks, and for how long."""

from __future__ import annotations

import pytest

from providers.nvidia_gpu.agent.checks import Checks
from providers.nvidia_gpu.agent.devices import Xid
from tests.unit.providers.nvidia_gpu.agent.readings import (
    HOUR,
    LOST,
    MINUTE,
    NOON,
    ODD,
    SINCE_NOON,
    counts,
    gpu,
    health,
    judged,
    listed,
    node,
    reading,
    reasons,
    slices,
)


def test_an_xid_marks_its_gpu_until_further_notice() -> None:
    made = health()
    judged(made, node(2))
    assert made.note(Xid(79, "GPU-1"), NOON)
    for later in (HOUR, 2 * HOUR):
        inventory = judged(made, reading(gpu(0), gpu(1, recovery_action=0)), NOON + later)
        assert listed(inventory) == {"GPU-1": ("Xid79", SINCE_NOON)}
        assert counts(inventory) == {"gpu": (1, 1)}


@pytest.mark.parametrize("number", [13, 31, 43, 45, 68, 109])
def test_errors_of_applications_mark_nothing(number: int) -> None:
    made = health()
    assert not made.note(Xid(number, "GPU-0"), NOON)
    assert judged(made, node(1)).unhealthy == ()


@pytest.mark.parametrize("number", [63, 154])
def test_a_hint_marks_nothing_but_where_it_is_enabled(number: int) -> None:
    """Also where NVML does not know the recovery action, and none of an earlier agent that took it for more."""
    made, eager = health(), health(Checks.of("", str(number)))
    assert (made.note(Xid(number, "GPU-0"), NOON), made.is_hint(Xid(number, "GPU-0"))) == (False, True)
    assert judged(made, node(1)).unhealthy == ()
    assert (eager.note(Xid(number, "GPU-0"), NOON), eager.is_hint(Xid(number, "GPU-0"))) == (True, False)
    marked = judged(eager, node(1))
    assert reasons(marked) == {"GPU-0": f"Xid{number}"}
    assert judged(health(resumed=marked), node(1)).unhealthy == ()


def test_a_row_that_could_not_be_remapped_marks_its_gpu() -> None:
    made = health()
    assert made.note(Xid(64, "GPU-0"), NOON)
    assert reasons(judged(made, node(1))) == {"GPU-0": "Xid64"}


def test_an_xid_that_comes_many_times_before_a_reading_is_kept_once() -> None:
    """With the first time. Nothing is read for as long as the API server is away."""
    made = health()
    for minute in range(1000):
        made.note(Xid(79, "GPU-0", minute % 2, 0), NOON + minute * MINUTE)
    assert len(made._xids) == 2  # noqa: SLF001 - nobody else sees what waits
    assert listed(judged(made, node(1), NOON + HOUR)) == {"GPU-0": ("Xid79", SINCE_NOON)}


def test_the_first_xid_is_told() -> None:
    made = health()
    made.note(Xid(48, "GPU-0"), NOON)
    made.note(Xid(79, "GPU-0"), NOON + HOUR)
    assert listed(judged(made, node(1), NOON + HOUR)) == {"GPU-0": ("Xid48", SINCE_NOON)}


def test_an_xid_of_an_unknown_gpu_marks_all_of_them() -> None:
    made = health()
    judged(made, node(3))
    made.note(Xid(79, None, 1, 0), NOON)
    inventory = judged(made, node(3, gpu_2=LOST))
    assert reasons(inventory) == {"GPU-0": "Xid79", "GPU-1": "Xid79", "GPU-2": "Lost"}
    assert reasons(judged(made, node(3))) == dict.fromkeys(("GPU-0", "GPU-1", "GPU-2"), "Xid79")


def test_an_xid_of_an_unknown_gpu_marks_one_that_is_gone_since() -> None:
    made = health()
    judged(made, node(2))
    made.note(Xid(79, None), NOON)
    assert reasons(judged(made, node(1))) == {"GPU-0": "Xid79", "GPU-1": "Removed"}
    assert reasons(judged(made, node(2))) == {"GPU-0": "Xid79", "GPU-1": "Xid79"}


def test_a_mark_outlasts_that_the_gpu_is_lost_removed_or_unknown() -> None:
    made = health()
    judged(made, node(2))
    made.note(Xid(79, "GPU-1"), NOON)
    judged(made, node(2, gpu_1=LOST))
    judged(made, node(1))
    assert reasons(judged(made, node(2, gpu_1=ODD))) == {"GPU-1": "Lost"}
    assert listed(judged(made, node(2), NOON + HOUR)) == {"GPU-1": ("Xid79", SINCE_NOON)}


def test_a_new_driver_takes_every_mark_away() -> None:
    made = health()
    made.note(Xid(79, "GPU-0"), NOON)
    judged(made, node(1))
    assert judged(made, reading(gpu(0), driver="590.1")).unhealthy == ()


class TestMigDevices:
    """An XID may tell which MIG device."""

    def test_it_marks_that_one_and_leaves_the_others(self) -> None:
        made = health()
        cut = reading(slices(0, "1g.10gb", "1g.10gb", "2g.20gb"), gpu(1))
        judged(made, cut)
        made.note(Xid(79, "GPU-0", 1, 0), NOON)
        inventory = judged(made, cut)
        assert counts(inventory) == {"gpu": (1, 0), "mig-1g.10gb": (1, 1), "mig-2g.20gb": (1, 0)}
        assert (inventory.gpus, inventory.mig_gpus) == (2, 1)
        assert listed(inventory) == {"MIG-0-1": ("Xid79", SINCE_NOON)}

    def test_before_the_first_reading_it_is_looked_up_in_that(self) -> None:
        made = health()
        made.note(Xid(79, "GPU-0", 1, 0), NOON)
        assert reasons(judged(made, reading(slices(0, "1g.10gb", "1g.10gb")))) == {"MIG-0-1": "Xid79"}

    @pytest.mark.parametrize(("gpu_instance", "compute_instance"), [(9, 0), (1, 3), (1, None), (None, 0), (None, None)])
    def test_where_it_is_not_told_or_not_known_the_whole_gpu_is_marked(
        self, gpu_instance: int | None, compute_instance: int | None
    ) -> None:
        made = health()
        cut = reading(slices(0, "1g.10gb", "1g.10gb"), gpu(1))
        judged(made, cut)
        made.note(Xid(79, "GPU-0", gpu_instance, compute_instance), NOON)
        inventory = judged(made, cut)
        assert counts(inventory) == {"gpu": (1, 0), "mig-1g.10gb": (0, 2)}
        assert (inventory.gpus, inventory.mig_gpus) == (1, 0)
        assert reasons(inventory) == {"GPU-0": "Xid79"}

    def test_the_mark_goes_with_the_device(self) -> None:
        made = health()
        judged(made, reading(slices(0, "1g.10gb", "1g.10gb")))
        made.note(Xid(79, "GPU-0", 1, 0), NOON)
        assert judged(made, reading(slices(0, "1g.10gb"))).unhealthy == ()
        assert judged(made, reading(slices(0, "1g.10gb", "1g.10gb"))).unhealthy == ()

    def test_the_mark_stays_while_its_gpu_cannot_be_read(self) -> None:
        made = health()
        cut = reading(slices(0, "1g.10gb", "1g.10gb"), gpu(1))
        judged(made, cut)
        made.note(Xid(79, "GPU-0", 1, 0), NOON)
        unread = judged(made, reading(gpu(0, error=ODD), gpu(1)))
        assert counts(unread) == {"gpu": (1, 0), "mig-1g.10gb": (1, 1)}
        lost = judged(made, reading(gpu(0, error=LOST), gpu(1)))
        assert counts(lost) == {"gpu": (1, 0), "mig-1g.10gb": (0, 2)}
        assert reasons(lost) == {"GPU-0": "Lost"}
        assert listed(judged(made, cut, NOON + HOUR)) == {"MIG-0-1": ("Xid79", SINCE_NOON)}


class TestResumed:
    """A mark goes on in the next process of the same boot and driver."""

    def test_it_stays_where_nvml_has_no_recovery_action(self) -> None:
        made = health()
        made.note(Xid(79, "GPU-0"), NOON)
        after = health(resumed=judged(made, node(2)))
        assert listed(judged(after, node(2), NOON + HOUR)) == {"GPU-0": ("Xid79", SINCE_NOON)}

    def test_it_ends_where_the_recovery_action_is_none(self) -> None:
        made = health()
        made.note(Xid(79, "GPU-0"), NOON)
        resumed = judged(made, node(2))
        after = health(resumed=resumed)
        assert reasons(judged(after, node(2, gpu_0=LOST))) == {"GPU-0": "Lost"}
        assert judged(after, reading(gpu(0, recovery_action=0), gpu(1))).unhealthy == ()

    def test_it_ends_at_the_start_only(self) -> None:
        made = health()
        made.note(Xid(79, "GPU-0"), NOON)
        after = health(resumed=judged(made, node(2)))
        judged(after, reading(gpu(0, recovery_action=1), gpu(1)))
        assert reasons(judged(after, reading(gpu(0, recovery_action=0), gpu(1)))) == {"GPU-0": "Xid79"}

    def test_an_xid_of_this_process_makes_it_this_processs(self) -> None:
        made = health()
        made.note(Xid(79, "GPU-0"), NOON)
        after = health(resumed=judged(made, node(2)))
        judged(after, node(2, gpu_0=LOST))
        after.note(Xid(48, "GPU-0"), NOON + HOUR)
        inventory = judged(after, reading(gpu(0, recovery_action=0), gpu(1)), NOON + HOUR)
        assert listed(inventory) == {"GPU-0": ("Xid79", SINCE_NOON)}

    def test_an_xid_that_no_longer_counts_is_left_behind(self) -> None:
        made = health()
        made.note(Xid(79, "GPU-0"), NOON)
        after = health(Checks.of("79", ""), resumed=judged(made, node(2)))
        assert judged(after, node(2)).unhealthy == ()

    def test_that_of_a_mig_device_finds_its_gpu_again(self) -> None:
        made = health()
        cut = reading(slices(0, "1g.10gb", "1g.10gb"), gpu(1))
        judged(made, cut)
        made.note(Xid(79, "GPU-0", 1, 0), NOON)
        resumed = judged(made, cut)
        after = health(resumed=resumed)
        judged(after, reading(gpu(0, error=LOST), gpu(1)), NOON + HOUR)
        assert listed(judged(after, cut, NOON + HOUR)) == {"MIG-0-1": ("Xid79", SINCE_NOON)}
        assert judged(after, reading(slices(0, "1g.10gb"), gpu(1))).unhealthy == ()

    def test_that_of_a_mig_device_which_no_gpu_has_any_more_ends(self) -> None:
        made = health()
        cut = reading(slices(0, "1g.10gb", "1g.10gb"), gpu(1))
        judged(made, cut)
        made.note(Xid(79, "GPU-0", 1, 0), NOON)
        after = health(resumed=judged(made, cut))
        assert judged(after, reading(slices(0, "1g.10gb"), gpu(1))).unhealthy == ()
        assert judged(after, cut, NOON + HOUR).unhealthy == ()
