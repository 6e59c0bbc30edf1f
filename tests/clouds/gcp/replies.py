"""HTTP answers of Google's services as they are sent: errors in the forms that each service has for them, faults."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, Final

_JSON: Final = "application/json; charset=UTF-8"


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer."""

    status: HTTPStatus
    body: bytes
    content_type: str = _JSON
    is_cut: bool = False
    """Whether the connection ends in the middle of the body."""


def answer(content: Mapping[str, Any]) -> Reply:
    """What was asked for."""
    return Reply(HTTPStatus.OK, json.dumps(content).encode())


def plain(text: str) -> Reply:
    """As the metadata server answers about one value."""
    return Reply(HTTPStatus.OK, text.encode(), "application/text")


def _error(code: HTTPStatus, message: str, reason: str, *, domain: str = "global", **more: Any) -> Reply:
    """The form of Compute Engine; other services have no `errors`, which no client misses."""
    errors = [{"message": message, "domain": domain, "reason": reason}]
    body = {"error": {"code": int(code), "message": message, "errors": errors, **more}}
    return Reply(code, json.dumps(body).encode())


def absent(what: str) -> Reply:
    """There is no such resource."""
    return _error(HTTPStatus.NOT_FOUND, f"The resource '{what}' was not found", "notFound")


def unknown_zone(zone: str) -> Reply:
    """As Compute Engine answers about a zone that does not exist, which is no 404."""
    message = f"Invalid value for field 'zone': '{zone}'. Unknown zone."
    return _error(HTTPStatus.BAD_REQUEST, message, "invalid")


def invalid(message: str) -> Reply:
    """The request makes no sense."""
    return _error(HTTPStatus.BAD_REQUEST, message, "badRequest", status="INVALID_ARGUMENT")


def denied(permission: str, resource: str) -> Reply:
    """By Compute Engine where it is one of its permissions, and as newer services say it."""
    if permission.startswith("compute."):
        return _error(HTTPStatus.FORBIDDEN, f"Required '{permission}' permission for '{resource}'", "forbidden")
    message = f"Permission '{permission}' denied on resource '//{resource}' (or it may not exist)."
    details = [
        {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "IAM_PERMISSION_DENIED",
            "domain": f"{permission.partition('.')[0]}.googleapis.com",
            "metadata": {"permission": permission, "resource": resource},
        }
    ]
    return _error(HTTPStatus.FORBIDDEN, message, "forbidden", status="PERMISSION_DENIED", details=details)


def unauthenticated() -> Reply:
    """The token is unknown, or valid no more."""
    message = (
        "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid "
        "authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project."
    )
    details = [
        {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "ACCESS_TOKEN_EXPIRED",
            "domain": "googleapis.com",
            "metadata": {},
        }
    ]
    return _error(HTTPStatus.UNAUTHORIZED, message, "authError", status="UNAUTHENTICATED", details=details)


# --- faults ----------------------------------------------------------------------------------------------------------


def service_disabled(service: str, number: str) -> Reply:
    """The API was never enabled in the project."""
    message = (
        f"{service} has not been used in project {number} before or it is disabled. Enable it by visiting "
        f"https://console.developers.google.com/apis/api/{service}/overview?project={number} then retry."
    )
    details = [
        {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "SERVICE_DISABLED",
            "domain": "googleapis.com",
            "metadata": {"service": service, "consumer": f"projects/{number}"},
        }
    ]
    return _error(
        HTTPStatus.FORBIDDEN,
        message,
        "accessNotConfigured",
        domain="usageLimits",
        status="PERMISSION_DENIED",
        details=details,
    )


_TOO_MANY: Final = (
    "Quota exceeded for quota metric 'Read requests' and limit 'Read requests per minute' of service "
    "'compute.googleapis.com' for consumer 'project_number:111122223333'."
)


def throttled() -> Reply:
    """As newer services say it, and the front end of all."""
    return _error(HTTPStatus.TOO_MANY_REQUESTS, _TOO_MANY, "rateLimitExceeded", status="RESOURCE_EXHAUSTED")


def rate_limit_exceeded() -> Reply:
    """As Compute Engine says that its rate was exceeded: with the status of a missing permission."""
    return _error(HTTPStatus.FORBIDDEN, _TOO_MANY, "rateLimitExceeded", domain="usageLimits")


def unavailable() -> Reply:
    """For a while."""
    message = "The service is currently unavailable."
    return _error(HTTPStatus.SERVICE_UNAVAILABLE, message, "backendError", status="UNAVAILABLE")


def broken() -> Reply:
    """Something has failed inside."""
    message = "Internal error encountered."
    return _error(HTTPStatus.INTERNAL_SERVER_ERROR, message, "backendError", status="INTERNAL")


def page(status: HTTPStatus = HTTPStatus.BAD_GATEWAY) -> Reply:
    """An HTML page, such as a proxy has, which is no answer of the service."""
    body = f"<!DOCTYPE html><html><head><title>Error {int(status)}</title></head><body>{status.phrase}</body></html>"
    return Reply(status, body.encode(), "text/html; charset=UTF-8")


def cut(right: Reply) -> Reply:
    """The right one, of which half arrives."""
    return replace(right, is_cut=True)
