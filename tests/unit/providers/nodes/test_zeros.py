"""Which resources are an explicit zero where there is none of them."""

from __future__ import annotations

import pytest

from kueue_dqo.api.parameters import ResourceSelection
from providers.nodes.zeros import answered_for

DECLARED = {"h100": {"cpu", "memory"}, "other": {"pods"}}


@pytest.mark.parametrize(
    ("include", "nodes", "zeros"),
    [
        pytest.param((), 0, {"cpu", "memory"}, id="what queues declare where no node counts"),
        pytest.param((), 1, set(), id="nothing where one does"),
        pytest.param(("gpu",), 0, {"gpu"}, id="what the parameters name goes before queues"),
        pytest.param(("gpu",), 3, {"gpu"}, id="what the parameters name wherever nodes count"),
    ],
)
def test_what_the_provider_answers_for(include: tuple[str, ...], nodes: int, zeros: set[str]) -> None:
    assert answered_for("h100", ResourceSelection(include), DECLARED, nodes=nodes) == zeros
