"""Google Cloud behind the protocol: what is asked, what is claimed, what an instance is."""

from __future__ import annotations

import pytest

from kueue_dqo.api.cloud import AwsAccount, GcpEntry, GcpGpuFamily
from kueue_dqo.provider import Misconfigured
from providers.cloud_quota.cloud import Answers, Lifetime
from providers.cloud_quota.gcp.cloud import CLOUD
from providers.cloud_quota.gcp.questions import (
    Machine,
    MachineQuestion,
    ProjectQuestion,
    Quotas,
    RegionQuestion,
    ReservationsQuestion,
)
from tests.unit.providers.cloud_quota.gcp.accounts import (
    FAMILIES,
    REGION,
    P,
    answers,
    derived,
    of_metric,
    of_reservations,
    project,
    texts,
)

H100 = GcpEntry(machine_type="a3-highgpu-8g", gpu_family=GcpGpuFamily("NVIDIA_H100"))


def test_every_question_is_asked_once_in_the_order_of_the_entries() -> None:
    account = project(
        of_metric("NVIDIA_L4_GPUS", "g2-standard-96"),
        of_metric("NVIDIA_L4_GPUS", "g2-standard-96", share="500m"),
        H100,
        of_reservations("a3-highgpu-8g", "big"),
        of_reservations("a3-highgpu-8g", "theirs", project="owner-1", share="1"),
    )
    assert CLOUD.questions(account) == (
        RegionQuestion(P, REGION),
        ProjectQuestion(P),
        MachineQuestion(P, REGION, "g2-standard-96"),
        FAMILIES,
        MachineQuestion(P, REGION, "a3-highgpu-8g"),
        ReservationsQuestion(P),
        ReservationsQuestion("owner-1"),
    )


def test_the_project_is_asked_only_where_it_bounds_something() -> None:
    unbounded = project(of_metric("NVIDIA_L4_GPUS", "g2-standard-96", global_metric=""))
    assert ProjectQuestion(P) not in CLOUD.questions(unbounded)


def test_machine_types_are_kept_for_a_day_and_quotas_are_not() -> None:
    lifetimes = {type(each): each.lifetime for each in CLOUD.questions(project(of_metric("C3_CPUS", "c3-standard-4")))}
    assert lifetimes == {
        MachineQuestion: Lifetime.DAY,
        RegionQuestion: Lifetime.LOOK,
        ProjectQuestion: Lifetime.LOOK,
    }


def test_projects_and_service_accounts_are_asked_apart() -> None:
    plain, other = project(H100), project(H100, project="fleet-2")
    named = project(H100, impersonate_service_account="reader@fleet-1.iam.gserviceaccount.com")
    assert len({CLOUD.identity(plain), CLOUD.identity(other), CLOUD.identity(named)}) == 3
    assert CLOUD.identity(plain) == CLOUD.identity(project(of_metric("C3_CPUS", "c3-standard-4")))
    assert CLOUD.described(named) == "Google Cloud, project fleet-1, as reader@fleet-1.iam.gserviceaccount.com"


def test_calls_are_counted_by_their_api() -> None:
    account = project(of_metric("C3_CPUS", "c3-standard-4"), H100, of_reservations("a3-highgpu-8g", "big"))
    scopes = {type(each).__name__: each.scope for each in CLOUD.questions(account)}
    assert scopes.pop("FamilyQuestion") == "cloudquotas"
    assert len(scopes) == 4
    assert set(scopes.values()) == {"compute"}


def test_an_account_of_another_cloud_is_none() -> None:
    with pytest.raises(TypeError, match="AwsAccount"):
        CLOUD.questions(AwsAccount(regions=("us-east-1",), flavors=()))


# --- what an instance is ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("machine_type", "accelerators", "resources"),
    [
        ("g2-standard-96", None, {"cpu": "96", "memory": "384Gi", "nvidia.com/gpu": "8"}),
        ("g2-standard-96", 8, {"cpu": "96", "memory": "384Gi", "nvidia.com/gpu": "8"}),
        ("n1-standard-8", 4, {"cpu": "8", "memory": "30Gi", "nvidia.com/gpu": "4"}),
        ("ct5lp-hightpu-4t", None, {"cpu": "112", "memory": "192Gi", "google.com/tpu": "4"}),
        ("c3-standard-4", None, {"cpu": "4", "memory": "16Gi"}),
    ],
)
def test_accelerators_go_by_the_resource_of_their_maker(
    machine_type: str, accelerators: int | None, resources: dict[str, str]
) -> None:
    entry = of_metric("CPUS", machine_type, accelerators=accelerators, max_instances=1)
    assert texts(derived(entry, answers({"CPUS": 1000.0})).amounts) == resources


def test_accelerators_of_an_unknown_maker_are_told_and_not_reported() -> None:
    found = derived(of_metric("CPUS", "x9-standard-8", max_instances=1), answers({"CPUS": 8.0}))
    assert texts(found.amounts) == {"cpu": "8", "memory": "32Gi"}
    assert [notice.reason for notice in found.notices] == ["UnknownAccelerator"]
    assert "2 cerebras-wse" in found.notices[0].message


def test_per_instance_goes_before_the_catalogue_and_leaves_the_ratio() -> None:
    entry = of_metric("CPUS", "c3-standard-4", per_instance={"cpu": "3500m", "example.com/port": "2"})
    found = derived(entry, answers({"CPUS": 8.0}))
    assert texts(found.amounts) == {"cpu": "7", "memory": "32Gi", "example.com/port": "4"}


def test_attaching_others_to_built_in_accelerators_is_a_mistake() -> None:
    with pytest.raises(Misconfigured, match="8 nvidia-l4 built in, and accelerators says 4"):
        derived(of_metric("CPUS", "g2-standard-96", accelerators=4), answers({"CPUS": 96.0}))


def test_a_deprecated_machine_type_counts_and_is_told() -> None:
    entry = of_metric("CPUS", "old-standard-1", global_metric="")
    old = Machine(1, 1024, (), "DEPRECATED")
    given = Answers(
        {MachineQuestion(P, REGION, "old-standard-1"): old, RegionQuestion(P, REGION): Quotas({"CPUS": 3.0})}
    )
    found = derived(entry, given)
    assert found.instances == 3
    assert [notice.reason for notice in found.notices] == ["MachineTypeDeprecated"]
