"""The services answer what Google's unmodified clients understand, and fail as these know it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any, Final

import pytest
import requests
from google.api_core import exceptions
from google.cloud import cloudquotas_v1, compute_v1
from google.oauth2.credentials import Credentials

from tests.clouds.gcp import replies
from tests.clouds.gcp.gcp import WORKLOAD, Gcp, Project
from tests.clouds.gcp.server import Services, gcp_services
from tests.clouds.gcp.things import (
    COMPUTE,
    GPU_FAMILIES,
    UNLIMITED,
    gpu_families,
    machine_type,
    quotas,
    region,
    reservation,
    without_quotas,
)

P: Final = "fleet-1"
REGION: Final = "us-central1"
ZONE: Final = "us-central1-a"
QUOTA: Final = f"projects/{P}/locations/global/services/{COMPUTE}/quotaInfos/{GPU_FAMILIES}"


@pytest.fixture(scope="module")
def services() -> Iterator[Services]:
    with gcp_services() as running:
        yield running


@pytest.fixture
def gcp(services: Services) -> Gcp:
    """A project with something of everything."""
    services.gcp.reset()
    services.gcp.add(
        Project(
            P,
            regions={REGION: region(P, REGION, {"NVIDIA_L4_GPUS": 16, "C3_CPUS": UNLIMITED})},
            quotas=quotas({"GPUS_ALL_REGIONS": 8}),
            machine_types=[
                machine_type(P, ZONE, "g2-standard-96", vcpus=96, memory_mib=393216, accelerators={"nvidia-l4": 8})
            ],
            reservations=[
                reservation(P, ZONE, "first", "a3-highgpu-8g", 4, in_use=1),
                reservation(P, "us-central1-b", "first", "a3-highgpu-8g", 2, shared_with=["other"]),
                reservation(P, ZONE, "second", "n1-standard-8", 3, accelerators={"nvidia-tesla-t4": 4}),
            ],
            quota_infos=[
                gpu_families(P, [({"region": REGION, "gpu_family": "NVIDIA_H100"}, 64, [REGION]), ({}, -1, [])])
            ],
        )
    )
    return services.gcp


class Clients:
    """Google's own, with a token of the services."""

    def __init__(self, services: Services) -> None:
        credentials = Credentials(token=services.gcp.give_token(WORKLOAD))  # type: ignore[no-untyped-call]
        options: Any = {"credentials": credentials, "client_options": {"api_endpoint": services.url}}
        self.regions = compute_v1.RegionsClient(**options)
        self.projects = compute_v1.ProjectsClient(**options)
        self.machine_types = compute_v1.MachineTypesClient(**options)
        self.reservations = compute_v1.ReservationsClient(**options)
        self.cloud_quotas = cloudquotas_v1.CloudQuotasClient(transport="rest", **options)

    def region(self, name: str = REGION, timeout: float = 10.0) -> compute_v1.Region:
        return self.regions.get(project=P, region=name, timeout=timeout, retry=None)


@pytest.fixture
def clients(services: Services, gcp: Gcp) -> Clients:
    del gcp  # first: it forgets all tokens
    return Clients(services)


def test_quotas_arrive_as_they_are(gcp: Gcp, clients: Clients) -> None:
    """Of a region and of the project; without them, there is a warning."""
    assert {each.metric: each.limit for each in clients.region().quotas} == {"NVIDIA_L4_GPUS": 16, "C3_CPUS": UNLIMITED}
    assert [(each.metric, each.limit) for each in clients.projects.get(project=P).quotas] == [("GPUS_ALL_REGIONS", 8)]
    gcp.projects[P].regions[REGION] = without_quotas(gcp.projects[P].regions[REGION])
    found = clients.region()
    assert (len(found.quotas), bool(found.quota_status_warning.code), len(found.zones)) == (0, True, 4)
    info = clients.cloud_quotas.get_quota_info(name=QUOTA)
    assert [(dict(each.dimensions), each.details.value) for each in info.dimensions_infos] == [
        ({"region": REGION, "gpu_family": "NVIDIA_H100"}, 64),
        ({}, -1),
    ]


def test_a_machine_type_arrives_as_it_is(clients: Clients) -> None:
    """One that a zone does not have is absent; a zone that there is not, is an error of another kind."""
    found = clients.machine_types.get(project=P, zone=ZONE, machine_type="g2-standard-96")
    assert (found.guest_cpus, found.memory_mb) == (96, 393216)
    assert [(each.guest_accelerator_type, each.guest_accelerator_count) for each in found.accelerators] == [
        ("nvidia-l4", 8)
    ]
    with pytest.raises(exceptions.NotFound, match="us-central1-b/machineTypes/g2-standard-96"):
        clients.machine_types.get(project=P, zone="us-central1-b", machine_type="g2-standard-96")
    with pytest.raises(exceptions.BadRequest, match="Unknown zone"):
        clients.machine_types.get(project=P, zone="mars-a", machine_type="g2-standard-96")


def test_reservations_come_in_pages_and_the_last_one_tells_what_is_missing(gcp: Gcp, clients: Clients) -> None:
    gcp.projects[P].unreachable = ["zones/us-central1-f"]
    pages = list(clients.reservations.aggregated_list(project=P).pages)
    assert [list(page.unreachables) for page in pages] == [[], ["zones/us-central1-f"]]
    found = [each for page in pages for scoped in page.items.values() for each in scoped.reservations]
    # Scopes are a map: they come in any order.
    assert sorted((each.name, each.zone[-1], each.specific_reservation.count) for each in found) == [
        ("first", "a", 4),
        ("first", "b", 2),
        ("second", "a", 3),
    ]
    assert gcp.counts() == {"compute.reservations.list": 2}


def test_what_a_client_asks_beyond_what_is_served_is_refused(clients: Clients) -> None:
    """A filter would be left out of account otherwise."""
    request = compute_v1.AggregatedListReservationsRequest(project=P, filter="name = first")
    with pytest.raises(exceptions.BadRequest, match="filter"):
        clients.reservations.aggregated_list(request=request)


def test_who_may_not_ask_is_refused(gcp: Gcp, clients: Clients) -> None:
    """Without a right; with a token that is accepted no more."""
    gcp.denied = {"compute.regions.get", "cloudquotas.quotas.get"}
    with pytest.raises(exceptions.Forbidden, match=r"Required 'compute.regions.get' permission for 'projects/fleet-1/"):
        clients.region()
    with pytest.raises(exceptions.Forbidden, match=r"cloudquotas.quotas.get"):
        clients.cloud_quotas.get_quota_info(name=QUOTA)
    gcp.mend()
    gcp.refuses_all_tokens = True
    with pytest.raises(exceptions.Unauthorized):
        compute_v1.RegionsClient(
            credentials=_Fixed(token="ya29.unknown"),  # type: ignore[no-untyped-call]  # noqa: S106
            client_options={"api_endpoint": str(clients.regions.api_endpoint)},
        ).get(project=P, region=REGION)
    assert [each.principal for each in gcp.asked("compute.regions.get")] == [WORKLOAD, "", "", ""]


class _Fixed(Credentials):
    """Has no other token to get."""

    def refresh(self, request: Any) -> None:
        del request


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (replies.throttled, exceptions.TooManyRequests),
        (replies.rate_limit_exceeded, exceptions.Forbidden),
        (replies.unavailable, exceptions.ServiceUnavailable),
        (replies.broken, exceptions.InternalServerError),
        (replies.page, exceptions.BadGateway),
        (lambda: replies.service_disabled(COMPUTE, "111122223333"), exceptions.Forbidden),
    ],
    ids=["429", "rate", "503", "500", "page", "disabled"],
)
def test_faults_are_what_clients_know(
    reply: Callable[[], replies.Reply], kind: type[Exception], gcp: Gcp, clients: Clients
) -> None:
    """So many times, and no longer."""
    gcp.fail("compute.regions.get", reply(), times=2)
    for _ in range(2):
        with pytest.raises(kind):
            clients.region()
    assert len(clients.region().quotas) == 2


def test_answers_may_end_early_or_not_come(gcp: Gcp, clients: Clients) -> None:
    """As the transport tells it."""
    gcp.fail("compute.regions.get", replies.cut, times=1)
    with pytest.raises(requests.exceptions.ChunkedEncodingError):
        clients.region()
    gcp.fail("compute.regions.get", replies.page(HTTPStatus.OK), times=1)
    with pytest.raises(Exception, match="Failed to load JSON"):
        clients.region()
    gcp.hold("compute.regions.get")
    with pytest.raises(requests.exceptions.ReadTimeout):
        clients.region(timeout=0.2)
    gcp.release()
    assert len(clients.region().quotas) == 2


_SCRIPT: Final = """
import os, google.auth, google.auth.impersonated_credentials as impersonated
from google.auth.transport.requests import Request
credentials, project = google.auth.default(scopes=["https://www.googleapis.com/auth/cloud-platform"])
credentials.refresh(Request())
print(project, credentials.service_account_email, credentials.universe_domain)
target = "reader@fleet-2.iam.gserviceaccount.com"
url = os.environ["DQO_GCP_IAM_CREDENTIALS_ENDPOINT"] + f"/v1/projects/-/serviceAccounts/{target}:generateAccessToken"
other = impersonated.Credentials(credentials, target, credentials.scopes, iam_endpoint_override=url)
other.refresh(Request())
print(other.token, other.valid)
"""


def test_credentials_are_found_as_in_a_pod(gcp: Gcp, services: Services) -> None:
    """By Workload Identity, and then those of another account. In a process of its own: it is read at import."""
    gcp.impersonable.add("reader@fleet-2.iam.gserviceaccount.com")
    environment = os.environ | services.environment()
    done = subprocess.run([sys.executable, "-c", _SCRIPT], env=environment, capture_output=True, text=True, check=False)
    first, second = done.stdout.splitlines() or [done.stderr, ""]
    assert first == f"{P} {WORKLOAD} googleapis.com"
    token, is_valid = second.split()
    assert is_valid == "True"
    assert gcp.principal_of(token) == "reader@fleet-2.iam.gserviceaccount.com"
