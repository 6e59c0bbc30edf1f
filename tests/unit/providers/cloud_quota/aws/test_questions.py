"""What an account is asked: few things, each once."""

from __future__ import annotations

import pytest

from kueue_dqo.api.cloud import AwsAccount, AwsEntry, AwsQuota, AwsRole, GcpProject
from kueue_dqo.provider import Misconfigured
from providers.cloud_quota.aws.cloud import CLOUD
from providers.cloud_quota.aws.questions import (
    BlockStatusQuestion,
    OwnAccountQuestion,
    QuotaQuestion,
    ReservationsQuestion,
    ShapeQuestion,
)
from providers.cloud_quota.cloud import Answers, Lifetime
from tests.unit.providers.cloud_quota.aws.entries import NOW, P5, P_ON_DEMAND, REGION, account, blocks, entry, on_demand

WEST = "us-west-2"
TWO = (REGION, WEST)


def test_entries_ask_together() -> None:
    ours = account(
        entry(AwsQuota(P_ON_DEMAND), region=REGION),
        entry(AwsQuota(P_ON_DEMAND), region=REGION, instance_type="p4d.24xlarge"),
        entry(on_demand("cr-a"), region=WEST),
        entry(on_demand(team="ml"), region=WEST),
        entry(blocks("cr-b"), region=WEST),
        regions=TWO,
    )
    assert CLOUD.questions(ours) == [
        QuotaQuestion(REGION, "ec2", P_ON_DEMAND),
        ShapeQuestion(REGION, P5),
        ShapeQuestion(REGION, "p4d.24xlarge"),
        ReservationsQuestion(WEST),
        OwnAccountQuestion(REGION),
        ShapeQuestion(WEST, P5),
        BlockStatusQuestion(WEST),
    ]


def test_what_hardly_ever_changes_is_kept_for_a_day() -> None:
    questions = [QuotaQuestion(REGION, "ec2", "L-1"), ReservationsQuestion(REGION), BlockStatusQuestion(REGION)]
    assert {each.lifetime for each in questions} == {Lifetime.LOOK}
    assert {each.lifetime for each in (ShapeQuestion(REGION, P5), OwnAccountQuestion(REGION))} == {Lifetime.DAY}


def test_one_of_several_regions_has_to_be_named() -> None:
    one = entry(AwsQuota(P_ON_DEMAND))
    with pytest.raises(Misconfigured, match=f"p5.48xlarge: one of the regions {REGION}, {WEST}"):
        CLOUD.questions(account(one, regions=TWO))
    with pytest.raises(Misconfigured, match="one of the regions"):
        list(CLOUD.claims(account(one, regions=TWO), one))


def test_accounts_are_told_apart_by_their_role_and_say_nothing_secret() -> None:
    arn = "arn:aws:iam::111122223333:role/quota"
    plain, assumed, with_id = (
        AwsAccount(regions=TWO, flavors=(), assume_role=role)
        for role in (None, AwsRole(arn), AwsRole(arn, external_id="sesame"))
    )
    identities = [CLOUD.identity(each) for each in (plain, assumed, with_id)]
    assert len(set(identities)) == 3
    assert CLOUD.identity(AwsAccount(regions=(WEST,), flavors=(), assume_role=AwsRole(arn))) == identities[1]
    assert [CLOUD.described(each) for each in (plain, assumed, with_id)] == [
        "AWS",
        f"AWS, role {arn}",
        f"AWS, role {arn}",
    ]
    assert "sesame" not in f"{identities}"


def test_what_is_not_of_aws_is_refused() -> None:
    with pytest.raises(TypeError, match="GcpProject is no account of AWS"):
        CLOUD.questions(GcpProject(project="p", regions=(), flavors=()))
    with pytest.raises(Misconfigured, match="no source: give it one of quota, capacityReservations, capacityBlocks"):
        CLOUD.derive(account(), AwsEntry(instance_type=P5), Answers({}), set(), NOW)
