"""Conditions and the names of objects."""

from __future__ import annotations

import pytest

from kueue_dqo.api.meta import Condition, ObjectKey, condition_is, find_condition

CONDITIONS = (Condition("A", "True"), Condition("B", "False"), Condition("C", "Unknown"))


@pytest.mark.parametrize(("kind", "index"), [("A", 0), ("B", 1), ("C", 2)])
def test_a_condition_is_found_by_its_type(kind: str, index: int) -> None:
    """Wherever it stands."""
    assert find_condition(CONDITIONS, kind) is CONDITIONS[index]


@pytest.mark.parametrize("kind", ["a", "", "D"])
def test_an_absent_condition_is_none_and_has_no_status(kind: str) -> None:
    """It is not even False."""
    assert find_condition(CONDITIONS, kind) is None
    assert not any(condition_is(CONDITIONS, kind, status) for status in ("True", "False", "Unknown", ""))


@pytest.mark.parametrize(("kind", "status"), [("A", "True"), ("B", "False"), ("C", "Unknown")])
def test_a_condition_has_one_status(kind: str, status: str) -> None:
    """Compared as it is written."""
    assert [each for each in ("True", "False", "Unknown") if condition_is(CONDITIONS, kind, each)] == [status]


def test_an_object_is_named_by_kind_and_name() -> None:
    """As messages show it."""
    assert str(ObjectKey("Cohort", "root")) == "Cohort/root"
