"""What can go wrong between a client and a fake AWS."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Final

from tests.clouds.aws.wire import Refusal

_THROTTLED: Final = {
    "ec2": Refusal("RequestLimitExceeded", "Request limit exceeded.", 503),
    "servicequotas": Refusal("TooManyRequestsException", "Rate exceeded", 429),
    "sts": Refusal("Throttling", "Rate exceeded"),
}
_DENIED: Final = {
    "ec2": ("UnauthorizedOperation", "You are not authorized to perform this operation. ", 403),
    "servicequotas": ("AccessDeniedException", "", 400),
    "sts": ("AccessDenied", "", 403),
}


@dataclass(kw_only=True)
class Fault:
    """Which requests go wrong: those of an operation, in an account and a region. Empty: any.

    The first `skip` of them go well, `times` bounds how many do not; None is for ever. `hits` counts those.
    """

    account: str = ""
    region: str = ""
    skip: int = 0
    times: int | None = None
    hits: int = 0
    _seen: int = 0

    def strikes(self, operation: str, account: str, region: str) -> bool:
        """Whether this request is one of them. Counts it."""
        asked = ((self.named, operation), (self.account, account), (self.region, region))
        if any(wanted not in {"", found} for wanted, found in asked):
            return False
        self._seen += 1
        if self._seen <= self.skip or self.hits == self.times:
            return False
        self.hits += 1
        return True

    @property
    def named(self) -> str:
        """The operation; empty for any."""
        return ""


@dataclass
class _OfOperation(Fault):
    operation: str = ""
    """Such as `ec2:DescribeCapacityReservations`."""

    @property
    def named(self) -> str:
        return self.operation


@dataclass
class Refuse(_OfOperation):
    """The service answers with an error: another one for each of its kinds, or the one that is given."""

    refusal: Refusal | None = None

    def answer(self, service: str, operation: str, arn: str) -> Refusal:
        """The error."""
        del service, operation, arn  # others need them
        return self.refusal or Refusal("InternalError", "An internal error has occurred", 500)


class Throttle(Refuse):
    """There were too many requests."""

    def answer(self, service: str, operation: str, arn: str) -> Refusal:
        del operation, arn
        return _THROTTLED[service]


class Deny(Refuse):
    """The caller has no permission."""

    def answer(self, service: str, operation: str, arn: str) -> Refusal:
        code, before, status = _DENIED[service]
        why = f"because no identity-based policy allows the {operation} action"
        return Refusal(code, f"{before}User: {arn} is not authorized to perform: {operation} {why}", status)


@dataclass
class Page(_OfOperation):
    """Something on the way, such as a load balancer, answers with a page for people."""

    status: int = 503


class CutOff(_OfOperation):
    """The connection ends in the middle of the answer."""


class HalfAnswer(_OfOperation):
    """The answer ends in its middle, and pretends to be whole."""


class Reset(_OfOperation):
    """The connection ends without an answer."""


@dataclass
class Slow(_OfOperation):
    """Nothing is answered until it is released."""

    released: threading.Event = field(default_factory=threading.Event)
