"""Which changes lead to another pass, whichever way they come: by the watch or in the answer to a write of ours."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any, cast

import msgspec
import pytest

from kueue_dqo.api.meta import ObjectKey
from kueue_dqo.api.quotas import EffectiveQuotas
from kueue_dqo.runtime.client import Client
from orchestrator.cluster import Cluster, Enforcement
from orchestrator.enforcement.roads import Road
from tests.integration.objects import GROUP, orchestrator, queue
from tests.unit.kueue_dqo.runtime.virtual_time import VirtualClock
from tests.unit.orchestrator.builders import groups, ref

Manifest = dict[str, Any]
KEY = ObjectKey("ClusterQueue", "team-a")


class Known:
    """A cluster that holds one queue and one orchestrator, and counts the reasons for a pass."""

    def __init__(self, road: Enforcement) -> None:
        self.reasons = 0
        self.road = Road(road.value)
        self.cluster = Cluster(
            cast("Client", None),  # nothing is sent
            enforcement=road,
            on_change=self._count,
            clock=VirtualClock(),
            random=random.Random(1),
        )
        self.queue = _versioned(queue("team-a", {"default": {"cpu": "10"}}, cohort="teams"), 1)
        self.orchestrator = _versioned(orchestrator("dqo", "pool", root=("Cohort", "teams")), 2)
        self.cluster.put_quotas("ClusterQueue", _raw(self.queue))
        self.cluster.put_orchestrator(_raw(self.orchestrator))
        self.reasons = 0

    def _count(self) -> None:
        self.reasons += 1

    def patched(self, cpu: str) -> tuple[EffectiveQuotas, Manifest]:
        """Quotas, and the queue as the API server answers a write of them."""
        quotas = EffectiveQuotas(ref("dqo"), groups({"default": {"cpu": cpu}}))
        held, view = self.cluster.views[KEY]
        fields = self.road.written(held.node, quotas)
        del view
        obj = json.loads(json.dumps(self.queue))
        obj["metadata"].setdefault("annotations", {}).update(fields.get("metadata", {}).get("annotations", {}))
        obj["spec"] |= fields.get("spec", {})
        obj["status"] = fields.get("status", {})
        return quotas, _versioned(obj, 10)


@pytest.fixture(params=[Enforcement.SPEC, Enforcement.STATUS])
def known(request: pytest.FixtureRequest) -> Known:
    return Known(request.param)


def test_what_a_write_of_ours_makes_of_an_object_is_no_news(known: Known) -> None:
    """Nor is it when the watch shows it before the answer comes."""
    quotas, answer = known.patched("16")
    with known.cluster.expecting(KEY, quotas):
        known.cluster.put_quotas("ClusterQueue", _raw(answer))
        known.cluster.put_quotas("ClusterQueue", _raw(answer))
    assert known.reasons == 0
    assert known.cluster.views[KEY][1].applied == quotas


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(lambda obj: obj["spec"].update(cohortName="others"), id="another cohort"),
        pytest.param(lambda obj: obj["spec"].pop("cohortName"), id="no cohort"),
        pytest.param(lambda obj: obj["metadata"].update(uid="another"), id="made anew"),
    ],
)
def test_what_others_have_edited_is_news_in_our_answer_too(known: Known, edit: Callable[[Manifest], object]) -> None:
    """The watch is behind it then, and says nothing more."""
    quotas, answer = known.patched("16")
    edit(answer)
    with known.cluster.expecting(KEY, quotas):
        known.cluster.put_quotas("ClusterQueue", _raw(answer))
    assert known.reasons > 0


def test_a_declaration_in_our_answer_is_news() -> None:
    """On the road through the status, the spec is the admin's."""
    known = Known(Enforcement.STATUS)
    quotas, answer = known.patched("16")
    answer["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"] = "30"
    with known.cluster.expecting(KEY, quotas):
        known.cluster.put_quotas("ClusterQueue", _raw(answer))
    assert known.reasons == 1


def test_quotas_that_nobody_here_writes_are_news(known: Known) -> None:
    _, seen = known.patched("16")
    known.cluster.put_quotas("ClusterQueue", _raw(seen))
    assert known.reasons == 1


@pytest.mark.parametrize("edited", [False, True])
def test_a_spec_edited_meanwhile_is_news_in_the_answer_to_a_status(known: Known, edited: bool) -> None:
    status = known.cluster.orchestrators["dqo"].orchestrator
    assert status is not None
    condition = {"type": "Distributed", "status": "True", "reason": "QuotasDistributed", "message": "all"}
    answer = _versioned({**known.orchestrator, "status": {"conditions": [condition]}}, 11)
    wanted = msgspec.convert({"conditions": [condition]}, type=type(status.status))
    if edited:
        answer["metadata"]["generation"] = 2
        answer["spec"] = orchestrator("dqo", "other", root=("Cohort", "teams"))["spec"]
    with known.cluster.expecting_status("dqo", wanted):
        known.cluster.put_orchestrator(_raw(answer))
    assert known.reasons == int(edited)


def test_an_orchestrator_that_cannot_be_read_keeps_its_place(known: Known) -> None:
    """It has no outcome any more, and its root still counts."""
    broken = json.loads(json.dumps(known.orchestrator))
    broken["spec"]["capacityDiscovery"]["providers"] = "pool"
    known.cluster.put_orchestrator(_raw(_versioned(broken, 12)))
    snapshot = known.cluster.snapshot()
    assert snapshot.unreadable == {"dqo"}
    assert snapshot.orchestrators["dqo"].root == ObjectKey("Cohort", "teams")
    assert known.reasons == 1


def _versioned(obj: Manifest, version: int) -> Manifest:
    obj = json.loads(json.dumps(obj))
    assert obj["apiVersion"].startswith(GROUP)
    obj["metadata"] |= {"resourceVersion": str(version), "uid": obj["metadata"].get("uid", "1"), "generation": 1}
    return dict(obj)


def _raw(obj: Manifest) -> bytes:
    return json.dumps(obj).encode()
