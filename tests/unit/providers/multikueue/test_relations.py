"""Which workers a manager's queues lead to, by which LocalQueues, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kueue_dqo.api.dqo import CapacityProvider
from kueue_dqo.api.kueue import AdmissionCheck, MultiKueueConfig
from kueue_dqo.api.parameters import ResourceSelection
from kueue_dqo.provider import Misconfigured
from providers.multikueue.objects import LocalQueue, Manager, ManagerQueue, Unreadable
from providers.multikueue.relations import Relations, related
from tests.unit.providers.multikueue.manager_objects import (
    Spec,
    below,
    check,
    config,
    listed,
    manager,
    provider,
    queue,
    request,
)


def refused(
    of: Manager, asked: Spec, *peers: tuple[CapacityProvider, Spec | None], flavors: tuple[str, ...] = ("gpu",)
) -> str:
    """What is wrong."""
    with pytest.raises(Misconfigured) as raised:
        related(of, request(asked, *peers, flavors=flavors))
    text = str(raised.value)
    assert text.startswith("MultiKueueParameters fleet-parameters: ")
    assert "\n" not in text
    return text.removeprefix("MultiKueueParameters fleet-parameters: ")


# --- relations -----------------------------------------------------------------------------------------------------


def test_local_queues_of_the_queue_lead_to_each_worker_of_its_config() -> None:
    """Those of other queues do not."""
    there = manager({"a": queue("mk"), "b": queue("mk")}, {"ns/one": "a", "ns/two": "a", "ns/three": "b"})
    keys = frozenset({"ns/one", "ns/two"})
    assert related(there, request(listed("a"))) == Relations({"worker1": keys, "worker2": keys}, ("a",))


def test_queues_of_several_configs_lead_to_different_workers() -> None:
    """A worker of both has the LocalQueues of both."""
    there = manager(
        {"b": queue("second"), "a": queue("first")},
        {"ns/one": "a", "ns/two": "b"},
        checks={"first": check("c1"), "second": check("c2")},
        configs={"c1": config("w1", "w2"), "c2": config("w3", "w2")},
    )
    found = related(there, request(listed("b", "a")))
    assert found.workers == {"w1": {"ns/one"}, "w2": {"ns/one", "ns/two"}, "w3": {"ns/two"}}
    assert list(found.workers) == ["w1", "w2", "w3"]
    assert found.queues == ("a", "b")


def test_a_stopped_local_queue_of_the_manager_counts() -> None:
    """What workers have is the same."""
    there = manager({"a": queue("mk")}, {"ns/one": LocalQueue("a", is_stopped=True)})
    assert related(there, request(listed("a"))).workers["worker1"] == {"ns/one"}


def test_workers_are_sorted() -> None:
    names = [f"w{number:02}" for number in range(20)]
    there = manager({"a": queue("mk")}, configs={"config": config(*reversed(names))})
    assert list(related(there, request(listed("a"))).workers) == names


def test_workers_to_which_no_local_queue_leads_are_told_too() -> None:
    found = related(manager({"a": queue("mk")}), request(listed("a")))
    assert found.workers == {"worker1": frozenset(), "worker2": frozenset()}


@pytest.mark.parametrize(
    ("on_flavors", "leads"), [((), True), (("gpu",), True), (("cpu", "gpu"), True), (("cpu",), False)]
)
def test_a_check_counts_where_it_applies_to_a_flavor_of_the_provider(on_flavors: tuple[str, ...], leads: bool) -> None:
    queues = {"a": queue(("mk", on_flavors), parent="all"), "b": queue("mk", parent="all")}
    found = related(manager(queues, {"ns/one": "a"}, cohorts={"all": ""}), request(below("Cohort", "all")))
    assert found.queues == (("a", "b") if leads else ("b",))
    assert found.workers["worker1"] == ({"ns/one"} if leads else set())


def test_checks_of_other_controllers_lead_nowhere() -> None:
    checks = {"mk": check(), "other": check("elsewhere", controller="example.com/budget")}
    there = manager({"a": queue("other", "mk")}, checks=checks)
    assert list(related(there, request(listed("a"))).workers) == ["worker1", "worker2"]


def test_workers_of_two_checks_are_those_of_both() -> None:
    there = manager(
        {"a": queue(("first", ("gpu",)), ("second", ("cpu",)))},
        checks={"first": check("c1"), "second": check("c2")},
        configs={"c1": config("w1"), "c2": config("w2")},
    )
    assert list(related(there, request(listed("a"))).workers) == ["w1"]
    assert list(related(there, request(listed("a"), flavors=("gpu", "cpu"))).workers) == ["w1", "w2"]


# --- which queues --------------------------------------------------------------------------------------------------

TREE = {
    "a": queue("mk", parent="team"),
    "b": queue("mk", parent="team-1"),
    "c": queue("mk", parent="other"),
    "d": queue("mk"),
    "f": queue("mk", parent="implicit"),
    "e": queue("mk", parent="implicit"),
}
COHORTS = {"team": "all", "team-1": "team", "other": "all", "all": ""}


@pytest.mark.parametrize(
    ("kind", "name", "queues"),
    [
        ("Cohort", "all", "abc"),
        ("Cohort", "team", "ab"),
        ("Cohort", "team-1", "b"),
        ("ClusterQueue", "b", "b"),
        ("ClusterQueue", "d", "d"),
    ],
)
def test_a_subtree_is_its_root_and_all_below(kind: str, name: str, queues: str) -> None:
    assert related(manager(TREE, cohorts=COHORTS), request(below(kind, name))).queues == tuple(queues)


@pytest.mark.parametrize("root", ["x", "y"])
def test_a_ring_of_cohorts_ends(root: str) -> None:
    """Kueue admits nothing there, but the subtree is what it is."""
    there = manager({"a": queue("mk", parent="x"), "b": queue("mk", parent="y")}, cohorts={"x": "y", "y": "x"})
    assert related(there, request(below("Cohort", root))).queues == ("a", "b")


def test_queues_of_a_subtree_without_multikueue_are_passed_over() -> None:
    queues = {"a": queue("mk", parent="all"), "b": queue(parent="all"), "c": queue("budget", parent="all")}
    there = manager(queues, cohorts={"all": ""}, checks={"mk": check(), "budget": check(controller="example.com/x")})
    assert related(there, request(below("Cohort", "all"))).queues == ("a",)


@given(
    parents=st.dictionaries(st.sampled_from("uvwxyz"), st.sampled_from(["", *"uvwxyz"]), min_size=1),
    queues=st.lists(st.sampled_from(["", *"uvwxyz"]), max_size=8),
)
def test_a_queue_is_in_a_subtree_if_the_way_up_leads_to_the_root(parents: dict[str, str], queues: list[str]) -> None:
    """Whatever the tree, rings and Cohorts without objects included."""
    there = manager({str(n): queue("mk", parent=parent) for n, parent in enumerate(queues)}, cohorts=parents)
    for root in parents:
        expected = tuple(str(n) for n, parent in enumerate(queues) if root in way_up(parent, parents))
        if expected:
            assert related(there, request(below("Cohort", root))).queues == expected
        else:
            assert "no ClusterQueue of Cohort/" in refused(there, below("Cohort", root))


def way_up(parent: str, parents: Mapping[str, str]) -> list[str]:
    way: list[str] = []
    while parent and parent not in way:
        way.append(parent)
        parent = parents.get(parent, "")
    return way


# --- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (
            below("Cohort", "implicit"),
            (
                "spec.managerQueues.subtree.name: Cohort 'implicit' does not exist as an object; ClusterQueue e, f "
                "only names it: create the object, or name another root"
            ),
        ),
        (
            below("Cohort", "none"),
            "spec.managerQueues.subtree.name: Cohort 'none' does not exist: create the object, or name another root",
        ),
        (
            below("ClusterQueue", "none"),
            "spec.managerQueues.subtree: ClusterQueue 'none' does not exist: create it, or name another root",
        ),
        (
            below("LocalQueue", "a"),
            "spec.managerQueues.subtree.kind: 'LocalQueue' is neither ClusterQueue nor Cohort",
        ),
        (
            listed("a", "none", "d"),
            (
                "spec.managerQueues.clusterQueues[1]: ClusterQueue 'none' does not exist: create it, or take it out of "
                "the list"
            ),
        ),
    ],
)
def test_what_does_not_exist_is_named(asked: Spec, text: str) -> None:
    assert refused(manager(TREE, cohorts=COHORTS), asked) == text


def test_listed_queues_without_multikueue_are_named() -> None:
    queues = {"a": queue("mk"), "b": queue(), "c": queue(("mk", ("cpu",)))}
    assert refused(manager(queues), listed("a", "b", "c")) == (
        "spec.managerQueues.clusterQueues: ClusterQueue b, c have no AdmissionCheck of kueue.x-k8s.io/multikueue for "
        "gpu: add one to spec.admissionChecksStrategy.admissionChecks there, or take it out of the list"
    )


def test_a_subtree_without_multikueue_is_refused() -> None:
    there = manager({"a": queue(parent="all"), "b": queue(parent="all")}, cohorts={"all": "", "empty": ""})
    assert "no ClusterQueue of Cohort/all (2 ClusterQueues: a, b) has an AdmissionCheck of kueue.x-k8s.io/" in refused(
        there, below("Cohort", "all")
    )
    assert "no ClusterQueue of Cohort/empty (0 ClusterQueues) has" in refused(there, below("Cohort", "empty"))


USED = "(spec.admissionChecksStrategy.admissionChecks of ClusterQueue a, b)"


@pytest.mark.parametrize(
    ("checks", "configs", "text"),
    [
        ({}, None, "does not exist: create it, or take it out there"),
        ({"mk": Unreadable("x: is y")}, None, "cannot be used (x: is y): correct it, or take it out there"),
        ({"mk": check(None)}, None, "has no spec.parameters: name a MultiKueueConfig there"),
        (
            {"mk": check(kind="ConfigMap", group="")},
            None,
            "has a 'ConfigMap' of group '' as spec.parameters: name a MultiKueueConfig of group kueue.x-k8s.io there",
        ),
        (
            {"mk": check(group="example.com")},
            None,
            (
                "has a 'MultiKueueConfig' of group 'example.com' as spec.parameters: name a MultiKueueConfig of group "
                "kueue.x-k8s.io there"
            ),
        ),
        (
            None,
            {},
            "has MultiKueueConfig 'config' as spec.parameters, which does not exist: create it, or name another one",
        ),
        (
            None,
            {"config": Unreadable("x: is y")},
            (
                "has MultiKueueConfig 'config' as spec.parameters, which cannot be used (x: is y): correct it, or name "
                "another one"
            ),
        ),
    ],
)
@pytest.mark.parametrize("asked", [listed("a", "b"), below("Cohort", "all")], ids=["listed", "subtree"])
def test_a_check_that_leads_to_no_config_is_told_once(
    asked: Spec, checks: dict[str, AdmissionCheck | Unreadable], configs: dict[str, MultiKueueConfig], text: str
) -> None:
    """Not also as a queue without MultiKueue."""
    queues = {"b": queue("mk", parent="all"), "a": queue("mk", parent="all")}
    there = manager(queues, cohorts={"all": ""}, checks=checks, configs=configs)
    assert refused(there, asked) == f"AdmissionCheck 'mk' {USED} {text}"


def test_a_missing_check_for_other_flavors_does_not_matter() -> None:
    there = manager({"a": queue("mk", ("none", ("cpu",)))})
    assert related(there, request(listed("a"))).queues == ("a",)


def test_what_cannot_be_read_is_not_taken_for_absent() -> None:
    """A queue or a Cohort of unknown parent may be below the root; a LocalQueue may lead to any queue."""
    bad = Unreadable("spec.cohortName: 5 is an integer")
    queues: dict[str, ManagerQueue | Unreadable] = {**TREE, "z": bad}
    cohorts: dict[str, str | Unreadable] = {**COHORTS, "zz": bad}
    text = refused(manager(queues, {"ns/q": bad}, cohorts=cohorts), below("Cohort", "team-1"))
    told = "(spec.cohortName: 5 is an integer) cannot be used, so that nobody knows"
    assert f"spec.managerQueues.subtree: ClusterQueue z {told} whether it belongs to the subtree: correct it" in text
    assert f"spec.managerQueues.subtree: Cohort zz {told} whether it belongs to the subtree: correct it" in text
    assert f"LocalQueue ns/q {told} which ClusterQueue it leads to: correct it" in text


def test_an_unreadable_queue_matters_only_where_it_is_meant() -> None:
    bad = Unreadable("x: is y")
    there = manager({"a": queue("mk"), "z": bad}, cohorts={"zz": bad})
    assert related(there, request(listed("a"))).queues == ("a",)
    assert related(there, request(below("ClusterQueue", "a"))).queues == ("a",)
    told = "ClusterQueue z cannot be used (x: is y): correct it, or"
    assert f"spec.managerQueues.clusterQueues[1]: {told} take it out of the list" in refused(there, listed("a", "z"))
    assert f"spec.managerQueues.subtree: {told} name another root" in refused(there, below("ClusterQueue", "z"))


def test_all_that_is_wrong_is_told_at_once() -> None:
    there = manager({"a": queue("none"), "b": queue("mk"), "c": queue()}, {"ns/q": Unreadable("x: is y")})
    text = refused(there, listed("a", "nowhere", "b", "c"), (provider("rival"), listed("b")))
    assert len(text.split("; ")) == 5
    for each in ("clusterQueues[1]", "AdmissionCheck 'none'", "ClusterQueue c has no", "rival", "LocalQueue ns/q"):
        assert each in text


def test_of_many_only_some_are_listed() -> None:
    """A fleet has thousands, and a message has an end."""
    there = manager({f"q{number:04}": queue("none") for number in range(5000)})
    text = refused(there, listed(*there.queues))
    assert "of ClusterQueue q0000, q0001, q0002, q0003, q0004 and 4995 more) does not exist" in text
    assert len(text) < 300


# --- others who count the same -------------------------------------------------------------------------------------


def test_a_queue_of_two_providers_of_a_flavor_counts_twice() -> None:
    there = manager(TREE, cohorts=COHORTS)
    rival = (provider("rival", ["cpu", "gpu"]), below("Cohort", "team"))
    assert refused(there, listed("a", "b", "d"), rival) == (
        "spec.managerQueues: ClusterQueue a, b is also CapacityProvider rival's (MultiKueueParameters "
        "rival-parameters), which has flavor gpu too, so that workers would count twice: name it in one of the two, "
        "let fleet or rival have other spec.orchestratedFlavors, or give both disjoint spec.resources"
    )


GPUS, NO_GPUS = ResourceSelection(include=("nvidia.com/gpu",)), ResourceSelection(exclude=("nvidia.com/gpu",))


@pytest.mark.parametrize(
    ("mine", "flavors", "theirs"),
    [
        (listed("a"), ("gpu",), listed("b")),
        (listed("a"), ("cpu",), listed("a")),
        (listed("a", resources=GPUS), ("gpu",), below("Cohort", "all", resources=ResourceSelection(include=("cpu",)))),
        (below("Cohort", "team"), ("gpu",), below("Cohort", "other")),
        (listed("e"), ("gpu",), below("Cohort", "implicit")),
        (listed("a"), ("gpu",), None),
    ],
    ids=["other queues", "other flavors", "other resources", "other subtrees", "no subtree", "unknown"],
)
def test_providers_that_count_something_else_are_none_of_its_business(
    mine: Spec, flavors: tuple[str, ...], theirs: Spec | None
) -> None:
    there = manager(TREE, cohorts=COHORTS)
    assert related(there, request(mine, (provider("rival", flavors), theirs))).queues


def test_all_but_some_resources_are_disjoint_from_those() -> None:
    there = manager({"a": queue("mk")})
    rival = (provider("rival"), listed("a", resources=NO_GPUS))
    assert related(there, request(listed("a", resources=GPUS), rival)).queues == ("a",)
    assert "rival" in refused(there, listed("a", resources=NO_GPUS), rival)


def test_a_queue_that_sends_no_workloads_of_the_shared_flavor_does_not_count_twice() -> None:
    """The check applies to a flavor that only one of the two has."""
    there = manager({"a": queue(("mk", ("gpu",)))})
    rival = (provider("rival", ["cpu"]), listed("a"))
    assert related(there, request(listed("a"), rival, flavors=("gpu", "cpu"))).queues == ("a",)
    rival = (provider("rival", ["gpu"]), listed("a"))
    assert "rival" in refused(there, listed("a"), rival, flavors=("gpu", "cpu"))


def test_what_is_wrong_with_another_providers_parameters_is_not_told_here() -> None:
    there = manager({"a": queue("mk"), "b": queue("mk")})
    rival = (provider("rival"), listed("b", "nowhere"))
    assert related(there, request(listed("a"), rival)).queues == ("a",)
    assert "nowhere" not in refused(there, listed("b"), rival)
