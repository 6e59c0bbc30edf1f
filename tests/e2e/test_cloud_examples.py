"""The examples of cloud quota: what stands in them as recorded is what the command says of such an account."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.clouds.aws import rows
from tests.clouds.aws.account import Aws
from tests.clouds.aws.server import running
from tests.clouds.gcp import things
from tests.clouds.gcp.gcp import Project
from tests.clouds.gcp.server import gcp_services
from tests.e2e.process import EXAMPLES, ROOT, Finished, dqo

PAGE: Final = ROOT / "docs/providers/cloud-quota.md"
BLOCK: Final = "cr-0a1b2c3d4e5f67890"
AWS, GCP = "10-cloud-quota-aws", "11-cloud-quota-gcp"
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
EDITED = re.compile(TIME.pattern + r"| +\d+\.\d\d$", re.MULTILINE)
"""Times, and how long calls took."""


def _once(example: str, *options: str, **variables: Any) -> Finished:
    return dqo("provider", "cloud-quota", "--once", "-f", f"examples/{example}", *options, cwd=ROOT, **variables)


@pytest.fixture(scope="module")
def aws_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The account of the example: 800 vCPUs of P, and a block of four."""
    aws = Aws()
    region = aws.region("us-east-1")
    region.apply("L-417A185B", 800)
    end = datetime.datetime.now(datetime.UTC).replace(microsecond=0) + datetime.timedelta(days=14)
    region.reservations.append(rows.block(BLOCK, rows.P5, 4, end))
    region.block_statuses.append(rows.block_status(BLOCK, 4, 0))
    with running(aws) as server:
        yield server.environment(tmp_path_factory.mktemp("aws"), aws.credentials.user())


@pytest.fixture(scope="module")
def gcp_environment() -> Iterator[dict[str, str]]:
    """The project of the example, and the one that shares a reservation with it."""
    machine = partial(things.machine_type, "vision-prod", "us-central1-a")
    vision = Project(
        "vision-prod",
        regions={"us-central1": things.region("vision-prod", "us-central1", {"NVIDIA_L4_GPUS": 16})},
        quotas=things.quotas({"GPUS_ALL_REGIONS": 8}),
        machine_types=[
            machine("g2-standard-48", vcpus=48, memory_mib=192 * 1024, accelerators={"nvidia-l4": 4}),
            machine("a3-highgpu-8g", vcpus=208, memory_mib=1872 * 1024, accelerators={"nvidia-h100-80gb": 8}),
        ],
        quota_infos=[
            things.gpu_families(
                "vision-prod",
                [({"region": "us-central1", "gpu_family": "NVIDIA_H100"}, 8, ["us-central1"])],
            )
        ],
    )
    shared = things.reservation(
        "ml-platform", "us-central1-a", "a3-shared", "a3-highgpu-8g", 3, in_use=2, shared_with=["vision-prod"]
    )
    with gcp_services() as services:
        services.gcp.add(
            vision,
            Project(
                "ml-platform",
                number="444455556666",
                regions={"us-central1": things.region("ml-platform", "us-central1", {})},
                reservations=[shared],
            ),
        )
        yield services.environment()


def _provider(text: str) -> dict[str, Any]:
    """The CapacityProvider in a file or in an output."""
    documents = [
        each for document in yaml.safe_load_all(text) for each in document.get("items", [document]) if document
    ]
    return next(each for each in documents if each["kind"] == "CapacityProvider")


@pytest.mark.parametrize("example", [AWS, GCP])
def test_the_recorded_status_is_what_such_an_account_leads_to(example: str, request: pytest.FixtureRequest) -> None:
    """Amounts and message; when it began, and when the block ends, is a matter of the recording."""
    variables = request.getfixturevalue("aws_environment" if example == AWS else "gcp_environment")
    finished = _once(example, "-o", "yaml", **variables)
    assert (finished.code, finished.err) == (0, "")
    found = _provider(finished.out)
    recorded = _provider((EXAMPLES / example / "provider.yaml").read_text())
    assert found["spec"] == recorded["spec"]
    assert found["status"]["capacity"] == recorded["status"]["capacity"]
    [told], [was] = (each["status"]["conditions"] for each in (found, recorded))
    assert _without_times(told) == _without_times(was)
    assert set(told) == set(was)


def _without_times(condition: dict[str, Any]) -> dict[str, Any]:
    return {name: TIME.sub("TIME", str(value)) for name, value in condition.items()}


def test_the_output_on_the_page_is_that_of_the_command(aws_environment: dict[str, str]) -> None:
    """Two threads ask, so calls end in any order."""
    [block] = re.findall(
        r"^```console\n\$ dqo provider cloud-quota --once -f \S+\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL
    )
    finished = _once(AWS, **aws_environment)
    assert finished.code == 0, finished.err
    assert _comparable(finished.out) == _comparable(block)


def _comparable(text: str) -> list[str]:
    return sorted(line.rstrip() for line in EDITED.sub("", text).splitlines() if line.strip())


def test_a_recorded_message_stands_on_the_page() -> None:
    """As an example of one."""
    [condition] = _provider((EXAMPLES / AWS / "provider.yaml").read_text())["status"]["conditions"]
    assert condition["message"] in " ".join(PAGE.read_text().split())


def test_the_output_is_what_a_plan_reads(aws_environment: dict[str, str], tmp_path: Path) -> None:
    """As the pages say: ask, then plan with the answer in place of what was recorded."""
    asked = tmp_path / "asked.yaml"
    asked.write_text(_once(AWS, "-o", "yaml", **aws_environment).out)
    files = [EXAMPLES / AWS / name for name in ("flavors.yaml", "parameters.yaml", "queues.yaml", "dqo.yaml")]
    plans = [dqo("plan", *files, each, "-o", "json") for each in (asked, EXAMPLES / AWS / "provider.yaml")]
    assert [each.code for each in plans] == [0, 0]
    found, recorded = (
        [item for item in json.loads(each.out)["items"] if item["kind"] == "ClusterQueue"] for each in plans
    )
    assert found == recorded
    assert len(found) == 2
