"""Reads manifests: files, folders, standard input.

Every object is decoded and checked, and every problem names its place.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from kueue_dqo.api.meta import ObjectKey
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.api.scheme import QUOTA_KINDS, Kinds, ObjectInvalid, decode, decode_json, known_kind, plain_json
from kueue_dqo.cli.documents import DocumentError, documents
from kueue_dqo.cli.errors import CommandError
from kueue_dqo.cli.objects import Manifests, Place, key_of, problems_text, skipped_text

STANDARD_INPUT: Final = "-"
SUFFIXES: Final = (".yaml", ".yml", ".json")
"""Endings of files that are read where a folder is given."""
_CHUNK: Final = 1 << 20
_USUAL_HEAD: Final = re.compile(
    rb'\s*\{\s*"apiVersion"\s*:\s*"([^"\\]*)"\s*,\s*"kind"\s*:\s*"([^"\\]*)"\s*,\s*"metadata"\s*:'
)


def read_manifests(paths: tuple[str, ...], max_bytes: Quantity, kinds: Kinds = QUOTA_KINDS) -> Manifests:
    """Reads everything of these kinds under the paths.

    Raises:
        CommandError: a path cannot be read, or something in it is wrong; the message lists every problem.
    """
    manifests = Manifests(kinds=kinds)
    for path in _files(paths):
        name = "standard input" if path == STANDARD_INPUT else path
        try:
            _read_file(manifests, path, name, max_bytes, is_named=path in paths)
        except DocumentError as error:
            manifests.problems.append(f"{name} {error}")
        except RecursionError:
            manifests.problems.append(f"{name} is nested too deeply")
        except OSError as error:
            manifests.problems.append(f"{name} cannot be read: {error.strerror or error}")
    if manifests.problems:
        raise CommandError(problems_text(manifests.problems, "the manifests"))
    if not manifests.places:
        msg = f"no object that dqo reads in {', '.join(paths)}{_skipped_note(manifests.skipped)}"
        raise CommandError(msg)
    return manifests


def _read_file(manifests: Manifests, path: str, name: str, max_bytes: Quantity, *, is_named: bool) -> None:
    if not is_named and Path(path).exists() and not Path(path).is_file():
        # A FIFO or a device may never end; one that is named outright is read all the same.
        msg = "cannot be read: it is no regular file"
        raise DocumentError(msg)
    data = _content(path, max_bytes)
    found = False
    for document in documents(data, is_json=path.endswith(".json")):
        found = True
        if not document.is_searched:
            note = f"{name}: was not searched for duplicate keys, being a dump of {len(data)} bytes"
            manifests.notices.append(note)
        _take(manifests, document.content, Place(name, document.number, document.line))
    if not found and is_named:
        # Named and yet empty: what was to write it has failed, such as a kubectl at the other end of a pipe.
        msg = "holds no document"
        raise DocumentError(msg)


def _skipped_note(skipped: Counter[str]) -> str:
    return f"; skipped {skipped_text(skipped)}" if skipped else ""


# --- files ---------------------------------------------------------------------------------------------------------


def _files(paths: tuple[str, ...]) -> Iterator[str]:
    """Each file once, those of a folder by name. Hidden folders and files of other endings are passed over."""
    seen: set[str] = set()
    for path in paths:
        found = [path]
        if path != STANDARD_INPUT and Path(path).is_dir():
            found = sorted(_in_folder(path))
            if not found:
                msg = f"{path} holds no file that ends in {', '.join(SUFFIXES)}"
                raise CommandError(msg)
        for file in found:
            identity = file if file == STANDARD_INPUT else os.path.realpath(file)  # Path.resolve stumbles over loops
            if identity not in seen:
                seen.add(identity)
                yield file


def _in_folder(folder: str) -> Iterator[str]:
    def refuse(error: OSError) -> None:
        msg = f"{error.filename} cannot be read: {error.strerror}"
        raise CommandError(msg) from error

    for root, folders, files in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            path = Path(root) / name
            if name.endswith(SUFFIXES) and not name.startswith("."):
                yield str(path)


def _content(path: str, max_bytes: Quantity) -> bytes:
    """The whole file; one above the limit is refused before it fills the memory."""
    limit = max_bytes.nanos // Quantity.of(1).nanos
    if path == STANDARD_INPUT:
        if sys.stdin is None:  # closed before the start
            msg = "is closed"
            raise DocumentError(msg)
        data = _read_at_most(sys.stdin.buffer, limit + 1, _CHUNK)
    else:
        with Path(path).open("rb") as file:
            status = os.fstat(file.fileno())
            if stat.S_ISREG(status.st_mode) and status.st_size > limit:
                raise DocumentError(_too_large(max_bytes, status.st_size))
            data = _read_at_most(file, limit + 1, status.st_size + 1)
    if len(data) > limit:
        raise DocumentError(_too_large(max_bytes, None))
    return data


def _read_at_most(file: BinaryIO, most: int, first: int) -> bytes:
    """What there is, up to so many bytes. The limit is no request for memory: it is read in pieces."""
    pieces: list[bytes] = []
    piece = file.read(min(most, first))
    while piece:
        pieces.append(piece)
        most -= len(piece)
        piece = file.read(min(most, _CHUNK))
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _too_large(max_bytes: Quantity, size: int | None) -> str:
    has = f"has {size} bytes, more" if size is not None else "is larger"
    return f"{has} than the limit of {max_bytes}: raise --max-file-size"


# --- objects -------------------------------------------------------------------------------------------------------


class _RawList(msgspec.Struct):
    items: list[msgspec.Raw] | None = None


class _Head(msgspec.Struct):
    api_version: Any = msgspec.field(name="apiVersion", default="")
    kind: Any = ""


def _take(manifests: Manifests, content: Any, place: Place, default: tuple[str, str] | None = None) -> None:
    """Takes one object, or each of a List. `default` is the type of items that do not name their own (typed Lists)."""
    if not isinstance(content, dict | msgspec.Raw):
        manifests.problems.append(f"{place}: is {_kind_of(content)}, no Kubernetes object")
        return
    api_version, kind = _type_of(content)
    if default is not None:
        api_version, kind = api_version or default[0], kind or default[1]
    if not (isinstance(api_version, str) and isinstance(kind, str) and api_version and kind):
        manifests.problems.append(f"{place}: is no Kubernetes object: apiVersion and kind have to be strings")
        return
    items = _items_of(kind, content) if kind.endswith("List") else None
    if items is None and (api_version, kind) == ("v1", "List"):
        manifests.problems.append(f"{place}: items of the List have to be a list")
        return
    if items is not None:
        inner = None if (api_version, kind) == ("v1", "List") else (api_version, kind.removesuffix("List"))
        for number, item in enumerate(items, start=1):
            _take(manifests, item, place._replace(item=number), inner)
        return
    try:
        known = known_kind(api_version, kind, manifests.kinds)
        if known is None:
            manifests.skipped[f"{kind} ({api_version})"] += 1
            return
        version = api_version.rpartition("/")[2]
        decoded = (
            decode_json(known, version, content)
            if isinstance(content, msgspec.Raw)
            else decode(known, version, content)
        )
    except ObjectInvalid as error:
        key = ObjectKey(kind, name_of(content))
        manifests.problems += [f"{place}: {key}: {problem}" for problem in error.problems]
        return
    key = key_of(kind, decoded.object)
    manifests.notices += [f"{place}: {key}: {notice}" for notice in decoded.notices]
    manifests.add(kind, decoded.object, place)


def _type_of(content: dict[str, Any] | msgspec.Raw) -> tuple[Any, Any]:
    """apiVersion and kind; of undecoded JSON that begins as the API server writes it, without decoding it."""
    if isinstance(content, dict):
        return content.get("apiVersion", ""), content.get("kind", "")
    usual = _USUAL_HEAD.match(memoryview(content))
    if usual is not None:
        return usual[1].decode(), usual[2].decode()
    head = _head_of(content)
    return head.api_version, head.kind


def _items_of(kind: str, content: dict[str, Any] | msgspec.Raw) -> list[Any] | None:
    """The items of a List; of undecoded JSON undecoded too. None where there are none to be had."""
    if isinstance(content, dict):
        if kind != "List" and "items" not in content:
            return None  # some other kind whose name ends so
        items = content.get("items") or []  # null and absent: an empty list
        return items if isinstance(items, list) else None
    try:
        found = msgspec.json.decode(content, type=_RawList).items
    except msgspec.DecodeError:
        return None
    return [] if found is None and kind == "List" else found


def name_of(content: dict[str, Any] | msgspec.Raw) -> str:
    """The name of an object that cannot be decoded, with its namespace, as far as it has them."""
    plain: object = content
    if isinstance(content, msgspec.Raw):
        try:
            plain = plain_json(content)
        except ObjectInvalid:
            plain = None
    metadata = plain.get("metadata") if isinstance(plain, dict) else None
    name, namespace = (metadata.get("name"), metadata.get("namespace")) if isinstance(metadata, dict) else (None, None)
    if not (isinstance(name, str) and name):
        return "(no name)"
    return f"{namespace}/{name}" if isinstance(namespace, str) and namespace else name


def _head_of(raw: msgspec.Raw) -> _Head:
    try:
        return msgspec.json.decode(raw, type=_Head)
    except msgspec.DecodeError:
        return _Head()  # a list, a scalar, a number beyond all floats


def _kind_of(content: object) -> str:
    return "a list" if isinstance(content, list) else f"the value {str(content)[:60]!r}"
