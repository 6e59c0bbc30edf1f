"""A project of Google Cloud, asked by the SDK's clients."""

from __future__ import annotations

from typing import Any, Final, TypeVar, cast

from google.cloud import cloudquotas_v1, compute_v1

from kueue_dqo.api.cloud import GcpProject
from kueue_dqo.api.wording import some
from kueue_dqo.provider import Misconfigured, SourceUnavailable
from providers.cloud_quota.cloud import Question, Record
from providers.cloud_quota.gcp import credentials, errors, messages
from providers.cloud_quota.gcp import questions as q
from providers.cloud_quota.gcp.calling import Caller, Send
from providers.cloud_quota.gcp.regions import Regions

COMPUTE_ENDPOINT: Final = "DQO_GCP_COMPUTE_ENDPOINT"
CLOUD_QUOTAS_ENDPOINT: Final = "DQO_GCP_CLOUD_QUOTAS_ENDPOINT"
"""Environment variables with addresses of the APIs, such as private endpoints; set by who runs the daemon."""

_PAGE_SIZE: Final = 500
_MOST_PAGES: Final = 200

T = TypeVar("T")


class GcpAccount:
    """One project and its clients.

    Raises:
        Misconfigured: no credentials are found, or an address in the environment is none.
        SourceUnavailable: the metadata server does not say in time whether it has some.
    """

    def __init__(self, account: GcpProject, record: Record) -> None:
        scopes = ([credentials.COMPUTE_SCOPE], [credentials.CLOUD_PLATFORM_SCOPE])
        try:
            compute, quotas = credentials.found(account.impersonate_service_account, scopes)
        except credentials.TooLate as error:
            raise SourceUnavailable(f"credentials of Google Cloud: {error}") from error
        except errors.NO_CREDENTIALS as error:
            # Without its cause, which may have the content of a file.
            raise errors.no_credentials(error) from None
        self._compute, self._quotas = Caller(compute, record), Caller(quotas, record)
        options = _options(COMPUTE_ENDPOINT)
        self._regions = Regions(compute_v1.RegionsClient(credentials=compute, client_options=options), self._compute)
        self._projects = compute_v1.ProjectsClient(credentials=compute, client_options=options)
        self._machine_types = compute_v1.MachineTypesClient(credentials=compute, client_options=options)
        self._reservations = compute_v1.ReservationsClient(credentials=compute, client_options=options)
        self._cloud_quotas = cloudquotas_v1.CloudQuotasClient(
            credentials=quotas, client_options=_options(CLOUD_QUOTAS_ENDPOINT), transport="rest"
        )

    def answer(self, question: Question[T], deadline: float) -> T:
        return cast("T", self._answer(question, deadline))

    def close(self) -> None:
        for client in (
            self._regions.client,
            self._projects,
            self._machine_types,
            self._reservations,
            self._cloud_quotas,
        ):
            client.transport.close()  # type: ignore[no-untyped-call] # of the SDK

    def _answer(self, question: Question[Any], deadline: float) -> object:
        match question:
            case q.RegionQuestion():
                return self._regions.quotas(question, deadline)
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

    def _project(self, question: q.ProjectQuestion, deadline: float) -> q.Quotas:
        asked = errors.Asked(
            permission=q.PROJECTS_GET,
            what=f"project {question.project}",
            project=question.project,
            absent="correct gcp.project, which is the project's id",
        )

        def ask(send: Send) -> q.Quotas:
            project = send(self._projects.get, compute_v1.GetProjectRequest(project=question.project))
            messages.same_name(project.name, question.project, f"{q.PROJECTS_GET}, {asked.what}")
            return messages.project_quotas(project, f"{q.PROJECTS_GET}, {asked.what}")

        return self._compute.call(asked, deadline, ask)

    def _machine(self, question: q.MachineQuestion, deadline: float) -> q.Machine:
        """Of the first zone that has it: a machine type is the same in all of them."""
        region = q.RegionQuestion(question.project, question.region)
        zones = self._regions.zones(region, deadline)
        for zone in zones:
            machine = self._machine_in(question, zone, deadline)
            if machine is not None:
                return machine
        raise Misconfigured(
            f"no zone of region {question.region} has machine type {question.machine_type} for project "
            f"{question.project} (asked: {some(zones)}): correct machineType or region of the entry"
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
            machine = send(self._machine_types.get, request)
            messages.same_name(machine.name, question.machine_type, f"{q.MACHINE_TYPES_GET}, {asked.what}")
            return messages.machine(machine, f"{q.MACHINE_TYPES_GET}, {asked.what}")

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
            messages.same_name(info.quota_id, question.quota_id, f"{q.CLOUD_QUOTAS_GET}, {asked.what}")
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
            what = f"{q.RESERVATIONS_LIST}, {asked.what}"
            found: list[q.Reservation] = []
            missing: list[str] = []
            tokens = {""}
            request = compute_v1.AggregatedListReservationsRequest(project=question.project, max_results=_PAGE_SIZE)
            while True:
                page = next(send(self._reservations.aggregated_list, request).pages)
                found += messages.reservations(page)
                missing += messages.missing(page)
                if not page.next_page_token:
                    return q.ReservationList(messages.unique(found, what), tuple(missing))
                if page.next_page_token in tokens or len(tokens) >= _MOST_PAGES:
                    raise SourceUnavailable(f"{what}: the pages of the answer have no end")
                tokens.add(page.next_page_token)
                request.page_token = page.next_page_token

        return self._compute.call(asked, deadline, ask, lambda answer: bool(answer.missing))


def _options(variable: str) -> dict[str, str] | None:
    endpoint = credentials.endpoint_of(variable)
    return {"api_endpoint": endpoint} if endpoint else None
