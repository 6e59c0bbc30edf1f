"""`dqo provider cloud-quota --once` as a process, with the SDKs of both clouds against HTTP fakes. No cluster."""

from __future__ import annotations

import datetime
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
import yaml

from tests.clouds.aws import rows
from tests.clouds.aws.faults import Deny, Throttle
from tests.clouds.aws.server import Server as AwsServer
from tests.clouds.aws.server import running
from tests.clouds.gcp import things
from tests.clouds.gcp.gcp import Project
from tests.clouds.gcp.server import Services, gcp_services
from tests.controlplane.processes import eventually

NAME: Final = ["provider", "cloud-quota", "--once"]
OF_OTHERS: Final = ("AWS_", "GOOGLE_", "GCE_", "CLOUDSDK_", "DQO_", "KUBE", "PYTHON", "HOME")
RESERVATION, BLOCK = "cr-0aaaaaaaaaaaaaaaa", "cr-0bbbbbbbbbbbbbbbb"
P, STANDARD = "L-417A185B", "L-1216C47A"
_M7I: Final = {"name": "m7i", "entries": [{"instanceType": rows.M7I, "quota": {"code": STANDARD}}]}
AWS: Final = {
    "regions": ["us-east-1"],
    "flavors": [
        {
            "name": "p5",
            "entries": [
                {"instanceType": rows.P5, "quota": {"code": P}},
                {"instanceType": rows.P5, "capacityReservations": {"ids": [RESERVATION]}},
            ],
        },
        {
            "name": "p5-block",
            "entries": [
                {"instanceType": rows.P5, "capacityBlocks": {"ids": [BLOCK], "stopAdmittingBefore": "1h"}},
            ],
        },
        _M7I,
    ],
}
GCP: Final = {
    "project": "fleet-1",
    "regions": ["us-central1"],
    "flavors": [
        {"name": "l4", "entries": [{"machineType": "g2-standard-96", "metric": {"name": "NVIDIA_L4_GPUS"}}]},
        {"name": "h100", "entries": [{"machineType": "a3-highgpu-8g", "reservations": {"names": ["h100"]}}]},
    ],
}
WATCHED: Final = """
import atexit, os, sys

def watch(event, arguments):
    if event == "open":
        path, _, flags = arguments
        if not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) or path == os.devnull or isinstance(path, int):
            return
    elif event not in {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "os.link", "os.symlink",
                       "tempfile.mkstemp", "tempfile.mkdtemp"}:
        return
    print("WRITTEN", event, *arguments, file=sys.stderr)

def tell():
    loaded = {"aiohttp", "kubernetes_asyncio"} & sys.modules.keys()
    if loaded:
        print("LOADED", *loaded, file=sys.stderr)

sys.modules["rich"] = None  # as in the image of the daemons, which has none
sys.addaudithook(watch)
atexit.register(tell)
from kueue_dqo.cli.main import main
main()
"""
"""The command, which tells of everything that it writes to a file system, and whether it has a client of Kubernetes."""


class Ended(NamedTuple):
    """How the process ended."""

    code: int
    out: str
    err: str

    def calls(self) -> list[tuple[str, str]]:
        """Name and result of those in the table."""
        lines = [line.split() for line in self.out.splitlines() if ":" in line[:24] or line.startswith("  compute.")]
        return [(cells[0], cells[3]) for cells in lines if len(cells) == 7 and cells[1] != "RESULT"]


Once = Callable[..., Ended]


def _manifest(spec: Mapping[str, Any], name: str = "research") -> str:
    return yaml.safe_dump(
        {
            "apiVersion": "kueue-dqo.dev/v1alpha1",
            "kind": "CloudQuotaParameters",
            "metadata": {"name": name},
            "spec": spec,
        }
    )


def _run(
    environment: Mapping[str, str], *arguments: str, text: str, program: tuple[str, ...] = ("-m", "kueue_dqo.cli")
) -> Ended:
    """With nothing of this process's environment that an SDK, a client of Kubernetes or a daemon would look at."""
    done = subprocess.run(
        [sys.executable, *program, *arguments],
        input=text,
        capture_output=True,
        text=True,
        env=_environment(environment),
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def _environment(environment: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OF_OTHERS)}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1", **environment}


@pytest.fixture(scope="module")
def aws_server() -> Iterator[AwsServer]:
    with running() as server:
        yield server


@pytest.fixture
def aws(aws_server: AwsServer) -> Iterator[AwsServer]:
    """An account with a quota that was raised and one that was not, a reservation, and a block that ends in a day."""
    region = aws_server.aws.region()
    region.apply(P, 384.0)
    region.default(STANDARD, 5.0)
    end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=1)
    region.reservations = [rows.reservation(RESERVATION, rows.P5, 1), rows.block(BLOCK, rows.P5, 4, end)]
    region.block_statuses = [rows.block_status(BLOCK, 4, 1)]
    yield aws_server
    aws_server.aws.clear()


@pytest.fixture
def ask_aws(aws: AwsServer, tmp_path: Path) -> Once:
    """Runs the command about it, with a key that it knows."""
    environment = aws.environment(tmp_path, aws.aws.credentials.user())

    def once(*arguments: str, spec: Mapping[str, Any] | None = None, **more: Any) -> Ended:
        return _run(environment, *NAME, "-f", "-", *arguments, text=_manifest(spec or {"aws": AWS}), **more)

    return once


@pytest.fixture(scope="module")
def gcp_server() -> Iterator[Services]:
    with gcp_services() as services:
        yield services


@pytest.fixture
def gcp(gcp_server: Services) -> Services:
    """A project with 16 L4 in the region and 8 in all, and a reservation."""
    gcp_server.gcp.reset()
    project = Project("fleet-1")
    project.regions["us-central1"] = things.region("fleet-1", "us-central1", {"NVIDIA_L4_GPUS": 16})
    project.quotas = things.quotas({"GPUS_ALL_REGIONS": 8})
    shapes = (
        ("us-central1-b", "g2-standard-96", 96, "nvidia-l4"),
        ("us-central1-a", "a3-highgpu-8g", 208, "nvidia-h100-80gb"),
    )
    project.machine_types = [
        things.machine_type("fleet-1", zone, name, vcpus=vcpus, memory_mib=4096 * vcpus, accelerators={gpus: 8})
        for zone, name, vcpus, gpus in shapes
    ]
    project.reservations = [things.reservation("fleet-1", "us-central1-a", "h100", "a3-highgpu-8g", 3)]
    gcp_server.gcp.add(project)
    return gcp_server


@pytest.fixture
def ask_gcp(gcp: Services) -> Once:
    """Runs the command about it, with the identity that the metadata server gives."""

    def once(*arguments: str, **more: Any) -> Ended:
        return _run(gcp.environment(), *NAME, "-f", "-", *arguments, text=_manifest({"gcp": GCP}), **more)

    return once


def _capacity(item: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    return {each["name"]: each["resources"] for each in item["status"]["capacity"]["flavors"]}


def test_an_account_of_aws_is_shown_with_its_calls(ask_aws: Once, aws: AwsServer) -> None:
    """One row for each call that came in; the default where nothing was raised; the end of the block."""
    ended = ask_aws()
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert "  p5        cpu                384" in lines
    assert "  m7i       cpu                  0" in lines
    assert "    p5: the Max of" in lines
    assert any("(5 vCPU, default)" in line for line in lines)
    assert any("1 unavailable: 3 of 4" in line for line in lines)
    assert any(line.startswith("  By itself it becomes another one at ") for line in lines)
    assert sorted(name for name, _ in ended.calls()) == sorted(request.operation for request in aws.aws.requests)
    assert ("servicequotas:GetServiceQuota", "absent") in ended.calls()


def test_a_project_of_google_is_shown_with_its_calls(ask_gcp: Once, gcp: Services) -> None:
    """Bounded by the quota over all regions."""
    ended = ask_gcp()
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert "  l4      cpu                 96" in lines
    assert any("GPUS_ALL_REGIONS 8" in line for line in lines)
    made = [each.method for each in gcp.gcp.asked() if each.method.startswith(("compute.", "cloudquotas."))]
    assert sorted(name for name, _ in ended.calls()) == sorted(made)


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_a_plan_takes_the_output_for_the_providers(ask_aws: Once, output: str, tmp_path: Path) -> None:
    """All of what is published, without an API server, and nothing else on standard output."""
    spec = {"aws": AWS, "headroom": [{"flavor": "p5", "resource": "nvidia.com/gpu", "quantity": 2}]}
    ended = ask_aws("-o", output, spec=spec)
    assert ended.code == 0
    (item,) = yaml.safe_load(ended.out)["items"]
    assert _capacity(item) == {
        "p5": {"cpu": "384", "memory": "4Ti", "nvidia.com/gpu": "14"},
        "p5-block": {"cpu": "576", "memory": "6Ti", "nvidia.com/gpu": "24"},
        "m7i": {"cpu": "0", "memory": "0"},
    }
    assert ended.err.startswith("Note: CapacityProvider/research is made up")
    file = tmp_path / f"once.{output}"
    file.write_text(ended.out)
    planned = _run({}, "plan", "-f", str(file), text="")
    assert planned.code == 0
    for row in ("p5        cpu", "p5-block  cpu", "research  Synchronized"):
        assert row in planned.out


def test_a_denied_call_is_named_and_the_others_are_shown(ask_aws: Once, aws: AwsServer) -> None:
    aws.aws.add(Deny(operation="ec2:DescribeCapacityReservations"))
    ended = ask_aws()
    assert ended.code == 1
    assert "  Nothing would be published: Misconfigured\n" in ended.out
    assert "ec2:DescribeCapacityReservations is denied" in ended.out
    assert ("ec2:DescribeCapacityReservations", "denied") in ended.calls()
    assert ("servicequotas:GetServiceQuota", "ok") in ended.calls()
    listed = ask_aws("-o", "json")
    assert listed.code == 1
    (item,) = json.loads(listed.out)["items"]
    assert "capacity" not in item["status"]
    assert item["status"]["conditions"][0]["reason"] == "Misconfigured"
    assert "nothing would be published: Misconfigured" in listed.err
    assert "ec2:DescribeCapacityReservations" in listed.err


def test_requests_that_were_refused_for_their_number_are_counted(ask_aws: Once, aws: AwsServer) -> None:
    """Those that the SDK has made up for by itself too."""
    aws.aws.add(Throttle(operation="ec2:DescribeInstanceTypes", times=1))
    ended = ask_aws(spec={"aws": {**AWS, "flavors": [_M7I]}})
    assert ended.code == 0
    (row,) = (line.split() for line in ended.out.splitlines() if line.startswith("  ec2:DescribeInstanceTypes"))
    assert row[3:6] == ["ok", "2", "1"]


def test_nothing_secret_is_shown(ask_aws: Once, aws: AwsServer) -> None:
    """Neither a key nor its id."""
    aws.aws.add(Deny(operation="servicequotas:GetServiceQuota"))
    ended = ask_aws()
    assert [each for each in aws.aws.credentials.secrets() if each in ended.out + ended.err] == []


@pytest.mark.parametrize("asked", ["ask_aws", "ask_gcp"])
def test_no_file_is_written_and_no_cluster_is_asked(asked: str, request: pytest.FixtureRequest) -> None:
    """No cache, no token, nothing temporary, without a home: a read-only root file system will do for a daemon too."""
    once: Once = request.getfixturevalue(asked)
    ended = once(program=("-c", WATCHED))
    assert (ended.code, ended.err) == (0, "")


def test_the_watch_for_writes_sees_them(tmp_path: Path) -> None:
    """Else the test above would prove nothing."""
    does = f"import aiohttp\nopen({str(tmp_path / 'x')!r}, 'w')"
    program = WATCHED.replace("from kueue_dqo.cli.main import main\nmain()", does)
    told = _run({}, text="", program=("-c", program)).err
    assert "WRITTEN open" in told
    assert "LOADED aiohttp" in told


def test_whoever_interrupts_it_need_not_wait_for_a_cloud_that_hangs(gcp: Services, tmp_path: Path) -> None:
    """Python would wait for the threads that ask, until the SDK has tried again and again."""
    (tmp_path / "parameters.yaml").write_text(_manifest({"gcp": GCP}))
    command = [sys.executable, "-m", "kueue_dqo.cli", *NAME, "-f", str(tmp_path)]
    gcp.gcp.hold("compute.regions.get")
    try:
        with subprocess.Popen(command, env=_environment(gcp.environment()), stderr=subprocess.PIPE, text=True) as once:
            eventually(lambda: gcp.gcp.waiting == 1, "it asks")
            once.send_signal(signal.SIGINT)
            _, told = once.communicate()
        assert once.returncode == 130
        assert "interrupted" in told
        assert gcp.gcp.waiting == 1, "no request was made anew"
    finally:
        gcp.gcp.release()
