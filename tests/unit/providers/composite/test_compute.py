"""What becomes of several capacities: which members count, how their amounts are combined, what is refused."""

from __future__ import annotations

from typing import cast

import pytest

from kueue_dqo.api import dqo
from kueue_dqo.api.parameters import Combine, OnMemberNotReady, ResourceSelection
from kueue_dqo.provider import Environment, InvalidCapacity, Misconfigured, SourceUnavailable, WithoutParameters
from kueue_dqo.runtime.resources import COMPOSITE_PARAMETERS
from providers.amounts import FLAVOR_WITHOUT_AMOUNTS
from providers.composite.compute import LONGEST_CAUSE, MEMBERS_SKIPPED, observe
from providers.composite.source import CONTROLLER
from tests.unit.providers.composite.questions import (
    GPU,
    amounts_of,
    failed,
    parameters,
    provider,
    ready,
    request,
)

SKIP = OnMemberNotReady.SKIP

# --- amounts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("combine", "gpus"), [(Combine.MIN, "72"), (Combine.MAX, "80"), (Combine.SUM, "152")])
def test_amounts_of_a_pair_are_combined(combine: Combine, gpus: str) -> None:
    """As the parameters say."""
    nodes, health = provider("nodes", {"h100": {GPU: "80"}}), provider("gpu-health", {"h100": {GPU: "72"}})
    found = observe(request(parameters(["nodes", "gpu-health"], combine), nodes, health))
    assert amounts_of(found) == {"h100": {GPU: gpus}}


@pytest.mark.parametrize("combine", Combine)
def test_a_member_that_does_not_report_a_pair_has_no_say_in_it(combine: Combine) -> None:
    """It is no zero; and what nobody reports is absent."""
    nodes = provider("nodes", {"h100": {"cpu": "96", GPU: "80"}, "a100": {}})
    health = provider("gpu-health", {"h100": {}, "b200": {GPU: "8"}})
    found = observe(
        request(parameters(["nodes", "gpu-health"], combine), nodes, health, flavors=["h100", "b200", "a100"])
    )
    assert amounts_of(found) == {"h100": {"cpu": "96", GPU: "80"}, "b200": {GPU: "8"}}
    assert found.summary.endswith("; a100: nothing")


def test_a_zero_is_a_report() -> None:
    """The least there is."""
    members = provider("a", {"h100": {GPU: "80"}}), provider("b", {"h100": {GPU: "0"}})
    assert amounts_of(observe(request(parameters("ab"), *members))) == {"h100": {GPU: "0"}}


def test_sums_are_exact_and_written_as_their_members_write() -> None:
    """To a nano, beyond what a float holds; binary where one of them is."""
    first = provider("a", {"h100": {"cpu": "9007199254740993", "memory": "1Gi", "x": "1n"}})
    second = provider("b", {"h100": {"cpu": "500m", "memory": "1073741824", "x": "1n"}})
    found = observe(request(parameters("ab", Combine.SUM), first, second))
    assert amounts_of(found) == {"h100": {"cpu": "9007199254740993500m", "memory": "2Gi", "x": "2n"}}


@pytest.mark.parametrize("combine", Combine)
def test_flavors_that_either_side_does_not_orchestrate_are_left_out(combine: Combine) -> None:
    """A member's, as every reader of its status does, and the composite's own."""
    member = provider("a", {"h100": {GPU: "8"}, "a100": {GPU: "4"}, "l4": {GPU: "2"}}, flavors=["h100", "l4"])
    found = observe(request(parameters("a", combine), member, flavors=["h100", "a100"]))
    assert amounts_of(found) == {"h100": {GPU: "8"}}


def test_flavors_come_in_the_order_of_the_composite_and_resources_by_name() -> None:
    """So that the same capacity is always the same text."""
    member = provider("a", {"h100": {GPU: "8", "cpu": "1"}, "a100": {GPU: "4"}})
    found = observe(request(parameters("a"), member, flavors=["a100", "h100"]))
    assert [flavor.name for flavor in found.capacity.flavors] == ["a100", "h100"]
    assert list(found.capacity.flavors[1].resources) == ["cpu", GPU]


@pytest.mark.parametrize("combine", [Combine.MIN, Combine.MAX])
def test_a_resource_that_is_not_selected_does_no_harm(combine: Combine) -> None:
    """Not even an impossible amount of it."""
    member = provider("a", {"h100": {GPU: "8", "memory": "-1"}})
    selection = ResourceSelection(exclude=("memory",))
    found = observe(request(parameters("a", combine, resources=selection), member))
    assert amounts_of(found) == {"h100": {GPU: "8"}}


LARGEST = "9223372036854775807"


def test_a_sum_beyond_the_largest_quantity_is_invalid() -> None:
    """The largest itself is not; the pair and the members are named."""
    members = provider("a", {"h100": {"memory": LARGEST}}), provider("b", {"h100": {"memory": "1n"}})
    assert amounts_of(observe(request(parameters("a", Combine.SUM), members[0]))) == {"h100": {"memory": LARGEST}}
    with pytest.raises(InvalidCapacity) as refusal:
        observe(request(parameters("ab", Combine.SUM), *members))
    for word in ("a, b", "h100/memory", LARGEST):
        assert word in str(refusal.value)


@pytest.mark.parametrize("combine", Combine)
def test_a_negative_amount_of_a_member_is_invalid(combine: Combine) -> None:
    """Also where another member's amount would hide it."""
    members = provider("a", {"h100": {GPU: "80"}}), provider("b", {"h100": {GPU: "-1"}})
    with pytest.raises(InvalidCapacity, match=f"CapacityProvider b reports a negative capacity of -1 for h100/{GPU}"):
        observe(request(parameters("ab", combine), *members))


def test_the_summary_names_the_members_and_the_amounts() -> None:
    """In the order of the parameters."""
    members = provider("gpu-health", {"h100": {GPU: "72"}}), provider("node-inventory", {"h100": {GPU: "80"}})
    found = observe(request(parameters(["node-inventory", "gpu-health"]), *members))
    assert found.summary == f"Min of node-inventory and gpu-health; h100: 72 {GPU}"
    assert found.look_again is None
    assert found.notices == ()


# --- members that are not ready --------------------------------------------------------------------------------------

UNREADY = [
    pytest.param(
        provider("b", {"h100": {GPU: "1"}}, condition=failed()),
        "SourceUnavailable",
        ["b is not ready", "SourceUnavailable", "since 2026-11-30T10:00:00Z", "connection refused"],
        id="False",
    ),
    pytest.param(
        provider("b", {"h100": {GPU: "1"}}, condition=failed(reason="")), "NotReady", ["b is not ready"], id="no reason"
    ),
    pytest.param(
        provider("b", {"h100": {GPU: "1"}}, condition=ready(observed=7)),
        "Stale",
        ["b is stale", "generation 7", "generation 1"],
        id="another generation",
    ),
    pytest.param(
        provider("b", {"h100": {GPU: "1"}}, reported=False), "NotReported", ["b has no", "example.com/source"], id="new"
    ),
    pytest.param(
        provider("b", {"h100": {GPU: "1"}}, deleting=True),
        "Deleting",
        ["b is being deleted since 2026-11-30T11:00:00Z"],
        id="being deleted",
    ),
]


@pytest.mark.parametrize(("member", "reason", "told"), UNREADY)
def test_a_member_that_is_not_ready_makes_the_source_unavailable(
    member: dqo.CapacityProvider, reason: str, told: list[str]
) -> None:
    """The message names the member, why, since when, and the way out."""
    del reason
    with pytest.raises(SourceUnavailable) as refusal:
        observe(request(parameters("ab"), provider("a", {"h100": {GPU: "8"}}), member))
    for word in [*told, "onMemberNotReady: Skip in CompositeParameters both-parameters"]:
        assert word in str(refusal.value)


@pytest.mark.parametrize(("member", "reason", "told"), UNREADY)
def test_a_member_that_is_not_ready_may_be_skipped(member: dqo.CapacityProvider, reason: str, told: list[str]) -> None:
    """The summary and an Event name it and why, in words that stay the same while its message changes."""
    del told
    found = observe(request(parameters("ab", on_member_not_ready=SKIP), provider("a", {"h100": {GPU: "8"}}), member))
    assert amounts_of(found) == {"h100": {GPU: "8"}}
    assert found.summary == f"Min of a; h100: 8 {GPU}; skipped: b ({reason})"
    (notice,) = found.notices
    assert notice.reason == MEMBERS_SKIPPED
    assert f"b ({reason})" in notice.message
    assert notice.message.endswith("see that member's condition")


def test_where_all_members_would_be_skipped_the_source_is_unavailable() -> None:
    """Nothing is known, which is no zero."""
    members = [provider(name, {"h100": {GPU: "8"}}, condition=failed()) for name in "ab"]
    with pytest.raises(SourceUnavailable, match=r"no member is ready: CapacityProvider a .*; CapacityProvider b "):
        observe(request(parameters("ab", on_member_not_ready=SKIP), *members))


def test_what_a_member_says_is_shortened() -> None:
    """Composites of composites hand on each other's messages."""
    long = provider("b", condition=failed(message="x" * 10_000))
    with pytest.raises(SourceUnavailable) as refusal:
        observe(request(parameters("ab"), provider("a"), long))
    assert LONGEST_CAUSE < len(str(refusal.value)) < LONGEST_CAUSE + 150
    assert "since 2026-11-30T10:00:00Z: xxx" in str(refusal.value)
    assert "…" in str(refusal.value)


# --- flavors that nobody reports -----------------------------------------------------------------------------------


def test_a_flavor_that_no_member_reports_is_told_by_an_event() -> None:
    """Its quotas become 0, which is seldom meant."""
    nodes, health = provider("nodes", {"h100": {GPU: "8"}}), provider("gpu-health", {"h100": {GPU: "8"}, "l4": {}})
    found = observe(request(parameters(["nodes", "gpu-health"]), nodes, health, flavors=["h100", "a100", "l4"]))
    assert found.summary == f"Min of nodes and gpu-health; h100: 8 {GPU}; a100: nothing; l4: nothing"
    (notice,) = found.notices
    assert notice.reason == FLAVOR_WITHOUT_AMOUNTS
    assert notice.is_warning
    assert notice.message.startswith("nodes and gpu-health report nothing of a100, l4, so its quotas become 0: let a ")


def test_a_flavor_of_which_nothing_is_selected_is_told_by_an_event_too() -> None:
    """Beside members that are skipped; a zero is a report."""
    asked = parameters("ab", on_member_not_ready=SKIP, resources=ResourceSelection(include=(GPU,)))
    member = provider("a", {"h100": {"cpu": "8"}, "a100": {GPU: "0"}})
    found = observe(request(asked, member, provider("b", condition=failed()), flavors=["h100", "a100"]))
    skipped, bare = found.notices
    assert skipped.reason == MEMBERS_SKIPPED
    assert bare.reason == FLAVOR_WITHOUT_AMOUNTS
    assert bare.message.startswith("a reports nothing of h100 that spec.resources lets through, so ")


# --- mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ("", ["spec.members", "is empty"]),
        ("aba", ["spec.members[2].name", "a is listed more than once"]),
        ("ax", ["spec.members[1].name", "CapacityProvider x does not exist"]),
        ("xyy", ["CapacityProvider x", "CapacityProvider y", "y is listed more than once"]),
    ],
)
@pytest.mark.parametrize("on_member_not_ready", OnMemberNotReady)
def test_a_mistake_in_the_list_of_members_is_told(
    members: str, told: list[str], on_member_not_ready: OnMemberNotReady
) -> None:
    """A missing member is a mistake, not one to skip; and it is told first, whatever the members' state."""
    listed = provider("a", condition=failed()), provider("b")
    with pytest.raises(Misconfigured) as refusal:
        observe(request(parameters(members, on_member_not_ready=on_member_not_ready), *listed))
    for word in ["CompositeParameters both-parameters", *told]:
        assert word in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "ring"), [("a", "a → b → c → a"), ("b", "b → c → a → b"), ("c", "c → a → b → c"), ("d", "d → d")]
)
def test_every_composite_on_a_ring_is_misconfigured(name: str, ring: str) -> None:
    """Each names the ring from itself on; that its members are not ready is not the cause."""
    graph = {"a": "b", "b": "c", "c": "a", "d": "d"}
    peers = {each: parameters(members) for each, members in graph.items() if each != name}
    with pytest.raises(Misconfigured, match=f"spec.members: {ring} is a ring"):
        observe(request(parameters(graph[name]), name=name, peers=peers))


def test_a_composite_that_merely_leads_to_a_ring_is_not_on_it() -> None:
    """It says that its member is not ready, or does without."""
    peers = {"b": parameters("c"), "c": parameters("b")}
    with pytest.raises(SourceUnavailable, match="CapacityProvider b has no CapacitySynchronized condition"):
        observe(request(parameters("b"), name="a", peers=peers))
    asked = parameters(["b", "nodes"], on_member_not_ready=SKIP)
    found = observe(request(asked, provider("nodes", {"h100": {GPU: "8"}}), name="a", peers=peers))
    assert amounts_of(found) == {"h100": {GPU: "8"}}


def test_a_composite_of_a_composite_is_no_ring() -> None:
    """Also where that one's parameters cannot be read."""
    inner = provider("inner", {"h100": {GPU: "8"}})
    for theirs in (parameters(["nodes"]), None):
        found = observe(request(parameters(["inner"]), inner, provider("nodes"), peers={"inner": theirs}))
        assert amounts_of(found) == {"h100": {GPU: "8"}}


# --- the controller ------------------------------------------------------------------------------------------------


async def test_the_source_answers_what_is_computed() -> None:
    """It watches nothing of its own, so there is nothing to run."""
    source = CONTROLLER.open(cast("Environment", None))
    await source.run()
    asked = request(parameters("a"), provider("a", {"h100": {GPU: "8"}}))
    assert await source.observe(asked) == observe(asked)
    with pytest.raises(Misconfigured):
        await source.observe(request(parameters("a")))


def test_a_composite_needs_parameters_and_is_asked_anew_when_any_provider_changes() -> None:
    """Without members there is nothing to combine."""
    assert CONTROLLER.name == "kueue-dqo.dev/composite"
    assert CONTROLLER.without_parameters is WithoutParameters.MISCONFIGURED
    assert CONTROLLER.parameters is not None
    assert CONTROLLER.parameters.resource is COMPOSITE_PARAMETERS
    assert CONTROLLER.reads_providers
