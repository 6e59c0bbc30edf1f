"""What is applied, and that it stays small."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from kueue_dqo.api.gpu import (
    MAX_DEVICE_RESOURCES,
    AgentProblem,
    DeviceCount,
    GPUInventory,
    NodeGPUReport,
    UnhealthyDevice,
)
from providers.nvidia_gpu.agent.report import (
    ROOM,
    fitted,
    fitted_problem,
    inventory_body,
    problem_body,
    same,
    stored_size,
)
from providers.nvidia_gpu.agent.sizes import cut, encoded_size
from tests.unit.providers.nvidia_gpu.agent.readings import (
    BOOT,
    H100,
    LOST,
    NOON,
    SINCE_NOON,
    gpu,
    health,
    judged,
    nameless,
    node,
    reading,
    slices,
)

USUAL = "ip-10-123-123-123.ap-southeast-1.compute.internal"
LONG = "n" * 63
LONGEST = "n" * 253
UID = "7f1d2c3b-0000-4000-8000-00000000000a"
OWNER = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": UID}
PROFILES = ("1g.10gb", "1g.10gb.me", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb")
LONGEST_PROBLEM = AgentProblem("LibraryNotFound", "x" * 4000, SINCE_NOON)


def uuid(number: int, kind: str = "GPU") -> str:
    return f"{kind}-{number:08x}-0000-4000-8000-000000000000"


def inventory(kinds: int = 1, *, gpus: int = 0, migs: int = 0, **changes: Any) -> GPUInventory:
    """So many kinds of devices, 16 healthy and 16 unhealthy of each; so many unhealthy GPUs and MIG devices listed."""
    names = [
        "nvidia.com/gpu",
        *(f"nvidia.com/mig-{each}" for each in (*PROFILES, *(f"1c.{each}" for each in PROFILES))),
    ]
    made = GPUInventory(
        renew_time=SINCE_NOON,
        heartbeat_seconds=300,
        boot_id=BOOT,
        driver_version="580.126.20",
        product=H100,
        gpus=16,
        mig_gpus=16,
        devices=tuple(DeviceCount(name, 16, 16) for name in sorted(names[:kinds])),
        unhealthy=(
            *(UnhealthyDevice("RebootRequired", SINCE_NOON, uuid(number)) for number in range(gpus)),
            *(UnhealthyDevice("Xid119", SINCE_NOON, uuid(number, "MIG")) for number in range(migs)),
        ),
    )
    return msgspec.structs.replace(made, **changes)


def longest_problem(name: str, beside: GPUInventory | None = None) -> AgentProblem:
    return fitted_problem(LONGEST_PROBLEM, node=name, beside=beside)


@pytest.mark.parametrize(
    ("name", "kinds"), [("n1", 9), (USUAL, 8), (LONG, 8), (LONG, 1), ("n" * 123, 8), (LONGEST, 3), (LONGEST, 1)]
)
@pytest.mark.parametrize(("gpus", "migs"), [(0, 0), (1, 0), (16, 0), (0, 112), (15, 7)])
def test_every_report_keeps_within_two_kibibytes(name: str, kinds: int, gpus: int, migs: int) -> None:
    whole = inventory(kinds, gpus=gpus, migs=migs)
    for problem in (None, longest_problem(name, whole)):
        small = fitted(whole, node=name, problem=problem)
        assert stored_size(small, problem, node=name) <= ROOM
        assert small.devices == whole.devices
        assert (small.gpus, small.mig_gpus) == (whole.gpus, whole.mig_gpus)
        assert len(small.unhealthy) + small.unhealthy_not_listed == gpus + migs


@pytest.mark.parametrize("name", ["n1", USUAL, LONG])
@pytest.mark.parametrize("kinds", [1, 2])
def test_eight_unhealthy_gpus_are_all_listed(name: str, kinds: int) -> None:
    """As many as most machines have, while the agent itself has no problem."""
    whole = inventory(kinds, gpus=8)
    assert fitted(whole, node=name) == whole


def test_beside_a_problem_there_is_less_room() -> None:
    """Of what was fitted without one, so much is left out that both fit."""
    alone = fitted(inventory(1, gpus=16), node=USUAL)
    both = fitted(alone, node=USUAL, problem=longest_problem(USUAL))
    assert 4 <= len(both.unhealthy) < len(alone.unhealthy)
    assert both == fitted(inventory(1, gpus=16), node=USUAL, problem=longest_problem(USUAL))


@pytest.mark.parametrize(
    ("name", "kinds", "room"), [(LONG, 8, 160), (LONGEST, 2, 160), (LONGEST, 5, 100), (LONGEST, 15, 40)]
)
def test_a_message_has_the_room_that_the_name_of_its_node_leaves(name: str, kinds: int, room: int) -> None:
    """What is listed of devices makes room for it, the counts do not."""
    whole = inventory(kinds, gpus=16)
    message = longest_problem(name, whole).message
    assert encoded_size(message) - len('""') == room
    assert longest_problem(name).message == longest_problem(LONG).message
    listing = fitted(whole, node=name)
    assert longest_problem(name, listing).message == message


def test_of_more_kinds_than_a_report_may_have_the_last_are_missing() -> None:
    names = [f"nvidia.com/mig-{number:02}g.10gb" for number in range(MAX_DEVICE_RESOURCES + 1)]
    whole = inventory(devices=tuple(DeviceCount(name, 1) for name in names))
    assert [each.name for each in fitted(whole, node="n1").devices] == names[:-1]


def test_sixteen_gpus_of_seven_mig_devices_all_unhealthy() -> None:
    made = health()
    gpus = [slices(number, *PROFILES, recovery_action=1) for number in range(16)]
    whole = judged(made, reading(*gpus))
    small = fitted(whole, node=LONG, problem=longest_problem(LONG))
    assert sum(each.unhealthy for each in small.devices) == 112
    assert stored_size(small, longest_problem(LONG), node=LONG) <= ROOM


def test_what_fits_is_left_as_it_is() -> None:
    whole = inventory(2, gpus=2)
    assert fitted(whole, node=USUAL) == whole


def test_nothing_is_left_out_that_there_is_room_for() -> None:
    whole = inventory(1, gpus=16)
    small = fitted(whole, node=USUAL)
    assert 8 <= len(small.unhealthy) < 16
    one_more = msgspec.structs.replace(small, unhealthy=whole.unhealthy[: len(small.unhealthy) + 1])
    assert stored_size(one_more, None, node=USUAL) > ROOM - len("xxx")


def test_mig_devices_are_left_out_before_gpus_and_what_an_xid_marked_last() -> None:
    marked = UnhealthyDevice("Xid79", SINCE_NOON, uuid(99))
    whole = inventory(2, gpus=8, migs=8)
    whole = msgspec.structs.replace(whole, unhealthy=(*whole.unhealthy[:8], marked, *whole.unhealthy[8:]))
    small = fitted(whole, node=USUAL)
    assert marked in small.unhealthy
    assert {each.uuid[:3] for each in small.unhealthy} == {"GPU"}
    assert list(small.unhealthy) == sorted(small.unhealthy, key=lambda device: device.uuid)


def test_counts_stand_even_where_there_is_no_room_for_them() -> None:
    small = fitted(inventory(15, gpus=3), node=LONGEST)
    assert (small.devices, small.unhealthy, small.unhealthy_not_listed) == (inventory(15).devices, (), 3)
    assert small.product == ""
    assert (small.boot_id, small.driver_version) == (BOOT, "580.126.20")


def test_fitting_twice_leaves_out_no_more() -> None:
    small = fitted(inventory(5, gpus=16, migs=40), node=USUAL)
    assert fitted(small, node=USUAL) == small


@pytest.mark.parametrize("odd", ["x" * 500, "<" * 500, "\x00" * 500, "ü" * 500, "\u2028" * 500, '"' * 500])
def test_long_texts_are_cut_by_what_they_are_encoded(odd: str) -> None:
    problem = fitted_problem(AgentProblem("NVMLError", odd, SINCE_NOON), node=LONG)
    small = fitted(inventory(7, product=odd, driver_version=odd), node=LONG, problem=problem)
    assert small.product.endswith("…")
    assert problem.message.endswith("…")
    assert stored_size(small, problem, node=LONG) <= ROOM


def test_a_short_text_is_not_cut() -> None:
    problem = AgentProblem("NVMLError", "it failed", SINCE_NOON)
    assert fitted_problem(problem, node=LONGEST) == problem
    assert cut("abc", 3) == "abc"
    assert cut("abcdefg", 6) == "abc…"


def test_a_size_is_that_of_gos_encoder() -> None:
    assert encoded_size({"a": [1, "ü<\n\u2028"]}) == len(r'{"a":[1,"ü\u003c\n\u2028"]}'.encode())


def test_the_time_alone_is_no_difference() -> None:
    one, other = (judged(health(), node(2), NOON.replace(hour=hour)) for hour in (1, 2))
    assert one != other
    assert same(one, other)
    assert not same(one, judged(health(), node(3)))
    assert not same(one, None)
    assert not same(None, one)
    assert same(None, None)


def test_a_promise_of_another_heartbeat_is_a_difference() -> None:
    assert not same(inventory(), inventory(heartbeat_seconds=60))


def test_the_inventory_is_applied_by_itself() -> None:
    made = judged(health(), reading(gpu(0), nameless(1, LOST)))
    body = inventory_body("n1", UID, made)
    assert json.loads(json.dumps(body)) == {
        "apiVersion": "kueue-dqo.dev/v1alpha1",
        "kind": "NodeGPUReport",
        "metadata": {"name": "n1", "ownerReferences": [OWNER]},
        "spec": {
            "inventory": {
                "renewTime": SINCE_NOON,
                "heartbeatSeconds": 300,
                "bootId": BOOT,
                "driverVersion": "580.95.05",
                "product": H100,
                "gpus": 1,
                "devices": [{"name": "nvidia.com/gpu", "healthy": 1, "unhealthy": 1}],
                "unhealthy": [{"reason": "Lost", "since": SINCE_NOON, "index": 1}],
            }
        },
    }
    assert msgspec.json.decode(json.dumps(body), type=NodeGPUReport).spec.inventory == made


def test_the_problem_is_applied_by_itself_and_taken_away() -> None:
    body = problem_body("n1", AgentProblem("DriverNotLoaded", "no driver", SINCE_NOON))
    assert body["spec"] == {
        "problem": {"reason": "DriverNotLoaded", "message": "no driver", "since": SINCE_NOON},
    }
    assert body["metadata"] == {"name": "n1"}
    assert "spec" not in problem_body("n1", None)


def test_where_nobody_tells_the_nodes_uid_there_is_no_owner() -> None:
    assert inventory_body("n1", None, inventory())["metadata"] == {"name": "n1"}
