"""From the bytes of a file to documents: JSON or YAML, one or many, with duplicate keys refused.

Plain YAML scalars mean what kubectl takes them for: `yes` and `on` are booleans, `017` is octal, times are strings.
"""

from __future__ import annotations

import codecs
import contextlib
import json
import math
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec

STRICT_JSON_BYTES: Final = 16 * 1024 * 1024
"""JSON above this size is a machine's dump and is decoded in the quick way, which does not look for duplicate keys."""

_HEAD_BYTES: Final = 4096
_ALIASES_MAY_ADD: Final = 100_000  # nodes that YAML aliases may expand to beyond ten times what is written
_BYTE_ORDER_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_JSON_SPACE: Final = " \t\r\n"


class DocumentError(ValueError):
    """The bytes are no JSON or YAML that can be read; the message says where and why."""


class Document(NamedTuple):
    """One document: its number in the file from 1, the line it begins on (YAML), and its content.

    `content` is plain dicts, lists and scalars, or a piece of JSON (`msgspec.Raw`) that is still to be decoded.
    """

    number: int
    line: int | None
    content: Any
    is_searched: bool = True
    """Whether duplicate keys were looked for."""


def documents(data: bytes, *, is_json: bool = False) -> Iterator[Document]:
    """The documents in a file, empty ones left out. `is_json`: its name says so, and nothing else is tried.

    Raises:
        DocumentError: binary content, unreadable JSON or YAML, a duplicate key, aliases or nesting without measure.
    """
    if data.startswith(_BYTE_ORDER_MARKS):
        data = _utf16_to_utf8(data)
    data = data.removeprefix(codecs.BOM_UTF8)
    if b"\0" in data:
        msg = "is a binary file, not JSON or YAML"
        raise DocumentError(msg)
    try:
        if is_json or data[:_HEAD_BYTES].lstrip()[:1] == b"{":
            yield from _json_or_flow_yaml(data, is_json=is_json)
        else:
            yield from _yaml_documents(_text(data))
    except RecursionError as error:
        msg = "is nested too deeply"
        raise DocumentError(msg) from error


def _utf16_to_utf8(data: bytes) -> bytes:
    """PowerShell's `>` writes UTF-16."""
    try:
        return data.decode("utf-16").encode()
    except UnicodeDecodeError as error:
        msg = "begins as UTF-16 text and goes on as something else"
        raise DocumentError(msg) from error


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        msg = f"is no UTF-8 text (byte {error.start}): a binary file, or text in another encoding"
        raise DocumentError(msg) from error


# --- JSON ----------------------------------------------------------------------------------------------------------


def _json_or_flow_yaml(data: bytes, *, is_json: bool) -> Iterator[Document]:
    if len(data) > STRICT_JSON_BYTES:
        if not data.isascii():
            _text(data)
        quick = _quick_json(data)
        if quick is not None:
            yield quick
            return
    found: list[Document] = []
    try:
        found.extend(_json_documents(_text(data)))  # one by one: what precedes an error is kept
    except DocumentError:
        yield from found
        raise
    except json.JSONDecodeError as error:
        msg = f"is no JSON (line {error.lineno}, column {error.colno}): {error.msg}"
        if is_json:
            yield from found
            raise DocumentError(msg) from error
        try:
            found = list(_yaml_documents(_text(data)))
        except DocumentError as yaml_error:
            msg = f"{msg}; read as YAML, it {yaml_error}"
            raise DocumentError(msg) from error
    yield from found


class _Envelope(msgspec.Struct):
    api_version: Any = msgspec.field(name="apiVersion", default="")
    kind: Any = ""
    items: list[msgspec.Raw] | None = None


def _quick_json(data: bytes) -> Document | None:
    """Big JSON, the items of a List undecoded; None for what is not one document: the careful way then looks at it."""
    try:
        envelope = msgspec.json.decode(data, type=_Envelope)
    except msgspec.DecodeError:
        return None
    if envelope.items is None:
        return Document(1, None, msgspec.Raw(data), is_searched=False)
    content = {"apiVersion": envelope.api_version, "kind": envelope.kind, "items": envelope.items}
    return Document(1, None, content, is_searched=False)


def _json_documents(text: str) -> Iterator[Document]:
    """JSON documents one after the other, with or without line ends between them."""
    decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant)
    position, number = 0, 0
    while True:
        while position < len(text) and text[position] in _JSON_SPACE:
            position += 1
        if position == len(text):
            return
        try:
            content, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError:
            raise
        except ValueError as error:
            # Duplicate keys, NaN, and integers of thousands of digits.
            msg = f"document {number + 1}: {error}"
            raise DocumentError(msg) from error
        number += 1
        yield Document(number, None, content)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        msg = f"duplicate key {repeated!r}: keep one of them"
        raise ValueError(msg)
    return mapping


def _no_constant(name: str) -> Any:
    msg = f"{name} is no JSON number"
    raise ValueError(msg)


# --- YAML ----------------------------------------------------------------------------------------------------------

_PLAIN: Final = "plain"
_TAG: Final = "tag:yaml.org,2002:"
_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
}
_INTEGER: Final = re.compile(r"[-+]?(?:0[bB][01_]+|0[oO]?[0-7_]+|0[xX][0-9a-fA-F_]+|[1-9][0-9_]*|0)", re.ASCII)
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_SPECIAL_FLOATS: Final = frozenset(
    {f"{sign}.{word}" for sign in ("", "+", "-") for word in ("inf", "Inf", "INF")} | {".nan", ".NaN", ".NAN"}
)
_LONGEST_NUMBER: Final = 256
_DEEPEST_YAML: Final = 500
_NUMBERS_BEGIN: Final = tuple("+-.0123456789")


def _yaml_documents(text: str) -> Iterator[Document]:
    try:
        import yaml  # only those who read YAML need it
    except ImportError as error:
        msg = "is YAML, and PyYAML is not installed: install kueue-dqo[cli], or give JSON"
        raise DocumentError(msg) from error

    number = 0
    try:
        loader = _loader(yaml)(text)
        while loader.check_node():
            node = loader.get_node()
            number += 1
            line = node.start_mark.line + 1
            content = _YamlContent(yaml).build(node)
            if content is not None:
                yield Document(number, line, content)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f" (line {mark.line + 1}, column {mark.column + 1})" if mark is not None else ""
        msg = f"is no YAML{where}: {' '.join(filter(None, (error.context, error.problem)))}"
        if "nesting depth" in msg:  # libyaml's own limit
            msg = f"is nested too deeply{where}"
        raise DocumentError(msg) from error
    except yaml.YAMLError as error:
        msg = f"is no YAML: {' '.join(str(error).split())}"
        raise DocumentError(msg) from error


def _loader(yaml: Any) -> Any:
    """PyYAML's loader with kubectl's rules for scalars, and an end to nesting."""
    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc,valid-type]  # the base is chosen at run time
        levels = 0

        def resolve(self, kind: type, value: Any, implicit: Any) -> str:
            """Leaves plain scalars to `_scalar`: PyYAML's own rules differ from kubectl's."""
            if kind is yaml.ScalarNode and implicit[0]:
                return _PLAIN
            return str(super().resolve(kind, value, implicit))

        def descend_resolver(self, parent: Any, index: Any) -> None:
            """Ends what is nested without measure: older libyaml has no limit, and recursion in C ends in a crash."""
            self.levels += 1
            if self.levels > _DEEPEST_YAML:
                raise RecursionError
            super().descend_resolver(parent, index)

        def ascend_resolver(self) -> None:
            self.levels -= 1
            super().ascend_resolver()

    return Loader


class _YamlContent:
    """Plain content from the node graph of one document. Aliases share one value."""

    def __init__(self, yaml: Any) -> None:
        self._yaml = yaml
        self._built: dict[int, tuple[Any, int]] = {}
        self._open: set[int] = set()

    def build(self, node: Any) -> Any:
        content, size = self._content(node)
        if size > 10 * len(self._built) + _ALIASES_MAY_ADD:
            msg = f"has aliases that stand for {size} values: write them out"
            raise DocumentError(msg)
        return content

    def _content(self, node: Any) -> tuple[Any, int]:
        """The content of a node, and how many values it is with all aliases written out."""
        known = self._built.get(id(node))
        if known is not None:
            return known
        if id(node) in self._open:
            msg = f"{_line(node)}: an alias stands for something that contains it"
            raise DocumentError(msg)
        self._open.add(id(node))
        if isinstance(node, self._yaml.ScalarNode):
            built: tuple[Any, int] = (_scalar(node), 1)
        elif isinstance(node, self._yaml.SequenceNode):
            parts = [self._content(each) for each in node.value]
            built = ([content for content, _ in parts], 1 + sum(size for _, size in parts))
        else:
            built = self._mapping(node)
        self._open.discard(id(node))
        self._built[id(node)] = built
        return built

    def _mapping(self, node: Any) -> tuple[dict[str, Any], int]:
        mapping: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        size = 1
        for key_node, value_node in node.value:
            if not isinstance(key_node, self._yaml.ScalarNode):
                msg = f"{_line(key_node)}: a key has to be a string"
                raise DocumentError(msg)
            key = str(key_node.value)
            content, each = self._content(value_node)
            size += each
            if key == "<<" and key_node.tag == _PLAIN:
                for source in reversed(content if isinstance(content, list) else [content]):
                    if not isinstance(source, dict):
                        msg = f"{_line(value_node)}: << takes a mapping or a list of mappings"
                        raise DocumentError(msg)
                    merged |= source
            elif key in mapping:
                msg = f"{_line(key_node)}: duplicate key {key!r}: keep one of them"
                raise DocumentError(msg)
            else:
                mapping[key] = content
        return merged | mapping, size


def _scalar(node: Any) -> Any:
    text, tag = str(node.value), str(node.tag)
    if tag == f"{_TAG}str":
        return text
    if tag in (_PLAIN, f"{_TAG}int", f"{_TAG}float", f"{_TAG}bool", f"{_TAG}null"):
        return plain_scalar(text)
    msg = f"{_line(node)}: the tag {tag} is not understood"
    raise DocumentError(msg)


def plain_scalar(text: str) -> str | int | float | bool | None:
    """What kubectl takes a YAML scalar without quotes for."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) > _LONGEST_NUMBER or not text.startswith(_NUMBERS_BEGIN):
        return text
    if text in _SPECIAL_FLOATS:
        return float(text.replace(".", ""))
    digits = text if text.startswith(".") else text.replace("_", "")
    number = _integer(digits) if _INTEGER.fullmatch(text) else _float(digits)
    return text if number is None else number


def _integer(digits: str) -> int | None:
    for base in (0, 8):  # 8 is for 017, as YAML 1.1 writes octal numbers
        with contextlib.suppress(ValueError):
            return int(digits, base)
    return None


def _float(digits: str) -> float | None:
    if not _FLOAT.fullmatch(digits):
        return None
    number = float(digits)
    return None if math.isinf(number) else number


def _line(node: Any) -> str:
    return f"line {node.start_mark.line + 1}"
