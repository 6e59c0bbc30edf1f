"""The source of composites: all that it needs is in the question, and a change of any provider asks it anew."""

from __future__ import annotations

from typing import Final

from kueue_dqo.api.parameters import COMPOSITE_CONTROLLER, CompositeParametersSpec
from kueue_dqo.provider import (
    CapacityController,
    Environment,
    Observation,
    ParametersKind,
    Request,
    Source,
    WithoutParameters,
)
from kueue_dqo.runtime.resources import COMPOSITE_PARAMETERS
from providers.composite.compute import observe


class CompositeSource(Source[CompositeParametersSpec]):
    """Answers from the question alone."""

    async def observe(self, request: Request[CompositeParametersSpec]) -> Observation:
        """What the members report, combined."""
        return observe(request)


def _open(environment: Environment) -> CompositeSource:
    del environment
    return CompositeSource()


CONTROLLER: Final = CapacityController[CompositeParametersSpec](
    name=COMPOSITE_CONTROLLER,
    open=_open,
    parameters=ParametersKind(COMPOSITE_PARAMETERS, CompositeParametersSpec),
    without_parameters=WithoutParameters.MISCONFIGURED,
    reads_providers=True,
)
