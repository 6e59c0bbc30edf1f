"""What holds for every transition, however its writes fare. Each write is checked as it is handed out."""

from __future__ import annotations

import random
from typing import Final

from hypothesis import event, given, settings
from hypothesis import strategies as st

from kueue_dqo.api.kueue import CLUSTER_QUEUE, COHORT
from kueue_dqo.api.meta import ObjectKey
from kueue_dqo.api.quotas import EffectiveQuotas, quotas_by_pair
from orchestrator.transition import Write
from tests.unit.orchestrator.builders import CPU, GPU, MEMORY, Amounts, Quota, Written, groups, ref
from tests.unit.orchestrator.transitions import OWNER, Cluster, nanos

PAIRS: Final = [("f", CPU), ("f", GPU), ("g", CPU), ("g", MEMORY), ("other", GPU)]
"""The last is not orchestrated."""
WHOLE: Final = st.integers(0, 12)
HELD: Final[st.SearchStrategy[Written]] = st.one_of(WHOLE, st.sampled_from(["1500m", "0.2", "2.7", 10**6]))
LIMITS: Final = st.sampled_from([None, None, 0, 3])
Held = dict[tuple[str, str], Quota]


def _held(amounts: st.SearchStrategy[Written] | st.SearchStrategy[int]) -> st.SearchStrategy[Held]:
    return st.dictionaries(st.sampled_from(PAIRS), st.builds(Quota, amounts, LIMITS, LIMITS), max_size=5)


def _quotas(held: Held, kind: str, owner: str = "dqo") -> EffectiveQuotas:
    flavors: dict[str, dict[str, Quota]] = {}
    for (flavor, resource), quota in held.items():
        capped = quota
        if kind == CLUSTER_QUEUE and quota.lending is not None and isinstance(quota.nominal, int):
            capped = quota._replace(lending=min(int(quota.lending), quota.nominal))
        flavors.setdefault(flavor, {})[resource] = capped
    return EffectiveQuotas(OWNER if owner == "dqo" else ref(owner), groups(flavors))


@st.composite
def clusters(draw: st.DrawFn, *, slack: st.SearchStrategy[int] = st.just(0)) -> Cluster:  # noqa: B008 - a strategy
    """Members of both kinds, anything in force, and a capacity of what is wanted plus the slack, but not below 0."""
    kinds = draw(st.lists(st.sampled_from([CLUSTER_QUEUE, CLUSTER_QUEUE, COHORT]), min_size=1, max_size=6))
    keys = [ObjectKey(kind, f"m{at}") for at, kind in enumerate(kinds)]
    before: dict[ObjectKey, EffectiveQuotas] = {}
    wanted: dict[ObjectKey, EffectiveQuotas] = {}
    for key in keys:
        goal = draw(_held(WHOLE))
        if draw(st.booleans()):
            start = {pair: quota._replace(nominal=draw(HELD)) for pair, quota in goal.items()}
        else:
            start = draw(_held(HELD))  # pairs that appear and vanish, other limits
        wanted[key] = _quotas(goal, key.kind)
        before[key] = _quotas(start, key.kind, draw(st.sampled_from(["dqo", "dqo", "admin"])))
    capacity: Amounts = {
        flavor: {
            resource: max(0, draw(slack) + sum(_whole(quotas, flavor, resource) for quotas in wanted.values()))
            for of, resource in PAIRS
            if of == flavor
        }
        for flavor in ("f", "g")
    }
    return Cluster(before, wanted, nanos(capacity))


def _whole(quotas: EffectiveQuotas, flavor: str, resource: str) -> int:
    return sum(
        quota.nominal_quota.nanos // 10**9
        for pair, quota in quotas_by_pair(quotas.resource_groups)
        if pair == (flavor, resource)
    )


def _moves(cluster: Cluster) -> int:
    """Quotas that change, in the pairs that are orchestrated."""
    return sum(
        cluster.amounts[key][0].get(pair, 0) != goal.get(pair, 0)
        for key, goal in cluster.goals.items()
        for pair in cluster.capacity
    )


SEEDS: Final = st.integers(0, 2**32)
CONCURRENCY: Final = st.sampled_from([1, 1, 2, 3, 5, 8, 16])


@settings(max_examples=300)
@given(clusters(slack=st.sampled_from([0, 0, 1, 30])), CONCURRENCY, SEEDS)
def test_where_nothing_fails_every_object_ends_as_wanted(cluster: Cluster, concurrency: int, seed: int) -> None:
    """In few writes: never more than objects, pairs, and twice the quotas that change."""
    most = len(cluster.held) + len(cluster.capacity) + 2 * _moves(cluster)
    cluster.drain(concurrency, random.Random(seed))
    assert cluster.held == cluster.wanted
    assert cluster.transition.is_complete
    assert not cluster.transition.waiting
    assert cluster.writes <= most


@settings(max_examples=300)
@given(clusters(slack=st.integers(-20, 5)), CONCURRENCY, SEEDS, st.sampled_from([0.1, 0.5, 1.0]))
def test_where_writes_fail_it_ends_and_only_growth_without_room_is_left(
    cluster: Cluster, concurrency: int, seed: int, share: float
) -> None:
    """Whatever has failed, nobody waits who could still shrink, or grow by a unit."""
    chance = random.Random(seed)
    most = len(cluster.held) + len(cluster.capacity) + 2 * _moves(cluster)

    def fate(_: Write) -> str:
        return chance.choice(["refused", "lost", "lost but landed"]) if chance.random() < share else "lands"

    cluster.drain(concurrency, chance, fate)
    assert cluster.writes <= most
    for key in cluster.transition.waiting:
        held, wanted = cluster.amounts[key][0], cluster.goals[key]
        lacking = [pair for pair in cluster.capacity if wanted.get(pair, 0) > held.get(pair, 0)]
        assert lacking
        assert all(cluster.highest(pair) >= cluster.limit(pair) for pair in lacking)
        assert all(wanted.get(pair, 0) >= held.get(pair, 0) for pair in cluster.capacity)
    written = {key for key, wanted in cluster.wanted.items() if cluster.held[key] == wanted}
    assert set(cluster.wanted) - written <= cluster.given_up | set(cluster.transition.waiting)
    event(f"waiting: {bool(cluster.transition.waiting)}")


@settings(max_examples=200)
@given(clusters(slack=st.sampled_from([0, 0, 3])), CONCURRENCY, SEEDS)
def test_what_has_failed_is_left_alone_by_the_next_pass_and_made_good_once_its_outcome_is_known(
    cluster: Cluster, concurrency: int, seed: int
) -> None:
    """The second transition knows what may be in force besides, the third what is."""
    chance = random.Random(seed)
    cluster.drain(concurrency, chance, lambda _: chance.choice(["lands", "refused", "lost", "lost but landed"]))
    given_up = {key: cluster.held[key] for key in cluster.given_up}
    cluster.start()
    cluster.drain(concurrency, chance)
    assert {key: cluster.held[key] for key in given_up} == given_up
    third = Cluster(cluster.held, cluster.wanted, cluster.capacity)
    third.drain(concurrency, chance)
    assert third.held == third.wanted


@settings(max_examples=100)
@given(clusters(), CONCURRENCY, SEEDS)
def test_from_every_interrupted_state_a_new_transition_ends_as_wanted(
    cluster: Cluster, concurrency: int, seed: int
) -> None:
    """A crash after any write, with those under way landed or not."""
    chance = random.Random(seed)
    while True:
        while len(cluster.on_the_way) < concurrency and cluster.send() is not None:
            pass
        for landed in (False, True, None):
            held = dict(cluster.held)
            for key, write in cluster.on_the_way.items():
                if chance.random() < 0.5 if landed is None else landed:
                    held[key] = write.quotas
            after = Cluster(held, cluster.wanted, cluster.capacity)
            after.drain(concurrency, chance)
            assert after.held == cluster.wanted
        if not cluster.on_the_way:
            break
        cluster.settle(chance.choice(list(cluster.on_the_way)), "lands")
    assert cluster.held == cluster.wanted


@settings(max_examples=300)
@given(clusters(slack=st.integers(0, 5)), CONCURRENCY, SEEDS)
def test_the_room_left_unclaimed_is_bounded_by_what_is_written_at_once(
    cluster: Cluster, concurrency: int, seed: int
) -> None:
    """Never more than there was at the start, or twice the largest changes that fit into the writes at once.

    A pair that is no longer declared goes with its object's first write, which another pair may be the reason for.
    """
    bounds = {}
    for pair in cluster.capacity:
        changes = sorted(
            abs(goal.get(pair, 0) - cluster.amounts[key][0].get(pair, 0)) for key, goal in cluster.goals.items()
        )
        undeclared = sum(
            cluster.amounts[key][0].get(pair, 0) for key, goal in cluster.goals.items() if pair not in goal
        )
        bounds[pair] = max(cluster.unclaimed(pair), 2 * sum(changes[-concurrency:])) + undeclared
    chance = random.Random(seed)
    while True:
        while len(cluster.on_the_way) < concurrency and cluster.send() is not None:
            pass
        if not cluster.on_the_way:
            break
        cluster.settle(chance.choice(list(cluster.on_the_way)), "lands")
        for pair, bound in bounds.items():
            assert cluster.unclaimed(pair) <= bound
