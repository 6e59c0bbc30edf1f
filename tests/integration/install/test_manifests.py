"""The API server takes everything that can be installed, by its strictest validation, and a second time unchanged."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.controlplane.plane import ControlPlane
from tests.integration.install.installations import Objects, installations


def test_everything_is_taken_strictly_and_a_second_time_without_a_change(plane: ControlPlane, tmp_path: Path) -> None:
    """By `kubectl apply --server-side`. It warns of nothing but agents that ask for more than `restricted` allows."""
    asking = {"overlays/nvidia-gpu-hostpath", "components/nvidia-gpu-mig", "components/nvidia-gpu-privileged"}
    asking |= {f"helm {each}" for each in ("gpu-hostpath", "gpu-mig", "gpu-privileged")}
    seen, standing = set(), dict[tuple[str, str, str], dict[str, Any]]()
    for name, everything in installations(tmp_path):
        objects = [each for each in everything if standing.get(_key(each)) != each]  # what stands there is judged
        standing |= {_key(each): each for each in objects}
        file = tmp_path / "objects.json"
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
        first = _apply(plane, file)
        assert first.returncode == 0, f"{name}: {first.stderr}"
        warnings = [line for line in first.stderr.splitlines() if 'would violate PodSecurity "restricted' not in line]
        assert warnings == [], name
        assert bool(first.stderr) is (name in asking), f"{name}: {first.stderr}"
        before = _versions(plane, objects)
        plane.admin.apply(*objects, manager="kubectl")
        assert _versions(plane, objects) == before, name
        seen.add(name)
    assert len(seen) >= 30


def _key(obj: dict[str, Any]) -> tuple[str, str, str]:
    return obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _apply(plane: ControlPlane, file: Path) -> subprocess.CompletedProcess[str]:
    options = ("--server-side", "--force-conflicts", "--validate=strict", "-f", file)
    command: list[str | Path] = ["kubectl", "--kubeconfig", plane.kubeconfig(), "apply", *options]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def _versions(plane: ControlPlane, objects: Objects) -> dict[str, str]:
    """What every write changes; where there is one, what every write changes but those to the status by the server."""
    plane.admin.forget_resources()
    found = {path: plane.admin.get(path)["metadata"] for path in map(plane.admin.path_of, objects)}
    return {path: str(meta.get("generation") or meta["resourceVersion"]) for path, meta in found.items()}
