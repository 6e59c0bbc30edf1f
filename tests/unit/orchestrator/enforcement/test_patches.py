"""Operations of JSON patches, by the RFCs that they follow."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from orchestrator.enforcement import patches


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        pytest.param((), "", id="the whole document"),
        pytest.param(("spec", "resourceGroups"), "/spec/resourceGroups", id="fields"),
        pytest.param(
            ("metadata", "annotations", "kueue-dqo.dev/declared-quotas"),
            "/metadata/annotations/kueue-dqo.dev~1declared-quotas",
            id="a slash",
        ),
        pytest.param(("a~b",), "/a~0b", id="a tilde"),
        pytest.param(("a~1b",), "/a~01b", id="what looks escaped is not"),
        pytest.param(("",), "/", id="an empty name"),
        pytest.param(("metadata", "managedFields", "0"), "/metadata/managedFields/0", id="an index"),
    ],
)
def test_a_pointer_escapes_what_the_rfc_says(steps: tuple[str, ...], text: str) -> None:
    """The tilde first, so that nothing is escaped twice."""
    assert patches.pointer(*steps) == text


class _Held(NamedTuple):
    resource_version: str


def test_operations_have_the_names_of_the_rfc() -> None:
    """Only those that compare or set have a value."""
    assert patches.test("/a", 1) == {"op": "test", "path": "/a", "value": 1}
    assert patches.add("/a", [None]) == {"op": "add", "path": "/a", "value": [None]}
    assert patches.remove("/a") == {"op": "remove", "path": "/a"}
    assert patches.same_version(_Held("42")) == {"op": "test", "path": "/metadata/resourceVersion", "value": "42"}
