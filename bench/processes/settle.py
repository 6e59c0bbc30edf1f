"""Settles a made-up cluster in the model of admission, and prints what that took as a JSON object.

    python -m bench.processes.settle QUEUES WORKLOADS

Ten queues are in a Cohort. Workloads ask for some two thirds more than there is, in four priorities, so that there are
preemptions. They are decoded before the clock starts.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterator
from typing import Any, Final

from admission.settling import Simulation
from admission.world import Item
from bench.measure import own_peak_bytes
from kueue_dqo.api.admission_kinds import ADMISSION_KINDS
from kueue_dqo.api.scheme import decode, known_kind

_COHORT: Final = 10
_FLAVORS: Final = 3
_VERSION: Final = "kueue.x-k8s.io/v1beta2"
_BEGINNING: Final = 1_767_225_600


def main() -> None:
    queues, workloads = map(int, sys.argv[1:])
    chance = random.Random(1)
    around = [*_surroundings(queues, chance)]
    waiting = [*_workloads(queues, workloads, chance)]
    before = own_peak_bytes()
    simulation = Simulation(keeps_cycles=False)
    start = time.perf_counter()
    simulation.apply(around)
    simulation.apply(waiting)
    seconds = time.perf_counter() - start
    states = simulation.workloads.values()
    print(
        json.dumps(
            {
                "seconds": seconds,
                "cycles": simulation.cycles,
                "admitted": sum(each.holds for each in states),
                "preemptions": sum(sum(each.evictions.values()) for each in states),
                "bytes": own_peak_bytes(),
                "bytes_before": before,
            }
        )
    )


def _item(kind: str, plain: dict[str, Any]) -> Item:
    known = known_kind(_VERSION, kind, ADMISSION_KINDS)
    assert known is not None
    return Item(kind, decode(known, "v1beta2", {"apiVersion": _VERSION, "kind": kind, **plain}).object)


def _surroundings(queues: int, chance: random.Random) -> Iterator[Item]:
    for number in range(_FLAVORS):
        yield _item("ResourceFlavor", {"metadata": {"name": f"f{number}"}})
    for number in range(queues // _COHORT):
        yield _item("Cohort", {"metadata": {"name": f"cohort-{number}"}})
    for number in range(queues):
        flavors = [
            {
                "name": f"f{each}",
                "resources": [
                    {"name": "cpu", "nominalQuota": str(chance.randint(10, 40))},
                    {"name": "memory", "nominalQuota": f"{chance.randint(20, 80)}Gi"},
                ],
            }
            for each in range(_FLAVORS)
        ]
        spec: dict[str, Any] = {
            "cohortName": f"cohort-{number // _COHORT}",
            "namespaceSelector": {},
            "preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"},
            "resourceGroups": [{"coveredResources": ["cpu", "memory"], "flavors": flavors}],
        }
        yield _item("ClusterQueue", {"metadata": {"name": f"q{number}"}, "spec": spec})
        local = {"metadata": {"name": f"q{number}", "namespace": "team"}, "spec": {"clusterQueue": f"q{number}"}}
        yield _item("LocalQueue", local)


def _workloads(queues: int, workloads: int, chance: random.Random) -> Iterator[Item]:
    for number in range(workloads):
        cpus = chance.choice((1, 2, 4, 8))
        resources = {"requests": {"cpu": str(cpus), "memory": f"{2 * cpus}Gi"}}
        created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(_BEGINNING + number))
        plain = {
            "metadata": {"name": f"w{number}", "namespace": "team", "creationTimestamp": created},
            "spec": {
                "queueName": f"q{chance.randrange(queues)}",
                "priority": chance.choice((0, 0, 100, 1000)),
                "podSets": [
                    {
                        "name": "main",
                        "count": chance.choice((1, 2, 4)),
                        "template": {"spec": {"containers": [{"name": "main", "resources": resources}]}},
                    }
                ],
            },
        }
        yield _item("Workload", plain)


if __name__ == "__main__":
    main()
