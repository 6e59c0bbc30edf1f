"""A daemon that asks a fake AWS, and the parameters that tell it what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.clouds.aws.account import REGION, Aws
from tests.clouds.aws.rows import P5
from tests.clouds.aws.server import Server, running
from tests.controlplane.cleanup import remove_objects
from tests.controlplane.plane import ControlPlane
from tests.integration.daemons import QUICK_ELECTION, Daemon, install, start_daemon
from tests.integration.objects import Manifest, flavor, provider
from tests.integration.providers.adapter import servers_ended
from tests.integration.providers.scenes import GPU, OURS, POOL, clear, events, wait_published

PARAMETERS: Final = f"{OURS}/cloudquotaparameters"
P_QUOTA: Final = "L-417A185B"
H100: Final = f"h100/{GPU}"
CPU: Final = "h100/cpu"

QUOTA: Final = "servicequotas:GetServiceQuota"
RESERVATIONS: Final = "ec2:DescribeCapacityReservations"

Flavors = Mapping[str, list[dict[str, Any]]]
"""Entries by flavor."""


def quota_entry(code: str = P_QUOTA, **more: Any) -> dict[str, Any]:
    """Of p5.48xlarge."""
    return {"instanceType": P5, "quota": {"code": code}, **more}


def reservations_entry(*ids: str, tags: Mapping[str, str] | None = None, **more: Any) -> dict[str, Any]:
    """Of p5.48xlarge."""
    return {"instanceType": P5, "capacityReservations": _held(ids, tags), **more}


def blocks_entry(*ids: str, before: str = "60m", **more: Any) -> dict[str, Any]:
    """Of p5.48xlarge."""
    return {"instanceType": P5, "capacityBlocks": {**_held(ids, None), "stopAdmittingBefore": before}, **more}


def _held(ids: tuple[str, ...], tags: Mapping[str, str] | None) -> dict[str, Any]:
    return {name: value for name, value in (("ids", list(ids)), ("tags", dict(tags or {}))) if value}


def parameters(
    flavors: Flavors,
    *,
    name: str = POOL,
    combine: str = "Max",
    account: Mapping[str, Any] | None = None,
    **common: Any,
) -> Manifest:
    """Of the account in one region; GPUs and cpu are reported, unless `common` says otherwise."""
    listed = [{"name": each, "entries": entries, "combine": combine} for each, entries in flavors.items()]
    return {
        "apiVersion": "kueue-dqo.dev/v1alpha1",
        "kind": "CloudQuotaParameters",
        "metadata": {"name": name},
        "spec": {
            "aws": {"regions": [REGION], "flavors": listed, **(account or {})},
            "resources": {"include": [GPU, "cpu"]},
            **common,
        },
    }


class Scene(NamedTuple):
    """The control plane, a fake AWS, and the daemon that asks it in the name of a role, by a web identity."""

    plane: ControlPlane
    server: Server
    daemon: Daemon
    token: Path
    """The file of the web identity token."""

    @property
    def aws(self) -> Aws:
        """What there is."""
        return self.server.aws

    def ask(self, flavors: Flavors, *, name: str = POOL, **options: Any) -> None:
        """For these flavors from now on; `options` are those of `parameters`."""
        told = parameters(flavors, name=name, **options)
        wanted = provider(name, *flavors, controller="kueue-dqo.dev/cloud-quota", parameters=told)
        self.plane.admin.apply(*(flavor(each) for each in flavors), told, wanted)

    def begin(self, gpus: int = 16, cpu: int = 384) -> None:
        """A quota of 384 vCPUs is published."""
        self.aws.region().apply(P_QUOTA, 384)
        self.ask({"h100": [quota_entry()]})
        self.wait(gpus, cpu)

    def wait(self, gpus: int, cpu: int, *parts: str) -> str:
        """Until so much of flavor h100 is published, with a message of these parts. Returns that."""
        return wait_published(self.plane, {H100: gpus, CPU: cpu}, *parts)

    def renew_token(self) -> None:
        """The web identity token in the file is a new one; those before are not accepted any more."""
        self.aws.credentials.web_tokens.clear()
        self.token.write_text(self.aws.credentials.web_token())

    def everything_told(self) -> str:
        """The log, the metrics, the status and the Events, as anybody may see them."""
        status = self.plane.admin.items("/apis/kueue.x-k8s.io/v1alpha1/capacityproviders")
        log = self.daemon.server.log.read_text(encoding="utf-8")
        return "\n".join([log, self.daemon.get("/metrics")[1], repr(status), repr(events(self.plane))])

    def clear(self) -> None:
        """The cluster is empty again, AWS too, and the token is good."""
        clear(self.plane, PARAMETERS)
        self.aws.clear()
        self.aws.instance_types_from = None
        self.renew_token()


@contextmanager
def started(plane: ControlPlane, folder: Path, **environment: str) -> Iterator[Scene]:
    """The daemon of the shipped overlay, as a pod with a role of its own has it, until the end."""
    with running() as server, servers_ended(plane):
        token = folder / "token"
        token.write_text(server.aws.credentials.web_token())
        identity = {
            "AWS_ROLE_ARN": server.aws.credentials.role("kueue-dqo"),
            "AWS_WEB_IDENTITY_TOKEN_FILE": str(token),
        }
        overlaid = {**server.environment(folder), **identity, **QUICK_ELECTION, **environment}
        installed = install(plane, "overlays/aws")
        daemon = start_daemon(plane, installed, name="cloud-quota", environment=overlaid)
        yield Scene(plane, server, daemon, token)
    remove_objects(plane)
