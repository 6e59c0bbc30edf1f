"""Kueue 0.20 as far as it can be told before it is out: its two definitions, by a chart or by manifests."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, Final

import yaml

from tests.controlplane.kueue import OUR_CRDS, read

Manifest = dict[str, Any]
KINDS: Final = ("capacityproviders", "dynamicquotaorchestrators")
_LABELS: Final = {"app.kubernetes.io/name": "kueue", "control-plane": "controller-manager"}


def definitions(**labels: str) -> list[Manifest]:
    """Of Kueue's hand: with its labels, another description, other columns, and nothing of this project."""
    found = []
    for kind in KINDS:
        (ours,) = read(OUR_CRDS / "kueue" / f"{kind}.yaml")
        definition = copy.deepcopy(ours)
        definition["metadata"]["labels"] = _LABELS | labels
        definition["metadata"]["annotations"] = {"controller-gen.kubebuilder.io/version": "v0.20.1"}
        for version in definition["spec"]["versions"]:
            version["additionalPrinterColumns"] = [
                {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
            ]
            version["schema"]["openAPIV3Schema"]["description"] = "as Kueue describes it"
        found.append(definition)
    return found


def write_chart(folder: Path, version: str, *, has_definitions: bool) -> Path:
    """A chart of Kueue's name with something in it, from 0.20 on with the two definitions among its templates."""
    (folder / "templates").mkdir(parents=True)
    meta = {"apiVersion": "v2", "name": "kueue", "version": version, "appVersion": version}
    (folder / "Chart.yaml").write_text(yaml.safe_dump(meta))
    objects: list[Manifest] = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kueue-manager-config"}}]
    if has_definitions:
        objects += definitions(**{"app.kubernetes.io/managed-by": "{{ .Release.Service }}"})
    (folder / "templates" / "all.yaml").write_text(yaml.safe_dump_all(objects))
    return folder


def write_manifests(file: Path) -> Path:
    """What `kubectl apply` would be given."""
    file.write_text(yaml.safe_dump_all(definitions()))
    return file
