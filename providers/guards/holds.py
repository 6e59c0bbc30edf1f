"""What is being held, as a value and as the text that a message begins with. The text can be read back.

A restarted or newly elected publisher knows nothing but the object, so all that it must not lose is in the text.
"""

from __future__ import annotations

import datetime
import enum
import hashlib
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from kueue_dqo.api.meta import OUR_GROUP, parse_time, time_text
from kueue_dqo.api.quantity import Quantity
from providers.guards.amounts import NO_AMOUNTS, Amounts, fall_in_percent, level

ACKNOWLEDGE: Final = f"{OUR_GROUP}/acknowledge"
"""The annotation by which a person lets large falls through; its value is the hash of a hold, or several."""

_ANNOTATE: Final = "kubectl annotate capacityproviders.kueue.x-k8s.io"
_NOTHING: Final = "nothing"
_HASH_DIGITS: Final = 10


class Guard(enum.StrEnum):
    """What holds."""

    FALL = "fall"
    """It has not lasted for `guards.fallAfter` yet."""
    RISE = "rise"
    """It has not lasted for `guards.riseAfter` yet."""
    BREAKER = "breaker"
    """It is a fall of more than `guards.maxFallPercent`, and `guards.breakerGrace` is not over."""


class Hold(NamedTuple):
    """Resources of one flavor that stay published until a time, although something else is observed.

    A flavor has several holds of one guard where its resources changed at different times; a resource is in one only.
    A resource that is not in `observed`, or not in `published`, is not reported there at all.
    """

    flavor: str
    guard: Guard
    until: datetime.datetime
    """UTC, a whole second. It does not move while the hold lasts and the guards are the same."""
    observed: Amounts
    published: Amounts
    then: Amounts = NO_AMOUNTS
    """What is published at the end, if not what is observed: a change in steps is followed in steps."""
    lately: Amounts = NO_AMOUNTS
    """What the breaker compares with, where more was published within the last minutes than is now."""
    provider: str = ""
    """The CapacityProvider's name; of the breaker only."""
    hash: str | None = None
    """What a person acknowledges; of the breaker only."""

    @property
    def resources(self) -> list[str]:
        """The names of what is held, sorted."""
        return sorted(self.observed.keys() | self.published.keys())

    def __str__(self) -> str:
        """`holding h100 until 2026-11-30T12:00:00Z: observed 0, published 80 nvidia.com/gpu`."""
        until = time_text(self.until)
        text = f"holding {self.flavor} until {until}: {' and '.join(map(self._amounts, self.resources))}"
        if self.hash is None:
            return text
        before = {name: self.lately.get(name, self.published.get(name)) for name in self.resources}
        percent = max(fall_in_percent(before[name], self.observed.get(name)) for name in self.resources)
        return f"{text} (a fall of {percent} %; acknowledge={self.hash})"

    def _amounts(self, resource: str) -> str:
        parts = [
            f"observed {self.observed.get(resource, _NOTHING)}",
            f"published {self.published.get(resource, _NOTHING)}",
        ]
        if resource in self.then:
            parts.append(f"then {self.then[resource]}")
        if resource in self.lately:
            parts.append(f"lately {self.lately[resource]}")
        return f"{', '.join(parts)} {resource}"


def hash_of(uid: str, hold: Hold) -> str:
    """What a person acknowledges: this fall of this object, no later one and no other amount."""
    covered = [
        uid,
        hold.flavor,
        sorted((name, amount.nanos) for name, amount in hold.published.items()),
        sorted((name, amount.nanos) for name, amount in hold.observed.items()),
        hold.until.isoformat(),
    ]
    return hashlib.sha256(json.dumps(covered).encode()).hexdigest()[:_HASH_DIGITS]


def hashes_in(annotation: str) -> frozenset[str]:
    """What a value of the annotation acknowledges: one hash, or several with commas or blanks between them."""
    return frozenset(annotation.replace(",", " ").split())


def command_for(holds: Sequence[Hold]) -> str:
    """How a person publishes all large falls among them, to stand behind their texts; empty where there is none.

    It is one command, since there is one annotation: a second one would overwrite what the first one said.
    """
    falls = [hold for hold in holds if hold.hash is not None]
    if not falls:
        return ""
    hashes = ",".join(str(hold.hash) for hold in falls)
    them = "it" if len(falls) == 1 else "them"
    return f"{_ANNOTATE} {falls[0].provider} {ACKNOWLEDGE}={hashes} --overwrite publishes {them} now"


def texts_of(holds: Sequence[Hold], *, room: int) -> list[str]:
    """How a message begins: the holds as far as they have room, how many more there are, and the command for all.

    Args:
        holds: of one CapacityProvider.
        room: characters, for the text with `; ` behind each part. The command is never what is left out.
    """
    command = command_for(holds)
    texts = [str(hold) for hold in holds]
    ends = itertools.accumulate(len(f"{text}; ") for text in texts)
    room -= len(f"{command}; and {len(texts)} more are held; ")
    fitting = sum(end <= room for end in ends)
    more = len(texts) - fitting
    parts = [*texts[:fitting], f"and {more} more are held" if more else "", command]
    return [part for part in parts if part]


# --- read back from a message --------------------------------------------------------------------------------------

_AMOUNT: Final = rf"(?:{_NOTHING}|[0-9][0-9A-Za-z.+-]{{0,63}})"
_HELD: Final = (
    rf"observed (?P<observed>{_AMOUNT}), published (?P<published>{_AMOUNT})"
    rf"(?:, then (?P<then>{_AMOUNT}))?(?:, lately (?P<lately>{_AMOUNT}))? (?P<resource>[A-Za-z0-9._/-]+)"
)
_ONE_HELD: Final = re.compile(_HELD, re.ASCII)
_ANY_HELD: Final = re.sub(r"\?P<\w+>", "?:", _HELD)
_HOLD: Final = re.compile(
    r"(?P<text>holding (?P<flavor>[a-z0-9.-]+) until (?P<until>[0-9-]{10}T[0-9:]{8}Z): "
    rf"(?P<held>{_ANY_HELD}(?: and {_ANY_HELD})*)"
    rf"(?: \(a fall of [0-9]+ %; acknowledge=(?P<hash>[0-9a-f]{{{_HASH_DIGITS}}})\))?)(?:; |\Z)",
    re.ASCII,
)
_COMMAND: Final = re.compile(
    rf"(?:and [0-9]+ more are held; )?{re.escape(_ANNOTATE)} (?P<provider>[a-z0-9.-]+) "
    rf"{re.escape(ACKNOWLEDGE)}=(?P<hashes>[0-9a-f,]+) --overwrite publishes (?:it|them) now(?:; |\Z)",
    re.ASCII,
)


def holds_in(message: str) -> tuple[Hold, ...]:
    """The holds that a message begins with, as `texts_of` wrote them. A text of another kind holds nothing.

    A large fall is taken up with the command that acknowledges it, which alone tells whose it is.
    """
    matches = list(_matches(message))
    command = _COMMAND.match(message, matches[-1].end() if matches else 0)
    provider, hashes = (command["provider"], hashes_in(command["hashes"])) if command else ("", frozenset[str]())
    holds = _holds_of(matches)
    return tuple(
        hold if hold.hash is None else hold._replace(provider=provider)
        for hold in holds
        if hold.hash is None or hold.hash in hashes
    )


def _matches(message: str) -> Iterator[re.Match[str]]:
    position = 0
    while match := _HOLD.match(message, position):
        yield match
        position = match.end()


def _holds_of(matches: Iterable[re.Match[str]]) -> Iterator[Hold]:
    seen: set[tuple[str, str]] = set()
    for match in matches:
        try:
            hold = _hold_of(match)
        except ValueError:
            hold = None  # a time or an amount that nobody of us wrote
        pairs = {(hold.flavor, name) for name in hold.resources} if hold is not None else set()
        if hold is not None and str(hold) == match["text"] and not pairs & seen:
            yield hold
        seen |= pairs


def _hold_of(match: re.Match[str]) -> Hold | None:
    amounts: dict[str, dict[str, Quantity]] = {"observed": {}, "published": {}, "then": {}, "lately": {}}
    for held in _ONE_HELD.finditer(match["held"]):
        for kind, by_resource in amounts.items():
            if held[kind] not in (None, _NOTHING):
                by_resource[held["resource"]] = Quantity.of(held[kind])
    observed, published = amounts["observed"], amounts["published"]
    ways = [level(observed.get(name)) - level(published.get(name)) for name in observed.keys() | published.keys()]
    if match["hash"] is not None:
        guard = Guard.BREAKER
    elif all(way < 0 for way in ways):
        guard = Guard.FALL
    elif all(way > 0 for way in ways):
        guard = Guard.RISE
    else:
        return None
    until = parse_time(match["until"])
    return Hold(
        match["flavor"], guard, until, observed, published, amounts["then"], amounts["lately"], hash=match["hash"]
    )
