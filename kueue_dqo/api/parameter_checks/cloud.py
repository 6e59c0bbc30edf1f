"""What is asked of an account of a cloud: the rules that all clouds have in common. Each has a module with its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from kueue_dqo.api import dqo
from kueue_dqo.api.cloud import CLOUDS, CloudAccount, CloudEntry, CloudQuotaParametersSpec, flavors_of
from kueue_dqo.api.parameter_checks.cloud_aws import aws_account_problems, aws_entry_problems
from kueue_dqo.api.parameter_checks.cloud_forms import AWS_REGION, GCP_REGION, texts
from kueue_dqo.api.parameter_checks.cloud_gcp import gcp_account_problems, gcp_entry_problems
from kueue_dqo.api.parameter_checks.cloud_shares import share_problems
from kueue_dqo.api.parameter_checks.common import named
from kueue_dqo.api.problems import OBJECT_NAME, RESOURCE_NAME, FieldProblem, Form, amount, list_map, shown
from kueue_dqo.api.quantity import NANOS
from kueue_dqo.api.resources import CPU
from kueue_dqo.api.wording import some

MAX_REGIONS: Final = 32
MAX_ENTRIES: Final = 16
"""Of one flavor."""
MAX_INSTANCES: Final = 1_000_000
"""More is a slip of the pen."""
IN_CATALOGUES: Final = (
    *(CPU, "memory"),
    *("nvidia.com/gpu", "amd.com/gpu", "aws.amazon.com/neuron", "habana.ai/gaudi", "google.com/tpu"),
)
"""What catalogues of clouds may say of an instance type; the amount of anything else has to be in `perInstance`."""


def cloud_quota_problems(spec: CloudQuotaParametersSpec) -> Iterator[FieldProblem]:
    """Every problem of the fields that only this provider has, and of those that it has its own rules for."""
    if spec.cloud is None:
        has = "neither" if spec.aws is None else "both"
        yield FieldProblem("spec", f"has {has} of {' and '.join(CLOUDS)}: give one of them, and each account an object")
        return
    if spec.aws is not None:
        field = "spec.aws"
        yield from aws_account_problems(field, spec.aws)
        yield from _account(field, spec.aws, AWS_REGION)
        for index, flavor in enumerate(spec.aws.flavors):
            for number, entry in enumerate(flavor.entries):
                yield from aws_entry_problems(f"{field}.flavors[{index}].entries[{number}]", entry)
        yield from share_problems(field, spec.aws)
    if spec.gcp is not None:
        field = "spec.gcp"
        yield from gcp_account_problems(field, spec.gcp)
        yield from _account(field, spec.gcp, GCP_REGION)
        for index, machines in enumerate(spec.gcp.flavors):
            for number, each in enumerate(machines.entries):
                yield from gcp_entry_problems(f"{field}.flavors[{index}].entries[{number}]", spec.gcp, each)
        yield from share_problems(field, spec.gcp)
    yield from _reported(spec)


def _account(field: str, account: CloudAccount, region: Form) -> Iterator[FieldProblem]:
    yield from texts(f"{field}.regions", account.regions, region, fewest=1, most=MAX_REGIONS)
    yield from list_map(f"{field}.flavors", [each.name for each in flavors_of(account)], 1, dqo.MAX_PROVIDER_FLAVORS)
    for index, flavor in enumerate(flavors_of(account)):
        yield from named(f"{field}.flavors[{index}].name", flavor.name)
        entries = f"{field}.flavors[{index}].entries"
        count = len(flavor.entries)
        if not 1 <= count <= MAX_ENTRIES:
            yield FieldProblem(entries, f"flavor {flavor.name!r} has {count} entries; 1 to {MAX_ENTRIES} are allowed")
        for number, entry in enumerate(flavor.entries):
            yield from _entry(f"{entries}[{number}]", account, entry)


def _entry(field: str, account: CloudAccount, entry: CloudEntry) -> Iterator[FieldProblem]:
    yield from _source(field, entry)
    regions = some(account.regions, at_most=MAX_REGIONS)
    if entry.region is None and len(account.regions) > 1:
        yield FieldProblem(f"{field}.region", f"is missing: name one of the account's regions, {regions}")
    if entry.region is not None and entry.region not in account.regions:
        yield FieldProblem(
            f"{field}.region", f"{shown(entry.region)} is none of the account's regions, {regions}: add it there first"
        )
    if entry.share is not None:
        malformed = list(amount(f"{field}.share", entry.share))
        yield from malformed
        if not malformed and not 0 < entry.share.nanos <= NANOS:
            yield FieldProblem(
                f"{field}.share",
                f"{entry.share} is no share: write more than 0 and at most 1, such as 0.5; without it, all is taken",
            )
    most = entry.max_instances
    if most is not None and not 1 <= most <= MAX_INSTANCES:
        yield FieldProblem(
            f"{field}.maxInstances", f"{most} is no number of instances: 1 to {MAX_INSTANCES} are allowed"
        )
    yield from _per_instance(f"{field}.perInstance", entry)


def _source(field: str, entry: CloudEntry) -> Iterator[FieldProblem]:
    written = {each.name: each.encode_name for each in msgspec.structs.fields(entry)}
    given = [written[name] for name in entry.sources() if getattr(entry, name) is not None]
    if len(given) != 1:
        has = " and ".join(given) if given else "nothing to count by"
        wanted = ", ".join(written[name] for name in entry.sources())
        way_out = "make an entry of each" if given else "add it"
        yield FieldProblem(field, f"has {has}; exactly one of {wanted} is wanted: {way_out}")


def _per_instance(field: str, entry: CloudEntry) -> Iterator[FieldProblem]:
    count = len(entry.per_instance)
    if count > dqo.MAX_FLAVOR_RESOURCES:
        yield FieldProblem(field, f"{count} resources; at most {dqo.MAX_FLAVOR_RESOURCES} are allowed")
    for name, quantity in entry.per_instance.items():
        yield from RESOURCE_NAME.problems(field, name)
        yield from amount(f"{field}[{name}]", quantity)


def _reported(spec: CloudQuotaParametersSpec) -> Iterator[FieldProblem]:
    """A resource that is never reported would become quota 0, or would not be kept back; likewise a flavor."""
    flavors = [each.name for each in flavors_of(spec.account)]
    written = {name for each in flavors_of(spec.account) for entry in each.entries for name in entry.per_instance}
    fields = [
        *((f"spec.resources.include[{index}]", name) for index, name in enumerate(spec.resources.include)),
        *((f"spec.headroom[{index}].resource", each.resource) for index, each in enumerate(spec.headroom)),
    ]
    for field, name in fields:
        if RESOURCE_NAME.fits(name) and name not in written and name not in IN_CATALOGUES:
            yield FieldProblem(
                field, f"{shown(name)} is in no catalogue of instance types: write into perInstance how much there is"
            )
    for index, headroom in enumerate(spec.headroom):
        if OBJECT_NAME.fits(headroom.flavor) and headroom.flavor not in flavors:
            yield FieldProblem(
                f"spec.headroom[{index}].flavor",
                f"{shown(headroom.flavor)} is none of the flavors of spec.{spec.cloud}: {some(flavors)}",
            )
