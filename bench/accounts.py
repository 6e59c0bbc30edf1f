"""An account of each cloud with 4 flavors: what the cloud quota provider is asked about, and what fakes have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

P_QUOTA, STANDARD_QUOTA = "L-417A185B", "L-1216C47A"
RESERVATION, BLOCK = "cr-0aaaaaaaaaaaaaaaa", "cr-0bbbbbbbbbbbbbbbb"
AWS_REGION, GCP_REGION, PROJECT = "us-east-1", "us-central1", "fleet-1"
H100_RESERVATION: Final = "h100"

ACCOUNTS: Final[Mapping[str, dict[str, Any]]] = {
    "aws": {
        "regions": [AWS_REGION],
        "flavors": [
            {
                "name": "p5",
                "entries": [
                    {"instanceType": "p5.48xlarge", "quota": {"code": P_QUOTA}, "share": "0.5"},
                    {"instanceType": "p5.48xlarge", "capacityReservations": {"ids": [RESERVATION]}},
                ],
            },
            {
                "name": "p4d",
                "entries": [{"instanceType": "p4d.24xlarge", "quota": {"code": P_QUOTA}, "share": "0.5"}],
            },
            {"name": "block", "entries": [{"instanceType": "p5.48xlarge", "capacityBlocks": {"ids": [BLOCK]}}]},
            {"name": "cpu", "entries": [{"instanceType": "m7i.2xlarge", "quota": {"code": STANDARD_QUOTA}}]},
        ],
    },
    "gcp": {
        "project": PROJECT,
        "regions": [GCP_REGION],
        "flavors": [
            {"name": "l4", "entries": [{"machineType": "g2-standard-96", "metric": {"name": "NVIDIA_L4_GPUS"}}]},
            {
                "name": "l4-spot",
                "entries": [{"machineType": "g2-standard-96", "metric": {"name": "PREEMPTIBLE_NVIDIA_L4_GPUS"}}],
            },
            {
                "name": "h100",
                "entries": [
                    {"machineType": "a3-highgpu-8g", "gpuFamily": {"name": "NVIDIA_H100"}},
                    {"machineType": "a3-highgpu-8g", "reservations": {"names": [H100_RESERVATION]}},
                ],
            },
            {"name": "cpu", "entries": [{"machineType": "c3-standard-8", "metric": {"name": "C3_CPUS"}}]},
        ],
    },
}
"""What stands in the spec of the parameters, by the name of the cloud. Every kind of source is among them."""
