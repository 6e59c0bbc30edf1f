"""What a daemon makes of the way its pod starts it."""

from __future__ import annotations

import os
from typing import Any, Final

import click
import pytest

from kueue_dqo.cli.main import dqo
from tests.manifests.rendered import container

FIELD_OF: Final = {"DQO_NAMESPACE": "metadata.namespace", "DQO_IDENTITY": "metadata.name"}


def environment(name: str) -> dict[str, dict[str, Any]]:
    """The variables of its container, by name."""
    return {each["name"]: each for each in container(name)["env"]}


def command(name: str, monkeypatch: pytest.MonkeyPatch) -> click.Context:
    """The command that its container runs, with its options; it is not run."""
    for variable in [each for each in os.environ if each.startswith("DQO_")]:
        monkeypatch.delenv(variable)
    for variable, given in environment(name).items():
        monkeypatch.setenv(variable, given.get("value") or "from-" + FIELD_OF[variable].replace(".", "-"))
    *groups, last = container(name)["args"]
    context = click.Context(dqo)
    for each in (*groups, last):
        assert isinstance(context.command, click.Group)
        found = context.command.get_command(context, each)
        assert found is not None, f"dqo has no command {' '.join(container(name)['args'])}"
        context = click.Context(found, info_name=each) if each in groups else found.make_context(each, [])
    return context
