"""Files that cannot be used, each with what its message has to say."""

from __future__ import annotations

import gzip
import json
from typing import Final, NamedTuple

from tests.unit.kueue_dqo.cli.objects import QUOTA_FIELD, as_json, listed, queue


class BadInput(NamedTuple):
    """A file by name and content; each of the words stands in its message."""

    what: str
    content: bytes
    says: tuple[str, ...]
    name: str = "bad.yaml"


def _queue(quota: str) -> bytes:
    """A ClusterQueue in YAML with the quota as it is written."""
    return (
        "apiVersion: kueue.x-k8s.io/v1beta2\n"
        "kind: ClusterQueue\n"
        "metadata: {name: a}\n"
        "spec:\n"
        "  resourceGroups:\n"
        "  - coveredResources: [cpu]\n"
        f"    flavors: [{{name: f, resources: [{{name: cpu, nominalQuota: {quota}}}]}}]\n"
    ).encode()


BOMB: Final = b"a: &a [x, x, x, x, x, x, x, x, x, x]\n" + b"".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n".encode()
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)

UNREADABLE: Final = (
    BadInput("a duplicate key in YAML", b"a: 1\nb: 2\na: 3\n", ("line 3", "duplicate key 'a'")),
    BadInput("a duplicate key in an inner mapping", b"a:\n  b:\n    c: 1\n    c: 2\n", ("line 4", "duplicate key 'c'")),
    BadInput("a duplicate key in a list", b"- x\n- - a: 1\n    a: 2\n", ("line 3", "duplicate key 'a'")),
    BadInput("a duplicate key in flow style", b"a:\n- {b: 1, b: 2}\n", ("line 2", "duplicate key 'b'")),
    BadInput("a duplicate key in a later document", b"a: 1\n---\na: 2\na: 3\n", ("line 4", "duplicate key 'a'")),
    BadInput(
        "a duplicate key beside a merge key",
        b"a: &a {x: 1}\nb: {<<: *a, x: 2, x: 3}\n",
        ("line 2", "duplicate key 'x'"),
    ),
    BadInput("a duplicate key, one of them quoted", b"a: 1\n'a': 2\n", ("line 2", "duplicate key 'a'")),
    BadInput("a duplicate key in a file that begins as flow YAML", b"{a: 1, a: 2}\n", ("duplicate key 'a'",)),
    BadInput(
        "a duplicate key in YAML after a JSON document", b'{"a": 1}\n---\n{"b": 2, "b": 3}\n', ("duplicate key 'b'",)
    ),
    BadInput("a duplicate key in JSON", b'{"a": 1, "b": 2, "a": 3}', ("document 1", "duplicate key 'a'"), "bad.json"),
    BadInput("a duplicate key in inner JSON", b'{"a": [{"b": {"c": 1, "c": 2}}]}', ("document 1", "duplicate key 'c'")),
    BadInput("a duplicate key in JSON lines", b'{"a": 1}\n{"a": 1, "a": 2}\n', ("document 2", "duplicate key 'a'")),
    BadInput("an unknown tag", b"a: 1\nb: !secret x\n", ("line 2", "tag !secret")),
    BadInput(
        "a tag of Python's", b"a: !!python/object/apply:os.getcwd ''\n", ("line 1", "python/object/apply:os.getcwd")
    ),
    BadInput("binary data in YAML", b"a: !!binary aGVsbG8=\n", ("line 1", "tag tag:yaml.org,2002:binary")),
    BadInput("a tagged time", b"a: !!timestamp 2026-01-31\n", ("line 1", "tag tag:yaml.org,2002:timestamp")),
    BadInput("an alias of nothing", b"a: *nothing\n", ("line 1", "undefined alias")),
    BadInput("a list that contains itself", b"a: 1\nb: &b\n- *b\n", ("line 2", "contains it")),
    BadInput("a mapping that contains itself", b"a: &a\n  b: [{c: *a}]\n", ("line 1", "contains it")),
    BadInput("a mapping merged into itself", b"a: &a\n  <<: *a\n", ("line 1", "contains it")),
    BadInput("aliases that multiply", BOMB, ("aliases", "write them out")),
    BadInput("a merge of a number", b"a: {<<: 3}\n", ("line 1", "<<")),
    BadInput("a merge of a list of numbers", b"a: 1\nb: {<<: [{x: 1}, 3]}\n", ("line 2", "<<")),
    BadInput("a list as a key", b"a: 1\n? [x, y]\n: 2\n", ("line 2", "key has to be a string")),
    BadInput("a mapping as a key, as a template has it", b"a: {{ .Values.a }}\n", ("line 1", "key has to be a string")),
    BadInput("NaN in JSON", b'{"a": NaN}', ("document 1", "NaN"), "bad.json"),
    BadInput("Infinity in JSON", b'{"a": 1}\n{"a": -Infinity}', ("document 2", "-Infinity")),
    BadInput("an integer of 10,000 digits in JSON", b'{"a": ' + b"9" * 10_000 + b"}", ("document 1", "10000 digits")),
    BadInput("a picture", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", ("binary",)),
    BadInput("a program", b"\x7fELF\x02\x01\x01\x00", ("binary",), "bad.json"),
    BadInput("a compressed file", gzip.compress(b"a: 1\n", mtime=0), ("binary",)),
    BadInput("bytes that are no UTF-8", b"a: 1\nb: \xff\xfe\n", ("byte 8", "no UTF-8 text")),
    BadInput("Latin-1", "a: Größe\n".encode("latin-1"), ("byte 5", "no UTF-8 text", "another encoding")),
    BadInput("JSON in Latin-1", '{"a": "Größe"}'.encode("latin-1"), ("byte 9", "no UTF-8 text"), "bad.json"),
    BadInput("UTF-16 that ends in the middle of a character", "a: b\n".encode("utf-16") + b"x", ("UTF-16",)),
    BadInput("UTF-16 without a byte order mark", "a: b\n".encode("utf-16-le"), ("binary",)),
    BadInput("UTF-32", "a: b\n".encode("utf-32"), ("binary",)),
    BadInput("truncated JSON", b'{"a": [1,\n 2', ("line 2", "no JSON"), "bad.json"),
    BadInput("JSON truncated in a string", b'{"a": "b', ("line 1, column 7", "no JSON"), "bad.json"),
    BadInput("JSON truncated under another name", b'{"a": {"b": 1}', ("line 1", "no JSON")),
    BadInput("YAML truncated in a list", b"a: 1\nb: [1, 2", ("line 3", "no YAML")),
    BadInput("YAML truncated in a string", b'a: "b', ("line 1", "no YAML")),
    BadInput("a tab as indentation", b"a:\n\tb: 1\n", ("line 2", "no YAML")),
    BadInput("wrong indentation", b"a:\n   b: 1\n  c: 2\n", ("line 3", "no YAML")),
    BadInput("a control character", b"a: \x07\n", ("no YAML", "#x0007")),
    BadInput("a control character in JSON", b'{"a": "\x07"}', ("line 1, column 8", "no JSON"), "bad.json"),
    BadInput("half of a surrogate pair in YAML", b'a: "\\ud800"\n', ("line 1", "no YAML")),
    BadInput("YAML by the name of JSON", b"a: 1\n", ("line 1, column 1", "no JSON"), "bad.json"),
    BadInput("JSON documents with commas between them", b'{"a": 1},\n{"b": 2}\n', ("line 1, column 9", "no JSON")),
    BadInput("another version of YAML", b"%YAML 3.0\n---\na: 1\n", ("line 1", "no YAML")),
)
"""What never becomes a document."""

NO_OBJECTS: Final = (
    BadInput("a text", b"once upon a time\n", ("document 1 (line 1)", "'once upon a time'", "no Kubernetes object")),
    BadInput("a long text", b"x" * 100, (f"'{'x' * 60}'", "no Kubernetes object")),
    BadInput("a List of a text", as_json(listed() | {"items": "none"}), ("document 1", "items of the List")),
    BadInput("a bare list", b"- a\n- b\n", ("document 1 (line 1)", "a list", "no Kubernetes object")),
    BadInput("a number", b"---\n42\n", ("document 1 (line 2)", "'42'", "no Kubernetes object")),
    BadInput("a list as JSON", b"[1, 2]", ("document 1", "a list", "no Kubernetes object"), "bad.json"),
    BadInput(
        "an object without a kind", b"apiVersion: v1\nmetadata: {name: a}\n", ("document 1", "apiVersion and kind")
    ),
    BadInput(
        "an object without an apiVersion", b"kind: Node\nmetadata: {name: a}\n", ("document 1", "apiVersion and kind")
    ),
    BadInput("a kind that is a number", b"apiVersion: v1\nkind: 3\n", ("document 1", "apiVersion and kind")),
    BadInput("a kind that is a list", b"apiVersion: v1\nkind: [Node]\n", ("document 1", "apiVersion and kind")),
    BadInput("an apiVersion that is nothing", b"apiVersion: ~\nkind: Node\n", ("document 1", "apiVersion and kind")),
    BadInput(
        "an item that is a number", as_json(listed(queue(), 3)), ("document 1, item 2", "'3'", "no Kubernetes object")
    ),
    BadInput("a name that is a number", as_json(queue(7)), ("ClusterQueue/(no name): metadata.name", "7", "quote it")),
    BadInput("a name that is empty", as_json(queue("")), ("ClusterQueue/(no name): metadata.name", "''")),
    BadInput("no metadata", as_json(queue() | {"metadata": None}), ("ClusterQueue/(no name): metadata", "required")),
    BadInput(
        "a name that is too large for 64 bits", as_json(queue(10**30)), ("metadata.name", str(10**30), "quote it")
    ),
    BadInput("a name with half of a surrogate pair", as_json(queue("\ud800")), ("metadata.name", "no object name")),
    BadInput("a list with half of a surrogate pair as a name", as_json(queue(["\ud800"])), ("metadata.name", "a list")),
    BadInput("not a number as a quota", _queue(".nan"), ("ClusterQueue/a", QUOTA_FIELD, "'nan'")),
    BadInput("infinity as a quota", _queue("-.inf"), ("ClusterQueue/a", QUOTA_FIELD, "'-inf'")),
    BadInput("a prefix without digits as a quota", _queue("0b_"), ("ClusterQueue/a", QUOTA_FIELD, "'0b_'")),
    BadInput("a hexadecimal prefix without digits", _queue("-0x_"), ("ClusterQueue/a", QUOTA_FIELD, "'-0x_'")),
    BadInput("an octal prefix without digits", _queue("0o_"), ("ClusterQueue/a", QUOTA_FIELD, "'0o_'")),
    BadInput("a quota of 10,000 digits", _queue("9" * 10_000), ("ClusterQueue/a", QUOTA_FIELD, "too long")),
    BadInput(
        "a quota beyond every float in JSON",
        b'{"a":1}'.replace(b'{"a":1}', as_json(queue()).replace(b'"nominalQuota": 1', b'"nominalQuota": 1E400')),
        (QUOTA_FIELD, "no quantity"),
        "bad.json",
    ),
    BadInput("a quota with an underscore", _queue("'1_000'"), ("ClusterQueue/a", QUOTA_FIELD, "'1_000'")),
)
"""What is a document and no object that can be used."""


def nested(levels: int) -> dict[str, tuple[str, bytes]]:
    """By form of nesting: a file name, and content of so many levels."""
    return {
        "lists in JSON": ("bad.json", b'{"a":' + b"[" * levels + b"]" * levels + b"}"),
        "objects in JSON": ("bad.json", b'{"a":' * levels + b"1" + b"}" * levels),
        "lists in flow YAML": ("bad.yaml", b"a: " + b"[" * levels + b"]" * levels),
        "mappings in flow YAML": ("bad.yaml", b"a: " + b"{a: " * levels + b"1" + b"}" * levels),
        "YAML that begins with a brace": ("bad.yaml", b"{a: " * levels + b"1" + b"}" * levels),
        "lists that are never closed": ("bad.yaml", b"a: " + b"[" * levels),
        "lists in block YAML": ("bad.yaml", b"- " * levels + b"x"),
        "mappings in block YAML": (
            "bad.yaml",
            b"".join(b" " * level + b"a:\n" for level in range(min(levels, 5000))),  # its size is that number squared
        ),
        "keys in block YAML": ("bad.yaml", b"? " * levels + b"x"),
        "Lists of Lists": (
            "bad.json",
            json.dumps(listed(3)).encode().replace(b"3]}", b"") * levels + b"3" + b"]}" * levels,
        ),
    }
