"""What the documentation says of NVIDIA GPUs: every reason, field and option that there is has its place."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import yaml
from click import Option

from kueue_dqo.api.gpu import (
    NO_DEVICES,
    AgentProblem,
    DeviceCount,
    GPUInventory,
    NodeGPUReportSpec,
    UnhealthyDevice,
    UnhealthyReason,
)
from kueue_dqo.api.parameters import Agents, MigStrategy, NvidiaGpuParametersSpec, SharedResource
from kueue_dqo.cli.nvidia_gpu_agent import agent
from providers.nodes.usable import Unusable
from providers.nvidia_gpu.agent.checks import IGNORED_XIDS
from providers.nvidia_gpu.agent.devices import (
    DRIVER_CALL_HUNG,
    DRIVER_NOT_LOADED,
    LIB_RM_VERSION_MISMATCH,
    LIBRARY_NOT_FOUND,
    NO_PERMISSION,
    NVML_ERROR,
    problem_reason,
)
from providers.nvidia_gpu.agent.report import ROOM
from providers.nvidia_gpu.decoding import INVALID_REPORT
from providers.nvidia_gpu.hearing import AGENT_SILENT, NO_REPORT

DOCS: Final = Path(__file__).parents[2] / "docs"
PAGE: Final = "providers/nvidia-gpu.md"
PROBLEMS: Final = [
    *map(problem_reason, (LIBRARY_NOT_FOUND, DRIVER_NOT_LOADED, NO_PERMISSION, LIB_RM_VERSION_MISMATCH)),
    NVML_ERROR,
    DRIVER_CALL_HUNG,
    NO_DEVICES,
]


def _text(page: str) -> str:
    return (DOCS / page).read_text()


def _section(page: str, heading: str) -> str:
    """What stands below a heading, up to the next one of the first two ranks."""
    found = re.search(rf"^(#+) {heading}\n(.*?)(?=^#{{1,2}} |\Z)", _text(page), re.MULTILINE | re.DOTALL)
    assert found is not None, heading
    return found[2]


def _missing(words: Iterable[str], text: str) -> list[str]:
    return [word for word in words if f"`{word}`" not in text]


def _without_row(words: Iterable[str], section: str) -> list[str]:
    """Those that begin no row of a table."""
    first_cells = "".join(re.findall(r"^\| ([^|]+) \|", section, re.MULTILINE))
    return _missing(words, first_cells)


def _object(kind: str) -> dict[str, Any]:
    """The first object of that kind in the page's examples."""
    blocks = re.findall(r"^```yaml\n(.*?)^```", _text(PAGE), re.MULTILINE | re.DOTALL)
    found: dict[str, Any] = next(each for block in blocks for each in yaml.safe_load_all(block) if each["kind"] == kind)
    return found


def _fields(struct: type[msgspec.Struct]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(struct)}


def test_every_reason_of_an_unhealthy_device_is_explained() -> None:
    """The message says no more than the reason."""
    assert _without_row([*UnhealthyReason, "Xid<N>"], _section(PAGE, "Health")) == []


@pytest.mark.parametrize("page", [PAGE, "troubleshooting.md"])
def test_every_problem_of_an_agent_has_its_way_out(page: str) -> None:
    """An admin looks it up by the reason."""
    section = _section(page, "Problems of the agent" if page == PAGE else "GPU agents")
    assert _without_row(PROBLEMS, section) == []


def test_every_reason_why_a_node_does_not_count_is_explained() -> None:
    """Those of nodes, those of agents."""
    reasons = [*Unusable, AGENT_SILENT, NO_REPORT, INVALID_REPORT, *PROBLEMS]
    assert _without_row(reasons, _section(PAGE, "Which nodes count")) == []
    agents = [AGENT_SILENT, NO_REPORT, INVALID_REPORT]
    assert _without_row(agents, _section("troubleshooting.md", "GPU agents")) == []


def test_the_example_of_a_report_has_every_field() -> None:
    """And no other."""
    spec = _object("NodeGPUReport")["spec"]
    inventory = spec["inventory"]
    assert set(spec) == _fields(NodeGPUReportSpec)
    assert set(inventory) == _fields(GPUInventory)
    assert set().union(*inventory["devices"]) == _fields(DeviceCount)
    assert set().union(*inventory["unhealthy"]) == _fields(UnhealthyDevice)
    assert set(spec["problem"]) == _fields(AgentProblem)
    assert msgspec.convert(spec, NodeGPUReportSpec).inventory is not None


def test_the_example_of_parameters_and_their_table_have_every_field() -> None:
    """What is common to all providers stands on a page of its own."""
    spec, section = _object("NvidiaGpuParameters")["spec"], _section(PAGE, "Parameters")
    assert set(spec) == _fields(NvidiaGpuParametersSpec)
    assert set(spec["agents"]) == _fields(Agents)
    assert set().union(*spec["sharing"]) == _fields(SharedResource)
    nested = {f"agents.{name}" for name in _fields(Agents)} | {f"sharing[].{name}" for name in _fields(SharedResource)}
    assert _missing((_fields(NvidiaGpuParametersSpec) - {"agents", "sharing"}) | nested, section) == []
    assert _missing(MigStrategy, section) == []


def test_the_defaults_in_the_table_are_those_of_the_code() -> None:
    """As they are written in a manifest."""
    section, spec = _section(PAGE, "Parameters"), NvidiaGpuParametersSpec()
    told = {
        "cordoned": spec.cordoned,
        "capByAllocatable": str(spec.cap_by_allocatable).lower(),
        "migStrategy": spec.mig_strategy,
        "agents.grace": spec.agents.grace,
        "agents.maxSilentPercent": spec.agents.max_silent_percent,
    }
    assert [name for name, value in told.items() if f"| `{name}` | `{value}` |" not in section] == []


def test_every_option_that_only_the_agent_has_is_named() -> None:
    """Those of every process are told elsewhere."""
    common = {"listen", "kubeconfig", "context", "log_level", "log_format", "grace"}
    options = [each.opts[0] for each in agent.params if isinstance(each, Option) and each.name not in common]
    assert len(options) > 6
    assert [name for name in options if name not in _text(PAGE)] == []


def test_the_xids_that_are_ignored_are_listed() -> None:
    """All of them in one sentence."""
    assert ", ".join(map(str, sorted(IGNORED_XIDS)[:-1])) in " ".join(_section(PAGE, "XIDs").split())
    assert f"and {max(IGNORED_XIDS)}" in " ".join(_section(PAGE, "XIDs").split())


def test_the_size_of_a_report_is_told() -> None:
    """In KiB."""
    assert f"never more than {ROOM // 1024} KiB" in " ".join(_section(PAGE, "The report").split())
