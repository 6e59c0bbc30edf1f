"""From what is published and what is observed to what is published next, flavor by flavor."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from kueue_dqo.api import dqo
from kueue_dqo.api.parameters import Guards
from providers.amounts import capacity_by_flavor
from providers.guards.amounts import NO_AMOUNTS, Amounts, by_flavor
from providers.guards.flavor_memory import FlavorDecision, FlavorMemory, Subject
from providers.guards.holds import ACKNOWLEDGE, Hold, hashes_in
from providers.guards.windows import Clock


class Decision(NamedTuple):
    """What may be published now."""

    capacity: dqo.Capacity
    """Flavors in the order of the spec, those without resources left out; resources sorted by name."""
    holds: tuple[Hold, ...]
    look_again: float | None
    """Seconds until it is another one although what is observed stays; None: never."""
    acknowledged: tuple[Hold, ...] = ()
    """What a person's acknowledgement lets through, before its time."""


class GuardMemory:
    """What was observed and published of one CapacityProvider, as far as its guards need it.

    A new one takes up the holds that `holds_in` reads from the last message, so that a restart prolongs none of them
    and an acknowledgement stays good. What was published before and is not held is not known any more: the breaker
    then measures by what is published at the start.

    The first capacity of a flavor is published at once, as that of a provider is: an orchestrated flavor that is not
    reported has no quota, and siblings preempt the jobs that run on it. It is the first where the flavor is new to the
    spec, which is to say that it is neither remembered, nor published, nor known from before a restart. One that is
    held at nothing goes on being held.
    """

    def __init__(self, *, resumed: Sequence[Hold] = (), known: AbstractSet[str] = frozenset()) -> None:
        """`known` are the flavors that the last status answers for: one that it does not list was not there."""
        self._resumed = tuple(resumed)
        self._known = known
        self._flavors: dict[str, FlavorMemory] = {}
        self._acknowledged: AbstractSet[str] = frozenset()

    def acknowledge(self, text: str) -> None:
        """Takes a value of the annotation that the next decision may not see any more, since another overwrites it.

        Its hashes count, besides those of the annotation, until the hold that each stands for has ended. One that
        stands for no hold at the next decision is forgotten then.
        """
        self._acknowledged |= hashes_in(text)

    def decide(  # noqa: PLR0913 - all that a decision depends on, each by its name
        self,
        guards: Guards,
        *,
        provider: dqo.CapacityProvider,
        published: dqo.Capacity | None,
        observed: dqo.Capacity,
        now: datetime.datetime,
        monotonic: float,
    ) -> Decision:
        """What may be published now; asked again with the same, it says the same.

        Args:
            guards: of the provider's parameters. A change takes effect at once.
            provider: its name, its UID, its orchestrated flavors (no others are held or published), and its annotation
                `kueue-dqo.dev/acknowledge`. Its status is not read.
            published: what is published. Where that is None, what is observed is published at once.
            observed: the capacity before any guard.
            now: UTC.
            monotonic: seconds of a clock that nobody sets; it decides when a hold is over.
        """
        present = by_flavor(observed)
        if published is None:
            self._resumed, self._known, self._acknowledged = (), frozenset(), frozenset()
            self._flavors = {
                name: FlavorMemory(NO_AMOUNTS, observed=present.get(name, NO_AMOUNTS)) for name in provider.flavor_names
            }
            return Decision(capacity_by_flavor(provider.flavor_names, present), (), None)
        before = by_flavor(published)
        clock = Clock.of(now, monotonic)
        self._remember(guards, provider, before, present, clock)
        meta = provider.metadata
        acknowledged = self._acknowledged | hashes_in(meta.annotations.get(ACKNOWLEDGE, ""))
        decided: dict[str, FlavorDecision] = {}
        for name, memory in self._flavors.items():
            subject = Subject(meta.name, meta.uid, name, acknowledged)
            decided[name] = memory.decide(
                guards, subject, before.get(name, NO_AMOUNTS), present.get(name, NO_AMOUNTS), clock
            )
        let_through = tuple(each.acknowledged for each in decided.values() if each.acknowledged is not None)
        # What lets nothing through stands for no hold; the others are good until what they let through is published.
        self._acknowledged &= {hold.hash for hold in let_through}
        changes = [moment.monotonic - monotonic for each in decided.values() for moment in each.changes]
        return Decision(
            capacity_by_flavor(decided, {name: each.amounts for name, each in decided.items()}),
            tuple(hold for each in decided.values() for hold in each.holds),
            min(changes, default=None),
            let_through,
        )

    def _remember(
        self,
        guards: Guards,
        provider: dqo.CapacityProvider,
        published: dict[str, Amounts],
        observed: dict[str, Amounts],
        clock: Clock,
    ) -> None:
        """One memory for each orchestrated flavor, in the order of the spec."""
        flavors: dict[str, FlavorMemory] = {}
        for name in provider.flavor_names:
            memory = self._flavors.get(name)
            if memory is None:
                amounts = published.get(name, NO_AMOUNTS)
                is_new = name not in published and name not in self._known
                memory = FlavorMemory(amounts, observed=observed.get(name, NO_AMOUNTS) if is_new else amounts)
                for hold in self._resumed:
                    if hold.flavor == name:
                        memory.resume(hold, guards, provider.metadata.uid, amounts, clock)
            flavors[name] = memory
        self._resumed, self._known = (), frozenset()
        self._flavors = flavors
