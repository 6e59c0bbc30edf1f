"""What is asked of a project of Google Cloud, and what is kept of the answers: plain values, nothing of the SDK. Pure.

The names of the API's fields are written down once, in `account.py`, which makes these of its messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from kueue_dqo.api.cloud import GcpEntry, GcpProject, region_of
from providers.cloud_quota.cloud import Lifetime, Question

REGIONS_GET: Final = "compute.regions.get"
PROJECTS_GET: Final = "compute.projects.get"
MACHINE_TYPES_GET: Final = "compute.machineTypes.get"
RESERVATIONS_LIST: Final = "compute.reservations.list"
CLOUD_QUOTAS_GET: Final = "cloudquotas.quotas.get"

GLOBAL: Final = "global"
"""The region of what has none."""

T_co = TypeVar("T_co", covariant=True)


# --- answers ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Quotas:
    """The quotas of Compute Engine of one region, or of the project."""

    limits: Mapping[str, float | None]
    """By metric, as it is sent. None: the row has no limit."""


@dataclass(frozen=True, slots=True)
class QuotaRow:
    """One limit of a quota of Cloud Quotas (`DimensionsInfo`)."""

    dimensions: Mapping[str, str]
    """Of a dimension that is not among them, it holds for every value without a row of its own."""
    locations: tuple[str, ...]
    """Where it holds. Empty: not told."""
    value: int | None
    """None: not told."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine type."""

    vcpus: int
    memory_mib: int
    accelerators: tuple[tuple[str, int], ...]
    """Built in: types and how many, such as `nvidia-h100-80gb`, 8."""
    deprecated: str = ""
    """Such as `DEPRECATED`, `OBSOLETE`; empty: it is not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """A reservation of one zone."""

    name: str
    zone: str
    status: str
    """`READY`, `CREATING`, `DELETING`, `UPDATING`, `INVALID`."""
    count: int | None
    """Instances, those in use included. None: not told."""
    machine_type: str
    is_specific: bool = True
    """Whether it counts instances of one machine type."""
    accelerators: tuple[tuple[str, int], ...] | None = ()
    """GPUs of each instance: types and how many. None: not told."""
    share_type: str = ""
    """Who may use it: `LOCAL`, `SPECIFIC_PROJECTS`, `ORGANIZATION`, …; empty: its project alone, as with `LOCAL`."""
    delete_at: str = ""
    """When it will be deleted by itself, RFC 3339; empty: never."""

    @property
    def is_shared(self) -> bool:
        """Whether projects beside its own may use it."""
        return self.share_type not in {"", "LOCAL", "SHARE_TYPE_UNSPECIFIED"}


@dataclass(frozen=True, slots=True)
class ReservationList:
    """The reservations of a project."""

    reservations: tuple[Reservation, ...]
    missing: tuple[str, ...] = ()
    """Zones and regions of which nothing is known, as the cloud writes them, with its reason where it told one."""


# --- questions -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _ComputeQuestion(Question[T_co]):
    """One for Compute Engine."""

    @property
    def scope(self) -> str:
        return "compute"


@dataclass(frozen=True, slots=True)
class RegionQuestion(_ComputeQuestion[Quotas]):
    """The quotas of a region."""

    project: str
    region: str


@dataclass(frozen=True, slots=True)
class ProjectQuestion(_ComputeQuestion[Quotas]):
    """The quotas over all regions."""

    project: str


@dataclass(frozen=True, slots=True)
class MachineQuestion(_ComputeQuestion[Machine]):
    """A machine type, of whichever zone of the region has it."""

    project: str
    region: str
    machine_type: str

    @property
    def lifetime(self) -> Lifetime:
        return Lifetime.DAY


@dataclass(frozen=True, slots=True)
class FamilyQuestion(Question[tuple[QuotaRow, ...]]):
    """All limits of one quota of Cloud Quotas, in their order: the more specific ones come first."""

    project: str
    service: str
    quota_id: str

    @property
    def scope(self) -> str:
        return "cloudquotas"


@dataclass(frozen=True, slots=True)
class ReservationsQuestion(_ComputeQuestion[ReservationList]):
    """The reservations that a project owns, of all zones."""

    project: str


AnyQuestion = RegionQuestion | ProjectQuestion | MachineQuestion | FamilyQuestion | ReservationsQuestion


def machine_question(account: GcpProject, entry: GcpEntry) -> MachineQuestion:
    """What the entry's machine type is."""
    return MachineQuestion(account.project, region_of(account, entry), entry.machine_type)


def owner_of(account: GcpProject, entry: GcpEntry) -> str:
    """The project that owns the entry's reservations."""
    if entry.reservations is None or entry.reservations.project is None:
        return account.project
    return entry.reservations.project


def questions_of(account: GcpProject, entry: GcpEntry, *, bounded: bool) -> Iterator[AnyQuestion]:
    """What has to be known for one entry; the machine type last, whose zones the answer about the region tells as well.

    Args:
        account: whose entry it is.
        entry: with one source.
        bounded: whether a quota over all regions bounds its metric.
    """
    if entry.metric is not None:
        yield RegionQuestion(account.project, region_of(account, entry))
        if bounded:
            yield ProjectQuestion(account.project)
    if entry.gpu_family is not None:
        yield FamilyQuestion(account.project, entry.gpu_family.service, entry.gpu_family.quota_id)
    if entry.reservations is not None:
        yield ReservationsQuestion(owner_of(account, entry))
    yield machine_question(account, entry)
