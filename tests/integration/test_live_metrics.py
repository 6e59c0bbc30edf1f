"""What daemons at work serve at /metrics is what docs/reference/metrics.md says, read as Prometheus reads it."""

from __future__ import annotations

from typing import Final

from prometheus_client.parser import text_string_to_metric_families

from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import Daemon, install, start_daemon, start_orchestrator
from tests.integration.objects import add_node, flavor, orchestrator, provider, queue
from tests.monitoring.rules import known

_OF_PYTHON: Final = ("python_", "process_")


def _served(daemon: Daemon) -> dict[str, set[frozenset[str]]]:
    """The labels of each series by its name. `le` of buckets is in, what a scrape adds is not."""
    found: dict[str, set[frozenset[str]]] = {}
    for family in text_string_to_metric_families(daemon.get("/metrics")[1]):
        for sample in family.samples:
            if not sample.name.startswith(_OF_PYTHON) and not sample.name.endswith("_created"):
                found.setdefault(sample.name, set()).add(frozenset(sample.labels))
    return found


def test_what_daemons_serve_is_what_the_reference_says(plane: ControlPlane) -> None:
    """No series too many, and each with the labels that it is told to have."""
    plane.admin.apply(
        queue("team", {"default": {"cpu": "1"}}),
        flavor("default", {"pool": "default"}),
        provider("nodes", "default", controller="kueue-dqo.dev/node-inventory"),
        orchestrator("dqo", "nodes", root=("ClusterQueue", "team")),
    )
    add_node(plane, "n1", {"cpu": "8"}, labels={"pool": "default"})
    install(plane, "overlays/spec")
    inventory = start_daemon(plane, install(plane, "base/node-inventory"), name="inventory")
    distributing = start_orchestrator(plane)
    eventually(lambda: distributing.metric("kueue_dqo_effective_quota") > 0, "the quota follows")
    for daemon in (inventory, distributing):
        served = _served(daemon)
        assert len(served) > 20
        wrong = {name: labels for name, labels in served.items() if labels != {known().get(name)}}
        assert wrong == {}
