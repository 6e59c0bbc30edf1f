"""Credentials are found as in a pod, renewed when they end, exchanged for others; none of them is ever seen."""

from __future__ import annotations

from typing import Final

from tests.clouds.gcp.gcp import WORKLOAD
from tests.integration.cloud.gcp.scenes import L4, ONLY_GPUS, Scene, on_l4
from tests.integration.providers.scenes import GPU, capacity, wait_failed, wait_published

_PAIR: Final = f"l4/{GPU}"
_GET: Final = "compute.regions.get"
_READER: Final = "reader@fleet-reader.iam.gserviceaccount.com"


def test_tokens_that_are_over_are_renewed(scene: Scene) -> None:
    """Nobody is told."""
    scene.begin({"l4": [on_l4()]}, resources=ONLY_GPUS)
    wait_published(scene.plane, {_PAIR: 8})
    assert {each.principal for each in scene.gcp.asked(_GET)} == {WORKLOAD}
    scene.gcp.expire_tokens()
    scene.set_limits({L4: 4}, {})
    wait_published(scene.plane, {_PAIR: 4})
    assert 401 in {each.status for each in scene.gcp.asked(_GET)}


def test_tokens_that_are_never_accepted_keep_the_last_capacity(scene: Scene) -> None:
    """Renewed ones are refused as well: the account is opened anew, and then that is told."""
    scene.begin({"l4": [on_l4()]}, resources=ONLY_GPUS)
    wait_published(scene.plane, {_PAIR: 8})
    scene.gcp.refuses_all_tokens = True
    wait_failed(scene.plane, "SourceUnavailable", scene.project.id, "expired")
    assert capacity(scene.plane) == {_PAIR: "8"}
    scene.gcp.mend()
    wait_published(scene.plane, {_PAIR: 8})


def test_another_account_may_be_asked_in_the_name_of(scene: Scene) -> None:
    """All calls are made in its name. Where the daemon may not, the permission is named."""
    account = {"impersonateServiceAccount": _READER}
    scene.begin({"l4": [on_l4()]}, account=account, resources=ONLY_GPUS)
    wait_failed(scene.plane, "Misconfigured", "iam.serviceAccounts.getAccessToken", _READER)
    scene.gcp.impersonable.add(_READER)
    wait_published(scene.plane, {_PAIR: 8})
    assert {each.principal for each in scene.gcp.asked(_GET)} == {_READER}


def test_a_pod_that_stands_for_no_account_is_misconfigured(scene: Scene) -> None:
    """Until it does."""
    scene.gcp.metadata_account = None
    scene.begin({"l4": [on_l4()]}, resources=ONLY_GPUS)
    wait_failed(scene.plane, "Misconfigured", "credentials", "the daemon's ServiceAccount")
    scene.gcp.metadata_account = WORKLOAD
    wait_published(scene.plane, {_PAIR: 8})
