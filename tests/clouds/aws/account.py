"""A fake AWS as tests set it up: what accounts have in regions, who may call, what goes wrong, what was asked."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeVar

from tests.clouds.aws import rows
from tests.clouds.aws.credentials import ACCOUNT, Credentials
from tests.clouds.aws.faults import Fault, Slow

F = TypeVar("F", bound=Fault)
REGION: Final = "us-east-1"


class Request(NamedTuple):
    """What came in. Its caller had credentials that were known, unless nobody has to have any."""

    operation: str
    """As the permission for it is called."""
    account: str
    """Empty where nobody has signed it."""
    region: str
    parameters: Mapping[str, Any]


@dataclass
class Region:
    """What an account has in a region. Whatever is assigned or changed is answered from then on."""

    name: str
    quotas: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Applied values of quotas of EC2, by code."""
    defaults: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Default values, by code."""
    reservations: list[dict[str, Any]] = field(default_factory=list)
    block_statuses: list[dict[str, Any]] = field(default_factory=list)

    def apply(self, code: str, value: float | None, **more: Any) -> None:
        """The quota has been raised to this; None: there is a row without value."""
        self.quotas[code] = rows.quota(self.name, code, value, **more)

    def default(self, code: str, value: float) -> None:
        """The quota is this where it was never raised."""
        self.defaults[code] = rows.quota(self.name, code, value)


class Aws:
    """Everything about it. May be changed at any time, from any thread."""

    def __init__(self) -> None:
        self.credentials = Credentials()
        self.page_size = 100
        """Rows of a page at most."""
        self.instance_types: Mapping[str, Mapping[str, Any]] = rows.INSTANCE_TYPES
        self.instance_types_from: str | None = None
        """The URL of a server that is asked about instance types instead."""
        self.requests: list[Request] = []
        self.mistakes: list[str] = []
        """What tests have set up wrongly, or clients have asked that is not known here."""
        self._regions: dict[tuple[str, str], Region] = {}
        self._faults: list[Fault] = []
        self._lock = threading.Lock()

    def region(self, name: str = REGION, account: str = ACCOUNT) -> Region:
        """What that account has there."""
        with self._lock:
            return self._regions.setdefault((account, name), Region(name))

    def add(self, fault: F) -> F:
        """From now on this goes wrong; of several, the one that was added last."""
        with self._lock:
            self._faults.insert(0, fault)
        return fault

    def heal(self) -> None:
        """From now on all goes well, and what was slow is answered."""
        with self._lock:
            for fault in self._faults:
                if isinstance(fault, Slow):
                    fault.released.set()
            self._faults.clear()

    def clear(self) -> None:
        """All goes well, and no account has anything. Keys and roles stay."""
        self.heal()
        with self._lock:
            self._regions.clear()
            self.requests.clear()
        self.page_size = 100

    def count(self, operation: str = "", *, account: str = "", region: str = "") -> int:
        """How many such requests came in. Empty: any."""
        wanted = (operation, account, region)
        with self._lock:
            return sum(
                all(each in {"", found} for each, found in zip(wanted, request[:3], strict=True))
                for request in self.requests
            )

    def struck(self, request: Request) -> Fault | None:
        """Counts the request. What goes wrong with it, if anything does."""
        with self._lock:
            self.requests.append(request)
            asked = request[:3]
            return next((each for each in self._faults if each.strikes(*asked)), None)
