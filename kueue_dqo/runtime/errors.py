"""What a request to the API server can end in, and which of it passes by itself."""

from __future__ import annotations

from http import HTTPStatus

_OF_A_WEBHOOK = "admission webhook "


class ConfigurationError(Exception):
    """No way to the API server is configured, or the configuration cannot be used. The message names its source."""


class ApiError(Exception):
    """A request that did not succeed. The message names its method and path, and nothing secret."""

    def __init__(self, text: str, *, method: str, path: str) -> None:
        super().__init__(f"{method} {path}: {text}")
        self.method = method
        self.path = path


class Unreachable(ApiError):
    """No answer: refused, reset, timed out, no TLS, or a stream that broke off or fell silent."""

    def __init__(self, text: str, *, method: str, path: str, may_have_landed: bool) -> None:
        super().__init__(text, method=method, path=path)
        self.may_have_landed = may_have_landed
        """False only where it is certain that the API server never saw the request."""


class Silent(Unreachable):
    """A stream is open, but nothing has come for too long."""


class Answered(ApiError):
    """An answer that is no success."""

    def __init__(  # noqa: PLR0913 - the parts of an answer, all by keyword
        self,
        *,
        method: str,
        path: str,
        code: int,
        reason: str = "",
        message: str = "",
        causes: tuple[str, ...] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(
            f"{code} {reason or _phrase(code)}" + (f": {message}" if message else ""), method=method, path=path
        )
        self.code = code
        """The HTTP status code; 410 also where a watch that was answered with 200 reports it as an event."""
        self.reason = reason
        """The reason in the Kubernetes Status, empty where the answer is none."""
        self.message = message
        self.causes = causes
        """`field: message` of each of the Status' `details.causes`."""
        self.retry_after = retry_after
        """For how many seconds the server wants to be left alone, where it says so."""


class Unauthorized(Answered):
    """401: the credentials are not, or no longer, known."""


class Forbidden(Answered):
    """403: known, but not allowed; or refused by an admission plugin."""

    @property
    def is_missing_right(self) -> bool:
        """Whether it is the caller who may not do this, whatever it writes, and no admission plugin that refuses.

        Nothing but the API server's words tells. Just after its start it says so of rights that it has not read yet.
        """
        return ': User "' in self.message and '" cannot ' in self.message


class NotFound(Answered):
    """404: no such object, or no such resource."""


class Conflict(Answered):
    """409: changed in the meantime, owned by another manager, or there already (`reason` AlreadyExists)."""


class Gone(Answered):
    """410: the resourceVersion or the continue token is too old."""


class Invalid(Answered):
    """422: refused by validation, or a JSON patch that does not fit the object."""

    @property
    def is_failed_test(self) -> bool:
        """Whether a JSON patch was refused because one of its `test` operations failed, and not by a webhook.

        The API server words a patch that does not apply and an object that is not valid with the same code, but names
        causes only for the object.
        """
        return not self.causes and not self.message.startswith(_OF_A_WEBHOOK)


class TooManyRequests(Answered):
    """429: priority and fairness, or an eviction that has to wait."""


class ServerFailed(Answered):
    """500 and above: the API server, its storage, a webhook, or a proxy before it."""


def is_transient(error: BaseException) -> bool:
    """Whether the same request may well succeed later, with fresh data, although nobody changes anything by hand.

    A 401 counts because tokens are rotated; 409 and 410 because reading anew resolves them.
    """
    return isinstance(error, (Unreachable, Unauthorized, Conflict, Gone, TooManyRequests, ServerFailed))


def _phrase(code: int) -> str:
    try:
        return HTTPStatus(code).phrase
    except ValueError:
        return "(no code of HTTP)"
