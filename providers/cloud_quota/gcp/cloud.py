"""Google Cloud behind the protocol of clouds. Pure, but for `open`, which loads the SDK."""

from __future__ import annotations

import datetime
import importlib
from collections.abc import Hashable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, Final, NoReturn

from kueue_dqo.api.cloud import CloudAccount, CloudEntry, GcpEntry, GcpFlavor, GcpProject, region_of
from kueue_dqo.api.parameters import Combine
from kueue_dqo.provider import CapacityError, Misconfigured, Notice
from providers.cloud_quota import arithmetic, shapes
from providers.cloud_quota.cloud import Account, Answers, Claim, Cloud, Derived, Ended, Question, Record
from providers.cloud_quota.clouds import not_installed
from providers.cloud_quota.gcp import family, metric, reservations
from providers.cloud_quota.gcp.machine import deprecation, shape_of
from providers.cloud_quota.gcp.metric import Counted
from providers.cloud_quota.gcp.questions import ProjectQuestion, machine_question, owner_of, questions_of
from providers.cloud_quota.heard import Unanswered

GLOBAL_LIMIT_SHARED: Final = "GlobalLimitShared"
"""The reason of the Event about flavors that together count more than the project may have over all regions."""


class Gcp:
    """Google Cloud."""

    name = "gcp"

    def identity(self, account: CloudAccount) -> Hashable:
        """The project is part of it: how often it may be asked is counted by project."""
        project = _project(account)
        return (self.name, project.project, project.impersonate_service_account)

    def described(self, account: CloudAccount) -> str:
        project = _project(account)
        who = project.impersonate_service_account
        return f"Google Cloud, project {project.project}" + ("" if who is None else f", as {who}")

    def questions(self, account: CloudAccount) -> Sequence[Question[Any]]:
        project = _project(account)
        return tuple(
            dict.fromkeys(
                question
                for _, entry in _entries(project)
                for question in questions_of(project, entry, bounded=_global_metric(entry) is not None)
            )
        )

    def derive(
        self, account: CloudAccount, entry: CloudEntry, answers: Answers, ended: Ended, now: datetime.datetime
    ) -> Derived:
        project, gcp = _project(account), _entry(entry)
        machine = answers[machine_question(project, gcp)]
        shape = shape_of(gcp, machine)
        notices = (*deprecation(gcp, machine), *shapes.unknown_accelerators(gcp, shape))
        if gcp.reservations is not None:
            held = reservations.held(project, gcp, gcp.reservations, answers, ended)
            return Derived(
                instances=held.instances,
                amounts=shapes.amounts(gcp, shape, held.instances),
                text=f"{held.instances} {gcp.machine_type} of {held.text}",
                next=held.next if held.next is not None and held.next > now else None,
                limits=held.limits,
                taken=dict.fromkeys(held.found, arithmetic.share_of(gcp)),
                notices=(*notices, *held.notices),
            )
        counted = _counted(project, gcp, answers)
        return Derived(
            instances=counted.instances,
            amounts=shapes.amounts(gcp, shape, counted.instances),
            text=f"{counted.instances} {gcp.machine_type} of {counted.text}",
            limits=counted.limits,
            notices=(*notices, *_global_limit_shared(project, gcp, answers)),
        )

    def claims(self, account: CloudAccount, entry: CloudEntry) -> Iterable[Claim]:
        return _claims(_project(account), _entry(entry))

    def open(self, account: CloudAccount, record: Record) -> Account:
        try:
            # By its name: what is pure knows nothing of the SDK, which takes a second and 130 MiB to load.
            module = importlib.import_module("providers.cloud_quota.gcp.account")
        except ImportError as error:
            raise not_installed(self.name, error) from error
        opened: Account = module.GcpAccount(_project(account), record)
        return opened


CLOUD: Final[Cloud] = Gcp()


def _project(account: CloudAccount) -> GcpProject:
    if not isinstance(account, GcpProject):
        _not_ours(account)
    return account


def _entry(entry: CloudEntry) -> GcpEntry:
    if not isinstance(entry, GcpEntry):
        _not_ours(entry)
    return entry


def _not_ours(value: object) -> NoReturn:
    raise TypeError(f"{type(value).__name__} is nothing of Google Cloud")


def _entries(account: GcpProject) -> Iterator[tuple[GcpFlavor, GcpEntry]]:
    for flavor in account.flavors:
        for entry in flavor.entries:
            yield flavor, entry


def _counted(account: GcpProject, entry: GcpEntry, answers: Answers) -> Counted:
    if entry.metric is not None:
        return metric.counted(account, entry, entry.metric, answers)
    if entry.gpu_family is not None:
        return family.counted(account, entry, entry.gpu_family, answers)
    raise Misconfigured(f"an entry of {entry.machine_type} has none of {', '.join(entry.sources())}: give it one")


def _claims(account: GcpProject, entry: GcpEntry) -> Iterator[Claim]:
    region = region_of(account, entry)
    if entry.metric is not None:
        name = entry.metric.name
        yield Claim(("gcp", account.project, region, name), f"quota {name} in {region} of project {account.project}")
    if entry.gpu_family is not None:
        source = entry.gpu_family
        yield Claim(
            ("gcp", account.project, region, source.service, source.quota_id, source.name),
            f"quota {source.quota_id} of {source.name} in {region} of project {account.project}",
        )
    if entry.reservations is not None:
        owner = owner_of(account, entry)
        for name in entry.reservations.names:
            for place in entry.reservations.zones or (region,):
                yield Claim(("gcp", owner, place, "reservation", name), f"reservation {name} in {place} of {owner}")


# --- the limit over all regions --------------------------------------------------------------------------------------


def _global_metric(entry: GcpEntry) -> str | None:
    return None if entry.metric is None else metric.global_metric_of(entry.metric)


def _global_limit_shared(account: GcpProject, entry: GcpEntry, answers: Answers) -> tuple[Notice, ...]:
    """The Event about flavors that share a limit over all regions and count more of it; told at its first entry."""
    name = _global_metric(entry)
    if name is None:
        return ()
    sharing = [(flavor, each) for flavor, each in _entries(account) if _global_metric(each) == name]
    limit = answers[ProjectQuestion(account.project)].limits.get(name)
    if not sharing or sharing[0][1] is not entry or limit is None or arithmetic.is_unlimited(limit):
        return ()
    used: dict[str, int] = {}
    for flavor, each in sharing:
        try:
            counted = _counted(account, each, answers)
        except (CapacityError, Unanswered):
            # Told where that entry is derived; nothing is published then, so nothing is counted twice.
            return ()
        takes = counted.instances * counted.takes
        before = used.get(flavor.name)
        used[flavor.name] = takes if before is None else _combined(flavor.combine, before, takes)
    together = sum(used.values())
    if together <= Fraction(str(limit)):
        return ()
    return (
        Notice(
            GLOBAL_LIMIT_SHARED,
            f"flavors {', '.join(sorted(used))} count {together} of {name}, of which project {account.project} may "
            f"have {metric.shown_limit(limit)} over all regions: not all of it can be had at once; have the limit "
            "raised, or set share or maxInstances",
        ),
    )


def _combined(combine: Combine, one: int, other: int) -> int:
    match combine:
        case Combine.SUM:
            return one + other
        case Combine.MIN:
            return min(one, other)
        case Combine.MAX:
            return max(one, other)
