"""Whatever name the definition lets through, the report of one node does not cost the capacity of the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from kueue_dqo.api.parameters import NvidiaGpuParametersSpec
from kueue_dqo.provider import Request
from providers.nodes.claims import Claim
from providers.nvidia_gpu.compute import observe
from providers.pipeline import settle
from tests.unit.providers.nvidia_gpu.gpus import GPU, asks, flavor, manifest, node, seen_reports, spec

DEFINITION: Final = Path(__file__).parents[4] / "manifests/crds/providers/nodegpureports.yaml"


def schema_of_names() -> dict[str, Any]:
    (version,) = yaml.safe_load(DEFINITION.read_text())["spec"]["versions"]
    inventory = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["inventory"]
    found: dict[str, Any] = inventory["properties"]["devices"]["items"]["properties"]["name"]
    return found


SCHEMA: Final = schema_of_names()
# `$` is the very end for the API server, but may be before a line feed for Python.
PATTERN: Final = SCHEMA["pattern"].removesuffix("$") + r"\Z"
LONGEST: Final = "nvidia.com/mig-" + "x" * (SCHEMA["maxLength"] - len("nvidia.com/mig-"))
names = st.from_regex(PATTERN).filter(lambda name: len(name) <= SCHEMA["maxLength"])


def request(parameters: NvidiaGpuParametersSpec) -> Request[NvidiaGpuParametersSpec]:
    return asks({"h100": flavor("h100")}, Claim("mine", ("h100",)), parameters=parameters)


@settings(max_examples=300)
@given(name=names, is_shared=st.booleans(), healthy=st.sampled_from([0, 1, 4096]), is_capped=st.booleans())
@example(name="nvidia.com/mig-.", is_shared=True, healthy=1, is_capped=False)
@example(name="nvidia.com/mig--", is_shared=False, healthy=1, is_capped=False)
@example(name="nvidia.com/mig-1g.10gb-", is_shared=True, healthy=1, is_capped=True)
@example(name=LONGEST, is_shared=True, healthy=4096, is_capped=True)
def test_no_name_of_a_device_makes_a_capacity_that_cannot_be_published(
    *, name: str, is_shared: bool, healthy: int, is_capped: bool
) -> None:
    """Neither as it is, nor as the device plugin calls it where it is shared."""
    labels = {"nvidia.com/mig.strategy": "mixed"}
    if is_shared:
        labels |= {f"{name}.replicas": "4096", f"{name}.product": "any"}
    odd = node("n1", {GPU: 8, name: 8, f"{name}.shared": 8}, labels=labels)
    content = [manifest("n1", {name: healthy}, mig_gpus=1), manifest("n2")]
    asked = request(spec(cap_by_allocatable=is_capped))
    observation = observe(asked, [odd, node("n2")], seen_reports(content), {}, {}).observation
    settled = settle(asked.provider, asked.parameters, observation.capacity)
    (capacity,) = settled.capacity.flavors
    assert capacity.resources[GPU].nanos >= 8 * 10**9
    event("refused" if "InvalidReport" in observation.summary else "taken")


@pytest.mark.parametrize(("name", "is_taken"), [("nvidia.com/mig-1g.10gb", True), ("nvidia.com/mig-.", False)])
def test_a_name_that_no_resource_can_have_costs_its_own_node_alone(name: str, *, is_taken: bool) -> None:
    content = [manifest("n1", {name: 1}, mig_gpus=1), manifest("n2")]
    found = observe(request(spec()), [node("n1"), node("n2")], seen_reports(content), {}, {}).observation
    assert ("InvalidReport=1 (n1)" in found.summary) is not is_taken
