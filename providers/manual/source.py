"""The source of numbers that a person wrote: it needs its parameters and the time, and watches nothing."""

from __future__ import annotations

from typing import Final

from kueue_dqo.api.parameters import MANUAL_CONTROLLER, ManualCapacitySpec
from kueue_dqo.provider import (
    CapacityController,
    Environment,
    Observation,
    ParametersKind,
    Request,
    Source,
    WithoutParameters,
)
from kueue_dqo.runtime.resources import MANUAL_CAPACITIES
from providers.manual.compute import observe


class ManualSource(Source[ManualCapacitySpec]):
    """Answers from the question alone."""

    async def observe(self, request: Request[ManualCapacitySpec]) -> Observation:
        """The numbers that hold now."""
        return observe(request)


def _open(environment: Environment) -> ManualSource:
    del environment
    return ManualSource()


CONTROLLER: Final = CapacityController[ManualCapacitySpec](
    name=MANUAL_CONTROLLER,
    open=_open,
    parameters=ParametersKind(MANUAL_CAPACITIES, ManualCapacitySpec),
    # Without parameters it is the bare road: a person writes the status itself.
    without_parameters=WithoutParameters.BY_HAND,
)
