"""Whatever a file holds, reading it ends in objects or in a message, and so does the whole command."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import sys
from typing import Any
from unittest import mock

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kueue_dqo.api.scheme import to_manifest
from kueue_dqo.cli import documents as documents_module
from kueue_dqo.cli.errors import CommandError
from kueue_dqo.cli.main import run
from tests.unit.kueue_dqo.cli.objects import as_json, cohort, listed, node, orchestrator, provider, queue, read

FLAVOR = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "ResourceFlavor",
    "metadata": {"name": "f"},
    "spec": {
        "nodeLabels": {"pool": "f"},
        "nodeTaints": [{"key": "t", "value": "v", "effect": "NoSchedule"}],
        "tolerations": [{"key": "u", "operator": "Exists"}],
    },
}
NODE = {
    **node("n-1"),
    "metadata": {"name": "n-1", "labels": {"pool": "f"}},
    "spec": {"unschedulable": False, "taints": [{"key": "t", "effect": "NoSchedule"}]},
    "status": {"allocatable": {"cpu": "4", "memory": "16Gi"}, "conditions": [{"type": "Ready", "status": "True"}]},
}
COUNTED = {
    "apiVersion": "kueue.x-k8s.io/v1alpha1",
    "kind": "CapacityProvider",
    "metadata": {"name": "counted"},
    "spec": {
        "controllerName": "kueue-dqo.dev/node-inventory",
        "orchestratedFlavors": [{"name": "f"}],
        "parameters": {"apiGroup": "kueue-dqo.dev", "kind": "NodeInventoryParameters", "name": "i"},
    },
}
PARAMETERS = {
    "apiVersion": "kueue-dqo.dev/v1alpha1",
    "kind": "NodeInventoryParameters",
    "metadata": {"name": "i"},
    "spec": {"resources": {"exclude": ["pods"]}},
}
USED = queue("a", "10", cohort="top")
USED["status"] = {"flavorsReservation": [{"name": "f", "resources": [{"name": "cpu", "total": "12"}]}]}
OBJECTS = [
    FLAVOR,
    NODE,
    COUNTED,
    PARAMETERS,
    provider("p"),
    orchestrator("Cohort/top", "p", "counted"),
    cohort("top"),
    USED,
    queue("b", 20, cohort="top"),
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}},
]
TEXTS = [
    yaml.safe_dump_all(OBJECTS).encode(),
    yaml.safe_dump(listed(*OBJECTS), default_flow_style=True).encode(),
    as_json(*OBJECTS),
    json.dumps(listed(*OBJECTS), indent=2).encode(),
]
PIECES = [
    *(
        b"{",
        b"}",
        b"[",
        b"]",
        b":",
        b",",
        b"-",
        b"\n",
        b" ",
        b'"',
        b"'",
        b"#",
        b"&a ",
        b"*a",
        b"<<: ",
        b"!!str ",
        b"!x ",
    ),
    *(
        b"null",
        b"~",
        b"0x_",
        b"0b_",
        b"1e999",
        b"-1",
        b"1K",
        b".nan",
        b"yes",
        b"---\n",
        b"\t",
        b"\xff",
        b"\0",
        b"\\ud800",
    ),
    *(b"apiVersion", b"kind", b"metadata", b"spec", b"items", b"List", b"v1", b"name", b"9" * 50),
]


def test_the_objects_that_are_mutated_are_good_ones() -> None:
    """Else the mutations would show little."""
    for text in TEXTS:
        assert len(read(text).places) == len(OBJECTS) - 1
    assert _run(TEXTS[2], "-o", "json") == 0


@st.composite
def _mutated(draw: st.DrawFn) -> bytes:
    """A good file with some pieces of it replaced."""
    text = bytearray(draw(st.sampled_from(TEXTS)))
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, len(text)))
        length = draw(st.sampled_from([0, 0, 1, 1, 2, 5, 20, 500]))
        text[start : start + length] = draw(st.sampled_from(PIECES) | st.binary(max_size=3))
    return bytes(text)


@pytest.mark.parametrize("strict_bytes", [1 << 30, 0], ids=["careful", "quick"])
@settings(max_examples=300)
@given(data=_mutated())
def test_a_damaged_file_is_read_or_refused(strict_bytes: int, data: bytes) -> None:
    """No other exception comes out of reading."""
    with mock.patch.object(documents_module, "STRICT_JSON_BYTES", strict_bytes), contextlib.suppress(CommandError):
        read(data)


ODD_TEXTS = st.sampled_from(
    ["", "a", "1K", "1e3", "-1", "0", "A_b", "\ud800", "\x1b[31m", "ä", "a\nb", "f", "cpu", "True", "List"]
)
ODD_NUMBERS = st.sampled_from(
    [0, 1, -1, 2**31, 2**63, 2**64, -(2**63) - 1, 10**30, 10**400, 10**4299, 0.0, -0.0, 1.5, 1e-9, 1e22, 1e308]
)
ODD = st.recursive(
    st.none() | st.booleans() | ODD_NUMBERS | ODD_TEXTS | st.text(st.characters(exclude_categories=()), max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(ODD_TEXTS | st.sampled_from(["name", "kind"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def _with_odd_values(draw: st.DrawFn) -> list[Any]:
    """Good objects in which some values, at any depth, are replaced by others, or are gone."""
    objects = copy.deepcopy(OBJECTS)
    for _ in range(draw(st.integers(1, 3))):
        parent: Any = objects
        key: Any = draw(st.integers(0, len(objects) - 1))
        while isinstance(parent[key], dict | list) and parent[key] and draw(st.integers(0, 7)):
            parent = parent[key]
            key = draw(st.sampled_from(sorted(parent) if isinstance(parent, dict) else range(len(parent))))
        if isinstance(parent, dict) and not draw(st.integers(0, 4)):
            del parent[key]
        else:
            parent[key] = draw(ODD)
    return objects


@settings(max_examples=300)
@given(_with_odd_values(), st.booleans())
def test_a_big_file_with_odd_values_gives_what_a_small_one_would(objects: list[Any], as_list: bool) -> None:
    """The same objects, or a message in both cases."""
    data = as_json(listed(*objects)) if as_list else as_json(objects[0])
    outcomes: list[object] = []
    for strict_bytes in (1 << 30, 0):
        with mock.patch.object(documents_module, "STRICT_JSON_BYTES", strict_bytes):
            try:
                found = read(data)
            except CommandError:
                outcomes.append("refused")
            else:
                outcomes.append([to_manifest(found.objects[key.kind][key.name]) for key in found.places])
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("output", ["json", "yaml", "table"])
@settings(max_examples=300)
@given(objects=_with_odd_values())
def test_odd_values_end_in_a_plan_or_in_a_message(output: str, objects: list[Any]) -> None:
    """The command as a whole: no exception, and exit code 0 or 1."""
    assert _run(as_json(listed(*objects)), "-o", output) in (0, 1)


def _run(data: bytes, *arguments: str) -> int:
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")
    stdin = mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    with stdin, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        return run(["plan", "-f", "-", *arguments])
