"""A project of Google Cloud, asked by the SDK's clients."""

from __future__ import annotations

import os
from typing import Any, Final, TypeVar, cast

from google.auth.exceptions import GoogleAuthError
from google.cloud import cloudquotas_v1, compute_v1

from kueue_dqo.api.cloud import GcpProject
from kueue_dqo.api.wording import some
from kueue_dqo.provider import Misconfigured
from providers.cloud_quota.cloud import Question, Record
from providers.cloud_quota.gcp import credentials, errors, messages
from providers.cloud_quota.gcp import questions as q
from providers.cloud_quota.gcp.calling import Caller, Send

COMPUTE_ENDPOINT: Final = "DQO_GCP_COMPUTE_ENDPOINT"
CLOUD_QUOTAS_ENDPOINT: Final = "DQO_GCP_CLOUD_QUOTAS_ENDPOINT"
"""Environment variables with addresses of the APIs, such as private endpoints; set by who runs the daemon."""

_PAGE_SIZE: Final = 500

T = TypeVar("T")


class GcpAccount:
    """One project and its clients. Raises Misconfigured where no credentials are found."""

    def __init__(self, account: GcpProject, record: Record) -> None:
        scopes = ([credentials.COMPUTE_SCOPE], [credentials.CLOUD_PLATFORM_SCOPE])
        try:
            compute, quotas = credentials.found(account.impersonate_service_account, scopes)
        except (GoogleAuthError, OSError) as error:
            raise errors.no_credentials(error) from error
        self._compute, self._quotas = Caller(compute, record), Caller(quotas, record)
        options = _options(COMPUTE_ENDPOINT)
        self._regions = compute_v1.RegionsClient(credentials=compute, client_options=options)
        self._projects = compute_v1.ProjectsClient(credentials=compute, client_options=options)
        self._machine_types = compute_v1.MachineTypesClient(credentials=compute, client_options=options)
        self._reservations = compute_v1.ReservationsClient(credentials=compute, client_options=options)
        self._cloud_quotas = cloudquotas_v1.CloudQuotasClient(
            credentials=quotas, client_options=_options(CLOUD_QUOTAS_ENDPOINT), transport="rest"
        )
        self._zones: dict[q.RegionQuestion, tuple[str, ...]] = {}

    def answer(self, question: Question[T], deadline: float) -> T:
        return cast("T", self._answer(question, deadline))

    def close(self) -> None:
        for client in (self._regions, self._projects, self._machine_types, self._reservations, self._cloud_quotas):
            client.transport.close()  # type: ignore[no-untyped-call] # of the SDK

    def _answer(self, question: Question[Any], deadline: float) -> object:
        match question:
            case q.RegionQuestion():
                return self._region(question, deadline)
            case q.ProjectQuestion():
                return self._project(question, deadline)
            case q.MachineQuestion():
                return self._machine(question, deadline)
            case q.FamilyQuestion():
                return self._family(question, deadline)
            case q.ReservationsQuestion():
                return self._reservation_list(question, deadline)
            case _:
                raise TypeError(f"{question} is no question for Google Cloud")

    # --- each question -----------------------------------------------------------------------------------------------

    def _region(self, question: q.RegionQuestion, deadline: float) -> q.Quotas:
        what = f"region {question.region} of project {question.project}"

        def ask(send: Send) -> q.Quotas:
            region = self._get_region(send, question)
            return messages.region_quotas(region, f"{q.REGIONS_GET}, {what}")

        return self._compute.call(_region_asked(question), deadline, ask)

    def _project(self, question: q.ProjectQuestion, deadline: float) -> q.Quotas:
        asked = errors.Asked(
            permission=q.PROJECTS_GET,
            what=f"project {question.project}",
            project=question.project,
            absent="correct gcp.project, which is the project's id",
        )

        def ask(send: Send) -> q.Quotas:
            request = compute_v1.GetProjectRequest(project=question.project)
            return messages.project_quotas(send(self._projects.get, request), f"{q.PROJECTS_GET}, {asked.what}")

        return self._compute.call(asked, deadline, ask)

    def _machine(self, question: q.MachineQuestion, deadline: float) -> q.Machine:
        """Of the first zone that has it: a machine type is the same in all of them."""
        region = q.RegionQuestion(question.project, question.region)
        zones = self._zones.get(region)
        if zones is None:
            zones = self._compute.call(
                _region_asked(region), deadline, lambda send: messages.zones_of(self._get_region(send, region))
            )
        for zone in zones:
            machine = self._machine_in(question, zone, deadline)
            if machine is not None:
                return machine
        raise Misconfigured(
            f"no zone of region {question.region} has machine type {question.machine_type} for project "
            f"{question.project} (asked: {some(zones) or 'none'}): correct machineType or region of the entry"
        )

    def _machine_in(self, question: q.MachineQuestion, zone: str, deadline: float) -> q.Machine | None:
        asked = errors.Asked(
            permission=q.MACHINE_TYPES_GET,
            what=f"machine type {question.machine_type} in {zone} of project {question.project}",
            project=question.project,
            absent="correct machineType of the entry",
            region=question.region,
            subject=f"{zone}/{question.machine_type}",
        )

        def ask(send: Send) -> q.Machine:
            request = compute_v1.GetMachineTypeRequest(
                project=question.project, zone=zone, machine_type=question.machine_type
            )
            return messages.machine(send(self._machine_types.get, request))

        return self._compute.call_or_none(asked, deadline, ask)

    def _family(self, question: q.FamilyQuestion, deadline: float) -> tuple[q.QuotaRow, ...]:
        asked = errors.Asked(
            permission=q.CLOUD_QUOTAS_GET,
            what=f"quota {question.quota_id} of {question.service} of project {question.project}",
            project=question.project,
            absent="correct quotaId or service of gpuFamily",
            subject=f"{question.service}/{question.quota_id}",
        )
        name = (
            f"projects/{question.project}/locations/global/services/{question.service}/quotaInfos/{question.quota_id}"
        )

        def ask(send: Send) -> tuple[q.QuotaRow, ...]:
            request = cloudquotas_v1.GetQuotaInfoRequest(name=name)
            info = send(self._cloud_quotas.get_quota_info, request)
            return messages.quota_rows(info, f"{q.CLOUD_QUOTAS_GET}, {asked.what}")

        return self._quotas.call(asked, deadline, ask)

    def _reservation_list(self, question: q.ReservationsQuestion, deadline: float) -> q.ReservationList:
        asked = errors.Asked(
            permission=q.RESERVATIONS_LIST,
            what=f"reservations of project {question.project}",
            project=question.project,
            absent="correct the project of the reservations",
            subject=question.project,
        )

        def ask(send: Send) -> q.ReservationList:
            """Page by page, since the iterator over zones hides what could not be reached."""
            found: list[q.Reservation] = []
            missing: list[str] = []
            request = compute_v1.AggregatedListReservationsRequest(project=question.project, max_results=_PAGE_SIZE)
            while True:
                page = next(send(self._reservations.aggregated_list, request).pages)
                found += messages.reservations(page)
                missing += messages.missing(page)
                if not page.next_page_token:
                    return q.ReservationList(tuple(found), tuple(missing))
                request.page_token = page.next_page_token

        return self._compute.call(asked, deadline, ask, lambda answer: bool(answer.missing))

    def _get_region(self, send: Send, question: q.RegionQuestion) -> compute_v1.Region:
        request = compute_v1.GetRegionRequest(project=question.project, region=question.region)
        region = send(self._regions.get, request)
        if not isinstance(region, compute_v1.Region):
            raise TypeError(f"a region is a {type(region).__name__}")
        self._zones[question] = messages.zones_of(region)
        return region


def _region_asked(question: q.RegionQuestion) -> errors.Asked:
    return errors.Asked(
        permission=q.REGIONS_GET,
        what=f"region {question.region} of project {question.project}",
        project=question.project,
        absent="correct gcp.project, which is the project's id, or gcp.regions",
        region=question.region,
    )


def _options(variable: str) -> dict[str, str] | None:
    endpoint = os.environ.get(variable)
    return {"api_endpoint": endpoint.rstrip("/")} if endpoint else None
