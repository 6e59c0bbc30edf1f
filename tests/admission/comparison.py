"""Settled statuses of Kueue's objects, as `tests/cases/admission.jsonl` has them, and what differs between two. Pure.

The form, and what of it counts: a condition that is absent is False; of those that are False only QuotaReserved's
reason and message count; amounts are compared by value; UIDs and the names of Workloads made from Jobs are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from kueue_dqo.api.quantity import Quantity

Manifest = Mapping[str, Any]
Settled = dict[str, dict[str, Any]]
"""`workloads` (by `namespace/job`), `clusterQueues`, `localQueues` (by `namespace/name`) and `cohorts`."""

GROUPS: Final = {
    "workloads": "Workload",
    "clusterQueues": "ClusterQueue",
    "localQueues": "LocalQueue",
    "cohorts": "Cohort",
}
MESSAGE_UNSTABLE: Final = "QuotaReserved"
"""In a list of what does not count: QuotaReserved's message."""
REASON_UNSTABLE: Final = "QuotaReserved!"
"""In a list of what does not count: QuotaReserved's message and reason."""
_UID: Final = re.compile(r"UID: [^,)]*")
_LACKS: Final = re.compile(
    r"insufficient (?:unused )?quota for (?P<resource>\S+) in flavor (?P<flavor>[^ ,]+), "
    r"(?P<how>\S+ more needed|previously considered .*? > maximum capacity \([^)]*\))"
)
"""What a message says of one resource in one flavor."""
_ABSENT: Final = {"status": "False", "reason": "", "message": ""}
_QUANTITIES: Final = frozenset({"total", "borrowed"})
_CHECK: Final = ("name", "state", "message", "requeueAfterSeconds")


def settled_of(manifests: Iterable[Manifest]) -> Settled:
    """The form of the cases, from objects as a cluster or the model has them."""
    objects = list(manifests)
    names = {
        each["metadata"]["name"]: f"<workload of {job_of(each)}>"
        for each in objects
        if each["kind"] == "Workload" and job_of(each)
    }
    found: Settled = {group: {} for group in GROUPS}
    for each in objects:
        metadata, status = each["metadata"], each.get("status") or {}
        match each["kind"]:
            case "Workload":
                key = f"{metadata['namespace']}/{job_of(each) or metadata['name']}"
                found["workloads"][key] = _workload(each, lambda text: _anonymous(text, names))
            case "ClusterQueue":
                found["clusterQueues"][metadata["name"]] = _cluster_queue(status)
            case "LocalQueue":
                found["localQueues"][f"{metadata['namespace']}/{metadata['name']}"] = _local_queue(status)
            case "Cohort":
                found["cohorts"][metadata["name"]] = _share(status)
            case _:
                pass
    return found


def job_of(workload: Manifest) -> str:
    """The name of the Job that a Workload was made from, empty where there is none."""
    owners = workload["metadata"].get("ownerReferences") or []
    return next((each["name"] for each in owners if each["kind"] == "Job"), "")


def differences(expected: Settled, got: Settled, unstable: Mapping[str, Iterable[str]] | None = None) -> list[str]:
    """What is not the same, one line each: `Workload team-a/j1: Admitted …, expected …`. Empty: equal.

    Args:
        expected: what is right.
        got: what is compared with it.
        unstable: what does not count, by `Workload namespace/job`: `QuotaReserved` or `QuotaReserved!`.
    """
    lines: list[str] = []
    for group, kind in GROUPS.items():
        lefts, rights = expected.get(group, {}), got.get(group, {})
        for name in sorted(lefts.keys() | rights.keys()):
            label = f"{kind} {name}"
            if name not in rights:
                lines.append(f"{label}: is missing")
            elif name not in lefts:
                lines.append(f"{label}: should not be there")
            else:
                left, right = dict(lefts[name]), dict(rights[name])
                if group == "workloads":
                    ignored = frozenset((unstable or {}).get(label, ()))
                    lines += _condition_differences(label, left.pop("conditions"), right.pop("conditions"), ignored)
                lines += _field_differences(label, left, right)
    return lines


def decisions(settled: Settled) -> Settled:
    """Only what was decided: without messages, and without counters of queues.

    That is who holds quota and on which flavors, who is admitted, who was evicted or preempted and why, and what checks
    say.
    """
    kept: Settled = {group: {} for group in GROUPS}
    for name, workload in settled["workloads"].items():
        conditions = {
            kind: {"status": each["status"], "reason": each["reason"], "message": ""}
            for kind, each in workload["conditions"].items()
            if each["status"] == "True"
        }
        kept["workloads"][name] = {**workload, "conditions": conditions}
    return kept


def same_up_to_chance(one: str, other: str) -> bool:
    """Whether both messages may stand for the same.

    Kueue goes through the resources of a flavor in any order, and no further once one can never fit. So it is chance
    which of several that can never fit is named, and whether those that are only short now are named beside it.
    """
    if one == other:
        return True
    if _LACKS.sub("", one).replace(", ", "") != _LACKS.sub("", other).replace(", ", ""):
        return False
    lefts, rights = _lacks(one), _lacks(other)
    if lefts.keys() != rights.keys():
        return False
    for flavor, left in lefts.items():
        right = rights[flavor]
        if any(left[resource] != right[resource] for resource in left.keys() & right.keys()):
            return False
        is_hopeless = [any("maximum" in how for how in each.values()) for each in (left, right)]
        if is_hopeless[0] != is_hopeless[1] or (left.keys() != right.keys() and not is_hopeless[0]):
            return False
    return True


def _lacks(message: str) -> dict[str, dict[str, str]]:
    """By flavor and resource."""
    found: dict[str, dict[str, str]] = {}
    for each in _LACKS.finditer(message):
        found.setdefault(each["flavor"], {})[each["resource"]] = each["how"]
    return found


def _workload(obj: Manifest, anonymous: Callable[[str], str]) -> dict[str, Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    found: dict[str, Any] = {
        "priority": spec.get("priority", 0),
        "active": spec.get("active", True),
        "conditions": {
            each["type"]: {
                "status": each["status"],
                "reason": each["reason"],
                "message": anonymous(each.get("message", "")),
            }
            for each in status.get("conditions") or []
        },
        "admission": _admission(status.get("admission")),
    }
    checks = status.get("admissionChecks")
    if checks:
        listed = [{key: each[key] for key in _CHECK if each.get(key) is not None} for each in checks]
        found["admissionChecks"] = [{"message": "", **each} for each in sorted(listed, key=lambda each: each["name"])]
    evictions = (status.get("schedulingStats") or {}).get("evictions")
    if evictions:
        found["evictions"] = sorted(
            (
                {
                    "reason": each["reason"],
                    "underlyingCause": each.get("underlyingCause", ""),
                    "count": each["count"],
                }
                for each in evictions
            ),
            key=lambda each: (each["reason"], each["underlyingCause"]),
        )
    requeue = status.get("requeueState")
    if requeue:
        found["requeueState"] = {"count": requeue.get("count"), "requeueAt": bool(requeue.get("requeueAt"))}
    return found


def _admission(admission: Manifest | None) -> dict[str, Any] | None:
    if admission is None:
        return None
    assignments = [
        {
            "name": each["name"],
            "count": each.get("count"),
            "flavors": dict(each.get("flavors") or {}),
            "resourceUsage": dict(each.get("resourceUsage") or {}),
        }
        for each in admission["podSetAssignments"]
    ]
    return {"clusterQueue": admission["clusterQueue"], "podSetAssignments": assignments}


def _cluster_queue(status: Manifest) -> dict[str, Any]:
    return {
        "active": _active(status),
        **{name: status.get(name, 0) for name in ("pendingWorkloads", "reservingWorkloads", "admittedWorkloads")},
        **{name: status.get(name) or [] for name in ("flavorsReservation", "flavorsUsage")},
        **_share(status),
    }


def _local_queue(status: Manifest) -> dict[str, Any]:
    found = {
        "active": _active(status),
        **{name: status.get(name, 0) for name in ("reservingWorkloads", "admittedWorkloads")},
    }
    used = (status.get("fairSharing") or {}).get("admissionFairSharingStatus")
    if used is not None:
        found["admissionFairSharing"] = {"consumedResources": sorted(used.get("consumedResources") or {})}
    return found


def _share(status: Manifest) -> dict[str, Any]:
    share = (status.get("fairSharing") or {}).get("weightedShare")
    return {} if share is None else {"weightedShare": share}


def _active(status: Manifest) -> dict[str, str] | None:
    for each in status.get("conditions") or []:
        if each["type"] == "Active":
            return {"status": each["status"], "reason": each["reason"], "message": each.get("message", "")}
    return None


def _anonymous(text: str, names: Mapping[str, str]) -> str:
    for name, label in names.items():
        text = text.replace(name, label)
    return _UID.sub("UID: <uid>", text)


def _condition_differences(label: str, left: Manifest, right: Manifest, ignored: frozenset[str]) -> list[str]:
    lines = []
    for kind in sorted(left.keys() | right.keys()):
        wanted, got = left.get(kind, _ABSENT), right.get(kind, _ABSENT)
        left_counts, right_counts = _counted(kind, wanted, ignored), _counted(kind, got, ignored)
        if left_counts[:2] != right_counts[:2] or not same_up_to_chance(left_counts[-1], right_counts[-1]):
            lines.append(f"{label}: {kind} {_said(got)}, expected {_said(wanted)}")
    return lines


def _counted(kind: str, condition: Manifest, ignored: frozenset[str]) -> tuple[str, str, str]:
    """What is compared of a condition. The message of Finished is the Job's own, which a model cannot know."""
    status, reason, message = condition["status"], condition["reason"], condition["message"]
    if status == "False" and (kind != "QuotaReserved" or REASON_UNSTABLE in ignored):
        return status, "", ""
    if kind == "Finished" or (kind == "QuotaReserved" and MESSAGE_UNSTABLE in ignored and status == "False"):
        return status, reason, ""
    return status, reason, message


def _said(condition: Manifest) -> str:
    return f"{condition['status']}/{condition['reason']}/{condition['message']!r}"


def _field_differences(label: str, left: Manifest, right: Manifest) -> list[str]:
    lines = []
    for field in sorted(left.keys() | right.keys()):
        wanted, got = left.get(field), right.get(field)
        if _by_value(wanted, field) != _by_value(got, field):
            lines.append(f"{label}: {field} {got}, expected {wanted}")
    return lines


def _by_value(value: Any, key: str = "") -> Any:
    """Amounts as numbers; lists in their order. Names of flavors and resources stay text."""
    if isinstance(value, dict):
        if key == "resourceUsage":
            return {name: Quantity.of(amount) for name, amount in value.items()}
        return {name: _by_value(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_by_value(each) for each in value]
    return Quantity.of(value) if key in _QUANTITIES else value
