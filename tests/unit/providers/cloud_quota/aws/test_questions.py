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
from tests.unit.providers.cloud_quota.aws.entries import (
    NOW,
    OTHER,
    OWN,
    P5,
    P_ON_DEMAND,
    REGION,
    account,
    blocks,
    derived,
    entry,
    on_demand,
)

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


@pytest.mark.parametrize(
    ("one", "account_id", "is_asked"),
    [
        (entry(AwsQuota(P_ON_DEMAND)), None, False),
        (entry(AwsQuota(P_ON_DEMAND)), OWN, True),
        (entry(on_demand("cr-a")), None, True),
        (entry(on_demand("cr-a"), share="1"), None, False),
        (entry(blocks("cr-a"), share="0.5"), OWN, True),
    ],
)
def test_whose_credentials_they_are_is_asked_where_that_matters(
    one: AwsEntry, account_id: str | None, is_asked: bool
) -> None:
    assert (OwnAccountQuestion(REGION) in CLOUD.questions(account(one, account_id=account_id))) is is_asked


def test_credentials_of_another_account_are_refused() -> None:
    one = entry(AwsQuota(P_ON_DEMAND))
    assert derived(one, value=384, account_id=OWN).instances == 2
    with pytest.raises(Misconfigured, match=f"credentials are of account {OTHER}, and accountId is {OWN}"):
        derived(one, value=384, account_id=OWN, own=OTHER)


def test_calls_are_counted_by_api_and_region() -> None:
    questions = CLOUD.questions(account(entry(AwsQuota(P_ON_DEMAND)), entry(blocks("cr-a"))))
    assert {each.scope for each in questions} == {
        f"servicequotas in {REGION}",
        f"ec2 in {REGION}",
        f"sts in {REGION}",
    }


def test_accounts_are_told_apart_by_their_role_and_say_nothing_secret() -> None:
    arn = "arn:aws:iam::111122223333:role/quota"
    plain, assumed, with_id = (
        AwsAccount(regions=TWO, flavors=(), assume_role=role)
        for role in (None, AwsRole(arn), AwsRole(arn, external_id="sesame"))
    )
    identities = [CLOUD.identity(each) for each in (plain, assumed, with_id)]
    assert len(set(identities)) == 3
    assert CLOUD.identity(AwsAccount(regions=(REGION,), flavors=(), assume_role=AwsRole(arn))) == identities[1]
    # STS is asked in the first region: one where that fails must not stick to others.
    assert CLOUD.identity(AwsAccount(regions=(WEST,), flavors=(), assume_role=AwsRole(arn))) != identities[1]
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
