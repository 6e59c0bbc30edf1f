"""Events about the GPUs: what does not count and why, with the way out. Pure.

They are bounded, however many nodes there are, and stay as they are while nothing changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeVar

from kueue_dqo.api.gpu import UnhealthyDevice, UnhealthyReason
from kueue_dqo.api.parameters import NvidiaGpuParametersSpec
from kueue_dqo.api.wording import counted, some
from kueue_dqo.provider import Notice
from providers.nodes.wording import by_reason, is_expected, of_excluded, way_out_of
from providers.nvidia_gpu.counting import FlavorCount
from providers.nvidia_gpu.decoding import INVALID_REPORT
from providers.nvidia_gpu.hearing import NO_REPORT
from providers.nvidia_gpu.wording import (
    UNUSABLE,
    caps_of,
    excluded_of,
    held_of,
    text_of_cap,
    text_of_device,
    unhealthy_of,
)

T = TypeVar("T")

DEVICES_UNHEALTHY: Final = "DevicesUnhealthy"
NODES_HELD: Final = "NodesHeld"
CAPPED: Final = "CappedByAllocatable"
ODD_OFFER: Final = "OddOffer"
_AT_MOST: Final = 10
"""Events of each kind."""
_AGENT: Final = "-A -l app.kubernetes.io/component=nvidia-gpu-agent --field-selector spec.nodeName="
_REPAIRS: Final[Mapping[str, str]] = {
    UnhealthyReason.LOST: "drain and reboot node {node}; a GPU that does not come back by that has to be looked at",
    UnhealthyReason.REMOVED: "one that was taken out on purpose is forgotten when node {node} is rebooted",
    UnhealthyReason.RESET_REQUIRED: "drain node {node} and reset the GPU (nvidia-smi --gpu-reset), or reboot the node",
    UnhealthyReason.REBOOT_REQUIRED: "drain and reboot node {node}",
    UnhealthyReason.DRAIN_REQUIRED: "drain node {node} and reset its GPUs (nvidia-smi --gpu-reset)",
    UnhealthyReason.IMEX_RECOVERY_REQUIRED: (
        "drain the nodes that share memory over NVLink with node {node} (its IMEX domain), and restart the domain"
    ),
    UnhealthyReason.ROW_REMAP_FAILED: "the memory has no spare rows left: have the GPU replaced",
    UnhealthyReason.UNREADABLE: f"the log of the agent says what NVML answers (kubectl get pods {_AGENT}{{node}})",
}
_AFTER_XID: Final = (
    "NVIDIA's list of XID errors says what it means; it counts again after a reboot of node {node}, or when the "
    "agent is started anew and NVML says that no recovery is needed; --disable-health-checks of the agent leaves XIDs "
    "out"
)

_AFTER_MANY: Final = ", or for three heartbeats after many agents were not heard"


def notices_of(counts: Mapping[str, FlavorCount], parameters: NvidiaGpuParametersSpec) -> Iterator[Notice]:
    """Unhealthy devices by reason, nodes that are held or do not count by reason, and what is odd."""
    said = {name: text for count in counts.values() for name, text in count.said.items()}
    yield from _of_unhealthy(counts)
    held: dict[str, list[str]] = {}
    longer: set[str] = set()
    for name, state in held_of(counts).items():
        held.setdefault(state.reason, []).append(name)
        if (state.until - state.since).total_seconds() > parameters.agents.grace.seconds:
            longer.add(state.reason)
    for reason, names in _bounded(sorted(held.items())):
        verb = "counts" if len(names) == 1 else "count"
        at_most = f"for {parameters.agents.grace} at most{_AFTER_MANY if reason in longer else ''}"
        yield Notice(
            NODES_HELD,
            f"{counted(len(names), 'node')} {verb} as the agent said last, {at_most}, {reason}: {some(names)}; "
            f"{_agents_way_out(reason, names[0], said)}",
        )
    for reason, names in _bounded(list(excluded_of(counts).items())):
        unusable = UNUSABLE.get(reason)
        if unusable is not None:
            way_out = way_out_of(unusable, names[0], parameters.cordoned)
            yield of_excluded(reason, names, way_out, is_warning=not is_expected(unusable))
        else:
            yield of_excluded(reason, names, _agents_way_out(reason, names[0], said), is_warning=True)
    yield from _of_odd(counts)
    caps = caps_of(counts)
    if caps:
        yield Notice(
            CAPPED,
            f"healthy devices that the nodes do not have to allocate are not counted: {some(map(text_of_cap, caps))}; "
            f"look at the device plugin (kubectl describe node {caps[0][0]}), or at how it names and shares devices; "
            "capByAllocatable: false counts them all the same",
        )


def _of_unhealthy(counts: Mapping[str, FlavorCount]) -> Iterator[Notice]:
    devices: dict[str, list[tuple[str, UnhealthyDevice]]] = {}
    for node, device in unhealthy_of(counts):
        devices.setdefault(device.reason, []).append((node, device))
    for reason, listed in _bounded(sorted(devices.items())):
        verb = "does" if len(listed) == 1 else "do"
        told = some(text_of_device(*each, with_reason=False) for each in listed)
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
    return items[:_AT_MOST]
