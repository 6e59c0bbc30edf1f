"""From bytes to documents: what a file may be, what its plain scalars mean, and what is refused."""

from __future__ import annotations

import codecs
import itertools
import json
import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kueue_dqo.cli import documents as module
from kueue_dqo.cli.documents import Document, DocumentError, documents
from tests.unit.kueue_dqo.cli.bad_inputs import UNREADABLE, BadInput, nested


@pytest.fixture(params=["libyaml", "pure Python"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """PyYAML comes with and without its C parser."""
    name: str = request.param
    if name == "libyaml":
        assert hasattr(yaml, "CSafeLoader"), "the wheels of PyYAML contain libyaml"
    else:
        monkeypatch.delattr(yaml, "CSafeLoader")
    return name


def _contents(data: bytes | str, *, is_json: bool = False) -> list[Any]:
    data = data.encode() if isinstance(data, str) else data
    return [document.content for document in documents(data, is_json=is_json)]


def _refusal(data: bytes, *, is_json: bool = False) -> str:
    with pytest.raises(DocumentError) as caught:
        list(documents(data, is_json=is_json))
    return str(caught.value)


# --- one file, many documents --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param("", [], id="nothing"),
        pytest.param(" \n   \n", [], id="white space"),
        pytest.param("# a comment\n  # and one more\n", [], id="comments only"),
        pytest.param("---\n", [], id="a separator only"),
        pytest.param("---\n---\n# nothing\n---\n...\n---\n", [], id="separators and comments"),
        pytest.param("null", [], id="null"),
        pytest.param("a: 1", [{"a": 1}], id="one, without a line end"),
        pytest.param("---\na: 1\n", [{"a": 1}], id="one after a separator"),
        pytest.param(
            "# title\n\n---\n\na: 1\n---\n# none\n---\nb: 2\n---\n", [{"a": 1}, {"b": 2}], id="empty ones between"
        ),
        pytest.param("a: 1\n...\n---\nb: 2\n...\n", [{"a": 1}, {"b": 2}], id="ends of documents"),
        pytest.param("--- {a: 1}\n--- [2]\n--- x\n", [{"a": 1}, [2], "x"], id="beside the separators"),
        pytest.param("%YAML 1.1\n---\na: 1\n", [{"a": 1}], id="a directive"),
        pytest.param("{a: 1, b: [x, 'y']}\n", [{"a": 1, "b": ["x", "y"]}], id="flow YAML that begins with a brace"),
        pytest.param("{a: 1}\n---\n{b: 2}\n", [{"a": 1}, {"b": 2}], id="two of flow YAML"),
        pytest.param('{"a": 1} # said here\n', [{"a": 1}], id="JSON with a comment"),
        pytest.param('{"a": 1,}\n', [{"a": 1}], id="JSON with a comma too many"),
        pytest.param('{"a": 1}\n---\nb: 2\n', [{"a": 1}, {"b": 2}], id="JSON, then YAML"),
        pytest.param('# exported\n{"a": 1}\n', [{"a": 1}], id="JSON after a comment"),
        pytest.param('  \n{"a": 1}', [{"a": 1}], id="JSON after white space"),
        pytest.param('{"a": 1}{"a": 2}\t{"a": 3}', [{"a": 1}, {"a": 2}, {"a": 3}], id="JSON documents in a row"),
        pytest.param('{"a": 1}\n\n{"a": 2}\r\n', [{"a": 1}, {"a": 2}], id="JSON lines"),
        pytest.param('[{"a": 1}]', [[{"a": 1}]], id="a JSON list"),
    ],
)
def test_documents_come_one_after_the_other_and_empty_ones_are_left_out(text: str, wanted: list[Any]) -> None:
    """Whatever separates them, and whether they are YAML or JSON."""
    assert _contents(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param("", [], id="nothing"),
        pytest.param("[1, 2]", [[1, 2]], id="a list"),
        pytest.param('{"a": 1}{"a": 2}', [{"a": 1}, {"a": 2}], id="two documents"),
        pytest.param('"yes"', ["yes"], id="a string"),
        pytest.param(
            '{"a": 1e3, "b": 0.5, "c": true, "d": null}', [{"a": 1000.0, "b": 0.5, "c": True, "d": None}], id="scalars"
        ),
    ],
)
def test_a_file_named_json_is_read_as_json(text: str, wanted: list[Any]) -> None:
    """Nothing else is tried."""
    assert _contents(text, is_json=True) == wanted


def test_documents_carry_their_number_and_the_line_they_begin_on() -> None:
    """Empty documents count, comments do not move the line; JSON documents have no line."""
    text = "# title\n\n---\n---\n\n# first\na: 1\n---\nb: 2\n--- {c: 3}\n"
    assert list(documents(text.encode())) == [
        Document(2, 7, {"a": 1}),
        Document(3, 9, {"b": 2}),
        Document(4, 10, {"c": 3}),
    ]
    assert list(documents(b'{"a": 1}\n\n{"b": 2}')) == [Document(1, None, {"a": 1}), Document(2, None, {"b": 2})]


def test_documents_before_a_broken_one_come_out_first() -> None:
    """What is wrong with them can be said together with the break."""
    rest = documents(b"a: 1\n---\nb: 2\n---\nc: 3\nc: 4\n")
    assert [document.content for document in itertools.islice(rest, 2)] == [{"a": 1}, {"b": 2}]
    with pytest.raises(DocumentError, match="line 6: duplicate key 'c'"):
        next(rest)


# --- encodings -----------------------------------------------------------------------------------------------------

ENCODINGS: dict[str, Callable[[str], bytes]] = {
    "UTF-8": str.encode,
    "UTF-8 with a byte order mark": lambda text: codecs.BOM_UTF8 + text.encode(),
    "UTF-16, little-endian": lambda text: codecs.BOM_UTF16_LE + text.encode("utf-16-le"),
    "UTF-16, big-endian": lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
}


@pytest.mark.parametrize("line_end", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    ("text", "is_json"),
    [
        pytest.param("a: größe\n---\nb: |\n  one\n  😀\n", False, id="YAML"),
        pytest.param('{"a": "größe"}\n{"b": "one\\n😀\\n"}\n', False, id="JSON"),
        pytest.param('{"a": "größe"}\n{"b": "one\\n😀\\n"}\n', True, id="JSON by name"),
    ],
)
def test_an_editors_or_a_shells_way_to_write_text_makes_no_difference(
    text: str, is_json: bool, encoding: str, line_end: str
) -> None:
    """PowerShell's `>` writes UTF-16, Windows editors a byte order mark and CRLF."""
    data = ENCODINGS[encoding](text.replace("\n", line_end))
    assert _contents(data, is_json=is_json) == [{"a": "größe"}, {"b": "one\n😀\n"}]


# --- plain scalars -------------------------------------------------------------------------------------------------

TRUE = ["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"]
FALSE = ["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"]
NULL = ["~", "null", "Null", "NULL", ""]
INTEGERS = {
    "0": 0,
    "-0": 0,
    "+5": 5,
    "-5": -5,
    "007": 7,
    "017": 15,
    "-017": -15,
    "0o17": 15,
    "0x1F": 31,
    "0xff": 255,
    "-0x1f": -31,
    "0b101": 5,
    "-0b11": -3,
    "1_000": 1000,
    "1_0__0": 100,
    "0x_ff": 255,
    "0b1_1": 3,
    "0_17": 15,
    "9223372036854775808": 2**63,
    "18446744073709551615": 2**64 - 1,
    # Go takes a prefix in capitals as well
    "0X1F": 31,
    "0B101": 5,
    "0O17": 15,
}
FLOATS = {
    "1.5": 1.5,
    "-1.5": -1.5,
    "+1.5": 1.5,
    ".5": 0.5,
    "-.5": -0.5,
    "09.5": 9.5,
    "1E-3": 0.001,
    "1.5e-2": 0.015,
    "685.230_15": 685.23015,
    "1_000.5": 1000.5,
    ".inf": math.inf,
    ".INF": math.inf,
    "+.Inf": math.inf,
    "+.5": 0.5,
    "-.inf": -math.inf,
    "0.0": 0.0,
    "1.0": 1.0,
    "-2.": -2.0,
    "5.": 5.0,
    "08": 8.0,  # no octal number, so a decimal one
    "1e3": 1000.0,
    "12E3": 12000.0,
    "-1.5e3": -1500.0,
    ".5e3": 500.0,
    ".5e+3": 500.0,
    "1.5e+3": 1500.0,
}
STRINGS = [
    "hello",
    "yEs",
    "tRUE",
    "nULL",
    "oN",
    "none",
    "1:30",
    "1:30:15.5",
    "2026-01-31",
    "2026-01-31T12:00:00Z",
    "2026-01-31 12:00:00 +01:00",
    "1.2.3",
    "10.244.11.0/24",
    "500m",
    "16Gi",
    "1e",
    "e3",
    "1e+",
    "0x",
    "0xg",
    "0b2",
    "0b",
    "0o",
    "0o8",
    "0x_",
    "0b_",
    "-0o_",
    "+",
    "_1",
    "__",
    "_",
    ".",
    "..",
    ".1_0",
    "+inf",
    "1e400",
    "-1e+999",
    "...x",
    "+-1",
    "--1",
    "１２",  # full-width digits  # noqa: RUF001  # they are what is tested
    "٣",  # an Arabic digit
    "=",
    "inf",
    "nan",
    "Infinity",
    "<",
    "9" * 300 + "x",
]
WANTED: dict[str, object] = {
    **dict.fromkeys(TRUE, True),
    **dict.fromkeys(FALSE, False),
    **dict.fromkeys(NULL),
    **INTEGERS,
    **FLOATS,
    **{text: text for text in STRINGS},
}


@pytest.mark.parametrize("text", WANTED)
def test_a_plain_scalar_is_what_kubectl_takes_it_for(text: str, parser: str) -> None:
    """kubectl reads YAML by the rules of go-yaml 2, which are not those of PyYAML."""
    del parser
    [content] = _contents(f"a: {text}\n")
    assert content == {"a": WANTED[text]}
    assert type(content["a"]) is type(WANTED[text])


@pytest.mark.parametrize("text", [".nan", ".NaN", ".NAN"])
def test_not_a_number_is_a_float(text: str, parser: str) -> None:
    """What a field makes of it is the field's business."""
    del parser
    [content] = _contents(f"a: {text}\n")
    assert math.isnan(content["a"])


@pytest.mark.parametrize("form", ["'{}'", '"{}"', "|-\n  {}", ">-\n  {}", "!!str {}", "!!str '{}'"])
@pytest.mark.parametrize("text", [*TRUE, *FALSE, *NULL[:-1], *INTEGERS, *FLOATS, *STRINGS])
def test_a_quoted_scalar_stays_a_string(text: str, form: str) -> None:
    """Quotes, block style and the tag of strings do that."""
    assert _contents(f"a: {form.format(text)}\n") == [{"a": text}]


def test_an_empty_string_in_quotes_is_no_null() -> None:
    """Only an empty plain scalar is null."""
    assert _contents("a: ''\nb: \"\"\nc:\n") == [{"a": "", "b": "", "c": None}]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("!!int '3'", 3),
        ("!!int 0x10", 16),
        ("!!bool 'yes'", True),
        ("!!null ''", None),
        ("!!float '1.5'", 1.5),
        ("!!str 3", "3"),
    ],
)
def test_a_scalar_with_a_tag_of_yamls_own_has_that_type(text: str, wanted: object, parser: str) -> None:
    """Whether or not it stands in quotes."""
    del parser
    [content] = _contents(f"a: {text}\n")
    assert content == {"a": wanted}
    assert type(content["a"]) is type(wanted)


def test_digits_without_end_are_a_text() -> None:
    """No field takes such a number, and no time is spent on converting it; 256 are a number still."""
    assert _contents(f"a: {'9' * 256}\nb: {'9' * 257}\n") == [{"a": 10**256 - 1, "b": "9" * 257}]
    digits = "9" * 10_000
    assert _contents(f"a: {digits}\nb: -{digits}\nc: 0x{digits}\nd: 1.{digits}\n") == [
        {"a": digits, "b": f"-{digits}", "c": f"0x{digits}", "d": f"1.{digits}"}
    ]


def test_keys_are_the_text_that_is_written() -> None:
    """Keys of manifests are strings."""
    assert _contents("1: a\n'2': b\nnull: c\n1.50: d\n") == [{"1": "a", "2": "b", "null": "c", "1.50": "d"}]


KEYS = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Zl", "Zp")), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | KEYS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


def _same(value: object, other: object) -> bool:
    """Equal, and of the same kind: no boolean is a number, but 1.0 is 1."""
    if isinstance(value, dict) and isinstance(other, dict):
        return value.keys() == other.keys() and all(_same(value[key], other[key]) for key in value)
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(map(_same, value, other))
    return value == other and isinstance(value, bool) == isinstance(other, bool)


@settings(max_examples=300)
@given(VALUES)
def test_json_means_the_same_when_it_is_read_as_yaml(value: object) -> None:
    """JSON in YAML is YAML: a comment above it must not change a thing."""
    text = json.dumps(value, ensure_ascii=False)
    for read in (_contents(text, is_json=True), _contents(f"---\n{text}\n") or [None]):
        assert _same([value], read), read


# --- anchors and merge keys ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param(
            "a: &x {b: 1}\nc: *x\nd: [*x, *x]", {"a": {"b": 1}, "c": {"b": 1}, "d": [{"b": 1}, {"b": 1}]}, id="aliases"
        ),
        pytest.param(
            "a: &x yes\nb: *x\nc: &y 'yes'\nd: *y",
            {"a": True, "b": True, "c": "yes", "d": "yes"},
            id="aliases of scalars",
        ),
        pytest.param(
            "a: &x {p: 1, q: 2}\nb: {<<: *x, q: 3}",
            {"a": {"p": 1, "q": 2}, "b": {"p": 1, "q": 3}},
            id="a key beside a merge wins",
        ),
        pytest.param(
            "a: &x {p: 1, q: 2}\nb: {q: 3, <<: *x}",
            {"a": {"p": 1, "q": 2}, "b": {"p": 1, "q": 3}},
            id="also when it stands before",
        ),
        pytest.param(
            "a: &x {p: 1}\nb: &y {p: 2, q: 2}\nc: {<<: [*x, *y]}",
            {"a": {"p": 1}, "b": {"p": 2, "q": 2}, "c": {"p": 1, "q": 2}},
            id="the first of several wins",
        ),
        pytest.param("a: {<<: {p: 1}}", {"a": {"p": 1}}, id="a mapping written in place"),
        pytest.param(
            "a: &x {p: 1}\nb: &y {<<: *x, q: 2}\nc: {<<: *y}",
            {"a": {"p": 1}, "b": {"p": 1, "q": 2}, "c": {"p": 1, "q": 2}},
            id="merges of merges",
        ),
        pytest.param("a: {<<: []}", {"a": {}}, id="a merge of nothing"),
        pytest.param("a: {'<<': {p: 1}}", {"a": {"<<": {"p": 1}}}, id="a quoted key is no merge"),
        pytest.param("a: <<", {"a": "<<"}, id="a value is no merge"),
    ],
)
def test_anchors_and_merge_keys_are_written_out(text: str, wanted: object, parser: str) -> None:
    """As YAML 1.1 defines them, and kubectl reads them."""
    del parser
    assert _contents(text) == [wanted]


def test_a_merge_does_not_change_what_it_merges() -> None:
    """Aliases share their value; the mapping that takes them in is another one."""
    [content] = _contents("a: &x {p: {q: 1}}\nb: {<<: *x, r: 2}\nc: *x\n")
    assert content == {"a": {"p": {"q": 1}}, "b": {"p": {"q": 1}, "r": 2}, "c": {"p": {"q": 1}}}


def _aliases(levels: int) -> bytes:
    """Ten times as many values with each level."""
    lines = [b"l0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]".encode() for n in range(1, levels)]
    return b"\n".join(lines)


def test_aliases_may_multiply_within_reason(parser: str) -> None:
    """Ten thousand values from four lines are an overlay, a million from six are an attack."""
    del parser
    [content] = _contents(_aliases(4))
    assert content["l3"][9][9][9] == ["x"] * 10
    assert "aliases" in _refusal(_aliases(6))


def test_a_big_file_may_use_aliases_in_proportion_to_its_size() -> None:
    """Ten times what is written, and 100,000 values on top."""
    shared = "a: &a [" + ", ".join(["x"] * 50_000) + "]\n"
    [content] = _contents(shared + "b: [" + ", ".join(["*a"] * 11) + "]\n")
    assert len(content["b"]) == 11
    assert "aliases" in _refusal((shared + "b: [" + ", ".join(["*a"] * 12) + "]\n").encode())


# --- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", UNREADABLE, ids=lambda bad: bad.what)
def test_what_cannot_be_read_is_refused_with_its_place_and_cause(bad: BadInput) -> None:
    """Never a guess, never another exception."""
    message = _refusal(bad.content, is_json=bad.name.endswith(".json"))
    assert [word for word in bad.says if word not in message] == [], message


@pytest.mark.parametrize(
    "bad",
    [bad for bad in UNREADABLE if bad.name == "bad.yaml" and b"\\ud800" not in bad.content],
    ids=lambda bad: bad.what,
)
def test_what_cannot_be_read_is_refused_without_libyaml_too(bad: BadInput, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser in Python words its messages in its own way, and takes half of a surrogate pair."""
    monkeypatch.delattr(yaml, "CSafeLoader")
    assert _refusal(bad.content)


@pytest.mark.parametrize("levels", [1100, 3000])
@pytest.mark.parametrize("form", nested(1))
def test_nesting_without_measure_is_refused(form: str, levels: int, parser: str) -> None:
    """Whatever opens the levels, and whoever parses them."""
    del parser
    name, content = nested(levels)[form]
    assert "nested too deeply" in _refusal(content, is_json=name.endswith(".json"))


@pytest.mark.parametrize("form", [form for form, (name, _) in nested(1).items() if name.endswith(".yaml")])
def test_the_limit_of_nesting_is_not_left_to_libyaml(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its versions before 0.2.6 have none, and PyYAML's part in C recurses until the stack ends.

    The wheels of PyYAML before 6.0.4 contain such a version. libyaml's limit is 1000, so 990 levels show who stops.
    """
    deepest = 0

    class Watched(yaml.CSafeLoader):
        depth = 0

        def descend_resolver(self, parent: object, index: object) -> None:
            nonlocal deepest
            self.depth += 1
            deepest = max(deepest, self.depth)
            super().descend_resolver(parent, index)  # the stubs leave it open

        def ascend_resolver(self) -> None:
            self.depth -= 1
            super().ascend_resolver()  # as above

    monkeypatch.setattr(yaml, "CSafeLoader", Watched)
    assert _refusal(nested(990)[form][1])
    assert 100 < deepest < 990


@pytest.mark.parametrize(
    "form", [form for form in nested(1) if form not in ("lists that are never closed", "keys in block YAML")]
)
def test_nesting_that_a_person_could_have_written_is_read(form: str, parser: str) -> None:
    """A hundred levels are no attack."""
    del parser
    name, content = nested(100)[form]
    [value] = _contents(content, is_json=name.endswith(".json"))
    depth = 0
    while isinstance(value, dict | list) and value:
        value = value["items"] if isinstance(value, dict) and "items" in value else value
        value = next(iter(value.values())) if isinstance(value, dict) else value[0]
        depth += 1
    assert depth >= 100


@st.composite
def _with_a_repeated_key(draw: st.DrawFn) -> tuple[str, str]:
    """A key, and JSON text in which one object, at any depth, has it twice."""
    key = draw(KEYS)
    values = [json.dumps(draw(VALUES), ensure_ascii=False) for _ in range(3)]
    written = json.dumps(key, ensure_ascii=False)
    members = [
        f"{written}: {values[0]}",
        f"{written}: {values[1]}",
        f"{json.dumps(f'{key}x', ensure_ascii=False)}: {values[2]}",
    ]
    text = "{" + ", ".join(draw(st.permutations(members))) + "}"
    for outer in draw(
        st.lists(st.sampled_from(["[@]", "[1, @]", '{"o": @}', '{"m": [], "o": [@, null]}']), max_size=8)
    ):
        text = outer.replace("@", text)
    return key, text


@settings(max_examples=200)
@given(_with_a_repeated_key())
def test_a_duplicate_key_is_refused_at_every_depth(drawn: tuple[str, str]) -> None:
    """In JSON and in YAML, and the message names it."""
    key, text = drawn
    for message in (_refusal(text.encode(), is_json=True), _refusal(f"---\n{text}\n".encode())):
        assert f"duplicate key {key!r}" in message


# --- big files, missing parts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("above", "is_refused"), [(0, True), (1, False)])
def test_json_above_the_size_is_not_searched_for_duplicate_keys(
    above: int, is_refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine's dump has none, and the search takes its time; at the size itself it is still done."""
    data = b'{"kind": "List", "kind": "List", "items": [{"a": 1, "a": 2}]}'
    monkeypatch.setattr(module, "STRICT_JSON_BYTES", len(data) - above)
    if is_refused:
        assert "duplicate key" in _refusal(data)
    else:
        assert [document.number for document in documents(data)] == [1]


def test_without_pyyaml_json_is_read_and_yaml_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyYAML is part of an extra; the message names it, and what goes without."""
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert _contents('{"a": 1}\n{"a": 2}') == [{"a": 1}, {"a": 2}]
    message = _refusal(b"a: 1\n")
    assert "kueue-dqo[cli]" in message
    assert "JSON" in message


@given(st.data())
def test_any_bytes_are_documents_or_refused(data: st.DataObject) -> None:
    """No other exception comes out, and what comes out is plain."""
    content = data.draw(st.binary(max_size=60) | YAMLISH)
    is_json = data.draw(st.booleans())
    try:
        found = list(documents(content, is_json=is_json))
    except DocumentError:
        return
    assert all(_is_plain(document.content) for document in found)


TOKENS = [
    *("a", "b", "yes", "~", "null", "1", "0", "0x", "0b", "0o", "_", ".", "e", "+", "-", "inf", "nan", "true"),
    *(": ", ":", "- ", "? ", ", ", ",", "\n", "\n  ", "\n    ", " ", "\t", "\r\n", "\r"),
    *("{", "}", "[", "]", '"', "'", "|", ">", "|-\n", "#", " #", "\\", '"a"', '"a": ', "{}", "[]", '{"a": 1}'),
    *(
        "&x ",
        "*x",
        "<<: ",
        "!",
        "!!",
        "!!str ",
        "!!int ",
        "!!null ",
        "!x ",
        "%YAML 1.1\n",
        "%TAG ! x\n",
        "---\n",
        "...\n",
    ),
    *("@", "`", "\ufeff", "\x85", "\u2028", "é", "😀", "\x07", "\x00", "\\ud800", "\\x41"),
]
YAMLISH: st.SearchStrategy[bytes] = st.lists(st.sampled_from(TOKENS), max_size=25).map("".join).map(str.encode)


def _is_plain(value: object) -> bool:
    return all(type(each) in (dict, list, str, int, float, bool, type(None)) for each in _all_values(value))


def _all_values(value: object) -> Iterator[object]:
    yield value
    if isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from _all_values(each)
    elif isinstance(value, list):
        for each in value:
            yield from _all_values(each)
