"""Random clusters in the real Kueue: one manager serves many side by side, each goes on as soon as it has settled.

When has Kueue settled? It tells nobody, and what it sets aside it looks at again in batches, a second after the cause.
So a marker goes round: a Workload of a queue of its own that waits until the one before it is deleted, and is admitted
by the same road, controllers, batch and scheduler, as all that was caused before. A cluster in which nothing was
changed during a whole round of the marker has settled.
"""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import ssl
import threading
import urllib.parse
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, Self

import msgspec

from tests.admission.comparison import Settled, job_of, settled_of
from tests.admission.generator import CONFIGURATIONS, KUEUE, QUEUE, Cluster, Manifest
from tests.controlplane import kueue
from tests.controlplane.admin import Admin, root_of
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually

WATCHED: Final = {
    "workloads": (KUEUE, "Workload"),
    "clusterqueues": (KUEUE, "ClusterQueue"),
    "localqueues": (KUEUE, "LocalQueue"),
    "cohorts": (KUEUE, "Cohort"),
    "jobs": ("batch/v1", "Job"),
}
RESTLESS_AFTER: Final = 25
"""Rounds of the marker. A cluster that has not settled by then is taken for one that never will."""
_WRITERS: Final = 6
_MARKER: Final = "marker"
_MERGE: Final = "application/merge-patch+json"
_MANAGER: Final = {
    "clientConnection": {"qps": 4000, "burst": 8000},
    "controller": {"groupKindConcurrency": {"Job.batch": 5, "Workload.kueue.x-k8s.io": 5}},
}


@dataclass(slots=True)
class Seen:
    """What the real Kueue did with one cluster."""

    cluster: Cluster
    after: list[Settled] = field(default_factory=list)
    """The settled state after each step."""
    restless: list[int] = field(default_factory=list)
    """Steps, from 1, after which it never settled: Kueue goes on for ever."""


class Watched:
    """All objects of some kinds as they are now, kept by watches, and how often each cluster's were changed."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._token = token_of(plane)
        self._lock = threading.Lock()
        self._objects: dict[str, dict[tuple[str, str], Manifest]] = defaultdict(dict)
        self._writes: Counter[str] = Counter()
        self._failure: BaseException | None = None
        self._connections: list[http.client.HTTPSConnection] = []
        self._is_over = False
        self._threads = [threading.Thread(target=self._keep, args=(each,), daemon=True) for each in WATCHED]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        for connection in self._connections:
            if connection.sock is not None:
                connection.sock.shutdown(2)
        for thread in self._threads:
            thread.join()
        for connection in self._connections:
            connection.close()

    def writes(self) -> Counter[str]:
        """How many there were until now, by the part of a name before the first hyphen. Raises what a watch raised.

        That the message about a waiting Workload has changed is none: where two resources are short, Kueue names
        either, by chance, and looks at the head of a StrictFIFO queue again and again.
        """
        with self._lock:
            if self._failure is not None:
                raise self._failure
            return self._writes.copy()

    def objects(self, cluster: str) -> list[Manifest]:
        """Those of a cluster, by the first part of their names or their namespaces'."""
        with self._lock:
            return list(self._objects[cluster].values())

    def workload(self, namespace: str, job: str) -> Manifest | None:
        """A Workload by the name of its Job, or by its own."""
        for each in self.objects(_owner(namespace)):
            metadata = each["metadata"]
            if (
                each["kind"] == "Workload"
                and metadata["namespace"] == namespace
                and job in {job_of(each), metadata["name"]}
            ):
                return each
        return None

    def _keep(self, plural: str) -> None:
        api_version, kind = WATCHED[plural]
        tls = ssl.create_default_context(cafile=str(self._plane.ca))
        parts = urllib.parse.urlsplit(self._plane.url)
        connection = http.client.HTTPSConnection(parts.hostname or "", parts.port, context=tls)
        self._connections.append(connection)
        response: http.client.HTTPResponse | None = None
        try:
            target = f"{root_of(api_version)}/{plural}?watch=true&timeoutSeconds=7200"
            connection.request("GET", target, headers={"Authorization": f"Bearer {self._token}"})
            response = connection.getresponse()
            while line := response.readline():
                event = msgspec.json.decode(line)
                self._take(plural, kind, event)
            self._failure = EOFError(f"the watch of {plural} has ended") if not self._is_over else None
        except (OSError, http.client.HTTPException, LookupError, ValueError) as error:
            if not self._is_over:
                self._failure = error
        finally:
            if response is not None:
                response.close()

    def _take(self, plural: str, kind: str, event: Manifest) -> None:
        obj = {**event["object"], "kind": kind}
        metadata = obj["metadata"]
        namespace = metadata.get("namespace", "")
        owner = _owner(namespace or metadata["name"])
        key = (f"{plural}/{namespace}", metadata["name"])
        with self._lock:
            objects = self._objects[owner]
            before = objects.get(key)
            if before is None or event["type"] == "DELETED" or _state_of(before) != _state_of(obj):
                self._writes[owner] += 1
            if event["type"] == "DELETED":
                objects.pop(key, None)
            else:
                objects[key] = obj


def start(plane: ControlPlane, configuration: str) -> None:
    """Starts the manager, in a control plane without a Kueue of its own. `configuration`: a key of CONFIGURATIONS."""
    settings = {**_MANAGER, **CONFIGURATIONS[configuration]}
    kueue.start_manager(plane, configuration=settings, webhooks=False, log_level=1)


def run(plane: ControlPlane, clusters: Sequence[Cluster], say: Callable[[str], None] = lambda _: None) -> list[Seen]:
    """Takes all steps of clusters, whose configuration the manager must have (`start`), and which are new there.

    Returns what came of each, in the same order. Raises Refused where the API server does not take an object.
    """
    with (
        Watched(plane) as watched,
        contextlib.closing(_Writers(plane, watched)) as writers,
        ThreadPoolExecutor(_WRITERS) as pool,
    ):
        marker = _Marker(plane, watched)
        runs = [_Run(each, watched, writers) for each in clusters]
        list(pool.map(lambda each: each.go_on(), runs))
        for number in itertools.count(1):
            before = watched.writes()
            marker.go_round()
            after = watched.writes()
            going = [each for each in runs if not each.is_over]
            if not going:
                marker.end()
                return [each.seen for each in runs]
            quiet = [each for each in going if each.has_settled(before, after)]
            list(pool.map(lambda each: each.go_on(), quiet))
            say(f"round {number}: {len(going)} of {len(runs)} go on, {len(quiet)} have settled")
    raise AssertionError


class _Run:
    """One cluster on its way through its steps."""

    def __init__(self, cluster: Cluster, watched: Watched, writers: _Writers) -> None:
        self.seen = Seen(cluster)
        self.is_over = False
        self._watched = watched
        self._writers = writers
        self._owner = cluster.prefix
        self._rounds = 0
        self._actions = self._all_actions()

    def has_settled(self, before: Counter[str], after: Counter[str]) -> bool:
        """Whether nothing was changed in a round, or it has been restless for so long that nobody waits any more."""
        self._rounds += 1
        if before[self._owner] == after[self._owner]:
            return True
        if self._rounds < RESTLESS_AFTER:
            return False
        step = len(self.seen.after) + 1
        if step not in self.seen.restless:
            self.seen.restless.append(step)
        return True

    def go_on(self) -> None:
        """Writes what comes next, up to where it has to settle."""
        self._rounds = 0
        self.is_over = next(self._actions, None) is None

    def _all_actions(self) -> Iterator[str]:
        """What is no Job or Workload first, then those one by one. Settling is waited for at each `yield`."""
        for step in self.seen.cluster.steps:
            around = [each for each in step if each["kind"] not in {"Job", "Workload"}]
            if around:
                self._writers.apply(around)
                yield "surroundings"
            for each in step:
                if each["kind"] in {"Job", "Workload"}:
                    self._writers.take(each)
                    yield each["metadata"]["name"]
            self.seen.after.append(settled_of(self._watched.objects(self._owner)))


class _Writers:
    """Writes what steps say; each thread has a connection of its own."""

    def __init__(self, plane: ControlPlane, watched: Watched) -> None:
        self._plane = plane
        self._token = token_of(plane)
        self._watched = watched
        self._local = threading.local()
        self._admins: list[Admin] = []

    def close(self) -> None:
        """Closes what the threads have opened."""
        for admin in self._admins:
            admin.close()

    @property
    def admin(self) -> Admin:
        found: Admin | None = getattr(self._local, "admin", None)
        if found is None:
            found = self._local.admin = Admin(self._plane.url, self._plane.ca, self._token)
            self._admins.append(found)
        return found

    def apply(self, objects: Iterable[Manifest]) -> None:
        self.admin.apply(*objects)

    def take(self, obj: Manifest) -> None:
        """A Job that comes, changes, has finished or goes; something that is written into a Workload."""
        metadata = obj["metadata"]
        namespace, name = metadata["namespace"], metadata["name"]
        if obj["kind"] == "Workload":
            self._write_into_workload(obj)
        elif "deletionTimestamp" in metadata:
            self._delete(namespace, name)
        elif "spec" not in obj:
            self._finish(namespace, name)
        else:
            self.apply([obj])

    def _delete(self, namespace: str, name: str) -> None:
        """There is no garbage collector: its Workload goes by our hand."""
        workload = self._watched.workload(namespace, name)
        self.admin.delete(f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}")
        if workload is not None:
            self.admin.delete(f"{_workloads(namespace)}/{workload['metadata']['name']}")

    def _finish(self, namespace: str, name: str) -> None:
        path = f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}"
        job = self.admin.get(path)
        now = job["metadata"]["creationTimestamp"]
        message = "Reached expected number of succeeded pods"
        conditions = [
            {
                "type": kind,
                "status": "True",
                "reason": "CompletionsReached",
                "message": message,
                "lastProbeTime": now,
                "lastTransitionTime": now,
            }
            for kind in ("SuccessCriteriaMet", "Complete")
        ]
        status = {
            "startTime": now,
            "completionTime": now,
            "succeeded": job["spec"]["completions"],
            "conditions": conditions,
        }
        self.admin.patch(f"{path}/status", {"status": status}, _MERGE)

    def _write_into_workload(self, obj: Manifest) -> None:
        namespace, job = obj["metadata"]["namespace"], obj["metadata"]["ownerReferences"][0]["name"]
        workload = self._watched.workload(namespace, job)
        assert workload is not None, f"the Job {namespace}/{job} has no Workload"
        path = f"{_workloads(namespace)}/{workload['metadata']['name']}"
        if "spec" in obj:
            self.admin.patch(path, {"spec": obj["spec"]}, _MERGE)
        if "status" not in obj:
            return
        news = {each["name"]: each for each in obj["status"]["admissionChecks"]}
        known = self.admin.get(path)["status"].get("admissionChecks") or []
        stamp = workload["metadata"]["creationTimestamp"]
        written = [{**each, **news.get(each["name"], {}), "lastTransitionTime": stamp} for each in known]
        if written:
            self.admin.patch(f"{path}/status", {"status": {"admissionChecks": written}}, _MERGE)


class _Marker:
    """A queue of its own with room for one Workload, and in it always one that waits for the end of the other."""

    def __init__(self, plane: ControlPlane, watched: Watched) -> None:
        self._admin = plane.admin
        self._watched = watched
        self._number = 0
        metadata = {"name": _MARKER}
        quota = {"name": _MARKER, "resources": [{"name": "cpu", "nominalQuota": "1000"}]}
        self._admin.apply(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata},
            {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": metadata, "spec": {}},
            {
                "apiVersion": KUEUE,
                "kind": "ClusterQueue",
                "metadata": metadata,
                "spec": {
                    "namespaceSelector": {},
                    "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [quota]}],
                },
            },
            {
                "apiVersion": KUEUE,
                "kind": "LocalQueue",
                "metadata": {"name": QUEUE, "namespace": _MARKER},
                "spec": {"clusterQueue": _MARKER},
            },
        )
        self._create()
        self._wait("True")

    def go_round(self) -> None:
        """Returns when Kueue has done what was caused before, and what it does a second after a cause."""
        last = f"m{self._number}"
        self._create()
        self._wait("False")
        self._admin.delete(f"{_workloads(_MARKER)}/{last}")
        self._wait("True")

    def end(self) -> None:
        """Leaves room for another marker."""
        self._admin.delete(f"{_workloads(_MARKER)}/m{self._number}")

    def _create(self) -> None:
        """No two in a row are equal: Kueue sets equal ones aside without a look."""
        self._number += 1
        container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": self._request}}}
        template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
        pods = [{"name": "main", "count": 1, "template": template}]
        self._admin.apply(
            {
                "apiVersion": KUEUE,
                "kind": "Workload",
                "metadata": {"name": f"m{self._number}", "namespace": _MARKER},
                "spec": {"queueName": QUEUE, "priority": self._number, "podSets": pods},
            }
        )

    @property
    def _request(self) -> str:
        """Of cpu; two do not fit. By it, the queue's counters show whether they have the newest."""
        return str(501 + self._number % 400)

    def _wait(self, reserved: str) -> None:
        name = f"m{self._number}"

        def holds() -> bool:
            self._watched.writes()
            found = self._watched.workload(_MARKER, name) or {}
            conditions = (found.get("status") or {}).get("conditions") or []
            is_said = any(each["type"] == "QuotaReserved" and each["status"] == reserved for each in conditions)
            return is_said and (reserved == "False" or self._is_counted())

        eventually(holds, f"the marker {name} has QuotaReserved={reserved}")

    def _is_counted(self) -> bool:
        for each in self._watched.objects(_MARKER):
            if each["kind"] == "ClusterQueue":
                usage = (each.get("status") or {}).get("flavorsUsage") or []
                return any(flavor["resources"][0]["total"] == self._request for flavor in usage)
        return False


def token_of(plane: ControlPlane) -> str:
    """The administrator's."""
    return str(json.loads(plane.kubeconfig().read_text())["users"][0]["user"]["token"])


def _state_of(obj: Manifest) -> Manifest:
    """What counts as a change."""
    status = dict(obj.get("status") or {})
    conditions = status.pop("conditions", None) or []
    said = {
        each["type"]: (each["status"], each["reason"], each.get("message", "") if each["status"] == "True" else "")
        for each in conditions
    }
    return {
        "spec": obj["spec"],
        "status": status,
        "conditions": said,
        "deleted": "deletionTimestamp" in obj["metadata"],
    }


def _owner(name: str) -> str:
    return name.partition("-")[0]


def _workloads(namespace: str) -> str:
    return f"/apis/{KUEUE}/namespaces/{namespace}/workloads"
