"""Who a GPU is that cannot say so."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from providers.nvidia_gpu.agent.devices import Device
from providers.nvidia_gpu.agent.uuids import identified
from tests.unit.providers.nvidia_gpu.agent.readings import LOST, ODD, RESET, gpu, nameless


def readable(index: int) -> Device:
    """One that has no UUID of its own."""
    return Device(index, None, odd_uuid="")


@pytest.mark.parametrize(
    ("devices", "at", "remembered", "expected"),
    [
        pytest.param([nameless(0, LOST)], {}, {}, [None], id="nobody known"),
        pytest.param([gpu(0), nameless(1, LOST)], {0: "GPU-0", 1: "GPU-1"}, {"GPU-0": None, "GPU-1": None}, [0, 1]),
        pytest.param([nameless(1, ODD)], {1: "GPU-1"}, {"GPU-1": None, "GPU-2": None}, [1], id="by index before all"),
        pytest.param(
            [gpu(1, index=0), nameless(1, LOST)],
            {0: "GPU-0", 1: "GPU-1"},
            {"GPU-0": None, "GPU-1": None},
            [1, 0],
            id="the order changed: the one that is missing",
        ),
        pytest.param([nameless(5, LOST)], {}, {"GPU-7": "Lost"}, [7], id="by the report"),
        pytest.param(
            [nameless(5, RESET)], {}, {"GPU-7": "Lost", "GPU-8": "ResetRequired"}, [8], id="by the reason in the report"
        ),
        pytest.param(
            [nameless(1, LOST), nameless(2, LOST)], {}, {"GPU-7": "Lost"}, [7, None], id="one more than the report has"
        ),
        pytest.param(
            [nameless(1, LOST)], {}, {"GPU-7": None, "GPU-8": None}, [None], id="either may have been removed"
        ),
        pytest.param(
            [nameless(1, LOST), nameless(2, ODD)], {}, {"GPU-7": None, "GPU-8": None}, [7, 8], id="as many as missing"
        ),
        pytest.param([gpu(7), nameless(1, LOST)], {}, {"GPU-8": "Removed"}, [7, None], id="not one that was taken out"),
        pytest.param(
            [nameless(1, LOST)], {}, {"GPU-8": "Removed", "GPU-9": None}, [9], id="the one that was not taken out"
        ),
        pytest.param([readable(1)], {1: "GPU-7"}, {"GPU-7": None}, [7], id="it does not say it for once"),
        pytest.param([readable(1)], {0: "GPU-7"}, {"GPU-7": "Lost"}, [None], id="it has none, and another is missing"),
        pytest.param([gpu(7), nameless(1, LOST)], {1: "GPU-7"}, {"GPU-7": "Lost"}, [7, None], id="it is there again"),
    ],
)
def test_a_gpu_without_uuid_is_one_that_is_missing_where_it_can_be_told(
    devices: list[Device], at: Mapping[int, str], remembered: Mapping[str, str | None], expected: list[int | None]
) -> None:
    found = identified(devices, at=at, remembered=remembered)
    assert [device.uuid for device in found] == [None if number is None else f"GPU-{number}" for number in expected]
    assert [device.index for device in found] == [device.index for device in devices]
