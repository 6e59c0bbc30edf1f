"""Capacity that is made of other providers'."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kueue_dqo.api.parameter_checks.common import named
from kueue_dqo.api.parameters import CompositeParametersSpec
from kueue_dqo.api.problems import FieldProblem, list_map

MAX_MEMBERS: Final = 16


def composite_problems(spec: CompositeParametersSpec) -> Iterator[FieldProblem]:
    """Every problem of the fields that only a composite has."""
    members = [member.name for member in spec.members]
    yield from list_map("spec.members", members, 1, MAX_MEMBERS)
    for index, name in enumerate(members):
        yield from named(f"spec.members[{index}].name", name)
