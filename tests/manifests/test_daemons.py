"""The Deployment of each daemon, and what stands around it."""

from __future__ import annotations

import re

import pytest
from click.core import ParameterSource

from kueue_dqo import __version__
from kueue_dqo.api.quantity import Quantity
from tests.manifests.commands import FIELD_OF, command, environment
from tests.manifests.rendered import DAEMONS, NAMESPACE, component, container, daemon, only, pod, selector, spreads


@pytest.mark.parametrize("name", DAEMONS)
def test_the_daemon_takes_every_variable(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelt one would do nothing, without a word."""
    context = command(name, monkeypatch)
    parameters = {variable: variable.removeprefix("DQO_").lower() for variable in environment(name)}
    assert {variable: context.get_parameter_source(each) for variable, each in parameters.items()} == dict.fromkeys(
        parameters, ParameterSource.ENVIRONMENT
    )
    assert context.params["identity"] == "from-metadata-name"
    assert context.params["namespace"] == "from-metadata-namespace"


@pytest.mark.parametrize("name", DAEMONS)
def test_the_pod_says_who_and_where_it_is(name: str) -> None:
    """By the downward API."""
    for variable, field in FIELD_OF.items():
        assert environment(name)[variable]["valueFrom"] == {"fieldRef": {"fieldPath": field}}


@pytest.mark.parametrize("name", DAEMONS)
def test_the_image_is_of_this_version_and_of_no_registry(name: str) -> None:
    """Where it is pulled from is the business of whoever pushes it."""
    assert container(name)["image"] == f"kueue-dqo:{__version__}"


@pytest.mark.parametrize("name", DAEMONS)
def test_the_probes_and_the_service_reach_the_server(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the port where it listens, on every address."""
    host, port = command(name, monkeypatch).params["listen"]
    assert host == "0.0.0.0"  # noqa: S104 - the address is compared, not listened on
    (opened,) = container(name)["ports"]
    assert opened == {"name": "http", "containerPort": port}
    paths = {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}
    assert {probe: container(name)[probe]["httpGet"] for probe in paths} == {
        probe: {"path": path, "port": "http"} for probe, path in paths.items()
    }
    service = only(daemon(name), "Service")["spec"]
    assert service["ports"] == [{"name": "metrics", "port": port, "targetPort": "http"}]
    assert (service["clusterIP"], service["publishNotReadyAddresses"]) == ("None", True)


@pytest.mark.parametrize("name", DAEMONS)
def test_everything_selects_the_pods_and_only_them(name: str) -> None:
    """By labels that the pods carry and that tell the component."""
    objects = daemon(name)
    template = pod(name)
    chosen = only(objects, "Deployment")["spec"]["selector"]["matchLabels"]
    assert chosen == selector(name)
    assert chosen.items() <= template["metadata"]["labels"].items()
    assert only(objects, "Service")["spec"]["selector"] == chosen
    assert only(objects, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"] == chosen
    for spread in spreads(template["spec"]):
        assert spread["labelSelector"]["matchLabels"] == chosen


@pytest.mark.parametrize("name", DAEMONS)
def test_a_node_may_be_lost_or_drained(name: str) -> None:
    """Two replicas, on two nodes and in two zones where that is possible, one at a time."""
    assert only(daemon(name), "Deployment")["spec"]["replicas"] == 2
    asked = spreads(pod(name)["spec"])
    assert [each["topologyKey"] for each in asked] == ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]
    assert [each["matchLabelKeys"] for each in asked] == [["pod-template-hash"]] * 2
    assert asked[1]["whenUnsatisfiable"] == "ScheduleAnyway"
    budget = only(daemon(name), "PodDisruptionBudget")["spec"]
    assert (budget["maxUnavailable"], budget["unhealthyPodEvictionPolicy"]) == (1, "AlwaysAllow")
    assert "minAvailable" not in budget


@pytest.mark.parametrize("name", DAEMONS)
def test_the_daemon_has_time_to_drain(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own limit comes first, with five seconds for the rest."""
    grace = command(name, monkeypatch).params["grace"]
    assert pod(name)["spec"]["terminationGracePeriodSeconds"] >= grace + 5


@pytest.mark.parametrize("name", DAEMONS)
def test_memory_is_limited_with_room_and_cpu_is_not(name: str) -> None:
    """A throttled leader loses its Lease."""
    resources = container(name)["resources"]
    assert resources.keys() == {"requests", "limits"}
    assert resources["requests"].keys() == {"cpu", "memory"}
    assert resources["limits"].keys() == {"memory"}
    assert Quantity.of(resources["limits"]["memory"]) >= Quantity.of(resources["requests"]["memory"])


@pytest.mark.parametrize("name", DAEMONS)
def test_the_pods_preempt_nobody(name: str) -> None:
    """Their class comes along, and is nobody else's default."""
    priority = only(daemon(name), "PriorityClass")
    assert pod(name)["spec"]["priorityClassName"] == priority["metadata"]["name"]
    assert (priority["preemptionPolicy"], priority["globalDefault"]) == ("Never", False)
    assert priority["value"] <= 1_000_000_000  # more is Kubernetes's own


@pytest.mark.parametrize("name", DAEMONS)
def test_every_object_has_its_place(name: str) -> None:
    """In the project's namespace, but for the Role of the Events, and says whose it is."""
    elsewhere = {(kind, f"kueue-dqo-{component(name)}-events") for kind in ("Role", "RoleBinding")}
    whole_cluster = {"Namespace", "PriorityClass", "ClusterRole", "ClusterRoleBinding"}
    for each in daemon(name):
        meta = each["metadata"]
        expected = "default" if (each["kind"], meta["name"]) in elsewhere else NAMESPACE
        assert meta.get("namespace") == (None if each["kind"] in whole_cluster else expected), each
        assert meta["labels"]["app.kubernetes.io/part-of"] == "kueue-dqo"


@pytest.mark.parametrize("name", DAEMONS)
def test_names_fit_everywhere(name: str) -> None:
    """A DNS label, also where Kubernetes would take more."""
    for each in daemon(name):
        assert re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", each["metadata"]["name"])


@pytest.mark.parametrize("name", DAEMONS)
def test_every_object_of_the_daemon_tells_whose_it_is(name: str) -> None:
    """By its name and by the label of its component."""
    for each in daemon(name):
        if each["kind"] in {"Namespace", "PriorityClass"}:
            continue
        assert each["metadata"]["labels"]["app.kubernetes.io/component"] == component(name)
        assert re.fullmatch(rf"kueue-dqo-{component(name)}(-\w+)?", each["metadata"]["name"])
    assert container(name)["name"] == component(name)
    assert pod(name)["metadata"]["annotations"]["kubectl.kubernetes.io/default-container"] == component(name)
