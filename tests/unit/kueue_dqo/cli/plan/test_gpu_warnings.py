"""What an admin is told of GPUs before a plan is let happen."""

from __future__ import annotations

import pytest

from kueue_dqo.cli.objects import CLUSTER
from kueue_dqo.cli.plan.computation import make_plan
from kueue_dqo.cli.plan.warnings import warnings
from orchestrator.enforcement.roads import Road
from tests.unit.kueue_dqo.cli.plan.builders import (
    GPU,
    NODE_INVENTORY,
    NOON,
    NVIDIA_GPU,
    POOL,
    Plain,
    composite_parameters,
    flavor,
    gpu_parameters,
    gpu_report,
    inventory_parameters,
    manifests_of,
    node,
    orchestrator,
    plan_of,
    provider,
    published,
    reporting,
)

EIGHT = {"cpu": 64, GPU: 8}
COMPOSITE = "kueue-dqo.dev/composite"


def gpus(name: str = "gpus", **more: object) -> Plain:
    return provider(name, controller=NVIDIA_GPU, **more)  # type: ignore[arg-type]  # passed on


def warned(*objects: Plain) -> list[str]:
    return warnings(plan_of(*objects))


# --- what they are counted from ---------------------------------------------------------------------------------------


def test_gpus_are_computed_from_reports_without_a_warning() -> None:
    """All is there."""
    plan = plan_of(node(has=EIGHT), flavor(), gpus(), gpu_report(healthy=7))
    assert published(plan, "gpus") == {"batch": {GPU: "7"}}
    assert warnings(plan) == []


def test_reports_that_are_missing_altogether_are_pointed_out() -> None:
    """In files with what would bring them, once for all providers."""
    assert warned(node(has=EIGHT), flavor(), flavor("gpu", {"pool": "b"}), gpus("a"), gpus("b", flavors=["gpu"])) == [
        (
            "no Node matches flavor gpu of CapacityProvider b: its capacity is zero; compare the flavor's nodeLabels "
            "with the labels of the nodes"
        ),
        (
            "there is no NodeGPUReport in the files: nothing is known of the GPUs of CapacityProvider a, b; add "
            "`kubectl get nodegpureports -o json`"
        ),
    ]


def test_reports_that_a_cluster_lacks_are_a_matter_of_its_agents() -> None:
    """Which are to be looked at."""
    manifests = manifests_of(node(has=EIGHT), flavor(), gpus())
    manifests.origin = CLUSTER
    [warning] = warnings(make_plan(manifests, Road.STATUS, NOON))
    assert warning == (
        "there is no NodeGPUReport in the cluster: nothing is known of the GPUs of CapacityProvider gpus; look at the "
        "agents: kubectl get pods -A -l app.kubernetes.io/component=nvidia-gpu-agent"
    )


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([provider()], id="nobody counts GPUs"),
        pytest.param([reporting("gpus", controller=NVIDIA_GPU)], id="it has a status"),
        pytest.param([gpus(), gpu_report()], id="there is one"),
    ],
)
def test_reports_are_not_missed_where(objects: list[Plain]) -> None:
    """Nothing depends on them."""
    assert warned(node(has=EIGHT), flavor(), *objects) == []


def test_gpus_without_any_node_are_pointed_out() -> None:
    """As for the node inventory."""
    assert warned(flavor(), gpus(), gpu_report()) == [
        "there is no Node in the files: the capacity of gpus is zero; add `kubectl get nodes -o json`"
    ]


def test_nodes_that_the_parameters_of_gpus_do_not_select_match_nothing() -> None:
    """By the selector of their own kind of parameters, not of another one by the same name."""
    selector = {"matchLabels": {"rack": "1"}}
    others = inventory_parameters("p", spec={"nodeSelector": {"matchLabels": POOL}})
    given = [flavor(), gpus(parameters="p"), gpu_parameters("p", nodeSelector=selector), others, gpu_report()]
    [warning] = warned(node(has=EIGHT, labels=POOL | {"rack": "2"}), *given)
    assert "no Node matches flavor batch of CapacityProvider gpus" in warning
    assert "and the nodeSelector of the parameters," in warning
    assert warned(node(has=EIGHT, labels=POOL | {"rack": "1"}), *given) == []


def test_an_agent_with_a_problem_is_named_where_its_last_report_counts() -> None:
    """Only those of the provider's nodes."""
    given = [
        *(node(name, has=EIGHT) for name in ("n1", "n2", "n3")),
        node("elsewhere", {"pool": "b"}, has=EIGHT),
        *(flavor(), gpus(), gpu_report("n1"), gpu_report("n2", 7, problem="LibraryNotFound")),
        *(gpu_report("n3", None, problem="DriverNotLoaded"), gpu_report("elsewhere", problem="NoPermission")),
        gpu_report("gone", problem="NoPermission"),
    ]
    plan = plan_of(*given)
    assert published(plan, "gpus") == {"batch": {GPU: "15"}}
    assert warnings(plan) == [
        (
            "the agent cannot read NVML on n2 (LibraryNotFound since 2026-09-20T10:00:00Z): what it read last "
            "counts here for CapacityProvider gpus; in a cluster it does so for `agents.grace` of the parameters, and "
            "no longer"
        )
    ]


def test_problems_of_agents_are_not_told_where_the_provider_has_a_status() -> None:
    """Its status says it."""
    has_status = reporting("gpus", {"batch": {GPU: 8}}, controller=NVIDIA_GPU)
    assert warned(node(has=EIGHT), flavor(), has_status, gpu_report(problem="LibraryNotFound")) == []


# --- counted twice ----------------------------------------------------------------------------------------------------

TWICE = (
    "orchestrator dqo adds up batch/nvidia.com/gpu of nodes and of gpus: the same GPUs count twice; have nodes leave "
    "them out (resources.exclude of its parameters), or list a composite of both with `combine: Min` in their place"
)
BOTH = [node(has=EIGHT), flavor(), gpus(), gpu_report()]


def test_gpus_that_the_node_inventory_reports_as_well_are_pointed_out() -> None:
    """It reports whatever nodes have, unless it is told otherwise."""
    assert warned(*BOTH, provider(), orchestrator(root=None, providers=["nodes", "gpus"])) == [TWICE]


def test_published_capacities_are_looked_at_too() -> None:
    """Those that have a status."""
    given = [
        reporting("nodes", {"batch": {"cpu": 1, GPU: 8}}, controller=NODE_INVENTORY),
        reporting("gpus", {"batch": {GPU: 7}}, controller=NVIDIA_GPU),
    ]
    assert warned(*given, orchestrator(root=None, providers=["gpus", "nodes"])) == [TWICE]


@pytest.mark.parametrize(
    ("combine", "counts"), [pytest.param("Sum", True, id="sum"), pytest.param("Min", False, id="minimum")]
)
def test_a_composite_counts_gpus_twice_where_it_adds_up(combine: str, counts: bool) -> None:
    """The minimum of both is the way out."""
    both = provider("both", controller=COMPOSITE, parameters="both")
    made_of = composite_parameters("both", "nodes", "gpus", combine=combine)
    found = warned(*BOTH, provider(), both, made_of, orchestrator(root=None, providers=["both"]))
    assert found == ([TWICE] if counts else [])


def test_a_ring_of_sums_ends() -> None:
    """Whatever its members are."""
    rings = [
        *(provider("a", controller=COMPOSITE, parameters="a"), composite_parameters("a", "b", "gone", combine="Sum")),
        *(provider("b", controller=COMPOSITE, parameters="b"), composite_parameters("b", "a", "gpus", combine="Sum")),
    ]
    assert warned(*BOTH, provider(), *rings, orchestrator(root=None, providers=["nodes", "a"])) == [TWICE]


def beyond(name: str, controller: str) -> Plain:
    """A provider whose status has a flavor that it does not orchestrate, and nothing else."""
    given = reporting(name, {"batch": {GPU: 8}}, controller=controller)
    given["spec"]["orchestratedFlavors"] = [{"name": "other"}]
    return given


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param(
            [
                *(provider(parameters="p"), inventory_parameters("p", exclude=[GPU])),
                orchestrator(root=None, providers=["nodes", "gpus"]),
            ],
            id="the inventory leaves them out",
        ),
        pytest.param(
            [provider(), orchestrator(root=None), orchestrator("other", root=None, providers=["gpus"])],
            id="they belong to two orchestrators",
        ),
        pytest.param(
            [beyond("nodes", NODE_INVENTORY), orchestrator(root=None, providers=["nodes", "gpus"])],
            id="the flavor is not the inventory's to report",
        ),
        pytest.param(
            [reporting("nodes", {"batch": {GPU: 8}}), orchestrator(root=None, providers=["nodes", "gpus"])],
            id="somebody else reports them",
        ),
    ],
)
def test_gpus_do_not_count_twice_where(objects: list[Plain]) -> None:
    """Each is counted once."""
    assert [text for text in warned(*BOTH, *objects) if "adds up" in text] == []


def test_gpus_of_other_nodes_do_not_count_twice() -> None:
    """As far as the selectors show that they are others."""
    given = [
        *(node("n1", POOL | {"rack": "1"}, has=EIGHT), node("n2", POOL | {"rack": "2"}, has=EIGHT), flavor()),
        *(provider(parameters="p"), inventory_parameters("p", spec={"nodeSelector": {"matchLabels": {"rack": "1"}}})),
        *(gpus(parameters="p"), gpu_parameters("p", nodeSelector={"matchLabels": {"rack": "2"}}), gpu_report("n2")),
    ]
    assert warned(*given, orchestrator(root=None, providers=["nodes", "gpus"])) == []


def test_gpus_of_nodes_that_an_autoscaler_adds_are_pointed_out() -> None:
    """A quota that follows healthy GPUs never asks for a node that is not there yet."""
    karpenter = POOL | {"karpenter.sh/nodepool": "gpu"}
    grown = node(labels=karpenter, has=EIGHT)
    [found] = warned(grown, flavor(), gpus(), gpu_report(), orchestrator(root=None, providers=["gpus"]))
    assert found.startswith("the quota of flavor batch comes from nodes")
