"""What `dqo cleanup` lists before it writes."""

from __future__ import annotations

from collections.abc import Mapping

from kueue_dqo.api.dqo import DynamicQuotaOrchestrator
from kueue_dqo.cli.cleanup.report import report
from orchestrator.cleanup import Leftover, Standing, leftovers
from orchestrator.enforcement.roads import Road
from tests.unit.orchestrator.builders import Quota, distributed, groups, orchestrator, queue_key, ref
from tests.unit.orchestrator.enforcement.roads import annotated
from tests.unit.orchestrator.leftovers import held, left

STALLED = orchestrator("dqo", root=queue_key("a"), conditions=(distributed("False", reason="Misconfigured"),))
KEEPER = orchestrator("dqo", root=queue_key("a"))


def lines(found: list[Leftover], *shown: Standing) -> list[str]:
    return list(report(found, shown or (Standing.ABANDONED,)))


def found(*objects: Mapping[str, object], by: DynamicQuotaOrchestrator | None = None) -> list[Leftover]:
    return leftovers([held(dict(each)) for each in objects], {by.metadata.name: by} if by is not None else {})


def test_a_table_names_object_road_writer_reason_and_the_numbers_that_come_back() -> None:
    """In columns."""
    assert lines(found(left("a"), left("long-name", road=Road.SPEC, owner=ref("ml")))) == [
        "Quotas that nobody keeps up any more:",
        "  OBJECT                  ROAD    WRITTEN BY  WHY                       NOW → DECLARED",
        "  ClusterQueue/a          status  dqo         the orchestrator is gone  batch/cpu 4 → 10",
        "  ClusterQueue/long-name  spec    ml          the orchestrator is gone  batch/cpu 4 → 10",
        "",
    ]


def test_equal_numbers_are_called_that() -> None:
    """Also where only a limit differs."""
    same = left("a")
    same["status"]["effectiveQuotas"]["resourceGroups"] = same["spec"]["resourceGroups"]
    assert lines(found(same))[2].endswith("the same numbers")
    (leftover,) = found(same)
    member = leftover.view.member
    limited = member._replace(in_force=groups({"batch": {"cpu": Quota(10, borrowing=1)}}))
    changed = leftover._replace(view=leftover.view._replace(member=limited))
    assert lines([changed])[2].endswith("the same numbers, other limits")


def test_stalled_quotas_are_listed_apart_and_kept_ones_only_with_all() -> None:
    """Whoever asks for less still sees what --stale is about."""
    assert lines(found(left(), by=STALLED))[0].startswith("Quotas whose orchestrator cannot keep them up at present")
    assert lines(found(left(), by=KEEPER)) == []
    assert lines(found(left(), by=KEEPER), Standing.KEPT)[0].startswith("Quotas that an orchestrator keeps up")


def test_what_others_wrote_is_said_not_to_be_touched() -> None:
    """With who they are."""
    assert lines(found(left(owner=ref("x", kind="Other")))) == [
        "Not touched, because others wrote them:",
        "  ClusterQueue/a (status): Other.kueue.x-k8s.io/x is no DynamicQuotaOrchestrator of kueue.x-k8s.io",
        "",
    ]


def test_a_lost_declaration_is_named_with_its_problem() -> None:
    """And stands in no table."""
    printed = lines(found(annotated(left(road=Road.SPEC), declared=None)))
    assert printed[0] == "Skipped, because the declared quotas cannot be told:"
    assert printed[1].startswith("  ClusterQueue/a (spec): the annotation kueue-dqo.dev/declared-quotas is gone")


def test_a_lost_declaration_of_a_live_orchestrator_is_its_own_affair() -> None:
    """Its condition says so already."""
    assert lines(found(annotated(left(road=Road.SPEC), declared=None), by=KEEPER)) == []
