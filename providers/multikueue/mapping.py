"""As which flavor of the manager what a worker has of one of its own flavors counts. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kueue_dqo.api import dqo
from kueue_dqo.api.multikueue import FlavorMapping, MultiKueueParametersSpec
from kueue_dqo.api.wording import some
from kueue_dqo.provider import Misconfigured
from providers.slips import not_orchestrated, parameters_name


@dataclass(frozen=True, slots=True)
class FlavorMap:
    """The flavors of workers as flavors of the manager, as the parameters of one CapacityProvider have it."""

    mapping: tuple[FlavorMapping, ...]
    """Of several entries that fit, the first counts."""
    others: str | None
    """The manager's flavor for all that no entry fits; None: those do not count."""

    @classmethod
    def of(cls, provider: dqo.CapacityProvider, spec: MultiKueueParametersSpec) -> FlavorMap:
        """The mapping of a provider's parameters. Raises Misconfigured, with all that is wrong."""
        problems = [*_problems(provider, spec)]
        if problems:
            raise Misconfigured(f"{parameters_name(provider)}: {'; '.join(problems)}")
        others = spec.other_flavors
        if others is None and not spec.flavor_mapping:
            others = provider.flavor_names[0]  # the only one
        return cls(spec.flavor_mapping, others)

    def manager_flavor(self, cluster: str, worker_flavor: str) -> str | None:
        """The manager's flavor as which a flavor of the worker counts, None where it does not.

        Args:
            cluster: the worker, as its MultiKueueCluster is called.
            worker_flavor: the name of its ResourceFlavor.
        """
        for entry in self.mapping:
            if entry.worker_flavor == worker_flavor and (not entry.clusters or cluster in entry.clusters):
                return entry.flavor
        return self.others


def _problems(provider: dqo.CapacityProvider, spec: MultiKueueParametersSpec) -> Iterator[str]:
    flavors = provider.flavor_names
    for index, entry in enumerate(spec.flavor_mapping):
        if entry.flavor not in flavors:
            yield not_orchestrated(f"spec.flavorMapping[{index}].flavor", entry.flavor, provider)
    if spec.other_flavors is not None and spec.other_flavors not in flavors:
        yield not_orchestrated("spec.otherFlavors", spec.other_flavors, provider)
    if len(flavors) > 1 and spec.other_flavors is None and not spec.flavor_mapping:
        yield (
            f"spec.flavorMapping: is empty, while CapacityProvider {provider.metadata.name} orchestrates "
            f"{len(flavors)} flavors ({some(flavors)}): say which flavor of the workers counts as which of these, or "
            "name one of them in spec.otherFlavors for all"
        )
