"""In whose name AWS is asked: a role of the pod by its web identity, and roles of other accounts. Nothing leaks."""

from __future__ import annotations

import pytest

from tests.clouds.aws import faults, rows
from tests.clouds.aws.faults import Deny, Refuse
from tests.clouds.aws.wire import Refusal
from tests.integration.cloud.aws.scenes import (
    CPU,
    H100,
    P_QUOTA,
    QUOTA,
    Scene,
    quota_entry,
    reservations_entry,
)
from tests.integration.providers.scenes import (
    capacity,
    condition_of,
    history_of_providers,
    wait_failed,
    wait_published,
)

OTHER: str = "444455556666"


def test_a_session_that_is_over_is_renewed_unnoticed(scene: Scene) -> None:
    """Before its time, as where clocks differ. Nothing is told of it."""
    scene.begin()
    history = history_of_providers(scene.plane)
    scene.aws.credentials.expire()
    scene.aws.region().apply(P_QUOTA, 576)
    scene.wait(24, 576)
    found = [condition_of(each.obj)["status"] for each in history.versions() if each.obj is not None]
    assert set(found) == {"True"}


def test_a_token_that_has_expired_heals_when_it_is_renewed(scene: Scene) -> None:
    """The kubelet does that in the file. The last capacity stays meanwhile."""
    scene.begin()
    scene.aws.credentials.web_tokens.clear()
    scene.aws.credentials.expire()
    wait_failed(scene.plane, "SourceUnavailable", "expired")
    assert capacity(scene.plane) == {H100: "16", CPU: "384"}
    scene.renew_token()
    scene.wait(16, 384)


def test_no_credentials_are_misconfigured(scene: Scene) -> None:
    """The token is not where it should be. Once it is, nothing has to be started anew."""
    scene.begin()
    scene.token.unlink()
    scene.aws.credentials.expire()
    wait_failed(scene.plane, "Misconfigured", str(scene.token), "identity")
    assert capacity(scene.plane) == {H100: "16", CPU: "384"}
    scene.renew_token()
    scene.wait(16, 384)


def test_several_accounts_are_asked_by_their_roles(scene: Scene) -> None:
    """Each has its own numbers, and its own reservations."""
    role = scene.aws.credentials.role("quota-reader", OTHER, external_id="between-the-two-of-us")
    scene.aws.region().apply(P_QUOTA, 384)
    other = scene.aws.region(account=OTHER)
    other.apply(P_QUOTA, 768)
    other.reservations = [rows.reservation("cr-0000000a", rows.P5, 1, OwnerId=OTHER)]
    scene.ask({"h100": [quota_entry()]})
    theirs = {"assumeRole": {"arn": role, "externalId": "between-the-two-of-us"}}
    scene.ask({"h100": [quota_entry(), reservations_entry("cr-0000000a")]}, name="theirs", account=theirs)
    wait_published(scene.plane, {H100: 32, CPU: 768}, name="theirs")
    scene.wait(16, 384)
    assert scene.aws.count(QUOTA, account=OTHER) > 0


def test_a_role_that_may_not_be_assumed_is_named(scene: Scene) -> None:
    """With the permission. What the external id was is not told."""
    role = scene.aws.credentials.role("quota-reader", OTHER, external_id="between-the-two-of-us")
    scene.ask({"h100": [quota_entry()]}, account={"assumeRole": {"arn": role, "externalId": "a-bad-guess"}})
    said = wait_failed(scene.plane, "Misconfigured", "sts:AssumeRole", role)
    assert "a-bad-guess" not in said


@pytest.mark.parametrize("kind", [faults.HalfAnswer, faults.Page])
def test_what_sts_cannot_end_is_told_without_its_words(kind: type[faults.HalfAnswer], scene: Scene) -> None:
    """Half of its answer holds a key."""
    role = scene.aws.credentials.role("quota-reader", OTHER)
    scene.aws.add(kind(operation="sts:AssumeRole"))
    scene.aws.region(account=OTHER).apply(P_QUOTA, 192)
    scene.ask({"h100": [quota_entry()]}, account={"assumeRole": {"arn": role}})
    wait_failed(scene.plane, "SourceUnavailable", role)
    _assert_nothing_secret(scene)
    scene.aws.heal()
    scene.wait(8, 192)


def test_nothing_secret_is_told(scene: Scene) -> None:
    """Not by log, metrics, status or Event, where AWS names keys in its errors."""
    role = scene.aws.credentials.role("quota-reader", OTHER, external_id="between-the-two-of-us")
    account = {"assumeRole": {"arn": role, "externalId": "between-the-two-of-us"}}
    scene.aws.region(account=OTHER).apply(P_QUOTA, 384)
    scene.ask({"h100": [quota_entry()]}, account=account)
    scene.wait(16, 384)
    keys = ", ".join(sorted(scene.aws.credentials.key_ids()))
    words = f"The keys you provided do not exist in our records: {keys}"
    scene.aws.add(Refuse(QUOTA, refusal=Refusal("InvalidAccessKeyId", words, 403)))
    wait_failed(scene.plane, "Misconfigured", "InvalidAccessKeyId", "do not exist in our records")
    _assert_nothing_secret(scene)
    scene.aws.heal()
    scene.aws.add(Deny(QUOTA))
    wait_failed(scene.plane, "Misconfigured", "quota-reader")
    _assert_nothing_secret(scene)


def _assert_nothing_secret(scene: Scene) -> None:
    told = scene.everything_told()
    assert P_QUOTA in told
    leaks = [told[max(told.index(each) - 200, 0) :][:300] for each in scene.aws.credentials.secrets() if each in told]
    assert leaks == []
