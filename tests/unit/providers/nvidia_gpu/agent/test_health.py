"""What becomes of a GPU, poll by poll."""

from __future__ import annotations

from typing import Any

import pytest

from providers.nvidia_gpu.agent.checks import Checks
from providers.nvidia_gpu.agent.devices import NodeUnreadable, Reading, Xid
from tests.unit.providers.nvidia_gpu.agent.readings import (
    BOOT,
    DRIVER,
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
    reasons,
)


def test_a_healthy_node_lists_nobody() -> None:
    inventory = judged(health(), node(8))
    assert counts(inventory) == {"gpu": (8, 0)}
    assert (inventory.gpus, inventory.mig_gpus, inventory.unhealthy) == (8, 0, ())
    assert (inventory.renew_time, inventory.heartbeat_seconds) == (SINCE_NOON, 300)
    assert (inventory.boot_id, inventory.driver_version, inventory.product) == (BOOT, DRIVER, H100)


def test_a_lost_gpu_leaves_the_others_counted() -> None:
    made = health()
    judged(made, node(8))
    inventory = judged(made, node(8, gpu_3=LOST))
    assert counts(inventory) == {"gpu": (7, 1)}
    assert inventory.gpus == 7
    assert listed(inventory) == {"GPU-3": ("Lost", SINCE_NOON)}


def test_a_lost_gpu_that_cannot_say_its_uuid_is_the_one_that_was_there() -> None:
    made = health()
    judged(made, node(3))
    inventory = judged(made, reading(gpu(0), nameless(1, LOST), gpu(2)))
    assert reasons(inventory) == {"GPU-1": "Lost"}


def test_where_two_are_missing_the_index_tells_which_is_lost() -> None:
    made = health()
    judged(made, node(3))
    inventory = judged(made, reading(gpu(0), nameless(1, LOST)))
    assert reasons(inventory) == {"GPU-1": "Lost", "GPU-2": "Removed"}


def test_one_that_was_lost_before_anybody_asked_has_its_index() -> None:
    inventory = judged(health(), reading(gpu(0), nameless(1, LOST)))
    assert counts(inventory) == {"gpu": (1, 1)}
    assert listed(inventory) == {1: ("Lost", SINCE_NOON)}


def test_all_gpus_lost_is_a_true_zero() -> None:
    inventory = judged(health(), reading(nameless(0, LOST), nameless(1, RESET)))
    assert counts(inventory) == {"gpu": (0, 2)}
    assert reasons(inventory) == {0: "Lost", 1: "ResetRequired"}


@pytest.mark.parametrize(
    ("sign", "reason"),
    [
        ({"recovery_action": None}, None),
        ({"recovery_action": 0}, None),
        ({"recovery_action": 1}, "ResetRequired"),
        ({"recovery_action": 2}, "RebootRequired"),
        ({"recovery_action": 3}, "DrainRequired"),
        ({"recovery_action": 4}, "DrainRequired"),
        ({"recovery_action": 5}, "ImexRecoveryRequired"),
        ({"recovery_action": 6}, "ResetRequired"),
        ({"recovery_action": 7}, "RebootRequired"),
        ({"recovery_action": 99}, "DrainRequired"),
        ({"row_remap_failed": None}, None),
        ({"row_remap_failed": False}, None),
        ({"row_remap_failed": True}, "RowRemapFailed"),
        ({"row_remap_pending": True}, None),
        ({"error": LOST}, "Lost"),
        ({"error": RESET}, "ResetRequired"),
    ],
)
def test_each_sign_has_its_reason(sign: dict[str, Any], reason: str | None) -> None:
    made = health()
    judged(made, node(2))
    inventory = judged(made, reading(gpu(0, **sign), gpu(1)))
    assert reasons(inventory) == ({} if reason is None else {"GPU-0": reason})
    assert inventory.gpus == (2 if reason is None else 1)


def test_with_all_checks_disabled_only_what_is_lost_is_unhealthy() -> None:
    made = health(Checks.of("all", ""))
    sick = reading(gpu(0, recovery_action=2), gpu(1, row_remap_failed=True), gpu(2, error=LOST))
    assert not made.note(Xid(79, "GPU-0"), NOON)
    assert reasons(judged(made, sick)) == {"GPU-2": "Lost"}


def test_of_several_reasons_the_gravest_is_told() -> None:
    made = health()
    states = [
        (gpu(0, row_remap_failed=True), "RowRemapFailed"),
        (gpu(0, row_remap_failed=True, recovery_action=2), "RebootRequired"),
        (gpu(0, row_remap_failed=True, recovery_action=2), "Xid48"),
        (gpu(0, error=LOST), "Lost"),
        (gpu(0, recovery_action=2), "Xid48"),
    ]
    for device, reason in states:
        if reason == "Xid48":
            made.note(Xid(48, "GPU-0"), NOON)
        assert reasons(judged(made, reading(device, gpu(1)))) == {"GPU-0": reason}


def test_since_stays_while_the_reason_stays() -> None:
    made = health()
    judged(made, node(2, gpu_0=LOST))
    assert listed(judged(made, node(2, gpu_0=LOST), NOON + HOUR)) == {"GPU-0": ("Lost", SINCE_NOON)}
    assert listed(judged(made, node(2, gpu_0=RESET), NOON + HOUR)) == {"GPU-0": ("ResetRequired", SINCE_ONE)}
    assert listed(judged(made, node(2), NOON + HOUR)) == {}


def test_a_gpu_that_is_back_is_healthy() -> None:
    made = health()
    judged(made, node(2, gpu_0=LOST))
    assert judged(made, node(2)).gpus == 2


class TestUnknown:
    """Unknown is not unhealthy."""

    def test_a_gpu_keeps_its_state_for_the_grace_time(self) -> None:
        made = health()
        judged(made, node(2))
        judged(made, node(2, gpu_0=ODD), NOON + MINUTE)
        almost = judged(made, node(2, gpu_0=ODD), NOON + MINUTE + GRACE - MINUTE)
        assert (almost.gpus, almost.unhealthy) == (2, ())
        over = judged(made, node(2, gpu_0=ODD), NOON + MINUTE + GRACE)
        assert counts(over) == {"gpu": (1, 1)}
        assert listed(over) == {"GPU-0": ("Unreadable", "2026-12-24T12:01:00Z")}

    def test_the_grace_time_begins_anew_after_a_reading(self) -> None:
        made = health()
        judged(made, node(2))
        judged(made, node(2, gpu_0=ODD))
        judged(made, node(2), NOON + MINUTE)
        assert judged(made, node(2, gpu_0=ODD), NOON + GRACE).gpus == 2

    def test_a_lost_gpu_of_which_nothing_is_known_any_more_stays_lost(self) -> None:
        made = health()
        judged(made, node(2))
        judged(made, node(2, gpu_0=LOST))
        for later in (MINUTE, HOUR):
            assert listed(judged(made, node(2, gpu_0=ODD), NOON + later)) == {"GPU-0": ("Lost", SINCE_NOON)}

    def test_a_gpu_that_never_was_readable_is_listed_and_not_counted(self) -> None:
        inventory = judged(health(), reading(gpu(0), gpu(1, error=ODD), nameless(2, ODD)))
        assert counts(inventory) == {"gpu": (1, 0)}
        assert reasons(inventory) == {"GPU-1": "Unreadable", 2: "Unreadable"}


class TestNode:
    """Never a zero because the agent cannot see."""

    @pytest.mark.parametrize(
        ("errors", "reason"),
        [((ODD, ODD), "NVMLError"), ((4, 4), "NoPermission"), ((18, ODD), "NVMLError"), ((LOST, ODD), "NVMLError")],
    )
    def test_a_node_of_which_no_gpu_can_be_read_is_unknown(self, errors: tuple[int, ...], reason: str) -> None:
        made = health()
        before = judged(made, node(2))
        with pytest.raises(NodeUnreadable) as raised:
            judged(made, reading(*(nameless(index, error) for index, error in enumerate(errors))), NOON + HOUR)
        assert raised.value.needs_restart
        assert raised.value.reason == reason
        assert raised.value.message == str(raised.value)
        assert "none of 2 GPUs can be read" in raised.value.message
        assert judged(made, node(2)) == before

    def test_a_node_without_any_gpu_is_unknown(self) -> None:
        """An agent runs where GPUs are: it is the one that has none. More may come while it runs."""
        made = health()
        with pytest.raises(NodeUnreadable) as raised:
            judged(made, node(0))
        assert (raised.value.reason, raised.value.needs_restart) == ("NoDevices", False)
        for word in ("NVIDIA_VISIBLE_DEVICES", "runtimeClass nvidia", "lspci", "dmesg"):
            assert word in raised.value.message
        assert judged(made, node(1)).gpus == 1

    def test_xids_of_a_moment_in_which_nothing_can_be_read_are_not_forgotten(self) -> None:
        made = health()
        made.note(Xid(79, "GPU-0"), NOON)
        with pytest.raises(NodeUnreadable):
            judged(made, node(1, gpu_0=ODD))
        assert reasons(judged(made, node(1))) == {"GPU-0": "Xid79"}


class TestRemoved:
    """What the agent has seen is missed."""

    def test_a_gpu_that_nvml_does_not_list_any_more_is_told_and_not_counted(self) -> None:
        made = health()
        judged(made, node(3))
        shorter = reading(gpu(0), gpu(2, index=1))
        inventory = judged(made, shorter)
        assert counts(inventory) == {"gpu": (2, 0)}
        assert listed(inventory) == {"GPU-1": ("Removed", SINCE_NOON)}
        assert listed(judged(made, shorter, NOON + HOUR)) == {"GPU-1": ("Removed", SINCE_NOON)}

    def test_it_is_forgotten_with_the_driver_or_when_it_is_back(self) -> None:
        made = health()
        judged(made, node(3))
        judged(made, node(2))
        assert judged(made, node(3)).unhealthy == ()
        judged(made, node(2))
        assert judged(made, Reading("590.1", node(2).devices)).unhealthy == ()

    def test_all_of_them_at_once_is_an_agent_that_cannot_see(self) -> None:
        made = health()
        before = judged(made, node(2))
        with pytest.raises(NodeUnreadable):
            judged(made, node(0), NOON + HOUR)
        assert judged(made, node(2)) == before
