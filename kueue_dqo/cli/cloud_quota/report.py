"""What was asked of clouds and what came of it, as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final

from kueue_dqo.api import dqo
from kueue_dqo.api.meta import KUEUE_GROUP, time_text
from kueue_dqo.api.scheme import to_manifest
from kueue_dqo.api.wording import counted
from kueue_dqo.cli.plan.text import amount_text
from kueue_dqo.provider import Notice
from providers.cloud_quota.cloud import Call
from providers.cloud_quota.compute import FlavorCount
from providers.cloud_quota.once import Asked

_VERSION: Final = f"{KUEUE_GROUP}/v1alpha1"
_GAP: Final = "  "


# --- for a person ----------------------------------------------------------------------------------------------------


def table(found: Sequence[Asked], notes: Iterable[str]) -> Iterator[str]:
    """The lines: each CapacityProvider with its capacity, where that comes from, and the calls; then notes, a sum."""
    for asked in found:
        yield _title(asked)
        yield ""
        yield from _capacity(asked)
        yield ""
        yield from calls(asked.calls)
        yield ""
    listed = list(notes)
    if listed:
        yield "Notes"
        yield from (f"{_GAP}• {note}" for note in listed)
        yield ""
    yield _sum(found)


def calls(made: Sequence[Call]) -> Iterator[str]:
    """A row for each call, in an order that does not depend on which of them was faster."""
    if not made:
        yield f"{_GAP}No call: what was known from above was enough, or nobody could be asked."
        return
    head = ("CALL", "REGION", "SUBJECT", "RESULT", "REQUESTS", "THROTTLES", "SECONDS")
    rows = [
        (
            each.name,
            each.region,
            each.subject or "-",
            str(each.result),
            str(each.requests),
            str(each.throttles),
            f"{each.seconds:.2f}",
        )
        for each in sorted(made, key=lambda call: (call.region, call.name, call.subject))
    ]
    yield from _aligned([head, *rows], right=head[4:])


def _title(asked: Asked) -> str:
    reference = asked.provider.spec.parameters
    named = f", {reference.kind}/{reference.name}" if reference is not None else ""
    account = f": {asked.account}" if asked.account else ""
    return f"{asked.provider.key}{named}{account}"


def _capacity(asked: Asked) -> Iterator[str]:
    if asked.counted is None or asked.settled is None:
        yield f"{_GAP}Nothing would be published: {asked.verdict.reason}"
        yield f"{_GAP}{_GAP}{asked.verdict.message}"
        return
    yield from _aligned([("FLAVOR", "RESOURCE", "AMOUNT"), *_amounts(asked)], right=("AMOUNT",))
    yield ""
    yield f"{_GAP}Made of"
    yield from chain.from_iterable(map(_made_of, asked.counted.flavors))
    yield from (f"{_GAP}{note}" for note in asked.settled.notes)
    yield from (f"{_GAP}{_event(notice)}" for notice in asked.counted.observation.notices)
    changes = _next_change(asked.counted.flavors)
    if changes is not None:
        yield f"{_GAP}{changes}"


def _amounts(asked: Asked) -> Iterator[tuple[str, str, str]]:
    """The first row of a flavor names it; a flavor without anything has a row too."""
    capacity = asked.verdict.capacity or dqo.Capacity()
    by_flavor = {flavor.name: flavor.resources for flavor in capacity.flavors}
    for flavor in asked.provider.flavor_names:
        label = flavor
        for resource, amount in sorted(by_flavor.get(flavor, {}).items()):
            yield label, resource, amount_text(amount)
            label = ""
        if label:
            yield label, "(nothing reported)", "0"


def _made_of(flavor: FlavorCount) -> Iterator[str]:
    texts = [each.derived.text for each in flavor.entries]
    if len(texts) == 1:
        yield f"{_GAP}{_GAP}{flavor.name}: {texts[0]}"
        return
    yield f"{_GAP}{_GAP}{flavor.name}: the {flavor.combine} of"
    yield from (f"{_GAP}{_GAP}{_GAP}{text}" for text in texts)


def _next_change(flavors: Iterable[FlavorCount]) -> str | None:
    """The first time at which an entry becomes another one by itself."""
    times = [
        (entry.derived.next, flavor.name)
        for flavor in flavors
        for entry in flavor.entries
        if entry.derived.next is not None
    ]
    if not times:
        return None
    first = min(time for time, _ in times)
    names = dict.fromkeys(name for time, name in times if time == first)
    return f"By itself it becomes another one at {time_text(first)}: {', '.join(names)}"


def _event(notice: Notice) -> str:
    return f"{'Warning' if notice.is_warning else 'Event'} {notice.reason}: {notice.message}"


def _sum(found: Sequence[Asked]) -> str:
    published = sum(asked.is_published for asked in found)
    made = [call for asked in found for call in asked.calls]
    asked_for = f"{counted(len(made), 'call')}, {counted(sum(call.requests for call in made), 'request')}"
    return f"{counted(len(found), 'CapacityProvider')}, {published} with a capacity; {asked_for}. Nothing was written."


def _aligned(rows: Sequence[Sequence[str]], right: Sequence[str] = ()) -> Iterator[str]:
    """Columns as wide as their widest cells. The first row has their titles; those in `right` are set to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.rjust(width) if title in right else cell.ljust(width)
            for title, cell, width in zip(rows[0], row, widths, strict=True)
        ]
        yield (_GAP + _GAP.join(cells)).rstrip()


# --- for a machine ---------------------------------------------------------------------------------------------------


def items(found: Iterable[Asked]) -> list[dict[str, Any]]:
    """The CapacityProviders with their statuses, as `dqo plan -f` reads them."""
    return [
        {
            "apiVersion": _VERSION,
            "kind": dqo.CAPACITY_PROVIDER,
            "metadata": {"name": asked.provider.metadata.name},
            "spec": to_manifest(asked.provider.spec),
            "status": to_manifest(asked.provider.status),
        }
        for asked in found
    ]


def remarks(found: Iterable[Asked], notes: Iterable[str]) -> Iterator[str]:
    """What stands beside them on standard error: why one has no capacity, with the calls; Events; notes."""
    for asked in found:
        key = asked.provider.key
        if asked.counted is None or not asked.is_published:
            yield f"{key}: nothing would be published: {asked.verdict.reason}: {asked.verdict.message}"
            yield from calls(asked.calls)
            continue
        yield from (f"{key}: {_event(notice)}" for notice in asked.counted.observation.notices)
    yield from (f"Note: {note}" for note in notes)
