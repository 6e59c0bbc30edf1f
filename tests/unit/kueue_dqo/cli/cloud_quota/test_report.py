"""What `dqo provider cloud-quota --once` prints."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from kueue_dqo.api import dqo
from kueue_dqo.api.meta import ObjectMeta
from kueue_dqo.api.parameters import Combine, CommonParameters, Headroom
from kueue_dqo.api.quantity import Quantity
from kueue_dqo.cli.cloud_quota import report
from kueue_dqo.provider import Notice, Observation
from providers.cloud_quota.cloud import Call, Derived, Result
from providers.cloud_quota.compute import Counted, EntryCount, FlavorCount
from providers.cloud_quota.once import Asked
from providers.pipeline import settle
from providers.status import Held, Verdict, status_of

GPU = "nvidia.com/gpu"
END = datetime.datetime(2026, 12, 1, 18, 30, tzinfo=datetime.UTC)
QUOTA = Call("servicequotas:GetServiceQuota", "us-east-1", "ec2/L-417A185B", Result.ABSENT, 0.25)
TYPES = Call("ec2:DescribeInstanceTypes", "us-east-1", "p5.48xlarge", Result.OK, 1.5, requests=3, throttles=2)
RESERVATIONS = Call("ec2:DescribeCapacityReservations", "us-east-1", "", Result.DENIED, 0.125)


def amounts(**resources: object) -> dict[str, Quantity]:
    return {name.replace("gpu", GPU): Quantity.of(str(value)) for name, value in resources.items()}


def entry(text: str, **more: Any) -> EntryCount:
    return EntryCount(0, "us-east-1", "p5.48xlarge", Derived(instances=2, amounts={}, text=text, **more))


def flavor(name: str, *entries: EntryCount, combine: Combine = Combine.MAX) -> FlavorCount:
    return FlavorCount(name, combine, entries, {})


def provider(name: str, flavors: Sequence[str]) -> dqo.CapacityProvider:
    reference = dqo.ParametersRef("kueue-dqo.dev", "CloudQuotaParameters", f"{name}-quotas")
    spec = dqo.CapacityProviderSpec("kueue-dqo.dev/cloud-quota", tuple(map(dqo.FlavorRef, flavors)), reference)
    return dqo.CapacityProvider(ObjectMeta(name), spec)


def written(ours: dqo.CapacityProvider, verdict: Verdict) -> dqo.CapacityProvider:
    return msgspec.structs.replace(ours, status=status_of(Held(ours, ""), verdict, "2026-12-01T12:00:00Z"))


def published(
    capacity: Mapping[str, dict[str, Quantity]],
    *flavors: FlavorCount,
    calls: tuple[Call, ...] = (QUOTA, TYPES),
    notices: tuple[Notice, ...] = (),
    headroom: tuple[Headroom, ...] = (),
) -> Asked:
    """A look that came to this."""
    ours = provider("aws", list(capacity))
    seen = dqo.Capacity(tuple(dqo.FlavorCapacity(name, each) for name, each in capacity.items()))
    settled = settle(ours, CommonParameters(headroom=headroom), seen)
    verdict = Verdict(dqo.SYNCHRONIZED, "in words", settled.capacity)
    counted = Counted(Observation(seen, "in words", None, notices), flavors)
    return Asked(written(ours, verdict), "AWS, role r", verdict, calls, counted, settled)


def failed(*calls: Call) -> Asked:
    ours = provider("gcp", ["l4"])
    verdict = Verdict("Misconfigured", "the permission compute.regions.get is missing")
    return Asked(written(ours, verdict), "Google Cloud, project fleet", verdict, calls)


def text(*found: Asked, notes: Sequence[str] = ()) -> str:
    return "\n".join(report.table(found, notes))


def test_a_capacity_is_shown_with_what_it_is_made_of_and_its_calls() -> None:
    """Flavors in the order of the spec; the calls in an order that is always the same."""
    shown = published(
        {"p5": amounts(cpu=384, gpu=16, memory="4Ti"), "a-block": amounts(cpu=0, gpu=0)},
        flavor("p5", entry("2 p5.48xlarge of a quota"), entry("1 p5.48xlarge of a reservation")),
        flavor("a-block", entry("0 p5.48xlarge of a block")),
    )
    assert text(shown) == (
        "CapacityProvider/aws, CloudQuotaParameters/aws-quotas: AWS, role r\n"
        "\n"
        "  FLAVOR   RESOURCE        AMOUNT\n"
        "  p5       cpu                384\n"
        "           memory             4Ti\n"
        "           nvidia.com/gpu      16\n"
        "  a-block  cpu                  0\n"
        "           nvidia.com/gpu       0\n"
        "\n"
        "  Made of\n"
        "    p5: the Max of\n"
        "      2 p5.48xlarge of a quota\n"
        "      1 p5.48xlarge of a reservation\n"
        "    a-block: 0 p5.48xlarge of a block\n"
        "\n"
        "  CALL                           REGION     SUBJECT         RESULT  REQUESTS  THROTTLES  SECONDS\n"
        "  ec2:DescribeInstanceTypes      us-east-1  p5.48xlarge     ok             3          2     1.50\n"
        "  servicequotas:GetServiceQuota  us-east-1  ec2/L-417A185B  absent         1          0     0.25\n"
        "\n"
        "1 CapacityProvider, 1 with a capacity; 2 calls, 4 requests. Nothing was written."
    )


def test_what_is_to_be_told_stands_below_the_capacity() -> None:
    """Headroom that is already taken off, Events, and the first time at which it becomes another one."""
    shown = text(
        published(
            {"p5": amounts(gpu=16), "x": amounts(gpu=8)},
            flavor("p5", entry("a", next=END + datetime.timedelta(hours=1))),
            flavor("x", entry("b"), entry("c", next=END), combine=Combine.SUM),
            notices=(Notice("ReservationEnded", "cr-1 has ended"), Notice("QuotaMismatch", "so", is_warning=False)),
            headroom=(Headroom(flavor="p5", resource=GPU, quantity=Quantity.of("3")),),
        )
    ).splitlines()
    assert "  p5      nvidia.com/gpu      13" in shown
    assert "    x: the Sum of" in shown
    below = shown[shown.index("    x: the Sum of") + 3 :]
    assert below[:4] == [
        "  headroom p5: 3 nvidia.com/gpu",
        "  Warning ReservationEnded: cr-1 has ended",
        "  Event QuotaMismatch: so",
        "  By itself it becomes another one at 2026-12-01T18:30:00Z: x",
    ]


def test_a_flavor_of_which_nothing_is_reported_has_a_row() -> None:
    """Its quotas become 0."""
    shown = text(published({"p5": amounts(gpu=16), "bare": {}}, flavor("p5", entry("a")), flavor("bare", entry("b"))))
    assert "  bare    (nothing reported)       0" in shown.splitlines()


def test_what_would_not_be_published_says_why_and_shows_its_calls() -> None:
    shown = text(failed(RESERVATIONS), notes=["one thing", "another"])
    assert shown == (
        "CapacityProvider/gcp, CloudQuotaParameters/gcp-quotas: Google Cloud, project fleet\n"
        "\n"
        "  Nothing would be published: Misconfigured\n"
        "    the permission compute.regions.get is missing\n"
        "\n"
        "  CALL                              REGION     SUBJECT  RESULT  REQUESTS  THROTTLES  SECONDS\n"
        "  ec2:DescribeCapacityReservations  us-east-1  -        denied         1          0     0.12\n"
        "\n"
        "Notes\n"
        "  • one thing\n"
        "  • another\n"
        "\n"
        "1 CapacityProvider, 0 with a capacity; 1 call, 1 request. Nothing was written."
    )


def test_one_that_cost_no_call_says_so() -> None:
    """Where another one has asked the same before."""
    lines = text(published({"p5": amounts(gpu=8)}, flavor("p5", entry("a")), calls=())).splitlines()
    assert "  No call: what was known from above was enough, or nobody could be asked." in lines


def test_a_list_has_all_that_a_plan_needs() -> None:
    """And nothing that is somebody else's."""
    (item,) = report.items([published({"p5": amounts(gpu=16)}, flavor("p5", entry("a")))])
    assert item == {
        "apiVersion": "kueue.x-k8s.io/v1alpha1",
        "kind": "CapacityProvider",
        "metadata": {"name": "aws"},
        "spec": {
            "controllerName": "kueue-dqo.dev/cloud-quota",
            "orchestratedFlavors": [{"name": "p5"}],
            "parameters": {"apiGroup": "kueue-dqo.dev", "kind": "CloudQuotaParameters", "name": "aws-quotas"},
        },
        "status": {
            "capacity": {"flavors": [{"name": "p5", "resources": {GPU: "16"}}]},
            "conditions": [
                {
                    "type": "CapacitySynchronized",
                    "status": "True",
                    "reason": "Synchronized",
                    "message": "in words",
                    "lastTransitionTime": "2026-12-01T12:00:00Z",
                }
            ],
        },
    }


def test_beside_a_list_stands_what_a_person_has_to_know() -> None:
    """Events, why one has no capacity, its calls, notes; of one that has a capacity no calls."""
    notices = (Notice("ReservationEnded", "cr-1 has ended"),)
    one = published({"p5": amounts(gpu=16)}, flavor("p5", entry("a")), notices=notices)
    assert list(report.remarks([one, failed(RESERVATIONS)], ["a note"])) == [
        "CapacityProvider/aws: Warning ReservationEnded: cr-1 has ended",
        (
            "CapacityProvider/gcp: nothing would be published: Misconfigured: the permission compute.regions.get is "
            "missing"
        ),
        "  CALL                              REGION     SUBJECT  RESULT  REQUESTS  THROTTLES  SECONDS",
        "  ec2:DescribeCapacityReservations  us-east-1  -        denied         1          0     0.12",
        "Note: a note",
    ]
