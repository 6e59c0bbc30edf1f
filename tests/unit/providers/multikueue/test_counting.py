"""Which queues of a worker are related, and what they have."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kueue_dqo.api.multikueue import Counts, InactiveQueues
from kueue_dqo.api.quantity import LARGEST_UNITS
from kueue_dqo.api.quotas import quotas_by_pair
from providers.multikueue.counting import count
from providers.multikueue.objects import LocalQueue, Unreadable, WorkerCount, WorkerView
from tests.unit.providers.multikueue.views import GPU, cohort, keys, parameters, problem, queue, texts, view

EVERY_WAY = pytest.mark.parametrize("counts", [Counts.QUOTA_IN_FORCE, Counts.QUOTA_AND_BORROWABLE])
BROKEN = Unreadable("spec.resourceGroups: a list is wanted")


# --- which queues --------------------------------------------------------------------------------------------------


@EVERY_WAY
def test_queues_that_local_queues_of_the_same_name_lead_to_are_added_up(counts: Counts) -> None:
    """6 and 7 cpu are 13."""
    worker = view({"one": queue(default={"cpu": "6"}), "two": queue(default={"cpu": "7"})})
    found = count(worker, keys("one", "two"), parameters(counts))
    assert texts(found) == {"default/cpu": "13"}
    assert found.queues == ("one", "two")
    assert found.inactive == {}


@EVERY_WAY
def test_a_queue_that_several_local_queues_lead_to_counts_once(counts: Counts) -> None:
    """8 cpu and 5 GPUs are not 16 and 10."""
    local = {"team-a/main": "shared", "team-b/main": "shared"}
    worker = view({"shared": queue(default={"cpu": "8", GPU: "5"})}, local=local)
    found = count(worker, local, parameters(counts))
    assert texts(found) == {"default/cpu": "8", f"default/{GPU}": "5"}
    assert found.queues == ("shared",)


@EVERY_WAY
def test_queues_that_no_local_queue_leads_to_never_count(counts: Counts) -> None:
    """Not even where they are of the same name as one of the manager."""
    worker = view(
        {"mine": queue(default={"cpu": "3"}), "batch": queue(default={"cpu": "100"})},
        local={"ns/mine": "mine", "other/mine": "batch", "ns/other": "batch"},
    )
    assert texts(count(worker, keys("mine"), parameters(counts))) == {"default/cpu": "3"}


@pytest.mark.parametrize("counts", Counts)
def test_nothing_related_counts_as_nothing(counts: Counts) -> None:
    """No LocalQueue of the name, or one that leads to a ClusterQueue that does not exist, which is told."""
    worker = view({"far": queue(default={"cpu": "3"})}, local={"ns/mine": "gone", "ns/far": "far"})
    for reached in (keys(), keys("elsewhere")):
        assert count(worker, reached, parameters(counts)) == WorkerCount({}, (), {})
    for inactive in InactiveQueues:
        found = count(worker, keys("mine"), parameters(counts, inactive=inactive))
        assert found == WorkerCount({}, (), {"ns/mine": "NoClusterQueue"})


@EVERY_WAY
def test_inactive_queues_are_left_out_and_told(counts: Counts) -> None:
    """With why; with Count they are as all others."""
    worker = view(
        {"a": queue(default={"cpu": "6"}), "b": queue(default={"cpu": "7"}, inactive="Stopped")},
    )
    found = count(worker, keys("a", "b"), parameters(counts))
    assert (texts(found), found.queues, found.inactive) == ({"default/cpu": "6"}, ("a",), {"b": "Stopped"})
    found = count(worker, keys("a", "b"), parameters(counts, inactive=InactiveQueues.COUNT))
    assert (texts(found), found.queues, found.inactive) == ({"default/cpu": "13"}, ("a", "b"), {})


def test_a_stopped_local_queue_leads_nowhere() -> None:
    """Unless another one leads there, or inactive ones count. It is told where nothing else tells of its queue."""
    stopped = {"ns/a": LocalQueue("q", is_stopped=True)}
    queues = {"q": queue(default={"cpu": "6"}, inactive="Stopped")}
    for there in (queues, {}):
        found = count(view(there, local=stopped), keys("a"), parameters())
        assert found == WorkerCount({}, (), {"ns/a": "Stopped"})
    both: dict[str, str | LocalQueue | Unreadable] = {**stopped, "ns/b": "q"}
    assert count(view(queues, local=both), keys("a", "b"), parameters()).inactive == {"q": "Stopped"}
    active = view({"q": queue(default={"cpu": "6"})}, local=both)
    assert count(active, keys("a", "b"), parameters()).inactive == {}
    found = count(view(queues, local=stopped), keys("a"), parameters(inactive=InactiveQueues.COUNT))
    assert texts(found) == {"default/cpu": "6"}


# --- what they have ------------------------------------------------------------------------------------------------


@EVERY_WAY
def test_quotas_in_force_count(counts: Counts) -> None:
    """3 effective ones are 3; an empty list in force is nothing."""
    assert texts(count(view({"q": queue(default={"cpu": "3"})}), keys("q"), parameters(counts))) == {"default/cpu": "3"}
    assert texts(count(view({"q": queue()}), keys("q"), parameters(counts))) == {}


@EVERY_WAY
def test_sums_are_exact_and_written_as_the_worker_writes(counts: Counts) -> None:
    """To a nano, beyond what a float holds; binary where one of them is. Sorted by pair."""
    worker = view(
        {
            "a": queue(z={"memory": "1Gi", "cpu": "9007199254740993"}, y={"cpu": "1n"}),
            "b": queue(z={"memory": "1073741824", "cpu": "500m"}),
            "c": queue(z={"memory": "0"}),
        }
    )
    found = count(worker, keys("a", "b", "c"), parameters(counts))
    assert list(texts(found).items()) == [
        ("y/cpu", "1n"),
        ("z/cpu", "9007199254740993500m"),
        ("z/memory", "2Gi"),
    ]


def test_only_quotas_in_force_ignore_the_cohort() -> None:
    """Others of the Cohort lend with QuotaAndBorrowable, each tree for itself; stopped ones lend as well."""
    worker = view(
        {
            "mine": queue("all", default={"cpu": "6 borrow=9"}),
            "other": queue("all", default={"cpu": "7 lend=4"}),
            "stopped": queue("all", default={"cpu": "2"}, inactive="Stopped"),
            "apart": queue("else", default={"cpu": "100"}),
            "alone": queue(default={"cpu": "1"}),
        },
        cohorts={"all": cohort("root", default={"cpu": "1"}), "root": cohort(default={"cpu": "1", "memory": "1Gi"})},
    )
    reached = keys("mine", "alone")
    assert texts(count(worker, reached, parameters())) == {"default/cpu": "7"}
    assert texts(count(worker, reached, parameters(Counts.QUOTA_AND_BORROWABLE))) == {"default/cpu": "15"}


def test_a_cohort_without_an_object_connects() -> None:
    """It is one that is named as a parent alone; above it there is nothing."""
    worker = view({"a": queue("implicit", default={"cpu": "6"}), "b": queue("implicit", default={"cpu": "7"})})
    found = count(worker, keys("a"), parameters(Counts.QUOTA_AND_BORROWABLE))
    assert (texts(found), found.queues) == ({"default/cpu": "13"}, ("a",))
    beneath = view(
        {"a": queue("team", default={"cpu": "6"}), "b": queue("implicit", default={"cpu": "7"})},
        cohorts={"team": cohort("implicit")},
    )
    assert texts(count(beneath, keys("a"), parameters(Counts.QUOTA_AND_BORROWABLE))) == {"default/cpu": "13"}


def test_a_cohort_of_the_same_name_is_no_queue() -> None:
    """Kueue allows it."""
    worker = view(
        {"a": queue("a", default={"cpu": "1 borrow=2"})}, cohorts={"a": cohort(default={"cpu": "9", "memory": "1"})}
    )
    found = count(worker, keys("a"), parameters(Counts.QUOTA_AND_BORROWABLE))
    assert (texts(found), found.queues) == ({"default/cpu": "3"}, ("a",))


def test_what_is_borrowed_is_written_as_what_is_lent() -> None:
    """A queue of nothing borrows the Cohort's Gi."""
    worker = view({"a": queue("all", default={"memory": "0"})}, cohorts={"all": cohort(default={"memory": "10Gi"})})
    assert texts(count(worker, keys("a"), parameters(Counts.QUOTA_AND_BORROWABLE))) == {"default/memory": "10Gi"}


# --- what cannot be counted ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("counts", Counts)
def test_a_related_object_that_cannot_be_read_is_a_problem(counts: Counts) -> None:
    """All of them are named, and why."""
    worker = view(
        {"a": BROKEN, "b": queue(default={"cpu": "1"})},
        local={"ns/a": "a", "ns/b": "b", "ns/c": Unreadable("spec.clusterQueue: a string is wanted")},
    )
    told = problem(worker, keys("a", "b", "c"), parameters(counts))
    assert "ClusterQueue a cannot be read: spec.resourceGroups: a list is wanted" in told
    assert "LocalQueue ns/c cannot be read: spec.clusterQueue: a string is wanted" in told


@EVERY_WAY
def test_unrelated_objects_that_cannot_be_read_do_not_matter(counts: Counts) -> None:
    """What they might lend is not counted."""
    worker = view(
        {"a": BROKEN, "b": queue("all", default={"cpu": "1"})},
        local={"ns/b": "b", "ns/c": BROKEN, "ns/a": "a"},
        cohorts={"elsewhere": BROKEN},
    )
    assert texts(count(worker, keys("b"), parameters(counts))) == {"default/cpu": "1"}


def test_a_cohort_above_that_cannot_be_read_is_a_problem() -> None:
    """Where it is asked what can be borrowed."""
    worker = view({"q": queue("team", default={"cpu": "1"})}, cohorts={"team": cohort("all"), "all": BROKEN})
    assert problem(worker, keys("q"), parameters(Counts.QUOTA_AND_BORROWABLE)) == (
        "Cohort all, which ClusterQueue q is in, cannot be read: spec.resourceGroups: a list is wanted"
    )
    assert texts(count(worker, keys("q"), parameters())) == {"default/cpu": "1"}


@pytest.mark.parametrize("entry", ["a", "b", "c", "below"])
def test_a_cycle_of_cohorts_is_a_problem(entry: str) -> None:
    """Kueue admits nothing in it. It is told the same from wherever it is come upon."""
    cohorts = {"a": cohort("b"), "b": cohort("c"), "c": cohort("a"), "below": cohort("b")}
    worker = view({"q": queue(entry, default={"cpu": "1"})}, cohorts=cohorts)
    told = problem(worker, keys("q"), parameters(Counts.QUOTA_AND_BORROWABLE))
    assert told.startswith("ClusterQueue q is in a cycle of Cohorts, a → b → c → a, in which Kueue admits nothing: ")
    assert texts(count(worker, keys("q"), parameters())) == {"default/cpu": "1"}


def test_a_cohort_that_is_its_own_parent_is_a_cycle() -> None:
    """The shortest one; elsewhere it does not matter."""
    queues = {"q": queue("a", default={"cpu": "1"}), "r": queue("fine", default={"cpu": "2"})}
    worker = view(queues, cohorts={"a": cohort("a")})
    assert "a → a," in problem(worker, keys("q", "r"), parameters(Counts.QUOTA_AND_BORROWABLE))
    assert texts(count(worker, keys("r"), parameters(Counts.QUOTA_AND_BORROWABLE))) == {"default/cpu": "2"}


@EVERY_WAY
@pytest.mark.parametrize("value", ["-1", "9223372036854775808"])
def test_a_quota_that_cannot_be_is_a_problem_unless_it_is_not_reported(counts: Counts, value: str) -> None:
    """Object, field, pair and value are named; the way out is real."""
    worker = view({"q": queue(default={"cpu": "1", "memory": value}), "r": queue(default={"memory": "2"})})
    told = problem(worker, keys("q", "r"), parameters(counts))
    assert told.startswith(f"ClusterQueue q has a nominalQuota in force of {value} for default/memory: ")
    assert "spec.resources" in told
    found = count(worker, keys("q", "r"), parameters(counts, exclude=("memory",)))
    assert texts(found) == {"default/cpu": "1", "default/memory": "2"}


@EVERY_WAY
def test_problems_are_told_in_one_order_and_not_all_of_them(counts: Counts) -> None:
    """Whatever the order of the objects; a message has room for the first."""
    queues = {f"q{index}": queue("all", default={"cpu": "-1"}) for index in range(9)}
    told = problem(view(queues), keys(*queues), parameters(counts))
    assert problem(view(dict(reversed(queues.items()))), keys(*queues), parameters(counts)) == told
    assert told.startswith("ClusterQueue q0 has")
    assert "q4" in told
    assert told.endswith(" and 4 more")
    local = {f"ns/l{index}": BROKEN for index in range(9)}
    told = problem(view({}, local=local), sorted(local, reverse=True), parameters(counts))
    assert [told.index(f"ns/l{index}") for index in range(5)] == sorted(
        told.index(f"ns/l{index}") for index in range(5)
    )


@EVERY_WAY
def test_an_absurd_number_is_told_in_short(counts: Counts) -> None:
    """It would fill the message."""
    worker = view({"q": queue(default={"cpu": "1e400"})})
    assert len(problem(worker, keys("q"), parameters(counts))) < 300


@EVERY_WAY
def test_a_sum_beyond_the_largest_quantity_is_a_problem_unless_it_is_not_reported(counts: Counts) -> None:
    """The largest itself is none."""
    worker = view(
        {"q": queue(default={"cpu": "1", "memory": str(LARGEST_UNITS)}), "r": queue(default={"memory": "1n"})}
    )
    assert texts(count(worker, keys("q"), parameters(counts)))["default/memory"] == str(LARGEST_UNITS)
    told = problem(worker, keys("q", "r"), parameters(counts))
    assert told.startswith("the related ClusterQueues have 9223372036854775807000000001n of default/memory together")
    assert texts(count(worker, keys("q", "r"), parameters(counts, exclude=("memory",)))) == {"default/cpu": "1"}


@pytest.mark.parametrize("text", ["-1", "1 borrow=-1", "1 lend=-1"])
def test_a_number_in_the_cohort_tree_that_cannot_be_is_a_problem_where_it_matters(text: str) -> None:
    """Of a pair that a related queue lists, in its own tree."""
    spec = parameters(Counts.QUOTA_AND_BORROWABLE)
    queues = {"q": queue("all", default={"cpu": "1"}), "r": queue("other", default={"memory": "1", "cpu": "1"})}
    worker = view(queues, cohorts={"all": cohort(default={"memory": text}), "other": cohort("", default={"cpu": text})})
    assert texts(count(worker, keys("q"), spec)) == {"default/cpu": "1"}
    told = problem(worker, keys("q", "r"), spec)
    field = {"1 b": "borrowingLimit", "1 l": "lendingLimit"}.get(text[:3], "nominalQuota in force")
    assert told.startswith(f"Cohort other has a {field} of -1 for default/cpu: 0 or more is wanted")
    assert texts(count(worker, keys("q", "r"), parameters(Counts.QUOTA_AND_BORROWABLE, exclude=("cpu",)))) == {
        "default/cpu": "2",
        "default/memory": "1",
    }


def test_a_limit_beyond_the_largest_quantity_is_none() -> None:
    """As for Kueue: some write it to say so."""
    queues = {"q": queue("all", default={"cpu": "1 borrow=10E lend=10E"}), "r": queue("all", default={"cpu": "4"})}
    assert texts(count(view(queues), keys("q"), parameters(Counts.QUOTA_AND_BORROWABLE))) == {"default/cpu": "5"}


# --- what would take too long ----------------------------------------------------------------------------------------


def test_a_worker_with_too_many_quotas_is_a_problem() -> None:
    """Nothing else could be done while they are added up. As many as that are counted."""
    many = {f"r{index}": "1" for index in range(1000)}
    queues = {f"q{index}": queue(default=many) for index in range(100)}
    assert len(count(view(queues), keys(*queues), parameters()).amounts) == 1000
    queues["one"] = queue(default={"cpu": "1"})
    told = problem(view(queues), keys(*queues), parameters())
    assert told.startswith("the related ClusterQueues have 100001 quotas, more than the 100000 that are counted")
    few = view({**queues, "one": queue(default={"cpu": "1"})})
    assert texts(count(few, keys("one"), parameters())) == {"default/cpu": "1"}


@EVERY_WAY
def test_a_worker_with_too_many_flavors_and_resources_is_a_problem(counts: Counts) -> None:
    many = {f"r{index}": "1" for index in range(10_000)}
    worker = view({"q": queue(default=many), "r": queue(default={"r1": "1"}), "s": queue(other={"r1": "1"})})
    assert len(count(worker, keys("q", "r"), parameters(counts)).amounts) == 10_000
    told = problem(worker, keys("q", "s"), parameters(counts))
    assert told.startswith("the related ClusterQueues have quotas of 10001 flavors and resources, more than the 10000")


def test_a_cohort_tree_with_too_many_quotas_is_a_problem() -> None:
    """Those of others in it as well, and they themselves; trees that nothing related is in do not matter."""
    many = {f"r{index}": "1" for index in range(99)}
    others = {f"q{index}": queue("all", default=many) for index in range(399)}
    spec = parameters(Counts.QUOTA_AND_BORROWABLE)
    mine = queue("all", default=dict.fromkeys([*many][:98], "1"))
    assert count(view({**others, "mine": mine}), keys("mine"), spec).queues == ("mine",)
    worker = view({**others, "mine": queue("all", default=many), "apart": queue(default={"cpu": "1"})})
    told = problem(worker, keys("mine"), spec)
    assert told.startswith("the cohort trees of the related ClusterQueues have 40001 ClusterQueues, Cohorts and quotas")
    assert "say counts: QuotaInForce" in told
    assert texts(count(worker, keys("apart"), spec)) == {"default/cpu": "1"}


# --- what holds of every worker --------------------------------------------------------------------------------------


class Worker:
    """Queues in trees, by a seed."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)
        self.cohorts = {
            f"c{index}": cohort(chance.choice(["", "x", *(f"c{above}" for above in range(index))]), **_flavors(chance))
            for index in range(4)
        }
        parents = ["", "x", "y", *self.cohorts]
        self.queues = {
            f"q{index}": queue(chance.choice(parents), inactive=chance.choice(["", "", "Stopped"]), **_flavors(chance))
            for index in range(7)
        }
        self.local = {f"ns/l{index}": chance.choice([*self.queues, "gone"]) for index in range(6)}
        self.reached = frozenset(chance.sample([*self.local, "ns/gone"], k=chance.randint(0, 6)))

    def view(self, chance: random.Random | None = None) -> WorkerView:
        """In an order of its own."""
        if chance is None:
            return view(self.queues, local=self.local, cohorts=self.cohorts)
        queues, local, cohorts = ([*each.items()] for each in (self.queues, self.local, self.cohorts))
        for each in (queues, local, cohorts):
            chance.shuffle(each)
        return view(dict(queues), local=dict(local), cohorts=dict(cohorts))


def _flavors(chance: random.Random) -> dict[str, dict[str, str]]:
    return {
        flavor: {
            resource: f"{chance.choice(['0', '2', '1500m', '1Ki'])}{chance.choice(['', ' borrow=1'])}"
            f"{chance.choice(['', ' lend=1'])}"
            for resource in chance.sample(["cpu", "memory"], k=chance.randint(1, 2))
        }
        for flavor in chance.sample(["f", "g"], k=chance.randint(0, 2))
    }


@EVERY_WAY
@given(seed=st.integers(), order=st.randoms(use_true_random=False))
def test_the_order_of_objects_is_irrelevant(counts: Counts, seed: int, order: random.Random) -> None:
    """Values, their texts and their order are the same."""
    worker = Worker(seed)
    found = count(worker.view(), worker.reached, parameters(counts))
    other = count(worker.view(order), [*worker.reached], parameters(counts))
    assert [*texts(other).items()] == [*texts(found).items()]
    assert other == found


@EVERY_WAY
@given(seed=st.integers())
def test_one_more_local_queue_never_makes_it_less(counts: Counts, seed: int) -> None:
    """Of nothing."""
    worker = Worker(seed)
    everything = count(worker.view(), worker.local, parameters(counts)).amounts
    for pair, quantity in count(worker.view(), worker.reached, parameters(counts)).amounts.items():
        assert everything[pair] >= quantity


@given(seed=st.integers())
def test_what_can_be_borrowed_comes_on_top(seed: int) -> None:
    """Of the same pairs, and no more than the worker has."""
    worker = Worker(seed)
    own = count(worker.view(), worker.reached, parameters())
    most = count(worker.view(), worker.reached, parameters(Counts.QUOTA_AND_BORROWABLE))
    assert most.amounts.keys() == own.amounts.keys()
    assert (most.queues, most.inactive) == (own.queues, own.inactive)
    groups = [*(each.quotas for each in worker.queues.values()), *(each.quotas for each in worker.cohorts.values())]
    for pair, quantity in most.amounts.items():
        everything = sum(
            quota.nominal_quota.nanos for each in groups for declared, quota in quotas_by_pair(each) if declared == pair
        )
        assert own.amounts[pair].nanos <= quantity.nanos <= everything
