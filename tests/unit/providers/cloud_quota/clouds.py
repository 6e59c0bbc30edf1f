"""A cloud without a network: it implements the protocol, answers what a test says, and counts what it is asked."""

from __future__ import annotations

import asyncio
import datetime
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any

import msgspec

from kueue_dqo.api import dqo
from kueue_dqo.api.cloud import CLOUD_QUOTA_CONTROLLER, CloudAccount, CloudEntry, CloudQuotaParametersSpec, region_of
from kueue_dqo.api.meta import ObjectMeta
from kueue_dqo.provider import Notice, Observation, Peer, Request
from providers.cloud_quota.arithmetic import limit_of, whole_instances
from providers.cloud_quota.cloud import (
    Account,
    Answers,
    Call,
    Derived,
    Ended,
    Lifetime,
    Limit,
    Question,
    Record,
    Result,
)
from providers.cloud_quota.shapes import Shape, amounts

NOW = datetime.datetime(2026, 12, 1, 12, tzinfo=datetime.UTC)
GPU = "nvidia.com/gpu"
P5 = Shape(192, 2 * 1024**2, {GPU: 8})
Manifest = dict[str, Any]


@dataclass(frozen=True)
class QuotaQuestion(Question[float | Derived]):
    region: str
    code: str

    @property
    def scope(self) -> str:
        return f"quotas in {self.region}"


@dataclass(frozen=True)
class ShapeQuestion(Question[Shape]):
    type: str

    @property
    def lifetime(self) -> Lifetime:
        return Lifetime.DAY

    @property
    def scope(self) -> str:
        return "shapes"


class FakeAccount:
    """One that was opened. A test may give an answer, an exception, or a function that is called in the thread."""

    def __init__(self, cloud: FakeCloud, record: Record) -> None:
        self._cloud = cloud
        self._record = record
        self.closed = 0

    def answer(self, question: Question[Any], deadline: float) -> Any:
        del deadline
        self._cloud.asked.append(question)
        given = self._cloud.answers[question]
        if callable(given):
            given = given()
        result = self._cloud.results.get(question, Result.OK)
        self._record(
            Call("servicequotas:GetServiceQuota", "us-east-1", "", result, 0.25, throttles=self._cloud.throttles)
        )
        if isinstance(given, Exception):
            raise given
        return given

    def close(self) -> None:
        self.closed += 1


class FakeCloud:
    """Quotas alone: one question for each code, one for each instance type."""

    name = "aws"

    def __init__(self, answers: Mapping[Question[Any], Any] | None = None) -> None:
        self.answers: dict[Question[Any], Any] = {ShapeQuestion("p5.48xlarge"): P5, **(answers or {})}
        self.results: dict[Question[Any], Result] = {}
        """How a call ends, where it does not end well."""
        self.throttles = 0
        """Of each call."""
        self.asked: list[Question[Any]] = []
        self.opened: list[FakeAccount] = []
        self.on_open: Callable[[], None] = lambda: None
        self.open_result = Result.OK
        self.derived_at: list[datetime.datetime] = []
        self.ended: Ended = set()
        """What was remembered when something was last derived."""
        self.more: dict[str, Any] = {}
        """Fields of whatever is derived."""

    @property
    def times(self) -> dict[str, int]:
        """How often it was asked, by code or type."""
        return dict(Counter(str(getattr(each, "code", "") or getattr(each, "type", "")) for each in self.asked))

    def identity(self, account: CloudAccount) -> Hashable:
        return getattr(account, "assume_role", None)

    def described(self, account: CloudAccount) -> str:
        del account
        return "Fake Cloud, account 1111"

    def questions(self, account: CloudAccount) -> Sequence[Question[Any]]:
        found: dict[Question[Any], None] = {}
        for flavor in account.flavors:
            for entry in flavor.entries:
                found.setdefault(quota_question(account, entry))
                found.setdefault(ShapeQuestion(entry.type_name))
        return list(found)

    def derive(
        self, account: CloudAccount, entry: CloudEntry, answers: Answers, ended: Ended, now: datetime.datetime
    ) -> Derived:
        self.ended = ended
        self.derived_at.append(now)
        question = quota_question(account, entry)
        shape, value = answers[ShapeQuestion(entry.type_name)], answers[question]
        if isinstance(value, Derived):
            return value
        what = f"quota {question.code}"
        limit = limit_of(value, what=what, max_instances=entry.max_instances)
        instances = whole_instances(limit, entry, shape.vcpus, what=what)
        return Derived(
            instances=instances,
            amounts=amounts(entry, shape, instances),
            text=f"{instances} {entry.type_name} of {what}",
            limits=(Limit(question.code, question.region, value),),
            **self.more,
        )

    def remembered(self, message: str) -> Iterable[str]:
        return [word for word in message.split() if word.startswith("cr-")]

    def open(self, account: CloudAccount, record: Record) -> Account:
        del account
        if self.open_result is not Result.OK:
            record(Call("sts:AssumeRole", "us-east-1", "", self.open_result, 0.25))
        self.on_open()
        self.opened.append(FakeAccount(self, record))
        return self.opened[-1]


def quota_question(account: CloudAccount, entry: CloudEntry) -> QuotaQuestion:
    quota = getattr(entry, "quota", None)
    assert quota is not None
    return QuotaQuestion(region_of(account, entry), quota.code)


def quota(code: str) -> QuotaQuestion:
    return QuotaQuestion("us-east-1", code)


# --- parameters and questions about them -----------------------------------------------------------------------------


def entry(code: str = "L-1", **fields: Any) -> Manifest:
    return {"instanceType": "p5.48xlarge", "quota": {"code": code}, **fields}


def spec(
    flavors: Mapping[str, Sequence[Manifest]],
    *,
    combine: str = "Max",
    role: str | None = None,
    account_id: str | None = None,
    **fields: Any,
) -> CloudQuotaParametersSpec:
    """As decoded, without the checks of manifests."""
    account: Manifest = {
        "regions": ["us-east-1"],
        "flavors": [{"name": name, "entries": list(entries), "combine": combine} for name, entries in flavors.items()],
    }
    if role is not None:
        account["assumeRole"] = {"arn": role}
    if account_id is not None:
        account["accountId"] = account_id
    return msgspec.convert(
        {"aws": account, **fields}, CloudQuotaParametersSpec, dec_hook=lambda kind, value: kind.of(value)
    )


def provider(name: str, flavors: Sequence[str]) -> dqo.CapacityProvider:
    reference = dqo.ParametersRef("kueue-dqo.dev", "CloudQuotaParameters", f"{name}-parameters")
    return dqo.CapacityProvider(
        ObjectMeta(name, generation=1),
        dqo.CapacityProviderSpec(CLOUD_QUOTA_CONTROLLER, tuple(map(dqo.FlavorRef, flavors)), reference),
    )


def request(
    asked: CloudQuotaParametersSpec,
    *,
    name: str = "aws",
    orchestrated: Sequence[str] | None = None,
    peers: Mapping[str, CloudQuotaParametersSpec | None] | None = None,
) -> Request[CloudQuotaParametersSpec]:
    """About a provider that orchestrates what its parameters have, unless said otherwise; its peers do so as well."""

    def names(parameters: CloudQuotaParametersSpec | None) -> list[str]:
        return [] if parameters is None else [flavor.name for flavor in parameters.account.flavors]

    return Request(
        provider=provider(name, names(asked) if orchestrated is None else orchestrated),
        parameters=asked,
        flavors={},
        peers=tuple(Peer(provider(each, names(theirs)), theirs) for each, theirs in (peers or {}).items()),
        providers={},
        now=NOW,
    )


def amounts_of(observation: Observation) -> dict[str, dict[str, str]]:
    return {
        flavor.name: {resource: str(quantity) for resource, quantity in flavor.resources.items()}
        for flavor in observation.capacity.flavors
    }


def reasons(notices: Sequence[Notice]) -> list[str]:
    return [notice.reason for notice in notices]


# --- threads in virtual time -----------------------------------------------------------------------------------------


class VirtualExecutor(Executor):
    """Two threads whose work is done in the loop, at the end of the seconds that it takes."""

    def __init__(self, takes: float = 0.0) -> None:
        self.takes = takes
        self._free = 2
        self._queue: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self.is_shut_down = False

    def submit(self, work: Callable[..., Any], /, *args: Any, **more: Any) -> Future[Any]:
        assert not self.is_shut_down
        future: Future[Any] = Future()
        self._queue.append((future, lambda: work(*args, **more)))
        self._begin()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT002 - as in Executor
        assert not wait
        assert not cancel_futures
        self.is_shut_down = True

    def _begin(self) -> None:
        while self._free and self._queue:
            future, work = self._queue.popleft()
            if future.set_running_or_notify_cancel():
                self._free -= 1
                asyncio.get_running_loop().call_later(self.takes, self._end, future, work)

    def _end(self, future: Future[Any], work: Callable[[], Any]) -> None:
        try:
            future.set_result(work())
        except Exception as error:  # noqa: BLE001 - as an executor does
            future.set_exception(error)
        self._free += 1
        self._begin()
