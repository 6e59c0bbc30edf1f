"""The orchestrator's Deployment, and what stands around it."""

from __future__ import annotations

import os
import re
from typing import Any

import click
import pytest
from click.core import ParameterSource

from kueue_dqo import __version__
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.cli.main import dqo
from kueue_dqo.cli.orchestrator import orchestrator
from tests.manifests.rendered import (
    NAMESPACE,
    ORCHESTRATOR,
    OVERLAYS,
    container,
    of_kind,
    only,
    overlay,
    pod,
    render,
)

FIELD_OF = {"DQO_NAMESPACE": "metadata.namespace", "DQO_IDENTITY": "metadata.name"}


def _environment(name: str) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in container(name)["env"]}


def _daemon(name: str, monkeypatch: pytest.MonkeyPatch) -> click.Context:
    """What the daemon makes of its environment in the pod of the overlay; it is not run."""
    for variable in [each for each in os.environ if each.startswith("DQO_")]:
        monkeypatch.delenv(variable)
    for variable, given in _environment(name).items():
        monkeypatch.setenv(variable, given.get("value") or f"from-{FIELD_OF[variable]}")
    return orchestrator.make_context("orchestrator", container(name)["args"][1:])


@pytest.mark.parametrize("name", OVERLAYS)
def test_the_overlay_says_how_quotas_take_effect(name: str) -> None:
    """By the variable of its own name."""
    assert _environment(name)["DQO_ENFORCEMENT"] == {"name": "DQO_ENFORCEMENT", "value": name}


@pytest.mark.parametrize("name", OVERLAYS)
def test_the_daemon_takes_every_variable(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelt one would do nothing, without a word."""
    daemon = _daemon(name, monkeypatch)
    parameters = {variable: variable.removeprefix("DQO_").lower() for variable in _environment(name)}
    assert {variable: daemon.get_parameter_source(each) for variable, each in parameters.items()} == dict.fromkeys(
        parameters, ParameterSource.ENVIRONMENT
    )
    assert daemon.params["enforcement"] == name
    assert daemon.params["identity"] == "from-metadata.name"
    assert daemon.params["namespace"] == "from-metadata.namespace"


@pytest.mark.parametrize("name", OVERLAYS)
def test_the_pod_says_who_and_where_it_is(name: str) -> None:
    """By the downward API."""
    for variable, field in FIELD_OF.items():
        assert _environment(name)[variable]["valueFrom"] == {"fieldRef": {"fieldPath": field}}


@pytest.mark.parametrize("name", OVERLAYS)
def test_the_container_runs_the_command(name: str) -> None:
    """The image's program with this argument."""
    assert container(name)["args"] == ["orchestrator"]
    assert "orchestrator" in dqo.list_commands(dqo.make_context("dqo", ["--version"], resilient_parsing=True))


@pytest.mark.parametrize("name", OVERLAYS)
def test_the_image_is_of_this_version_and_of_no_registry(name: str) -> None:
    """Where it is pulled from is the business of whoever pushes it."""
    assert container(name)["image"] == f"kueue-dqo:{__version__}"


@pytest.mark.parametrize("name", OVERLAYS)
def test_the_role_for_the_lease_names_the_lease(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that the daemon uses, which is a leader's only if it is elected."""
    roles = {each["metadata"]["name"]: each for each in of_kind(overlay(name), "Role")}
    named = {lease for rule in roles[f"{ORCHESTRATOR}-leases"]["rules"] for lease in rule.get("resourceNames", [])}
    daemon = _daemon(name, monkeypatch)
    assert daemon.params["leader_elect"] is True
    assert named == {daemon.params["lease_name"]}


@pytest.mark.parametrize("name", OVERLAYS)
def test_the_probes_and_the_service_reach_the_server(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the port where it listens, on every address."""
    host, port = _daemon(name, monkeypatch).params["listen"]
    assert host == "0.0.0.0"  # noqa: S104 - the address is compared, not listened on
    (opened,) = container(name)["ports"]
    assert opened == {"name": "http", "containerPort": port}
    paths = {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}
    assert {probe: container(name)[probe]["httpGet"] for probe in paths} == {
        probe: {"path": path, "port": "http"} for probe, path in paths.items()
    }
    service = only(overlay(name), "Service")["spec"]
    assert service["ports"] == [{"name": "metrics", "port": port, "targetPort": "http"}]
    assert (service["clusterIP"], service["publishNotReadyAddresses"]) == ("None", True)


@pytest.mark.parametrize("name", OVERLAYS)
def test_everything_selects_the_pods_and_only_them(name: str) -> None:
    """By labels that the pods carry and that tell the component."""
    objects = overlay(name)
    template = pod(name)
    selector = only(objects, "Deployment")["spec"]["selector"]["matchLabels"]
    assert selector == {"app.kubernetes.io/name": "kueue-dqo", "app.kubernetes.io/component": "orchestrator"}
    assert selector.items() <= template["metadata"]["labels"].items()
    assert only(objects, "Service")["spec"]["selector"] == selector
    assert only(objects, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"] == selector
    for spread in template["spec"]["topologySpreadConstraints"]:
        assert spread["labelSelector"]["matchLabels"] == selector


@pytest.mark.parametrize("name", OVERLAYS)
def test_a_node_may_be_lost_or_drained(name: str) -> None:
    """Two replicas, on two nodes and in two zones where that is possible, one at a time."""
    assert only(overlay(name), "Deployment")["spec"]["replicas"] == 2
    spreads = pod(name)["spec"]["topologySpreadConstraints"]
    assert [each["topologyKey"] for each in spreads] == ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]
    assert {each["whenUnsatisfiable"] for each in spreads} == {"ScheduleAnyway"}
    budget = only(overlay(name), "PodDisruptionBudget")["spec"]
    assert (budget["maxUnavailable"], budget["unhealthyPodEvictionPolicy"]) == (1, "AlwaysAllow")
    assert "minAvailable" not in budget


@pytest.mark.parametrize("name", OVERLAYS)
def test_the_daemon_has_time_to_drain(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own limit comes first, with five seconds for the rest."""
    grace = _daemon(name, monkeypatch).params["grace"]
    assert pod(name)["spec"]["terminationGracePeriodSeconds"] >= grace + 5


@pytest.mark.parametrize("name", OVERLAYS)
def test_memory_is_limited_with_room_and_cpu_is_not(name: str) -> None:
    """A throttled leader loses its Lease."""
    resources = container(name)["resources"]
    assert resources.keys() == {"requests", "limits"}
    assert resources["requests"].keys() == {"cpu", "memory"}
    assert resources["limits"].keys() == {"memory"}
    assert Quantity.of(resources["limits"]["memory"]) >= Quantity.of(resources["requests"]["memory"])


@pytest.mark.parametrize("name", OVERLAYS)
def test_the_pods_preempt_nobody(name: str) -> None:
    """Their class comes along, and is nobody else's default."""
    priority = only(overlay(name), "PriorityClass")
    assert pod(name)["spec"]["priorityClassName"] == priority["metadata"]["name"]
    assert (priority["preemptionPolicy"], priority["globalDefault"]) == ("Never", False)
    assert priority["value"] <= 1_000_000_000  # more is Kubernetes's own


@pytest.mark.parametrize("name", OVERLAYS)
def test_every_object_has_its_place(name: str) -> None:
    """In the project's namespace, but for the Role of the Events, and says whose it is."""
    elsewhere = {("Role", f"{ORCHESTRATOR}-events"), ("RoleBinding", f"{ORCHESTRATOR}-events")}
    whole_cluster = {"Namespace", "PriorityClass", "ClusterRole", "ClusterRoleBinding"}
    for each in overlay(name):
        meta = each["metadata"]
        expected = "default" if (each["kind"], meta["name"]) in elsewhere else NAMESPACE
        assert meta.get("namespace") == (None if each["kind"] in whole_cluster else expected), each
        assert meta["labels"]["app.kubernetes.io/part-of"] == "kueue-dqo"


def test_the_base_writes_no_quota() -> None:
    """Whoever applies it alone is on the safe side."""
    objects = render("base/orchestrator")
    (deployment,) = of_kind(objects, "Deployment")
    environment = deployment["spec"]["template"]["spec"]["containers"][0]["env"]
    assert {"name": "DQO_ENFORCEMENT", "value": "observe"} in environment
    assert objects == tuple(each for each in overlay("observe") if each["kind"] not in ("Namespace", "PriorityClass"))


@pytest.mark.parametrize("name", OVERLAYS)
def test_names_fit_everywhere(name: str) -> None:
    """A DNS label, also where Kubernetes would take more."""
    for each in overlay(name):
        assert re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", each["metadata"]["name"])
