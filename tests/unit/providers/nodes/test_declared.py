"""The pairs that queues declare, kept as queues come, change and go."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from kueue_dqo.api.resources import FlavorResource
from providers.nodes.declared import DECLARED_QUOTAS, Declared, pairs_of

CPU, GPU, OTHER = FlavorResource("a", "cpu"), FlavorResource("a", "gpu"), FlavorResource("b", "cpu")


def groups(*pairs: FlavorResource) -> list[dict[str, Any]]:
    return [
        {
            "coveredResources": [pair.resource],
            "flavors": [{"name": pair.flavor, "resources": [{"name": pair.resource, "nominalQuota": "5"}]}],
        }
        for pair in pairs
    ]


def queue(*pairs: FlavorResource, annotation: str | None = None, **spec: Any) -> bytes:
    annotations = {} if annotation is None else {DECLARED_QUOTAS: annotation}
    metadata = {"name": "q", "annotations": annotations | {"example.com/other": "x"}}
    return json.dumps({"metadata": metadata, "spec": {"resourceGroups": groups(*pairs), **spec}}).encode()


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param(queue(CPU, GPU, OTHER), {CPU, GPU, OTHER}, id="of the spec"),
        pytest.param(queue(CPU, annotation=json.dumps(groups(GPU))), {CPU, GPU}, id="of the annotation as well"),
        pytest.param(queue(CPU, annotation="[{]"), {CPU}, id="an annotation that is no JSON"),
        pytest.param(queue(CPU, annotation='{"flavors": 1}'), {CPU}, id="an annotation of another shape"),
        pytest.param(queue(), set(), id="none"),
        pytest.param(b'{"metadata": {"name": "q"}}', set(), id="a Cohort without a spec"),
        pytest.param(queue(resourceGroups=None), set(), id="null"),
    ],
)
def test_the_pairs_of_a_queue_are_what_it_has_a_quota_for(raw: bytes, expected: set[FlavorResource]) -> None:
    assert pairs_of(raw) == expected


def test_a_queue_of_another_shape_is_refused() -> None:
    """So that the last pairs that were read are kept."""
    with pytest.raises(msgspec.DecodeError):
        pairs_of(queue(resourceGroups=[{"flavors": [{"name": 5}]}]))


def test_equal_sets_of_pairs_are_held_once() -> None:
    """Ten thousand queues declare the same few."""
    assert pairs_of(queue(CPU, GPU)) is pairs_of(queue(GPU, CPU))


def test_a_pair_is_declared_for_as_long_as_some_queue_declares_it() -> None:
    """Only its first coming and its last going are news."""
    declared = Declared()
    one, two = frozenset({CPU, GPU}), frozenset({CPU, OTHER})
    assert declared.change(None, one)
    assert declared.change(None, two)
    assert declared.resources == {"a": {"cpu", "gpu"}, "b": {"cpu"}}
    assert not declared.change(None, one)
    assert not declared.change(one, None)
    assert not declared.change(one, one)
    assert declared.change(one, frozenset())
    assert declared.resources == {"a": {"cpu"}, "b": {"cpu"}}
    assert declared.change(two, None)
    assert declared.resources == {}
