"""What a daemon makes of the way its pod starts it."""

from __future__ import annotations

import os
from typing import Any, Final

import click
import pytest

from kueue_dqo.cli.main import dqo
from tests.manifests.rendered import container

FIELD_OF: Final = {"DQO_NAMESPACE": "metadata.namespace", "DQO_IDENTITY": "metadata.name"}
"""Of the daemons that elect a leader."""


def environment(name: str) -> dict[str, dict[str, Any]]:
    """The variables of its container, by name."""
    return {each["name"]: each for each in container(name)["env"]}


def command(name: str, monkeypatch: pytest.MonkeyPatch) -> click.Context:
    """The command that its container runs, with its options; it is not run."""
    for variable in [each for each in os.environ if each.startswith("DQO_")]:
        monkeypatch.delenv(variable)
    for variable, given in environment(name).items():
        monkeypatch.setenv(variable, given.get("value") or _from(given["valueFrom"]["fieldRef"]["fieldPath"]))
    context = click.Context(dqo)
    rest = list(container(name)["args"])
    while isinstance(context.command, click.Group):
        each = rest.pop(0)
        found = context.command.get_command(context, each)
        assert found is not None, f"dqo has no command {' '.join(container(name)['args'])}"
        is_group = isinstance(found, click.Group)
        context = click.Context(found, info_name=each) if is_group else found.make_context(each, rest)
    return context


def _from(field: str) -> str:
    """What stands for a field of the pod."""
    return "from-" + field.replace(".", "-").lower()
