"""Short ways to say what a manager has and what a CapacityProvider asks of it."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from typing import Any

from kueue_dqo.api import dqo
from kueue_dqo.api.kueue import (
    MULTI_KUEUE_CONTROLLER,
    AdmissionCheck,
    AdmissionCheckParameters,
    AdmissionCheckRule,
    AdmissionCheckSpec,
    MultiKueueConfig,
    MultiKueueConfigSpec,
)
from kueue_dqo.api.meta import KUEUE_GROUP, ObjectMeta
from kueue_dqo.api.multikueue import (
    MULTIKUEUE_CONTROLLER,
    MULTIKUEUE_PARAMETERS,
    ManagerQueues,
    MultiKueueParametersSpec,
    Subtree,
)
from kueue_dqo.provider import Peer, Request
from providers.multikueue.objects import LocalQueue, Manager, ManagerQueue, Unreadable

Spec = MultiKueueParametersSpec


def queue(*checks: str | tuple[str, tuple[str, ...]], parent: str = "") -> ManagerQueue:
    """A queue with these AdmissionChecks; a pair is a check on some flavors."""
    rules = (AdmissionCheckRule(each) if isinstance(each, str) else AdmissionCheckRule(*each) for each in checks)
    return ManagerQueue(parent, tuple(rules))


def check(
    config: str | None = "config", *, kind: str = "MultiKueueConfig", group: str = KUEUE_GROUP, controller: str = ""
) -> AdmissionCheck:
    parameters = AdmissionCheckParameters(group, kind, config) if config is not None else None
    spec = AdmissionCheckSpec(controller or MULTI_KUEUE_CONTROLLER, parameters)
    return AdmissionCheck(ObjectMeta("check"), spec)


def config(*clusters: str) -> MultiKueueConfig:
    return MultiKueueConfig(ObjectMeta("config"), MultiKueueConfigSpec(clusters))


def manager(
    queues: Mapping[str, ManagerQueue | Unreadable],
    local_queues: Mapping[str, str | LocalQueue | Unreadable] | None = None,
    *,
    cohorts: Mapping[str, str | Unreadable] | None = None,
    checks: Mapping[str, AdmissionCheck | Unreadable] | None = None,
    configs: Mapping[str, MultiKueueConfig | Unreadable] | None = None,
) -> Manager:
    """One whose check `mk` leads to worker1 and worker2, unless said otherwise."""
    leading = {key: LocalQueue(each) if isinstance(each, str) else each for key, each in (local_queues or {}).items()}
    return Manager(
        queues=queues,
        cohorts=cohorts or {},
        local_queues=leading,
        checks={"mk": check()} if checks is None else checks,
        configs={"config": config("worker1", "worker2")} if configs is None else configs,
        clusters={},
    )


def listed(*names: str, **others: Any) -> Spec:
    return Spec(manager_queues=ManagerQueues(cluster_queues=names), **others)


def below(kind: str, name: str, **others: Any) -> Spec:
    return Spec(manager_queues=ManagerQueues(subtree=Subtree(kind, name)), **others)


def provider(name: str = "fleet", flavors: Iterable[str] = ("gpu",)) -> dqo.CapacityProvider:
    ref = dqo.ParametersRef("kueue-dqo.dev", MULTIKUEUE_PARAMETERS, f"{name}-parameters")
    spec = dqo.CapacityProviderSpec(MULTIKUEUE_CONTROLLER, tuple(map(dqo.FlavorRef, flavors)), ref)
    return dqo.CapacityProvider(ObjectMeta(name, generation=1), spec)


def request(
    asked: Spec, *peers: tuple[dqo.CapacityProvider, Spec | None], flavors: Iterable[str] = ("gpu",)
) -> Request[Spec]:
    mine = provider(flavors=flavors)
    return Request(
        provider=mine,
        parameters=asked,
        flavors={},
        peers=tuple(Peer(*peer) for peer in peers),
        providers={"fleet": mine, **{each.metadata.name: each for each, _ in peers}},
        now=datetime.datetime(2026, 12, 1, 12, tzinfo=datetime.UTC),
    )
