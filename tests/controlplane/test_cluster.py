"""`make cluster`, as a process: what it prints can be used, and Ctrl-C leaves nothing behind."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path

from kueue_dqo.api.quantity import NANOS
from tests.controlplane.admin import Admin
from tests.controlplane.kueue import ROOT
from tests.controlplane.processes import eventually
from tests.integration.objects import nominal


def test_a_cluster_can_be_used_until_it_is_interrupted(tmp_path: Path) -> None:
    """With the printed kubeconfig; the example is there. Afterwards the folder is gone, and the exit code is 0."""
    errors = tmp_path / "stderr"
    with (
        errors.open("wb") as stderr,
        subprocess.Popen(
            [sys.executable, "-m", "tests.controlplane", "cluster"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            assert line.startswith("export KUBECONFIG="), errors.read_text()
            kubeconfig = Path(shlex.split(line)[1].partition("=")[2])
            config = json.loads(kubeconfig.read_text())
            server, token = config["clusters"][0]["cluster"]["server"], config["users"][0]["user"]["token"]
            client = Admin(server, kubeconfig.parent / "certificates" / "apiserver.crt", token)
            assert list(_cores(client)) == ["team-a", "team-b"]
            eventually(lambda: sum(_cores(client).values()) == 48, "quotas follow the nodes")
            client.patch("/api/v1/nodes/batch-1.example.com", {"spec": {"unschedulable": True}}, manager="test")
            eventually(lambda: sum(_cores(client).values()) == 40, "quotas follow the cordon")
            client.close()
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait() == 0, errors.read_text()
    assert not kubeconfig.parent.exists()


def _cores(client: Admin) -> dict[str, float]:
    queues = client.items("/apis/kueue.x-k8s.io/v1beta2/clusterqueues")
    return {queue["metadata"]["name"]: nominal(queue)["batch/cpu"] / NANOS for queue in queues}
