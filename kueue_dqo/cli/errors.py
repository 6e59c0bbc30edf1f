"""Errors that end the command: one clear message, and the exit code."""

from __future__ import annotations

from typing import Final

EXIT_ERROR: Final = 1
EXIT_CHANGES: Final = 2
EXIT_NOT_DISTRIBUTED: Final = 3


class CommandError(Exception):
    """The command cannot go on; the message is for a person and names the way out."""


class NoCluster(CommandError):
    """No cluster is configured, or none can be reached."""
