"""What EC2 and Service Quotas say of one thing: dicts with the names of the SDK's service models."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Final

from tests.clouds.aws.credentials import ACCOUNT

Row = Mapping[str, Any]

P5: Final = "p5.48xlarge"
P4D: Final = "p4d.24xlarge"
TRN1: Final = "trn1.32xlarge"
M7I: Final = "m7i.2xlarge"


def _type(name: str, vcpus: int, gib: int, **more: Any) -> dict[str, Any]:
    return {
        "InstanceType": name,
        "CurrentGeneration": True,
        "VCpuInfo": {"DefaultVCpus": vcpus},
        "MemoryInfo": {"SizeInMiB": gib * 1024},
        **more,
    }


def _gpus(model: str, count: int, mib: int) -> dict[str, Any]:
    gpu = {"Name": model, "Manufacturer": "NVIDIA", "Count": count, "MemoryInfo": {"SizeInMiB": mib}}
    return {"Gpus": [gpu], "TotalGpuMemoryInMiB": count * mib}


_TRAINIUM: Final = {
    "Name": "Trainium",
    "Count": 16,
    "CoreInfo": {"Count": 2, "Version": 2},
    "MemoryInfo": {"SizeInMiB": 32 * 1024},
}
INSTANCE_TYPES: Final = {
    each["InstanceType"]: each
    for each in (
        _type(P5, 192, 2048, GpuInfo=_gpus("H100", 8, 81_920)),
        _type(P4D, 96, 1152, GpuInfo=_gpus("A100", 8, 40_960)),
        _type(TRN1, 128, 512, NeuronInfo={"NeuronDevices": [_TRAINIUM], "TotalNeuronDeviceMemoryInMiB": 512 * 1024}),
        _type(M7I, 8, 32),
    )
}
"""A small catalogue."""


def quota(region: str, code: str, value: float | None, **more: Any) -> dict[str, Any]:
    """A quota of EC2; without value, a row that says why there is none."""
    number = {} if value is None else {"Value": float(value)}
    return {
        "ServiceCode": "ec2",
        "ServiceName": "Amazon Elastic Compute Cloud (Amazon EC2)",
        "QuotaArn": f"arn:aws:servicequotas:{region}:{ACCOUNT}:ec2/{code}",
        "QuotaCode": code,
        "QuotaName": f"Running instances ({code})",
        **number,
        "Unit": "None",
        "Adjustable": True,
        "GlobalQuota": False,
        "QuotaAppliedAtLevel": "ACCOUNT",
        **more,
    }


def reservation(identity: str, instance_type: str, total: int, **more: Any) -> dict[str, Any]:
    """An on-demand capacity reservation that is active and has no end; most of it is in use."""
    begun = datetime.datetime(2026, 1, 31, 12, tzinfo=datetime.UTC)
    return {
        "CapacityReservationId": identity,
        "OwnerId": ACCOUNT,
        "CapacityReservationArn": f"arn:aws:ec2:us-east-1:{ACCOUNT}:capacity-reservation/{identity}",
        "InstanceType": instance_type,
        "InstancePlatform": "Linux/UNIX",
        "AvailabilityZone": "us-east-1a",
        "Tenancy": "default",
        "TotalInstanceCount": total,
        "AvailableInstanceCount": total // 4,
        "EbsOptimized": True,
        "EphemeralStorage": False,
        "State": "active",
        "StartDate": begun,
        "EndDateType": "unlimited",
        "InstanceMatchCriteria": "open",
        "CreateDate": begun,
        "Tags": [],
        "ReservationType": "default",
        **more,
    }


def block(identity: str, instance_type: str, total: int, ends: datetime.datetime, **more: Any) -> dict[str, Any]:
    """A capacity block that is active."""
    return reservation(
        identity,
        instance_type,
        total,
        **{
            "ReservationType": "capacity-block",
            "CapacityBlockId": block_of(identity),
            "EndDate": ends,
            "EndDateType": "limited",
            "InstanceMatchCriteria": "targeted",
            **more,
        },
    )


def block_status(identity: str, total: int, unavailable: int) -> dict[str, Any]:
    """The health of the block that a capacity reservation belongs to."""
    numbers = {
        "TotalCapacity": total,
        "TotalAvailableCapacity": 0,
        "TotalUnavailableCapacity": unavailable,
    }
    return {
        "CapacityBlockId": block_of(identity),
        "InterconnectStatus": "ok",
        **numbers,
        # Of the same name, but what jobs use.
        "CapacityReservationStatuses": [
            {"CapacityReservationId": identity, **numbers, "TotalUnavailableCapacity": total}
        ],
    }


def block_of(identity: str) -> str:
    """The id of the block that a capacity reservation belongs to."""
    return identity.replace("cr-", "cb-")


def tags(**values: str) -> list[dict[str, str]]:
    """Tags as EC2 lists them."""
    return [{"Key": key, "Value": value} for key, value in values.items()]
