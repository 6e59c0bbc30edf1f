"""One small document of YAML or JSON that somebody else wrote and that may hold secrets, as plain values. Pure.

No message shows anything of its content: what YAML's own errors quote may be a part of a secret.
"""

from __future__ import annotations

from typing import Any, Final

import yaml

from kueue_dqo.runtime.errors import ConfigurationError

LARGEST: Final = 2**20
"""Bytes: as much as a Secret can hold."""
_DEEPEST: Final = 100
_MOST: Final = 100_000
"""Texts, lists and mappings: many more than a thousand clusters have. Their number costs time, not their length."""
_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the quicker one, where it was built


def read_document(text: bytes) -> Any:
    """Mappings with texts as keys, lists, texts, numbers, booleans, None.

    Raises ConfigurationError: more than 1 MiB, several documents, anchors, aliases, tags, keys that are twice in a
    mapping or no texts, or no YAML at all. What led to it is not chained to it.
    """
    if len(text) > LARGEST:
        raise ConfigurationError(f"it is larger than {LARGEST >> 20} MiB")
    try:
        decoded = text.decode()
        _check(decoded)
        return yaml.load(decoded, Loader=_Strict)  # noqa: S506 - a SafeLoader
    except yaml.MarkedYAMLError as error:
        fault = f"it is no YAML or JSON{_place(error.problem_mark)}"
    except (yaml.YAMLError, ValueError, RecursionError):
        fault = "it is no YAML or JSON"
    raise ConfigurationError(fault)


def _check(text: str) -> None:
    """Judges the document before any of it is built: an alias of an alias grows without limit."""
    depth = documents = 0
    for number, event in enumerate(yaml.parse(text, Loader=_LOADER)):
        if number > _MOST:
            raise ConfigurationError(f"it has more than {_MOST} parts")
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise ConfigurationError(f"it holds several documents{_place(event.start_mark)}; give one")
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise ConfigurationError(f"it has an anchor or an alias{_place(event.start_mark)}; write it out")
        if isinstance(event, (yaml.ScalarEvent, yaml.CollectionStartEvent)) and event.tag is not None:
            raise ConfigurationError(f"it has a tag{_place(event.start_mark)}; take it away")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise ConfigurationError(f"it is nested more than {_DEEPEST} deep{_place(event.start_mark)}")


class _Strict(_LOADER):  # type: ignore[misc] # which of the two it is turns out at run time
    """Without what YAML has and JSON has not: keys of all kinds, merged mappings, timestamps."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002 - PyYAML's
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
                raise ConfigurationError(f"it has a key that is no text{_place(key.start_mark)}")
            if key.value in seen:
                raise ConfigurationError(f"it has a key twice in a mapping{_place(key.start_mark)}")
            seen.add(key.value)
        built: dict[str, Any] = super().construct_mapping(node, deep=deep)
        return built


_Strict.add_constructor("tag:yaml.org,2002:timestamp", _Strict.construct_yaml_str)


def _place(mark: Any) -> str:
    return f" (line {mark.line + 1}, column {mark.column + 1})" if mark is not None else ""
