"""docs/operations/upgrade.md, typed as it stands: from an older state of this project to the present one and back."""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import cycle, groupby
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from kueue_dqo import __version__
from tests.controlplane.controllers import add_node, start_controllers
from tests.controlplane.kubelet import Kubelet
from tests.controlplane.kueue import install_crds, read, wait_served
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually, repeating
from tests.integration.lifecycle.checkout import REGISTRY, Checkout, block, blocks
from tests.integration.lifecycle.inventory import inventory
from tests.integration.objects import (
    COHORTS,
    ORCHESTRATORS,
    PROVIDERS,
    QUEUES,
    Manifest,
    cohort,
    flavor,
    orchestrator,
    provider,
    publish,
    queue,
    wait_for_condition,
    wait_for_quotas,
)

PAGE: Final = "upgrade.md"
PREVIOUS: Final = Path(__file__).with_name("previous.tar.xz")
"""An older state, whose definitions have other rules, fields and kinds, and whose Deployments have other pods.

Made by `git archive 6631fe9 manifests examples/parameters | xz -9`; a shallow clone does not have that commit.
"""
FORMER, VERSION = "v0.0.9", "v0.1.0"
POOL: Final = {"example.com/pool": "batch"}
ORCHESTRATOR: Final = "kueue-dqo-orchestrator"
LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/kueue-dqo-system/leases"
PARAMETERS: Final[Manifest] = {
    "apiVersion": "kueue-dqo.dev/v1alpha1",
    "kind": "NodeInventoryParameters",
    "metadata": {"name": "nodes"},
    "spec": {"resources": {"include": ["cpu"]}, "guards": {"fallAfter": "1h"}},
}


@pytest.fixture(scope="module")
def previous(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its `manifests/` and `examples/`."""
    folder = tmp_path_factory.mktemp("previous")
    with tarfile.open(PREVIOUS) as files:
        files.extractall(folder, filter="data")
    return folder


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[ControlPlane]:
    """With Kueue's definitions and what makes pods of Deployments, and without a node."""
    with ControlPlane(tmp_path / "controlplane", audit=True) as plane:
        install_crds(plane, ours=False)
        start_controllers(plane)
        yield plane


def _commit(checkout: Checkout, tag: str) -> None:
    checkout.run(
        f"git init --quiet && git add manifests && "
        f"git -c user.name=admin -c user.email=admin@example.com commit --quiet -m {tag} && git tag {tag}"
    )


def test_an_upgrade_moves_nothing_and_can_be_taken_back(plane: ControlPlane, previous: Path, tmp_path: Path) -> None:
    """Neither quotas, nor statuses, nor what guards hold. By Helm, then by kubectl with the daemons running."""
    (tmp_path / "checkout").mkdir()
    checkout = Checkout(tmp_path / "checkout", plane)
    checkout.run("kubectl apply --server-side -k manifests/crds/kueue")
    _by_helm(checkout, plane, previous)

    (checkout.folder / "manifests").rename(tmp_path / "today")
    (previous / "manifests").rename(checkout.folder / "manifests")
    _commit(checkout, FORMER)
    checkout.run("rm -r manifests")
    (tmp_path / "today").rename(checkout.folder / "manifests")
    _commit(checkout, VERSION)
    _by_kubectl(checkout, plane, previous)


def _by_helm(checkout: Checkout, plane: ControlPlane, previous: Path) -> None:
    """There is no older chart, so it is today's with the older definitions. No node runs its pods."""
    chart = checkout.folder / "former"
    shutil.copytree(checkout.folder / "manifests/charts/kueue-dqo", chart)
    meta = yaml.safe_load((chart / "Chart.yaml").read_text())
    (chart / "Chart.yaml").write_text(yaml.safe_dump(meta | {"version": "0.0.9", "appVersion": "0.0.9"}))
    shutil.rmtree(chart / "files/crds")
    shutil.copytree(previous / "manifests/crds/providers", chart / "files/crds")
    (chart / "files/crds/kustomization.yaml").unlink()
    options = f"--namespace kueue-dqo-system --create-namespace --set image.repository={REGISTRY}/kueue-dqo"
    checkout.run(f"helm install kueue-dqo former {options}")
    stored = _store(plane, previous)
    assert _image(plane) == f"{REGISTRY}/kueue-dqo:0.0.9"

    checkout.run(block("../helm.md", "Upgrade"))
    assert _image(plane) == f"{REGISTRY}/kueue-dqo:{__version__}"
    _check_stored(plane, stored, is_newer=True)
    checkout.run("helm rollback kueue-dqo -n kueue-dqo-system")
    assert _image(plane) == f"{REGISTRY}/kueue-dqo:0.0.9"
    _check_stored(plane, stored, is_newer=False)

    checkout.run("helm uninstall kueue-dqo -n kueue-dqo-system --wait && kubectl delete namespace kueue-dqo-system")
    inventory(plane)  # a definition that nobody has read since it was changed would take minutes to go
    checkout.run("kubectl delete -k manifests/crds/providers")
    plane.admin.forget_resources()


def _by_kubectl(checkout: Checkout, plane: ControlPlane, previous: Path) -> None:
    look = block(PAGE, "Look before")
    upgrade, ours = blocks(PAGE, "Upgrade with kubectl")
    back = block(PAGE, "Go back")
    for number in (1, 2, 3):
        add_node(plane, f"batch-{number}", labels=POOL)
    with Kubelet(plane, [f"batch-{number}" for number in (1, 2, 3)]):
        checkout.write_my_cluster("overlays/spec", "base/node-inventory", tag="0.0.9")
        checkout.run(upgrade, {"VERSION": FORMER})
        stored = _store(plane, previous)
        _orchestrate(plane)
        before = _state(plane)
        checkout.run(look)

        checkout.write_my_cluster("overlays/spec", "base/node-inventory", tag=__version__)
        checkout.run(ours)
        checkout.run(upgrade, {"VERSION": VERSION})
        assert _image(plane) == f"{REGISTRY}/kueue-dqo:{__version__}"
        _wait_for_change_of_leaders(plane, 1)
        assert _state(plane) == before
        _check_stored(plane, stored, is_newer=True)
        checkout.run(look)

        # The way back, while the capacity changes all the time: so each leader has something to write.
        checkout.write_my_cluster("overlays/spec", "base/node-inventory", tag="0.0.9")
        with _changing(plane):
            checkout.run(back, {"FORMER": FORMER})
            _wait_for_change_of_leaders(plane, 2)
        assert _image(plane) == f"{REGISTRY}/kueue-dqo:0.0.9"
        _check_writers(plane)
        publish(plane, "by-hand", {"default": {"cpu": "45"}})
        wait_for_quotas(plane, team_a=15, team_b=30)
        wait_for_quotas(plane, pair="batch/cpu", team_a=8, team_b=16)
        assert "holding batch until" in _message(plane)


# --- what there is ---------------------------------------------------------------------------------------------------


def _orchestrate(plane: ControlPlane) -> None:
    """Quotas of the nodes, of which one has gone and is still counted, and of a number that a person writes."""
    quotas = {"batch": {"cpu": 10}, "default": {"cpu": 10}}
    plane.admin.apply(
        flavor("batch", POOL),
        flavor("default"),
        cohort("teams"),
        queue("team-a", quotas, cohort="teams"),
        queue("team-b", {each: {"cpu": 20} for each in quotas}, cohort="teams"),
        PARAMETERS,
        provider("nodes", "batch", controller="kueue-dqo.dev/node-inventory", parameters=PARAMETERS),
        provider("by-hand", "default"),
        orchestrator("dqo", "nodes", "by-hand", root=("Cohort", "teams")),
    )
    publish(plane, "by-hand", {"default": {"cpu": "60"}})
    wait_for_quotas(plane, pair="batch/cpu", team_a=8, team_b=16)
    wait_for_quotas(plane, team_a=20, team_b=40)
    plane.admin.patch("/api/v1/nodes/batch-3", {"spec": {"unschedulable": True}})
    eventually(lambda: "holding batch until" in _message(plane), "a fall is held")
    wait_for_condition(plane, "True", "QuotasDistributed")


def _message(plane: ControlPlane) -> str:
    (found,) = plane.admin.get(f"{PROVIDERS}/nodes")["status"]["conditions"]
    return str(found["message"])


def _state(plane: ControlPlane) -> dict[str, Any]:
    """Queues by their versions, which every write changes; of providers and orchestrators, what they say."""
    found: dict[str, Any] = {}
    for path in (QUEUES, COHORTS):
        found |= {
            f"{path}/{each['metadata']['name']}": each["metadata"]["resourceVersion"]
            for each in plane.admin.items(path)
        }
    for path in (f"{PROVIDERS}/nodes", f"{ORCHESTRATORS}/dqo"):
        found[path] = plane.admin.get(path)["status"]
    return found


def _image(plane: ControlPlane) -> str:
    deployment = plane.admin.get(f"/apis/apps/v1/namespaces/kueue-dqo-system/deployments/{ORCHESTRATOR}")
    return str(deployment["spec"]["template"]["spec"]["containers"][0]["image"])


def _store(plane: ControlPlane, previous: Path) -> list[Manifest]:
    """Parameters of each kind that the older version has, with every field that it has."""
    objects = [each for file in sorted((previous / "examples/parameters").glob("*.yaml")) for each in read(file)]
    objects = [each for each in objects if each["kind"] != "CapacityProvider"]
    wait_served(plane)
    plane.admin.apply(*objects)
    found = [plane.admin.get(plane.admin.path_of(each)) for each in objects]
    assert len({each["kind"] for each in found}) == 5
    return found


def _check_stored(plane: ControlPlane, stored: list[Manifest], *, is_newer: bool) -> None:
    """They are the same objects, may be edited, and would be taken as new ones too."""
    kinds = plane.admin.get(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/cloudquotaparameters.kueue-dqo.dev"
    )
    assert ("accountId" in json.dumps(kinds["spec"])) is is_newer
    for each in stored:
        path = plane.admin.path_of(each)
        found = plane.admin.patch(path, {"metadata": {"annotations": {"example.com/edited": str(is_newer)}}})
        assert (found["spec"], found["metadata"]["uid"]) == (each["spec"], each["metadata"]["uid"])
        again = {key: each[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": {"name": "again"}}
        plane.admin.request(
            "POST", plane.admin.collection_of(again), again, query={"dryRun": "All", "fieldValidation": "Strict"}
        )


# --- who leads, who writes -------------------------------------------------------------------------------------------


def _wait_for_change_of_leaders(plane: ControlPlane, number: int) -> None:
    """Until a pod of the present version leads, and no other is left; each that led has given the Lease back."""

    def leads() -> bool:
        holder = plane.admin.get(f"{LEASES}/{ORCHESTRATOR}")["spec"].get("holderIdentity") or ""
        pods = plane.admin.items(
            "/api/v1/namespaces/kueue-dqo-system/pods", labelSelector="app.kubernetes.io/component=orchestrator"
        )
        return len(pods) == 2 and holder.rpartition("_")[0] in {each["metadata"]["name"] for each in pods}

    eventually(leads, "one of the new pods leads")
    logs = [_events(file) for file in sorted(plane.folder.glob(f"pods/kueue-dqo-system/{ORCHESTRATOR}-*/*/*/*.log"))]
    led = [events for events in logs if "leader election won" in events]
    assert len(led) > number
    assert sum("lease released" in events for events in led) == len(led) - 1


def _events(log: Path) -> list[str]:
    return [json.loads(line)["event"] for line in log.read_text().splitlines() if line.startswith("{")]


def _check_writers(plane: ControlPlane) -> None:
    """By the API server's record: once a pod has written quotas, none that led before it writes any more."""
    writes = [
        each
        for each in plane.requests()
        if each["verb"] == "patch" and each["objectRef"]["resource"] in {"clusterqueues", "cohorts"}
    ]
    writes.sort(key=lambda each: str(each["requestReceivedTimestamp"]))
    pods = [each["user"]["extra"]["authentication.kubernetes.io/pod-name"][0] for each in writes]
    leaders = [pod for pod, _ in groupby(pods)]
    assert len(leaders) >= 2
    assert len(leaders) == len(set(leaders))


def _changing(plane: ControlPlane) -> AbstractContextManager[None]:
    """Meanwhile, a provider reports another number again and again."""
    numbers = cycle(("90", "60"))
    return repeating(lambda: publish(plane, "by-hand", {"default": {"cpu": next(numbers)}}), every=0.2)
