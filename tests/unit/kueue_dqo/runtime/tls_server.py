"""A certificate authority of the test's own, and HTTPS servers that ask for client certificates."""

from __future__ import annotations

import base64
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer


class Authority:
    """Certificates and keys as files in a folder. Skips the test where there is no openssl to make them."""

    def __init__(self, folder: Path) -> None:
        if not shutil.which("openssl"):
            pytest.fail("openssl is not installed: it makes the certificates of these tests")
        self._folder = folder
        self.certificate = folder / "ca.crt"
        # Of version 1 and without any extension, as old clusters have them: Go's TLS takes it.
        self._openssl(
            "req",
            "-new",
            "-newkey",
            "ec:" + str(self._curve()),
            "-nodes",
            "-keyout",
            "ca.key",
            *_subject("ca"),
            "-out",
            "ca.csr",
        )
        self._openssl("x509", "-req", "-in", "ca.csr", "-signkey", "ca.key", "-days", "3650", "-out", "ca.crt")
        self._issue("server", "IP:127.0.0.1")
        self._issue("api.internal", "DNS:api.internal")
        self._issue("client", "DNS:client")
        self._issue("old", "DNS:old")

    def files(self, name: str) -> tuple[Path, Path]:
        """Certificate and key."""
        return self._folder / f"{name}.crt", self._folder / f"{name}.key"

    @staticmethod
    def encoded(path: Path) -> str:
        """As a kubeconfig holds it."""
        return base64.b64encode(path.read_bytes()).decode()

    @asynccontextmanager
    async def server(self, name: str = "server") -> AsyncIterator[tuple[str, list[str]]]:
        """Its URL, and the client certificates' names of the requests that came in; the one called `old` gets a 401."""
        names: list[str] = []

        async def answer(request: web.Request) -> web.Response:
            assert request.transport is not None
            certificate = request.transport.get_extra_info("peercert") or {}
            names.append(next((value for ((_, value),) in certificate.get("subject", ())), ""))
            return web.Response(status=401 if names[-1] == "old" else 200, body=b"{}", content_type="application/json")

        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=self.certificate)
        context.load_cert_chain(*self.files(name))
        context.verify_mode = ssl.CERT_OPTIONAL
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", answer)
        server = TestServer(application, scheme="https")
        await server.start_server(ssl=context)
        try:
            yield f"https://127.0.0.1:{server.port}", names
        finally:
            await server.close()

    def _issue(self, name: str, alternative: str) -> None:
        (self._folder / f"{name}.ext").write_text(f"subjectAltName={alternative}\n")
        self._openssl(
            "req",
            "-new",
            "-newkey",
            "ec:" + str(self._curve()),
            "-nodes",
            "-keyout",
            f"{name}.key",
            *_subject(name),
            "-out",
            f"{name}.csr",
        )
        issuer = ("-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial")
        self._openssl(
            "x509",
            "-req",
            "-in",
            f"{name}.csr",
            *issuer,
            "-days",
            "3650",
            "-extfile",
            f"{name}.ext",
            "-out",
            f"{name}.crt",
        )

    def _curve(self) -> Path:
        path = self._folder / "curve.pem"
        if not path.exists():
            self._openssl("ecparam", "-name", "prime256v1", "-out", path.name)
        return path

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self._folder, check=True, capture_output=True)


def _subject(name: str) -> tuple[str, str]:
    return "-subj", f"/CN={name}"
