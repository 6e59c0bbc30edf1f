"""A manager of MultiKueue and two workers, each a control plane of its own, and the daemon on the manager.

Worker 1 has queues of 6 and of 7 cpu, reached by one LocalQueue each; worker 2 has one of 8 cpu and 5 GPUs, reached by
both. Each worker also has a queue that nobody of the manager can reach.
"""

from __future__ import annotations

import base64
import http.client
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from kueue_dqo.api.multikueue import MULTIKUEUE_CONTROLLER, MULTIKUEUE_PARAMETERS
from tests.controlplane.admin import Refused, root_of
from tests.controlplane.cleanup import remove_objects
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import NAMESPACE, Daemon, install, start_daemon
from tests.integration.multikueue.worker import READER, Worker
from tests.integration.objects import GROUP, PROVIDERS, QUEUES, Manifest, flavor, provider, queue
from tests.integration.orchestrator.spec_road.scenes import local_queue
from tests.integration.providers.adapter import servers_ended
from tests.integration.providers.scenes import (
    GPU,
    OURS,
    POOL,
    capacity_of,
    clear,
    condition_of,
    events,
    history_of_providers,
    published_in,
    wait_failed,
    wait_observed,
    wait_published,
    wait_until,
)

FLAVOR: Final = "gpu"
"""The manager's one flavor."""
CPU: Final = f"{FLAVOR}/cpu"
GPUS: Final = f"{FLAVOR}/{GPU}"
ALL: Final = {CPU: 21, GPUS: 5}
"""What both workers have."""
WITHOUT_2: Final = {CPU: 13, GPUS: 0}
"""What the first has alone: GPUs that were there, and are not, are zero."""
FIRST, SECOND, THIRD = "first", "second", "third"
"""LocalQueues; the manager has no third one."""
TEAM: Final = "team"
"""The manager's ClusterQueue."""
DISPATCH: Final = "dispatch"
"""Its AdmissionCheck, and the MultiKueueConfig."""
PARAMETERS: Final = f"{OURS}/multikueueparameters"
CLUSTERS: Final = f"/apis/{GROUP}/v1beta2/multikueueclusters"
CONFIGS: Final = f"/apis/{GROUP}/v1beta2/multikueueconfigs"
CHECKS: Final = f"/apis/{GROUP}/v1beta2/admissionchecks"
LOCAL_QUEUES: Final = f"/apis/{GROUP}/v1beta2/namespaces/default/localqueues"
OF_THE_MANAGER: Final = (PARAMETERS, CHECKS, CONFIGS, CLUSTERS, LOCAL_QUEUES)
"""What there is on the manager beside ClusterQueues."""
SECRETS: Final = f"/api/v1/namespaces/{NAMESPACE}/secrets"
LONG: Final = "1h"
"""A grace time that no test outlives."""


# --- objects of the manager ------------------------------------------------------------------------------------------


def cluster(name: str, location: str = "", *, kind: str = "Secret") -> Manifest:
    """A MultiKueueCluster whose kubeconfig is in the Secret of its name, or elsewhere."""
    source = {"kubeConfig": {"location": location or name, "locationType": kind}}
    return {
        "apiVersion": f"{GROUP}/v1beta2",
        "kind": "MultiKueueCluster",
        "metadata": {"name": name},
        "spec": {"clusterSource": source},
    }


def config(*clusters: str) -> Manifest:
    """The MultiKueueConfig."""
    return {
        "apiVersion": f"{GROUP}/v1beta2",
        "kind": "MultiKueueConfig",
        "metadata": {"name": DISPATCH},
        "spec": {"clusters": list(clusters)},
    }


def check() -> Manifest:
    """The AdmissionCheck of MultiKueue."""
    parameters = {"apiGroup": GROUP, "kind": "MultiKueueConfig", "name": DISPATCH}
    return {
        "apiVersion": f"{GROUP}/v1beta2",
        "kind": "AdmissionCheck",
        "metadata": {"name": DISPATCH},
        "spec": {"controllerName": f"{GROUP}/multikueue", "parameters": parameters},
    }


def dispatched(name: str, quotas: Mapping[str, Mapping[str, Any]], **spec: Any) -> Manifest:
    """A ClusterQueue of the manager whose Workloads go to workers."""
    return queue(name, quotas, admissionChecksStrategy={"admissionChecks": [{"name": DISPATCH}]}, **spec)


def leads(name: str, cluster_queue: str, **spec: Any) -> Manifest:
    """A LocalQueue of that name that leads to a ClusterQueue."""
    found = local_queue(cluster_queue)
    return {**found, "metadata": {**found["metadata"], "name": name}, "spec": {**found["spec"], **spec}}


def parameters(**spec: Any) -> Manifest:
    """Of the queue `team`; a worker that is away counts for an hour, unless the spec says otherwise."""
    defaults = {"managerQueues": {"clusterQueues": [TEAM]}, "unavailableWorkers": {"grace": LONG}}
    return {
        "apiVersion": "kueue-dqo.dev/v1alpha1",
        "kind": MULTIKUEUE_PARAMETERS,
        "metadata": {"name": POOL},
        "spec": {**defaults, **spec},
    }


def secret(name: str, kubeconfig: str) -> Manifest:
    """What the daemon reads of the manager's Secrets."""
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"kubeconfig": kubeconfig}}


# --- the fleet -------------------------------------------------------------------------------------------------------


class Fleet:
    """The three clusters, without objects until `begin`."""

    def __init__(self, manager: ControlPlane, first: ControlPlane, second: ControlPlane, files: Path) -> None:
        """`files`: the only folder from which the daemon takes kubeconfigs by their paths."""
        self.manager = manager
        self.installed = install(manager, "base/namespace", "base/multikueue")
        for worker in (first, second):
            install(worker, READER)
        self.worker1 = Worker("worker1", first)
        self.worker2 = Worker("worker2", second)
        self.files = files
        self.daemon: Daemon

    def start(self, name: str = "multikueue", *arguments: str, **options: Any) -> Daemon:
        """Starts a daemon as shipped: see `start_daemon`."""
        environment = {"DQO_KUBECONFIG_FOLDER": str(self.files), **options.pop("environment", {})}
        return start_daemon(
            self.manager, self.installed, name=name, arguments=arguments, environment=environment, **options
        )

    def begin(self, **spec: Any) -> None:
        """Everything is there, and its capacity published; `spec` is laid over that of `parameters`."""
        self.provide(**spec)
        self.wait_whole(ALL)

    def provide(self, *, second: str = "", **spec: Any) -> None:
        """Everything is there; the second worker's kubeconfig is this text, or the reader's."""
        self.worker1.plane.admin.apply(
            queue("six", {"cheap": {"cpu": 6}}),
            queue("seven", {"cheap": {"cpu": 7}}),
            queue("unrelated", {"cheap": {"cpu": 100}}),
            leads(FIRST, "six"),
            leads(SECOND, "seven"),
            leads(THIRD, "unrelated"),
        )
        self.worker2.plane.admin.apply(
            queue("eight", {"fast": {"cpu": 8, GPU: 5}}),
            queue("unrelated", {"fast": {"cpu": 100, GPU: 100}}),
            leads(FIRST, "eight"),
            leads(SECOND, "eight"),
        )
        self.give(self.worker1)
        self.give(self.worker2, second)
        admin = self.manager.admin
        admin.apply(
            flavor(FLAVOR), cluster("worker1"), cluster("worker2"), config("worker1", "worker2"), check(),
            dispatched(TEAM, {FLAVOR: {"cpu": 1, GPU: 1}}), leads(FIRST, TEAM), leads(SECOND, TEAM),
        )  # fmt: skip
        self.configure(**spec)
        admin.apply(provider(POOL, FLAVOR, controller=MULTIKUEUE_CONTROLLER, parameters=parameters()))

    def configure(self, **spec: Any) -> None:
        """The parameters are those of `parameters` with this spec laid over, from now on."""
        self.manager.admin.apply(parameters(**spec))

    def give(self, worker: Worker, text: str = "") -> None:
        """The manager has a kubeconfig of the worker in the Secret of its name: this text, or the reader's."""
        self.manager.admin.apply(secret(worker.name, text or worker.kubeconfig()))

    def take(self, name: str) -> None:
        """The Secret is there no more."""
        self.manager.admin.delete(f"{SECRETS}/{name}")

    def wait(self, wanted: Mapping[str, Any], *parts: str) -> str:
        """Until this capacity is published, with a message of these parts. Returns that."""
        return wait_published(self.manager, wanted, *parts)

    def wait_whole(self, wanted: Mapping[str, Any]) -> str:
        """Until this capacity is published, and every worker can be read. Returns the message."""
        texts = {pair: str(amount) for pair, amount in wanted.items()}

        def is_whole(obj: Manifest) -> bool:
            condition = condition_of(obj)
            said = condition.get("message", "unavailable")
            return capacity_of(obj) == texts and condition["status"] == "True" and "unavailable" not in said

        return str(condition_of(wait_until(self.manager, is_whole, f"{texts} of workers that can be read"))["message"])

    def wait_failed(self, reason: str, *parts: str) -> str:
        """Until nothing can be published for this reason. Returns the message."""
        return wait_failed(self.manager, reason, *parts)

    def look(self, times: int = 1) -> None:
        """The daemon looks again although nothing has changed."""
        wait_observed(self.manager, self.daemon, times)

    @contextmanager
    def no_dip(self, wanted: Mapping[str, Any]) -> Iterator[None]:
        """Asserts that no other capacity was published meanwhile."""
        history = history_of_providers(self.manager)
        yield
        expected = {pair: str(amount) for pair, amount in wanted.items()}
        assert [each for each in published_in(history.versions()) if each != expected] == []

    def everything_told(self, daemon: Daemon) -> str:
        """The log, the metrics, statuses and Events, as anybody may see them."""
        admin = self.manager.admin
        statuses = [admin.items(path) for path in (PROVIDERS, PARAMETERS)]
        log = daemon.server.log.read_text(encoding="utf-8")
        return "\n".join([log, daemon.get("/metrics")[1], repr(statuses), repr(events(self.manager))])

    def secrets(self) -> list[str]:
        """Every token that was issued, also as it stands in a Secret."""
        tokens = [*self.worker1.issued, *self.worker2.issued]
        return [*tokens, *(base64.b64encode(each.encode()).decode() for each in tokens)]

    def revive(self) -> None:
        """The API server of the second worker runs again, where it does not run."""
        plane = self.worker2.plane
        if plane.api_server.is_running:
            return
        plane.api_server.start()
        for api_version in (f"{GROUP}/v1beta2", f"{GROUP}/v1alpha1", "kueue-dqo.dev/v1alpha1"):
            for plural in plane.admin.resources_of(api_version):
                path = f"{root_of(api_version)}/{plural}"
                eventually(lambda path=path: _is_open(plane, path), f"{path} is served")  # type: ignore[misc]  # mypy infers no type for a default

    def clear(self) -> None:
        """All three are empty again, but for what is installed."""
        # First what makes the daemon look for others.
        clear(self.manager, *OF_THE_MANAGER)
        for worker in (self.worker1, self.worker2):
            self.take(worker.name)
            clear(worker.plane, LOCAL_QUEUES)


def _is_open(plane: ControlPlane, path: str) -> bool:
    """A server that was started again opens the storage of a kind of objects when it is first asked for any."""
    try:
        plane.admin.items(path)
    except Refused as error:
        if error.code != http.client.TOO_MANY_REQUESTS:
            raise
        return False
    return True


def quota(worker: Worker, name: str, field: str, value: Any) -> None:
    """A field of the first resource of a ClusterQueue."""
    found = worker.plane.admin.get(f"{QUEUES}/{name}")["spec"]["resourceGroups"]
    found[0]["flavors"][0]["resources"][0][field] = value
    worker.plane.admin.patch(f"{QUEUES}/{name}", {"spec": {"resourceGroups": found}})


@contextmanager
def running(manager: ControlPlane, first: ControlPlane, second: ControlPlane, files: Path) -> Iterator[Fleet]:
    """With the daemon, until the end."""
    with servers_ended(manager):
        fleet = Fleet(manager, first, second, files)
        fleet.daemon = fleet.start()
        yield fleet
    for each in (manager, first, second):
        remove_objects(each)
