"""A control plane of its own: etcd and kube-apiserver on free loopback ports, with their data in a temporary folder."""

from __future__ import annotations

import base64
import http.client
import json
import secrets
import shutil
import ssl
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tests.controlplane import binaries
from tests.controlplane.admin import Admin
from tests.controlplane.processes import LOOPBACK, Guard, Server, free_port, http_status

ADMIN: Final = "admin"
_AUDIT_POLICY: Final = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "userGroups": ["system:serviceaccounts"]}, {"level": "None"}],
}

# What the strictest Pod Security Standard asks for.
_RESTRICTED: Final = {
    "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
    "containers": [
        {
            "name": "idle",
            "image": "idle",
            "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        }
    ],
}


class ControlPlane:
    """etcd and kube-apiserver, the administrator's client, and whatever servers are added.

    A context manager: started when it is entered, ended and removed when it is left. Its methods block; in a coroutine,
    call them by `asyncio.to_thread`. Several may run side by side. There is no controller manager and no scheduler:
    pods are not started, nothing is garbage-collected, and a namespace cannot be deleted. The modules `controllers` and
    `kubelet` beside this one change that.

    `etcd` and `api_server` are servers that can be stopped, killed, paused and started again on the same data.
    """

    def __init__(
        self, folder: Path | None = None, say: binaries.Say = binaries.say_on_stderr, *, audit: bool = False
    ) -> None:
        """`folder` keeps the logs after the end; without it, everything is removed. `audit`: see `requests`."""
        etcd, api_server = (binaries.find(program, say) for program in (binaries.ETCD, binaries.KUBE_APISERVER))
        self._clients: list[Admin] = []
        self._owns_folder = folder is None
        self.folder = folder or Path(tempfile.mkdtemp(prefix="kueue-dqo-controlplane-"))
        self.servers: list[Server] = []
        self._processes: list[Server] = []
        self._audit = audit
        self._guard = Guard()
        self._admin_token = secrets.token_hex()
        self._certificates = self.folder / "certificates"
        self._api_port, self._etcd_port, self._peer_port = free_port(), free_port(), free_port()
        self.url = f"https://{LOOPBACK}:{self._api_port}"
        self.etcd_url = f"http://{LOOPBACK}:{self._etcd_port}"
        self.etcd = self._etcd(etcd)
        self.api_server = self._api_server(api_server)

    def __enter__(self) -> Self:
        try:
            self.etcd.start()
            self.api_server.start()
        except BaseException:
            self.end()
            raise
        self.admin = self._client(self._admin_token)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> None:
        """Ends every server, the last started first, and removes the data; the folder too where it is our own."""
        for client in self._clients:
            client.close()
        # Nothing of the data is needed any more, so nobody is asked to put it in order.
        for server in reversed(self.servers):
            server.kill()
        self._guard.close()
        shutil.rmtree(self.folder if self._owns_folder else self.folder / "data", ignore_errors=True)

    @property
    def ca(self) -> Path:
        """What clients must trust: the certificate that the API server made for itself, and its issuer."""
        return self._certificates / "apiserver.crt"

    @property
    def key(self) -> Path:
        """The key of that certificate, which is for the loopback address; other servers of a test may use the pair."""
        return self._certificates / "apiserver.key"

    def add_server(self, server: Server) -> Server:
        """Adds a server, which ends with the control plane."""
        self.servers.append(server)
        return server

    def new_server(self, name: str, *arguments: Any, **options: Any) -> Server:
        """A server that ends with the control plane and logs into its folder; the arguments are those of `Server`."""
        log = self.folder / f"{name}.log"
        return self.add_server(Server(name, *arguments, log=log, guard=self._guard, **options))

    def new_process(self, name: str, command: Sequence[str | Path], log: Path, ready: Callable[[], bool]) -> Server:
        """One that may come and go: none of the servers, but it is gone when the control plane has ended."""
        process = Server(name, command, log=log, ready=ready, guard=self._guard)
        self._processes.append(process)
        return process

    def is_ready(self) -> bool:
        """Whether the API server says so."""
        try:
            tls = ssl.create_default_context(cafile=str(self.ca))
        except OSError:  # the server has yet to make the file, or to end it
            return False
        return http_status(self._api_port, "/readyz", tls) == http.client.OK

    def kubeconfig(self, *, server: str | None = None) -> Path:
        """A kubeconfig file of the administrator (group system:masters); with `server`, for a proxy at that URL."""
        return self._kubeconfig(ADMIN, self._admin_token, server)

    def add_pod(self, namespace: str, service_account: str, node: str, spec: Mapping[str, Any] | None = None) -> str:
        """A pod of a service account on a node, all of which must exist. Nothing starts it. Returns its name.

        Args:
            namespace: of the pod and of the account.
            service_account: as which it would run.
            node: where it would run.
            spec: of the pod, such as that of a template; without it, one that satisfies every Pod Security Standard.
        """
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"generateName": f"{service_account}-", "namespace": namespace},
            "spec": {**(spec or _RESTRICTED), "serviceAccountName": service_account, "nodeName": node},
        }
        return str(self.admin.create(pod)["metadata"]["name"])

    def token_of(self, namespace: str, service_account: str, *, seconds: int = 3600, pod: str = "") -> str:
        """A token of a service account, by the TokenRequest API; it is good for so many seconds, at least 600.

        With `pod`, the name of one that runs as this account: the token is bound to it, as the one that a kubelet
        mounts, and says which node the pod is on.
        """
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{service_account}/token"
        bound = {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": pod}} if pod else {}
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": seconds, **bound},
        }
        answer = json.loads(self.admin.request("POST", path, body))
        return str(answer["status"]["token"])

    def service_account_kubeconfig(
        self, namespace: str, service_account: str, *, server: str | None = None, pod: str = ""
    ) -> Path:
        """A kubeconfig file of a service account, which must exist. `pod`: see `token_of`."""
        token = self.token_of(namespace, service_account, pod=pod)
        return self._kubeconfig(f"{namespace}-{pod or service_account}", token, server)

    def as_service_account(self, namespace: str, service_account: str, *, pod: str = "") -> Admin:
        """A client with the rights of a service account, which must exist. `pod`: see `token_of`."""
        return self._client(self.token_of(namespace, service_account, pod=pod))

    def as_node(self, name: str) -> Admin:
        """A client with the rights of a node, by impersonation: what its kubelet may do."""
        return self._kept(Admin(self.url, self.ca, self._admin_token, user=f"system:node:{name}", group="system:nodes"))

    def requests(self) -> list[dict[str, Any]]:
        """What service accounts have asked for, as audit events; a watch from its beginning. Needs `audit`."""
        with self._audit_log.open(encoding="utf-8") as lines:
            return [json.loads(line) for line in lines if line.endswith("\n")]

    @property
    def _audit_log(self) -> Path:
        return self.folder / "audit.log"

    def logs(self, lines: int = 30) -> str:
        """The end of the log of every server, and of every other process."""
        return "\n\n".join(server.tail(lines) for server in [*self.servers, *self._processes])

    def _client(self, token: str) -> Admin:
        return self._kept(Admin(self.url, self.ca, token))

    def _kept(self, client: Admin) -> Admin:
        self._clients.append(client)
        return client

    def _kubeconfig(self, user: str, token: str, server: str | None) -> Path:
        target = server or self.url
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": user,
            "contexts": [{"name": user, "context": {"cluster": "controlplane", "user": user}}],
            "users": [{"name": user, "user": {"token": token}}],
            "clusters": [
                {
                    "name": "controlplane",
                    "cluster": {
                        "server": target,
                        "certificate-authority-data": base64.b64encode(self.ca.read_bytes()).decode(),
                    },
                }
            ],
        }
        path = self.folder / f"{user}-{target.rpartition(':')[2]}.kubeconfig"
        path.touch(mode=0o600)
        path.write_text(json.dumps(config, indent=2))
        return path

    def _etcd(self, program: Path) -> Server:
        client, peer = f"http://{LOOPBACK}:{self._etcd_port}", f"http://{LOOPBACK}:{self._peer_port}"

        def is_ready() -> bool:
            return http_status(self._etcd_port, "/readyz") == http.client.OK

        command = [
            program,
            *("--data-dir", self.folder / "data" / "etcd"),
            *("--listen-client-urls", client, "--advertise-client-urls", client),
            *(
                "--listen-peer-urls",
                peer,
                "--initial-advertise-peer-urls",
                peer,
                "--initial-cluster",
                f"default={peer}",
            ),
            "--unsafe-no-fsync",
        ]
        return self.new_server("etcd", command, ready=is_ready)

    def _api_server(self, program: Path) -> Server:
        self._certificates.mkdir(parents=True)
        tokens = self.folder / "tokens.csv"
        tokens.touch(mode=0o600)
        tokens.write_text(f"{self._admin_token},{ADMIN},{ADMIN},system:masters\n")
        # The server makes its certificate before it reads the keys for tokens: one key serves both.
        command = [
            program,
            f"--etcd-servers=http://{LOOPBACK}:{self._etcd_port}",
            f"--bind-address={LOOPBACK}",
            f"--advertise-address={LOOPBACK}",
            "--endpoint-reconciler-type=none",  # it refuses a loopback address
            f"--secure-port={self._api_port}",
            f"--cert-dir={self._certificates}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",  # as in every usual cluster: it bounds what a node may do
            "--allow-privileged=true",  # as in every cluster: who may is decided by Pod Security
            f"--token-auth-file={tokens}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self.key}",
            f"--service-account-signing-key-file={self.key}",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--profiling=false",
            *(self._audit_flags() if self._audit else ()),
        ]
        return self.new_server("kube-apiserver", command, ready=self.is_ready)

    def _audit_flags(self) -> list[str]:
        policy = self.folder / "audit-policy.json"
        policy.write_text(json.dumps(_AUDIT_POLICY))
        self._audit_log.touch()
        return [f"--audit-policy-file={policy}", f"--audit-log-path={self._audit_log}"]
