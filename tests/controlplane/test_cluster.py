"""`make cluster` and its variants, as processes: what they print can be used, and Ctrl-C leaves nothing behind."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from kueue_dqo import __version__
from kueue_dqo.api.quantity import NANOS
from tests.controlplane.admin import Admin
from tests.controlplane.bare import what_to_try
from tests.controlplane.kueue import ROOT
from tests.controlplane.processes import eventually
from tests.integration.objects import nominal


def test_a_cluster_can_be_used_until_it_is_interrupted(tmp_path: Path) -> None:
    """With the printed kubeconfig; the example is there. Afterwards the folder is gone, and the exit code is 0."""
    with _running(tmp_path) as settings:
        kubeconfig = Path(settings["KUBECONFIG"])
        config = json.loads(kubeconfig.read_text())
        server, token = config["clusters"][0]["cluster"]["server"], config["users"][0]["user"]["token"]
        client = Admin(server, kubeconfig.parent / "certificates" / "apiserver.crt", token)
        assert list(_cores(client)) == ["team-a", "team-b"]
        eventually(lambda: sum(_cores(client).values()) == 48, "quotas follow the nodes")
        client.patch("/api/v1/nodes/batch-1.example.com", {"spec": {"unschedulable": True}}, manager="test")
        eventually(lambda: sum(_cores(client).values()) == 40, "quotas follow the cordon")
        client.close()


def test_a_bare_cluster_has_kueue_and_runs_pods_and_has_nothing_of_ours(tmp_path: Path) -> None:
    """With the printed lines, kubectl and Helm are at hand. Any image of our name can be started."""
    with _running(tmp_path, "bare", "--road", "status") as settings:

        def typed(*command: str) -> str:
            environment = os.environ | settings | {"PATH": settings["PATH"].replace("$PATH", os.environ["PATH"])}
            return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout

        queues = typed("kubectl", "get", "clusterqueues", "-o", "name").split()
        assert queues == [f"clusterqueue.kueue.x-k8s.io/{name}" for name in ("team-a", "team-b")]
        installed = typed("kubectl", "get", "customresourcedefinitions", "-o", "name")
        assert "kueue-dqo.dev" not in installed
        assert "capacityproviders" not in installed
        assert typed("helm", "version", "--short")
        typed("kubectl", "run", "once", "--image=REGISTRY/kueue-dqo:0", "--restart=Never", "--", "--version")
        typed("kubectl", "wait", "pod/once", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s")
        assert __version__ in typed("kubectl", "logs", "once")


def test_a_bare_cluster_says_whether_kueue_runs_and_how_a_gpu_is_lost() -> None:
    """By its road, and by whether the example has reports."""
    with_kueue = what_to_try("01-two-teams-one-pool", effective_quotas=False)
    assert "# There: Kueue and its queues, nodes" in with_kueue
    assert "reports.yaml" not in with_kueue
    without = what_to_try("08-gpus-that-died", effective_quotas=True)
    assert "# There: queues, and no Kueue" in without
    (file,) = re.findall(r"^kubectl apply .* -f (\S+/reports\.yaml)$", without, re.MULTILINE)
    assert (ROOT / file).is_file()


@contextlib.contextmanager
def _running(folder: Path, *arguments: str) -> Iterator[dict[str, str]]:
    """The variables that it prints for a shell. At the end it is interrupted, and must leave nothing behind."""
    errors = folder / "stderr"
    with (
        errors.open("wb") as stderr,
        subprocess.Popen(
            [sys.executable, "-m", "tests.controlplane", "cluster", *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        settings: dict[str, str] = {}
        try:
            while (line := process.stdout.readline()).startswith("export "):
                name, _, value = line.removeprefix("export ").partition("=")
                settings[name] = "".join(shlex.split(value))
            assert "KUBECONFIG" in settings, errors.read_text()
            yield settings
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait() == 0, errors.read_text()
    assert not Path(settings["KUBECONFIG"]).parent.exists()


def _cores(client: Admin) -> dict[str, float]:
    queues = client.items("/apis/kueue.x-k8s.io/v1beta2/clusterqueues")
    return {queue["metadata"]["name"]: nominal(queue)["batch/cpu"] / NANOS for queue in queues}
