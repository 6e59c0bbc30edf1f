"""What counts of one worker, pair by pair, and which of its numbers cannot be. Pure."""

from __future__ import annotations

from typing import Final

from kueue_dqo.api.parameters import ResourceSelection
from kueue_dqo.api.quantity import LARGEST_UNITS, NANOS, Format, Quantity
from kueue_dqo.api.resources import FlavorResource
from kueue_dqo.api.wording import some
from providers.amounts import brief
from providers.multikueue.objects import WorkerProblem
from providers.sums import Sum

LARGEST_NANOS: Final = LARGEST_UNITS * NANOS
"""Of the largest quantity that Kueue holds."""
MOST_NUMBERS: Final = 100_000
"""Of one worker. One that has more would keep the process from everything else while they are added up."""
MOST_PAIRS: Final = 10_000
"""Of one worker, each of which every look at the fleet goes through."""


class Tally:
    """Amounts by the worker's flavors and resources.

    A number that cannot be (below 0, or above the largest that Kueue holds) is a WorkerProblem in the end, unless it is
    of a resource that is not reported: then it is left out.
    """

    def __init__(self, selection: ResourceSelection) -> None:
        """Takes which resources are reported."""
        self._selection = selection
        self._sums: dict[str, Sum] = {}
        self._problems: list[str] = []

    def takes(self, owner: str, field: str, pair: FlavorResource, quantity: Quantity) -> bool:
        """Whether the number can be. `owner` is kind and name of the worker's object that has it, in `field`."""
        if 0 <= quantity.nanos <= LARGEST_NANOS:
            return True
        if self._selection.selects(pair.resource):
            wanted = "0 or more is wanted" if quantity.nanos < 0 else f"at most {LARGEST_UNITS} is wanted"
            self._problems.append(
                f"{owner} has a {field} of {brief(quantity)} for {pair}: {wanted}; correct it there, or leave "
                f"{pair.resource} out by spec.resources of the parameters"
            )
        return False

    def add(self, pair: FlavorResource, nanos: int, fmt: Format) -> None:
        """Adds so much of a pair; a zero makes the pair known."""
        self._sums.setdefault(pair.flavor, Sum()).add(pair.resource, nanos, fmt)

    def amounts(self, whose: str) -> dict[FlavorResource, Quantity]:
        """The sums, sorted by pair; `whose` names what they are of.

        Raises:
            WorkerProblem: a number cannot be, or there are too many pairs.
        """
        number = sum(len(total.nanos) for total in self._sums.values())
        if number > MOST_PAIRS:
            raise WorkerProblem(
                f"{whose} have quotas of {number} flavors and resources, more than the {MOST_PAIRS} pairs that are "
                "counted of a worker: have fewer there"
            )
        found = {
            FlavorResource(flavor, resource): quantity
            for flavor, total in sorted(self._sums.items())
            for resource, quantity in total.quantities().items()
        }
        too_large = [pair for pair, quantity in found.items() if quantity.nanos > LARGEST_NANOS]
        for pair in too_large:
            quantity = found.pop(pair)
            if self._selection.selects(pair.resource):
                self._problems.append(
                    f"{whose} have {brief(quantity)} of {pair} together, more than the largest quantity that Kueue "
                    f"holds ({LARGEST_UNITS}): lower it there, or leave {pair.resource} out by spec.resources of the "
                    "parameters"
                )
        if self._problems:
            raise WorkerProblem(some(sorted(self._problems)))
        return found
