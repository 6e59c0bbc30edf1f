"""A process that calls functions of the unmodified `pynvml` for a test: see `asking.py`. Run as a program."""

from __future__ import annotations

import ctypes
import json
import sys
from typing import Any

import pynvml  # type: ignore[import-untyped]  # it ships no types

_kept: list[Any] = []


def _encoded(value: Any) -> Any:
    match value:
        case ctypes.Union():
            return value.ullVal  # of a field's value
        case ctypes.Structure():
            return {name: _encoded(getattr(value, name)) for name, *_ in value._fields_}
        case list() | tuple() | ctypes.Array():
            return [_encoded(each) for each in value]
        case ctypes._SimpleCData():  # noqa: SLF001  # the only name of this type
            value = value.value
        case ctypes._Pointer():  # noqa: SLF001  # as above
            _kept.append(value)
            return {"kept": len(_kept) - 1} if bool(value) else None
        case pynvml.nvmlFriendlyObject():
            value = vars(value)
    return value


def _decoded(value: Any) -> Any:
    return _kept[value["kept"]] if isinstance(value, dict) else value


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    try:
        function = getattr(pynvml, request["function"])
        return {"value": _encoded(function(*map(_decoded, request["arguments"])))}
    except pynvml.NVMLError as error:
        return {"code": error.value}


if __name__ == "__main__":
    for line in sys.stdin:
        sys.stdout.write(f"{json.dumps(_answer(json.loads(line)))}\n")
        sys.stdout.flush()
