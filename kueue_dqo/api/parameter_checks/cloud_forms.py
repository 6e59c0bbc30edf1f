"""How texts of the clouds are written, as far as their definitions in `manifests/crds` check them too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from kueue_dqo.api.problems import SUBDOMAIN, FieldProblem, Form, unique

_GCP_REGION: Final = "[a-z]+-[a-z]+[0-9]+"
_GCP_LABEL: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"

# --- AWS -----------------------------------------------------------------------------------------------------------

AWS_REGION: Final = Form(re.compile("[a-z]+(-[a-z]+)+-[0-9]+"), 32, "region of AWS, such as us-east-1")
INSTANCE_TYPE: Final = Form(re.compile(r"[a-z][a-z0-9-]*\.[a-z0-9-]+"), 64, "instance type of EC2, such as p5.48xlarge")
QUOTA_CODE: Final = Form(
    re.compile("L-[0-9A-F]{8}"), 10, "code of a quota: L- and 8 of 0-9 and A-F, such as L-417A185B"
)
SERVICE_CODE: Final = Form(re.compile("[A-Za-z][A-Za-z0-9-]*"), 63, "service code of Service Quotas, such as ec2")
RESERVATION_ID: Final = Form(
    re.compile("cr-[0-9a-f]{8,17}"), 20, "id of a capacity reservation, such as cr-0123456789abcdef0"
)
ACCOUNT_ID: Final = Form(re.compile("[0-9]{12}"), 12, "id of an account: 12 digits in quotes, such as '111122223333'")
ROLE_ARN: Final = Form(
    re.compile(r"arn:aws(-[a-z]+)*:iam::[0-9]{12}:role/([!-~]+/)?[A-Za-z0-9+=,.@_-]{1,64}"),
    2048,
    "ARN of a role, such as arn:aws:iam::111122223333:role/kueue-dqo",
)
EXTERNAL_ID: Final = Form(
    re.compile("[A-Za-z0-9_+=,.@:/-]{2,}"), 1224, "external id: 2 to 1224 letters, digits and any of _+=,.@:/-"
)
LONGEST_TAG_KEY: Final = 128
LONGEST_TAG_VALUE: Final = 256
"""Characters. EC2 takes nearly any, and they are compared as they stand."""

# --- Google Cloud --------------------------------------------------------------------------------------------------

GCP_REGION: Final = Form(re.compile(_GCP_REGION), 32, "region of Google Cloud, such as us-central1")
GCP_ZONE: Final = Form(re.compile(f"{_GCP_REGION}-[a-z0-9]+"), 40, "zone of Google Cloud, such as us-central1-a")
PROJECT: Final = Form(
    re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?:)?[a-z][-a-z0-9]{4,28}[a-z0-9]"),
    128,
    "id of a project: 6 to 30 lower-case letters, digits and '-' (neither its number nor its display name)",
)
MACHINE_TYPE: Final = Form(re.compile(_GCP_LABEL), 63, "machine type of Compute Engine, such as a3-highgpu-8g")
GCP_RESERVATION: Final = Form(re.compile(_GCP_LABEL), 63, "name of a reservation, such as h100-2026 (not its URL)")
METRIC: Final = Form(re.compile("[A-Z][A-Z0-9_]*"), 128, "metric of Compute Engine, such as NVIDIA_L4_GPUS")
GLOBAL_METRIC: Final = Form(
    re.compile(f"({METRIC.pattern.pattern})?"), 128, "metric of a project, such as GPUS_ALL_REGIONS"
)
GPU_FAMILY: Final = Form(re.compile("[A-Z][A-Z0-9_]*"), 64, "GPU family of Cloud Quotas, such as NVIDIA_H100")
QUOTA_ID: Final = Form(
    re.compile("[A-Za-z0-9][A-Za-z0-9_.-]*"),
    128,
    "id of a quota of Cloud Quotas, such as GPUS-PER-GPU-FAMILY-per-project-region",
)
QUOTA_SERVICE: Final = Form(re.compile(SUBDOMAIN), 253, "service of Cloud Quotas, such as compute.googleapis.com")
SERVICE_ACCOUNT: Final = Form(
    re.compile(r"[a-z0-9][-a-z0-9]*@([a-z0-9]([-a-z0-9]*[a-z0-9])?\.)+gserviceaccount\.com"),
    254,
    "e-mail address of a service account, such as kueue-dqo@my-project.iam.gserviceaccount.com",
)

# -------------------------------------------------------------------------------------------------------------------


def texts(field: str, given: Sequence[str], form: Form, *, fewest: int, most: int) -> Iterator[FieldProblem]:
    """Of a list of texts of one form, each named once."""
    if len(given) < fewest:
        yield FieldProblem(field, f"is empty; {fewest} to {most} entries are allowed")
    yield from unique(field, given, most)
    for index, text in enumerate(given):
        yield from form.problems(f"{field}[{index}]", text)
