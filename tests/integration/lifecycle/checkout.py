"""A checkout of this project on an admin's machine, and the shell in which the commands of its pages are typed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from tests.controlplane import binaries
from tests.controlplane.plane import ControlPlane
from tests.docs.pages import blocks_of, section_of
from tests.e2e.process import BIN, Finished, environment

ROOT: Final = Path(__file__).parents[3]
PAGES: Final = ROOT / "docs" / "operations"
REGISTRY: Final = "registry.example.com"
MY_CLUSTER: Final = "my-cluster"
_ENDS_WITHIN: Final = 300
"""Seconds, so that a command that waits for what never comes fails its test."""


class Checkout:
    """A folder with `manifests/` and a kustomization of the admin's own beside it."""

    def __init__(self, folder: Path, plane: ControlPlane) -> None:
        """`folder` must exist; it gets a copy of today's manifests."""
        self.folder = folder
        self._plane = plane
        shutil.copytree(ROOT / "manifests", folder / "manifests")

    def write_my_cluster(
        self, *resources: str, tag: str = "0.1.0", components: Iterable[str] = (), **fields: Any
    ) -> None:
        """The kustomization of docs/install.md, of these folders of `manifests/`; `fields` are added to it."""
        kustomization = {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": [f"../manifests/{each}" for each in resources],
            "components": [f"../manifests/components/{each}" for each in components],
            "images": [{"name": "kueue-dqo", "newName": f"{REGISTRY}/kueue-dqo", "newTag": tag}],
            **fields,
        }
        (self.folder / MY_CLUSTER).mkdir(exist_ok=True)
        (self.folder / MY_CLUSTER / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))

    def run(self, commands: str, replaced: Mapping[str, str] | None = None) -> str:
        """Types commands, with placeholders replaced; each must succeed. Returns what they printed."""
        done = self.type(commands, replaced)
        assert done.code == 0, f"{commands}\n{done.out}\n{done.err}"
        return done.out

    def type(self, commands: str, replaced: Mapping[str, str] | None = None) -> Finished:
        """As `run`, to whatever end. The first command that fails is the last one."""
        for placeholder, text in (replaced or {}).items():
            assert placeholder in commands, f"the page has no {placeholder} any more: {commands}"
            commands = commands.replace(placeholder, text)
        path = os.pathsep.join((str(BIN), str(binaries.find(binaries.HELM).parent), os.environ["PATH"]))
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", commands],
            env=environment(PATH=path, HOME=str(self.folder), KUBECONFIG=str(self._plane.kubeconfig())),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_ENDS_WITHIN,
            check=False,
        )
        return Finished(done.returncode, done.stdout, done.stderr)


def blocks(page: str, heading: str) -> list[str]:
    """The blocks of commands below a heading of a page, by its path from the pages of operations."""
    found = blocks_of("sh", section_of(PAGES / page, heading))
    assert found, f"{page} has no commands below {heading!r}"
    return found


def block(page: str, heading: str) -> str:
    """The one block there."""
    (found,) = blocks(page, heading)
    return found
