"""Watches of what on a manager leads from its queues to worker clusters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kueue_dqo.api.kueue import MultiKueueCluster
from kueue_dqo.provider import Environment
from kueue_dqo.runtime.resources import (
    ADMISSION_CHECKS,
    CLUSTER_QUEUES,
    COHORTS,
    LOCAL_QUEUES,
    MULTI_KUEUE_CLUSTERS,
    MULTI_KUEUE_CONFIGS,
)
from providers.caches import Caches
from providers.multikueue import decoding
from providers.multikueue.objects import Manager, Unreadable


class ManagerWatch(Caches):
    """`look` is called after a change of something that counts, of which the usage of queues is none."""

    def __init__(self, environment: Environment, *, on_cluster: Callable[[], None], look: Callable[[], None]) -> None:
        """`on_cluster` is called when a MultiKueueCluster came, changed or went, before `look`."""
        super().__init__(environment, look=look)
        self._on_cluster = on_cluster
        self._clusters = self.follow(MULTI_KUEUE_CLUSTERS, decoding.multi_kueue_cluster, self._cluster_changed)
        self._manager = Manager(
            queues=self.follow(CLUSTER_QUEUES, decoding.manager_queue, self._changed).objects,
            cohorts=self.follow(COHORTS, decoding.cohort_parent, self._changed).objects,
            local_queues=self.follow(LOCAL_QUEUES, decoding.local_queue, self._changed).objects,
            checks=self.follow(ADMISSION_CHECKS, decoding.admission_check, self._changed).objects,
            configs=self.follow(MULTI_KUEUE_CONFIGS, decoding.multi_kueue_config, self._changed).objects,
            clusters=self._clusters.objects,
        )

    @property
    def manager(self) -> Manager:
        """What is there, a live view."""
        return self._manager

    @property
    def clusters(self) -> Mapping[str, MultiKueueCluster | Unreadable]:
        """The worker clusters by name, a live view."""
        return self._clusters.objects

    def _changed(self, name: str, old: Any, new: Any) -> None:
        del name
        if new != old and self.is_good:  # else the end of the first lists is told at once
            self._look()

    def _cluster_changed(self, name: str, old: Any, new: Any) -> None:
        if new != old:
            self._on_cluster()
        self._changed(name, old, new)
