"""A project of Google Cloud, and a CapacityProvider that asks it: what the tests of this folder begin with."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tests.clouds.gcp import things
from tests.clouds.gcp.gcp import Gcp, Project
from tests.clouds.gcp.server import Services
from tests.controlplane.plane import ControlPlane
from tests.integration.daemons import Daemon
from tests.integration.objects import EVENTS, PROVIDERS, Manifest, flavor, provider
from tests.integration.providers.scenes import GPU, OURS, POOL

CONTROLLER: Final = "kueue-dqo.dev/cloud-quota"
PARAMETERS: Final = f"{OURS}/cloudquotaparameters"
REGION: Final = "us-central1"
ZONE_A: Final = f"{REGION}-a"
ZONE_B: Final = f"{REGION}-b"
L4: Final = "NVIDIA_L4_GPUS"
GPUS: Final = "GPUS_ALL_REGIONS"
ONLY_GPUS: Final = {"include": [GPU]}

Entry = Mapping[str, Any]

_NUMBERS: Final = itertools.count(1)


def on_l4(**more: Any) -> dict[str, Any]:
    """An entry of g2-standard-48, which has 4 L4 and 48 vCPU, by the region's quota of L4."""
    return {"machineType": "g2-standard-48", "metric": {"name": L4}, **more}


def on_h100(**more: Any) -> dict[str, Any]:
    """An entry of a3-highgpu-8g, which has 8 H100 and 208 vCPU; its source is among `more`."""
    return {"machineType": "a3-highgpu-8g", **more}


def reserved(*names: str, **more: Any) -> dict[str, Any]:
    """Such an entry by reservations."""
    return on_h100(reservations={"names": list(names), **more.pop("reservations", {})}, **more)


def machine_types(project: str) -> Iterator[Any]:
    """Those of these tests. Some zones have some of them."""
    shapes: tuple[tuple[str, str, int, int, dict[str, int]], ...] = (
        (ZONE_A, "g2-standard-48", 48, 196_608, {"nvidia-l4": 4}),
        (ZONE_B, "a3-highgpu-8g", 208, 1_916_928, {"nvidia-h100-80gb": 8}),
        (ZONE_B, "c3-standard-8", 8, 32_768, {}),
        (ZONE_A, "n1-standard-8", 8, 30_720, {}),
    )
    for zone, name, vcpus, memory, accelerators in shapes:
        yield things.machine_type(project, zone, name, vcpus=vcpus, memory_mib=memory, accelerators=accelerators)


class Scene:
    """One test's project, which nobody has asked about yet, beside the daemon that asks."""

    def __init__(self, plane: ControlPlane, daemon: Daemon, services: Services) -> None:
        self.plane = plane
        self.daemon = daemon
        self.gcp: Gcp = services.gcp
        self.project = self.new_project({L4: 16}, {GPUS: 8})

    def new_project(self, limits: Mapping[str, float], global_limits: Mapping[str, float]) -> Project:
        """One of another name, with these quotas."""
        name = f"fleet-{next(_NUMBERS)}"
        project = Project(name, machine_types=list(machine_types(name)))
        self.gcp.add(project)
        self.set_limits(limits, global_limits, project)
        return project

    def set_limits(
        self, limits: Mapping[str, float], global_limits: Mapping[str, float], project: Project | None = None
    ) -> None:
        """The quotas of the region and those over all regions are these from now on."""
        of = project or self.project
        of.regions[REGION] = things.region(of.id, REGION, {"STATIC_ADDRESSES": 8, **limits})  # some are always there
        of.quotas = things.quotas({"NETWORKS": 5, **global_limits})

    def reserve(
        self,
        name: str,
        zone: str,
        count: int,
        *,
        kind: str = "a3-highgpu-8g",
        owner: Project | None = None,
        **more: Any,
    ) -> None:
        """The project, or another one, has this reservation as well."""
        of = owner or self.project
        of.reservations.append(things.reservation(of.id, zone, name, kind, count, **more))

    def begin(
        self, flavors: Mapping[str, Sequence[Entry]], *, combine: str = "", account: Entry | None = None, **common: Any
    ) -> None:
        """The flavors are made of these entries, by a CapacityProvider `pool`."""
        parameters = self.parameters(flavors, combine=combine, account=account, **common)
        self.plane.admin.apply(*(flavor(name) for name in flavors), parameters)
        self.plane.admin.apply(provider(POOL, *flavors, controller=CONTROLLER, parameters=parameters))

    def parameters(
        self, flavors: Mapping[str, Sequence[Entry]], *, combine: str = "", account: Entry | None = None, **common: Any
    ) -> Manifest:
        """Its parameters; `account` is laid over what the project needs."""
        combined = {"combine": combine} if combine else {}
        listed = [{"name": name, "entries": list(entries), **combined} for name, entries in flavors.items()]
        spec = {"project": self.project.id, "regions": [REGION], "flavors": listed, **(account or {})}
        return {
            "apiVersion": "kueue-dqo.dev/v1alpha1",
            "kind": "CloudQuotaParameters",
            "metadata": {"name": POOL},
            "spec": {"gcp": spec, **common},
        }

    def assert_nothing_secret_is_shown(self) -> None:
        """No token stands in the log, the metrics, the objects or the Events."""
        shown = [
            self.daemon.server.log.read_text(encoding="utf-8"),
            self.daemon.get("/metrics")[1],
            *(str(each) for path in (PROVIDERS, PARAMETERS, EVENTS) for each in self.plane.admin.items(path)),
        ]
        assert [token for token in self.gcp.secrets for text in shown if token in text] == []
