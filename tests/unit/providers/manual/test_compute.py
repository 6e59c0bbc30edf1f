"""From a baseline and overrides to a capacity: whose amount counts, what is said, and what is refused."""

from __future__ import annotations

import datetime
from typing import cast

import msgspec
import pytest

from kueue_dqo.api import dqo
from kueue_dqo.api.meta import ObjectMeta
from kueue_dqo.api.parameters import MANUAL_CONTROLLER, ManualCapacitySpec
from kueue_dqo.provider import (
    Environment,
    InvalidCapacity,
    Misconfigured,
    Observation,
    Request,
    WithoutParameters,
)
from kueue_dqo.runtime.resources import MANUAL_CAPACITIES
from providers.amounts import FLAVOR_WITHOUT_AMOUNTS
from providers.manual.compute import observe
from providers.manual.source import CONTROLLER

GPU = "nvidia.com/gpu"
NIGHT = {"begin": "2026-12-01T22:00:00Z", "end": "2026-12-02T06:00:00Z"}
BEFORE, WITHIN, AFTER = "2026-12-01T12:00:00Z", "2026-12-01T23:00:00Z", "2026-12-02T12:00:00Z"


def flavors(**amounts: dict[str, object]) -> list[dict[str, object]]:
    return [{"name": name, "resources": resources} for name, resources in amounts.items()]


def override(name: str, amounts: list[dict[str, object]], **fields: object) -> dict[str, object]:
    return {"name": name, **NIGHT, "flavors": amounts, **fields}


def request(
    baseline: list[dict[str, object]],
    overrides: list[dict[str, object]] | None = None,
    *,
    now: str = WITHIN,
    orchestrated: tuple[str, ...] = ("h100", "a100"),
    **spec: object,
) -> Request[ManualCapacitySpec]:
    """A question about a provider whose parameters are such a manifest."""
    manifest = {"baseline": {"flavors": baseline}, "overrides": overrides or [], **spec}
    return Request(
        provider=dqo.CapacityProvider(
            ObjectMeta("by-hand"),
            dqo.CapacityProviderSpec(
                MANUAL_CONTROLLER,
                tuple(map(dqo.FlavorRef, orchestrated)),
                dqo.ParametersRef("kueue-dqo.dev", "ManualCapacity", "gpus"),
            ),
        ),
        # As it is decoded, less the checks of manifests: they find some of the mistakes as well.
        parameters=msgspec.convert(manifest, ManualCapacitySpec, dec_hook=lambda kind, value: kind.of(value)),
        flavors={},
        peers=(),
        providers={},
        now=datetime.datetime.fromisoformat(now),
    )


def amounts(found: Observation) -> dict[str, dict[str, str]]:
    return {
        flavor.name: {name: str(quantity) for name, quantity in flavor.resources.items()}
        for flavor in found.capacity.flavors
    }


BASELINE = flavors(a100={GPU: 4}, h100={GPU: 8, "cpu": "1500m"})


# --- whose amount counts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("now", "gpus"), [(BEFORE, "8"), (WITHIN, "2"), (AFTER, "8")])
def test_an_override_replaces_its_pairs_while_it_holds_and_reverts_by_itself(now: str, gpus: str) -> None:
    """Pairs that it does not name stay those of the baseline."""
    found = observe(request(BASELINE, [override("night", flavors(h100={GPU: 2}))], now=now))
    assert amounts(found) == {"h100": {"cpu": "1500m", GPU: gpus}, "a100": {GPU: "4"}}


def test_of_several_overrides_the_last_in_the_list_has_the_pair() -> None:
    """Whichever began first; each pair by itself."""
    first = override("first", flavors(h100={GPU: 1, "cpu": 1}, a100={GPU: 1}), begin="2026-12-01T22:30:00Z")
    last = override("last", flavors(h100={GPU: 2}, a100={"memory": "1Gi"}))
    found = observe(request(BASELINE, [first, last]))
    assert amounts(found) == {"h100": {"cpu": "1", GPU: "2"}, "a100": {"memory": "1Gi", GPU: "1"}}


def test_a_pair_that_only_an_override_has_is_reported_while_it_holds() -> None:
    """Afterwards nobody reports it."""
    listed = [override("loan", flavors(a100={GPU: 16}))]
    assert amounts(observe(request(flavors(h100={GPU: 8}), listed))) == {"h100": {GPU: "8"}, "a100": {GPU: "16"}}
    assert amounts(observe(request(flavors(h100={GPU: 8}), listed, now=AFTER))) == {"h100": {GPU: "8"}}


def test_a_zero_is_an_amount() -> None:
    """A maintenance window is one of zeros."""
    found = observe(request(BASELINE, [override("maintenance", flavors(h100={GPU: 0, "cpu": 0}))]))
    assert amounts(found)["h100"] == {"cpu": "0", GPU: "0"}


def test_flavors_come_in_the_order_of_the_provider_and_resources_by_name() -> None:
    """So that the same capacity is always the same text."""
    found = observe(request(flavors(a100={"memory": "1Gi", "cpu": 1}, h100={GPU: 8})))
    assert [flavor.name for flavor in found.capacity.flavors] == ["h100", "a100"]
    assert list(found.capacity.flavors[1].resources) == ["cpu", "memory"]


def test_resources_that_are_not_selected_are_not_observed() -> None:
    """The summary does not tell of what is not published."""
    found = observe(request(BASELINE, resources={"exclude": [GPU]}))
    assert amounts(found) == {"h100": {"cpu": "1500m"}}
    assert GPU not in found.summary


# --- what is said --------------------------------------------------------------------------------------------------


def test_the_summary_says_which_numbers_these_are_and_for_how_long() -> None:
    """In UTC; the amounts as other providers show theirs."""
    listed = [override("night-shift", flavors(h100={GPU: 2})), override("loan", flavors(a100={GPU: 16}))]
    listed[1] |= {"begin": "2026-12-01T21:00:00+01:00", "end": "2026-12-05T00:00:00+01:00"}
    assert observe(request(BASELINE, listed[:1])).summary == (
        f"override night-shift until 2026-12-02T06:00:00Z; h100: 2 {GPU}; a100: 4 {GPU}"
    )
    assert observe(request(BASELINE, listed)).summary == (
        "overrides night-shift until 2026-12-02T06:00:00Z, loan until 2026-12-04T23:00:00Z; "
        f"h100: 2 {GPU}; a100: 16 {GPU}"
    )
    assert observe(request(BASELINE, listed, now=BEFORE)).summary == f"baseline; h100: 8 {GPU}; a100: 4 {GPU}"


def test_cpu_and_memory_are_shown_where_there_are_no_devices() -> None:
    """And whatever there is, where there is neither."""
    listed = flavors(h100={"memory": "2048Mi", "cpu": "500m", "pods": 10, GPU: 0}, a100={"pods": 3})
    assert observe(request(listed)).summary == f"baseline; h100: 500m cpu, 2Gi memory, 0 {GPU}; a100: 3 pods"


def test_a_flavor_without_amounts_is_told_in_the_summary_and_by_an_event() -> None:
    """Its quotas become 0, which is seldom meant. The Event does not come and go with overrides."""
    within = observe(request(flavors(h100={GPU: 8}), [override("loan", flavors(a100={GPU: 16}))]))
    later = observe(request(flavors(h100={GPU: 8}), [override("loan", flavors(a100={GPU: 16}))], now=AFTER))
    assert later.summary.endswith("; a100: nothing")
    assert within.notices == later.notices
    (notice,) = later.notices
    assert notice.reason == FLAVOR_WITHOUT_AMOUNTS
    assert notice.is_warning
    assert "a100" in notice.message
    assert "h100" not in notice.message
    assert observe(request(BASELINE)).notices == ()


def test_a_flavor_of_which_nothing_is_selected_is_told_by_the_same_event() -> None:
    """It is as absent as one without amounts."""
    (notice,) = observe(request(BASELINE, resources={"exclude": [GPU]})).notices
    assert notice.message.startswith("spec.baseline has nothing for a100 that spec.resources lets through, so ")


# --- when to look again --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("now", "seconds"),
    [
        ("2026-12-01T21:59:30Z", 30.0),
        ("2026-12-01T21:59:59.999999Z", 0.001),
        ("2026-12-01T22:00:00Z", 8 * 3600.0),
        ("2026-12-02T05:59:59.5Z", 0.5),
        ("2026-12-02T06:00:00Z", None),
        ("2001-01-01T00:00:00Z", 24 * 3600.0),
    ],
)
def test_it_looks_again_at_the_next_boundary_but_at_least_once_a_day(now: str, seconds: float | None) -> None:
    """And never in no time; not at all where nothing begins or ends any more."""
    assert observe(request(BASELINE, [override("night", flavors(h100={GPU: 2}))], now=now)).look_again == seconds


def test_it_looks_again_at_the_first_boundary_of_all_overrides() -> None:
    """The end of one, the beginning of another, the next time of a third."""
    listed = [
        override("night", flavors(h100={GPU: 2})),
        override("next", flavors(h100={GPU: 2}), begin="2026-12-02T05:00:00Z"),
        override(
            "hourly",
            flavors(h100={GPU: 2}),
            begin="2016-12-01T00:10:00Z",
            end="2016-12-01T00:20:00Z",
            recurrence="FREQ=HOURLY",
        ),
    ]
    for now, seconds in (
        (WITHIN, 600),
        ("2026-12-02T03:15:00Z", 300),
        ("2026-12-02T04:20:00Z", 2400),
        ("2026-12-02T05:55:00Z", 300),
    ):
        assert observe(request(BASELINE, listed, now=now)).look_again == seconds


# --- what is refused -----------------------------------------------------------------------------------------------

OFFICE = flavors(h100={GPU: 1})


@pytest.mark.parametrize(
    ("baseline", "overrides", "told"),
    [
        (flavors(v100={GPU: 1}), [], ["spec.baseline.flavors[0].name names 'v100'", "spec.orchestratedFlavors"]),
        ([*OFFICE, *OFFICE], [], ["spec.baseline.flavors[1].name", "h100", "more than once"]),
        (BASELINE, [override("x", flavors(v100={GPU: 1}))], ["spec.overrides[0] (x).flavors[0].name", "v100"]),
        (BASELINE, [override("x", [*OFFICE, *OFFICE])], ["spec.overrides[0] (x).flavors[1].name", "more than once"]),
        (BASELINE, [override("x", OFFICE), override("x", OFFICE)], ["spec.overrides[1] (x).name", "another"]),
        (BASELINE, [override("x", OFFICE, end=NIGHT["begin"])], ["spec.overrides[0] (x).end", NIGHT["begin"]]),
        (BASELINE, [override("x", OFFICE, begin="soon")], ["spec.overrides[0] (x).begin", "'soon'"]),
        (BASELINE, [override("x", OFFICE, timeZone="Mars")], ["spec.overrides[0] (x).timeZone", "'Mars'"]),
        (BASELINE, [override("x", OFFICE, recurrence="FREQ=NEVER")], ["spec.overrides[0] (x).recurrence", "NEVER"]),
    ],
)
def test_a_mistake_is_told_with_its_object_its_field_and_its_value(
    baseline: list[dict[str, object]], overrides: list[dict[str, object]], told: list[str]
) -> None:
    """Also while the override does not hold: it would be too late at night."""
    with pytest.raises(Misconfigured) as refusal:
        observe(request(baseline, overrides, now=AFTER))
    for word in ["ManualCapacity gpus", *told]:
        assert word in str(refusal.value)


def test_a_negative_amount_is_invalid_and_all_mistakes_are_told_together() -> None:
    """Of several causes the first in the order of the API is the reason."""
    listed = [override("x", flavors(h100={GPU: -1})), override("y", OFFICE, timeZone="Mars")]
    with pytest.raises(InvalidCapacity) as refusal:
        observe(request([*BASELINE, *flavors(a100={"cpu": "-1m"})], listed, now=AFTER))
    for word in (
        "spec.baseline.flavors[2].resources[cpu]: -1m",
        f"spec.overrides[0] (x).flavors[0].resources[{GPU}]: -1",
        "a100 is listed more than once",
        "spec.overrides[1] (y).timeZone",
    ):
        assert word in str(refusal.value)


# --- the controller ------------------------------------------------------------------------------------------------


async def test_the_source_answers_what_is_computed() -> None:
    """It watches nothing, so there is nothing to run."""
    source = CONTROLLER.open(cast("Environment", None))
    await source.run()
    asked = request(BASELINE, [override("night", flavors(h100={GPU: 2}))])
    assert await source.observe(asked) == observe(asked)
    with pytest.raises(Misconfigured):
        await source.observe(request(BASELINE, orchestrated=("h100",)))


def test_a_provider_without_parameters_is_left_to_a_person() -> None:
    """The bare road: its status is written by hand."""
    assert CONTROLLER.name == "kueue-dqo.dev/manual"
    assert CONTROLLER.without_parameters is WithoutParameters.BY_HAND
    assert CONTROLLER.parameters is not None
    assert CONTROLLER.parameters.resource is MANUAL_CAPACITIES
    assert not CONTROLLER.reads_providers
