"""boto3 without anything of ours: the floor of a look at an account of AWS.

As a process: what Python holds with it.
"""

from __future__ import annotations

from collections.abc import Callable

import boto3

from bench import accounts
from bench.processes.memory import print_memory


def open_(*, at_first: bool) -> Callable[[], int]:
    """New clients, and what makes the calls of a look, one after the other: returns their number."""
    session = boto3.session.Session(region_name=accounts.AWS_REGION)
    ec2, quotas, sts = session.client("ec2"), session.client("service-quotas"), session.client("sts")

    def quota(code: str) -> int:
        try:
            quotas.get_service_quota(ServiceCode="ec2", QuotaCode=code)
        except quotas.exceptions.NoSuchResourceException:
            if at_first:  # a default is known for a day
                quotas.get_aws_default_service_quota(ServiceCode="ec2", QuotaCode=code)
                return 2
        return 1

    def calls() -> int:
        made = quota(accounts.P_QUOTA) + quota(accounts.STANDARD_QUOTA)
        list(ec2.get_paginator("describe_capacity_reservations").paginate())
        list(ec2.get_paginator("describe_capacity_block_status").paginate())
        if not at_first:
            return made + 2
        sts.get_caller_identity()
        ec2.describe_instance_types(InstanceTypes=["p5.48xlarge"])
        ec2.describe_instance_types(InstanceTypes=["p4d.24xlarge"])
        ec2.describe_instance_types(InstanceTypes=["m7i.2xlarge"])
        return made + 6

    return calls


if __name__ == "__main__":
    clients = open_(at_first=True)
    print_memory()
