"""Nothing is given away more than once: within one object, among several, and of what only the cloud knows."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import msgspec
import pytest

from kueue_dqo.api.cloud import CloudQuotaParametersSpec
from kueue_dqo.api.parameters import Combine
from kueue_dqo.provider import Peer
from providers.cloud_quota.cloud import Derived, Draw
from providers.cloud_quota.shares import claimed, found, overdrawn, too_much
from providers.cloud_quota.takings import Taking, Takings, taking_of
from tests.unit.providers.cloud_quota.clouds import Manifest, entry, provider, request, spec

HALF = {"share": "0.5"}
MOST = {"share": "0.7"}


def problems(asked: Any, **more: Any) -> list[str]:
    return list(too_much(claimed(request(asked, **more))))


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


def test_one_flavor_may_take_too_much_by_itself() -> None:
    asked = spec({"p5": [entry("L-1", **HALF), entry("L-1", **MOST)]}, combine="Sum")
    assert "by p5 (1.2)" in problems(asked)[0]
    assert problems(spec({"p5": [entry("L-1", **HALF), entry("L-1", **MOST)]}, combine="Max")) == []


# --- among several objects -----------------------------------------------------------------------------------------


def test_other_providers_that_ask_in_the_same_name_share_with_it() -> None:
    theirs = spec({"p4d": [entry("L-1", **MOST)]})
    (problem,) = problems(spec({"p5": [entry("L-1", **HALF)]}), peers={"other": theirs})
    assert "1.2 of it is taken, by p5 (0.5), p4d of CapacityProvider other (0.7)" in problem
    assert problem.endswith("say so by aws.accountId in the parameters of each of them")


@pytest.mark.parametrize(
    "theirs",
    [{"role": "arn:aws:iam::111122223333:role/another"}, {"account_id": "111122223333"}],
    ids=["another role", "without a role"],
)
def test_an_account_has_its_quotas_once_in_whatever_name_it_is_asked(theirs: dict[str, str]) -> None:
    asked = spec({"p5": [entry("L-1", **HALF)]}, role="arn:aws:iam::111122223333:role/one")
    (problem,) = problems(asked, peers={"other": spec({"p4d": [entry("L-1", **MOST)]}, **theirs)})
    assert problem.startswith("quota L-1 in us-east-1 of account 111122223333: 1.2 of it is taken")
    assert "accountId" not in problem


def test_an_account_that_is_named_is_not_the_one_of_another_name() -> None:
    theirs = spec({"p4d": [entry("L-1")]}, account_id="444455556666")
    asked = spec({"p5": [entry("L-1")]}, role="arn:aws:iam::111122223333:role/one")
    assert problems(asked, peers={"other": theirs}) == []
    assert problems(spec({"p5": [entry("L-1")]}, account_id="111122223333"), peers={"other": theirs}) == []


def test_within_one_object_nobody_is_told_to_say_which_account_it_is() -> None:
    (problem,) = problems(spec({"p5": [entry("L-1")], "p4d": [entry("L-1")]}), peers={"other": spec({})})
    assert "accountId" not in problem


def test_a_reservation_of_aws_is_the_same_in_every_account_that_sees_it() -> None:
    def of(kind: str, **account: str) -> CloudQuotaParametersSpec:
        return spec({"p5": [{"instanceType": "p5.48xlarge", kind: {"ids": ["cr-1"]}, **MOST}]}, **account)

    for kind, label in (("capacityReservations", "capacity reservation"), ("capacityBlocks", "capacity block")):
        owner, consumer = of(kind, account_id="111122223333"), of(kind, account_id="444455556666")
        (problem,) = problems(owner, peers={"other": consumer})
        assert problem.startswith(f"{label} cr-1: 1.4 of it is taken")


# --- among several projects of Google Cloud --------------------------------------------------------------------------


def gcp(*entries: Manifest, project: str = "ours", **more: Any) -> CloudQuotaParametersSpec:
    """One flavor that has these entries of an A3 machine."""
    account = {
        "project": project,
        "regions": ["us-central1"],
        "flavors": [{"name": "h100", "entries": [{"machineType": "a3-highgpu-8g", **each} for each in entries]}],
        **more,
    }
    return msgspec.convert({"gcp": account}, CloudQuotaParametersSpec, dec_hook=lambda kind, value: kind.of(value))


def booked(**source: Any) -> Manifest:
    return {"reservations": {"names": ["big"], **source}, "share": "1"}


def twice(one: CloudQuotaParametersSpec, other: CloudQuotaParametersSpec) -> list[str]:
    """What is told to each of them: that there are two of it, or nothing; by what it is."""
    told = problems(one, peers={"other": other}), problems(other, peers={"other": one})
    assert len(told[0]) == len(told[1])
    return [each.split(": 2 of it is taken", maxsplit=1)[0] for each in told[0]]


def test_a_project_has_its_quotas_once_whoever_is_impersonated() -> None:
    metric, family = {"metric": {"name": "H100_GPUS"}}, {"gpuFamily": {"name": "NVIDIA_H100"}}
    impersonated = gcp(metric, family, impersonateServiceAccount="a@p.iam.gserviceaccount.com")
    assert twice(gcp(metric, family), impersonated) == [
        "metric H100_GPUS in us-central1 of project ours",
        "GPU family NVIDIA_H100 of GPUS-PER-GPU-FAMILY-per-project-region in us-central1 of project ours",
    ]
    assert twice(gcp(metric, family), gcp(metric, family, project="theirs")) == []


def test_a_reservation_of_another_project_is_the_same_in_all_that_it_is_shared_with() -> None:
    shared = booked(project="owner")
    one = gcp(shared, project="a-1")
    assert twice(one, gcp(shared, project="b-1")) == ["reservation big in us-central1 of project owner"]
    assert twice(one, gcp(booked(), project="owner")) == ["reservation big in us-central1 of project owner"]
    assert twice(one, gcp(booked(), project="b-1")) == []


def test_a_reservation_of_a_zone_is_among_those_of_the_whole_region_in_another_object() -> None:
    zone = gcp(booked(zones=["us-central1-a"]))
    assert twice(gcp(booked()), zone) == ["reservation big in us-central1-a of project ours"]
    assert twice(gcp(booked(zones=["us-central1-b"])), zone) == []


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
    assert list(too_much(claimed(dataclasses.replace(about, peers=(peer,))))) == []


# --- of what was found -----------------------------------------------------------------------------------------------


def derived(taken: Mapping[str, Any] | None = None, draws: Mapping[str, int] | None = None, limit: int = 8) -> Derived:
    """An entry that took these parts of things, and so much of limits."""
    return Derived(
        instances=1,
        amounts={},
        text="",
        taken={name: Fraction(part) for name, part in (taken or {}).items()},
        draws={key: Draw(f"quota {key}", Fraction(limit), Fraction(amount)) for key, amount in (draws or {}).items()},
    )


def taking(flavor: str, *entries: Derived, combine: Combine = Combine.MAX) -> Taking:
    return taking_of(flavor, combine, entries)


@pytest.mark.parametrize(
    ("combine", "part", "amount"),
    [(Combine.MAX, Fraction(3, 4), 12), (Combine.MIN, Fraction(3, 4), 12), (Combine.SUM, Fraction(5, 4), 20)],
)
def test_entries_are_beside_each_other_only_in_a_sum(combine: Combine, part: Fraction, amount: int) -> None:
    came_to = taking("p5", derived({"cr-1": "1/2"}, {"ALL": 8}), derived({"cr-1": "3/4"}, {"ALL": 12}), combine=combine)
    assert came_to.shares == {"cr-1": part}
    assert came_to.draws == {"ALL": Draw("quota ALL", Fraction(8), Fraction(amount))}


def test_what_was_found_by_asking_is_taken_only_once_as_well() -> None:
    p5 = taking("p5", derived({"reservation cr-1": 1}), derived({"reservation cr-1": 1}))
    p4d = taking("p4d", derived({"reservation cr-1": "1/4", "reservation cr-2": 1}))
    (problem,) = too_much(found([p5, p4d], []))
    assert problem.startswith("reservation cr-1: 1.25 of it is taken, by p5 (1), p4d (0.25)")


def test_what_others_found_counts_with_it_but_not_by_itself() -> None:
    others = [("b", taking("p4d", derived({"cr-1": 1, "cr-2": 1}))), ("c", taking("p3", derived({"cr-2": 1})))]
    (problem,) = too_much(found([taking("p5", derived({"cr-1": "1/2"}))], others))
    assert problem.startswith("cr-1: 1.5 of it is taken, by p5 (0.5), p4d of CapacityProvider b (1)")


def test_what_a_limit_of_many_regions_allows_is_counted_only_once() -> None:
    l4, t4 = taking("l4", derived(draws={"ALL": 8})), taking("t4", derived(draws={"ALL": 4}))
    (problem,) = overdrawn([l4, t4], [])
    assert problem.startswith("quota ALL is 8, and 12 of it is counted, by l4 (8), t4 (4): set share or maxInstances")
    assert list(overdrawn([l4], [])) == []


def test_a_sum_of_regions_may_be_more_than_their_common_limit_by_itself() -> None:
    each = derived(draws={"ALL": 8})
    (problem,) = overdrawn([taking("l4", each, each, combine=Combine.SUM)], [])
    assert "16 of it is counted, by l4 (16)" in problem
    assert list(overdrawn([taking("l4", each, each)], [])) == []


def test_nothing_may_be_counted_of_a_limit_of_nothing() -> None:
    assert len(list(overdrawn([taking("l4", derived(draws={"ALL": 1}, limit=0))], []))) == 1
    assert list(overdrawn([taking("l4", derived(draws={"ALL": 0}, limit=0))], [])) == []


def test_others_draw_on_a_limit_as_well_and_it_is_as_large_as_was_just_heard() -> None:
    mine = taking("l4", derived(draws={"ALL": 8}, limit=12))
    others = [
        ("b", taking("t4", derived(draws={"ALL": 8, "MORE": 99}))),
        ("c", taking("p4", derived(draws={"MORE": 9}))),
    ]
    (problem,) = overdrawn([mine], others)
    assert problem.startswith("quota ALL is 12, and 16 of it is counted, by l4 (8), t4 of CapacityProvider b (8)")


def test_what_was_taken_is_kept_until_the_next_look_or_the_end_of_the_provider() -> None:
    takings = Takings()
    names: Sequence[str] = ("p5", "p4d", "p3")
    first, second, third = (taking(name, derived({"cr-1": 1})) for name in names)
    takings.note("b", [first])
    takings.note("a", [second])
    assert list(takings.of_others("c")) == [("a", second), ("b", first)]
    assert list(takings.of_others("a")) == [("b", first)]
    takings.note("b", [third])
    assert list(takings.of_others("a")) == [("b", third)]
    takings.keep({"a"})
    assert list(takings.of_others("a")) == []
