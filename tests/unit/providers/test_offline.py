"""The statuses that the daemons would write first: of which providers, from what, and in which order."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from kueue_dqo.api import dqo, parameters
from kueue_dqo.api.core import (
    Container,
    Node,
    NodeCondition,
    NodeMeta,
    NodeSpec,
    NodeStatus,
    Pod,
    PodLabels,
    PodMeta,
    PodSpec,
    Requirements,
)
from kueue_dqo.api.durations import Duration
from kueue_dqo.api.gpu import (
    GPU,
    AgentProblem,
    DeviceCount,
    GPUInventory,
    NodeGPUReport,
    NodeGPUReportSpec,
    OwnerReference,
    ReportMeta,
)
from kueue_dqo.api.kueue import ResourceFlavor, ResourceFlavorSpec
from kueue_dqo.api.meta import Condition, ObjectKey, ObjectMeta
from kueue_dqo.api.parameters import (
    Combine,
    CommonParameters,
    CompositeMember,
    CompositeParametersSpec,
    Cordoned,
    Guards,
    Headroom,
    ManualBaseline,
    ManualCapacitySpec,
    ManualFlavor,
    ManualOverride,
    NodeInventoryParametersSpec,
    NvidiaGpuParametersSpec,
    ParametersObject,
    Reserve,
    ResourceSelection,
)
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.provider import CapacityController, WithoutParameters
from providers.composite import source as composite
from providers.manual import source as manual
from providers.node_inventory import source as node_inventory
from providers.nvidia_gpu import source as nvidia_gpu
from providers.offline import (
    CONTROLLERS,
    PARAMETERS_KINDS,
    Objects,
    depending_on_pods,
    depending_on_reports,
    depending_on_time,
    first_statuses,
)

DAEMONS: tuple[CapacityController[Any], ...] = (
    node_inventory.CONTROLLER,
    nvidia_gpu.CONTROLLER,
    manual.CONTROLLER,
    composite.CONTROLLER,
)
NOON = datetime.datetime(2026, 9, 20, 12, tzinfo=datetime.UTC)
NODES, GPUS, MANUAL, COMPOSITE = (
    parameters.NODE_INVENTORY_CONTROLLER,
    parameters.NVIDIA_GPU_CONTROLLER,
    parameters.MANUAL_CONTROLLER,
    parameters.COMPOSITE_CONTROLLER,
)
READY = (NodeCondition("Ready", "True"),)
FLAVORS = {"batch": ResourceFlavor(ObjectMeta("batch"), ResourceFlavorSpec())}
TEN = ManualCapacitySpec(baseline=ManualBaseline((ManualFlavor("batch", {"cpu": Quantity.of(10)}),)))
NIGHT = ManualOverride(
    name="night",
    begin="2026-09-20T20:00:00Z",
    end="2026-09-21T06:00:00Z",
    flavors=(ManualFlavor("batch", {"cpu": Quantity.of(30)}),),
)
SYNCHRONIZED = Condition("CapacitySynchronized", "True", "Synchronized", "counted", 7, "2026-09-20T10:00:00Z")


def node(name: str, cpu: object = 8) -> Node:
    return Node(NodeMeta(name), status=NodeStatus({"cpu": Quantity.of(cpu)}, READY))


def provider(
    name: str,
    controller: str = NODES,
    *,
    parameters_name: str = "",
    flavors: Sequence[str] = ("batch",),
    cpu: object = None,
    deletion: str | None = None,
) -> dqo.CapacityProvider:
    """Without a status, unless it reports some cpu."""
    ref = None
    if parameters_name:
        ref = dqo.ParametersRef("kueue-dqo.dev", CONTROLLERS[controller].kind, parameters_name)
    status = dqo.CapacityProviderStatus()
    if cpu is not None:
        capacity = dqo.Capacity((dqo.FlavorCapacity("batch", {"cpu": Quantity.of(cpu)}),))
        status = dqo.CapacityProviderStatus(capacity, (SYNCHRONIZED,))
    spec = dqo.CapacityProviderSpec(controller, tuple(dqo.FlavorRef(each) for each in flavors), ref)
    return dqo.CapacityProvider(ObjectMeta(name, generation=7, deletion_timestamp=deletion), spec, status)


def combined(*members: str, combine: Combine = Combine.MIN) -> CompositeParametersSpec:
    return CompositeParametersSpec(members=tuple(CompositeMember(name) for name in members), combine=combine)


def objects(
    providers: Sequence[dqo.CapacityProvider], specs: Mapping[str, CommonParameters] | None = None, **more: Any
) -> Objects:
    """Parameters are found under their names, whatever their kind; one node of 8 cpu unless said otherwise."""
    found = {name: ParametersObject(ObjectMeta(name), spec) for name, spec in (specs or {}).items()}
    given: dict[str, Any] = {"flavors": FLAVORS, "nodes": [node("n1")], **more}
    return Objects(
        providers={each.metadata.name: each for each in providers},
        parameters=dict.fromkeys(PARAMETERS_KINDS, found),
        **given,
    )


def cpu_of(given: dqo.CapacityProvider) -> str | None:
    capacity = given.status.capacity
    return str(capacity.flavors[0].resources["cpu"]) if capacity is not None else None


def said(given: dqo.CapacityProvider) -> tuple[str, str, str]:
    """Status, reason and message of its condition."""
    [condition] = given.status.conditions
    assert (condition.type, condition.observed_generation) == ("CapacitySynchronized", 7)
    return condition.status, condition.reason, condition.message


# --- what the daemons do ---------------------------------------------------------------------------------------------


def test_our_controllers_are_those_of_the_daemons() -> None:
    """The plan may not import a daemon's source, so it has its own list; nothing in it may differ."""
    known = {}
    for daemon in DAEMONS:
        assert daemon.parameters is not None
        assert daemon.parameters.resource.group == "kueue-dqo.dev"
        known[daemon.name] = (daemon.parameters.resource.kind, daemon.parameters.spec, daemon.without_parameters)
    assert known == {name: (each.kind, each.spec, each.without_parameters) for name, each in CONTROLLERS.items()}


@pytest.mark.parametrize(
    ("group", "kind", "name", "says"),
    [
        pytest.param("kueue-dqo.dev", "Other", "mine", "names kind 'Other'", id="another kind"),
        pytest.param("example.com", "", "mine", "of apiGroup 'example.com'", id="another group"),
        pytest.param("kueue-dqo.dev", "", "gone", "'gone', which does not exist", id="missing"),
        pytest.param("kueue-dqo.dev", "", "broken", "cannot be used: spec.what: is no such field", id="unusable"),
    ],
)
@pytest.mark.parametrize("daemon", DAEMONS, ids=lambda daemon: daemon.name)
def test_what_is_wrong_with_a_reference_is_said(
    daemon: CapacityController[Any], group: str, kind: str, name: str, says: str
) -> None:
    """Of every controller; nothing is computed from it."""
    reference = dqo.ParametersRef(group, kind or CONTROLLERS[daemon.name].kind, name)
    given = msgspec.structs.replace(
        provider("p", daemon.name),
        spec=dqo.CapacityProviderSpec(daemon.name, (dqo.FlavorRef("batch"),), reference),
    )
    unusable = {ObjectKey(CONTROLLERS[daemon.name].kind, "broken"): "spec.what: is no such field"}
    state, reason, message = said(first_statuses(objects([given], {"mine": TEN}, unusable=unusable), NOON)["p"])
    assert (state, reason) == ("False", "Misconfigured")
    assert says in message


@pytest.mark.parametrize("daemon", DAEMONS, ids=lambda daemon: daemon.name)
def test_a_provider_without_parameters_is_what_its_controller_makes_of_it(daemon: CapacityController[Any]) -> None:
    """One with defaults, a mistake, or left to a person."""
    computed = first_statuses(objects([provider("p", daemon.name)]), NOON)
    states = {name: said(each)[:2] for name, each in computed.items()}
    assert (
        states
        == {
            WithoutParameters.DEFAULTS: {"p": ("True", "Synchronized")},
            WithoutParameters.MISCONFIGURED: {"p": ("False", "Misconfigured")},
            WithoutParameters.BY_HAND: {},
        }[daemon.without_parameters]
    )


# --- which ones are computed ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(provider("p", cpu=3), id="one with a status"),
        pytest.param(provider("p", deletion="2026-09-20T10:00:00Z"), id="one that is being deleted"),
        pytest.param(provider("p", "example.com/other"), id="another controller's"),
        pytest.param(provider("p", MANUAL), id="a manual one that is written by hand"),
    ],
)
def test_any_other_provider_is_left_as_it_is(given: dqo.CapacityProvider) -> None:
    """No daemon of ours would write its first status."""
    asked = objects([given])
    assert first_statuses(asked, NOON) == {}
    assert depending_on_time(asked) == depending_on_pods(asked) == depending_on_reports(asked) == []


def test_nothing_that_was_given_is_changed() -> None:
    """What depends on time or pods can be asked before and after."""
    asked = objects([provider("p", MANUAL, parameters_name="m")], {"m": TEN})
    first = first_statuses(asked, NOON)
    assert first_statuses(asked, NOON) == first
    assert not asked.providers["p"].has_status


def test_the_same_objects_give_the_same_status_at_another_time() -> None:
    """Nobody knows when it will be written, so a plan that is printed twice has no difference."""
    asked = objects([provider("p"), provider("q", COMPOSITE, parameters_name="none")])
    later = NOON + datetime.timedelta(hours=9)
    assert first_statuses(asked, NOON) == first_statuses(asked, later)
    for given in first_statuses(asked, NOON).values():
        assert [each.last_transition_time for each in given.status.conditions] == [None]


# --- from what --------------------------------------------------------------------------------------------------------


def test_headroom_and_the_choice_of_resources_apply_and_guards_do_not() -> None:
    """As in the publisher. Nothing is published yet that a guard could hold."""
    spec = NodeInventoryParametersSpec(
        resources=ResourceSelection(include=("cpu", "memory"), exclude=("memory",)),
        headroom=(Headroom("batch", "cpu", percent=25),),
        guards=Guards(Duration(600), Duration(600), 1, Duration(600)),
    )
    computed = first_statuses(objects([provider("p", parameters_name="m")], {"m": spec}), NOON)
    assert cpu_of(computed["p"]) == "6"
    assert said(computed["p"]) == ("True", "Synchronized", "batch: 1 node, 8 cpu; headroom batch: 2 cpu")


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_a_flavor_without_an_object_is_misconfigured_whoever_reports_it(controller: str) -> None:
    """Before anything is counted."""
    spec = {
        NODES: NodeInventoryParametersSpec(),
        GPUS: NvidiaGpuParametersSpec(),
        MANUAL: TEN,
        COMPOSITE: combined("by-hand"),
    }[controller]
    given = provider("p", controller, parameters_name="m", flavors=("batch", "gone"))
    computed = first_statuses(objects([given, provider("by-hand", "x", cpu=3)], {"m": spec}), NOON)
    assert said(computed["p"]) == (
        "False",
        "Misconfigured",
        "ResourceFlavor gone does not exist: create it, or take it out of spec.orchestratedFlavors",
    )
    assert computed["p"].status.capacity is None


def test_impossible_numbers_are_invalid() -> None:
    """Each error keeps its reason."""
    asked = objects([provider("p")], nodes=[node("n1", -1)])
    assert said(first_statuses(asked, NOON)["p"])[:2] == ("False", "InvalidCapacity")


def test_a_person_s_numbers_are_those_of_the_time() -> None:
    """Which is passed in."""
    spec = ManualCapacitySpec(baseline=TEN.baseline, overrides=(NIGHT,))
    asked = objects([provider("p", MANUAL, parameters_name="m")], {"m": spec})
    assert cpu_of(first_statuses(asked, NOON)["p"]) == "10"
    assert cpu_of(first_statuses(asked, NOON + datetime.timedelta(hours=9))["p"]) == "30"


def pod(name: str, cpu: int) -> Pod:
    containers = (Container("main", Requirements({"cpu": Quantity.of(cpu)})),)
    return Pod(PodMeta(name), PodSpec("n1", containers))


def test_pods_count_where_the_parameters_say_so() -> None:
    """Those of every namespace, on each node."""
    specs = {
        "plain": NodeInventoryParametersSpec(),
        "reserve": NodeInventoryParametersSpec(reserve=Reserve.UNMANAGED_PODS),
    }
    for name, cpu in (("plain", "8"), ("reserve", "5")):
        asked = objects([provider("p", parameters_name=name)], specs, pods=[pod("a", 1), pod("b", 2)])
        assert cpu_of(first_statuses(asked, NOON)["p"]) == cpu
        assert depending_on_pods(asked) == (["p"] if name == "reserve" else [])


@pytest.mark.parametrize(
    ("spec", "depends"),
    [
        pytest.param(NodeInventoryParametersSpec(), False, id="nodes"),
        pytest.param(NodeInventoryParametersSpec(ready_delay=Duration(60)), True, id="nodes with a delay"),
        pytest.param(NvidiaGpuParametersSpec(), False, id="GPUs"),
        pytest.param(TEN, False, id="a baseline"),
        pytest.param(ManualCapacitySpec(baseline=TEN.baseline, overrides=(NIGHT,)), True, id="an override"),
        pytest.param(combined("by-hand"), False, id="a composite"),
    ],
)
def test_what_depends_on_the_time_is_told(spec: CommonParameters, depends: bool) -> None:
    """So that a plan can say for when it is."""
    [controller] = [name for name, each in CONTROLLERS.items() if isinstance(spec, each.spec)]
    given = provider("p", controller, parameters_name="m")
    assert depending_on_time(objects([given], {"m": spec})) == (["p"] if depends else [])


# --- reports of GPUs --------------------------------------------------------------------------------------------------


def gpu_node(name: str, gpus: int = 8, *, cordoned: bool = False) -> Node:
    return Node(NodeMeta(name), NodeSpec(unschedulable=cordoned), NodeStatus({GPU: Quantity.of(gpus)}, READY))


def report(name: str, healthy: int | None = 8, *, problem: bool = False) -> NodeGPUReport:
    """Of another year, since a plan asks for no agent."""
    inventory = None
    if healthy is not None:
        inventory = GPUInventory("2020-01-01T00:00:00Z", 300, gpus=healthy, devices=(DeviceCount(GPU, healthy),))
    trouble = AgentProblem("LibraryNotFound", "no library", "2020-01-01T00:00:00Z") if problem else None
    return NodeGPUReport(ReportMeta(name), NodeGPUReportSpec(inventory, trouble))


def gpus_of(*reports: NodeGPUReport, nodes: Sequence[Node], **more: Any) -> tuple[str | None, tuple[str, str, str]]:
    """How many GPUs a provider with defaults would publish, and what it would say."""
    asked = objects([provider("p", GPUS)], nodes=nodes, reports={each.metadata.name: each for each in reports}, **more)
    assert depending_on_reports(asked) == ["p"]
    computed = first_statuses(asked, NOON)["p"]
    capacity = computed.status.capacity
    return str(capacity.flavors[0].resources[GPU]) if capacity is not None else None, said(computed)


def test_gpus_are_those_of_the_reports_however_old_these_are() -> None:
    """No agent is silent in a plan."""
    nodes = [gpu_node("n1"), gpu_node("n2")]
    assert gpus_of(report("n1"), report("n2", 7), nodes=nodes) == (
        "15",
        ("True", "Synchronized", "batch: 2 nodes, 15 nvidia.com/gpu"),
    )


def test_a_problem_leaves_what_the_agent_read_last() -> None:
    """Of all agents at once, too: nobody waits for them here."""
    nodes = [gpu_node("n1"), gpu_node("n2")]
    reports = [report("n1", problem=True), report("n2", 7, problem=True)]
    assert gpus_of(*reports, nodes=nodes)[0] == "15"


def test_a_problem_of_an_agent_that_never_read_anything_excludes_its_node_by_that_reason() -> None:
    """There is nothing to hold."""
    nodes = [gpu_node("n1"), gpu_node("n2")]
    amount, (_, _, message) = gpus_of(report("n1"), report("n2", None, problem=True), nodes=nodes)
    assert amount == "8"
    assert "LibraryNotFound=1 (n2)" in message


def test_a_report_without_any_gpu_tells_nothing() -> None:
    """As the daemon takes it."""
    amount, (_, _, message) = gpus_of(report("n1"), report("n2", 0), nodes=[gpu_node("n1"), gpu_node("n2")])
    assert amount == "8"
    assert "NoDevices=1 (n2)" in message


def test_a_report_of_another_machine_of_that_name_is_none() -> None:
    """A dump has the UIDs of both."""
    old = msgspec.structs.replace(
        report("n2"), metadata=ReportMeta("n2", owner_references=(OwnerReference("Node", "a"),))
    )
    anew = msgspec.structs.replace(gpu_node("n2"), metadata=NodeMeta("n2", uid="b"))
    amount, (_, _, message) = gpus_of(report("n1"), old, nodes=[gpu_node("n1"), anew])
    assert amount == "8"
    assert "NoReport=1 (n2)" in message


def test_without_any_report_nothing_is_published() -> None:
    """As the daemon says it: no word is no zero."""
    amount, (status, reason, _) = gpus_of(nodes=[gpu_node("n1"), gpu_node("n2")])
    assert (amount, status, reason) == (None, "False", "SourceUnavailable")


def test_reports_that_were_given_keep_their_problems() -> None:
    """Who warns of them reads them afterwards."""
    given = report("n1", problem=True)
    gpus_of(given, nodes=[gpu_node("n1")])
    assert given.spec.problem is not None


def test_gpus_of_cordoned_nodes_count_by_pods_where_the_parameters_say_so() -> None:
    """Those that pods of Kueue hold."""
    containers = (Container("main", Requirements({GPU: Quantity.of(3)})),)
    job = Pod(PodMeta("job", labels=PodLabels("main")), PodSpec("n2", containers))
    spec = NvidiaGpuParametersSpec(cordoned=Cordoned.COUNT_ALLOCATED)
    asked = objects(
        [provider("p", GPUS, parameters_name="m")],
        {"m": spec},
        nodes=[gpu_node("n1"), gpu_node("n2", cordoned=True)],
        reports={name: report(name) for name in ("n1", "n2")},
        pods=[job],
    )
    assert depending_on_pods(asked) == ["p"]
    assert first_statuses(asked, NOON)["p"].status.capacity == dqo.Capacity(
        (dqo.FlavorCapacity("batch", {GPU: Quantity.of(11)}),)
    )


# --- composites -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", list(itertools.permutations(["a", "b", "c"])))
def test_composites_come_after_their_members_whatever_they_are_called(names: tuple[str, str, str]) -> None:
    """A composite of a composite, of nodes and a person's numbers."""
    top, middle, bottom = names
    specs = {"top": combined(middle, combine=Combine.MAX), "middle": combined(bottom, "n"), "bottom": TEN}
    given = [
        provider(top, COMPOSITE, parameters_name="top"),
        provider(middle, COMPOSITE, parameters_name="middle"),
        provider(bottom, MANUAL, parameters_name="bottom"),
        provider("n"),
    ]
    computed = first_statuses(objects(given, specs), NOON)
    assert {name: cpu_of(each) for name, each in computed.items()} == {top: "8", middle: "8", bottom: "10", "n": "8"}


def test_a_member_that_has_a_status_is_taken_as_it_stands() -> None:
    """Also where its parameters say otherwise by now."""
    given = [provider("c", COMPOSITE, parameters_name="c"), provider("old", MANUAL, parameters_name="m", cpu=3)]
    computed = first_statuses(objects(given, {"c": combined("old"), "m": TEN}), NOON)
    assert computed.keys() == {"c"}
    assert cpu_of(computed["c"]) == "3"


def test_a_member_that_cannot_be_computed_stops_its_composite() -> None:
    """The composite says why the member does."""
    given = [provider("a", COMPOSITE, parameters_name="c"), provider("b", MANUAL, parameters_name="gone")]
    computed = first_statuses(objects(given, {"c": combined("b")}), NOON)
    status, reason, message = said(computed["a"])
    assert (status, reason) == ("False", "SourceUnavailable")
    assert "names ManualCapacity 'gone', which does not exist" in message


def test_a_ring_of_composites_is_misconfigured_and_those_beside_it_are_not() -> None:
    """Each one in the ring names it; one above it waits for its member."""
    specs = {"a": combined("b"), "b": combined("c"), "c": combined("b"), "d": combined("n")}
    given = [provider("n"), *(provider(name, COMPOSITE, parameters_name=name) for name in specs)]
    for order in (given, given[::-1]):
        computed = first_statuses(objects(order, specs), NOON)
        assert {name: said(each)[1] for name, each in computed.items()} == {
            "a": "SourceUnavailable",
            "b": "Misconfigured",
            "c": "Misconfigured",
            "d": "Synchronized",
            "n": "Synchronized",
        }
        assert "b → c → b" in said(computed["b"])[2]


def test_a_composite_without_parameters_is_misconfigured() -> None:
    """There is no default for what it is made of."""
    computed = first_statuses(objects([provider("c", COMPOSITE)]), NOON)
    assert said(computed["c"])[1] == "Misconfigured"
    assert said(computed["c"])[2].startswith("spec.parameters is missing: kueue-dqo.dev/composite needs them")
