"""Google Cloud behind the protocol of clouds. Pure, but for `open`, which loads the SDK."""

from __future__ import annotations

import datetime
import importlib
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Final, NoReturn

from kueue_dqo.api.cloud import CloudAccount, CloudEntry, GcpEntry, GcpProject, share_of
from kueue_dqo.provider import Misconfigured
from providers.cloud_quota import shapes
from providers.cloud_quota.cloud import Account, Answers, Cloud, Derived, Ended, Question, Record
from providers.cloud_quota.clouds import not_installed
from providers.cloud_quota.gcp import family, metric, reservations, wording
from providers.cloud_quota.gcp.machine import deprecation, shape_of
from providers.cloud_quota.gcp.metric import Counted
from providers.cloud_quota.gcp.questions import machine_question, questions_of


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
                for flavor in project.flavors
                for entry in flavor.entries
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
            held = reservations.held(project, gcp, gcp.reservations, answers, ended, now)
            return Derived(
                instances=held.instances,
                amounts=shapes.amounts(gcp, shape, held.instances),
                text=f"{held.instances} {gcp.machine_type} of {held.text}",
                next=held.next,
                limits=held.limits,
                taken=dict.fromkeys(held.found, share_of(gcp)),
                notices=(*notices, *held.notices),
            )
        counted = _counted(project, gcp, answers)
        return Derived(
            instances=counted.instances,
            amounts=shapes.amounts(gcp, shape, counted.instances),
            text=f"{counted.instances} {gcp.machine_type} of {counted.text}",
            limits=counted.limits,
            draws=counted.draws,
            notices=notices,
        )

    def remembered(self, message: str) -> Iterable[str]:
        return wording.remembered(message)

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


def _counted(account: GcpProject, entry: GcpEntry, answers: Answers) -> Counted:
    if entry.metric is not None:
        return metric.counted(account, entry, entry.metric, answers)
    if entry.gpu_family is not None:
        return family.counted(account, entry, entry.gpu_family, answers)
    raise Misconfigured(f"an entry of {entry.machine_type} has none of {', '.join(entry.sources())}: give it one")


def _global_metric(entry: GcpEntry) -> str | None:
    return None if entry.metric is None else metric.global_metric_of(entry.metric)
