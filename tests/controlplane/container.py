"""A container as a process of this machine: started, asked by its probes, and started again."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final

from tests.controlplane.admin import Admin
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import Server, free_port, http_status
from tests.controlplane.surroundings import LISTEN, CannotStart, Surroundings

_DEFAULT_PORT: Final = "8080"
_LOOK: Final = 0.25
"""Seconds between two probes of a container that is not ready: more often than its probes say, so that nobody waits."""
_FIRST_PAUSE, _LONGEST_PAUSE = 10.0, 300.0


class Container:
    """One container of a pod, through all its restarts. Used by one thread."""

    def __init__(
        self,
        plane: ControlPlane,
        client: Admin,
        pod: Mapping[str, Any],
        spec: Mapping[str, Any],
        extra: Mapping[str, str],
    ) -> None:
        """`client` is that of its node, `extra` what its runtime adds to its environment."""
        self.spec = spec
        self.name: str = spec["name"]
        self.server: Server | None = None
        """The process that runs, or that was the last to run."""
        self.previous: Server | None = None
        self.port = free_port()
        """Where its server listens on this machine, in place of its port in the pod."""
        self.is_ready = False
        self.restarts = 0
        self._plane = plane
        self._pod = pod
        meta = pod["metadata"]
        self._folder = plane.folder / "pods" / meta["namespace"] / meta["name"] / meta["uid"] / self.name
        self._surroundings = Surroundings(plane, client, pod, spec, self._folder, extra)
        self._has_started = False
        self._state: dict[str, Any] = {"waiting": {"reason": "ContainerCreating"}}
        self._last_state: dict[str, Any] = {}
        self._next_look = self._next_liveness = self._start_again_at = 0.0
        self._failures = 0

    @property
    def is_running(self) -> bool:
        return self.server is not None and self.server.is_running

    @property
    def exit_code(self) -> int | None:
        """Of the one that has ended and will not be started again; None for any other."""
        terminated = self._state.get("terminated")
        return int(terminated["exitCode"]) if terminated else None

    def step(self, now: float) -> None:
        """Starts it, renews its token, asks its probes, as far as it is time to. `now` is monotonic, in seconds.

        Raises CannotStart, and what the API server's refusal of a token raises.
        """
        if self.server is not None and not self.server.is_running and "running" in self._state:
            self._has_ended(now)
        if self.exit_code is not None or now < self._start_again_at:
            return
        if not self.is_running:
            self._start(now)
        self._surroundings.renew(now)
        if now >= self._next_look:
            self._probe(now)

    def terminate(self) -> None:
        """Asks it to end."""
        if self.server is not None and self.server.is_running:
            os.kill(self.server.pid, signal.SIGTERM)

    def kill(self) -> None:
        """Ends it at once."""
        if self.server is not None:
            self.server.kill()

    def refuse(self, error: CannotStart) -> None:
        """Why it does not run, for its status."""
        self._state = {"waiting": {"reason": error.reason, "message": str(error)}}

    def status(self) -> dict[str, Any]:
        """As in the status of its pod."""
        image = self.spec["image"]
        return {
            "name": self.name,
            "image": image,
            "imageID": f"{image}@development",
            "containerID": f"process://{self.server.log.stem}" if self.server else "",
            "ready": self.is_ready,
            "started": self._has_started,
            "restartCount": self.restarts,
            # A merge leaves what is not named: a state has one of the three.
            "state": {"waiting": None, "running": None, "terminated": None} | self._state,
            "lastState": self._last_state,
        }

    def _start(self, now: float) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        command = self._surroundings.command(self.port, now)
        meta = self._pod["metadata"]
        self.previous = self.server
        self.server = self._plane.new_process(
            f"{meta['namespace']}/{meta['name']}",
            command,
            self._folder / f"{self.restarts}.log",
            lambda: self.is_ready,
        )
        self.server.launch()
        self._state = {"running": {"startedAt": timestamp()}}
        self._next_look = self._next_liveness = now + _LOOK
        self._failures = 0

    def _has_ended(self, now: float) -> None:
        assert self.server is not None
        code = self.server.exit_code or 0
        ended = {
            "exitCode": code if code >= 0 else 128 - code,
            "reason": "Completed" if code == 0 else "Error",
            "startedAt": self._state["running"]["startedAt"],
            "finishedAt": timestamp(),
        }
        self.is_ready = self._has_started = False
        policy = self._pod["spec"].get("restartPolicy", "Always")
        if policy == "Never" or (policy == "OnFailure" and code == 0):
            self._state = {"terminated": ended}
            return
        # The first time at once, then after a while that doubles.
        pause = min(_FIRST_PAUSE * 2 ** (self.restarts - 1), _LONGEST_PAUSE) if self.restarts else 0
        self.restarts += 1
        self._start_again_at = now + pause
        self._last_state = {"terminated": ended}
        message = f"back-off {pause:.0f}s restarting failed container"
        self._state = {"waiting": {"reason": "CrashLoopBackOff", "message": message}}

    def _probe(self, now: float) -> None:
        """As rendered, but that readiness is asked sooner while there is none."""
        if not self._has_started:
            self._has_started = self._answers("startupProbe")
        elif now >= self._next_liveness:
            liveness = self.spec.get("livenessProbe", {})
            self._failures = 0 if self._answers("livenessProbe") else self._failures + 1
            self._next_liveness = now + liveness.get("periodSeconds", 10)
            if self._failures >= liveness.get("failureThreshold", 3):
                self.terminate()
        self.is_ready = self._has_started and self._answers("readinessProbe")
        period = self.spec.get("readinessProbe", {}).get("periodSeconds", 10)
        self._next_look = min(now + period, self._next_liveness) if self.is_ready else now + _LOOK

    def _answers(self, probe: str) -> bool:
        """Whether the container passes it; one that it does not have is passed."""
        if probe not in self.spec:
            return True
        asked = self.spec[probe]["httpGet"]
        ports = {each.get("name"): each["containerPort"] for each in self.spec.get("ports", [])}
        port = ports.get(asked["port"], asked["port"])
        listens = next((each["value"] for each in self.spec.get("env", []) if each["name"] == LISTEN), "")
        if str(port) != (listens.rpartition(":")[2] or _DEFAULT_PORT):
            return False  # nobody would answer there
        status = http_status(self.port, asked["path"])
        return status is not None and HTTPStatus.OK <= status < HTTPStatus.BAD_REQUEST


def timestamp() -> str:
    """Now, as Kubernetes writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
