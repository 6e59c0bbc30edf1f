"""`make cluster ARGS=bare`: a cluster with Kueue and without this project, to install it on as its pages say."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.controlplane import binaries, kueue
from tests.controlplane.admin import Manifest, flat
from tests.controlplane.cluster import wait_for_an_end
from tests.controlplane.controllers import add_node, start_controllers, untaint
from tests.controlplane.kubelet import Kubelet, RuntimeClass
from tests.controlplane.plane import ControlPlane

EXAMPLE: Final = "01-two-teams-one-pool"
OURS: Final = ("kueue-dqo.dev", "CapacityProvider", "DynamicQuotaOrchestrator")
"""What shows an object to be of a kind that an installation brings: its group, or its kind."""
_SYSTEM_NODES: Final = ("system-1.example.com", "system-2.example.com")

_TRY: Final = """
# There: {there}, nodes that run pods, nothing of this project. docs/install.md and docs/helm.md hold as
# they are written, but for building an image: none is pulled, and every image that is called kueue-dqo can be started.
# A pod's port is another one of this machine, its log says which: curl localhost:PORT/metrics. kubectl port-forward and
# exec do not work.
kubectl get nodes
kubectl get clusterqueues
kubectl apply --server-side -k manifests/crds/kueue
"""
_LOSE: Final = """
# All GPUs are healthy. Once the agents are installed and have reported, this takes one away for some minutes:
kubectl apply --server-side --force-conflicts -f examples/{example}/reports.yaml
"""

RuntimeClasses = Callable[[ControlPlane], dict[str, RuntimeClass]]
"""Those that the nodes of a control plane have."""


def run(
    say: binaries.Say, *, example: str = EXAMPLE, effective_quotas: bool = False, runtime_classes: RuntimeClasses
) -> int:
    """Starts everything but this project, says how to reach it, and ends all on Ctrl-C or when a server ends.

    Args:
        say: takes lines of progress.
        example: a folder in `examples/`, whose nodes, flavors and queues are applied, and nothing else of it.
        effective_quotas: Kueue's definitions have `status.effectiveQuotas`, for the road `status`. Kueue itself does
            not run then: the version that is here would remove the field.
        runtime_classes: of pods.

    Returns the exit code. Raises what the start raises, after it has ended what was started.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        say("starting etcd, kube-apiserver, kube-controller-manager and kube-scheduler")
        with ControlPlane(say=say) as plane:
            say("installing the definitions of Kueue")
            kueue.install_crds(plane, ours=False, effective_quotas=effective_quotas)
            start_controllers(plane)
            for name in _SYSTEM_NODES:
                add_node(plane, name)
            say(f"applying the nodes and queues of examples/{example}")
            apply_kueue(plane, kueue.ROOT / "examples" / example)
            if not effective_quotas:
                say("starting Kueue")
                kueue.start_manager(plane)
            nodes = [each["metadata"]["name"] for each in plane.admin.items("/api/v1/nodes")]
            with Kubelet(plane, nodes, runtime_classes=runtime_classes(plane)):
                say(f"logs are in {plane.folder}")
                say("ready; Ctrl-C ends everything. In another shell, in this folder:\n")
                print("".join(_settings(plane)) + what_to_try(example, effective_quotas=effective_quotas), flush=True)  # noqa: T201 - to be copied
                ended = wait_for_an_end(plane.servers)
            say(f"{ended.name} has ended by itself, so everything else is ended\n{ended.tail()}")
            return 1
    except KeyboardInterrupt:
        say("everything has ended")
        return 0


def what_to_try(example: str, *, effective_quotas: bool) -> str:
    """What is there, and lines to type, as `run` prints them for the same arguments."""
    there = "Kueue and its queues"
    if effective_quotas:
        there = "queues, and no Kueue (the version that is here would remove the field)"
    has_reports = (kueue.ROOT / "examples" / example / "reports.yaml").is_file()
    return _TRY.format(there=there) + (_LOSE.format(example=example) if has_reports else "")


def apply_kueue(plane: ControlPlane, folder: Path) -> None:
    """Applies what an example has of nodes and of Kueue's own kinds."""
    found = [obj for file in sorted(folder.glob("*.yaml")) for obj in flat(kueue.read(file))]
    plane.admin.apply(*(each for each in found if not _is_ours(each)))
    for each in found:
        if each["kind"] == "Node":
            untaint(plane, each["metadata"]["name"])


def _is_ours(obj: Manifest) -> bool:
    return bool(obj["apiVersion"].partition("/")[0] in OURS or obj["kind"] in OURS)


def _settings(plane: ControlPlane) -> list[str]:
    """Lines for a shell: where the cluster is, and kubectl, Helm and dqo."""
    tools = (Path(sys.executable).parent, binaries.find(binaries.HELM).parent)
    return [
        f"export KUBECONFIG={shlex.quote(str(plane.kubeconfig()))}\n",
        f"export PATH={shlex.quote(os.pathsep.join(map(str, tools)))}{os.pathsep}$PATH\n",
    ]
