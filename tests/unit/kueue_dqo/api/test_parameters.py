"""Which resources a provider is asked to report."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kueue_dqo.api.parameters import ResourceSelection


@pytest.mark.parametrize(
    ("include", "exclude", "selected"),
    [
        ((), (), {"cpu", "memory", "gpu"}),
        (("cpu",), (), {"cpu"}),
        ((), ("cpu",), {"memory", "gpu"}),
        (("cpu", "memory"), ("cpu",), {"memory"}),
        (("cpu",), ("cpu",), set()),
        (("cpu",), ("memory",), {"cpu"}),
        (("other",), (), set()),
    ],
)
def test_a_selection_is_what_is_included_less_what_is_excluded(
    include: tuple[str, ...], exclude: tuple[str, ...], selected: set[str]
) -> None:
    """Where nothing is included, everything is."""
    selection = ResourceSelection(include, exclude)
    assert {name for name in ("cpu", "memory", "gpu") if selection.selects(name)} == selected


NAMES = ("a", "b", "c")
some_names = st.lists(st.sampled_from(NAMES), max_size=3).map(tuple)
selections = st.builds(ResourceSelection, some_names, some_names)


@given(selections, selections)
def test_selections_are_disjoint_where_no_name_is_in_both(one: ResourceSelection, other: ResourceSelection) -> None:
    """Any other name stands for all that no selection mentions, such as a resource that appears tomorrow."""
    in_both = [name for name in (*NAMES, "any other name") if one.selects(name) and other.selects(name)]
    assert one.is_disjoint(other) == (not in_both)
    assert other.is_disjoint(one) == (not in_both)


@pytest.mark.parametrize(
    ("one", "other", "disjoint"),
    [
        (ResourceSelection(), ResourceSelection(), False),
        (ResourceSelection(exclude=("cpu",)), ResourceSelection(exclude=("memory",)), False),
        (ResourceSelection(include=("cpu",)), ResourceSelection(exclude=("cpu",)), True),
        (ResourceSelection(include=("cpu",)), ResourceSelection(include=("memory",)), True),
        (ResourceSelection(include=("cpu", "memory")), ResourceSelection(include=("memory",)), False),
        (ResourceSelection(("cpu",), ("cpu",)), ResourceSelection(), True),
    ],
)
def test_what_is_open_on_both_sides_is_never_disjoint(
    one: ResourceSelection, other: ResourceSelection, disjoint: bool
) -> None:
    """Excluding known names does not keep unknown ones apart."""
    assert one.is_disjoint(other) is disjoint
    assert other.is_disjoint(one) is disjoint
