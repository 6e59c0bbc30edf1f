"""Parameters of the cloud quota provider (`kueue-dqo.dev/v1alpha1`): what is asked of one account of one cloud.

Each cloud is a field of the spec with types of its own; exactly one of them is given.
"""

from __future__ import annotations

import enum
from fractions import Fraction
from typing import Final

import msgspec

from kueue_dqo.api.durations import Duration
from kueue_dqo.api.parameters import Combine, CommonParameters, ParametersObject
from kueue_dqo.api.quantity import NANOS, Quantity

CLOUD_QUOTA_CONTROLLER: Final = "kueue-dqo.dev/cloud-quota"
CLOUD_QUOTA_PARAMETERS: Final = "CloudQuotaParameters"


class PurchaseOption(enum.StrEnum):
    """How instances are paid for: each option has quotas of its own."""

    ON_DEMAND = "OnDemand"
    SPOT = "Spot"


class CloudEntry(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """What every entry of a flavor has: how many of the instances that a source allows are the flavor's, and how large.

    Only whole instances count: floor(limit x share / what one instance takes of it), at most `max_instances`.
    """

    region: str | None = None
    """None: the account's only one."""
    share: Quantity | None = None
    """More than 0, at most 1. None: all of it; of a reservation that another account owns it has to be said."""
    max_instances: int | None = None
    """Above it nothing counts. A source without limit needs it."""
    per_instance: dict[str, Quantity] = {}
    """What a job gets of one instance, by resource; goes before what the cloud's catalogue says."""

    @property
    def source(self) -> str | None:
        """The field that says what is asked; None where none or more than one is given."""
        given = [name for name in self.sources() if getattr(self, name) is not None]
        return given[0] if len(given) == 1 else None

    @classmethod
    def sources(cls) -> tuple[str, ...]:
        """The names of the fields of which each entry has exactly one."""
        raise NotImplementedError

    @property
    def type_name(self) -> str:
        """The instance type."""
        raise NotImplementedError


# --- AWS -----------------------------------------------------------------------------------------------------------


class AwsQuota(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """A quota of Service Quotas that counts vCPUs."""

    code: str
    """Such as `L-417A185B`: vCPUs of running on-demand P instances."""
    service: str = "ec2"
    """Its service code, which is case-sensitive."""
    purchase_option: PurchaseOption = PurchaseOption.ON_DEMAND


class AwsCapacityReservations(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """On-demand capacity reservations of the entry's instance type: those with these ids, or with all of these tags."""

    ids: tuple[str, ...] = ()
    tags: dict[str, str] = {}


class AwsCapacityBlocks(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """Capacity blocks of the entry's instance type, by the ids of their capacity reservations or by tags.

    EC2 begins to terminate instances 30 minutes before a block ends.
    """

    ids: tuple[str, ...] = ()
    tags: dict[str, str] = {}
    stop_admitting_before: Duration = Duration(3600)
    """How long before its end a block counts no more; 30 minutes at least."""


class AwsEntry(CloudEntry, frozen=True, gc=False, kw_only=True):
    """One source of one flavor."""

    instance_type: str
    quota: AwsQuota | None = None
    capacity_reservations: AwsCapacityReservations | None = None
    capacity_blocks: AwsCapacityBlocks | None = None

    @classmethod
    def sources(cls) -> tuple[str, ...]:
        return ("quota", "capacity_reservations", "capacity_blocks")

    @property
    def type_name(self) -> str:
        return self.instance_type


class AwsFlavor(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """What one flavor is made of: its entries, combined resource by resource over those that report it."""

    name: str
    entries: tuple[AwsEntry, ...]
    combine: Combine = Combine.MAX


class AwsRole(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """The role that is assumed for all calls, such as one of another account."""

    arn: str
    external_id: str | None = None


class AwsAccount(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """An account of AWS and the regions in which it is asked. Credentials are found by the SDK's own chain."""

    regions: tuple[str, ...]
    flavors: tuple[AwsFlavor, ...]
    assume_role: AwsRole | None = None
    account_id: str | None = None
    """The account that is meant, in 12 digits: the credentials have to be of it. It tells accounts apart that are asked
    by daemons with identities of their own."""


# --- Google Cloud --------------------------------------------------------------------------------------------------


class MetricUnit(enum.StrEnum):
    """What a quota of Compute Engine counts."""

    ACCELERATORS = "Accelerators"
    VCPUS = "VCPUs"


def unit_by_name(metric: str) -> MetricUnit | None:
    """What the end of a metric's name says that it counts, as in NVIDIA_L4_GPUS and C3_CPUS; None for another end."""
    if metric.endswith("GPUS"):
        return MetricUnit.ACCELERATORS
    return MetricUnit.VCPUS if metric.endswith("CPUS") else None


class GcpMetric(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """A quota of a region of Compute Engine, bounded by the project's quota over all regions where there is one."""

    name: str
    """Such as `NVIDIA_L4_GPUS`, `PREEMPTIBLE_NVIDIA_L4_GPUS`, `C3_CPUS`."""
    unit: MetricUnit | None = None
    """None: by the end of the name, `GPUS` or `CPUS`."""
    global_metric: str | None = None
    """None: `GPUS_ALL_REGIONS` or `CPUS_ALL_REGIONS`, by the end of the name; of another name none. Empty: none."""


class GcpGpuFamily(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """A quota of Cloud Quotas that is kept by region and GPU family, where H100 and newer ones are."""

    name: str
    """Such as `NVIDIA_H100`."""
    quota_id: str = "GPUS-PER-GPU-FAMILY-per-project-region"
    service: str = "compute.googleapis.com"


class GcpReservations(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """Reservations of the entry's machine type in its region, by name."""

    names: tuple[str, ...]
    zones: tuple[str, ...] = ()
    """Zones of the region, such as us-central1-a. Empty: all of them. In each one a name may be another reservation."""
    project: str | None = None
    """The project that owns them and shares them. None: the account's own."""


class GcpEntry(CloudEntry, frozen=True, gc=False, kw_only=True):
    """One source of one flavor."""

    machine_type: str
    accelerators: int | None = None
    """GPUs that are attached to each instance, where the machine type has none built in (N1)."""
    metric: GcpMetric | None = None
    gpu_family: GcpGpuFamily | None = None
    reservations: GcpReservations | None = None

    @classmethod
    def sources(cls) -> tuple[str, ...]:
        return ("metric", "gpu_family", "reservations")

    @property
    def type_name(self) -> str:
        return self.machine_type


class GcpFlavor(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """As AwsFlavor."""

    name: str
    entries: tuple[GcpEntry, ...]
    combine: Combine = Combine.MAX


class GcpProject(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A project of Google Cloud and the regions in which it is asked. Credentials are the application default ones."""

    project: str
    regions: tuple[str, ...]
    flavors: tuple[GcpFlavor, ...]
    impersonate_service_account: str | None = None
    """The e-mail address of the service account in whose name all calls are made."""


# -------------------------------------------------------------------------------------------------------------------

CloudAccount = AwsAccount | GcpProject
CloudFlavor = AwsFlavor | GcpFlavor


class CloudQuotaParametersSpec(CommonParameters, frozen=True, gc=False, kw_only=True):
    """Parameters of the cloud quota provider. Exactly one cloud is given."""

    aws: AwsAccount | None = None
    gcp: GcpProject | None = None

    @property
    def cloud(self) -> str | None:
        """The name of its field; None where none or both are given."""
        given = [name for name in CLOUDS if getattr(self, name) is not None]
        return given[0] if len(given) == 1 else None

    @property
    def account(self) -> CloudAccount:
        """What stands there. Raises ValueError where not exactly one is given."""
        if self.cloud is None:
            raise ValueError(f"not exactly one of {', '.join(CLOUDS)} is given")
        account: CloudAccount = getattr(self, self.cloud)
        return account


CLOUDS: Final = ("aws", "gcp")
"""The fields of the spec of which exactly one is given."""

CloudQuotaParameters = ParametersObject[CloudQuotaParametersSpec]


def flavors_of(account: CloudAccount) -> tuple[CloudFlavor, ...]:
    """The flavors of whatever cloud, in their order."""
    return account.flavors


def region_of(account: CloudAccount, entry: CloudEntry) -> str:
    """The region that the entry is about. Raises ValueError where it has to say so and does not."""
    if entry.region is not None:
        return entry.region
    if len(account.regions) != 1:
        raise ValueError(f"one of the regions {', '.join(account.regions)} has to be named")
    return account.regions[0]


def share_of(entry: CloudEntry) -> Fraction:
    """How much of its source the entry takes: all of it where it does not say."""
    return Fraction(1) if entry.share is None else Fraction(entry.share.nanos, NANOS)
