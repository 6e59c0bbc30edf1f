"""Which reports of nodes that are gone are to be deleted."""

from __future__ import annotations

from providers.nvidia_gpu.decoding import Report
from providers.nvidia_gpu.orphans import Orphans
from tests.unit.providers.nvidia_gpu.gpus import decoded, manifest

HOUR = 3600.0


def reports(*names: str, uid: str = "") -> dict[str, Report]:
    found = {name: decoded(manifest(name)) for name in names}
    return {name: report._replace(uid=uid or report.uid) for name, report in found.items()}


def due(orphans: Orphans, present: dict[str, Report], nodes: set[str], now: float) -> list[str]:
    return [report.node for report in orphans.due(present, nodes, now)]


def test_a_report_is_due_once_its_node_has_been_gone_for_an_hour() -> None:
    orphans = Orphans()
    there = reports("n1", "gone")
    assert due(orphans, there, {"n1"}, 100) == []
    assert due(orphans, there, {"n1"}, 100 + HOUR - 1) == []
    assert due(orphans, there, {"n1"}, 100 + HOUR) == ["gone"]


def test_a_node_that_is_back_in_between_begins_the_hour_anew() -> None:
    orphans = Orphans()
    due(orphans, reports("n1"), set(), 0)
    due(orphans, reports("n1"), {"n1"}, HOUR / 2)
    assert due(orphans, reports("n1"), set(), HOUR) == []
    assert due(orphans, reports("n1"), set(), 2 * HOUR) == ["n1"]


def test_another_report_of_that_name_begins_the_hour_anew() -> None:
    orphans = Orphans()
    due(orphans, reports("n1"), set(), 0)
    assert due(orphans, reports("n1", uid="another"), set(), HOUR) == []


def test_what_nobody_watched_begins_anew() -> None:
    orphans = Orphans()
    due(orphans, reports("n1"), set(), 0)
    orphans.forget()
    assert due(orphans, reports("n1"), set(), HOUR) == []
