"""Where the API server is and how to come in: the service account of a pod, or a kubeconfig."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kueue_dqo.runtime.credentials import Credentials, FixedCredentials, TokenFile
from kueue_dqo.runtime.errors import ConfigurationError
from kueue_dqo.runtime.proxies import environment_proxy

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where the kubelet mounts a pod's service account."""


@dataclass(frozen=True, slots=True)
class Connection:
    """All that a client needs to know of an API server."""

    server: str
    """Scheme, host, port, and a path where the server stands behind one; without a slash at its end."""
    credentials: Credentials = field(default_factory=FixedCredentials)
    tls: ssl.SSLContext | None = None
    server_name: str | None = None
    """The name in the server's certificate where it is not the host's."""
    proxy: str | None = field(default=None, repr=False)
    """Its address, which may hold a password."""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Headers of every request."""


async def find_connection(
    *,
    kubeconfig: str | None = None,
    context: str | None = None,
    service_account: Path = SERVICE_ACCOUNT,
    environment: Mapping[str, str] = os.environ,
) -> Connection:
    """The connection that was asked for, or that the surroundings offer.

    Without `kubeconfig` and `context`: the pod's service account, else the files that KUBECONFIG lists, else
    `~/.kube/config`. Raises ConfigurationError with what was looked for.
    """
    in_pod = (service_account / "token").is_file() and "KUBERNETES_SERVICE_HOST" in environment
    if in_pod and kubeconfig is None and context is None:
        return in_cluster(service_account, environment)
    paths = _kubeconfig_paths(kubeconfig, environment)
    existing = [path for path in paths if path.is_file()]
    if not existing:
        looked_for = " or ".join(str(path) for path in paths)
        if kubeconfig is not None:
            raise ConfigurationError(f"kubeconfig {looked_for}: there is no such file")
        raise ConfigurationError(
            f"no cluster is configured: there is no service account in {service_account} and no kubeconfig at"
            f" {looked_for}; name one with --kubeconfig or KUBECONFIG"
        )
    from kueue_dqo.runtime.kubeconfig import read_kubeconfig  # noqa: PLC0415 - 40 MB that a pod does without

    return await read_kubeconfig(existing, context=context, environment=environment)


def in_cluster(service_account: Path, environment: Mapping[str, str]) -> Connection:
    """The connection of a pod, by its service account. Raises ConfigurationError."""
    host = environment.get("KUBERNETES_SERVICE_HOST", "")
    port = environment.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise ConfigurationError("KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT is not set, as it is in every pod")
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    return Connection(
        server=server,
        credentials=TokenFile(service_account / "token"),
        tls=tls_context(ca_file=service_account / "ca.crt"),
        proxy=environment_proxy(server, environment),
    )


def tls_context(*, ca_file: Path | None = None, ca_data: str | None = None, verify: bool = True) -> ssl.SSLContext:
    """TLS as the cluster's own clients speak it, with the authority of a file, or of data in PEM, or the system's.

    Raises ConfigurationError where the file or the data hold no certificate.
    """
    name = f"certificate authority {ca_file or 'in data'}"
    try:
        context = ssl.create_default_context(cafile=ca_file, cadata=ca_data)
    except (ssl.SSLError, ValueError):
        raise ConfigurationError(f"{name}: no certificates") from None
    except OSError as error:
        raise ConfigurationError(f"{name}: {error.strerror}") from None
    # From Python 3.13 on, certificates are refused that lack extensions which clusters' own authorities often leave
    # out and which no other client of Kubernetes asks for.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def present_certificate(tls: ssl.SSLContext, certificate: str, key: str | None) -> None:
    """Makes new connections present the client certificate of these files. Raises ConfigurationError."""
    try:
        tls.load_cert_chain(certificate, key, password="")  # else an encrypted key would ask for it on the terminal
    except ssl.SSLError:
        raise ConfigurationError(
            "the client certificate and its key cannot be read or do not belong together"
        ) from None


def check_proxy(proxy: str) -> None:
    """Raises ConfigurationError where the HTTP library cannot use it. Shows no more than the scheme."""
    scheme, colon, _ = proxy.partition("://")
    if scheme.lower() not in {"http", "https"} or not colon:
        raise ConfigurationError(
            f"proxies of the scheme {scheme if colon else ''!r} are not supported, only http and https"
        )


def _kubeconfig_paths(kubeconfig: str | None, environment: Mapping[str, str]) -> list[Path]:
    """What is asked for; else what KUBECONFIG lists; else the default."""
    listed = [kubeconfig] if kubeconfig is not None else environment.get("KUBECONFIG", "").split(os.pathsep)
    return [Path(path).expanduser() for path in listed if path] or [Path("~/.kube/config").expanduser()]
