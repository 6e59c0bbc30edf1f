"""The agents on GPU nodes: their DaemonSet, its variants, their policy. `test_rights.py` has their rights."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from click.core import ParameterSource

from kueue_dqo import __version__
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.runtime.resources import NODE_GPU_REPORTS
from tests.manifests.commands import command, environment
from tests.manifests.rendered import (
    AGENT,
    GPU_OVERLAYS,
    GPUS,
    NAMESPACE,
    build,
    container,
    daemon,
    is_chosen,
    kustomized,
    of_kind,
    only,
    overlay,
    pod,
    render,
)

NAME = f"kueue-dqo-{AGENT}"
LABELS = {"app.kubernetes.io/name": "kueue-dqo", "app.kubernetes.io/component": AGENT}
ENFORCED = "pod-security.kubernetes.io/enforce"
PRESENT = "nvidia.com/gpu.present"
COUNT = "nvidia.com/gpu.count"
CLIENT = "nvidia.com/gpu.deploy.client"
VARIANTS = ("nvidia-gpu-mig", "nvidia-gpu-privileged", "nvidia-gpu-hostpath")


def _with(folder: Path, *components: str, resources: tuple[str, ...] = ("overlays/nvidia-gpu",)) -> tuple[Any, ...]:
    """What an admin's kustomization with these components gives."""
    return build(kustomized(folder, resources, [f"components/{each}" for each in components]))


def _spec(objects: tuple[Any, ...]) -> dict[str, Any]:
    spec: dict[str, Any] = only(objects, "DaemonSet")["spec"]["template"]["spec"]
    return spec


def _variables(spec: dict[str, Any]) -> dict[str, Any]:
    return {each["name"]: each.get("value") for each in spec["containers"][0]["env"]}


def test_the_overlay_is_both_parts_and_what_they_stand_on() -> None:
    """In one namespace, each object once."""
    objects = overlay(GPUS)
    parts = [render(f"base/{name}") for name in ("namespace", GPUS, AGENT)]
    assert len(objects) == sum(map(len, parts))
    assert all(each in objects for part in parts for each in part)


def test_the_container_runs_the_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the node's name from the downward API, and every variable of ours is one that it takes."""
    assert container(AGENT)["args"] == ["provider", GPUS, "--role", "agent"]
    assert environment(AGENT)["DQO_NODE_NAME"]["valueFrom"] == {"fieldRef": {"fieldPath": "spec.nodeName"}}
    context = command(AGENT, monkeypatch)
    assert context.params["node_name"] == "from-spec-nodename"
    ours = [variable.removeprefix("DQO_").lower() for variable in environment(AGENT) if variable.startswith("DQO_")]
    assert {context.get_parameter_source(each) for each in ours} == {ParameterSource.ENVIRONMENT}
    assert container(AGENT)["image"] == f"kueue-dqo:{__version__}"


def test_the_probes_reach_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the port where it listens, which is none of the host's."""
    host, port = command(AGENT, monkeypatch).params["listen"]
    assert host == "0.0.0.0"  # noqa: S104  # compared, not listened on
    assert container(AGENT)["ports"] == [{"name": "http", "containerPort": port}]
    paths = {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}
    for probe, path in paths.items():
        assert container(AGENT)[probe]["httpGet"] == {"path": path, "port": "http"}


def test_the_agent_has_time_to_drain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own limit comes first, with five seconds for the rest."""
    assert pod(AGENT)["spec"]["terminationGracePeriodSeconds"] >= command(AGENT, monkeypatch).params["grace"] + 5


def test_it_sees_all_gpus_and_takes_none_from_jobs() -> None:
    """By NVIDIA's runtime, without asking the scheduler for a device."""
    assert pod(AGENT)["spec"]["runtimeClassName"] == "nvidia"
    variables = _variables(pod(AGENT)["spec"])
    assert variables["NVIDIA_VISIBLE_DEVICES"] == "all"
    assert variables["NVIDIA_DRIVER_CAPABILITIES"] == "utility"
    resources = container(AGENT)["resources"]
    assert resources["requests"].keys() == {"cpu", "memory"}
    assert resources["limits"].keys() == {"memory"}
    assert Quantity.of(resources["limits"]["memory"]) == Quantity.of("128Mi")


@pytest.mark.parametrize("name", GPU_OVERLAYS)
@pytest.mark.parametrize(
    ("labels", "runs"),
    [
        pytest.param({}, False, id="no GPU"),
        pytest.param({PRESENT: "true", COUNT: "8"}, True, id="the GPU operator"),
        pytest.param({COUNT: "8"}, True, id="GPU feature discovery alone"),
        pytest.param({COUNT: "0"}, True, id="GPU feature discovery and a MIG layout that it does not like"),
        pytest.param({PRESENT: "true"}, True, id="the GPU operator before its GPU feature discovery"),
        pytest.param({PRESENT: "false", COUNT: "8"}, True, id="the GPU operator while NFD sees nothing"),
        pytest.param({PRESENT: "false"}, False, id="the GPU operator after the GPU was taken out"),
    ],
)
def test_it_runs_on_each_gpu_node_but_leaves_it_when_it_is_sent_away(
    name: str, labels: dict[str, str], runs: bool
) -> None:
    """Whichever label says that there are GPUs. It leaves while the GPU operator needs the driver for itself."""
    spec = _spec(overlay(name))
    assert is_chosen(spec, labels) is runs
    assert is_chosen(spec, {**labels, CLIENT: "true"}) is runs
    for value in ("false", "paused-for-driver-upgrade", ""):
        assert not is_chosen(spec, {**labels, CLIENT: value})


def test_it_runs_whatever_is_wrong_with_the_node() -> None:
    """No taint keeps it off, and no system but Linux has it."""
    spec = pod(AGENT)["spec"]
    assert spec["tolerations"] == [{"operator": "Exists"}]
    assert spec["nodeSelector"] == {"kubernetes.io/os": "linux"}


def test_a_rollout_leaves_most_nodes_watched() -> None:
    """A tenth at a time; and the selector is that of the pods."""
    daemon_set = only(daemon(AGENT), "DaemonSet")
    assert daemon_set["spec"]["updateStrategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}}
    assert daemon_set["spec"]["selector"]["matchLabels"] == LABELS
    assert LABELS.items() <= pod(AGENT)["metadata"]["labels"].items()
    assert pod(AGENT)["spec"]["priorityClassName"] == only(overlay(GPUS), "PriorityClass")["metadata"]["name"]


def test_every_object_of_the_agent_tells_whose_it_is() -> None:
    """By its name, its labels and its namespace."""
    objects = render(f"base/{AGENT}")
    assert {each["metadata"]["name"] for each in objects} == {NAME}
    assert all(LABELS.items() <= each["metadata"]["labels"].items() for each in objects)
    namespaced = {"ServiceAccount", "DaemonSet"}
    for each in objects:
        assert each["metadata"].get("namespace") == (NAMESPACE if each["kind"] in namespaced else None)
    assert pod(AGENT)["metadata"]["annotations"]["kubectl.kubernetes.io/default-container"] == AGENT
    assert container(AGENT)["name"] == AGENT


def test_the_policy_is_for_reports_and_refuses_when_in_doubt() -> None:
    """For every way to write one, in every version, and bound to deny."""
    policy = only(daemon(AGENT), "ValidatingAdmissionPolicy")["spec"]
    assert policy["failurePolicy"] == "Fail"
    plural = NODE_GPU_REPORTS.plural
    assert policy["matchConstraints"] == {
        "matchPolicy": "Equivalent",
        "resourceRules": [
            {
                "apiGroups": [NODE_GPU_REPORTS.group],
                "apiVersions": ["*"],
                "resources": [plural, f"{plural}/status"],
                "operations": ["CREATE", "UPDATE"],
            }
        ],
    }
    binding = only(daemon(AGENT), "ValidatingAdmissionPolicyBinding")["spec"]
    assert binding == {"policyName": NAME, "validationActions": ["Deny"]}
    for validation in policy["validations"]:
        assert validation["reason"] == "Forbidden"
        assert validation.keys() & {"message", "messageExpression"}


@pytest.mark.parametrize(
    ("user", "is_agent"),
    [
        (f"system:serviceaccount:{NAMESPACE}:{NAME}", True),
        (f"system:serviceaccount:elsewhere:blue-{NAME}-2", True),
        (f"system:serviceaccount:{NAMESPACE}:kueue-dqo-nvidia-gpu", False),
        (f"system:serviceaccount:{NAME}:default", False),
        (f"system:node:{NAME}", False),
        (NAME, False),
        (f"somebody@system:serviceaccount:{NAMESPACE}:{NAME}", False),
    ],
)
def test_the_policy_is_for_agents_alone(user: str, is_agent: bool) -> None:
    """By the account's name, however a kustomization has changed it; CEL and Python read the expression alike."""
    (condition,) = only(daemon(AGENT), "ValidatingAdmissionPolicy")["spec"]["matchConditions"]
    (pattern,) = re.findall(r"^request\.userInfo\.username\.matches\('(.*)'\)$", condition["expression"])
    assert bool(re.search(pattern, user)) is is_agent


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_opens_the_namespace_as_far_as_it_must(name: str, tmp_path: Path) -> None:
    """What is enforced has to allow it; what is only said is still said. The default does not need that."""
    labels = only(_with(tmp_path, name), "Namespace")["metadata"]["labels"]
    others = {key.replace("enforce", mode) for key in (ENFORCED,) for mode in ("audit", "warn")}
    assert labels[ENFORCED] == "privileged"
    assert {labels[each] for each in others} == {"restricted"}
    assert only(overlay(GPUS), "Namespace")["metadata"]["labels"][ENFORCED] == "restricted"


def test_mig_devices_are_shown_to_an_agent_that_is_not_root(tmp_path: Path) -> None:
    """One more capability that it might hold, one more variable, and nothing else."""
    before, after = pod(AGENT)["spec"], _spec(_with(tmp_path, "nvidia-gpu-mig"))
    assert _variables(after) == {**_variables(before), "NVIDIA_MIG_MONITOR_DEVICES": "all"}
    assert after["containers"][0]["securityContext"] == {
        **before["containers"][0]["securityContext"],
        "allowPrivilegeEscalation": True,
        "capabilities": {"drop": ["ALL"], "add": ["SYS_ADMIN"]},
    }
    assert _but_container(after) == _but_container(before)


def test_a_privileged_agent_is_not_root_either(tmp_path: Path) -> None:
    """And its root file system stays read-only."""
    before, after = pod(AGENT)["spec"], _spec(_with(tmp_path, "nvidia-gpu-privileged"))
    assert after["containers"][0]["securityContext"] == {
        "privileged": True,
        "allowPrivilegeEscalation": True,
        "readOnlyRootFilesystem": True,
    }
    assert _but_container(after) == _but_container(before)
    assert _variables(after) == _variables(before)


def test_without_the_toolkit_the_driver_comes_from_a_folder_of_the_node() -> None:
    """The loader finds it by a variable that is there before the process; nothing of NVIDIA's runtime is asked for."""
    spec = _spec(overlay("nvidia-gpu-hostpath"))
    variables = _variables(spec)
    assert variables == {"DQO_NODE_NAME": None, "LD_LIBRARY_PATH": "/usr/local/nvidia/lib64"}
    assert "runtimeClassName" not in spec
    (volume,), (mount,) = spec["volumes"], spec["containers"][0]["volumeMounts"]
    assert volume == {"name": "driver", "hostPath": {"path": "/home/kubernetes/bin/nvidia", "type": "Directory"}}
    assert mount == {"name": "driver", "mountPath": "/usr/local/nvidia", "readOnly": True}
    assert spec["containers"][0]["securityContext"]["privileged"] is True
    assert spec["securityContext"]["runAsUser"] == 65532
    assert spec["nodeSelector"] == {"kubernetes.io/os": "linux"}


def test_the_label_of_gke_is_enough_without_the_toolkit_only() -> None:
    """As little as any other while the agent is sent away."""
    labels = {"cloud.google.com/gke-accelerator": "nvidia-h100-80gb"}
    spec = _spec(overlay("nvidia-gpu-hostpath"))
    assert is_chosen(spec, labels)
    assert is_chosen(spec, {**labels, CLIENT: "true"})
    assert not is_chosen(spec, {**labels, CLIENT: "false"})
    assert not is_chosen(pod(AGENT)["spec"], labels)


@pytest.mark.parametrize(
    "order", [("nvidia-gpu-mig", "nvidia-gpu-privileged"), ("nvidia-gpu-hostpath", "nvidia-gpu-mig")]
)
def test_variants_go_together_in_any_order(order: tuple[str, str], tmp_path: Path) -> None:
    """A cluster may need two of them."""
    both = []
    for folder, components in (("one", order), ("other", order[::-1])):
        (tmp_path / folder).mkdir()
        spec = _spec(_with(tmp_path / folder, *components))
        assert spec["containers"][0]["securityContext"]["privileged"] is True
        both.append((_variables(spec), _but_container(spec)))
    assert both[0] == both[1]
    assert both[0][0]["NVIDIA_MIG_MONITOR_DEVICES"] == "all"


def test_prometheus_finds_the_agents(tmp_path: Path) -> None:
    """A PodMonitor that selects their pods, by a port that they have, and tells job, component and node."""
    objects = _with(tmp_path, "nvidia-gpu-podmonitor", resources=(f"base/{AGENT}",))
    monitor = only(objects, "PodMonitor")
    assert monitor["metadata"]["namespace"] == only(objects, "DaemonSet")["metadata"]["namespace"]
    labels = only(objects, "DaemonSet")["spec"]["template"]["metadata"]["labels"]
    selected = monitor["spec"]["selector"]["matchLabels"]
    assert selected.items() <= labels.items()
    assert selected["app.kubernetes.io/component"] == AGENT
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    assert (endpoint["port"], endpoint["path"]) == (container(AGENT)["ports"][0]["name"], "/metrics")
    assert endpoint["relabelings"] == [
        {"targetLabel": "job", "replacement": "kueue-dqo"},
        {"targetLabel": "component", "sourceLabels": ["__meta_kubernetes_pod_label_app_kubernetes_io_component"]},
        {"targetLabel": "node", "sourceLabels": ["__meta_kubernetes_pod_node_name"]},
    ]  # the first two are what the alert rules ask for
    assert "namespaceSelector" not in monitor["spec"]  # that of its own


def test_beside_an_orchestrator_each_object_is_there_once(tmp_path: Path) -> None:
    """With every provider, and with the components."""
    bases = tuple(f"base/{each}" for each in ("node-inventory", "manual", "composite", GPUS, AGENT))
    objects = _with(tmp_path, "nvidia-gpu-mig", "nvidia-gpu-pods", resources=("overlays/spec", *bases))
    assert len(of_kind(objects, "Deployment")) == 5
    assert only(objects, "DaemonSet")["metadata"]["name"] == NAME
    assert only(objects, "Namespace")["metadata"]["labels"][ENFORCED] == "privileged"


def _but_container(spec: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in spec.items() if key != "containers"}
