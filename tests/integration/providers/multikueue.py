"""The adapter of the provider for MultiKueue: its one worker is the manager, which saves a control plane.

Each flavor has a ClusterQueue and a LocalQueue of its name. On the manager it is the queue whose Workloads are
dispatched; on the worker, the same object is what its LocalQueue leads to, so its quotas are what there is. A manager
that is its own worker is refused, so a relay gives the objects other UIDs on the way: another cluster, as it seems.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Final

from kueue_dqo.api.multikueue import MULTIKUEUE_CONTROLLER, MULTIKUEUE_PARAMETERS
from tests.integration.multikueue.fleet import (
    CHECKS,
    CLUSTERS,
    CONFIGS,
    LOCAL_QUEUES,
    SECRETS,
    check,
    cluster,
    config,
    dispatched,
    leads,
    secret,
)
from tests.integration.multikueue.relay import running_relay, with_other_uids
from tests.integration.multikueue.worker import READER, Worker
from tests.integration.objects import Manifest
from tests.integration.providers.adapter import Adapter
from tests.integration.providers.scenes import clear

_WORKER: Final = "worker1"


class MultiKueue(Adapter):
    """A queue for each flavor, on a worker that is the same cluster behind a relay."""

    command = "multikueue"
    controller = MULTIKUEUE_CONTROLLER
    kind = MULTIKUEUE_PARAMETERS
    plural = "multikueueparameters"
    folders = ("base/multikueue", READER)

    kubeconfig: str

    def prepare(self, stack: ExitStack) -> None:
        server = stack.enter_context(running_relay(self.plane, with_other_uids))
        self.kubeconfig = Worker(_WORKER, self.plane).kubeconfig(server=server)

    def spec(self) -> dict[str, Any]:
        return {
            "managerQueues": {"clusterQueues": list(self.amounts)},
            "flavorMapping": [{"workerFlavor": name, "flavor": name} for name in self.amounts],
            "unavailableWorkers": {"grace": "0s"},
        }

    def tell(self) -> None:
        self.plane.admin.apply(check(), config(_WORKER), cluster(_WORKER), *self._queues())
        self.recover()

    def _queues(self) -> Iterator[Manifest]:
        for name, resources in self.amounts.items():
            yield dispatched(name, {name: resources})
            yield leads(name, name)

    def fail(self) -> str:
        """There is no kubeconfig of the only worker any more."""
        self.plane.admin.delete(f"{SECRETS}/{_WORKER}")
        return "SourceUnavailable"

    def recover(self) -> None:
        self.plane.admin.apply(secret(_WORKER, self.kubeconfig))

    def clear(self) -> None:
        super().clear()
        clear(self.plane, CHECKS, CONFIGS, CLUSTERS, LOCAL_QUEUES)
        self.plane.admin.delete(f"{SECRETS}/{_WORKER}")
