"""Everything that can be installed: each overlay, each component in its place, each variant of the chart."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from tests.controlplane import binaries
from tests.controlplane.kueue import apply_crds, read
from tests.controlplane.plane import ControlPlane
from tests.docs.pages import blocks_of
from tests.manifests.charts import KUEUE_CHART, VARIANTS, template
from tests.manifests.rendered import MANIFESTS, ROOT, build, kustomized

COMPONENTS: Final = {
    "nvidia-gpu-mig": "overlays/nvidia-gpu",
    "nvidia-gpu-privileged": "overlays/nvidia-gpu",
    "nvidia-gpu-pods": "overlays/nvidia-gpu",
    "multikueue-kueue-secrets": "overlays/multikueue",
    "multikueue-cluster-profiles": "overlays/multikueue",
}
"""Those that are not among the components of `WHOLE`, with what they are put beside."""
WHOLE: Final = "whole"
"""The name of the installation that has every daemon and the components of the page's lists, on the road `spec`."""
Objects = list[dict[str, Any]]


def installations(folder: Path) -> Iterator[tuple[str, Objects]]:
    """Each with its name, in the order in which they can be applied; `folder` is for kustomizations of our own."""
    for name in ("crds/kueue", "crds/providers", "worker/multikueue-reader"):
        yield name, list(build(MANIFESTS / name))
    for overlay in sorted((MANIFESTS / "overlays").iterdir()):
        yield f"overlays/{overlay.name}", list(build(overlay))
    for component, beside in COMPONENTS.items():
        yield f"components/{component}", list(build(_kustomized(folder / component, [beside], [component])))
    yield WHOLE, list(build(whole(folder / WHOLE)))
    yield f"helm {KUEUE_CHART.name}", list(template("", chart=KUEUE_CHART))
    for variant in VARIANTS:
        yield f"helm {variant}", list(template(variant))


def whole(folder: Path) -> Path:
    """Writes the kustomization that docs/install.md puts together, with the components that it adds, into a folder."""
    blocks = blocks_of("yml", (ROOT / "docs/install.md").read_text())
    (plain,) = (each for each in map(yaml.safe_load, blocks) if "images" in each)
    (more,) = (yaml.safe_load(each) for each in blocks if each.startswith("# for the whole installation"))
    names = [*plain["components"], *more["components"], "nvidia-gpu-podmonitor"]
    # One replica is a matter of choice, and the registry in the page is none.
    components = [Path(each).name for each in names if not each.endswith("single-replica")]
    resources = [each.removeprefix("../manifests/") for each in plain["resources"]]
    return _kustomized(folder, resources, components)


def workloads(objects: Iterable[dict[str, Any]]) -> Objects:
    """Those that have pods."""
    return [each for each in objects if each["kind"] in {"DaemonSet", "Deployment"}]


def identity(workload: dict[str, Any]) -> str:
    """Equal for workloads whose containers are started in the same way, with the same rights."""
    spec = workload["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    probes = [container.get(each) for each in ("startupProbe", "livenessProbe", "readinessProbe")]
    env = sorted(container["env"], key=lambda each: str(each["name"]))
    return json.dumps([spec["serviceAccountName"], container["args"], env, container["ports"], probes], sort_keys=True)


def _kustomized(folder: Path, resources: list[str], components: list[str]) -> Path:
    folder.mkdir()
    return kustomized(folder, resources, [f"components/{each}" for each in components])


def install_monitors(plane: ControlPlane) -> None:
    """The kinds of Prometheus Operator that this project has objects of."""
    folder = binaries.operator_crds()
    names = ("podmonitors", "prometheusrules", "servicemonitors")
    apply_crds(plane, *(obj for name in names for obj in read(folder / f"monitoring.coreos.com_{name}.yaml")))
