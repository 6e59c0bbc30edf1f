"""Who owns the quotas in a spec after `dqo cleanup`: nobody, so that whoever applies them next gets no conflict."""

from __future__ import annotations

import pytest

from tests.controlplane.admin import APPLY_PATCH
from tests.controlplane.plane import ControlPlane
from tests.integration.cli.clusters import effective, path_of, queue, write_spec
from tests.integration.cli.conftest import Dqo
from tests.integration.cli.interference import interfere

DECLARED, OTHERS = queue("a", "10"), queue("a", "12")


def leave_behind(plane: ControlPlane, cpu: str) -> None:
    """Quotas of an orchestrator that is gone, in an object of `admin`."""
    plane.admin.apply(DECLARED, manager="admin")
    write_spec(plane, DECLARED, DECLARED["spec"]["resourceGroups"], effective(cpu))


def apply_others(plane: ControlPlane) -> None:
    """A server-side apply that does not force anything."""
    query = {"fieldManager": "admin"}
    plane.admin.request("PATCH", path_of(DECLARED), OTHERS, content_type=APPLY_PATCH, query=query)


@pytest.mark.parametrize("applied", ["4", "10"], ids=["other numbers", "the same numbers"])
def test_the_next_server_side_apply_meets_no_conflict(applied: str, plane: ControlPlane, dqo: Dqo) -> None:
    """With other quotas than those that were restored, by their author."""
    leave_behind(plane, applied)
    printed = dqo(plane.kubeconfig(), "cleanup", "--yes")
    assert (printed.code, printed.err) == (0, "")
    apply_others(plane)
    assert plane.admin.get(path_of(DECLARED))["spec"]["resourceGroups"] == OTHERS["spec"]["resourceGroups"]


def test_a_write_in_between_leaves_the_ownership_and_a_note(
    plane: ControlPlane, dqo: Dqo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The quotas are restored, so all is done; what is left is a nuisance, and is told."""
    leave_behind(plane, "4")

    def write(count: int) -> None:
        if count > 1:
            plane.admin.patch(path_of(DECLARED), {"metadata": {"managedFields": [{}]}}, manager="other")

    interfere(monkeypatch, write)
    printed = dqo(plane.kubeconfig(), "cleanup", "--yes")
    assert printed.code == 0
    assert "the declared quotas are in force again" in printed.out
    assert printed.err.startswith("Note: ClusterQueue/a: kueue-dqo-cli still owns spec.resourceGroups")
