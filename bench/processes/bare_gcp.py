"""Google's libraries without anything of ours: the floor of a look at a project of Google Cloud.

As a process: what Python holds with it.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import google.auth
from google.cloud import cloudquotas_v1, compute_v1

from bench import accounts
from bench.processes.memory import print_memory


def open_(*, at_first: bool) -> Callable[[], int]:
    """New clients, and what makes the calls of a look, one after the other: returns their number."""
    found, _ = google.auth.default(scopes=["https://www.googleapis.com/auth/cloud-platform"])
    project, region = accounts.PROJECT, accounts.GCP_REGION
    options = {"api_endpoint": os.environ["DQO_GCP_COMPUTE_ENDPOINT"]}
    regions = compute_v1.RegionsClient(credentials=found, client_options=options)
    projects = compute_v1.ProjectsClient(credentials=found, client_options=options)
    machine_types = compute_v1.MachineTypesClient(credentials=found, client_options=options)
    reservations = compute_v1.ReservationsClient(credentials=found, client_options=options)
    quotas = cloudquotas_v1.CloudQuotasClient(
        credentials=found,
        client_options={"api_endpoint": os.environ["DQO_GCP_CLOUD_QUOTAS_ENDPOINT"]},
        transport="rest",
    )
    family = (
        f"projects/{project}/locations/global/services/compute.googleapis.com/quotaInfos/"
        "GPUS-PER-GPU-FAMILY-per-project-region"
    )

    def calls() -> int:
        regions.get(project=project, region=region)  # which also tells its zones
        projects.get(project=project)
        quotas.get_quota_info(name=family)
        list(reservations.aggregated_list(project=project).pages)
        if not at_first:
            return 4
        for name in ("g2-standard-96", "a3-highgpu-8g", "c3-standard-8"):
            machine_types.get(project=project, zone=f"{region}-a", machine_type=name)
        return 7

    return calls


if __name__ == "__main__":
    clients = open_(at_first=True)
    print_memory()
