"""How GPUs are counted that are cut into MIG devices, and what the node is called after."""

from __future__ import annotations

from tests.unit.providers.nvidia_gpu.agent.readings import (
    H100,
    LOST,
    counts,
    gpu,
    health,
    judged,
    nameless,
    reading,
    reasons,
    slices,
)

SEVEN = ("1g.10gb",) * 7


def test_one_gpu_cut_into_seven_beside_seven_whole_ones() -> None:
    inventory = judged(health(), reading(slices(0, *SEVEN), *map(gpu, range(1, 8))))
    assert counts(inventory) == {"gpu": (7, 0), "mig-1g.10gb": (7, 0)}
    assert (inventory.gpus, inventory.mig_gpus) == (8, 1)


def test_profiles_are_counted_each_and_sorted() -> None:
    inventory = judged(health(), reading(slices(0, "3g.40gb", "1g.10gb.me", "1g.10gb"), slices(1, "3g.40gb")))
    assert list(counts(inventory).items()) == [
        ("mig-1g.10gb", (1, 0)),
        ("mig-1g.10gb.me", (1, 0)),
        ("mig-3g.40gb", (2, 0)),
    ]


def test_mig_on_without_any_instance_is_no_device() -> None:
    inventory = judged(health(), reading(slices(0)))
    assert (inventory.devices, inventory.gpus, inventory.mig_gpus) == ((), 1, 1)


def test_an_unhealthy_gpu_takes_its_mig_devices_with_it() -> None:
    inventory = judged(health(), reading(slices(0, *SEVEN, recovery_action=1), slices(1, *SEVEN)))
    assert counts(inventory) == {"mig-1g.10gb": (7, 7)}
    assert (inventory.gpus, inventory.mig_gpus) == (1, 1)
    assert reasons(inventory) == {"GPU-0": "ResetRequired"}


def test_mig_devices_come_and_go_and_nobody_misses_them() -> None:
    made = health()
    judged(made, reading(slices(0, *SEVEN)))
    inventory = judged(made, reading(gpu(0)))
    assert counts(inventory) == {"gpu": (1, 0)}
    assert (inventory.mig_gpus, inventory.unhealthy) == (0, ())


def test_a_lost_gpu_keeps_the_layout_that_it_had() -> None:
    made = health()
    judged(made, reading(slices(0, *SEVEN), gpu(1)))
    assert counts(judged(made, reading(nameless(0, LOST), gpu(1)))) == {"gpu": (1, 0), "mig-1g.10gb": (0, 7)}


def test_a_lost_gpu_of_unknown_layout_is_like_the_others() -> None:
    assert counts(judged(health(), reading(nameless(0, LOST), slices(1, *SEVEN)))) == {"mig-1g.10gb": (7, 0)}
    assert counts(judged(health(), reading(nameless(0, LOST), gpu(1)))) == {"gpu": (1, 1)}
    assert counts(judged(health(), reading(nameless(0, LOST), gpu(1), slices(2, *SEVEN)))) == {
        "gpu": (1, 1),
        "mig-1g.10gb": (7, 0),
    }


def test_the_node_is_called_after_most_of_its_gpus() -> None:
    devices = (gpu(0, product="T4"), gpu(1), gpu(2), gpu(3, product=""), gpu(4, product=""), gpu(5, product=""))
    assert judged(health(), reading(*devices)).product == H100
    assert judged(health(), reading(gpu(0, product="T4"), gpu(1, product="L4"))).product == "L4"
