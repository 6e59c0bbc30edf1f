"""A v1 List of objects in JSON or YAML, as commands print it."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import msgspec

from kueue_dqo.cli.documents import plain_scalar
from kueue_dqo.cli.errors import CommandError


def listed(items: list[dict[str, Any]]) -> dict[str, Any]:
    """The items as a v1 List."""
    return {"apiVersion": "v1", "kind": "List", "items": items}


def as_json(content: dict[str, Any], *, ascii_only: bool = False) -> str:
    """As JSON; other characters than ASCII's are escaped where the output cannot hold them."""
    if ascii_only:
        return json.dumps(content, indent=2) + "\n"
    return msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n"


def as_yaml(content: dict[str, Any], *, ascii_only: bool = False) -> str:
    """As YAML, like `as_json`. Raises CommandError where PyYAML is not installed."""
    try:
        import yaml  # only those who want YAML need it
    except ImportError as error:
        msg = "YAML needs PyYAML: install kueue-dqo[cli], or use -o json"
        raise CommandError(msg) from error

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]  # chosen at run time
        def ignore_aliases(self, data: object) -> bool:
            del data
            return True

    def string(dumper: Any, text: str) -> Any:
        style = '"' if _LOOKS_LIKE_A_NUMBER.match(text) or plain_scalar(text) != text else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(str, string)
    return str(yaml.dump(content, Dumper=Dumper, sort_keys=False, allow_unicode=not ascii_only, width=120))


_LOOKS_LIKE_A_NUMBER: Final = re.compile(r"[-+.]?[0-9]")
"""Quoted, so that no reader takes `120e3` for a number, whatever its version of YAML."""
