"""What each operation of a fake AWS answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tests.clouds.aws.account import Aws, Region
from tests.clouds.aws.credentials import Caller
from tests.clouds.aws.wire import Refusal

Parameters = Mapping[str, Any]
Output = dict[str, Any]

_SERVICE: Final = "ec2"
_NO_SUCH_QUOTA: Final = Refusal(
    "NoSuchResourceException", "The request failed because the specified quota does not exist"
)
_PAGING: Final = frozenset({"NextToken", "MaxResults"})


class NotKnownHere(Exception):
    """A client has asked what the fake does not know: it has to learn that first."""


def output_of(aws: Aws, operation: str, caller: Caller | None, region: str, parameters: Parameters) -> Output:
    """What is answered, by the names of the service's model. Raises Refusal, NotKnownHere."""
    if operation == "sts:AssumeRoleWithWebIdentity":
        return aws.credentials.assume_by_web_identity(parameters)
    if caller is None:
        raise Refusal("MissingAuthenticationToken", "Request is missing Authentication Token", 403)
    if operation == "sts:AssumeRole":
        return aws.credentials.assume(caller, parameters)
    if operation == "sts:GetCallerIdentity":
        return {"Account": caller.account, "Arn": caller.arn, "UserId": "AIDACKCEVSQ6C2EXAMPLE"}
    known = _OF_REGIONS.get(operation)
    if known is None:
        raise NotKnownHere(operation)
    return known(aws, aws.region(region, caller.account), parameters)


def _get_service_quota(_: Aws, region: Region, parameters: Parameters) -> Output:
    return _quota(region.quotas, parameters)


def _get_default(_: Aws, region: Region, parameters: Parameters) -> Output:
    return _quota(region.defaults, parameters)


def _quota(rows: Mapping[str, Any], parameters: Parameters) -> Output:
    _expect_only(parameters, {"ServiceCode", "QuotaCode"})
    row = rows.get(parameters["QuotaCode"])
    if parameters["ServiceCode"] != _SERVICE or row is None:  # service codes are case-sensitive
        raise _NO_SUCH_QUOTA
    return {"Quota": row}


def _describe_capacity_reservations(aws: Aws, region: Region, parameters: Parameters) -> Output:
    _expect_only(parameters, _PAGING)
    return _page(aws, "CapacityReservations", region.reservations, parameters)


def _describe_capacity_block_status(aws: Aws, region: Region, parameters: Parameters) -> Output:
    _expect_only(parameters, _PAGING)
    return _page(aws, "CapacityBlockStatuses", region.block_statuses, parameters)


def _describe_instance_types(aws: Aws, _: Region, parameters: Parameters) -> Output:
    named = {key: value for key, value in parameters.items() if key.startswith("InstanceType.")}
    _expect_only(parameters, {*named, *_PAGING})
    wanted = list(named.values()) or list(aws.instance_types)
    unknown = [each for each in wanted if each not in aws.instance_types]
    if unknown:
        what = f"The following supplied instance types do not exist: [{', '.join(unknown)}]"
        raise Refusal("InvalidInstanceType", what)
    return _page(aws, "InstanceTypes", [dict(aws.instance_types[each]) for each in wanted], parameters)


def _page(aws: Aws, name: str, rows: Sequence[Output], parameters: Parameters) -> Output:
    token = str(parameters.get("NextToken", "page-0"))
    begin = int(token.removeprefix("page-"))
    end = begin + min(aws.page_size, int(parameters.get("MaxResults", aws.page_size)))
    more = {"NextToken": f"page-{end}"} if end < len(rows) else {}
    return {name: list(rows[begin:end]), **more}


def _expect_only(parameters: Parameters, known: set[str] | frozenset[str]) -> None:
    others = sorted(set(parameters) - known)
    if others:
        raise NotKnownHere(f"the parameters {', '.join(others)}")


_OF_REGIONS: Final[Mapping[str, Callable[[Aws, Region, Parameters], Output]]] = {
    "servicequotas:GetServiceQuota": _get_service_quota,
    "servicequotas:GetAWSDefaultServiceQuota": _get_default,
    "ec2:DescribeCapacityReservations": _describe_capacity_reservations,
    "ec2:DescribeCapacityBlockStatus": _describe_capacity_block_status,
    "ec2:DescribeInstanceTypes": _describe_instance_types,
}
