"""What a cloud is to the provider: the protocol that AWS and Google Cloud implement, and another cloud would. Pure.

A look at an account goes in three steps. The cloud says which *questions* its parameters lead to; the account is asked
those whose answers are not kept; from the answers each entry is *derived*, at one moment. Only the second step does
input and output, and it knows nothing of flavors.
"""

from __future__ import annotations

import datetime
import enum
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from kueue_dqo.api.cloud import CloudAccount, CloudEntry
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.provider import Notice

A_co = TypeVar("A_co", covariant=True)
T = TypeVar("T")


# --- questions and answers -------------------------------------------------------------------------------------------


class Lifetime(enum.Enum):
    """How long an answer may be used."""

    LOOK = enum.auto()
    """For one look: what it says changes by itself, such as a quota."""
    DAY = enum.auto()
    """For about a day: what it says hardly ever changes, such as how many vCPUs an instance type has."""


@dataclass(frozen=True, slots=True)
class Question(Generic[A_co]):
    """What is asked of an account: hashable, and equal to one that asks the same. Each cloud derives its own."""

    @property
    def lifetime(self) -> Lifetime:
        """How long its answer may be used."""
        return Lifetime.LOOK

    @property
    def scope(self) -> str:
        """What the cloud counts its calls by, for a person: `servicequotas in us-east-1`, `compute`.

        Where calls are refused for their number, nothing of the same scope is asked for a while. Empty: all those that
        do not say otherwise make one scope.
        """
        return ""


class Answers:
    """Answers by their questions."""

    def __init__(self, given: Mapping[Question[Any], Any]) -> None:
        self._given = given

    def __getitem__(self, question: Question[T]) -> T:
        """Raises KeyError for what was not asked: `Cloud.questions` and `Cloud.derive` do not go together."""
        answer: T = self._given[question]
        return answer


class Result(enum.StrEnum):
    """How a call to a cloud ended."""

    OK = "ok"
    ABSENT = "absent"
    """There is nothing of that name, which may be an answer."""
    THROTTLED = "throttled"
    DENIED = "denied"
    """No credentials, or no permission."""
    EXPIRED = "expired"
    """The credentials are not valid any more."""
    PARTIAL = "partial"
    """The answer was not whole."""
    FAILED = "failed"


class Call(NamedTuple):
    """One call to a cloud that has ended: all its pages and retries."""

    name: str
    """As the permission for it is called: `servicequotas:GetServiceQuota`, `compute.regions.get`."""
    region: str
    """`global` where it has none."""
    subject: str
    """What it was about, such as `ec2/L-417A185B`; empty where its name says it all."""
    result: Result
    seconds: float
    requests: int = 1
    """HTTP requests: pages, and retries that the SDK made by itself."""
    throttles: int = 0
    """Requests among them that were refused for their number."""


Record = Callable[[Call], None]
"""Takes every call as it ends, in whatever thread."""


class Account(Protocol):
    """An account with its clients, whose credentials are found by the SDK's own chain.

    Its methods block; they are called in worker threads, `answer` in several at a time.
    """

    def answer(self, question: Question[T], deadline: float) -> T:
        """The answer, whole.

        Args:
            question: one of the cloud's own.
            deadline: the time of `time.monotonic()` after which no further request may begin; one that has begun ends
                by the time limits of the client.

        Raises:
            SourceUnavailable: it was throttled, not reached, not answered whole; its credentials have expired.
            Misconfigured: there is no such thing, or the permission for it is missing, which the message names.
            InvalidCapacity: the answer makes no sense.
            CredentialsExpired: the account has to be opened anew; the only one that is no CapacityError.
        """
        ...

    def close(self) -> None:
        """Ends its connections."""
        ...


# --- what follows from answers ---------------------------------------------------------------------------------------


class Limit(NamedTuple):
    """A limit that a cloud told, for metrics."""

    source: str
    """Such as `L-417A185B`, `NVIDIA_L4_GPUS`, `GPUS_ALL_REGIONS`, or the id of a reservation."""
    region: str
    value: float
    """In the unit of the source: vCPUs, GPUs, instances. Infinite where there is no limit."""


class Draw(NamedTuple):
    """What an entry takes of a limit that entries of several regions or flavors have in common."""

    label: str
    """The limit for a person: `quota GPUS_ALL_REGIONS of project p`."""
    limit: Fraction
    """What there is of it, in its unit."""
    amount: Fraction
    """What all instances of the entry take of it, in the same unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """What one entry comes to."""

    instances: int
    """Whole ones."""
    amounts: Mapping[str, Quantity]
    """All of them together, by resource; explicit zeros where there is no instance."""
    text: str
    """For a person: `2 p5.48xlarge of quota L-417A185B in us-east-1 (384 vCPU)`."""
    next: datetime.datetime | None = None
    """When it will be another one by itself, such as at the end of a capacity block."""
    limits: tuple[Limit, ...] = ()
    taken: Mapping[str, Fraction] = field(default_factory=dict)
    """What share it takes of things that were found only by asking, such as reservations with a tag.

    By what they are called for a person, which is the same whoever asks: `reservation r in us-central1-a of project p`.
    """
    draws: Mapping[str, Draw] = field(default_factory=dict)
    """What it takes of limits that do not bound it alone, by a key that is equal for the same limit."""
    notices: tuple[Notice, ...] = ()


class Ended(Protocol):
    """What a process remembers of things that have ended, since a cloud forgets them after a while."""

    def __contains__(self, name: object) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def add(self, name: str) -> None: ...


class Cloud(Protocol):
    """One cloud. All but `open` is pure."""

    name: str
    """The field of the spec: `aws`, `gcp`."""

    def identity(self, account: CloudAccount) -> Hashable:
        """In whose name it is asked. Parameters with the same identity share clients, answers and threads."""
        ...

    def described(self, account: CloudAccount) -> str:
        """The account for a person: `AWS, role arn:aws:iam::111122223333:role/kueue-dqo`; nothing secret."""
        ...

    def questions(self, account: CloudAccount) -> Sequence[Question[Any]]:
        """All that has to be known, each once, in a fixed order. Raises Misconfigured."""
        ...

    def derive(
        self, account: CloudAccount, entry: CloudEntry, answers: Answers, ended: Ended, now: datetime.datetime
    ) -> Derived:
        """What the entry comes to at that time (UTC). Raises CapacityError, whose message names what it is about."""
        ...

    def remembered(self, message: str) -> Iterable[str]:
        """The names that `derive` added to `ended` when it led to this message of an earlier status.

        A process that has just begun knows by it what has ended, or what the cloud said would end. Whatever else the
        message says is passed over.
        """
        ...

    def open(self, account: CloudAccount, record: Record) -> Account:
        """Blocks for as long as it takes to load the SDK; never called twice at the same time.

        Raises Misconfigured where the SDK is not installed or no credentials are found.
        """
        ...


class CredentialsExpired(Exception):
    """The cloud refused the credentials as expired: a client with new ones may be accepted. The message says what."""


UNLIMITED: Final = 2**62
"""From here on a limit is none: clouds write it as the largest integer (9.22337e18 of Compute Engine), or as -1."""
