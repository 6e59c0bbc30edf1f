"""The adapter of the provider for cloud quotas on Google Cloud: its source is the services of `tests/clouds/gcp`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

from tests.integration.objects import Manifest
from tests.integration.providers.adapter import Adapter

if TYPE_CHECKING:
    from tests.clouds.gcp.server import Services

_PROJECT: Final = "fleet-1"
_REGION: Final = "us-central1"
_ZONE: Final = "us-central1-a"
_TYPE: Final = "a3-highgpu-8g"


class GcpCloudQuota(Adapter):
    """A reservation for each flavor: of as many instances as divide all of its amounts, each with its part of them."""

    command = "cloud-quota"
    title = "gcp"
    controller = "kueue-dqo.dev/cloud-quota"
    kind = "CloudQuotaParameters"
    plural = "cloudquotaparameters"
    folders = ("base/cloud-quota",)

    services: Services

    def prepare(self, stack: ExitStack) -> None:
        from tests.clouds.gcp.server import gcp_services  # noqa: PLC0415  # loads Google's library

        self.services = stack.enter_context(gcp_services())
        # A cloud is polled: five minutes would only be waited for.
        self.environment = {**self.services.environment(), "DQO_INTERVAL": "1s"}

    def parameters(self) -> Manifest:
        """What machines have besides, such as memory, is left out, whatever else the test leaves out."""
        found = super().parameters()
        reported = sorted({resource for resources in self.amounts.values() for resource in resources})
        found["spec"]["resources"] = {"include": reported, **self.common.get("resources", {})}
        return found

    def spec(self) -> dict[str, Any]:
        flavors = [{"name": name, "entries": [_entry(name, self.amounts[name])]} for name in self.amounts]
        return {"gcp": {"project": _PROJECT, "regions": [_REGION], "flavors": flavors}}

    def tell(self) -> None:
        from tests.clouds.gcp import things  # noqa: PLC0415  # loads Google's library
        from tests.clouds.gcp.gcp import Project  # noqa: PLC0415  # as above

        self.services.gcp.add(
            Project(
                _PROJECT,
                regions={_REGION: things.region(_PROJECT, _REGION, {})},
                machine_types=[
                    things.machine_type(
                        _PROJECT, _ZONE, _TYPE, vcpus=208, memory_mib=1_916_928, accelerators={"nvidia-h100-80gb": 8}
                    )
                ],
                reservations=[
                    things.reservation(_PROJECT, _ZONE, name, _TYPE, _instances(resources))
                    for name, resources in self.amounts.items()
                ],
            )
        )
        self.plane.admin.apply(self.parameters())

    def fail(self) -> str:
        """A zone was not reached."""
        self.services.gcp.projects[_PROJECT].unreachable = [f"zones/{_ZONE}"]
        return "SourceUnavailable"


def _instances(resources: Mapping[str, Any]) -> int:
    return math.gcd(*(int(amount) for amount in resources.values()))


def _entry(reservation: str, resources: Mapping[str, Any]) -> dict[str, Any]:
    count = _instances(resources)
    # Where there are no instances, it does not matter how large they are.
    parts = {resource: str(int(amount) // count if count else 1) for resource, amount in resources.items()}
    return {"machineType": _TYPE, "reservations": {"names": [reservation]}, "perInstance": parts}
