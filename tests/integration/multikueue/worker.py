"""A worker cluster, and the account as which the manager's daemon reads it."""

from __future__ import annotations

import base64
from typing import Any, Final

import yaml

from tests.controlplane.plane import ControlPlane
from tests.integration.daemons import rendered

READER: Final = "worker/multikueue-reader"
"""What an admin installs on a worker."""


class Worker:
    """A control plane on which the shipped account is, that may only read; `issued` are all of its tokens."""

    def __init__(self, name: str, plane: ControlPlane) -> None:
        self.name = name
        self.plane = plane
        (self._account,) = (each for each in rendered(READER) if each["kind"] == "ServiceAccount")
        self.issued: list[str] = []

    @property
    def namespace(self) -> str:
        """Of the account."""
        return str(self._account["metadata"]["namespace"])

    @property
    def account(self) -> str:
        """Its name."""
        return str(self._account["metadata"]["name"])

    def token(self) -> str:
        """Another token of the account."""
        self.issued.append(self.plane.token_of(self.namespace, self.account))
        return self.issued[-1]

    def revoke(self) -> None:
        """No token that was issued is good any more: the account is another one of the same name."""
        self.plane.admin.delete(self.plane.admin.path_of(self._account))
        self.plane.admin.apply(self._account)

    def watches(self, after: int) -> int:
        """How many watches of the account are open that began after so many records of the API server."""
        by_stage: dict[str, set[str]] = {"ResponseStarted": set(), "ResponseComplete": set()}
        for each in self.plane.requests()[after:]:
            if each["verb"] == "watch" and each["user"]["username"].endswith(f":{self.namespace}:{self.account}"):
                by_stage[each["stage"]].add(each["auditID"])
        return len(by_stage["ResponseStarted"] - by_stage["ResponseComplete"])

    def kubeconfig(
        self,
        *,
        server: str | None = None,
        user: dict[str, Any] | None = None,
        cluster: dict[str, Any] | None = None,
    ) -> str:
        """A kubeconfig of the account with a token of its own, as text.

        Args:
            server: a URL in front of the API server.
            user: the credentials, instead of a token.
            cluster: how the server is known, instead of its certificate.
        """
        trusted = {"certificate-authority-data": base64.b64encode(self.plane.ca.read_bytes()).decode()}
        return yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "reader",
                "contexts": [{"name": "reader", "context": {"cluster": self.name, "user": "reader"}}],
                "users": [{"name": "reader", "user": user or {"token": self.token()}}],
                "clusters": [
                    {"name": self.name, "cluster": {"server": server or self.plane.url, **(cluster or trusted)}}
                ],
            }
        )
