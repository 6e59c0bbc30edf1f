"""What a person is told of the GPUs: one line of the status, and Events. Pure.

Both are bounded, however many nodes there are, and stay as they are while nothing changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeVar

from kueue_dqo.api.gpu import UnhealthyDevice, UnhealthyReason
from kueue_dqo.api.meta import time_text
from kueue_dqo.api.parameters import NvidiaGpuParametersSpec
from kueue_dqo.api.wording import counted, some
from kueue_dqo.provider import Notice
from providers.amounts import shown
from providers.nodes.usable import Unusable
from providers.nodes.wording import by_reason, is_expected, of_excluded, way_out_of
from providers.nvidia_gpu.counting import Cap, FlavorCount, quantities
from providers.nvidia_gpu.decoding import INVALID_REPORT
from providers.nvidia_gpu.silence import NO_REPORT, Held

T = TypeVar("T")

DEVICES_UNHEALTHY: Final = "DevicesUnhealthy"
NODES_HELD: Final = "NodesHeld"
CAPPED: Final = "CappedByAllocatable"
ODD_OFFER: Final = "OddOffer"
_REASONS_AT_MOST: Final = 10
_DEVICES_AT_MOST: Final = 5
_AGENT: Final = "-A -l app.kubernetes.io/component=nvidia-gpu-agent --field-selector spec.nodeName="
_REPAIRS: Final[Mapping[str, str]] = {
    UnhealthyReason.LOST: "drain and reboot node {node}; a GPU that does not come back by that has to be looked at",
    UnhealthyReason.REMOVED: "one that was taken out on purpose is forgotten when node {node} is rebooted",
    UnhealthyReason.RESET_REQUIRED: "drain node {node} and reset the GPU (nvidia-smi --gpu-reset), or reboot the node",
    UnhealthyReason.REBOOT_REQUIRED: "drain and reboot node {node}",
    UnhealthyReason.DRAIN_REQUIRED: "drain node {node} and reset its GPUs (nvidia-smi --gpu-reset)",
    UnhealthyReason.ROW_REMAP_FAILED: "the memory has no spare rows left: have the GPU replaced",
    UnhealthyReason.UNREADABLE: f"the log of the agent says what NVML answers (kubectl get pods {_AGENT}{{node}})",
}
_AFTER_XID: Final = (
    "NVIDIA's list of XID errors says what it means; it counts again after a reboot of node {node}, or when the "
    "agent is started anew and NVML says that no recovery is needed; --disable-health-checks of the agent leaves XIDs "
    "out"
)
_UNUSABLE: Final = {reason.value: reason for reason in Unusable}


def summary_of(counts: Mapping[str, FlavorCount]) -> str:
    """One line, such as `h100: 3 nodes, 23 nvidia.com/gpu; unhealthy: n2 GPU-5a… Lost since 2026-12-24T00:00:00Z`."""
    parts = [f"{name}: {_told_of(count)}" for name, count in counts.items()]
    unhealthy = [_device(*each, with_reason=True) for each in _unhealthy(counts)]
    if unhealthy:
        not_listed = sum(count.unhealthy_not_listed for count in counts.values())
        parts.append(f"unhealthy: {_some_devices(unhealthy, not_listed)}")
    held = _held(counts)
    if held:
        parts.append(
            "holding " + some(f"{name} until {time_text(state.until)}: {state.reason}" for name, state in held.items())
        )
    excluded = [
        f"{reason}={len(names)}" + ("" if reason in _UNUSABLE else f" ({some(names)})")
        for reason, names in _excluded(counts).items()
    ]
    if excluded:
        parts.append(f"excluded: {some(excluded, at_most=_REASONS_AT_MOST)}")
    caps = _caps(counts)
    if caps:
        parts.append(f"capped by allocatable: {some(map(_cap, caps))}")
    return "; ".join(parts)


def _told_of(count: FlavorCount) -> str:
    """`3 nodes, 23 nvidia.com/gpu (including 1 nvidia.com/gpu still allocated on cordoned nodes)`."""
    amounts = shown(quantities(count.devices))
    nothing = ["nothing that is reported"] if count.nodes and not amounts else []
    told = ", ".join([counted(count.nodes, "node"), *amounts, *nothing])
    on_cordoned = shown(quantities(count.on_cordoned))
    return f"{told} (including {', '.join(on_cordoned)} still allocated on cordoned nodes)" if on_cordoned else told


# --- Events --------------------------------------------------------------------------------------------------------


def notices_of(counts: Mapping[str, FlavorCount], parameters: NvidiaGpuParametersSpec) -> Iterator[Notice]:
    """Unhealthy devices by reason, nodes that are held or do not count by reason, and what is odd."""
    said = {name: text for count in counts.values() for name, text in count.said.items()}
    yield from _of_unhealthy(counts)
    held: dict[str, list[str]] = {}
    for name, state in _held(counts).items():
        held.setdefault(state.reason, []).append(name)
    for reason, names in _bounded(sorted(held.items())):
        verb = "counts" if len(names) == 1 else "count"
        yield Notice(
            NODES_HELD,
            f"{counted(len(names), 'node')} {verb} as the agent said last, for {parameters.agents.grace} at most, "
            f"{reason}: {some(names)}; {_agents_way_out(reason, names[0], said)}",
        )
    for reason, names in _bounded(list(_excluded(counts).items())):
        unusable = _UNUSABLE.get(reason)
        if unusable is not None:
            way_out = way_out_of(unusable, names[0], parameters.cordoned)
            yield of_excluded(reason, names, way_out, is_warning=not is_expected(unusable))
        else:
            yield of_excluded(reason, names, _agents_way_out(reason, names[0], said), is_warning=True)
    yield from _of_odd(counts)
    caps = _caps(counts)
    if caps:
        yield Notice(
            CAPPED,
            f"healthy devices that the nodes do not have to allocate are not counted: {some(map(_cap, caps))}; look at "
            f"the device plugin (kubectl describe node {caps[0][0]}), or at how it names and shares devices; "
            "capByAllocatable: false counts them all the same",
        )


def _of_unhealthy(counts: Mapping[str, FlavorCount]) -> Iterator[Notice]:
    devices: dict[str, list[tuple[str, UnhealthyDevice]]] = {}
    for node, device in _unhealthy(counts):
        devices.setdefault(device.reason, []).append((node, device))
    for reason, listed in _bounded(sorted(devices.items())):
        verb = "does" if len(listed) == 1 else "do"
        told = some(_device(*each, with_reason=False) for each in listed)
        repair = _REPAIRS.get(reason, _AFTER_XID).format(node=listed[0][0])
        yield Notice(
            DEVICES_UNHEALTHY,
            f"{counted(len(listed), 'device')} {verb} not count, {reason}: {told}; {repair}",
        )


def _of_odd(counts: Mapping[str, FlavorCount]) -> Iterator[Notice]:
    odd = by_reason((count.odd for count in counts.values()), ())
    for problem, names in _bounded(list(odd.items())):
        who = f"Node {names[0]}" if len(names) == 1 else f"{counted(len(names), 'node')} ({some(names)}): each"
        yield Notice(ODD_OFFER, f"{who} {problem}")


def _agents_way_out(reason: str, node: str, said: Mapping[str, str]) -> str:
    """What to do about an agent; `said` is what agents with a problem say of it."""
    if reason == INVALID_REPORT:
        return (
            f"NodeGPUReport {node}, {said[node]}; its agent alone should write it, and be of our version: kubectl "
            f"delete nodegpureports.kueue-dqo.dev {node}, and the agent writes it anew"
        )
    agent = f"look at the agent of node {node} (kubectl get pods {_AGENT}{node})"
    if reason == NO_REPORT:
        return f"{agent}; a node that is to have none is left out by spec.nodeSelector of the parameters"
    return f"{said[node]}; {agent}" if node in said else agent


def _bounded(items: Sequence[T]) -> Sequence[T]:
    """Whatever agents write, people get a handful of Events; the summary counts the rest."""
    return items[:_REASONS_AT_MOST]


# --- of all flavors together ---------------------------------------------------------------------------------------


def _unhealthy(counts: Mapping[str, FlavorCount]) -> list[tuple[str, UnhealthyDevice]]:
    found = (each for count in counts.values() for each in count.unhealthy)
    return sorted(found, key=lambda each: (each[0], each[1].uuid, each[1].index or 0, each[1].reason))


def _held(counts: Mapping[str, FlavorCount]) -> dict[str, Held]:
    return dict(sorted((name, state) for count in counts.values() for name, state in count.held.items()))


def _excluded(counts: Mapping[str, FlavorCount]) -> dict[str, list[str]]:
    return by_reason((count.excluded for count in counts.values()), list(_UNUSABLE))


def _caps(counts: Mapping[str, FlavorCount]) -> list[tuple[str, Cap]]:
    return sorted(each for count in counts.values() for each in count.caps)


def _device(node: str, device: UnhealthyDevice, *, with_reason: bool) -> str:
    """`n2 GPU-5a… Lost since 2026-12-24T00:00:00Z`; one without a UUID goes by its number."""
    index = "?" if device.index is None else device.index
    reason = f" {device.reason}" if with_reason else ""
    return f"{node} {device.uuid or f'GPU {index}'}{reason} since {device.since}"


def _some_devices(listed: Sequence[str], not_listed: int) -> str:
    """As `some`, with those that the reports have no room for."""
    more = max(len(listed) - _DEVICES_AT_MOST, 0) + not_listed
    return ", ".join(listed[:_DEVICES_AT_MOST]) + (f" and {more} more" if more else "")


def _cap(each: tuple[str, Cap]) -> str:
    node, cap = each
    return f"{node} {cap.counted} of {cap.of} {cap.resource}"
