"""The clouds by their names. The code of one is loaded when it is first asked for, its SDK when it is opened."""

from __future__ import annotations

import pkgutil
from typing import Final, cast

from kueue_dqo.api.cloud import CloudQuotaParametersSpec
from kueue_dqo.provider import Misconfigured
from providers.cloud_quota.cloud import Cloud

_PLACES: Final = {
    "aws": "providers.cloud_quota.aws.cloud:CLOUD",
    "gcp": "providers.cloud_quota.gcp.cloud:CLOUD",
}
"""By the field of the spec, which is also the name of the extra with the SDK."""


def cloud_of(spec: CloudQuotaParametersSpec) -> Cloud:
    """The cloud whose account the parameters are about. Raises Misconfigured where they name none, or several."""
    if spec.cloud is None:
        raise Misconfigured(f"spec: exactly one of {', '.join(_PLACES)} is wanted")
    return cast("Cloud", pkgutil.resolve_name(_PLACES[spec.cloud]))


def not_installed(cloud: str, error: ImportError) -> Misconfigured:
    """What to say where its SDK cannot be imported."""
    return Misconfigured(
        f"the SDK of {cloud} cannot be loaded ({error}): install kueue-dqo[{cloud}], or run an image that has it"
    )
