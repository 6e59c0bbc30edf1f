"""Kubeconfigs: changed, revoked, replaced, from files; nothing of them is told."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tests.controlplane.faults import WATCHES, Delay
from tests.controlplane.processes import LOOPBACK, eventually, free_port
from tests.integration.multikueue.fleet import ALL, CPU, GPUS, WITHOUT_2, Fleet, cluster, quota
from tests.integration.multikueue.worker import Worker
from tests.integration.providers.scenes import history_of_providers, published_in
from tests.integration.proxies import Proxy

PASSWORD: Final = "correct-horse-battery-staple"  # noqa: S105  # of nobody
_CREDENTIAL: Final = "authentication.kubernetes.io/credential-id"


# --- in Secrets ------------------------------------------------------------------------------------------------------


def test_rotated_credentials_are_taken_into_use_without_a_gap(fleet: Fleet, proxy: Proxy) -> None:
    """The old ones are used until the new ones have read everything, by the record of the worker's API server.

    With no grace, the least gap would be published.
    """
    fleet.begin(unavailableWorkers={"grace": "0s"})
    worker = fleet.worker2
    _rotate(worker, fleet, proxy)
    eventually(lambda: proxy.count(verbs=WATCHES) > 1, "it has read everything by way of the proxy")
    fleet.wait_whole(ALL)
    fleet.look()
    history = history_of_providers(fleet.manager)
    proxy.add(Delay(3600))
    before = proxy.count()
    fleet.give(worker, worker.kubeconfig(server=proxy.url))
    eventually(lambda: proxy.count() > before, "the new connection waits for an answer")
    quota(worker, "eight", "nominalQuota", 9)
    fleet.wait_whole({CPU: 22, GPUS: 5})
    proxy.clear()
    _rotate(worker, fleet, proxy)
    quota(worker, "eight", "nominalQuota", 10)
    fleet.wait_whole({CPU: 23, GPUS: 5})
    assert [each[CPU] for each in published_in(history.versions())] == ["22", "23"]


def _rotate(worker: Worker, fleet: Fleet, proxy: Proxy) -> None:
    """Until the manager uses another token, by way of the proxy."""
    fleet.give(worker, worker.kubeconfig(server=proxy.url))
    eventually(lambda: _uses(worker, worker.issued[-1]), "the new token is used")


def _uses(worker: Worker, token: str) -> bool:
    """Whether ClusterQueues were asked for by this token."""
    payload = token.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return any(
        f"JTI={claims['jti']}" in each["user"].get("extra", {}).get(_CREDENTIAL, ())
        for each in worker.plane.requests()
        if each.get("objectRef", {}).get("resource") == "clusterqueues"
    )


def test_revoked_credentials_are_told_and_held(fleet: Fleet) -> None:
    """Until there are others."""
    fleet.begin()
    worker = fleet.worker2
    revoked = worker.kubeconfig()
    worker.revoke()
    with fleet.no_dip(ALL):
        fleet.take(worker.name)  # or what worked would be read for a while longer
        fleet.give(worker, revoked)
        fleet.wait(ALL, "held until ", "worker2, unavailable since ", "401")
        fleet.give(worker)
        fleet.wait_whole(ALL)


def test_a_secret_that_is_deleted_and_made_again_is_held_meanwhile(fleet: Fleet) -> None:
    """The Secret is named."""
    fleet.begin()
    with fleet.no_dip(ALL):
        fleet.take("worker2")
        fleet.wait(ALL, "held until ", "worker2, unavailable since ", "Secret")
        fleet.give(fleet.worker2)
        fleet.wait_whole(ALL)


# --- in files --------------------------------------------------------------------------------------------------------


def test_a_kubeconfig_may_be_a_file_below_the_folder(fleet: Fleet) -> None:
    """As a volume has it: behind links that are replaced at once. Outside the folder none is read."""
    fleet.begin(unavailableWorkers={"grace": "0s"})
    at = fleet.files / "worker2"
    _mount(fleet.files, "first", fleet.worker2.kubeconfig())
    at.symlink_to("..data/kubeconfig")
    try:
        fleet.manager.admin.apply(cluster("worker2", str(at), kind="Path"))
        fleet.take("worker2")
        fleet.wait(ALL)
        _mount(fleet.files, "second", fleet.worker2.kubeconfig())
        eventually(lambda: _uses(fleet.worker2, fleet.worker2.issued[-1]), "the new token is used")
        outside = fleet.manager.kubeconfig()
        fleet.manager.admin.apply(cluster("worker2", str(outside), kind="Path"))
        fleet.wait(WITHOUT_2, "left out: worker2, ", f"it is not below {fleet.files}")
        at.unlink()
        at.symlink_to(outside)
        fleet.manager.admin.apply(cluster("worker2", str(at), kind="Path"))
        fleet.wait(WITHOUT_2, "left out: worker2, ", f"lead out of {fleet.files}")
    finally:
        at.unlink(missing_ok=True)


def _mount(folder: Path, name: str, text: str) -> None:
    """What a kubelet does when a Secret has changed: another folder, and a link that is replaced."""
    (folder / f"..{name}").mkdir()
    (folder / f"..{name}" / "kubeconfig").write_text(text)
    link = folder / f"..{name}-link"
    link.symlink_to(f"..{name}")
    link.rename(folder / "..data")


# --- what is refused -------------------------------------------------------------------------------------------------


class Plugin(NamedTuple):
    """A program that prints a token of the reader, and the user who has it."""

    program: Path
    user: dict[str, Any]


@pytest.fixture
def plugin(fleet: Fleet, tmp_path: Path) -> Plugin:
    """It works."""
    version = "client.authentication.k8s.io/v1"
    answer = {"apiVersion": version, "kind": "ExecCredential", "status": {"token": fleet.worker2.token()}}
    program = tmp_path / "plugin.py"
    program.write_text(f"print({json.dumps(answer)!r})\n")
    command = {"command": sys.executable, "args": [str(program)], "interactiveMode": "Never"}
    return Plugin(program, {"exec": {"apiVersion": version, **command}})


def test_programs_and_servers_without_proof_are_refused(fleet: Fleet, plugin: Plugin) -> None:
    """Each names the flag that would allow it; passwords and files of the daemon's own are never accepted."""
    fleet.begin(unavailableWorkers={"grace": "0s"})
    worker = fleet.worker2
    refused = {
        "--allow-exec-plugins": worker.kubeconfig(user=plugin.user),
        "--allow-insecure-tls": worker.kubeconfig(cluster={"insecure-skip-tls-verify": True}),
        "tokenFile": worker.kubeconfig(user={"tokenFile": str(fleet.manager.folder / "tokens.csv")}),
        "password": worker.kubeconfig(user={"username": "reader", "password": PASSWORD}),
    }
    fleet.take(worker.name)  # or what worked would be read for a while longer
    for part, text in refused.items():
        fleet.give(worker, text)
        fleet.wait(WITHOUT_2, "left out: worker2, ", part)
    fleet.give(worker)
    fleet.wait_whole(ALL)


@pytest.mark.usefixtures("without_daemon")
def test_programs_and_servers_without_proof_are_accepted_on_request(fleet: Fleet, plugin: Plugin) -> None:
    """By flags of the command: nobody who may write to the cluster can choose that. Nothing that they print is told."""
    daemon = fleet.start("trusting", "--allow-exec-plugins", "--allow-insecure-tls")
    worker = fleet.worker2
    insecure = {"insecure-skip-tls-verify": True}
    fleet.provide()
    fleet.give(fleet.worker1, fleet.worker1.kubeconfig(cluster=insecure))
    fleet.give(worker, worker.kubeconfig(user=plugin.user))
    fleet.wait_whole(ALL)
    fleet.take(worker.name)
    fleet.wait(ALL, "held until ")
    plugin.program.write_text(f"import sys\nprint({PASSWORD!r})\nsys.exit({PASSWORD!r})\n")
    fleet.give(worker, worker.kubeconfig(user=plugin.user))
    fleet.wait(ALL, "held until ", "worker2, unavailable since ", "exec")
    told = fleet.everything_told(daemon)
    assert [each for each in (PASSWORD, *fleet.secrets()) if each in told] == []


# --- what is told ----------------------------------------------------------------------------------------------------


def test_nothing_of_a_kubeconfig_is_told(fleet: Fleet) -> None:
    """Neither where it works nor where it is refused, broken or revoked."""
    fleet.begin(unavailableWorkers={"grace": "0s"})
    worker = fleet.worker2
    revoked = worker.kubeconfig()
    worker.revoke()
    nobody = f"https://{LOOPBACK}:{free_port()}"
    texts = {
        "Secret": "",
        "401": revoked,
        "YAML": f"token: {PASSWORD}\nusers: [{{name: {PASSWORD}",
        "current-context": json.dumps({"users": PASSWORD, "clusters": [{"name": PASSWORD}]}),
        "password": worker.kubeconfig(user={"username": PASSWORD, "password": PASSWORD}),
        "server": worker.kubeconfig(server=f"https://reader:{PASSWORD}@{LOOPBACK}"),
        "Cannot connect": worker.kubeconfig(server=nobody, user={"token": PASSWORD}),
    }
    told = ""
    for part, text in texts.items():
        if text:
            fleet.give(worker, text)
        else:
            fleet.take(worker.name)
        fleet.wait(WITHOUT_2, "left out: worker2, unavailable since ", part)
        told += fleet.everything_told(fleet.daemon)
    fleet.give(worker)
    fleet.wait_whole(ALL)
    told += fleet.everything_told(fleet.daemon)
    assert [part for part in texts if part not in told] == []
    assert [each for each in (PASSWORD, *fleet.secrets()) if each in told] == []
