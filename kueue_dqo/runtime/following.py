"""What a cache makes of a list or a watch that failed. Pure."""

from __future__ import annotations

from typing import Final

from kueue_dqo.runtime.errors import (
    Answered,
    ApiError,
    Forbidden,
    NotFound,
    ServerFailed,
    TooManyRequests,
    Unauthorized,
)
from kueue_dqo.runtime.resources import Resource

_LONGEST: Final = 1000
"""Characters."""
_AHEAD_OF_SERVER: Final = "Too large resource version"
"""How the API server says that it has not come to a resourceVersion yet; after its storage was restored, it never may.
It has no reason of its own for that, only this text (`NewTooLargeResourceVersionError`)."""


def must_list(error: ApiError) -> bool:
    """Whether a watch that failed so has to be begun with a list, and not where it was.

    A watch that broke off, was not allowed or was held back is resumed: a list costs the API server much more. What an
    event of the watch reports, too old a version among it, may come again for ever at the same place.
    """
    if not isinstance(error, Answered) or isinstance(error, (Unauthorized, Forbidden, TooManyRequests)):
        return False
    if isinstance(error, ServerFailed) and error.method != "WATCH":
        return any(_AHEAD_OF_SERVER in text for text in (error.message, *error.causes))
    return True


def problem_of(verb: str, resource: Resource, error: ApiError) -> str:
    """Why a cache is not up to date: one line for people, of what a server says no more than its beginning."""
    return _one_line(_problem_of(verb, resource, error))


def _problem_of(verb: str, resource: Resource, error: ApiError) -> str:
    name = resource.full_name
    if isinstance(error, NotFound):
        advice = "; is its CustomResourceDefinition installed?" if "." in resource.group else ""
        return f"the cluster has no {name}{advice}"
    if isinstance(error, Forbidden):
        return f"no permission to {verb} {name}: {error.message or error}"
    if isinstance(error, Unauthorized):
        return f"the API server does not accept the credentials to {verb} {name}: {error.message or error}"
    return f"cannot {verb} {name}: {error}"


def _one_line(text: str) -> str:
    shown = "".join(each if each.isprintable() else " " for each in text[:_LONGEST])
    return shown if len(text) <= _LONGEST else f"{shown}…"


def retry_after(error: ApiError) -> float | None:
    """For how many seconds the server wants to be left alone, where it says so."""
    return error.retry_after if isinstance(error, Answered) else None
