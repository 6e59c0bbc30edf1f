"""A kubelet without a container runtime: pods of this project run as processes, with all that their manifests say.

What it does not do: volumes other than the service account's token, init containers, limits, users, read-only file
systems, networks. All containers share the network of this machine, so each listens on a port of its own.
"""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Final, Self

from tests.controlplane.admin import Admin, Refused
from tests.controlplane.container import Container, timestamp
from tests.controlplane.kubelet_server import KubeletServer
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import LOOPBACK
from tests.controlplane.surroundings import CannotStart

_TICK: Final = 0.2
"""Seconds between two looks at the pods."""
_STRATEGIC: Final = "application/strategic-merge-patch+json"
_LOOK_AGAIN: Final = (Refused, OSError, http.client.HTTPException)
"""What a request may fail with while servers start, end, or change; it is made again."""

RuntimeClass = Callable[[str], Mapping[str, str]]
"""The variables that the runtime of this class adds to each container on a node, by the node's name."""
Key = tuple[str, str]
"""Namespace and name of a pod."""


class Kubelet:
    """Keeps the pods of some nodes. A context manager; its containers end with it, and their pods are left as they are.

    It speaks to the API server with the rights of each pod's node, but for the list of pods.
    """

    def __init__(
        self,
        plane: ControlPlane,
        nodes: Iterable[str],
        *,
        runtime_classes: Mapping[str, RuntimeClass] | None = None,
    ) -> None:
        """`nodes` are their names: they must exist. `runtime_classes`: by their names."""
        self._plane = plane
        self._nodes = list(nodes)
        self._runtime_classes = dict(runtime_classes or {})
        self._pods: dict[str, _Pod] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="kubelet")
        self._log = (plane.folder / "kubelet.log").open("a", encoding="utf-8")
        self._server = KubeletServer(plane, self.container)

    def __enter__(self) -> Self:
        self._server.start()
        status = {
            "addresses": [{"type": "InternalIP", "address": LOOPBACK}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self._server.port}},
        }
        for node in self._nodes:
            labels = {"kubernetes.io/hostname": node, "kubernetes.io/os": "linux"}
            path, client = f"/api/v1/nodes/{node}", self._plane.as_node(node)
            client.patch(path, {"metadata": {"labels": labels}}, manager="kubelet")
            client.patch(f"{path}/status", {"status": status}, manager="kubelet")
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        for pod in self._pods.values():
            pod.end()
        self._server.end()
        self._log.close()

    def container(self, namespace: str, pod: str, name: str = "") -> Container:
        """A container of a pod, by default its first. Raises LookupError where this kubelet does not have it."""
        for each in list(self._pods.values()):
            if each.key == (namespace, pod):
                for container in each.containers:
                    if name in {"", container.name}:
                        return container
        raise LookupError(f"container {name!r} of pod {namespace}/{pod} is not on this node")

    def containers(self, namespace: str) -> dict[str, Container]:
        """The first container of each pod that it keeps in a namespace, by the pod's name."""
        return {each.key[1]: each.containers[0] for each in list(self._pods.values()) if each.key[0] == namespace}

    def say(self, line: str) -> None:
        """A line of its log."""
        if not self._log.closed:
            self._log.write(f"{timestamp()} {line}\n")
            self._log.flush()

    def _follow(self) -> None:
        while not self._ended.wait(_TICK):
            try:
                pods = self._plane.admin.items("/api/v1/pods", resourceVersion="0")
            except _LOOK_AGAIN as error:
                self.say(f"listing pods: {error!r}")
                continue
            mine = {each["metadata"]["uid"]: each for each in pods if each["spec"].get("nodeName") in self._nodes}
            for uid, manifest in mine.items():
                if uid not in self._pods:
                    self._pods[uid] = _Pod(self._plane, manifest, self._added_to(manifest["spec"]), self)
                    self._pods[uid].start()
                self._pods[uid].manifest = manifest
            for uid in self._pods.keys() - mine.keys():
                self._pods.pop(uid).end()

    def _added_to(self, spec: Mapping[str, Any]) -> Mapping[str, str]:
        runtime = self._runtime_classes.get(spec.get("runtimeClassName", ""))
        return runtime(spec["nodeName"]) if runtime else {}


class _Pod(threading.Thread):
    """Keeps one pod."""

    def __init__(
        self, plane: ControlPlane, manifest: dict[str, Any], runtime: Mapping[str, str], kubelet: Kubelet
    ) -> None:
        meta = manifest["metadata"]
        super().__init__(name=f"pod {meta['name']}")
        self.key: Key = (meta["namespace"], meta["name"])
        self.manifest = manifest
        """As it was last seen."""
        self._client: Admin = plane.as_node(manifest["spec"]["nodeName"])
        self.containers = [
            Container(plane, self._client, manifest, each, runtime) for each in manifest["spec"]["containers"]
        ]
        self._path = f"/api/v1/namespaces/{self.key[0]}/pods/{self.key[1]}"
        self._kubelet = kubelet
        self._ended = threading.Event()
        self._conditions: dict[str, dict[str, str]] = {}
        self._published: dict[str, Any] = {}
        self._kill_at: float | None = None
        self._started_at = timestamp()

    def end(self) -> None:
        """Ends the thread and the containers at once."""
        self._ended.set()
        self.join()

    def run(self) -> None:
        """Until the pod is gone."""
        try:
            while not self._ended.wait(_TICK):
                try:
                    self._step(time.monotonic())
                except _LOOK_AGAIN as error:
                    self._kubelet.say(f"pod {'/'.join(self.key)}: {error!r}")
        finally:
            for container in self.containers:
                container.kill()
            self._client.close()

    def _step(self, now: float) -> None:
        if "deletionTimestamp" in self.manifest["metadata"]:
            self._leave(now)
            return
        for container in self.containers:
            try:
                container.step(now)
            except CannotStart as error:
                container.refuse(error)
        self._publish()

    def _leave(self, now: float) -> None:
        """Ends the containers within the pod's grace, and removes the pod."""
        if self._kill_at is None:
            self._kill_at = now + self.manifest["metadata"].get("deletionGracePeriodSeconds", 30)
            for container in self.containers:
                container.terminate()
        if any(container.is_running for container in self.containers):
            if now < self._kill_at:
                return
            for container in self.containers:
                container.kill()
        self._client.delete(self._path)
        self._ended.set()

    def _publish(self) -> None:
        """Writes the status where it has changed."""
        codes = [each.exit_code for each in self.containers]
        has_ended = all(code is not None for code in codes)
        phase = "Running" if any(each.server for each in self.containers) else "Pending"
        if has_ended:
            phase = "Failed" if any(codes) else "Succeeded"
        is_ready = all(each.is_ready for each in self.containers)
        for kind, holds in (("Initialized", True), ("ContainersReady", is_ready), ("Ready", is_ready)):
            status = str(holds)
            if self._conditions.get(kind, {}).get("status") != status:
                self._conditions[kind] = {"type": kind, "status": status, "lastTransitionTime": timestamp()}
        new = {
            "phase": phase,
            "hostIP": LOOPBACK,
            "podIP": LOOPBACK,
            "podIPs": [{"ip": LOOPBACK}],
            "startTime": self._started_at,
            "conditions": list(self._conditions.values()),
            "containerStatuses": [each.status() for each in self.containers],
        }
        if new != self._published:
            # With the uid: a pod of the same name that came meanwhile is another one.
            body = {"metadata": {"uid": self.manifest["metadata"]["uid"]}, "status": new}
            self._client.patch(f"{self._path}/status", body, _STRATEGIC, manager="kubelet")
            self._published = new
