"""The control plane that tests run on: it starts, keeps its data, checks rights, and ends, whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.controlplane.admin import Refused
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import LOOPBACK, Guard, Server, ServerFailed, eventually

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
ROOT = Path(__file__).parents[2]


def _config_map(name: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


def _names(plane: ControlPlane) -> set[str]:
    return {obj["metadata"]["name"] for obj in plane.admin.items(CONFIG_MAPS)}


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_two_control_planes_run_side_by_side_and_know_nothing_of_each_other(
    bare_plane: ControlPlane, plane: ControlPlane
) -> None:
    """On other ports, with other data, and the administrator of one is nobody in the other."""
    assert bare_plane.url != plane.url
    bare_plane.admin.create(_config_map("here"))
    assert "here" in _names(bare_plane)
    assert "here" not in _names(plane)


def test_data_outlives_every_server(bare_plane: ControlPlane) -> None:
    """Killed or stopped, the API server and etcd come back on the same ports with the same data."""
    bare_plane.admin.create(_config_map("kept"))
    bare_plane.api_server.kill()
    with pytest.raises(ConnectionRefusedError):
        bare_plane.admin.get(CONFIG_MAPS)
    bare_plane.api_server.start()
    assert "kept" in _names(bare_plane)
    bare_plane.etcd.kill()
    eventually(lambda: not bare_plane.is_ready(), "the API server has noticed that etcd is away")
    bare_plane.etcd.start()
    eventually(bare_plane.is_ready, "the API server is ready again")
    assert "kept" in _names(bare_plane)
    bare_plane.api_server.restart()
    assert "kept" in _names(bare_plane)


def test_a_paused_server_goes_on_where_it_was(bare_plane: ControlPlane) -> None:
    """A paused API server takes connections and answers nothing."""
    pid = bare_plane.api_server.pid
    bare_plane.api_server.pause()
    assert not bare_plane.is_ready()
    bare_plane.api_server.resume()
    assert bare_plane.is_ready()
    assert bare_plane.api_server.pid == pid


def test_a_service_account_may_do_what_its_roles_say_and_no_more(bare_plane: ControlPlane) -> None:
    """Its token comes from the TokenRequest API, so the roles that are shipped are what is tested."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "reader", "namespace": "default"}}
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "reader"},
        "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list"]}],
    }
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader"},
        "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": "default"}],
    }
    bare_plane.admin.apply(account)
    reader = bare_plane.as_service_account("default", "reader")
    with pytest.raises(Refused, match="system:serviceaccount:default:reader"):
        reader.items("/api/v1/nodes")
    bare_plane.admin.apply(role, binding)

    def may_list() -> bool:
        try:
            return reader.items("/api/v1/nodes") == []
        except Refused as error:
            assert error.code == 403  # noqa: PT017  # the rule is taken into use a moment later
            return False

    eventually(may_list, "the role is in use")
    with pytest.raises(Refused) as refused:
        reader.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
    assert refused.value.code == 403


def test_a_token_that_is_bound_to_a_pod_names_its_node(plane: ControlPlane) -> None:
    """As the one that a kubelet mounts; a token of the account alone names none."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "agent", "namespace": "default"}}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
    plane.admin.apply(account, node)
    uid = plane.admin.get("/api/v1/nodes/n1")["metadata"]["uid"]
    pods = [plane.add_pod("default", "agent", "n1") for _ in range(2)]
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview", "metadata": {"name": ""}}

    def extra(pod: str) -> dict[str, list[str]]:
        answer = plane.as_service_account("default", "agent", pod=pod).create(review)["status"]["userInfo"]
        assert answer["username"] == "system:serviceaccount:default:agent"
        return {key.rpartition("/")[2]: value for key, value in answer["extra"].items()}

    for pod in pods:
        assert extra(pod).items() >= {"node-name": ["n1"], "node-uid": [uid], "pod-name": [pod]}.items()
    assert extra("").keys().isdisjoint({"node-name", "node-uid", "pod-name"})


def test_kubeconfigs_name_the_server_and_are_private(plane: ControlPlane) -> None:
    """Of the administrator, with the server or a proxy in front of it."""
    mine = plane.kubeconfig()
    proxied = plane.kubeconfig(server=f"https://{LOOPBACK}:1234")
    assert plane.url in mine.read_text()
    assert f"https://{LOOPBACK}:1234" in proxied.read_text()
    assert {mine.stat().st_mode & 0o777, proxied.stat().st_mode & 0o777} == {0o600}


def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    """With its exit code and the end of its log."""
    guard = Guard()
    command = [sys.executable, "-c", "print('no such flag'); raise SystemExit(3)"]
    server = Server("broken", command, log=tmp_path / "log", ready=lambda: False, guard=guard)
    with pytest.raises(ServerFailed, match=r"(?s)broken ended with exit code 3 before it was ready.*no such flag"):
        server.start()
    assert not server.is_running
    guard.close()


def test_servers_end_when_their_test_process_is_killed(tmp_path: Path) -> None:
    """Even by SIGKILL, which leaves it no time to end anything."""
    script = f"""
import sys
from pathlib import Path
from tests.controlplane.processes import Guard, Server
server = Server("sleeper", [sys.executable, "-c", "import signal; signal.pause()"], log=Path({str(tmp_path / "log")!r}),
                ready=lambda: True, guard=Guard())
server.start()
print(server.pid, flush=True)
sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        assert _is_there(pid)
        process.send_signal(signal.SIGKILL)
        process.wait()
        eventually(lambda: not _is_there(pid), "the server has ended")


def test_nothing_is_left_of_a_control_plane_that_ended() -> None:
    """No process and no folder."""
    with ControlPlane() as plane:
        pids = [server.pid for server in plane.servers]
        assert plane.folder.exists()
    assert [pid for pid in pids if _is_there(pid)] == []
    assert not plane.folder.exists()
