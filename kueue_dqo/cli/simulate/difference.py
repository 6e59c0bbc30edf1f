"""What a what-if changes: who is admitted, who waits, who is sent away, who borrows from whom. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from admission.amounts import written
from admission.quota_tree import Pair
from admission.settling import Simulation
from kueue_dqo.cli.simulate.settled import Row, row_of

_HOLDING: Final = ("Admitted", "Reserved")


class Holding(NamedTuple):
    """What a ClusterQueue has of a flavor's resource, in Kueue's units."""

    nominal: int
    held: int


class Snapshot(NamedTuple):
    """What a simulation has settled at, kept for comparison."""

    rows: dict[str, Row]
    """By Workload."""
    holdings: dict[tuple[str, Pair], Holding]
    roots: dict[str, str]
    """The topmost Cohort of each ClusterQueue in one."""


class Change(NamedTuple):
    """A Workload that is not as before."""

    what: str
    """`is admitted`, `waits`, `is sent away`, `moves`, `comes`, `goes`."""
    name: str
    before: str
    after: str
    why: str


def snapshot_of(simulation: Simulation) -> Snapshot:
    """The simulation as it stands."""
    rows = {key: row_of(workload) for key, workload in sorted(simulation.workloads.items())}
    holdings, roots = {}, {}
    for name, queue in sorted(simulation.state.queues.items()):
        if queue.node.parent is not None and name not in simulation.cyclic:
            roots[name] = queue.node.root.name
        for pair, quota in sorted(queue.node.quotas.items()):
            holdings[name, pair] = Holding(quota.nominal, queue.node.usage.get(pair, 0))
    return Snapshot(rows, holdings, roots)


def changes(before: Snapshot, after: Snapshot) -> Iterator[Change]:
    """Workloads that are not as before, by what becomes of them."""
    for key in sorted(before.rows.keys() | after.rows.keys()):
        old, new = before.rows.get(key), after.rows.get(key)
        if old is None and new is not None:
            yield Change("comes", new.name, "", _short(new), new.why)
        elif new is None and old is not None:
            yield Change("goes", old.name, _short(old), "", "")
        elif old is not None and new is not None and _short(old) != _short(new):
            yield Change(_what(old, new), new.name, _short(old), _short(new), new.why)


def borrowers(now: Snapshot, before: Snapshot) -> Iterator[tuple[str, ...]]:
    """Of each queue whose quota, usage or loans are not as before: the pair, all three then and now, and who lends."""
    for (name, pair), new in now.holdings.items():
        old = before.holdings.get((name, pair), Holding(0, 0))
        if old == new:
            continue
        lenders = _lenders(now, name, pair) if _borrowed(now, name, new) else ""
        yield (
            name,
            f"{pair.flavor}/{pair.resource}",
            _then(pair, old.nominal, new.nominal),
            _then(pair, old.held, new.held),
            _then(pair, _borrowed(before, name, old), _borrowed(now, name, new)),
            lenders,
        )


def above_quota(now: Snapshot) -> Iterator[str]:
    """Queues that hold more than there is: Kueue sends nobody away where quota shrinks."""
    for (name, pair), holding in now.holdings.items():
        if name not in now.roots and holding.held > holding.nominal:
            more = written(pair.resource, holding.held - holding.nominal)
            yield (
                f"ClusterQueue/{name} holds {more} of {pair.flavor}/{pair.resource} more than its quota: Kueue sends "
                "nobody away where quota shrinks, and admits nobody until that has ended"
            )


def _what(old: Row, new: Row) -> str:
    held, holds = (row.state in _HOLDING for row in (old, new))
    if held and not holds:
        return "is sent away" if new.state.startswith("Waits") else new.state.lower()
    if holds and not held:
        return "is admitted" if new.state == "Admitted" else "has quota"
    return "moves" if held and holds else "changes"


def _short(row: Row) -> str:
    return f"{row.state} on {row.flavors}" if row.state in _HOLDING else row.state


def _borrowed(snapshot: Snapshot, name: str, holding: Holding) -> int:
    return max(0, holding.held - holding.nominal) if name in snapshot.roots else 0


def _lenders(snapshot: Snapshot, borrower: str, pair: Pair) -> str:
    """Who of its tree leaves quota unused, and how much: what is borrowed is nobody's in particular."""
    root = snapshot.roots.get(borrower)
    unused = [
        f"{name} ({written(pair.resource, holding.nominal - holding.held)} unused)"
        for (name, other), holding in snapshot.holdings.items()
        if other == pair and name != borrower and snapshot.roots.get(name) == root and holding.held < holding.nominal
    ]
    return ", ".join(unused) or "its Cohort's own quota"


def _then(pair: Pair, old: int, new: int) -> str:
    one, other = written(pair.resource, old), written(pair.resource, new)
    return one if one == other else f"{one} → {other}"
