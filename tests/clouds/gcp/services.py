"""The methods of Google's services that the provider uses: what each one answers, of what is known. No HTTP here."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from google.cloud import cloudquotas_v1, compute_v1

from tests.clouds.gcp.gcp import Gcp, Project, expiry, in_pages, zone_of
from tests.clouds.gcp.replies import Reply, absent, answer, denied, invalid, plain, unauthenticated, unknown_zone

_LIFETIME: Final = datetime.timedelta(hours=1)
_SCOPES: Final = ("https://www.googleapis.com/auth/cloud-platform",)


class Request(NamedTuple):
    """What was asked."""

    verb: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """By names in lower case."""
    body: bytes


class Answered(NamedTuple):
    """What came of it."""

    method: str
    subject: str
    principal: str
    reply: Reply


_Parts = Mapping[str, str]
_Method = Callable[[Gcp, _Parts, Request], Reply]


class _Route(NamedTuple):
    method: str
    verb: str
    path: re.Pattern[str]
    run: _Method
    queries: frozenset[str]
    """Those that it knows; another one is an error, since it would be left out of account."""


def serve(gcp: Gcp, request: Request) -> Answered:
    """The answer, whatever was asked."""
    for route in _ROUTES:
        found = route.path.fullmatch(request.path)
        if found and route.verb == request.verb:
            return _answered(gcp, route, found.groupdict(), request)
    return Answered("unknown", f"{request.verb} {request.path}", "", absent(request.path))


def _answered(gcp: Gcp, route: _Route, parts: _Parts, request: Request) -> Answered:
    subject = "/".join(parts.values())
    if route.method.startswith("metadata."):
        reply = route.run(gcp, parts, request)
        return Answered(route.method, subject, "", gcp.faulty(route.method, reply))
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    principal = gcp.principal_of(token) if kind == "Bearer" else ""
    unknown = set(request.query) - route.queries
    if not principal:
        reply = unauthenticated()
    elif route.method in gcp.denied:
        reply = denied(route.method, request.path.partition("/v1/")[2])
    elif unknown:
        reply = invalid(f"{request.path}: unknown parameters {sorted(unknown)}")
    else:
        reply = route.run(gcp, parts, request)
    return Answered(route.method, subject, principal, gcp.faulty(route.method, reply))


# --- Compute Engine --------------------------------------------------------------------------------------------------


def _message(of: Any, kind: Any) -> Reply:
    """As the service writes it: 64-bit numbers as texts, what is not set left out."""
    return answer(json.loads(kind.to_json(of, always_print_fields_with_no_presence=False)))


def _project(gcp: Gcp, parts: _Parts, request: Request) -> Reply:
    project = gcp.projects.get(parts["project"])
    if project is None:
        return absent(f"projects/{parts['project']}")
    del request
    whole = compute_v1.Project(kind="compute#project", name=project.id, id=int(project.number), quotas=project.quotas)
    return _message(whole, compute_v1.Project)


def _region(gcp: Gcp, parts: _Parts, request: Request) -> Reply:
    del request
    project = gcp.projects.get(parts["project"])
    if project is None or parts["region"] not in project.regions:
        return absent(f"projects/{parts['project']}/regions/{parts['region']}")
    return _message(project.regions[parts["region"]], compute_v1.Region)


def _machine_type(gcp: Gcp, parts: _Parts, request: Request) -> Reply:
    del request
    project = gcp.projects.get(parts["project"])
    if project is None or parts["zone"] not in _zones(project):
        return unknown_zone(parts["zone"])
    for each in project.machine_types:
        if (each.zone, each.name) == (parts["zone"], parts["type"]):
            return _message(each, compute_v1.MachineType)
    return absent(f"projects/{project.id}/zones/{parts['zone']}/machineTypes/{parts['type']}")


def _reservations(gcp: Gcp, parts: _Parts, request: Request) -> Reply:
    """One page. Zones that were not reached are told on the last one alone."""
    project = gcp.projects.get(parts["project"])
    if project is None:
        return absent(f"projects/{parts['project']}")
    pages = list(in_pages(project.reservations, gcp.reservations_a_page))
    number = int(request.query.get("pageToken", "0"))
    is_last = number == len(pages) - 1
    listed = compute_v1.ReservationAggregatedList(
        kind="compute#reservationAggregatedList",
        items=dict(_scopes(project, pages[number])),
        next_page_token="" if is_last else str(number + 1),
        unreachables=project.unreachable if is_last else [],
    )
    return _message(listed, compute_v1.ReservationAggregatedList)


def _scopes(project: Project, page: list[compute_v1.Reservation]) -> Iterator[tuple[str, Any]]:
    """Every zone, those without a reservation on this page with a warning, as usual."""
    for zone in sorted(_zones(project)):
        there = [each for each in page if zone_of(each) == zone]
        warning = compute_v1.Warning(
            code="NO_RESULTS_ON_PAGE", message=f"There are no results for scope 'zones/{zone}' on this page."
        )
        scoped = compute_v1.ReservationsScopedList
        yield f"zones/{zone}", scoped(reservations=there) if there else scoped(warning=warning)


def _zones(project: Project) -> set[str]:
    return {url.rpartition("/")[2] for each in project.regions.values() for url in each.zones}


# --- Cloud Quotas ----------------------------------------------------------------------------------------------------


def _quota_info(gcp: Gcp, parts: _Parts, request: Request) -> Reply:
    del request
    name = "projects/{project}/locations/global/services/{service}/quotaInfos/{quota}".format(**parts)
    for project in gcp.projects.values():
        for each in project.quota_infos:
            if each.name == name:
                return _message(each, cloudquotas_v1.QuotaInfo)
    return absent(name)


# --- IAM and the metadata server -------------------------------------------------------------------------------------


def _impersonated(gcp: Gcp, parts: _Parts, request: Request) -> Reply:
    wanted = json.loads(request.body)
    if not set(wanted) <= {"delegates", "scope", "lifetime"} or not wanted.get("scope"):
        return invalid(f"not a request for an access token: {sorted(wanted)}")
    if parts["email"] not in gcp.impersonable:
        return denied("iam.serviceAccounts.getAccessToken", f"iam.googleapis.com/{request.path}")
    return answer({"accessToken": gcp.give_token(parts["email"]), "expireTime": expiry(_LIFETIME)})


def _metadata(value: Callable[[Gcp], Reply]) -> _Method:
    def run(gcp: Gcp, parts: _Parts, request: Request) -> Reply:
        del parts
        if request.headers.get("metadata-flavor") != "Google":  # against requests that were sent elsewhere
            return denied("metadata", request.path)
        return value(gcp)

    return run


def _ping(gcp: Gcp) -> Reply:
    del gcp
    return plain("computeMetadata/\n")


def _first_project(gcp: Gcp) -> Reply:
    return plain(next(iter(gcp.projects), "fleet-1"))


def _account(gcp: Gcp) -> Reply:
    if gcp.metadata_account is None:
        return absent("instance/service-accounts/default")
    return answer({"aliases": ["default"], "email": gcp.metadata_account, "scopes": list(_SCOPES)})


def _token(gcp: Gcp) -> Reply:
    if gcp.metadata_account is None:
        return absent("instance/service-accounts/default/token")
    seconds = int(_LIFETIME.total_seconds())
    return answer({"access_token": gcp.give_token(gcp.metadata_account), "expires_in": seconds, "token_type": "Bearer"})


def _universe(gcp: Gcp) -> Reply:
    del gcp
    return plain("googleapis.com")


# ---------------------------------------------------------------------------------------------------------------------


def _route(method: str, path: str, run: _Method, *queries: str, verb: str = "GET") -> _Route:
    """The parts of the path in braces are given to the method."""
    return _Route(method, verb, re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/:]+)", path)), run, frozenset(queries))


_PROJECT: Final = "/compute/v1/projects/{project}"
_META: Final = "/computeMetadata/v1"
_ALT: Final = "$alt"
_ROUTES: Final = (
    _route("compute.projects.get", _PROJECT, _project),
    _route("compute.regions.get", f"{_PROJECT}/regions/{{region}}", _region),
    _route("compute.machineTypes.get", f"{_PROJECT}/zones/{{zone}}/machineTypes/{{type}}", _machine_type),
    _route(
        "compute.reservations.list",
        f"{_PROJECT}/aggregated/reservations",
        _reservations,
        "maxResults",
        "pageToken",
        "returnPartialSuccess",
    ),
    _route(
        "cloudquotas.quotas.get",
        "/v1/projects/{project}/locations/global/services/{service}/quotaInfos/{quota}",
        _quota_info,
        _ALT,
    ),
    _route(
        "iam.serviceAccounts.getAccessToken",
        "/v1/projects/-/serviceAccounts/{email}:generateAccessToken",
        _impersonated,
        verb="POST",
    ),
    _route("metadata.ping", "/", _metadata(_ping)),
    _route("metadata.project", f"{_META}/project/project-id", _metadata(_first_project)),
    _route("metadata.account", f"{_META}/instance/service-accounts/{{account}}/", _metadata(_account)),
    _route("metadata.token", f"{_META}/instance/service-accounts/{{account}}/token", _metadata(_token)),
    _route("metadata.universe", f"{_META}/universe/universe-domain", _metadata(_universe)),
)
