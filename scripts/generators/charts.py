"""What lies in the charts' folders as well as outside them: Helm reads no file from elsewhere."""

from __future__ import annotations

from typing import Final

from scripts.generators.tree import ROOT, GenerateError, present

_CHART: Final = "manifests/charts/kueue-dqo/files"
_KUEUE_CHART: Final = "manifests/charts/kueue-dqo-kueue-crds/files"
_COPIES: Final = {
    "manifests/base/nvidia-gpu-agent/policy.yaml": f"{_CHART}/policy.yaml",
    "manifests/components/prometheus-rules/rules.yaml": f"{_CHART}/rules.yaml",
    "manifests/components/grafana-dashboard/kueue-dqo.json": f"{_CHART}/kueue-dqo.json",
}


def files() -> dict[str, str]:
    """The copies. Raises GenerateError."""
    sources = dict(_COPIES)
    for folder, target in (("manifests/crds/providers", f"{_CHART}/crds"), ("manifests/crds/kueue", _KUEUE_CHART)):
        for file in sorted((ROOT / folder).glob("*.yaml")):
            if file.name != "kustomization.yaml":
                sources[f"{folder}/{file.name}"] = f"{target}/{file.name}"
    copies = {}
    for source, target in sources.items():
        text = present(source)
        if text is None:
            raise GenerateError(f"{source} is missing, of which {target} is a copy")
        copies[target] = text
    return copies
