"""Of several causes the first kind is raised, and all are told."""

from __future__ import annotations

import pytest

from kueue_dqo.provider import CapacityError, InvalidCapacity, Misconfigured, SourceUnavailable
from providers.nodes.causes import raise_causes

ALL = {"invalid": ["i"], "misconfigured": ["m"], "unavailable": ["u"]}


@pytest.mark.parametrize(
    ("kinds", "raised", "message"),
    [
        pytest.param(("invalid", "misconfigured", "unavailable"), InvalidCapacity, "i; m; u", id="all"),
        pytest.param(("misconfigured", "unavailable"), Misconfigured, "m; u", id="without invalid amounts"),
        pytest.param(("unavailable",), SourceUnavailable, "u", id="only nobody knows"),
    ],
)
def test_the_kinds_go_in_the_order_of_the_api(
    kinds: tuple[str, ...], raised: type[CapacityError], message: str
) -> None:
    with pytest.raises(raised) as refusal:
        raise_causes(**{kind: ALL[kind] for kind in kinds})
    assert type(refusal.value) is raised
    assert str(refusal.value) == message


def test_nothing_is_raised_without_a_cause() -> None:
    raise_causes(invalid=iter(()), misconfigured=[])


def test_each_kind_is_cut_by_itself() -> None:
    with pytest.raises(InvalidCapacity) as refusal:
        raise_causes(invalid=map(str, range(7)), misconfigured=["m"])
    assert str(refusal.value) == "0; 1; 2; 3; 4; and 2 more of the kind; m"
