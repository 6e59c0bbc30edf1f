"""The commands of all pages, typed as they stand on a cluster such as `make cluster ARGS=bare` starts."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest
import yaml

from tests.controlplane import binaries
from tests.controlplane.__main__ import runtime_classes
from tests.controlplane.bare import apply_kueue
from tests.controlplane.controllers import add_node, start_controllers
from tests.controlplane.kubelet import Kubelet
from tests.controlplane.kueue import apply_crds, install_crds, read, wait_served
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.docs.pages import blocks_of, section_of
from tests.docs.shell_blocks import IN_A_CLUSTER, ROOT, Block, Typist, shell_blocks
from tests.e2e.process import Finished
from tests.integration.install.installations import install_monitors
from tests.integration.objects import provider
from tests.manifests.rendered import NAMESPACE

EXAMPLE: Final = ROOT / "examples/08-gpus-that-died"
SYSTEM: Final = ("system-1.example.com", "system-2.example.com")
ORCHESTRATOR: Final = "kueue-dqo-orchestrator"
REGISTRY: Final = "registry.example.com"
NODE: Final = "gpu-3.example.com"
NAMES: Final = {
    r"(?<=get capacityprovider )(NAME|gpu-nodes)\b": "gpus",
    r"(?<=get capacityproviders )NAME\b": "gpus",
    r"(?<=capacityproviders\.kueue\.x-k8s\.io )gpu-nodes\b": "gpus",
    r"(?<=dynamicquotaorchestrators )NAME\b": "vision",
    r"(?<=clusterqueue )NAME\b": "training",
    r"(?<=deployment/)NAME\b": ORCHESTRATOR,
    r"(?<=involvedObject\.name=)(NAME|gpu-nodes)\b": "gpus",
    r"(?<=label node )NAME\b": NODE,
    r"\bNODE\b": NODE,
    r"\bFOLDER\b": "examples/08-gpus-that-died",
}
"""What stands for placeholders here."""
MAY_BE_SILENT: Final = re.compile(r"get (events|multikueueclusters|runtimeclass)|> \S+(; code=\$\?)?$")
"""Commands that find nothing where all is well, or print into a file."""
ROLLED_OUT: Final = f"kubectl -n {NAMESPACE} rollout status deployment --timeout=3m"
WORKLOAD: Final = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "Workload",
    "metadata": {"name": "second", "namespace": "lab"},
    "spec": {
        "queueName": "queue",
        "podSets": [
            {
                "name": "main",
                "count": 1,
                "template": {
                    "spec": {
                        "restartPolicy": "Never",
                        "containers": [{"name": "main", "image": "busybox", "resources": {"requests": {"cpu": "3"}}}],
                    }
                },
            }
        ],
    },
}


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[tuple[ControlPlane, Kubelet]]:
    """Kueue's definitions, the nodes and queues of an example, drivers for its GPUs, nothing of this project."""
    with ControlPlane(tmp_path / "controlplane") as plane:
        install_crds(plane, ours=False, effective_quotas=True)
        install_monitors(plane)
        apply_crds(plane, *read(binaries.operator_crds() / "monitoring.coreos.com_prometheuses.yaml"))
        start_controllers(plane)
        for name in SYSTEM:
            add_node(plane, name)
        apply_kueue(plane, EXAMPLE)
        for name in ("kueue-system", "monitoring"):
            plane.admin.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        nodes = [each["metadata"]["name"] for each in plane.admin.items("/api/v1/nodes")]
        with Kubelet(plane, nodes, runtime_classes=runtime_classes(plane)) as kubelet:
            yield plane, kubelet


class _Walk:
    """Somebody who reads page after page."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self.plane = plane
        self.folder = folder
        for name in ("examples", "manifests"):
            (folder / name).symlink_to(ROOT / name)
        self.typist = Typist(folder, KUBECONFIG=str(_contexts(plane, folder)))
        self.left = [each for each in shell_blocks() if each.commands and each.typed_by == IN_A_CLUSTER]

    def type(
        self,
        page: str,
        heading: str,
        number: int = 1,
        replaced: Mapping[str, str] | None = None,
        *,
        code: int = 0,
        within: str = ".",
    ) -> Finished:
        """One block, once."""
        (block,) = (each for each in self.left if each[:3] == (f"{page}.md", heading, number))
        self.left.remove(block)
        return self._type(block, replaced or {}, code, within)

    def type_the_rest(self) -> None:
        """In the order of the pages. Where all is well, `grep` may find nothing."""
        while self.left:
            block = self.left.pop(0)
            names = {each: text for each, text in NAMES.items() if re.search(each, block.commands)}
            if re.search(r"\bPOD\b", block.commands):
                names[r"\bPOD\b"] = self.pod()
            finds = re.search(r"\| grep [^|\n]*\Z", block.commands)
            done = self._type(block, names, None if finds else 0, ".")
            if finds:
                errors = done.err.replace("No resources found in default namespace.\n", "")
                assert (done.code in {0, 1}, errors) == (True, ""), f"{block}\n{done.out}\n{done.err}"
            elif not MAY_BE_SILENT.search(block.commands):
                assert done.out.strip(), block

    def run(self, commands: str) -> str:
        """What stands between the blocks."""
        done = self.typist.run(commands)
        assert done.code == 0, f"{commands}\n{done.out}\n{done.err}"
        return done.out

    def pod(self) -> str:
        """One of the orchestrator that stays."""
        pods = self.plane.admin.items(
            f"/api/v1/namespaces/{NAMESPACE}/pods", labelSelector="app.kubernetes.io/component=orchestrator"
        )
        return next(str(each["metadata"]["name"]) for each in pods if "deletionTimestamp" not in each["metadata"])

    def _type(self, block: Block, replaced: Mapping[str, str], code: int | None, within: str) -> Finished:
        done = self.typist.type(block, replaced, within=within)
        assert code is None or done.code == code, f"{block}: {done.code}\n{done.out}\n{done.err}"
        return done


def _contexts(plane: ControlPlane, folder: Path) -> Path:
    """A kubeconfig with a manager of MultiKueue and a worker, both of them this cluster."""
    config = json.loads(plane.kubeconfig().read_text())
    (one,) = config["contexts"]
    config["contexts"] += [{**one, "name": name} for name in ("manager", "paris")]
    path = folder / "kubeconfig"
    path.write_text(json.dumps(config))
    return path


def test_the_commands_of_all_pages_are_typed(bare: tuple[ControlPlane, Kubelet], tmp_path: Path) -> None:
    """First those that install, then each page, last those that take something away. All end well, or as is said."""
    (tmp_path / "checkout").mkdir()
    plane, kubelet = bare
    walk = _Walk(plane, tmp_path / "checkout")
    _look_before(walk)
    _install(walk, plane)
    _look_at_ports(walk, kubelet)
    _set_by_hand(walk, plane)
    _plan(walk)
    _simulate_and_explain(walk, plane)
    _add_a_worker(walk)
    last = [each for each in walk.left if each.text.startswith("dqo cleanup")]
    walk.left = [each for each in walk.left if each not in last]
    walk.type_the_rest()
    walk.left = last
    _clean_up(walk)
    assert walk.left == []


def _look_before(walk: _Walk) -> None:
    """The first run of README.md, while nothing of this project is there."""
    own = walk.folder / "own"
    own.mkdir()
    (own / "examples").symlink_to(ROOT / "examples")
    (block,) = blocks_of("yaml", section_of(ROOT / "README.md", "A first run on your own cluster"))
    (own / "dqo.yaml").write_text(block.replace("default-flavor ", "h100 ").replace("all-teams ", "vision "))
    shutil.copy(EXAMPLE / "nodes.yaml", own)
    (own / "queues.yaml").write_text(
        "---\n".join((EXAMPLE / f"{each}.yaml").read_text() for each in ("flavors", "queues"))
    )
    done = walk.type("README", "A first run on your own cluster", within="own")
    assert "training" in done.out


def _install(walk: _Walk, plane: ControlPlane) -> None:
    """docs/install.md from top to bottom; everything that it installs comes to work."""
    page, apply, works = "docs/install", "Apply", "See that it works"
    definitions = next(each for each in walk.left if each[:3] == (f"{page}.md", apply, 2))
    missing = walk.type(page, apply, 2, code=1)
    assert "NotFound" in missing.err
    walk.type(page, apply, 3)
    assert walk.run(definitions.commands) == "kueue-dqo\n"
    walk.type(page, apply, 4)
    walk.type(page, apply, 5, {"REGISTRY": REGISTRY})
    walk.run(ROLLED_OUT)
    plane.admin.forget_resources()
    wait_served(plane)
    (first,) = blocks_of("yaml", section_of(ROOT / "docs/install.md", apply))
    (walk.folder / "first.yaml").write_text(first.replace("default-flavor ", "h100 ").replace("one-team ", "vision "))
    walk.run("kubectl apply --dry-run=server -f first.yaml")

    (plain,) = (each for each in map(yaml.safe_load, _yml("docs/install.md")) if "images" in each)
    names = ("service-monitor", "prometheus-rules", "single-replica", "nvidia-gpu-podmonitor")
    plain["components"] += [f"../manifests/components/{each}" for each in names]
    mine = walk.folder / "my-cluster/kustomization.yaml"
    mine.write_text(yaml.safe_dump(plain).replace("REGISTRY", REGISTRY))
    walk.run(f"kubectl apply --server-side -k my-cluster && {ROLLED_OUT}")
    walk.type(page, "Providers")
    walk.type(page, "GPU nodes", 1)
    walk.type(page, "GPU nodes", 2)
    walk.run("kubectl apply --server-side -f examples/08-gpus-that-died/providers.yaml")
    walk.run("kubectl apply --server-side -f examples/08-gpus-that-died/dqo.yaml")
    walk.run("kubectl wait dynamicquotaorchestrators --all --for=condition=Distributed --timeout=2m")
    done = walk.type(page, works, 1)
    assert re.search(rf"^{ORCHESTRATOR} +{ORCHESTRATOR}-\w", done.out, re.MULTILINE)
    assert "leader election won" in done.out


def _yml(page: str) -> list[str]:
    return blocks_of("yml", (ROOT / page).read_text())


def _set_by_hand(walk: _Walk, plane: ControlPlane) -> None:
    """docs/capacity-set.md, with the provider that stands there; and the provider of another page."""
    block, *_ = blocks_of("yaml", (ROOT / "docs/capacity-set.md").read_text())
    plane.admin.apply(
        yaml.safe_load(block), provider("rack-power", "h100", controller="facility.example.com/rack-power")
    )
    done = walk.type("docs/capacity-set", "Capacity by hand")
    assert "SourceUnavailable" in done.out


def _plan(walk: _Walk) -> None:
    """docs/plan.md, with files in the folder where it is typed."""
    own = walk.folder / "own"
    walk.type("README", "A first run on your own cluster", 2, within="own")
    walk.type("docs/plan", "Plan", within="own")
    walk.type("docs/plan", "JSON and YAML", 2, within="own")
    queues = own / "planned"
    queues.mkdir()
    for name in ("flavors", "queues", "dqo"):
        shutil.copy(EXAMPLE / f"{name}.yaml", queues)
    without = "Providers without a status"
    walk.type("docs/plan", without, 1, {"NAME": "gpus machines", "FOLDER": "planned"}, within="own")
    shutil.copy(own / "written.yaml", own / "asked.yaml")  # what a cloud would have said
    walk.type("docs/plan", without, 2, {"FOLDER": "planned"}, within="own")
    walk.run("kubectl get nodes,resourceflavors,clusterqueues,cohorts -o json > cluster.json")
    walk.type("docs/plan", "Exit codes")


def _simulate_and_explain(walk: _Walk, plane: ControlPlane) -> None:
    """With the steps of docs/simulate.md, of which the first is in the cluster as well, its Job as a Workload."""
    blocks = blocks_of("yaml", section_of(ROOT / "docs/simulate.md", "Steps"))
    for step, block in zip(("01", "02"), blocks, strict=True):
        (walk.folder / "steps" / step).mkdir(parents=True)
        (walk.folder / "steps" / step / "queue.yaml").write_text(block)
    plane.admin.apply(*(each for each in yaml.safe_load_all(blocks[0]) if each["kind"] != "Job"), WORKLOAD)
    simulated = walk.type("docs/simulate", "Simulate")
    assert simulated.out.count("lab/second") >= 4
    # With both of its steps, the Workload is admitted in the end.
    walk.type("docs/explain", "Explain")


def _look_at_ports(walk: _Walk, kubelet: Kubelet) -> None:
    """What would be asked through `kubectl port-forward`, is asked at the port of a pod of the orchestrator."""
    port = str(kubelet.container(NAMESPACE, walk.pod()).port)
    done = walk.type("docs/install", "See that it works", 2, {r"localhost:8080": f"localhost:{port}"})
    assert "kueue_dqo_leader" in done.out
    walk.type("docs/metrics", "Metrics", 1, {r"localhost:8080": f"localhost:{port}"})


def _add_a_worker(walk: _Walk) -> None:
    """docs/providers/multikueue.md, with this cluster for both."""
    page, make = "docs/providers/multikueue", "Make one"
    walk.type(page, make, 1)
    look = "kubectl -n kueue-dqo-reader get secret kueue-dqo-multikueue-reader -o jsonpath='{.data.token}'"
    eventually(lambda: bool(walk.run(look)), "the token is in the Secret")
    listed = walk.type(page, make, 2)
    assert "training" in listed.out
    shutil.copy(walk.folder / "paris.kubeconfig", walk.folder / "kept")
    walk.type(page, make, 3)
    (walk.folder / "kept").rename(walk.folder / "paris.kubeconfig")
    walk.type(page, "Replace one")


def _clean_up(walk: _Walk) -> None:
    """Of an orchestrator that is gone, quotas are left behind. Without a terminal nobody can be asked."""
    walk.run("kubectl delete dynamicquotaorchestrators --all")
    one = walk.type("docs/troubleshooting", "EffectiveQuotasConflict", 1, {"NAME": "training"}, code=1)
    assert "ClusterQueue/training" in one.out
    (block,) = walk.left
    first, *others = block.commands.splitlines()
    asked = walk.typist.run(first)
    assert (asked.code, "ClusterQueue/inference" in asked.out) == (1, True)
    walk.left = [block._replace(text="\n".join(others))]
    walk.type("docs/cleanup", "Cleanup", 1, {"team-a": "training"})
