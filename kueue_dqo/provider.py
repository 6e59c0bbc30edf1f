"""What a capacity source is: the protocol that the suite's own sources and third parties' implement.

A source answers one question: *what is there now?* It returns a whole capacity and one line about it, or raises why
there is none to trust. Everything else is the publisher's: which CapacityProviders are the controller's, their
parameters and flavors, limits, headroom, guards, the status, Events, metrics, the election among replicas.

A package makes a source known by an entry point of the group `kueue_dqo.providers` that leads to a
`CapacityController`; `dqo provider NAME` then runs it under the entry point's name.
"""

from __future__ import annotations

import abc
import datetime
import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final, Generic, NamedTuple, Protocol, TypeVar

from kueue_dqo.api import dqo
from kueue_dqo.api.kueue import ResourceFlavor
from kueue_dqo.api.parameters import CommonParameters

if TYPE_CHECKING:
    # Types only: what a source computes stays free of input and output.
    from random import Random

    from prometheus_client import CollectorRegistry

    from kueue_dqo.runtime.cache_metrics import CacheMetrics
    from kueue_dqo.runtime.client import Client
    from kueue_dqo.runtime.clock import Clock
    from kueue_dqo.runtime.resources import Resource

ENTRY_POINTS: Final = "kueue_dqo.providers"
"""The group of entry points that lead to CapacityControllers."""

P = TypeVar("P", bound=CommonParameters)


# --- what a source answers -----------------------------------------------------------------------------------------


class Notice(NamedTuple):
    """Something that a person should be told by a Kubernetes Event, once for as long as it stays the same."""

    reason: str
    """A constant in CamelCase."""
    message: str
    is_warning: bool = True


class Observation(NamedTuple):
    """What is there now: the whole capacity, never what is left of it, and a summary for a person."""

    capacity: dqo.Capacity
    summary: str
    look_again: float | None = None
    """Seconds until it will be another one by itself, such as when a node's delay ends; None: nobody knows."""
    notices: tuple[Notice, ...] = ()


class CapacityError(Exception):
    """Nothing trustworthy can be published; the last capacity stays. The message names the object and the way out."""

    reason: ClassVar[str] = dqo.SOURCE_UNAVAILABLE
    look_again: float | None = None
    """Seconds until it is worth asking again at the latest, where the source knows; else ever less often."""


class SourceUnavailable(CapacityError):
    """The source cannot be reached or was not read whole. Never a capacity of zero."""

    reason = dqo.SOURCE_UNAVAILABLE


class InvalidCapacity(CapacityError):
    """The source gives impossible numbers."""

    reason = dqo.INVALID_CAPACITY


class Misconfigured(CapacityError):
    """Parameters or the mapping to flavors are wrong."""

    reason = dqo.MISCONFIGURED


# --- what a source is asked ----------------------------------------------------------------------------------------


class Peer(NamedTuple, Generic[P]):
    """Another CapacityProvider of the same controller; it claims its flavors also while it is being deleted."""

    provider: dqo.CapacityProvider
    parameters: P | None
    """None where they cannot be read."""


@dataclass(frozen=True, kw_only=True)  # no slots: with them, Python 3.11 cannot call a parametrized class
class Request(Generic[P]):
    """One question, about one CapacityProvider. Its orchestrated flavors all have objects."""

    provider: dqo.CapacityProvider
    parameters: P
    flavors: Mapping[str, ResourceFlavor]
    """Every ResourceFlavor of the cluster by name, those being deleted included."""
    peers: tuple[Peer[P], ...]
    providers: Mapping[str, dqo.CapacityProvider]
    """Every CapacityProvider of the cluster by name, of whatever controller."""
    now: datetime.datetime
    """UTC."""


class Source(Protocol[P]):
    """One source of a process, asked about all of the controller's CapacityProviders. Who inherits it adds `observe`.

    Questions about different providers are asked at the same time, up to four by default (`--concurrency`); never two
    about the same one. Only the leader among several replicas asks.
    """

    @abc.abstractmethod
    async def observe(self, request: Request[P]) -> Observation:
        """What is there now. Raises CapacityError; anything else it raises is published as SourceUnavailable.

        It may take its time, such as until a first list is complete. It is cancelled after a minute
        (`--observe-timeout`), and at once where the CapacityProvider or its parameters change meanwhile: it is asked
        anew then. It must not block the event loop.
        """

    async def run(self) -> None:
        """What goes on in between, such as a watch, until it is cancelled; it may return where there is nothing.

        It runs in every replica, so that one that becomes the leader knows soon: what costs money belongs in
        `observe`. The process ends where this raises.
        """
        return

    def forget(self, provider: str) -> None:
        """Nobody asks about that CapacityProvider any more: it is gone, or another replica asks."""
        del provider


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What the process lends to its source."""

    client: Client
    """The API server, with the rights of the daemon's ServiceAccount. Not for writing the status."""
    clock: Clock
    random: Random
    registry: CollectorRegistry
    """For metrics of the source's own."""
    cache_metrics: CacheMetrics
    """For caches of the source's own (`kueue_dqo.runtime.cache.Cache`)."""
    look: Callable[[], None]
    """To be called in the event loop when something changed: soon after, `observe` is asked about every provider.

    It may be called often: of one provider, `observe` is asked half a second after the last answer at the earliest.
    """
    namespace: str = ""
    """Where the daemon and its Lease are (`--namespace`)."""
    settings: Mapping[str, str | bool] = field(default_factory=dict)
    """What the command line says of the controller's `settings`, each by its name."""
    interval: float = 300.0
    """Seconds between two looks at a provider of which nothing is heard (`--interval`), a tenth more or less.

    `observe` is asked in between as well, such as when parameters or flavors change. A source whose questions cost
    something may answer those from what it was told less than half an interval ago.
    """


# --- what a controller is ------------------------------------------------------------------------------------------


class ParametersKind(NamedTuple, Generic[P]):
    """The cluster-scoped kind of object that `spec.parameters` names, and the type of its spec."""

    resource: Resource
    spec: type[P]


class Setting(NamedTuple):
    """An option of the daemon's command that is the source's own, for what no object in the cluster may decide.

    `allow-x` is given by `--allow-x`, or by the environment variable `DQO_ALLOW_X`.
    """

    name: str
    """In small letters and hyphens; not one that all daemons have."""
    text: str
    """The help of the option."""
    default: str | bool
    """What it is where nobody says anything. That of a flag is False."""
    metavar: str = "TEXT"
    """What stands for its value in the help; a flag has none."""


class WithoutParameters(enum.Enum):
    """What a CapacityProvider without `spec.parameters` is to the controller."""

    DEFAULTS = enum.auto()
    """One with default parameters."""
    MISCONFIGURED = enum.auto()
    """A mistake."""
    BY_HAND = enum.auto()
    """Somebody else's: its status is written by hand, and left alone."""


@dataclass(frozen=True, kw_only=True)  # no slots: with them, Python 3.11 cannot call a parametrized class
class CapacityController(Generic[P]):
    """A kind of provider: which CapacityProviders are its own, and how its source comes to be."""

    name: str
    """The `spec.controllerName` of its CapacityProviders."""
    open: Callable[[Environment], Source[P]]
    """Called once, in a running event loop, before anything is asked."""
    parameters: ParametersKind[P] | None = None
    """None: it takes none, not even the common ones."""
    without_parameters: WithoutParameters = WithoutParameters.DEFAULTS
    reads_providers: bool = False
    """Whether a change of any other CapacityProvider is a reason to ask anew."""
    settings: tuple[Setting, ...] = ()
    """Options of the daemon's command that are the source's own."""
