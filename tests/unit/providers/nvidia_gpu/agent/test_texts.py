"""Whatever a driver says, the definition of reports takes what the agent makes of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from kueue_dqo.api.gpu import AgentProblem, GPUInventory, NodeGPUReport
from kueue_dqo.api.gpu_checks import problems_of_report
from kueue_dqo.api.problems import RESOURCE_NAME
from providers.nvidia_gpu.agent.devices import NodeUnreadable, Xid
from providers.nvidia_gpu.agent.library import pynvml
from providers.nvidia_gpu.agent.nvml import Nvml
from providers.nvidia_gpu.agent.report import fitted, fitted_problem, inventory_body, problem_body
from providers.nvidia_gpu.agent.sizes import cleaned
from providers.nvidia_gpu.agent.texts import gpu_uuid, mig_uuid, text_of
from tests.unit.providers.nvidia_gpu.agent.readings import NOON, SINCE_NOON, counts, health, judged

NODE = "n" * 63
NOT_SUPPORTED = 3
BARE = "8f5c2f8e-61a9-0f3c-9d8e-1f6b2d7c4a10"


class Names(NamedTuple):
    """What a driver calls a device, as bytes."""

    uuid: bytes
    name: bytes


@dataclass
class Driver:
    """As much of pynvml as a reading needs; a handle is what it says. Odd bytes end as they do there."""

    version: bytes
    gpus: list[tuple[Names, list[Names] | None]]
    error: Exception | None = None
    """What asking for the memory of the second GPU ends in."""
    nvmlLib: Any = None  # noqa: N815 - it is NVML's, as all that follows
    NVMLError = pynvml().NVMLError
    NVML_DEVICE_MIG_ENABLE = 1
    NVML_SUCCESS = 0

    def nvmlInit(self) -> None:  # noqa: N802
        pass

    def nvmlSystemGetDriverVersion(self) -> str:  # noqa: N802
        return self.version.decode()

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> Any:  # noqa: N802
        return self.gpus[index]

    def nvmlDeviceGetUUID(self, handle: Any) -> str:  # noqa: N802
        return _names(handle).uuid.decode()

    def nvmlDeviceGetName(self, handle: Any) -> str:  # noqa: N802
        return _names(handle).name.decode()

    def nvmlDeviceGetMemoryInfo(self, handle: Any) -> Any:  # noqa: N802
        if self.error is not None and handle is self.gpus[1]:
            raise self.error
        return SimpleNamespace(total=80 << 30)

    def nvmlDeviceGetMigMode(self, handle: Any) -> list[int]:  # noqa: N802
        return [int(handle[1] is not None)] * 2

    def nvmlDeviceGetMaxMigDeviceCount(self, handle: Any) -> int:  # noqa: N802
        return len(handle[1])

    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: Any, index: int) -> Any:  # noqa: N802
        return handle[1][index]

    def nvmlDeviceGetAttributes(self, handle: Any) -> Any:  # noqa: N802
        del handle
        return SimpleNamespace(gpuInstanceSliceCount=1, computeInstanceSliceCount=1, memorySizeMB=10_000)

    def nvmlDeviceGetGpuInstanceId(self, handle: Any) -> int:  # noqa: N802
        del handle
        return 1

    def nvmlDeviceGetComputeInstanceId(self, handle: Any) -> int:  # noqa: N802
        del handle
        return 0

    def nvmlDeviceGetRemappedRows(self, handle: Any) -> Any:  # noqa: N802
        del handle
        raise pynvml().NVMLError(NOT_SUPPORTED)

    def nvmlDeviceGetFieldValues(self, handle: Any, fields: Any) -> Any:  # noqa: N802
        del handle, fields
        raise pynvml().NVMLError(NOT_SUPPORTED)


def _names(handle: Any) -> Names:
    return handle if isinstance(handle, Names) else handle[0]


def a_gpu(number: int) -> tuple[Names, None]:
    return Names(f"GPU-{number}".encode(), b"H100"), None


def reported(inventory: GPUInventory, problem: AgentProblem) -> NodeGPUReport:
    """What the API server has when the agent has applied both."""
    bodies = [inventory_body(NODE, "uid", inventory), problem_body(NODE, problem)]
    whole = bodies[0] | {"spec": bodies[0]["spec"] | bodies[1]["spec"]}
    return msgspec.json.decode(msgspec.json.encode(whole), type=NodeGPUReport)


texts = st.one_of(
    st.binary(max_size=95),
    st.text(max_size=60).map(lambda text: text.encode(errors="replace")),
    st.sampled_from([b"", b"GPU-a", b"GPU-a", b"MIG-a", BARE.encode(), b"GPU-a\n", b"GPU-" + b"a" * 80]),
)
profiles = st.tuples(st.sampled_from([b"MIG 1g.10gb", b"MIG 1c.3g.40gb", b"MIG 7g.80gb+"]), texts).map(b"".join)
migs = st.lists(st.builds(Names, texts, st.one_of(texts, profiles)), max_size=5)
drivers = st.builds(
    Driver,
    texts,
    st.lists(st.tuples(st.builds(Names, texts, texts), st.one_of(st.none(), migs)), min_size=1, max_size=4),
)


@settings(max_examples=200)
@given(drivers, st.booleans())
def test_the_definition_takes_what_the_agent_makes_of_any_words(driver: Driver, is_marked: bool) -> None:
    """Every GPU is counted, whatever it is called, and every resource has a name that Kubernetes takes."""
    made = health()
    seen = Nvml(driver).read()
    judged(made, seen)
    if is_marked:
        made.note(Xid(79, None), NOON)
    inventory = judged(made, seen, NOON + timedelta(minutes=1))
    problem = fitted_problem(AgentProblem("NVMLError", cleaned(repr(driver.version)), SINCE_NOON), node=NODE)
    report = reported(fitted(inventory, node=NODE, problem=problem), problem)
    assert [str(each) for each in problems_of_report(report)] == []
    whole = [device for device in seen.devices if device.uuid is None or not is_marked]
    assert inventory.gpus == len(whole)
    assert len({device.key for device in seen.devices}) == len(driver.gpus)
    uuids = [mig.uuid for device in seen.devices for mig in device.mig_devices if mig.uuid]
    assert len(set(uuids)) == len(uuids)
    assert len(inventory.unhealthy) == len(driver.gpus) - len(whole)
    assert all(each.uuid or each.index is not None for each in inventory.unhealthy)
    assert all(RESOURCE_NAME.fits(each.name) for each in inventory.devices)


def test_a_bare_uuid_is_one() -> None:
    """Integrated GPUs have such."""
    assert [gpu_uuid(each) for each in ("GPU-a", BARE, "", "abc", "GPU-a b", "MIG-a", "GPU-" + "a" * 61)] == [
        "GPU-a",
        BARE,
        *[None] * 5,
    ]
    assert [mig_uuid(each) for each in ("MIG-GPU-a/1/0", BARE, "", "GPU-a", "MIG-")] == [
        "MIG-GPU-a/1/0",
        "",
        "",
        "",
        "",
    ]


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (b"570.1", "570.1"),
        (b" H100\x00\n\x1b[31m  80GB ", "H100 [31m 80GB"),
        (b"H\xff100", "H\N{REPLACEMENT CHARACTER}100"),
        ("H\u2028100\u202e".encode(), "H 100"),
    ],
)
def test_a_text_is_one_line_that_can_be_shown(said: bytes, text: str) -> None:
    assert text_of(said.decode) == text


def test_an_error_that_nobody_expects_is_of_that_gpu_alone() -> None:
    """And in the log with where it happened, once."""
    nvml = Nvml(Driver(b"570.1", [a_gpu(0), a_gpu(1)], error=ValueError("NULL pointer\naccess")))
    with capture_logs() as logs:
        seen = [nvml.read() for _ in range(3)][-1]
    assert [(each.uuid, each.error, each.error_text) for each in seen.devices] == [
        ("GPU-0", None, ""),
        ("GPU-1", 999, "ValueError: NULL pointer access"),
    ]
    assert counts(judged(health(), seen)) == {"gpu": (1, 0)}
    assert [(line["index"], line["exc_info"]) for line in logs] == [(1, True)]


def test_a_version_that_is_no_text_is_no_problem_of_the_node() -> None:
    assert Nvml(Driver(b"570\xff1\x00", [a_gpu(0)])).read().driver_version == "570\N{REPLACEMENT CHARACTER}1"


def test_an_error_of_the_node_has_its_words_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver(b"570.1", [a_gpu(0)])

    def fail() -> None:
        raise pynvml().NVMLError(NOT_SUPPORTED)

    fail.__name__ = "nvmlInit"
    monkeypatch.setattr(driver, "nvmlInit", fail)
    monkeypatch.setattr(driver.NVMLError, "__str__", lambda _: b"odd\n\xff".decode())
    with pytest.raises(NodeUnreadable, match="nvmlInit: odd \N{REPLACEMENT CHARACTER} "):
        Nvml(driver).read()
