"""A small client for setting a cluster up and looking at it.

It blocks: in a coroutine, call it by `asyncio.to_thread`.
"""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import urllib.parse
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

Manifest = Mapping[str, Any]

JSON: Final = "application/json"
JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"
_TIMEOUT: Final = 60.0
# What a server gives an object. Whoever writes it elsewhere leaves that out.
_OF_THE_SERVER: Final = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid")


class Refused(Exception):
    """An answer that is no success."""

    def __init__(self, request: str, code: int, body: bytes) -> None:
        try:
            status = json.loads(body)
        except ValueError:
            status = {"message": body.decode(errors="replace")}
        self.code = code
        self.reason: str = status.get("reason", "")
        self.message: str = status.get("message", "")
        self.causes: list[dict[str, str]] = (status.get("details") or {}).get("causes") or []
        super().__init__(f"{request}: {code} {self.message}")


class Admin:
    """Requests as one user: the administrator, or a service account by its token."""

    def __init__(self, url: str, ca: Path, token: str, *, user: str = "", group: str = "") -> None:
        """With `user`, an administrator's token speaks for that user, a member of `group`."""
        self._impersonates = {"Impersonate-User": user, "Impersonate-Group": group} if user else {}
        self._lock = threading.Lock()
        self._kept: http.client.HTTPSConnection | None = None
        parts = urllib.parse.urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port
        self._tls = ssl.create_default_context(cafile=str(ca))
        self._token = token
        self._resources: dict[str, dict[str, dict[str, Any]]] = {}

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: str = JSON,
        accept: str = JSON,
        query: Mapping[str, str] | None = None,
    ) -> bytes:
        """One request. Raises Refused, and OSError or HTTPException where nobody answers."""
        target = f"{path}?{urllib.parse.urlencode(query)}" if query else path
        headers = {"Authorization": f"Bearer {self._token}", "Accept": accept, "Content-Type": content_type}
        headers |= self._impersonates
        text = json.dumps(body) if body is not None else None
        with self._lock:
            status, answer = self._answer(method, target, text, headers)
        if status >= http.client.BAD_REQUEST:
            raise Refused(f"{method} {path}", status, answer)
        return answer

    def close(self) -> None:
        """Closes the connection that is kept between requests."""
        with self._lock:
            self._drop()

    def _answer(self, method: str, target: str, text: str | None, headers: dict[str, str]) -> tuple[int, bytes]:
        """On the connection of the last request; on a new one where the server has closed that meanwhile."""
        if method == "POST":
            self._drop()  # what creates something is not sent twice
        while True:
            is_new = self._kept is None
            if self._kept is None:
                self._kept = http.client.HTTPSConnection(self._host, self._port, context=self._tls, timeout=_TIMEOUT)
            try:
                self._kept.request(method, target, text, headers)
                response = self._kept.getresponse()
                return response.status, response.read()
            except (OSError, http.client.HTTPException):
                self._drop()
                if is_new:
                    raise

    def _drop(self) -> None:
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def get(self, path: str, **query: str) -> Any:
        """The object, or the list, at a path."""
        return json.loads(self.request("GET", path, query=query))

    def items(self, path: str, **query: str) -> list[dict[str, Any]]:
        """The objects of a list."""
        return self.get(path, **query)["items"] or []

    def table(self, path: str) -> list[dict[str, str | None]]:
        """A list as `kubectl get -o wide` shows it: a mapping from column to cell for each object."""
        answer = json.loads(self.request("GET", path, accept=f"{JSON};as=Table;g=meta.k8s.io;v=v1"))
        columns = [column["name"] for column in answer["columnDefinitions"]]
        return [dict(zip(columns, row["cells"], strict=True)) for row in answer["rows"] or []]

    def create(self, obj: Manifest) -> Any:
        """Creates an object. Raises Refused where it is there already."""
        return json.loads(self.request("POST", self.collection_of(obj), obj))

    def apply(self, *objects: Manifest, manager: str = "tests", strict: bool = True) -> None:
        """Server-side apply of each, first all but the status and then, where a manifest has one, the status.

        Conflicts with other managers are won. `strict` refuses fields that the schema does not have.
        """
        query = {"fieldManager": manager, "force": "true", "fieldValidation": "Strict" if strict else "Ignore"}
        for obj in flat(objects):
            manifest = {key: value for key, value in obj.items() if key != "status"}
            manifest["metadata"] = {k: v for k, v in obj["metadata"].items() if k not in _OF_THE_SERVER}
            path = self.path_of(obj)
            self.request("PATCH", path, manifest, content_type=APPLY_PATCH, query=query)
            if obj.get("status"):
                status = {**manifest, "status": obj["status"]}
                self.request("PATCH", f"{path}/status", status, content_type=APPLY_PATCH, query=query)

    def patch(self, path: str, body: Any, content_type: str = MERGE_PATCH, *, manager: str = "tests") -> Any:
        """A merge patch, or the given sort of patch."""
        query = {"fieldManager": manager}
        return json.loads(self.request("PATCH", path, body, content_type=content_type, query=query))

    def delete(self, path: str) -> None:
        """Deletes an object; none is no error."""
        try:
            self.request("DELETE", path, {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})
        except Refused as error:
            if error.code != http.client.NOT_FOUND:
                raise

    def collection_of(self, obj: Manifest) -> str:
        """The path that objects of this kind (and namespace, else `default`) are created at."""
        api_version, kind = obj["apiVersion"], obj["kind"]
        for resource in self.resources_of(api_version).values():
            if resource["kind"] == kind:
                namespace = obj["metadata"].get("namespace", "default")
                inner = f"/namespaces/{namespace}" if resource["namespaced"] else ""
                return f"{root_of(api_version)}{inner}/{resource['name']}"
        raise LookupError(f"the cluster has no kind {kind} in {api_version}; are its definitions installed?")

    def path_of(self, obj: Manifest) -> str:
        """The path of an object."""
        return f"{self.collection_of(obj)}/{obj['metadata']['name']}"

    def resources_of(self, api_version: str) -> dict[str, dict[str, Any]]:
        """What the cluster serves in a group and version, without subresources, by plural name."""
        if api_version not in self._resources:
            found = self.get(root_of(api_version))["resources"]
            self._resources[api_version] = {each["name"]: each for each in found if "/" not in each["name"]}
        return self._resources[api_version]

    def forget_resources(self) -> None:
        """After new definitions were installed."""
        self._resources.clear()


def root_of(api_version: str) -> str:
    """`/api/v1`, or `/apis/GROUP/VERSION`."""
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def flat(objects: Iterable[Manifest]) -> Iterable[Manifest]:
    """The objects, those in lists too, without the lists."""
    for obj in objects:
        if obj["kind"].endswith("List"):
            yield from flat(obj["items"])
        else:
            yield obj
