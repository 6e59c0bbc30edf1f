"""Distribution: how units of capacity are split over the members of a subtree."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from orchestrator.compute import Outcome
from orchestrator.distribution import split
from orchestrator.members import Member
from tests.unit.orchestrator.builders import (
    CPU,
    GPU,
    MEMORY,
    Amounts,
    Flavors,
    Written,
    cohort,
    cohort_key,
    orchestrator,
    provider,
    queue,
    queue_key,
    settled,
    shares,
)


def _distributed(
    members: Sequence[Member], capacity: Amounts, *, orchestrates: Sequence[str] | None = None
) -> dict[str, dict[str, str]]:
    """What the Cohort `root` and all below it get of the capacity."""
    return shares(_outcome(members, capacity, orchestrates))


def _outcome(members: Sequence[Member], capacity: Amounts, orchestrates: Sequence[str] | None = None) -> Outcome:
    reporting = provider("capacity", capacity, orchestrates=orchestrates)
    return settled([orchestrator("dqo", "capacity", root=cohort_key("root"))], [reporting], members)["dqo"]


# --- one pool ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("resource", "capacity", "nominal", "wanted"),
    [
        pytest.param(CPU, 48, {"a": 10, "b": 20}, {"a": "16", "b": "32"}, id="in proportion to nominal quotas"),
        pytest.param(CPU, 6, {"a": 10, "b": 20}, {"a": "2", "b": "4"}, id="less capacity than was declared"),
        pytest.param(GPU, 10, {"a": 5, "b": 5, "c": 5}, {"a": "4", "b": "3", "c": "3"}, id="ties to the smaller UID"),
        pytest.param(GPU, 11, {"a": 5, "b": 5, "c": 5}, {"a": "4", "b": "4", "c": "3"}, id="two units left over"),
        pytest.param(GPU, 2, {"a": 5, "b": 5, "c": 5}, {"a": "1", "b": "1", "c": "0"}, id="fewer units than members"),
        pytest.param(
            CPU, 1, {"a": 1, "b": 1, "c": 1}, {"a": "334m", "b": "333m", "c": "333m"}, id="cpu is split in millis"
        ),
        pytest.param(MEMORY, 1, {"a": 1, "b": 1, "c": 1}, {"a": "1", "b": "0", "c": "0"}, id="memory is not"),
        pytest.param("example.com/cpu", 1, {"a": 1, "b": 1}, {"a": "1", "b": "0"}, id="another cpu is not"),
        pytest.param(GPU, 10, {"a": 1, "b": 2}, {"a": "3", "b": "7"}, id="the larger remainder beats the UID"),
        pytest.param(
            GPU,
            10,
            {"a": 20, "b": 35, "c": 45},
            {"a": "2", "b": "4", "c": "4"},
            id="of two equal remainders the smaller UID",
        ),
        pytest.param(GPU, 7, {"a": 1, "b": 3, "c": 3}, {"a": "1", "b": "3", "c": "3"}, id="nothing left over"),
        pytest.param(
            GPU,
            10,
            {"a": 0, "b": 5, "c": 5, "d": 5},
            {"a": "0", "b": "4", "c": "3", "d": "3"},
            id="a nominal quota of 0 gets no unit that is left over, whatever its UID",
        ),
        pytest.param(GPU, 10, {"a": 0, "b": 5}, {"a": "0", "b": "10"}, id="one nominal quota alone takes all"),
        pytest.param(GPU, 10, {"a": 0, "b": 0}, {"a": "0", "b": "0"}, id="where every nominal quota is 0 all get 0"),
        pytest.param(GPU, 0, {"a": 1, "b": 2}, {"a": "0", "b": "0"}, id="a capacity of 0"),
        pytest.param(GPU, "9500m", {"a": 1, "b": 1}, {"a": "5", "b": "4"}, id="half a GPU is not split"),
        pytest.param(CPU, "9500500u", {"a": 1}, {"a": "9500m"}, id="half a milli of cpu is not split"),
        pytest.param(GPU, 8, {"a": "500m", "b": "1500m"}, {"a": "2", "b": "6"}, id="nominal quotas with fractions"),
        pytest.param(GPU, 3, {"a": "1n", "b": "2n"}, {"a": "1", "b": "2"}, id="nominal quotas of nanos"),
        pytest.param(
            GPU,
            1,
            {"a": "999999999n", "b": "1000000001n"},
            {"a": "0", "b": "1"},
            id="two nanos more is a larger remainder",
        ),
        pytest.param(
            MEMORY,
            2**53 + 1,
            {"a": "1Gi", "b": "1Gi"},
            {"a": "4503599627370497", "b": "4Pi"},
            id="beyond a float",
        ),
        pytest.param(
            MEMORY,
            2**63 - 1,
            {"a": 2**62, "b": 2**62, "c": 2**62},
            {"a": "3074457345618258603", "b": "3074457345618258602", "c": "3074457345618258602"},
            id="at the largest numbers",
        ),
    ],
)
def test_capacity_is_split_over_queues(
    resource: str, capacity: Written, nominal: dict[str, Written], wanted: dict[str, str]
) -> None:
    """Queues of one cohort, with their names as UIDs, in every order of the objects."""
    queues = [queue(name, {"f": {resource: each}}, parent="root") for name, each in nominal.items()]
    expected = {name: {f"f/{resource}": each} for name, each in wanted.items()}
    for order in itertools.permutations(queues):
        assert _distributed([*order, cohort("root")], {"f": {resource: capacity}}) == expected | {"root": {}}


@pytest.mark.parametrize(
    ("uids", "winner"),
    [
        pytest.param({"a": "3", "b": "1", "c": "2"}, "b", id="the UID counts and not the name"),
        pytest.param({"a": "b", "b": "c", "c": "B"}, "c", id="UIDs are compared by their characters"),
        pytest.param({"a": "10", "b": "9", "c": "90"}, "a", id="UIDs are no numbers"),
        pytest.param({"a": "", "b": "", "c": ""}, "a", id="without UIDs the name counts"),
    ],
)
def test_the_unit_left_over_goes_to_the_smaller_uid(uids: dict[str, str], winner: str) -> None:
    """Ten GPUs over three equal queues."""
    queues = [queue(name, {"f": {GPU: 5}}, parent="root", uid=uid) for name, uid in uids.items()]
    for order in itertools.permutations(queues):
        got = _distributed([cohort("root", uid="~"), *order], {"f": {GPU: 10}})
        assert {name for name in uids if got[name] == {f"f/{GPU}": "4"}} == {winner}


def test_queues_and_cohorts_share_ties_by_uid() -> None:
    """The kind of an object makes no difference while UIDs differ."""
    members = [cohort("root", {"f": {GPU: 1}}, uid="1"), queue("a", {"f": {GPU: 1}}, parent="root", uid="0")]
    assert _distributed(members, {"f": {GPU: 1}}) == {"a": {f"f/{GPU}": "1"}, "root": {f"f/{GPU}": "0"}}
    members = [cohort("root", {"f": {GPU: 1}}, uid="0"), queue("a", {"f": {GPU: 1}}, parent="root", uid="1")]
    assert _distributed(members, {"f": {GPU: 1}}) == {"a": {f"f/{GPU}": "0"}, "root": {f"f/{GPU}": "1"}}


# --- who takes part ------------------------------------------------------------------------------------------------


def test_every_level_of_the_subtree_shares_one_pool() -> None:
    """A cohort's share is its own: it is neither split again among its children nor made smaller by theirs."""
    members = [
        cohort("root", {"f": {CPU: 10}}),
        queue("top", {"f": {CPU: 10}}, parent="root"),
        cohort("middle", {"f": {CPU: 20}}, parent="root"),
        queue("low", {"f": {CPU: 30}}, parent="middle"),
        cohort("bottom", parent="middle"),
        queue("lowest", {"f": {CPU: 30}}, parent="bottom"),
    ]
    assert _distributed(members, {"f": {CPU: 200}}) == {
        "root": {"f/cpu": "20"},
        "top": {"f/cpu": "20"},
        "middle": {"f/cpu": "40"},
        "low": {"f/cpu": "60"},
        "bottom": {},
        "lowest": {"f/cpu": "60"},
    }


def test_only_the_subtree_takes_part() -> None:
    """Neither what is above the root, nor beside it, nor in another tree."""
    members = [
        cohort("top", {"f": {CPU: 100}}),
        queue("beside", {"f": {CPU: 100}}, parent="top"),
        cohort("root", parent="top"),
        queue("inside", {"f": {CPU: 1}}, parent="root"),
        queue("elsewhere", {"f": {CPU: 100}}),
    ]
    assert _distributed(members, {"f": {CPU: 8}}) == {"root": {}, "inside": {"f/cpu": "8"}}


def test_a_cluster_queue_can_be_the_root() -> None:
    """It gets everything, and its cohort nothing."""
    members = [cohort("team", {"f": {CPU: 5}}), queue("only", {"f": {CPU: 5}}, parent="team")]
    outcome = settled(
        [orchestrator("dqo", "capacity", root=queue_key("only"))], [provider("capacity", {"f": {CPU: 8}})], members
    )
    assert shares(outcome["dqo"]) == {"only": {"f/cpu": "8"}}


def test_only_those_who_list_a_pair_share_it() -> None:
    """Each pair is a pool of its own: the same resource in another flavor is another pair."""
    members = [
        cohort("root"),
        queue("a", {"f": {CPU: 1, MEMORY: 1}, "g": {CPU: 3, MEMORY: 1}}, parent="root"),
        queue("b", {"f": {CPU: 1}, "g": {CPU: 1}}, parent="root"),
        queue("c", {"g": {CPU: 4}}, parent="root"),
    ]
    capacity = {"f": {CPU: 10, MEMORY: 100}, "g": {CPU: 80, MEMORY: 7}}
    assert _distributed(members, capacity) == {
        "root": {},
        "a": {"f/cpu": "5", "f/memory": "100", "g/cpu": "30", "g/memory": "7"},
        "b": {"f/cpu": "5", "g/cpu": "10"},
        "c": {"g/cpu": "40"},
    }


def test_pairs_are_found_in_every_resource_group() -> None:
    """Members may arrange the same pairs in different groups and orders."""
    members = [
        cohort("root", {"f": {MEMORY: 1, CPU: 1}}, {"g": {GPU: 1}}),
        queue("a", {"g": {GPU: 3}}, {"f": {CPU: 3, MEMORY: 3}}, parent="root"),
    ]
    assert _distributed(members, {"f": {CPU: 4, MEMORY: 8}, "g": {GPU: 12}}) == {
        "root": {"f/memory": "2", "f/cpu": "1", f"g/{GPU}": "3"},
        "a": {f"g/{GPU}": "9", "f/cpu": "3", "f/memory": "6"},
    }


def test_the_order_of_uids_holds_for_every_pair() -> None:
    """A member that lists only the later pair does not shift the shares of the others."""
    members = [
        cohort("root"),
        queue("a", {"f": {MEMORY: 1}}, parent="root"),
        queue("b", {"f": {CPU: 1, MEMORY: 2}}, parent="root"),
        queue("c", {"f": {CPU: 3, MEMORY: 3}}, parent="root"),
    ]
    assert _distributed(members, {"f": {CPU: 4, MEMORY: 6}}) == {
        "root": {},
        "a": {"f/memory": "1"},
        "b": {"f/cpu": "1", "f/memory": "2"},
        "c": {"f/cpu": "3", "f/memory": "3"},
    }


@pytest.mark.parametrize(
    ("capacity", "orchestrates", "wanted"),
    [
        pytest.param({"f": {CPU: 8}}, ["f"], {"f/cpu": "8", "f/memory": "0", "g/cpu": "7"}, id="a resource of it"),
        pytest.param({}, ["f"], {"f/cpu": "0", "f/memory": "0", "g/cpu": "7"}, id="all of it"),
        pytest.param({"g": {CPU: 50}}, ["f"], {"f/cpu": "0", "f/memory": "0", "g/cpu": "7"}, id="but another flavor"),
        pytest.param({"f": {GPU: 50}}, ["f"], {"f/cpu": "0", "f/memory": "0", "g/cpu": "7"}, id="but another resource"),
        pytest.param(
            {"f": {CPU: 8, MEMORY: 9}, "g": {CPU: 50}},
            ["f", "g"],
            {"f/cpu": "8", "f/memory": "9", "g/cpu": "50"},
            id="nothing",
        ),
    ],
)
def test_what_an_orchestrated_flavor_does_not_report_becomes_zero_and_other_flavors_keep_their_quota(
    capacity: Amounts, orchestrates: Sequence[str], wanted: dict[str, str]
) -> None:
    """What is not reported of the flavor f, with a flavor g beside it."""
    declared: Flavors = {"f": {CPU: 5, MEMORY: 6}, "g": {CPU: 7}}
    members = [cohort("root"), queue("a", declared, parent="root")]
    assert _distributed(members, capacity, orchestrates=orchestrates) == {"root": {}, "a": wanted}


def test_capacity_that_nobody_lists_goes_to_nobody() -> None:
    """No pair appears that a member has not declared."""
    members = [cohort("root"), queue("a", {"f": {CPU: 5}}, parent="root")]
    capacity = {"f": {CPU: 8, MEMORY: 100}, "g": {CPU: 100}}
    assert _distributed(members, capacity) == {"root": {}, "a": {"f/cpu": "8"}}


# --- the bare split ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("capacity", "weights", "wanted"),
    [
        pytest.param(5, [], [], id="nobody"),
        pytest.param(5, [3], [5], id="one alone"),
        pytest.param(5, [0, 0], [0, 0], id="weights of 0"),
        pytest.param(0, [1, 2], [0, 0], id="nothing to split"),
        pytest.param(10, [1, 1, 1], [4, 3, 3], id="ties to the earlier position"),
        pytest.param(10, [2, 1], [7, 3], id="the larger remainder first"),
        pytest.param(10, [1, 2], [3, 7], id="the larger remainder last"),
        pytest.param(3, [0, 1, 1], [0, 2, 1], id="a weight of 0 gets nothing that is left over"),
        pytest.param(
            11, [1, 4, 4, 4], [1, 4, 3, 3], id="one remainder above the others, then the earlier of equal ones"
        ),
        pytest.param(2, [1, 1, 3, 1, 1], [1, 0, 1, 0, 0], id="a share below one unit each"),
    ],
)
def test_units_are_split(capacity: int, weights: list[int], wanted: list[int]) -> None:
    """Rounded down, then one unit each to the largest remainders."""
    assert split(capacity, weights) == wanted
