"""Parameters of MultiKueue that are good and that are not, as `parameter_specs` has those of other kinds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tests.unit.kueue_dqo.api.parameter_specs import ABSENT, MULTIKUEUE, NO_DURATIONS, NO_NAMES, SUBDOMAIN, Case

SUBTREE: Final[dict[str, Any]] = {"subtree": {"kind": "ClusterQueue", "name": "gold"}}
QUEUES, MAPPING, PROVIDERS = "managerQueues", "flavorMapping", "workerProviders"
ONE_QUEUE: Final[dict[str, Any]] = {QUEUES: {"clusterQueues": ["gold"]}}
ROOT, LIST, GRACE = f"{QUEUES}.subtree", f"{QUEUES}.clusterQueues", "unavailableWorkers.grace"
CLUSTERS: Final = f"{MAPPING}.0.clusters"


def _names(count: int) -> list[str]:
    return [f"n{number}" for number in range(count)]


def _entry(flavor: str, *clusters: str) -> dict[str, Any]:
    return {"workerFlavor": flavor, "flavor": "h100", "clusters": list(clusters)}


def _mapped(*entries: dict[str, Any], field: str = "", says: str = "") -> Case:
    return Case(MULTIKUEUE, MAPPING, list(entries), f"{MAPPING}{field}", says)


def _case(path: str, value: Any, says: str = "", field: str = "") -> Case:
    return Case(MULTIKUEUE, path, value, field, says)


def _missing(*paths: str) -> Iterator[Case]:
    for path in paths:
        yield _case(path, ABSENT, "is required and missing")


FULL_MAPPING: Final = [_entry(f"f{number}", *_names(64)) for number in range(127)]
GOOD: Final = [
    Case(MULTIKUEUE, "", ONE_QUEUE),
    _case(QUEUES, {**SUBTREE, "clusterQueues": []}),
    Case(MULTIKUEUE, "", {QUEUES: SUBTREE}),
    _case(QUEUES, {"clusterQueues": [SUBDOMAIN, *_names(63)]}),
    _case(f"{ROOT}.kind", "ClusterQueue"),
    _case(f"{ROOT}.name", SUBDOMAIN),
    *(
        _case(path, ABSENT)
        for path in (
            MAPPING,
            f"{MAPPING}.2.clusters",
            "otherFlavors",
            PROVIDERS,
            "inactiveQueues",
            "unavailableWorkers",
            GRACE,
        )
    ),
    _case(MAPPING, []),
    _case(f"{MAPPING}.2.clusters", []),
    _case(f"{MAPPING}.0.workerFlavor", SUBDOMAIN),
    _case(f"{MAPPING}.0.flavor", SUBDOMAIN),
    _case(f"{MAPPING}.2.clusters", [SUBDOMAIN, *_names(63)]),
    _case(MAPPING, [*FULL_MAPPING, _entry("f0")]),
    # The one of all clusters comes last; of other flavors, entries may stand in between.
    _mapped(_entry("a", "x"), _entry("b"), _entry("a", "y"), _entry("a"), _entry("c")),
    _mapped(_entry("a", "x"), _entry("a", "y"), _entry("b", "x")),
    *(
        Case(MULTIKUEUE, "", {QUEUES: SUBTREE, "counts": each, PROVIDERS: []})
        for each in ("QuotaInForce", "QuotaAndBorrowable", "WorkerProviders")
    ),
    _case(PROVIDERS, [SUBDOMAIN, *_names(63)]),
    _case("otherFlavors", SUBDOMAIN),
    _case("inactiveQueues", "Exclude"),
    *(_case(GRACE, each) for each in ("0s", "24h", "1440m")),
    *(_case("unavailableWorkers.afterGrace", each) for each in ("LeaveOut", ABSENT)),
]

BAD: Final = [
    *_missing(QUEUES, f"{ROOT}.kind", f"{ROOT}.name", f"{MAPPING}.0.workerFlavor", f"{MAPPING}.0.flavor"),
    *(
        _case(path, "x", "is no field")
        for path in (f"{QUEUES}.cohort", f"{ROOT}.apiGroup", f"{MAPPING}.0.cluster", "unavailableWorkers.after")
    ),
    _case(QUEUES, {}, "has neither of subtree and clusterQueues"),
    _case(QUEUES, {"clusterQueues": []}, "has neither of subtree and clusterQueues"),
    _case(LIST, ["gold"], "has both of subtree and clusterQueues", QUEUES),
    *(_case(f"{ROOT}.kind", each, "is neither ClusterQueue nor Cohort") for each in ("", "cohort", "LocalQueue")),
    *(_case(f"{ROOT}.name", each, "is no object name") for each in NO_NAMES),
    *(_case(QUEUES, {"clusterQueues": [each]}, "is no object name", f"{LIST}.0") for each in NO_NAMES),
    _case(QUEUES, {"clusterQueues": ["a", "a"]}, "'a' is listed more than once", LIST),
    _case(QUEUES, {"clusterQueues": _names(65)}, "65 entries; at most 64", LIST),
    *(_case(f"{MAPPING}.0.workerFlavor", each, "is no object name") for each in NO_NAMES),
    *(_case(f"{MAPPING}.0.flavor", each, "is no object name") for each in NO_NAMES),
    *(_case(f"{MAPPING}.2.clusters", [each], "is no object name", f"{MAPPING}.2.clusters.0") for each in NO_NAMES),
    _case(CLUSTERS, ["a", "a"], "'a' is listed more than once"),
    _case(CLUSTERS, _names(65), "65 entries; at most 64"),
    _case(MAPPING, [_entry(f"f{number}") for number in range(129)], "129 entries; at most 128"),
    _mapped(
        _entry("a"),
        _entry("b"),
        _entry("a", "x"),
        field=".2",
        says="spec.flavorMapping[0] is for 'a' of all clusters already",
    ),
    _mapped(_entry("a"), _entry("a"), field=".1", says="is never reached"),
    _mapped(_entry("a", "x"), _entry("a"), {"workerFlavor": "a", "flavor": "b"}, field=".2", says="is never reached"),
    *(_case("otherFlavors", each, "is no object name") for each in NO_NAMES),
    *(
        _case("counts", each, f"do not count with counts {each}", PROVIDERS)
        for each in ("QuotaInForce", "QuotaAndBorrowable")
    ),
    _case("counts", ABSENT, "do not count with counts QuotaInForce: set spec.counts to WorkerProviders", PROVIDERS),
    _case("counts", "Quota", '"Quota" is none of QuotaInForce, QuotaAndBorrowable, WorkerProviders'),
    *(_case(f"{PROVIDERS}.0", each, "is no object name") for each in NO_NAMES),
    _case(PROVIDERS, ["a", "a"], "'a' is listed more than once"),
    _case(PROVIDERS, _names(65), "65 entries; at most 64"),
    _case("inactiveQueues", "Ignore", '"Ignore" is none of Exclude, Count'),
    *(_case(GRACE, each, "is no duration") for each in (*NO_DURATIONS, 300)),
    *(_case(GRACE, each, "is too long: at most 24h") for each in ("24h1s", "8784h")),
    _case(GRACE, "8784h1s", "is more than a year"),
    _case("unavailableWorkers.afterGrace", "Zero", '"Zero" is none of LeaveOut, SourceUnavailable'),
]

BEYOND_DEFINITIONS: Final = [
    _mapped(
        _entry("a", "x", "y"),
        _entry("b", "y"),
        _entry("a", "z", "y"),
        field=".2.clusters",
        says="'a' of 'y' is mapped by spec.flavorMapping[0] already",
    ),
]
"""What comparing the clusters of each entry with those of all others shows: a definition may not cost that much."""
