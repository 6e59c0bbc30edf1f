"""What a project of Google Cloud has, built of the client libraries' own types: a wrong field name fails."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from google.cloud import cloudquotas_v1, compute_v1

ROOT: Final = "https://www.googleapis.com/compute/v1"
"""Where Compute Engine says that its resources are, wherever it is asked."""
UNLIMITED: Final = 9.22337203685e18
"""As Compute Engine writes a quota without limit."""
COMPUTE: Final = "compute.googleapis.com"
GPU_FAMILIES: Final = "GPUS-PER-GPU-FAMILY-per-project-region"


def quotas(limits: Mapping[str, float]) -> list[compute_v1.Quota]:
    """Rows of a region or of a project, of which something is in use."""
    return [compute_v1.Quota(metric=metric, limit=limit, usage=1) for metric, limit in limits.items()]


def region(project: str, name: str, limits: Mapping[str, float], zones: Iterable[str] = "abcf") -> compute_v1.Region:
    """A region with these quotas."""
    return compute_v1.Region(
        kind="compute#region",
        name=name,
        status="UP",
        quotas=quotas(limits),
        zones=[f"{ROOT}/projects/{project}/zones/{name}-{letter}" for letter in zones],
        self_link=f"{ROOT}/projects/{project}/regions/{name}",
    )


def without_quotas(whole: compute_v1.Region) -> compute_v1.Region:
    """The same as Compute Engine answers when it cannot read its quotas: with 200, no rows and a warning."""
    found = compute_v1.Region(whole)
    found.quotas = []
    found.quota_status_warning = compute_v1.QuotaStatusWarning(
        code="QUOTA_INFO_UNAVAILABLE", message="Quota information is not available for this region at this time."
    )
    return found


def machine_type(
    project: str,
    zone: str,
    name: str,
    *,
    vcpus: int,
    memory_mib: int,
    accelerators: Mapping[str, int] | None = None,
) -> compute_v1.MachineType:
    """A machine type; accelerators by their type, such as `nvidia-l4`."""
    return compute_v1.MachineType(
        kind="compute#machineType",
        name=name,
        zone=zone,
        guest_cpus=vcpus,
        memory_mb=memory_mib,
        accelerators=[
            compute_v1.Accelerators(guest_accelerator_type=kind, guest_accelerator_count=count)
            for kind, count in (accelerators or {}).items()
        ],
        self_link=f"{ROOT}/projects/{project}/zones/{zone}/machineTypes/{name}",
    )


def reservation(
    project: str,
    zone: str,
    name: str,
    kind: str,
    count: int,
    *,
    in_use: int = 0,
    status: str = "READY",
    shared_with: Sequence[str] = (),
    accelerators: Mapping[str, int] | None = None,
) -> compute_v1.Reservation:
    """A reservation of `count` machines of a type, of which `in_use` are used; accelerators where they are attached."""
    sharing = compute_v1.ShareSettings(
        share_type="SPECIFIC_PROJECTS" if shared_with else "LOCAL",
        project_map={each: compute_v1.ShareSettingsProjectConfig(project_id=each) for each in shared_with},
    )
    properties = compute_v1.AllocationSpecificSKUAllocationReservedInstanceProperties(
        machine_type=kind,
        guest_accelerators=[
            compute_v1.AcceleratorConfig(accelerator_type=each, accelerator_count=number)
            for each, number in (accelerators or {}).items()
        ],
    )
    return compute_v1.Reservation(
        kind="compute#reservation",
        name=name,
        zone=f"{ROOT}/projects/{project}/zones/{zone}",
        status=status,
        specific_reservation=compute_v1.AllocationSpecificSKUReservation(
            count=count, in_use_count=in_use, assured_count=count, instance_properties=properties
        ),
        specific_reservation_required=True,
        share_settings=sharing,
        self_link=f"{ROOT}/projects/{project}/zones/{zone}/reservations/{name}",
    )


def gpu_families(
    project: str, rows: Sequence[tuple[Mapping[str, str], int, Sequence[str]]], quota_id: str = GPU_FAMILIES
) -> cloudquotas_v1.QuotaInfo:
    """A quota of Cloud Quotas with rows of dimensions, value and locations, from the special to the general."""
    return cloudquotas_v1.QuotaInfo(
        name=f"projects/{project}/locations/global/services/{COMPUTE}/quotaInfos/{quota_id}",
        quota_id=quota_id,
        metric=f"{COMPUTE}/gpus_per_gpu_family",
        service=COMPUTE,
        container_type=cloudquotas_v1.QuotaInfo.ContainerType.PROJECT,
        dimensions=["region", "gpu_family"],
        metric_unit="1",
        dimensions_infos=[
            cloudquotas_v1.DimensionsInfo(
                dimensions=dict(dimensions),
                details=cloudquotas_v1.QuotaDetails(value=value),
                applicable_locations=list(locations),
            )
            for dimensions, value, locations in rows
        ],
    )
