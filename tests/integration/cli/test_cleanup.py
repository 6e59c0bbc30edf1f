"""`dqo cleanup` against a real API server."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.enforcement.held import Held, held_of
from orchestrator.enforcement.roads import Road
from tests.controlplane.admin import JSON_PATCH
from tests.controlplane.kueue import CRDS
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.cli.clusters import (
    cohort,
    effective,
    groups,
    orchestrator,
    path_of,
    queue,
    stalled,
    user,
    write_spec,
    write_status,
)
from tests.integration.cli.conftest import Dqo
from tests.integration.cli.interference import interfere

A, B = queue("a", "10"), queue("b", "30")
CRD = f"{CRDS}/dynamicquotaorchestrators.kueue.x-k8s.io"
Leave = Callable[[ControlPlane, dict[str, Any], dict[str, Any]], None]


def on_the_spec(plane: ControlPlane, obj: dict[str, Any], quotas: dict[str, Any]) -> None:
    write_spec(plane, obj, obj["spec"]["resourceGroups"], quotas)


ON_BOTH_ROADS = pytest.mark.parametrize(
    ("leave", "road"), [(write_status, "status"), (on_the_spec, "spec")], ids=["status", "spec"]
)


def held(plane: ControlPlane, obj: dict[str, Any]) -> Held:
    return held_of(obj["kind"], plane.admin.request("GET", path_of(obj)))


def in_force(plane: ControlPlane, obj: dict[str, Any]) -> str:
    """The nominal quota that counts."""
    found = plane.admin.get(path_of(obj))
    where = found.get("status", {}).get("effectiveQuotas") or found["spec"]
    return str(where["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"])


def carries_anything(plane: ControlPlane, obj: dict[str, Any]) -> bool:
    found = plane.admin.get(path_of(obj))
    return "effectiveQuotas" in found.get("status", {}) or bool(found["metadata"].get("annotations"))


def test_quotas_on_both_roads_are_put_back(status_plane: ControlPlane, dqo: Dqo) -> None:
    """As the admin declared them, and a second call has nothing to do."""
    status_plane.admin.apply(A, B)
    write_status(status_plane, A, effective("4"))
    on_the_spec(status_plane, B, effective("4"))
    printed = dqo(status_plane.kubeconfig(), "cleanup", "--yes")
    assert (printed.code, printed.err) == (0, "")
    assert printed.out.splitlines() == [
        "Quotas that nobody keeps up any more:",
        "  OBJECT          ROAD    WRITTEN BY  WHY                       NOW → DECLARED",
        "  ClusterQueue/a  status  dqo         the orchestrator is gone  batch/cpu 4 → 10",
        "  ClusterQueue/b  spec    dqo         the orchestrator is gone  batch/cpu 4 → 30",
        "",
        "ClusterQueue/a (status): the declared quotas are in force again",
        "ClusterQueue/b (spec): the declared quotas are in force again",
    ]
    assert [in_force(status_plane, each) for each in (A, B)] == ["10", "30"]
    assert not carries_anything(status_plane, A)
    assert not carries_anything(status_plane, B)
    assert dqo(status_plane.kubeconfig(), "cleanup") == (0, "No quotas are left behind.\n", "")


@pytest.mark.parametrize("applied", ["4", "10"], ids=["other numbers", "the same numbers"])
def test_what_was_put_back_is_a_declaration_again(applied: str, status_plane: ControlPlane, dqo: Dqo) -> None:
    """And does not look as if the annotations had been lost, whoever owned the spec before."""
    status_plane.admin.apply(A)
    on_the_spec(status_plane, A, effective(applied))
    assert dqo(status_plane.kubeconfig(), "cleanup", "--yes").code == 0
    member = Road.SPEC.view(held(status_plane, A)).member
    assert (member.problem, member.owner) == (None, None)
    assert in_force(status_plane, A) == "10"


@ON_BOTH_ROADS
def test_without_a_terminal_it_lists_and_writes_nothing(
    leave: Leave, road: str, status_plane: ControlPlane, dqo: Dqo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exit code says that something is left to do, the message how."""
    status_plane.admin.apply(A)
    leave(status_plane, A, effective("4"))
    monkeypatch.setattr(sys, "stdin", Path(os.devnull).open(encoding="utf-8"))  # noqa: SIM115 - closed by the end of the test
    printed = dqo(status_plane.kubeconfig(), "cleanup")
    sys.stdin.close()
    assert printed.code == 1
    assert f"ClusterQueue/a  {road}" in printed.out
    assert "standard input is no terminal to ask on; restore the quotas of 1 object with --yes" in printed.err
    assert in_force(status_plane, A) == "4"


@pytest.mark.parametrize(("answer", "code", "after"), [("y\n", 0, "10"), ("n\n", 1, "4")], ids=["yes", "no"])
def test_on_a_terminal_it_asks(answer: str, code: int, after: str, status_plane: ControlPlane) -> None:
    """And goes by the answer."""
    status_plane.admin.apply(A)
    write_status(status_plane, A, effective("4"))
    ours, theirs = pty.openpty()
    os.write(ours, answer.encode())
    command = [sys.executable, "-m", "kueue_dqo.cli", "cleanup", "--kubeconfig", str(status_plane.kubeconfig())]
    finished = subprocess.run(command, stdin=theirs, capture_output=True, text=True, check=False)
    os.close(ours)
    os.close(theirs)
    assert finished.returncode == code, finished
    assert "Put the declared quotas of 1 object in force again? [y/N]" in finished.stdout
    assert in_force(status_plane, A) == after


@ON_BOTH_ROADS
def test_quotas_of_a_stalled_orchestrator_are_put_back_only_with_stale(
    leave: Leave, road: str, status_plane: ControlPlane, dqo: Dqo
) -> None:
    """They are listed all the same, with reason and time."""
    status_plane.admin.apply(A, stalled(root="ClusterQueue/a"))
    leave(status_plane, A, effective("4"))
    printed = dqo(status_plane.kubeconfig(), "cleanup", "--yes")
    assert printed.code == 0
    assert f"ClusterQueue/a  {road}" in printed.out
    assert "Distributed=False EffectiveCapacityNotComputed since 2026-01-31T12:00:00Z" in printed.out
    assert in_force(status_plane, A) == "4"
    assert dqo(status_plane.kubeconfig(), "cleanup", "--yes", "--stale").code == 0
    assert in_force(status_plane, A) == "10"


@ON_BOTH_ROADS
def test_quotas_that_are_kept_up_are_put_back_only_with_all(
    leave: Leave, road: str, status_plane: ControlPlane, dqo: Dqo
) -> None:
    """With a warning: whoever runs writes them again."""
    status_plane.admin.apply(A, orchestrator(root="ClusterQueue/a"))
    leave(status_plane, A, effective("4"))
    assert dqo(status_plane.kubeconfig(), "cleanup", "--yes", "--stale").out == "No quotas are left behind.\n"
    assert in_force(status_plane, A) == "4"
    printed = dqo(status_plane.kubeconfig(), "cleanup", "--yes", "--all")
    assert printed.code == 0
    assert f"ClusterQueue/a ({road}): the declared quotas are in force again" in printed.out
    assert printed.err.startswith("Warning: an orchestrator would write its quotas again: make sure that none runs")
    assert in_force(status_plane, A) == "10"


@ON_BOTH_ROADS
def test_what_others_wrote_is_never_touched(leave: Leave, road: str, status_plane: ControlPlane, dqo: Dqo) -> None:
    """Not even with all options."""
    status_plane.admin.apply(A)
    leave(status_plane, A, effective("4", kind="Other"))
    printed = dqo(status_plane.kubeconfig(), "cleanup", "--yes", "--all", "--stale")
    assert printed.code == 0
    assert f"ClusterQueue/a ({road}): Other.kueue.x-k8s.io/dqo is no DynamicQuotaOrchestrator" in printed.out
    assert in_force(status_plane, A) == "4"


def test_a_lost_declaration_is_skipped_and_the_others_are_put_back(status_plane: ControlPlane, dqo: Dqo) -> None:
    """The exit code says that something was not done."""
    status_plane.admin.apply(A, B)
    write_status(status_plane, A, effective("4"))
    on_the_spec(status_plane, B, effective("4"))
    status_plane.admin.patch(path_of(B), {"metadata": {"annotations": {"kueue-dqo.dev/declared-quotas": None}}})
    printed = dqo(status_plane.kubeconfig(), "cleanup", "--yes")
    assert printed.code == 1
    assert "ClusterQueue/b (spec): the annotation kueue-dqo.dev/declared-quotas is gone" in printed.out
    assert [in_force(status_plane, each) for each in (A, B)] == ["10", "4"]
    assert dqo(status_plane.kubeconfig(), "cleanup", "--yes").out.endswith("Nothing to restore.\n")


def test_objects_are_chosen_by_name(status_plane: ControlPlane, dqo: Dqo) -> None:
    """With or without the kind; one that is not there is an error."""
    twin = cohort("a")
    status_plane.admin.apply(A, B, twin)
    for each in (A, B, twin):
        write_status(status_plane, each, effective("4"))
    assert dqo(status_plane.kubeconfig(), "cleanup", "--yes", "ClusterQueue/a").code == 0
    assert [carries_anything(status_plane, each) for each in (A, B, twin)] == [False, True, True]
    printed = dqo(status_plane.kubeconfig(), "cleanup", "--yes", "a", "nobody")
    assert (printed.code, "no ClusterQueue or Cohort 'nobody'" in printed.err) == (1, True)
    assert dqo(status_plane.kubeconfig(), "cleanup", "--yes", "a").code == 0
    assert [carries_anything(status_plane, each) for each in (A, B, twin)] == [False, True, False]


def test_quotas_that_were_taken_over_in_between_are_left_alone(
    status_plane: ControlPlane, dqo: Dqo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test of the patch fails, and all is judged anew."""
    status_plane.admin.apply(A, B)
    write_status(status_plane, A, effective("4", "gone"))
    write_status(status_plane, B, effective("4", "gone"))

    def takes_over(count: int) -> None:
        if count == 1:
            status_plane.admin.apply(orchestrator(root="ClusterQueue/a"))
            write_status(status_plane, A, effective("6"))

    interfere(monkeypatch, takes_over)
    printed = dqo(status_plane.kubeconfig(), "cleanup", "--yes")
    assert printed.code == 0
    assert "ClusterQueue/a (status): left alone, it has changed" in printed.out
    assert [in_force(status_plane, each) for each in (A, B)] == ["6", "30"]


def test_an_edit_in_between_is_not_lost(status_plane: ControlPlane, dqo: Dqo, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an admin declares in that moment is what comes back."""
    status_plane.admin.apply(A)
    on_the_spec(status_plane, A, effective("4"))

    def edits(count: int) -> None:
        if count == 1:
            status_plane.admin.patch(path_of(A), {"spec": {"resourceGroups": groups("12")}})

    interfere(monkeypatch, edits)
    assert dqo(status_plane.kubeconfig(), "cleanup", "--yes").code == 0
    assert in_force(status_plane, A) == "12"
    assert not carries_anything(status_plane, A)


def test_whoever_writes_all_the_time_is_an_error(
    status_plane: ControlPlane, dqo: Dqo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a few attempts."""
    status_plane.admin.apply(A)
    write_status(status_plane, A, effective("4"))
    interfere(monkeypatch, lambda count: write_status(status_plane, A, effective(f"{count + 1}")))
    printed = dqo(status_plane.kubeconfig(), "cleanup", "--yes")
    assert printed.code == 1
    assert "ClusterQueue/a (status): changed by others 5 times" in printed.err


def test_a_missing_right_is_named_and_the_other_road_goes_on(status_plane: ControlPlane, dqo: Dqo) -> None:
    """Here the status may be written, the spec not."""
    status_plane.admin.apply(A, B)
    on_the_spec(status_plane, A, effective("4"))
    write_status(status_plane, B, effective("4"))
    rules = [
        {"apiGroups": ["kueue.x-k8s.io"], "resources": ["*"], "verbs": ["list"]},
        {"apiGroups": ["kueue.x-k8s.io"], "resources": ["clusterqueues/status"], "verbs": ["patch"]},
    ]
    printed = dqo(user(status_plane, "half", rules), "cleanup", "--yes")
    assert printed.code == 1
    assert "ClusterQueue/a (spec): was not written: not allowed: PATCH " in printed.err
    assert 'cannot patch resource "clusterqueues"' in printed.err
    assert [in_force(status_plane, each) for each in (A, B)] == ["4", "30"]


def test_orchestrators_that_cannot_be_seen_do_not_count_as_gone(fresh_plane: ControlPlane, dqo: Dqo) -> None:
    """Of a version that is not read; only where the kind is gone, all of them are."""
    fresh_plane.admin.apply(A, orchestrator(root="ClusterQueue/a"))
    on_the_spec(fresh_plane, A, effective("4"))
    newer = fresh_plane.admin.get(CRD)["spec"]["versions"][0] | {"name": "v1beta1"}
    operations = [
        {"op": "add", "path": "/spec/versions/-", "value": newer},
        {"op": "replace", "path": "/spec/versions/0/storage", "value": False},
        {"op": "replace", "path": "/spec/versions/0/served", "value": False},
    ]
    fresh_plane.admin.patch(CRD, operations, JSON_PATCH)
    printed = dqo(fresh_plane.kubeconfig(), "cleanup", "--yes")

    def is_refused() -> bool:
        nonlocal printed
        printed = dqo(fresh_plane.kubeconfig(), "cleanup", "--yes")
        return printed.code == 1

    eventually(is_refused, "the other version is not served any more")
    assert "has dynamicquotaorchestrators in v1beta1, not in v1alpha1" in printed.err
    assert in_force(fresh_plane, A) == "4"
    fresh_plane.admin.delete(CRD)

    def is_gone() -> bool:
        nonlocal printed
        printed = dqo(fresh_plane.kubeconfig(), "cleanup", "--yes")
        return "are in force again" in printed.out

    eventually(is_gone, "the definition is gone")
    assert "every orchestrator counts as gone" in printed.err
    assert in_force(fresh_plane, A) == "10"
