"""Nothing is given away more than once: within one object, among several, and of what only the cloud knows."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import pytest

from kueue_dqo.api.parameters import Combine
from kueue_dqo.provider import Peer
from providers.cloud_quota.shares import claimed, found, part_of, too_much
from tests.unit.providers.cloud_quota.clouds import FakeCloud, entry, provider, request, spec

HALF = {"share": "0.5"}
MOST = {"share": "0.7"}


def problems(asked: Any, **more: Any) -> list[str]:
    return list(too_much(claimed(request(asked, **more), FakeCloud())))


def test_flavors_may_share_a_quota() -> None:
    assert problems(spec({"p5": [entry("L-1", **HALF)], "p4d": [entry("L-1", **HALF)]})) == []


def test_flavors_may_not_share_more_of_a_quota_than_there_is() -> None:
    (problem,) = problems(spec({"p5": [entry("L-1", **HALF)], "p4d": [entry("L-1", **MOST)], "t4": [entry("L-2")]}))
    assert problem.startswith("quota L-1 in us-east-1: 1.2 of it is taken, by p5 (0.5), p4d (0.7): make `share`")


def test_shares_that_are_exactly_one_together_are_no_problem() -> None:
    tenths = {f"f{number}": [entry("L-1", share="0.1")] for number in range(10)}
    assert problems(spec(tenths)) == []


def test_a_quota_is_another_one_in_another_region() -> None:
    assert problems(spec({"p5": [entry("L-1")], "p4d": [entry("L-1", region="eu-west-1")]})) == []


@pytest.mark.parametrize(
    ("combine", "taken"),
    [(Combine.MAX, Fraction(3, 4)), (Combine.MIN, Fraction(3, 4)), (Combine.SUM, Fraction(5, 4))],
)
def test_entries_are_beside_each_other_only_in_a_sum(combine: Combine, taken: Fraction) -> None:
    assert part_of(combine, [Fraction(1, 2), Fraction(3, 4)]) == taken


def test_one_flavor_may_take_too_much_by_itself() -> None:
    asked = spec({"p5": [entry("L-1", **HALF), entry("L-1", **MOST)]}, combine="Sum")
    assert "by p5 (1.2)" in problems(asked)[0]
    assert problems(spec({"p5": [entry("L-1", **HALF), entry("L-1", **MOST)]}, combine="Max")) == []


# --- among several objects -----------------------------------------------------------------------------------------


def test_other_providers_that_ask_in_the_same_name_share_with_it() -> None:
    theirs = spec({"p4d": [entry("L-1", **MOST)]})
    (problem,) = problems(spec({"p5": [entry("L-1", **HALF)]}), peers={"other": theirs})
    assert "1.2 of it is taken, by p5 (0.5), p4d of CapacityProvider other (0.7)" in problem


def test_other_accounts_have_quotas_of_their_own() -> None:
    theirs = spec({"p4d": [entry("L-1")]}, role="arn:aws:iam::2:role/b")
    assert problems(spec({"p5": [entry("L-1")]}), peers={"other": theirs}) == []


def test_what_others_share_among_themselves_is_told_to_them() -> None:
    peers = {"a": spec({"p4d": [entry("L-2", **MOST)]}), "b": spec({"p3": [entry("L-2", **MOST)]})}
    assert problems(spec({"p5": [entry("L-1")]}), peers=peers) == []


def test_parameters_that_cannot_be_read_claim_nothing() -> None:
    assert problems(spec({"p5": [entry("L-1")]}), peers={"broken": None}) == []


def test_flavors_that_a_peer_does_not_orchestrate_claim_nothing() -> None:
    """It can publish nothing of them."""
    about = request(spec({"p5": [entry("L-1")]}))
    peer = Peer(provider("other", ["p4d"]), spec({"p4d": [entry("L-2")], "p3": [entry("L-1")]}))
    assert list(too_much(claimed(dataclasses.replace(about, peers=(peer,)), FakeCloud()))) == []


# --- of what was found -----------------------------------------------------------------------------------------------


def test_what_was_found_by_asking_is_taken_only_once_as_well() -> None:
    p5 = found("p5", Combine.MAX, [{"reservation cr-1": Fraction(1)}, {"reservation cr-1": Fraction(1)}])
    p4d = found("p4d", Combine.MAX, [{"reservation cr-1": Fraction(1, 4), "reservation cr-2": Fraction(1)}])
    (problem,) = too_much([*p5, *p4d])
    assert problem.startswith("reservation cr-1: 1.25 of it is taken, by p5 (1), p4d (0.25)")
