"""What a container has of the world: its arguments, its environment, and the token of its pod's service account."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from tests.controlplane.admin import Admin
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import LOOPBACK

IMAGE: Final = "kueue-dqo"
"""The one image that there is, whatever registry and tag it is said to come from."""
DQO: Final = Path(sys.executable).with_name("dqo")
"""What stands for its entry point."""
LISTEN: Final = "DQO_LISTEN"
_SERVICE_ACCOUNT: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
_TOKEN_SECONDS: Final = 3607  # what a kubelet asks for
_RENEWED_AFTER: Final = 0.8
# A mount namespace of its own, so that the folder is there for this process alone. It takes no rights on the machine.
_NAMESPACE: Final = ("unshare", "--user", "--map-root-user", "--mount")
_MOUNT: Final = 'mount -t tmpfs tmpfs /var/run && mkdir -p "$2" && mount --bind -o ro "$1" "$2" && shift 2 && exec "$@"'


class CannotStart(Exception):
    """The container cannot be made as its pod asks; `reason` is the one of its status."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Surroundings:
    """Those of one container, through all its restarts."""

    def __init__(
        self,
        plane: ControlPlane,
        client: Admin,
        pod: Mapping[str, Any],
        spec: Mapping[str, Any],
        folder: Path,
        extra: Mapping[str, str],
    ) -> None:
        """`client`: of its node. `folder`: for what is mounted. `extra`: variables that its runtime adds."""
        self._plane = plane
        self._client = client
        self._pod = pod
        self._spec = spec
        self._folder = folder
        self._extra = extra
        self._account = folder / "serviceaccount"
        self._has_token = any(each["mountPath"] == _SERVICE_ACCOUNT for each in spec.get("volumeMounts", []))
        self._renew_at = 0.0

    def command(self, port: int, now: float) -> list[str | Path]:
        """What to start, as a server on this port of the machine. Raises CannotStart, and what `renew` raises."""
        image, own = self._spec["image"], self._spec.get("command")
        if image.rpartition("/")[2].partition("@")[0].partition(":")[0] != IMAGE:
            raise CannotStart("ErrImagePull", f"{image}: there is no image here but {IMAGE}")
        if own:
            raise CannotStart("CreateContainerError", f"command {own}: there is nothing in the image but its program")
        variables = dict(self._environment(port))
        settings = (f"{name}={value}" for name, value in variables.items())
        command: list[str | Path] = ["env", "-i", *settings, DQO, *self._spec.get("args", [])]
        self.renew(now)
        if self._has_token and _can_mount():
            return [*_NAMESPACE, "sh", "-c", _MOUNT, "sh", self._account, _SERVICE_ACCOUNT, *command]
        return command

    def renew(self, now: float) -> None:
        """Gets a token, bound to the pod, where it is time to. Raises what the API server's refusal raises."""
        if not self._has_token or now < self._renew_at:
            return
        meta, spec = self._pod["metadata"], self._pod["spec"]
        path = f"/api/v1/namespaces/{meta['namespace']}/serviceaccounts/{spec['serviceAccountName']}/token"
        pod = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]}
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": _TOKEN_SECONDS, "boundObjectRef": pod},
        }
        answer = json.loads(self._client.request("POST", path, body))
        self._account.mkdir(exist_ok=True)
        (self._account / "ca.crt").write_bytes(self._plane.ca.read_bytes())
        (self._account / "namespace").write_text(meta["namespace"])
        unfinished = self._account / ".token"
        unfinished.write_text(answer["status"]["token"])
        unfinished.rename(self._account / "token")
        self._renew_at = now + _TOKEN_SECONDS * _RENEWED_AFTER

    def _environment(self, port: int) -> Iterator[tuple[str, str]]:
        """What the image, the kubelet, the pod and the runtime say, the later ones in place of the earlier."""
        host, _, api_port = self._plane.url.removeprefix("https://").partition(":")
        yield "PATH", os.environ["PATH"]
        yield "PYTHONDONTWRITEBYTECODE", "1"
        yield "HOME", "/"
        yield "HOSTNAME", self._pod["metadata"]["name"]
        yield "KUBERNETES_SERVICE_HOST", host
        yield "KUBERNETES_SERVICE_PORT", api_port
        for variable in self._spec.get("env", []):
            yield variable["name"], self._value_of(variable)
        yield from self._extra.items()
        yield LISTEN, f"{LOOPBACK}:{port}"
        if self._has_token and not _can_mount():
            yield "DQO_KUBECONFIG", str(self._kubeconfig())

    def _value_of(self, variable: Mapping[str, Any]) -> str:
        if "valueFrom" not in variable:
            return str(variable.get("value", ""))
        meta, spec = self._pod["metadata"], self._pod["spec"]
        fields = {
            "metadata.name": meta["name"],
            "metadata.namespace": meta["namespace"],
            "metadata.uid": meta["uid"],
            "spec.nodeName": spec["nodeName"],
            "spec.serviceAccountName": spec["serviceAccountName"],
            "status.hostIP": LOOPBACK,
            "status.podIP": LOOPBACK,
        }
        field = variable["valueFrom"].get("fieldRef", {}).get("fieldPath", "")
        if field not in fields:
            message = f"env {variable['name']}: {variable['valueFrom']} is none of {', '.join(fields)}"
            raise CannotStart("CreateContainerConfigError", message)
        return str(fields[field])

    def _kubeconfig(self) -> Path:
        """Stands for the service account's folder where this machine has no mount namespaces."""
        cluster = {"server": self._plane.url, "certificate-authority": str(self._account / "ca.crt")}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "pod",
            "contexts": [{"name": "pod", "context": {"cluster": "plane", "user": "pod"}}],
            "users": [{"name": "pod", "user": {"tokenFile": str(self._account / "token")}}],
            "clusters": [{"name": "plane", "cluster": cluster}],
        }
        path = self._folder / "kubeconfig"
        path.write_text(json.dumps(config))
        return path


@cache
def _can_mount() -> bool:
    """Whether this machine lets a process have a mount namespace of its own."""
    if shutil.which(_NAMESPACE[0]) is None:
        return False
    tried = subprocess.run([*_NAMESPACE, "mount", "-t", "tmpfs", "tmpfs", "/var/run"], capture_output=True, check=False)
    return tried.returncode == 0
