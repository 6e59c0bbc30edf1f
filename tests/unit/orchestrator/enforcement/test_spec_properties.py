"""What holds on the spec road for every chain of capacities and edits."""

from __future__ import annotations

import copy
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from kueue_dqo.api.kueue import CLUSTER_QUEUE, COHORT
from kueue_dqo.api.quantity import Quantity
from orchestrator.enforcement.roads import Road
from tests.unit.orchestrator.builders import Quota, Written, groups
from tests.unit.orchestrator.enforcement.roads import (
    Limits,
    Manifest,
    after_a_pass,
    by_pair,
    declaration,
    edited,
    manifest,
    node,
)

Pair = tuple[str, str]
Declaration = dict[Pair, Quota]

PAIRS: Final = [("f", "cpu"), ("f", "memory"), ("g", "cpu"), ("h", "pods")]
"""The flavors f and g are orchestrated, h is not."""
AMOUNTS: Final[list[Written]] = [0, 1, 2, 3, 5, "1500m", "333m", "0.7", "4Gi", "1e3"]
QUOTAS: Final = st.builds(
    Quota,
    st.sampled_from(AMOUNTS),
    st.sampled_from([None, None, 0, 2, "1Gi"]),
    st.sampled_from([None, None, 0, 1, "2", "900m"]),
)
DECLARATIONS: Final = st.dictionaries(st.sampled_from(PAIRS), QUOTAS, max_size=4)
CAPACITIES: Final = st.dictionaries(st.sampled_from(PAIRS[:3]), st.sampled_from(AMOUNTS), max_size=3)
EDITS: Final = st.dictionaries(
    st.sampled_from(PAIRS),
    st.one_of(
        st.none(),  # the pair is removed
        QUOTAS,
        st.tuples(st.integers(0, 2), st.sampled_from(AMOUNTS)),  # one field of it becomes another
    ),
    max_size=2,
)
STEPS: Final = st.lists(st.tuples(EDITS, CAPACITIES), min_size=1, max_size=4)


def _flavors(declared: Declaration) -> dict[str, dict[str, Quota]]:
    flavors: dict[str, dict[str, Quota]] = {}
    for (flavor, resource), quota in declared.items():
        flavors.setdefault(flavor, {})[resource] = quota
    return flavors


def _amounts(capacity: dict[Pair, Written]) -> dict[str, dict[str, Written]]:
    flavors: dict[str, dict[str, Written]] = {"f": {}, "g": {}}
    for (flavor, resource), amount in capacity.items():
        flavors[flavor][resource] = amount
    return flavors


def _in_force(held: Manifest) -> Declaration:
    found: Declaration = {}
    for name, limits in by_pair(node(held).quotas).items():
        flavor, _, resource = name.partition("/")
        found[flavor, resource] = Quota(*limits)
    return found


def _written(declared: Declaration) -> dict[str, Limits]:
    return by_pair(groups(_flavors(declared)))


Edit = Quota | tuple[int, Written] | None
"""A whole quota, one field of it by its position, or the end of it."""


def _apply(edits: dict[Pair, Edit], in_force: Declaration, declared: Declaration) -> None:
    """Does the edits to what is in force, and to the declaration what they mean."""
    for pair, edit in edits.items():
        if edit is None:
            in_force.pop(pair, None)
            declared.pop(pair, None)
        elif pair not in in_force:
            in_force[pair] = declared[pair] = edit if isinstance(edit, Quota) else Quota(edit[1])
        else:
            was, meant = in_force[pair], declared[pair]
            new = edit if isinstance(edit, Quota) else was._replace(**_field(*edit))
            changed: dict[str, Any] = {
                field: value
                for field, value, before in zip(Quota._fields, new, was, strict=True)
                if _nanos(value) != _nanos(before)
            }
            in_force[pair], declared[pair] = new, meant._replace(**changed)


def _field(at: int, value: Written) -> dict[str, Any]:
    return {Quota._fields[at]: value}


def _nanos(written: Written | None) -> int | None:
    return Quantity.of(written).nanos if written is not None else None


@given(st.sampled_from([CLUSTER_QUEUE, COHORT]), DECLARATIONS, st.lists(CAPACITIES, min_size=1, max_size=6))
def test_no_chain_of_capacities_changes_the_declaration(
    kind: str, declared: Declaration, capacities: list[dict[Pair, Written]]
) -> None:
    """It never ratchets: not down to a capacity that was small, nor up, nor in a limit that was capped."""
    held = manifest(_flavors(declared), kind=kind) if declared else manifest(kind=kind)
    before = declaration(held)
    shape = Road.SPEC.member_of(node(held)).declared
    for capacity in capacities:
        held = after_a_pass(held, _amounts(capacity))
        assert declaration(held) == before
        assert Road.SPEC.member_of(node(held)).declared == shape


@given(st.sampled_from([CLUSTER_QUEUE, COHORT]), DECLARATIONS.filter(bool), STEPS)
def test_the_declaration_is_what_the_admin_declared_and_edited_whatever_the_capacities(
    kind: str,
    declared: Declaration,
    steps: list[tuple[dict[Pair, Edit], dict[Pair, Written]]],
) -> None:
    """Between any two passes the admin edits fields, adds pairs and removes others."""
    meant = dict(declared)
    held = after_a_pass(manifest(_flavors(declared), kind=kind), _amounts({}))
    for edits, capacity in steps:
        in_force, would_mean = _in_force(held), dict(meant)
        _apply(edits, in_force, would_mean)
        if in_force:  # an empty spec is no edit
            held, meant = edited(held, _flavors(in_force)), would_mean
        assert declaration(held) == _written(meant)
        held = after_a_pass(held, _amounts(capacity))
        assert declaration(held) == _written(meant)


@given(DECLARATIONS, CAPACITIES)
def test_a_pass_over_what_a_pass_wrote_changes_nothing(declared: Declaration, capacity: dict[Pair, Written]) -> None:
    """The same spec and the same annotations, to the letter."""
    once = after_a_pass(manifest(_flavors(declared)), _amounts(capacity))
    assert after_a_pass(copy.deepcopy(once), _amounts(capacity)) == once


@given(DECLARATIONS, CAPACITIES)
def test_a_queue_never_gets_a_lending_limit_above_its_nominal_quota(
    declared: Declaration, capacity: dict[Pair, Written]
) -> None:
    """The webhook of older Kueues refuses one, in flavors that are not orchestrated too."""
    held = after_a_pass(manifest(_flavors(declared)), _amounts(capacity))
    for quota in _in_force(held).values():
        assert quota.lending is None or Quantity.of(quota.lending) <= Quantity.of(quota.nominal)
