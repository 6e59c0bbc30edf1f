"""docs/operations/kueue-0.20.md, typed as it stands, with Kueue 0.19 and what can be told of 0.20.

What an admin does every day is on the same cluster, before: see `operating`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import pytest

from kueue_dqo.runtime.resources import DefinitionMeta
from tests.controlplane.controllers import add_node, start_controllers
from tests.controlplane.kubelet import Kubelet
from tests.controlplane.kueue import CRDS, install_crds, start_minimal, wait_served
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.lifecycle.checkout import Checkout, block, blocks
from tests.integration.lifecycle.inventory import Key, Manifest, inventory, listed
from tests.integration.lifecycle.kueues import KINDS, definitions, write_chart, write_manifests
from tests.integration.lifecycle.operating import operate
from tests.integration.objects import (
    ORCHESTRATORS,
    PROVIDERS,
    QUEUES,
    cohort,
    flavor,
    orchestrator,
    provider,
    publish,
    queue,
    wait_for_condition,
    wait_for_quotas,
)
from tests.integration.orchestrator.roads_and_rivals.scenes import as_kueue

PAGE: Final = "kueue-0.20.md"
PODS: Final = "/api/v1/namespaces/kueue-dqo-system/pods"
OURS_BY_KUBECTL: Final = "kubectl apply --server-side --force-conflicts -k manifests/crds/kueue"
CHART: Final = (
    "helm install kueue-dqo-kueue-crds manifests/charts/kueue-dqo-kueue-crds -n kueue-dqo-system --create-namespace"
)
OURS_BY_HELM: Final = f"{OURS_BY_KUBECTL} && {CHART} --take-ownership --force-conflicts"
"""Over what kubectl has applied, since the objects are to stay."""

WAYS: Final = (
    (OURS_BY_KUBECTL, "Helm"),
    (OURS_BY_KUBECTL, "Flux"),
    (OURS_BY_HELM, "Helm"),
    (OURS_BY_HELM, "kubectl"),
)
"""Who has applied ours, and who takes over. From kubectl to kubectl is part of the whole story."""


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[ControlPlane]:
    """With Kueue 0.19's definitions, and what makes pods of Deployments."""
    with ControlPlane(tmp_path / "controlplane") as plane:
        install_crds(plane, ours=False)
        start_controllers(plane)
        yield plane


def test_the_way_from_019_to_020(plane: ControlPlane, tmp_path: Path) -> None:
    """Objects survive each way of handing the definitions over; there is one writer at most, and quotas are guarded."""
    (tmp_path / "checkout").mkdir()
    checkout = Checkout(tmp_path / "checkout", plane)
    write_chart(checkout.folder / "kueue-0.19", "0.19.0", has_definitions=False)
    write_chart(checkout.folder / "kueue-0.20", "0.20.0", has_definitions=True)
    write_manifests(checkout.folder / "kueue-0.20.yaml")
    _hand_over_in_every_way(checkout, plane)

    # With the daemons, and with Kueue 0.19 at work.
    checkout.run(f"{OURS_BY_KUBECTL} && kubectl apply --server-side -k manifests/crds/providers")
    checkout.write_my_cluster("overlays/spec", "base/manual", components=["single-replica"])
    kueue = start_minimal(plane)
    add_node(plane, "node-1")
    with Kubelet(plane, ["node-1"]):
        checkout.run("kubectl apply --server-side -k my-cluster")
        wait_for_quotas(plane, team_a=8, team_b=16)
        operate(checkout, plane)
        _keep_ours(checkout, plane)
        _hold_and_restore(checkout, plane)
        _, _, to_helm, _ = blocks(PAGE, "4. Hand the definitions over")
        by_helm, *_ = blocks(PAGE, "5. Upgrade Kueue")
        checkout.run(to_helm)
        checkout.run(by_helm, {"KUEUE_CHART": "kueue-0.20"})
        kueue.stop()  # it would remove the field that comes now
        install_crds(plane, ours=False, effective_quotas=True)
        wait_for_quotas(plane, team_a=10, team_b=20)
        _take_the_road_status(checkout, plane)
        _leave_it_to_kueue(checkout, plane)
        checkout.run(block(PAGE, "7. Open the queues"))
        assert _stopped(plane) == {"team-a": "None", "team-b": "None", "closed": "Hold"}


def _keep_ours(checkout: Checkout, plane: ControlPlane) -> None:
    """The second row of the table: steps 4 and 5 alone, while the orchestrator writes on the road `spec`."""
    *_, to_others = blocks(PAGE, "4. Hand the definitions over")
    _, by_kubectl, *_ = blocks(PAGE, "5. Upgrade Kueue")
    checkout.run(to_others)
    publish(plane, "pool", {"default": {"cpu": "12"}})
    wait_for_quotas(plane, team_a=4, team_b=8)
    checkout.run(by_kubectl, {"KUEUE_MANIFESTS": "kueue-0.20.yaml"})
    publish(plane, "pool", {"default": {"cpu": "24"}})
    wait_for_quotas(plane, team_a=8, team_b=16)
    checkout.run(OURS_BY_KUBECTL)


def _hold_and_restore(checkout: Checkout, plane: ControlPlane) -> None:
    """Steps 1 to 3. From the first on nothing is admitted; from the third on nobody writes quotas."""
    are_held, restore = blocks(PAGE, "3. Put the declared quotas back")
    assert checkout.run(are_held).split() == ["team-a", "team-b"]
    checkout.run(block(PAGE, "1. Hold the queues"))
    assert set(_stopped(plane).values()) == {"Hold"}
    assert checkout.run(are_held) == ""
    checkout.run(block(PAGE, "2. Stop writing"))
    assert plane.admin.items(PODS, labelSelector="app.kubernetes.io/component=orchestrator") == []
    checkout.run(restore)
    wait_for_quotas(plane, team_a=10, team_b=20)
    _refuse_to_open(checkout, plane)
    assert checkout.run(restore) == "No quotas are left behind.\n"


def _refuse_to_open(checkout: Checkout, plane: ControlPlane) -> None:
    """While the declared quotas are in force, though the orchestrator's condition is still that of before."""
    wait_for_condition(plane, "True", "QuotasDistributed")
    done = checkout.type(block(PAGE, "7. Open the queues"))
    assert done.code == 2, done.err
    assert "team-a" in done.out
    assert set(_stopped(plane).values()) == {"Hold"}


def _take_the_road_status(checkout: Checkout, plane: ControlPlane) -> None:
    """The second half of step 6. What is declared stays in the spec."""
    checkout.write_my_cluster("overlays/status", "base/manual", components=["single-replica"])
    checkout.run("kubectl apply --server-side -k my-cluster")
    wait_for_quotas(plane, road="status", team_a=8, team_b=16)
    wait_for_quotas(plane, team_a=10, team_b=20)
    wait_for_condition(plane, "True", "QuotasDistributed")


def _leave_it_to_kueue(checkout: Checkout, plane: ControlPlane) -> None:
    """The first half of step 6: nothing of our orchestrator is left, and the providers go on."""
    remove, wait = blocks(PAGE, "6. One orchestrator")
    checkout.write_my_cluster("base/namespace", "base/manual", components=["single-replica"])
    checkout.run("kubectl apply --server-side -k my-cluster")
    checkout.run(remove)
    as_kueue(plane)
    checkout.run(wait)
    eventually(lambda: not _of_the_orchestrator(plane), "nothing is left of our orchestrator")
    checkout.run("kubectl -n kueue-dqo-system rollout status deployment/kueue-dqo-manual --timeout=1m")


def _of_the_orchestrator(plane: ControlPlane) -> list[Key]:
    label = ("app.kubernetes.io/component", "orchestrator")
    found = inventory(plane)
    return [key for key, each in found.items() if label in each["metadata"].get("labels", {}).items()]


def _stopped(plane: ControlPlane) -> dict[str, str]:
    return {each["metadata"]["name"]: each["spec"]["stopPolicy"] for each in plane.admin.items(QUEUES)}


# --- steps 4 and 5 ---------------------------------------------------------------------------------------------------


def _hand_over_in_every_way(checkout: Checkout, plane: ControlPlane) -> None:
    """From kubectl or our chart, to Helm, kubectl or a tool that applies by the server under another name."""
    keep, from_our_chart, to_helm, to_others = blocks(PAGE, "4. Hand the definitions over")
    by_helm, by_kubectl, look, back = blocks(PAGE, "5. Upgrade Kueue")
    checkout.run("helm install kueue kueue-0.19 --namespace kueue-system --create-namespace")
    before: list[Manifest] = []
    for ours, kueues in WAYS:
        checkout.run(ours)
        if not before:
            apply_objects(plane)
            before = _objects(plane)
            refused = checkout.type(by_helm, {"KUEUE_CHART": "kueue-0.20"})
            assert refused.code != 0
            assert "cannot be imported into the current release" in refused.err
        assert _is_ours(plane)
        checkout.run(keep)
        if ours == OURS_BY_HELM:
            checkout.run(from_our_chart)
        if kueues == "Helm":
            checkout.run(to_helm)
            checkout.run(by_helm, {"KUEUE_CHART": "kueue-0.20"})
        else:
            checkout.run(to_others)
            if kueues == "kubectl":
                checkout.run(by_kubectl, {"KUEUE_MANIFESTS": "kueue-0.20.yaml"})
            else:
                plane.admin.apply(*definitions(), manager="kustomize-controller")
        assert "kueue-dqo" not in checkout.run(look).splitlines()[-1]
        assert not _is_ours(plane), (ours, kueues)
        assert _objects(plane) == before
        assert all("as Kueue describes it" in json.dumps(each) for each in _definitions(plane)), (ours, kueues)
        refused = checkout.type(CHART)
        assert refused.code != 0
        assert "is not this project's" in refused.err
        if kueues == "Helm":
            checkout.run(back)
            assert _objects(plane) == before
        _forget(checkout, plane)


def _definitions(plane: ControlPlane) -> list[Manifest]:
    return [plane.admin.get(f"{CRDS}/{kind}.kueue.x-k8s.io") for kind in KINDS]


def _is_ours(plane: ControlPlane) -> bool:
    found = {msgspec.convert(each["metadata"], DefinitionMeta).is_ours for each in _definitions(plane)}
    assert len(found) == 1
    return found.pop()


def _forget(checkout: Checkout, plane: ControlPlane) -> None:
    """Whose the definitions are, for another way. What Helm has of Kueue is at 0.19 again."""
    for kind in KINDS:
        metadata: Manifest = {"labels": None, "annotations": None, "managedFields": [{}]}
        plane.admin.patch(f"{CRDS}/{kind}.kueue.x-k8s.io", {"metadata": metadata})
    checkout.run("kubectl -n kueue-system delete secret -l owner=helm,name=kueue")
    checkout.run("helm install kueue kueue-0.19 --namespace kueue-system")


def apply_objects(plane: ControlPlane) -> None:
    """Two teams whose declared quotas are more than there is."""
    wait_served(plane)
    plane.admin.apply(
        flavor("default"),
        cohort("teams"),
        queue("team-a", {"default": {"cpu": 10}}, cohort="teams"),
        queue("team-b", {"default": {"cpu": 20}}, cohort="teams"),
        queue("closed", {"default": {"cpu": 5}}, stopPolicy="Hold"),
        provider("pool", "default"),
        orchestrator("dqo", "pool", root=("Cohort", "teams")),
    )
    publish(plane, "pool", {"default": {"cpu": "24"}})


def _objects(plane: ControlPlane) -> list[Manifest]:
    """Those of the two kinds, as they are stored."""
    found = [each for path in (PROVIDERS, ORCHESTRATORS) for each in listed(plane, path)]
    assert len(found) == 2
    return found
