"""The adapter of the provider for accounts of AWS: its source is a fake AWS, which the SDK asks by HTTP."""

from __future__ import annotations

import hashlib
import math
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from tests.clouds.aws.account import REGION, Aws
from tests.clouds.aws.faults import HalfAnswer
from tests.clouds.aws.rows import P5, reservation
from tests.clouds.aws.server import running
from tests.integration.objects import Manifest
from tests.integration.providers.adapter import Adapter

_IN_CATALOGUE: Final = ("cpu", "memory", "nvidia.com/gpu")
"""What it says of the instance type."""


class AwsCloudQuota(Adapter):
    """A capacity reservation for each flavor, with an instance for each part that all of its amounts have in common."""

    command = "cloud-quota"
    title = "aws"
    controller = "kueue-dqo.dev/cloud-quota"
    kind = "CloudQuotaParameters"
    plural = "cloudquotaparameters"
    folders = ("overlays/aws",)

    aws: Aws

    def prepare(self, stack: ExitStack) -> None:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kueue-dqo-aws-")))
        server = stack.enter_context(running())
        self.aws = server.aws
        # Nothing is heard of a cloud: it is asked again and again.
        self.environment = {**server.environment(folder, self.aws.credentials.user()), "DQO_INTERVAL": "1s"}

    def spec(self) -> dict[str, Any]:
        flavors = [{"name": name, "entries": [self._entry(name)]} for name in self.amounts]
        return {"aws": {"regions": [REGION], "flavors": flavors}}

    def parameters(self) -> Manifest:
        """Only what there is in `amounts` is reported: the catalogue has more of the instance type."""
        found = super().parameters()
        told = dict.fromkeys(resource for resources in self.amounts.values() for resource in resources)
        chosen = found["spec"].get("resources", {})
        if "include" in chosen:
            return found
        others = [each for each in _IN_CATALOGUE if each not in told]
        found["spec"]["resources"] = {"exclude": [*chosen.get("exclude", []), *others]}
        return found

    def tell(self) -> None:
        self.aws.heal()
        self.aws.region().reservations = [reservation(_id(name), P5, self._instances(name)) for name in self.amounts]

    def fail(self) -> str:
        """The list of reservations ends in its middle."""
        self.aws.add(HalfAnswer("ec2:DescribeCapacityReservations"))
        return "SourceUnavailable"

    def _entry(self, name: str) -> dict[str, Any]:
        instances = self._instances(name) or 1
        per_instance = {each: str(int(amount) // instances or 1) for each, amount in self.amounts[name].items()}
        return {
            "instanceType": P5,
            "capacityReservations": {"ids": [_id(name)]},
            "perInstance": per_instance,
        }

    def _instances(self, name: str) -> int:
        return math.gcd(*(int(amount) for amount in self.amounts[name].values()))


def _id(name: str) -> str:
    """Of the reservation for a flavor."""
    return f"cr-{hashlib.sha256(name.encode()).hexdigest()[:17]}"
