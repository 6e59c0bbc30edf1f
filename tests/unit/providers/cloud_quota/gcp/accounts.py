"""Accounts of Google Cloud and what it answers, in the words of the parameters."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kueue_dqo.api.cloud import GcpEntry, GcpFlavor, GcpMetric, GcpProject, GcpReservations
from kueue_dqo.api.quantity import Quantity
from providers.cloud_quota.cloud import Answers, Derived
from providers.cloud_quota.gcp.cloud import CLOUD
from providers.cloud_quota.gcp.questions import (
    FamilyQuestion,
    Machine,
    MachineQuestion,
    ProjectQuestion,
    QuotaRow,
    Quotas,
    RegionQuestion,
    Reservation,
    ReservationList,
    ReservationsQuestion,
)

P: Final = "fleet-1"
REGION: Final = "us-central1"
ZONE: Final = "us-central1-a"
NOW: Final = datetime.datetime(2026, 12, 1, tzinfo=datetime.UTC)
FAMILIES: Final = FamilyQuestion(P, "compute.googleapis.com", "GPUS-PER-GPU-FAMILY-per-project-region")

MACHINES: Final[Mapping[str, Machine]] = {
    "g2-standard-96": Machine(96, 393_216, (("nvidia-l4", 8),)),
    "a3-highgpu-8g": Machine(208, 1_917_952, (("nvidia-h100-80gb", 8),)),
    "n1-standard-8": Machine(8, 30_720, ()),
    "c3-standard-4": Machine(4, 16_384, ()),
    "ct5lp-hightpu-4t": Machine(112, 196_608, (("ct5lp", 4),)),
    "x9-standard-8": Machine(8, 32_768, (("cerebras-wse", 2),)),
}


def project(*entries: GcpEntry, **more: Any) -> GcpProject:
    """An account whose flavors have one of the entries each."""
    flavors = tuple(GcpFlavor(name=f"flavor-{number}", entries=(entry,)) for number, entry in enumerate(entries))
    return GcpProject(**{"project": P, "regions": (REGION,), "flavors": flavors, **more})


def of_metric(name: str, machine_type: str, global_metric: str | None = None, **more: Any) -> GcpEntry:
    """An entry of a metric, whose share may be a text."""
    metric = GcpMetric(name, unit=more.pop("unit", None), global_metric=global_metric)
    return GcpEntry(machine_type=machine_type, metric=metric, **_with_quantities(more))


def of_reservations(machine_type: str, *names: str, zones: Sequence[str] = (), **more: Any) -> GcpEntry:
    """An entry of reservations by their names."""
    named = GcpReservations(names, zones=tuple(zones), project=more.pop("project", None))
    return GcpEntry(machine_type=machine_type, reservations=named, **_with_quantities(more))


def reservation(name: str, zone: str = ZONE, count: int | None = 4, **more: Any) -> Reservation:
    """A ready one of a3-highgpu-8g, by default."""
    return Reservation(
        **{
            "name": name,
            "zone": zone,
            "status": "READY",
            "count": count,
            "machine_type": "a3-highgpu-8g",
            **more,
        }
    )


def answers(
    regional: Mapping[str, float | None] | None = None,
    over_all: Mapping[str, float | None] | None = None,
    rows: Sequence[QuotaRow] = (),
    reservations: Sequence[Reservation] = (),
    *,
    missing: Sequence[str] = (),
    owner: str = P,
) -> Answers:
    """What the cloud answers; machine types are those of MACHINES."""
    given: dict[Any, Any] = {MachineQuestion(P, REGION, name): machine for name, machine in MACHINES.items()}
    given[RegionQuestion(P, REGION)] = Quotas(regional or {})
    given[ProjectQuestion(P)] = Quotas(over_all or {})
    given[FAMILIES] = tuple(rows)
    given[ReservationsQuestion(owner)] = ReservationList(tuple(reservations), tuple(missing))
    return Answers(given)


def derived(
    entry: GcpEntry, given: Answers, ended: set[str] | None = None, account: GcpProject | None = None
) -> Derived:
    """What the entry comes to, in an account of its own by default."""
    return CLOUD.derive(account or project(entry), entry, given, set() if ended is None else ended, NOW)


def texts(of: Mapping[str, Quantity]) -> dict[str, str]:
    """Amounts, to be read."""
    return {resource: str(quantity) for resource, quantity in of.items()}


def _with_quantities(more: dict[str, Any]) -> dict[str, Any]:
    if "share" in more:
        more["share"] = Quantity.of(more["share"])
    if "per_instance" in more:
        more["per_instance"] = {name: Quantity.of(value) for name, value in more["per_instance"].items()}
    return more
