"""What `dqo cleanup` says before it writes. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from kueue_dqo.api.quotas import ResourceQuota, quotas_by_pair
from kueue_dqo.api.wording import some
from kueue_dqo.cli.plan.text import amount_text
from orchestrator.cleanup import Leftover, Standing

_TITLES: Final = {
    Standing.ABANDONED: "Quotas that nobody keeps up any more",
    Standing.STALLED: "Quotas whose orchestrator cannot keep them up at present (restored only with --stale)",
    Standing.KEPT: "Quotas that an orchestrator keeps up (restored only with --all)",
}
_ALWAYS_SHOWN: Final = (Standing.ABANDONED, Standing.STALLED)
_MOST_CHANGES: Final = 6
_GAP: Final = "  "


def report(found: Sequence[Leftover], shown: Iterable[Standing]) -> Iterator[str]:
    """The lines: a table for each standing that is shown, then what is never touched."""
    for standing in _TITLES:
        rows = [_row(each) for each in found if each.standing is standing and each.problem is None]
        if rows and (standing in _ALWAYS_SHOWN or standing in shown):
            yield f"{_TITLES[standing]}:"
            yield from _aligned([("OBJECT", "ROAD", "WRITTEN BY", "WHY", "NOW → DECLARED"), *rows])
            yield ""
    skipped = [each for each in found if each.problem is not None and is_due(each, shown)]
    if skipped:
        yield "Skipped, because the declared quotas cannot be told:"
        yield from (f"{_GAP}{each.held.key} ({each.road}): {each.problem}" for each in skipped)
        yield ""
    foreign = [each for each in found if each.standing is Standing.FOREIGN]
    if foreign:
        yield "Not touched, because others wrote them:"
        yield from (f"{_GAP}{each.held.key} ({each.road}): {each.why}" for each in foreign)
        yield ""


def is_due(leftover: Leftover, standings: Iterable[Standing]) -> bool:
    """Whether it is one of those that are to be restored; one that nobody can judge is, and then is skipped."""
    return leftover.standing in standings or leftover.standing is Standing.UNKNOWN


def _row(leftover: Leftover) -> tuple[str, ...]:
    owner = leftover.owner.name if leftover.owner is not None else "-"
    return (str(leftover.held.key), str(leftover.road), owner, leftover.why, _changes(leftover))


def _changes(leftover: Leftover) -> str:
    """The declared numbers that come back, each behind the one that is in force now."""
    member = leftover.view.member
    now, declared = dict(quotas_by_pair(member.in_force)), dict(quotas_by_pair(member.declared))
    changes = [
        f"{pair} {_nominal(now.get(pair))} → {_nominal(declared.get(pair))}"
        for pair in [*declared, *(pair for pair in now if pair not in declared)]
        if _nominal(now.get(pair)) != _nominal(declared.get(pair))
    ]
    if changes:
        return some(changes, at_most=_MOST_CHANGES)
    return "the same numbers" if now == declared else "the same numbers, other limits"


def _nominal(quota: ResourceQuota | None) -> str:
    return amount_text(quota.nominal_quota) if quota is not None else "-"


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield _GAP + _GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
