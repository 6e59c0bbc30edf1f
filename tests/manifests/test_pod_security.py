"""The pods satisfy the restricted Pod Security Standard, and their namespace insists on it."""

from __future__ import annotations

import pytest

from tests.manifests.rendered import NAMESPACE, PODS, container, daemon, keys, of_kind, only, pod


@pytest.mark.parametrize("mode", ["enforce", "audit", "warn"])
@pytest.mark.parametrize("name", PODS)
def test_the_namespace_is_restricted(name: str, mode: str) -> None:
    """In all three ways that the API server has."""
    namespace = only(daemon(name), "Namespace")["metadata"]
    assert namespace["name"] == NAMESPACE
    assert namespace["labels"][f"pod-security.kubernetes.io/{mode}"] == "restricted"


POD_SECURITY = {
    "runAsNonRoot": True,
    "runAsUser": 65532,
    "runAsGroup": 65532,
    "seccompProfile": {"type": "RuntimeDefault"},
}
CONTAINER_SECURITY = {
    "allowPrivilegeEscalation": False,
    "privileged": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}


@pytest.mark.parametrize("name", PODS)
def test_the_security_context_is_just_this(name: str) -> None:
    """Whatever else may stand there (procMount, seLinuxOptions, sysctls, windowsOptions, capabilities.add) does not."""
    assert pod(name)["spec"]["securityContext"] == POD_SECURITY
    assert container(name)["securityContext"] == CONTAINER_SECURITY


@pytest.mark.parametrize(
    "field",
    [
        "hostNetwork",
        "hostPID",
        "hostIPC",
        "hostPort",
        "hostAliases",
        "volumes",
        "volumeMounts",
        "volumeDevices",
        "initContainers",
        "ephemeralContainers",
        "shareProcessNamespace",
        "lifecycle",
        "command",
    ],
)
@pytest.mark.parametrize("name", PODS)
def test_the_pod_has_no(name: str, field: str) -> None:
    """Part of the host, no volume, no second container, nothing but the program of the image."""
    assert field not in set(keys(pod(name)["spec"]))


@pytest.mark.parametrize("name", PODS)
def test_only_this_pod_gets_the_token(name: str) -> None:
    """Another pod that names the account does not get it by default."""
    (account,) = of_kind(daemon(name), "ServiceAccount")
    spec = pod(name)["spec"]
    assert account["automountServiceAccountToken"] is False
    assert spec["automountServiceAccountToken"] is True
    assert spec["serviceAccountName"] == account["metadata"]["name"]


@pytest.mark.parametrize("name", PODS)
def test_no_secret_is_read_and_none_is_shipped(name: str) -> None:
    """Neither as an object nor as a source of variables."""
    assert {each["kind"] for each in daemon(name)}.isdisjoint({"Secret", "ConfigMap"})
    assert set(keys(pod(name)["spec"])).isdisjoint({"secretKeyRef", "configMapKeyRef", "envFrom", "imagePullSecrets"})
