"""What is read from the front of a line or an object is what a whole decode gives."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kueue_dqo.runtime import wire

NODE = {
    "kind": "Node",
    "apiVersion": "v1",
    "metadata": {"name": "gpu-0001.example", "uid": "2c6c7a50-6b1f-4f6e-9d39-7a1d3a2f0b11", "resourceVersion": "12345"},
    "spec": {"providerID": 'a "quoted" one'},
}
LEASE_META = {"name": "pool", "namespace": "kueue-dqo-system", "uid": "0", "resourceVersion": "7"}


def text(content: object) -> bytes:
    """As the API server writes it, without blanks."""
    return json.dumps(content, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    ("content", "key", "version"),
    [
        pytest.param(NODE, "gpu-0001.example", "12345", id="one of Kubernetes' own kinds"),
        pytest.param({"metadata": NODE["metadata"]}, "gpu-0001.example", "12345", id="an item of a list"),
        pytest.param({"metadata": LEASE_META}, "kueue-dqo-system/pool", "7", id="with a namespace"),
        pytest.param(
            {"metadata": {"name": "a-x7", "generateName": "a-", "namespace": "b", "uid": "0", "resourceVersion": "7"}},
            "b/a-x7",
            "7",
            id="with a generated name",
        ),
        pytest.param(
            {"apiVersion": "example.com/v1", "kind": "A", "metadata": {"annotations": {"name": "b"}, "name": "a"}},
            "a",
            "",
            id="a custom resource",
        ),
        pytest.param(
            {"spec": {"metadata": {"name": "inner", "uid": "0", "resourceVersion": "1"}}, "metadata": {"name": "a"}},
            "a",
            "",
            id="another part in front",
        ),
        pytest.param(
            {"kind": "Status", "apiVersion": "v1", "metadata": {}, "reason": "Expired"}, "", "", id="without a name"
        ),
        pytest.param({"metadata": {"name": "a", "resourceVersion": "x"}}, "a", "x", id="a version that is no number"),
        pytest.param({"metadata": {"name": 'a"b', "uid": "0", "resourceVersion": "7"}}, 'a"b', "7", id="a quoted name"),
        pytest.param({"metadata": {"name": "é", "uid": "0", "resourceVersion": "7"}}, "é", "7", id="an escaped name"),
    ],
)
def test_an_identity_is_found_wherever_it_stands(content: dict[str, Any], key: str, version: str) -> None:
    """In front, where the API server writes it, or anywhere else; with blanks as well."""
    assert wire.decode_identity(text(content)) == (key, version)
    assert wire.decode_identity(json.dumps(content, indent=1, ensure_ascii=False).encode()) == (key, version)


@given(
    st.sampled_from(["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]),
    st.dictionaries(st.text(max_size=5), st.none() | st.text(max_size=5) | st.lists(st.integers(), max_size=2)),
    st.booleans(),
)
def test_an_event_is_its_type_and_its_object(kind: str, content: dict[str, Any], is_spaced: bool) -> None:
    """Whatever is in the object, and however the line is written."""
    line = json.dumps({"type": kind, "object": {"a": content}}, separators=None if is_spaced else (",", ":")).encode()
    event = wire.decode_event(line)
    assert event.type == kind
    assert json.loads(event.object) == {"a": content}


@pytest.mark.parametrize("kind", ["MODIFIED", "ADDED"])
def test_no_part_of_a_line_is_taken_for_an_object(kind: str) -> None:
    """A line that breaks off is no event, or one of an object that does not decode either."""
    line = text({"type": kind, "object": NODE})
    for length in range(len(line)):
        try:
            event = wire.decode_event(line[:length])
        except msgspec.DecodeError:
            continue
        with pytest.raises(ValueError, match=r"Expecting|Unterminated|Extra"):
            json.loads(event.object)


@pytest.mark.parametrize("raw", [b"", b"[]", b"null", b'{"metadata":3}', b'{"metadata":{"name":3}}', b"{"])
def test_what_has_no_identity_is_refused(raw: bytes) -> None:
    """It is counted and logged by whoever asks."""
    with pytest.raises(msgspec.DecodeError):
        wire.decode_identity(raw)


@pytest.mark.parametrize("decode", [wire.decode_page, wire.decode_page_end, wire.decode_event, wire.decode_identity])
@pytest.mark.parametrize("start", [b"", b'{"metadata":', b'{"type":"ADDED","object":{"metadata":'], ids=repr)
def test_what_is_nested_without_end_cannot_be_decoded(decode: Callable[[bytes], object], start: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode(start + b"[" * 200_000)
