"""The source as the publisher asks it: what it follows for whom, what it counts anew, what it forgets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection

import pytest

from kueue_dqo.api.multikueue import InactiveQueues, MultiKueueParametersSpec
from kueue_dqo.runtime.resources import CLUSTER_QUEUES, MULTI_KUEUE_CLUSTERS, MULTI_KUEUE_CONFIGS
from providers.multikueue import counting, location_watches, session, source
from providers.multikueue.objects import WorkerCount, WorkerView
from tests.unit.providers.multikueue.manager_objects import listed
from tests.unit.providers.multikueue.scene import Scene, eventually
from tests.unit.providers.multikueue.worker_api import queue


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    found = Scene(oslo=6, paris=4)
    async with found.running():
        yield found


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> list[WorkerView]:
    """What was counted."""
    found: list[WorkerView] = []

    def count(view: WorkerView, reached: Collection[str], spec: MultiKueueParametersSpec) -> WorkerCount:
        found.append(view)
        return counting.count(view, reached, spec)

    monkeypatch.setattr(source, "count", count)
    return found


async def test_what_the_workers_have_is_added_up_and_changes_are_followed(scene: Scene) -> None:
    assert (await scene.observe()).summary.startswith("gpu: 10 cpu from 2 workers; largest single worker: 6 cpu (oslo)")
    await eventually(lambda: scene.workers["paris"].watchers == 2)
    scene.quota("paris", 9)
    await scene.until("gpu: 15 cpu from 2 workers; largest single worker: 9 cpu (paris)")


async def test_a_change_of_one_worker_is_no_reason_to_count_the_others(scene: Scene, counts: list[WorkerView]) -> None:
    await scene.observe()
    assert len(counts) == 2
    await scene.observe()
    assert len(counts) == 2
    await eventually(lambda: scene.workers["paris"].watchers == 2)
    scene.quota("paris", 9)
    await scene.until("15 cpu")
    assert len(counts) == 3


async def test_other_parameters_are_counted_anew(scene: Scene, counts: list[WorkerView]) -> None:
    await scene.observe()
    await scene.observe(listed("team", inactive_queues=InactiveQueues.COUNT))
    assert len(counts) == 4


async def test_a_worker_that_is_named_no_more_is_let_go(scene: Scene) -> None:
    await scene.observe()
    await eventually(lambda: scene.workers["paris"].watchers == 2)
    scene.name_workers("oslo")
    await scene.until("gpu: 6 cpu from 1 worker")
    await eventually(lambda: scene.workers["paris"].watchers == 0)
    assert scene.workers["oslo"].watchers == 2


async def test_a_cluster_that_is_deleted_is_held_and_another_one_when_it_comes_back(scene: Scene) -> None:
    """Nothing is read of it meanwhile: its credentials are not what anybody names any more."""
    await scene.observe()
    await eventually(lambda: scene.workers["paris"].watchers == 2)
    scene.client.delete(MULTI_KUEUE_CLUSTERS, "paris")
    held = await scene.until("held until")
    assert "gpu: 10 cpu from 2 workers" in held.summary
    assert "MultiKueueCluster paris does not exist" in held.summary
    await eventually(lambda: scene.workers["paris"].watchers == 0)
    scene.quota("paris", 9)
    scene.connect("paris")
    assert "held until" not in (await scene.until("gpu: 15 cpu from 2 workers")).summary


async def test_a_worker_that_cannot_be_read_is_told_in_messages_about_other_things(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the message that is published lasts longer than the process."""
    monkeypatch.setattr(session, "_TOLERATED", 0.05)
    await scene.observe()
    scene.workers["paris"].refuses = 503
    scene.workers["paris"].cut()
    await scene.until("held until")
    scene.client.delete(MULTI_KUEUE_CONFIGS, "config")
    message = await scene.error_with("which does not exist")
    assert "paris, unavailable since" in message
    assert "oslo, unavailable since" not in message


async def test_a_provider_that_nobody_asks_about_any_more_leaves_nothing_behind(scene: Scene) -> None:
    await scene.observe()
    labels = {"provider": "fleet", "worker": "oslo"}
    assert scene.registry.get_sample_value("kueue_dqo_multikueue_worker_available", labels) == 1
    scene.source.forget("fleet")
    assert scene.registry.get_sample_value("kueue_dqo_multikueue_worker_available", labels) is None
    await eventually(lambda: all(each.watchers == 0 for each in scene.workers.values()))
    await eventually(lambda: not requests_of(scene, "oslo"))
    assert "10 cpu" in (await scene.observe()).summary


async def test_a_provider_may_be_forgotten_while_its_question_waits(scene: Scene) -> None:
    """As where another replica becomes the leader; it is not taken up again by its answer."""
    scene.workers["paris"].answers.clear()
    question = asyncio.create_task(scene.error())
    await eventually(lambda: scene.workers["oslo"].watchers == 2)
    scene.source.forget("fleet")
    scene.workers["paris"].answers.set()
    assert "nobody asks about CapacityProvider fleet any more" in await question
    labels = {"provider": "fleet", "worker": "oslo"}
    assert scene.registry.get_sample_value("kueue_dqo_multikueue_worker_available", labels) is None
    await eventually(lambda: all(each.watchers == 0 for each in scene.workers.values()))
    assert "10 cpu" in (await scene.observe()).summary


async def test_a_kubeconfig_that_is_not_followed_is_told_once_it_is_so_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is known of the workers counts meanwhile."""
    monkeypatch.setattr(location_watches, "_LONGEST_UNFOLLOWED", 0.2)
    scene = Scene(oslo=6)
    scene.client.may_watch_secrets = False
    async with scene.running():
        assert (await scene.observe()).notices == ()
        looks = scene.looks
        await eventually(lambda: scene.looks > looks)
        (notice,) = (await scene.observe()).notices
    assert notice.reason == "KubeconfigNotFollowed"
    assert notice.message.startswith("worker oslo: changes of Secret ours/oslo are not seen: reading it takes a Role ")
    assert "allows list and watch of secrets with the resourceName oslo; no permission to watch" in notice.message


def requests_of(scene: Scene, worker: str) -> list[str]:
    """The series of requests to it."""
    return [
        sample.name
        for family in scene.registry.collect()
        for sample in family.samples
        if family.name == "kueue_dqo_multikueue_worker_requests" and sample.labels.get("worker") == worker
    ]


async def test_a_cluster_under_two_names_is_a_mistake_also_while_one_of_them_is_held(scene: Scene) -> None:
    """What is held counts on, so it would count twice."""
    await scene.observe()
    await eventually(lambda: scene.workers["paris"].watchers == 2)
    scene.client.delete(MULTI_KUEUE_CLUSTERS, "oslo")
    await scene.until("held until")
    content = queue("team", 9)
    content["metadata"]["uid"] = "of-oslo"
    scene.workers["paris"].put("clusterqueues", content)
    message = await scene.error_with("leads to the same cluster as")
    assert "MultiKueueCluster paris leads to the same cluster as MultiKueueCluster oslo" in message


async def test_the_manager_is_no_worker_of_its_own(scene: Scene) -> None:
    await scene.observe()
    await eventually(lambda: scene.workers["paris"].watchers == 2)
    content = queue("team", 9)
    content["metadata"]["uid"] = "of-the-manager"
    scene.workers["paris"].put("clusterqueues", content)
    await scene.until("gpu: 15 cpu")
    mine = scene.client.of(CLUSTER_QUEUES).objects["team"]
    scene.client.put(CLUSTER_QUEUES, {**mine, "metadata": {"name": "team", "uid": "of-the-manager"}})
    assert "MultiKueueCluster paris leads to the same cluster as the manager itself" in await scene.error_with("itself")
