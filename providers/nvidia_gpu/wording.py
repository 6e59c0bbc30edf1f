"""What a person is told of the GPUs in one line of the status. Pure.

It is bounded, however many nodes there are, and stays as it is while nothing changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kueue_dqo.api.gpu import UnhealthyDevice
from kueue_dqo.api.meta import time_text
from kueue_dqo.api.wording import counted, some
from providers.amounts import shown
from providers.nodes.usable import Unusable
from providers.nodes.wording import by_reason
from providers.nvidia_gpu.counting import Cap, FlavorCount, quantities
from providers.nvidia_gpu.hearing import Held

_REASONS_AT_MOST: Final = 10
_DEVICES_AT_MOST: Final = 5
UNUSABLE: Final = {reason.value: reason for reason in Unusable}


def summary_of(counts: Mapping[str, FlavorCount]) -> str:
    """One line, such as `h100: 3 nodes, 23 nvidia.com/gpu; unhealthy: n2 GPU-5a… Lost since 2026-12-24T00:00:00Z`."""
    parts = [f"{name}: {_told_of(count)}" for name, count in counts.items()]
    unhealthy = [text_of_device(*each, with_reason=True) for each in unhealthy_of(counts)]
    if unhealthy:
        not_listed = sum(count.unhealthy_not_listed for count in counts.values())
        parts.append(f"unhealthy: {_some_devices(unhealthy, not_listed)}")
    held = held_of(counts)
    if held:
        parts.append(
            "holding " + some(f"{name} until {time_text(state.until)}: {state.reason}" for name, state in held.items())
        )
    excluded = [
        f"{reason}={len(names)}" + ("" if reason in UNUSABLE else f" ({some(names)})")
        for reason, names in excluded_of(counts).items()
    ]
    if excluded:
        parts.append(f"excluded: {some(excluded, at_most=_REASONS_AT_MOST)}")
    caps = caps_of(counts)
    if caps:
        parts.append(f"capped by allocatable: {some(map(text_of_cap, caps))}")
    return "; ".join(parts)


def _told_of(count: FlavorCount) -> str:
    """`3 nodes, 23 nvidia.com/gpu (including 1 nvidia.com/gpu still allocated on cordoned nodes)`."""
    amounts = _amounts(count.devices)
    told = counted(count.nodes, "node")
    if amounts:
        told += f", {amounts}"
    elif count.nodes:
        told += ", nothing that is reported"
    on_cordoned = _amounts(count.on_cordoned)
    return f"{told} (including {on_cordoned} still allocated on cordoned nodes)" if on_cordoned else told


def _amounts(devices: Mapping[str, int]) -> str:
    """A few of them, those first of which there are any."""
    some_there = {resource: number for resource, number in devices.items() if number}
    none_there = {resource: number for resource, number in devices.items() if not number}
    return some([*shown(quantities(some_there)), *shown(quantities(none_there))])


# --- of all flavors together ---------------------------------------------------------------------------------------


def unhealthy_of(counts: Mapping[str, FlavorCount]) -> list[tuple[str, UnhealthyDevice]]:
    found = (each for count in counts.values() for each in count.unhealthy)
    return sorted(found, key=lambda each: (each[0], each[1].uuid, each[1].index or 0, each[1].reason))


def held_of(counts: Mapping[str, FlavorCount]) -> dict[str, Held]:
    return dict(sorted((name, state) for count in counts.values() for name, state in count.held.items()))


def excluded_of(counts: Mapping[str, FlavorCount]) -> dict[str, list[str]]:
    return by_reason((count.excluded for count in counts.values()), list(UNUSABLE))


def caps_of(counts: Mapping[str, FlavorCount]) -> list[tuple[str, Cap]]:
    return sorted(each for count in counts.values() for each in count.caps)


def text_of_device(node: str, device: UnhealthyDevice, *, with_reason: bool) -> str:
    """`n2 GPU-5a… Lost since 2026-12-24T00:00:00Z`; one without a UUID goes by its number."""
    index = "?" if device.index is None else device.index
    reason = f" {device.reason}" if with_reason else ""
    return f"{node} {device.uuid or f'GPU {index}'}{reason} since {device.since}"


def _some_devices(listed: Sequence[str], not_listed: int) -> str:
    """As `some`, with those that the reports have no room for."""
    more = max(len(listed) - _DEVICES_AT_MOST, 0) + not_listed
    return ", ".join(listed[:_DEVICES_AT_MOST]) + (f" and {more} more" if more else "")


def text_of_cap(each: tuple[str, Cap]) -> str:
    node, cap = each
    return f"{node} {cap.counted} of {cap.of} {cap.resource}"
