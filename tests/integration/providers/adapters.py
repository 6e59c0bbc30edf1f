"""The adapters of all providers.

A new provider gets one here and its place in `ADAPTERS`; all tests of `serving/` and of replicas are its own then.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from tests.integration.daemons import ROOT
from tests.integration.objects import NODES, add_node, flavor, provider, publish
from tests.integration.providers.adapter import LABEL, Adapter, composed
from tests.integration.providers.aws_cloud_quota import AwsCloudQuota
from tests.integration.providers.gcp_cloud_quota import GcpCloudQuota
from tests.integration.providers.inventory_service import InventoryService, inventory_service
from tests.integration.providers.multikueue import MultiKueue
from tests.integration.providers.nvidia_gpu import CountingGpuPods, NvidiaGpu
from tests.integration.providers.scenes import GPU, POOL

EXAMPLE: Final = ROOT / "examples" / "writing-a-provider"


class NodeInventory(Adapter):
    """One node for each flavor."""

    command = "node-inventory"
    controller = "kueue-dqo.dev/node-inventory"
    kind = "NodeInventoryParameters"
    plural = "nodeinventoryparameters"
    folders = ("base/node-inventory",)
    has_defaults = True

    def spec(self) -> dict[str, Any]:
        return {"cordoned": "Exclude"}  # its default

    def tell(self) -> None:
        self.plane.admin.delete(f"{NODES}/astray")
        for name, resources in self.amounts.items():
            add_node(self.plane, f"{name}-0", resources, labels={LABEL: name})

    def fail(self) -> str:
        """A node belongs to two flavors."""
        self.plane.admin.apply(flavor("twin", {"example.com/twin": "yes"}))
        first, *others = self.amounts
        self.plane.admin.apply(self.capacity_provider(first, *others, "twin"))
        add_node(self.plane, "astray", {GPU: 8}, labels={LABEL: first, "example.com/twin": "yes"})
        return "Misconfigured"


class CountingPods(NodeInventory):
    """With the rights that some of its parameters need."""

    def what_is_installed(self, stack: ExitStack) -> tuple[Path | str, ...]:
        return (composed(stack, self.folders, "components/node-inventory-pods"),)


class Manual(Adapter):
    """The amounts stand in the parameters."""

    command = "manual"
    controller = "kueue-dqo.dev/manual"
    kind = "ManualCapacity"
    plural = "manualcapacities"
    folders = ("base/manual",)

    def spec(self) -> dict[str, Any]:
        flavors = [
            {"name": name, "resources": {resource: str(amount) for resource, amount in resources.items()}}
            for name, resources in self.amounts.items()
        ]
        return {"baseline": {"flavors": flavors}}

    def tell(self) -> None:
        self.plane.admin.apply(self.parameters())

    def fail(self) -> str:
        """Nothing else can go wrong with it than its parameters."""
        self.plane.admin.delete(f"{self.collection()}/{POOL}")
        return "Misconfigured"


class Composite(Adapter):
    """The sum of one other CapacityProvider, which is written by hand."""

    command = "composite"
    controller = "kueue-dqo.dev/composite"
    kind = "CompositeParameters"
    plural = "compositeparameters"
    folders = ("base/composite",)

    def spec(self) -> dict[str, Any]:
        return {"members": [{"name": "member"}], "combine": "Sum"}

    def tell(self) -> None:
        self.plane.admin.apply(provider("member", *self.amounts))
        publish(self.plane, "member", self.amounts)

    def fail(self) -> str:
        """The member knows nothing any more."""
        publish(self.plane, "member", {}, status="False", reason="SourceUnavailable")
        return "SourceUnavailable"


class RackPower(Adapter):
    """The example of a third party, as a distribution of its own, with the service that it asks."""

    command = "rack-power"
    controller = "facility.example.com/rack-power"
    api_version = "facility.example.com/v1"
    kind = "RackPower"
    plural = "rackpowers"
    folders = (EXAMPLE / "manifests",)
    reports_any = False

    service: InventoryService

    def prepare(self, stack: ExitStack) -> None:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kueue-dqo-third-party-")))
        install_distribution(EXAMPLE, folder)
        self.environment = {"PYTHONPATH": str(folder)}
        self.service = stack.enter_context(inventory_service())

    def spec(self) -> dict[str, Any]:
        return {
            "url": self.service.url,
            "pools": [{"flavor": name, "pool": f"hall-{name}"} for name in self.amounts],
        }

    def tell(self) -> None:
        self.service.say({f"hall-{name}": int(resources[GPU]) for name, resources in self.amounts.items()})

    def fail(self) -> str:
        self.service.break_down(status=HTTPStatus.INTERNAL_SERVER_ERROR)
        return "SourceUnavailable"


ADAPTERS: Final[tuple[type[Adapter], ...]] = (
    NodeInventory,
    Manual,
    Composite,
    NvidiaGpu,
    AwsCloudQuota,
    GcpCloudQuota,
    MultiKueue,
    RackPower,
)
COUNTING_PODS: Final[tuple[type[Adapter], ...]] = (CountingPods, CountingGpuPods)
"""Those of `ADAPTERS` that may count pods, with the right to do so."""


def install_distribution(source: Path, target: Path) -> None:
    """Builds a distribution and installs it into a folder for PYTHONPATH. Nothing is downloaded, nor built in place."""
    with tempfile.TemporaryDirectory() as folder:
        wheels = Path(folder)
        _run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", wheels, cwd=source)
        (wheel,) = wheels.glob("*.whl")
        _run(*_pip(), "install", "--quiet", "--no-deps", "--target", target, wheel)


def _pip() -> tuple[str | Path, ...]:
    """The installer that this environment was made by."""
    if importlib.util.find_spec("pip"):
        return (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input")
    uv = shutil.which("uv")
    assert uv, "the environment was made by pip or by uv, and neither is there"
    return (uv, "pip")


def _run(*command: str | Path, cwd: Path | None = None) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
