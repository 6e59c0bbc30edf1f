"""What the services of Google Cloud know, for tests to change while they serve; and what they were asked."""

from __future__ import annotations

import datetime
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from google.cloud import cloudquotas_v1, compute_v1

from tests.clouds.gcp.replies import Reply

WORKLOAD: Final = "kueue-dqo@fleet-1.iam.gserviceaccount.com"
"""The Google service account that the daemon's Kubernetes one stands for, by Workload Identity."""


@dataclass
class Project:
    """A project. What is in it may be changed or replaced at any time."""

    id: str
    number: str = "111122223333"
    regions: dict[str, compute_v1.Region] = field(default_factory=dict)
    quotas: list[compute_v1.Quota] = field(default_factory=list)
    """Those over all regions."""
    machine_types: list[compute_v1.MachineType] = field(default_factory=list)
    reservations: list[compute_v1.Reservation] = field(default_factory=list)
    unreachable: list[str] = field(default_factory=list)
    """Zones that a list of reservations could not be read from, as its last page says."""
    quota_infos: list[cloudquotas_v1.QuotaInfo] = field(default_factory=list)


@dataclass
class Fault:
    """What a method answers instead, so many times."""

    reply: Callable[[Reply], Reply]
    """Made of the right one."""
    times: int | None = None
    """None: until it is cleared."""


class Asked(NamedTuple):
    """One request."""

    method: str
    subject: str
    principal: str
    """Whose token came with it; empty for none."""
    status: int


class Gcp:
    """The state of all services, for one test after the other.

    Methods are named after the permissions that they need: `compute.regions.get`, `compute.projects.get`,
    `compute.machineTypes.get`, `compute.reservations.list`, `cloudquotas.quotas.get`,
    `iam.serviceAccounts.getAccessToken`; and `metadata.ping`, `.project`, `.account`, `.token`, `.universe`.
    """

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self._released: Final = threading.Event()
        self.secrets: Final[set[str]] = set()
        """Every token that was ever given: none may be seen anywhere."""
        self.reset()

    def reset(self) -> None:
        """Nothing is there, nothing was asked, and tokens of before are unknown."""
        self.projects: dict[str, Project] = {}
        self.reservations_a_page = 2
        self.denied: set[str] = set()
        """Permissions that are missing."""
        self.impersonable: set[str] = set()
        """Service accounts that `WORKLOAD` may be."""
        self.metadata_account: str | None = WORKLOAD
        """None: the pod's ServiceAccount stands for none."""
        self.refuses_all_tokens = False
        self.waiting = 0
        """Requests whose answer is held."""
        self.release()
        with self._lock:
            self._tokens: dict[str, str] = {}
            self._faults: dict[str, list[Fault]] = {}
            self._asked: list[Asked] = []

    # --- tests change it ---------------------------------------------------------------------------------------------

    def add(self, *projects: Project) -> None:
        """They are there from now on, in the place of others of their names."""
        self.projects |= {each.id: each for each in projects}

    def fail(self, method: str, reply: Reply | Callable[[Reply], Reply], times: int | None = None) -> None:
        """The method answers so from now on, so many times; faults of a method are used one after the other."""
        fault = Fault(reply if callable(reply) else lambda _: reply, times)
        with self._lock:
            self._faults.setdefault(method, []).append(fault)

    def mend(self) -> None:
        """No method has a fault any more, and all permissions are there."""
        with self._lock:
            self._faults.clear()
        self.denied.clear()
        self.refuses_all_tokens = False
        self.release()

    def hold(self, method: str, subject: str = "") -> None:
        """The method does not answer until `release`; about what begins like the subject, such as one project."""
        self._released.clear()
        self._held = (method, subject)

    def release(self) -> None:
        """What was held is answered."""
        self._held = ("", "")
        self._released.set()

    def expire_tokens(self) -> None:
        """No token of before is accepted any more."""
        with self._lock:
            self._tokens.clear()

    # --- tests look at it --------------------------------------------------------------------------------------------

    def asked(self, method: str = "") -> list[Asked]:
        """All requests since the last reset, or those of one method."""
        with self._lock:
            return [each for each in self._asked if not method or each.method == method]

    def counts(self) -> Counter[str]:
        """How many requests there were, by method."""
        return Counter(each.method for each in self.asked())

    # --- the server --------------------------------------------------------------------------------------------------

    def give_token(self, principal: str) -> str:
        """A new one."""
        token = f"ya29.{secrets.token_urlsafe(24)}"
        with self._lock:
            self._tokens[token] = principal
            self.secrets.add(token)
        return token

    def principal_of(self, token: str) -> str:
        """Whose token it is; empty where it is not accepted."""
        with self._lock:
            return "" if self.refuses_all_tokens else self._tokens.get(token, "")

    def faulty(self, method: str, right: Reply) -> Reply:
        """What the method answers, which is mostly what is right."""
        with self._lock:
            faults = self._faults.get(method, [])
            if not faults:
                return right
            fault = faults[0]
            if fault.times is not None:
                fault.times -= 1
                if not fault.times:
                    faults.pop(0)
        return fault.reply(right)

    def wait(self, method: str, subject: str) -> None:
        """Returns when that may be answered."""
        held, prefix = self._held
        if method == held and subject.startswith(prefix):
            with self._lock:
                self.waiting += 1
            self._released.wait()
            with self._lock:
                self.waiting -= 1

    def record(self, asked: Asked) -> None:
        """A request was answered."""
        with self._lock:
            self._asked.append(asked)


def expiry(after: datetime.timedelta) -> str:
    """The time after that, as IAM writes it."""
    return (datetime.datetime.now(datetime.UTC) + after).strftime("%Y-%m-%dT%H:%M:%SZ")


def zone_of(each: compute_v1.Reservation) -> str:
    """The name of its zone."""
    return str(each.zone).rpartition("/")[2]


def in_pages(found: list[compute_v1.Reservation], size: int) -> Iterable[list[compute_v1.Reservation]]:
    """So many at a time; one empty page for none."""
    for start in range(0, max(len(found), 1), size):
        yield found[start : start + size]
