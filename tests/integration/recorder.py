"""Records what the orchestrator does on a control plane, and has it judged."""

from __future__ import annotations

from tests.controlplane.plane import ControlPlane
from tests.integration.history import History, Manifest
from tests.integration.judge import Record, judge


class Recorder:
    """Begins at once. The test tells of its own writes to ClusterQueues and Cohorts by `own`."""

    def __init__(self, plane: ControlPlane, *, road: str = "spec") -> None:
        self._history = History(plane)
        self._road = road
        self._own: set[int] = set()

    def own(self, answer: Manifest) -> None:
        """Takes the answer to a write of the test's own, or of a rival that it plays."""
        self._own.add(int(answer["metadata"]["resourceVersion"]))

    def check(self) -> Record:
        """What has happened until now. Raises AssertionError where a promise was broken."""
        record = judge(self._history.start, self._history.versions(), own=self._own, road=self._road)
        assert not record.wrongs, "\n".join(record.wrongs[:10])
        return record
