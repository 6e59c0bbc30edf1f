"""A provider as the tests see it: what it observes can be set, and made to fail."""

from __future__ import annotations

import abc
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, ClassVar, Final, Self

from tests.controlplane.plane import ControlPlane
from tests.integration.daemons import Daemon, install, start_daemon
from tests.integration.objects import Manifest, flavor, provider
from tests.integration.providers.scenes import POOL, clear
from tests.manifests.rendered import kustomized

Amounts = Mapping[str, Mapping[str, Any]]
"""By flavor and resource."""

LABEL: Final = "example.com/pool"
"""Tells the nodes of the flavors apart."""


class Adapter(abc.ABC):
    """One provider on a control plane, whose parameters and whose source belong to the CapacityProvider `pool`."""

    command: ClassVar[str]
    """`dqo provider …`."""
    title: ClassVar[str] = ""
    """What tests call it, where others have the same command."""
    controller: ClassVar[str]
    api_version: ClassVar[str] = "kueue-dqo.dev/v1alpha1"
    kind: ClassVar[str]
    plural: ClassVar[str]
    folders: ClassVar[tuple[Path | str, ...]]
    """What is installed."""
    reports_any: ClassVar[bool] = True
    """Whether it reports whatever resources there are, not GPUs alone."""
    has_defaults: ClassVar[bool] = False
    """Whether it goes on without parameters as with those of `spec`."""
    spared: ClassVar[frozenset[str]] = frozenset()
    """Collections that have to stay as long as the adapter is there."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self.environment: dict[str, str] = {}
        """Laid over that of the container."""
        self.installed: list[Manifest] = []
        self.amounts: Amounts = {}
        self.common: dict[str, Any] = {}

    @classmethod
    @contextmanager
    def running(cls, plane: ControlPlane) -> Iterator[Self]:
        """Installed, with all that it needs."""
        with ExitStack() as stack:
            adapter = cls(plane)
            adapter.installed = install(plane, "base/namespace", *adapter.what_is_installed(stack))
            stack.callback(adapter._uninstall)
            adapter.prepare(stack)
            yield adapter

    def what_is_installed(self, stack: ExitStack) -> tuple[Path | str, ...]:  # noqa: ARG002  # one needs it
        """Folders with a kustomization, which are there until the stack is closed."""
        return self.folders

    def prepare(self, stack: ExitStack) -> None:  # noqa: B027  # most need nothing
        """What else it needs, until the stack is closed."""

    def _uninstall(self) -> None:
        for obj in reversed(self.installed):
            if obj["kind"] not in {"CustomResourceDefinition", "Namespace", "PriorityClass"}:
                self.plane.admin.delete(self.plane.admin.path_of(obj))

    def start(self, name: str = "", **options: Any) -> Daemon:
        """Starts its daemon: see `start_daemon`."""
        environment = {**self.environment, **options.pop("environment", {})}
        return start_daemon(self.plane, self.installed, name=name or self.command, environment=environment, **options)

    @classmethod
    def label(cls) -> str:
        """What tests call it."""
        return cls.title or cls.command

    # --- the cluster -------------------------------------------------------------------------------------------------

    @classmethod
    def accounts(cls) -> tuple[str, ...]:
        """The ServiceAccounts of its processes."""
        return (f"kueue-dqo-{cls.command}",)

    @classmethod
    def collection(cls) -> str:
        """Where its parameters are."""
        return f"/apis/{cls.api_version}/{cls.plural}"

    def begin(self, amounts: Amounts, **common: Any) -> None:
        """The flavors, the source with these amounts, the parameters with these common ones, the CapacityProvider."""
        self.plane.admin.apply(*(flavor(name, {LABEL: name}) for name in amounts))
        self.common = common
        self.say(amounts)
        self.configure(**common)
        self.plane.admin.apply(self.capacity_provider(*amounts))

    def capacity_provider(self, *flavors: str) -> Manifest:
        """The CapacityProvider with its parameters."""
        return provider(POOL, *flavors, controller=self.controller, parameters=self.parameters())

    def configure(self, **common: Any) -> None:
        """Its parameters have these common ones from now on, and no others."""
        self.common = common
        self.plane.admin.apply(self.parameters())

    def parameters(self) -> Manifest:
        """Its parameters as they should be now."""
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "metadata": {"name": POOL},
            "spec": {**self.spec(), **self.common},
        }

    def clear(self) -> None:
        """The cluster is empty again, but for what is spared."""
        clear(self.plane, self.collection(), spare=self.spared)
        self.amounts, self.common = {}, {}

    # --- the source --------------------------------------------------------------------------------------------------

    def say(self, amounts: Amounts) -> None:
        """The source has these amounts from now on."""
        self.amounts = amounts
        self.tell()

    @abc.abstractmethod
    def spec(self) -> dict[str, Any]:
        """The spec of its parameters, without the common ones."""

    @abc.abstractmethod
    def tell(self) -> None:
        """Makes the source say `amounts`."""

    @abc.abstractmethod
    def fail(self) -> str:
        """The source has nothing trustworthy any more. Returns the reason that the provider has to give."""

    def recover(self) -> None:
        """The source says `amounts` again."""
        self.tell()


def composed(stack: ExitStack, resources: Iterable[Path | str], component: str) -> Path:
    """A folder whose kustomization puts a component of `manifests/` on resources of it, until the stack is closed."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kueue-dqo-kustomization-"))).resolve()
    return kustomized(folder, resources, [component])


@contextmanager
def servers_ended(plane: ControlPlane) -> Iterator[None]:
    """Ends the servers that are added meanwhile."""
    before = list(plane.servers)
    try:
        yield
    finally:
        for server in reversed(plane.servers[len(before) :]):
            server.stop()
            plane.servers.remove(server)
