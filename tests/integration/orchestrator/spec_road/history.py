"""What was written to ClusterQueues, by whom, by the API server's own record."""

from __future__ import annotations

import itertools
import json
from typing import Final

from tests.controlplane.plane import ControlPlane
from tests.integration.objects import APPLIED, DECLARED, QUEUES, Manifest

OURS: Final = "kueue-dqo-orchestrator"


class History:
    """Every version of every ClusterQueue since it was made, by the API server's own record of them."""

    def __init__(self, plane: ControlPlane) -> None:
        answer = plane.admin.get(QUEUES)
        self._plane = plane
        self._since = answer["metadata"]["resourceVersion"]
        self._before = {each["metadata"]["name"]: each for each in answer["items"]}

    def versions(self, name: str) -> list[Manifest]:
        """From the one at the beginning to the present one, which has to be among them."""
        present = self._plane.admin.get(f"{QUEUES}/{name}")
        query = {"watch": "true", "resourceVersion": self._since, "timeoutSeconds": "1"}
        events = map(json.loads, self._plane.admin.request("GET", QUEUES, query=query).splitlines())
        later = [event["object"] for event in events if event["object"]["metadata"].get("name") == name]
        found = [self._before[name], *later]
        assert _version(present) in map(_version, found), "the server's record is not complete"
        return found

    def changes(self, name: str) -> list[Manifest]:
        """The versions that brought other quotas or annotations than the one before."""
        versions = self.versions(name)
        return [after for before, after in itertools.pairwise(versions) if _quotas(before) != _quotas(after)]

    def our_writes(self, name: str) -> list[Manifest]:
        """Those of the changes after which the orchestrator is the one that owns the spec's quotas."""
        return [each for each in self.changes(name) if OURS in owners(each)]


def owners(obj: Manifest) -> set[str]:
    """The field managers of spec.resourceGroups."""
    return {
        entry["manager"]
        for entry in obj["metadata"]["managedFields"]
        if "f:resourceGroups" in entry.get("fieldsV1", {}).get("f:spec", {})
    }


def _version(obj: Manifest) -> str:
    return str(obj["metadata"]["resourceVersion"])


def _quotas(obj: Manifest) -> object:
    noted = obj["metadata"].get("annotations", {})
    return obj["spec"].get("resourceGroups"), noted.get(DECLARED), noted.get(APPLIED)
