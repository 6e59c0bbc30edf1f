"""Answers of the SDK: every field that is read is one of its service models, and what is missing is no zero."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import botocore.session
import pytest
from botocore.model import ListShape, MapShape, Shape, StructureShape

from providers.cloud_quota.aws import decoding
from providers.cloud_quota.aws.decoding import HalfAnswer
from providers.cloud_quota.aws.questions import QuotaValue, Reservation
from providers.cloud_quota.shapes import NEURON, NVIDIA
from providers.cloud_quota.shapes import Shape as InstanceShape

TIME = datetime.datetime(2026, 12, 1, tzinfo=datetime.UTC)
MODELS = botocore.session.get_session()


class Row(dict[str, Any]):
    """A structure with its fields, or without some; what is read of it has to be in the service model."""

    def __init__(self, shape: StructureShape, fields: dict[str, Any], read: set[str]) -> None:
        super().__init__(fields)
        self._shape = shape
        self._read = read

    def get(self, key: str, default: Any = None) -> Any:
        assert key in self._shape.members, f"{key} is no field of {self._shape.name}"
        self._read.add(f"{self._shape.name}.{key}")
        return super().get(key, default)


def sample(shape: Shape, read: set[str], without: frozenset[str] = frozenset()) -> Any:
    """One of each thing that the service model describes."""
    match shape:
        case StructureShape():
            members = {name: each for name, each in shape.members.items() if name not in without}
            fields = {name: sample(each, read, without) for name, each in members.items()}
            return Row(shape, fields, read)
        case ListShape():
            return [sample(shape.member, read, without)]
        case MapShape():
            return {}
    values = {"timestamp": TIME, "boolean": True, "string": "text", "double": 384.0}
    return values.get(shape.type_name, 2)


def output(service: str, operation: str, read: set[str], without: frozenset[str] = frozenset()) -> Any:
    shape = MODELS.get_service_model(service).operation_model(operation).output_shape
    assert shape is not None
    return sample(shape, read, without)


@pytest.mark.parametrize("operation", ["GetServiceQuota", "GetAWSDefaultServiceQuota"])
def test_a_quota_is_read_by_the_fields_of_service_quotas(operation: str) -> None:
    read: set[str] = set()
    with pytest.raises(HalfAnswer, match=r"no value at the moment: text \(text\)"):
        decoding.quota_value(output("service-quotas", operation, read)["Quota"], "text", is_default=True)
    whole = output("service-quotas", operation, read, frozenset({"ErrorReason"}))
    assert decoding.quota_value(whole["Quota"], "text", is_default=True) == QuotaValue(384.0, is_default=True)
    assert read == {
        "ServiceQuota.ErrorReason",
        "ServiceQuota.QuotaCode",
        "ServiceQuota.Value",
        "ErrorReason.ErrorCode",
        "ErrorReason.ErrorMessage",
    }


@pytest.mark.parametrize("value", ["384", [], {}, True])
def test_a_value_that_is_no_number_is_refused(value: Any) -> None:
    with pytest.raises(HalfAnswer, match=r"Quota\.Value in the answer of AWS is a"):
        decoding.quota_value({"Value": value}, "L-1", is_default=False)


def test_the_value_of_another_quota_is_refused() -> None:
    with pytest.raises(HalfAnswer, match="answers about L-2, and was asked about L-1"):
        decoding.quota_value({"QuotaCode": "L-2", "Value": 1.0}, "L-1", is_default=False)


@pytest.mark.parametrize("time", [datetime.datetime(2026, 12, 1), datetime.datetime(1, 1, 1, tzinfo=datetime.UTC), 7])  # noqa: DTZ001
def test_a_time_that_is_none_is_refused(time: Any) -> None:
    row: Any = {"CapacityReservationId": "cr-a", "State": "active", "EndDate": time}
    with pytest.raises(HalfAnswer, match="EndDate in the answer of AWS is"):
        decoding.reservation(row)


def test_a_reservation_without_a_state_or_with_an_odd_number_is_refused() -> None:
    row: Any = {"CapacityReservationId": "cr-a", "State": ""}
    with pytest.raises(HalfAnswer, match="State of a capacity reservation"):
        decoding.reservation(row)
    with pytest.raises(HalfAnswer, match="TotalInstanceCount"):
        decoding.reservation(row | {"State": "active", "TotalInstanceCount": "4"})


def test_a_reservation_is_read_by_the_fields_of_ec2() -> None:
    read: set[str] = set()
    answer = output("ec2", "DescribeCapacityReservations", read)
    found = decoding.reservation(answer["CapacityReservations"][0])
    assert found == Reservation(
        id="text",
        state="text",
        kind="text",
        instance_type="text",
        owner="text",
        total=2,
        start=TIME,
        end=TIME,
        launch_status="text",
        tags={"text": "text"},
        block_id="text",
        is_interruptible=True,
    )
    assert "CapacityReservation.AvailableInstanceCount" not in read


def test_what_is_broken_is_read_by_the_fields_of_ec2() -> None:
    answer = output("ec2", "DescribeCapacityBlockStatus", set())
    assert dict(decoding.unavailable_of(answer["CapacityBlockStatuses"])) == {"text": 2}


def test_a_shape_is_read_by_the_fields_of_ec2() -> None:
    read: set[str] = set()
    answer = output("ec2", "DescribeInstanceTypes", read)
    found = decoding.shape_of(answer["InstanceTypes"][0])
    assert found == InstanceShape(2, 2, {NEURON: 2}, ("2 text", "2 text", "2 text", "2 text"))
    assert {"GpuDeviceInfo.LogicalGpuCount", "GpuDeviceInfo.Count"} <= read


@pytest.mark.parametrize(
    ("operation", "field", "decode"),
    [
        ("DescribeCapacityReservations", "CapacityReservationId", decoding.reservation),
        ("DescribeCapacityReservations", "State", decoding.reservation),
        ("DescribeInstanceTypes", "DefaultVCpus", decoding.shape_of),
        ("DescribeInstanceTypes", "VCpuInfo", decoding.shape_of),
        ("DescribeInstanceTypes", "SizeInMiB", decoding.shape_of),
        ("DescribeInstanceTypes", "Count", decoding.shape_of),
    ],
)
def test_half_an_answer_is_refused(operation: str, field: str, decode: Callable[[Any], object]) -> None:
    rows = next(each for each in output("ec2", operation, set(), frozenset({field})).values() if isinstance(each, list))
    with pytest.raises(HalfAnswer, match=f"has no .*{'Default' if field == 'VCpuInfo' else field}"):
        decode(rows[0])


def test_a_quota_without_a_value_is_refused() -> None:
    with pytest.raises(HalfAnswer, match=r"Quota\.Value"):
        decoding.quota_value({"QuotaCode": "L-417A185B"}, "L-417A185B", is_default=False)
    with pytest.raises(HalfAnswer, match="has no Quota"):
        decoding.quota_value(None, "L-1", is_default=False)


def test_a_value_of_zero_is_one() -> None:
    assert decoding.quota_value({"Value": 0.0}, "L-1", is_default=True) == QuotaValue(0.0, is_default=True)


def instance_type(**fields: Any) -> Any:
    return {"VCpuInfo": {"DefaultVCpus": 192}, "MemoryInfo": {"SizeInMiB": 1024}} | fields


@pytest.mark.parametrize(
    ("fields", "accelerators", "unknown"),
    [
        ({}, {}, ()),
        ({"GpuInfo": {"Gpus": [{"Manufacturer": "NVIDIA", "Name": "H100", "Count": 8}]}}, {NVIDIA: 8}, ()),
        (
            {"GpuInfo": {"Gpus": [{"Manufacturer": "NVIDIA", "Name": "L4", "Count": 0, "LogicalGpuCount": 1}]}},
            {NVIDIA: 1},
            (),
        ),
        ({"GpuInfo": {"Gpus": [{"Manufacturer": "AMD", "Count": 4}]}}, {"amd.com/gpu": 4}, ()),
        ({"GpuInfo": {"Gpus": [{"Manufacturer": "Habana", "Count": 8}]}}, {"habana.ai/gaudi": 8}, ()),
        ({"NeuronInfo": {"NeuronDevices": [{"Name": "Trainium", "Count": 16}]}}, {NEURON: 16}, ()),
        (
            {
                "NeuronInfo": {"NeuronDevices": [{"Name": "Inferentia", "Count": 4}]},
                "InferenceAcceleratorInfo": {"Accelerators": [{"Manufacturer": "AWS", "Count": 4}]},
            },
            {NEURON: 4},
            (),
        ),
        ({"InferenceAcceleratorInfo": {"Accelerators": [{"Manufacturer": "AWS", "Count": 4}]}}, {NEURON: 4}, ()),
        (
            {
                "InferenceAcceleratorInfo": {
                    "Accelerators": [{"Manufacturer": "Qualcomm", "Name": "Qualcomm AI100", "Count": 8}]
                }
            },
            {},
            ("8 Qualcomm AI100",),
        ),
        (
            {"MediaAcceleratorInfo": {"Accelerators": [{"Manufacturer": "Xilinx", "Name": "U30", "Count": 2}]}},
            {},
            ("2 Xilinx U30",),
        ),
        ({"FpgaInfo": {"Fpgas": [{"Manufacturer": "Xilinx", "Name": "VU47P", "Count": 1}]}}, {}, ("1 Xilinx VU47P",)),
    ],
)
def test_accelerators_go_by_their_makers(
    fields: dict[str, Any], accelerators: dict[str, int], unknown: tuple[str, ...]
) -> None:
    assert decoding.shape_of(instance_type(**fields)) == InstanceShape(192, 1024, accelerators, unknown)
