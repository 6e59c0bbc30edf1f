"""Reports of GPUs that are good and that are not, for those who judge them: the definition and `problems_of`."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from tests.unit.kueue_dqo.api.parameter_specs import ABSENT, API_VERSION, changed, present

KIND: Final = "NodeGPUReport"
GPU: Final = "nvidia.com/gpu"
FULL: Final[dict[str, Any]] = {
    "inventory": {
        "renewTime": "2026-09-20T10:00:00Z",
        "heartbeatSeconds": 300,
        "bootId": "5a7c1f0e-3f5b-4c39-9b1e-0a4f5f2f8d11",
        "driverVersion": "570.86.15",
        "product": "NVIDIA H100 80GB HBM3",
        "gpus": 6,
        "migGpus": 1,
        "devices": [
            {"name": GPU, "healthy": 5, "unhealthy": 2},
            {"name": "nvidia.com/mig-1g.10gb", "healthy": 7, "unhealthy": 0},
        ],
        "unhealthy": [
            {"reason": "Lost", "since": "2026-09-20T09:41:07Z", "uuid": "GPU-8f5c2f8e-61a9-0f3c-9d8e-1f6b2d7c4a10"},
            {"reason": "Xid79", "since": "2026-09-20T09:50:00Z", "index": 3},
        ],
        "unhealthyNotListed": 1,
    },
    "problem": {
        "reason": "LibraryNotFound",
        "message": "NVML Shared Library Not Found",
        "since": "2026-09-20T09:59:00Z",
    },
}
"""Every field that there is."""
INVENTORY, DEVICES, UNHEALTHY, PROBLEM = "inventory", "inventory.devices", "inventory.unhealthy", "problem"


class Case(NamedTuple):
    """A full report with one change: another value, or none, at a path below `spec`."""

    path: str
    value: Any
    field: str = ""
    """The field of the problem, below `spec`; empty for the path itself."""
    says: str = ""
    """A part of the problem."""

    def __str__(self) -> str:
        text = "absent" if self.value is ABSENT else repr(self.value)
        return f"{self.path} {text[:40]}".encode("ascii", "replace").decode()

    @property
    def manifest(self) -> dict[str, Any]:
        """The object."""
        spec = changed(FULL, self.path, self.value) if self.path else self.value
        return {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": {"name": "gpu-1.example.com"},
            "spec": present(spec),
        }

    @property
    def named(self) -> str:
        """The field of the problem, with its whole path."""
        parts = [f"[{step}]" if step.isdigit() else f".{step}" for step in (self.field or self.path).split(".")]
        return f"spec{''.join(parts)}"


def _devices(count: int) -> list[dict[str, Any]]:
    return [{"name": f"nvidia.com/mig-{number}g.10gb", "healthy": 1} for number in range(count)]


def _unhealthy(count: int) -> list[dict[str, Any]]:
    return [{"reason": "Lost", "since": "2026-09-20T09:41:07Z", "uuid": f"GPU-{number}"} for number in range(count)]


NO_TIMES: Final = (
    *("", "now", "2026-09-20", "2026-09-20T10:00:00", "2026-09-20T10:00:00+00:00", "2026-09-20 10:00:00Z"),
    *("2026-13-20T10:00:00Z", "2026-02-30T10:00:00Z", "2026-09-20T10:00:00Z\n", "2026-09-20T10:00:00.0123456789Z"),
)
NO_UUIDS: Final = ("0", "GPU-", "GPU-a b", "GPU-" + "a" * 61, "8f5c2f8e-61a9-0f3c-9d8e-1f6b2d7c4a1", "gpu-a", "GPU-a\n")
NUMBERS: Final = (
    f"{INVENTORY}.unhealthyNotListed",
    *(f"{DEVICES}.0.{name}" for name in ("healthy", "unhealthy")),
)

GOOD: Final = [
    Case("", FULL),
    Case("", {}),
    Case(INVENTORY, ABSENT),
    Case(INVENTORY, {"renewTime": "2026-09-20T10:00:00Z", "heartbeatSeconds": 1}),
    Case(f"{INVENTORY}.renewTime", "2026-09-20T10:00:00.123456789Z"),
    Case(f"{INVENTORY}.heartbeatSeconds", 86400),
    *(Case(f"{INVENTORY}.{name}", each) for name in ("bootId", "driverVersion", "product") for each in ("", "x" * 128)),
    *(Case(path, each) for path in NUMBERS for each in (0, 4096)),
    Case(f"{INVENTORY}.gpus", 4096),
    *(Case(f"{INVENTORY}.migGpus", each) for each in (0, 6)),
    Case(DEVICES, []),
    Case(DEVICES, _devices(32)),
    *(
        Case(f"{DEVICES}.0.name", f"nvidia.com/{each}")
        for each in ("mig-1g.24gb.me.all", "mig-1g.24gb-me", f"mig-{'x' * 48}")
    ),
    Case(UNHEALTHY, []),
    Case(UNHEALTHY, _unhealthy(64)),
    *(Case(f"{UNHEALTHY}.0.reason", each) for each in ("Unreadable", "Xid140", "X" * 32)),
    *(
        Case(f"{UNHEALTHY}.0.uuid", each)
        for each in (
            ABSENT,
            "",
            "MIG-ab12cd34-0000-5e6f-8a9b-0c1d2e3f4a5b",
            "MIG-GPU-b1028956-cfa2/3/0",
            "GPU-" + "a" * 60,
            "8f5c2f8e-61a9-0f3c-9d8e-1f6b2d7c4a10",
        )
    ),
    *(Case(f"{UNHEALTHY}.1.index", each) for each in (0, 4095)),
    Case(PROBLEM, ABSENT),
    *(Case(f"{PROBLEM}.message", each) for each in ("", "m" * 512)),
]
BAD: Final = [
    *(
        Case(f"{INVENTORY}.{name}", ABSENT, says="is required and missing")
        for name in ("renewTime", "heartbeatSeconds")
    ),
    *(Case(f"{DEVICES}.0.{name}", ABSENT, says="is required and missing") for name in ("name", "healthy")),
    *(Case(f"{UNHEALTHY}.0.{name}", ABSENT, says="is required and missing") for name in ("reason", "since")),
    *(Case(f"{PROBLEM}.{name}", ABSENT, says="is required and missing") for name in ("reason", "message", "since")),
    *(Case(f"{INVENTORY}.renewTime", each, says="is no time in UTC") for each in NO_TIMES),
    *(Case(f"{UNHEALTHY}.1.since", each, says="is no time in UTC") for each in NO_TIMES),
    *(Case(f"{PROBLEM}.since", each, says="is no time in UTC") for each in NO_TIMES),
    *(Case(f"{INVENTORY}.heartbeatSeconds", each, says=f"{each} is out of range: 1 to 86400") for each in (0, 86401)),
    *(Case(f"{INVENTORY}.{name}", "x" * 129, says="129 char") for name in ("bootId", "driverVersion", "product")),
    *(Case(path, each, says=f"{each} is out of range: 0 to 4096") for path in NUMBERS for each in (-1, 4097)),
    *(Case(f"{INVENTORY}.gpus", each, says=f"{each} is out of range") for each in (-1, 4097)),
    Case(f"{INVENTORY}.migGpus", -1, says="-1 is out of range"),
    Case(f"{INVENTORY}.migGpus", 7, says="7 of 6 GPUs cannot be"),
    Case(f"{INVENTORY}.gpus", ABSENT, f"{INVENTORY}.migGpus", "1 of 0 GPUs cannot be"),
    Case(DEVICES, _devices(33), says="33 entries"),
    Case(f"{DEVICES}.1.name", GPU, DEVICES, "'nvidia.com/gpu' is listed more than once"),
    *(
        Case(f"{DEVICES}.0.name", each, says="is no nvidia.com/gpu, nor nvidia.com/mig-<profile>")
        for each in (
            *("", "gpu", "amd.com/gpu", "nvidia.com/gpus", "nvidia.com/mig-", "nvidia.com/mig-1g.10gb+me"),
            f"nvidia.com/mig-{'x' * 49}",
        )
    ),
    Case(UNHEALTHY, _unhealthy(65), says="65 entries; at most 64"),
    *(Case(f"{UNHEALTHY}.0.reason", each, says="is no reason") for each in ("", "lost", "Xid 79", "X" * 33, "Lost\n")),
    *(Case(f"{UNHEALTHY}.0.uuid", each, says="is no UUID") for each in NO_UUIDS),
    *(Case(f"{UNHEALTHY}.1.index", each, says=f"{each} is out of range: 0 to 4095") for each in (-1, 4096)),
    *(Case(f"{PROBLEM}.reason", each, says="is no reason") for each in ("", "not found")),
    Case(f"{PROBLEM}.message", "m" * 513, says="513 characters"),
]
