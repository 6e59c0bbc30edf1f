"""Effective quotas: what becomes of a member's resource groups."""

from __future__ import annotations

import pytest

from kueue_dqo.api.quotas import EffectiveQuotas
from orchestrator.members import Member
from tests.unit.orchestrator.builders import (
    CPU,
    GPU,
    MEMORY,
    Amounts,
    Flavors,
    Quota,
    Written,
    cohort,
    groups,
    nominals,
    orchestrator,
    provider,
    queue,
    ref,
    settled,
)


def _quotas(member: Member, capacity: Amounts) -> EffectiveQuotas:
    """What the member gets of a capacity that is its alone."""
    outcome = settled([orchestrator("dqo", "capacity", root=member.key)], [provider("capacity", capacity)], [member])
    return outcome["dqo"].quotas[member.key]


# --- limits --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("declared", "capacity", "of_a_queue", "of_a_cohort"),
    [
        pytest.param(Quota(10, 5, 4), 20, Quota(20, 5, 4), Quota(20, 5, 4), id="limits are copied and not scaled"),
        pytest.param(Quota(10, 5, 4), 3, Quota(3, 5, 3), Quota(3, 5, 4), id="lending is capped at the nominal quota"),
        pytest.param(Quota(10, 5, 4), 4, Quota(4, 5, 4), Quota(4, 5, 4), id="lending equal to the nominal quota"),
        pytest.param(Quota(10, 5, 4), 0, Quota(0, 5, 0), Quota(0, 5, 4), id="lending is capped at 0"),
        pytest.param(Quota(10, 0, 0), 20, Quota(20, 0, 0), Quota(20, 0, 0), id="a limit of 0 is a limit"),
        pytest.param(Quota(10), 3, Quota(3), Quota(3), id="no limit stays none"),
        pytest.param(Quota(10, lending=4), 3, Quota(3, lending=3), Quota(3, lending=4), id="lending alone"),
        pytest.param(Quota(10, borrowing=4), 3, Quota(3, borrowing=4), Quota(3, borrowing=4), id="borrowing alone"),
        pytest.param(Quota(0, lending=4), 9, Quota(0, lending=0), Quota(0, lending=4), id="a nominal quota of 0"),
        pytest.param(Quota(4, 1, 9), 8, Quota(8, 1, 8), Quota(8, 1, 9), id="lending that was above the nominal quota"),
    ],
)
def test_limits_are_copied_and_a_queue_lends_no_more_than_it_has(
    declared: Quota, capacity: Written, of_a_queue: Quota, of_a_cohort: Quota
) -> None:
    """The cap holds for a ClusterQueue and not for a Cohort."""
    for resource in (CPU, GPU):
        reported = {"f": {resource: capacity}}
        got = _quotas(queue("a", {"f": {resource: declared}}), reported)
        assert got.resource_groups == groups({"f": {resource: of_a_queue}})
        got = _quotas(cohort("a", {"f": {resource: declared}}), reported)
        assert got.resource_groups == groups({"f": {resource: of_a_cohort}})


def test_lending_is_capped_in_the_unit_of_the_resource() -> None:
    """Half a cpu is 500m."""
    got = _quotas(queue("a", {"f": {CPU: Quota(2, lending=1)}}), {"f": {CPU: "500m"}})
    assert got.resource_groups == groups({"f": {CPU: Quota("500m", lending="500m")}})


def test_limits_of_an_unreported_resource_are_treated_alike() -> None:
    """Its nominal quota is 0, so a queue has nothing to lend."""
    declared: Flavors = {"f": {CPU: Quota(2, 3, 1), MEMORY: 5}}
    assert _quotas(queue("a", declared), {"f": {MEMORY: 5}}).resource_groups == groups(
        {"f": {CPU: Quota(0, 3, 0), MEMORY: 5}}
    )
    assert _quotas(cohort("a", declared), {"f": {MEMORY: 5}}).resource_groups == groups(
        {"f": {CPU: Quota(0, 3, 1), MEMORY: 5}}
    )


# --- shape ---------------------------------------------------------------------------------------------------------


def test_another_flavor_stays_as_it_was_declared() -> None:
    """Its limits too."""
    declared: Flavors = {
        "f": {CPU: 1, MEMORY: 1},
        "other": {CPU: Quota("1500m", 0, "700m"), MEMORY: Quota("1Gi", "2Gi", 0)},
    }
    member = queue("a", declared)
    got = _quotas(member, {"f": {CPU: 5, MEMORY: 6}})
    assert got.resource_groups[0].flavors[1] == member.declared[0].flavors[1]
    assert nominals(got) == {"f/cpu": "5", "f/memory": "6", "other/cpu": "1500m", "other/memory": "1Gi"}


def test_a_lending_limit_in_a_flavor_that_is_not_orchestrated_is_copied_whatever_it_is() -> None:
    """Such a flavor keeps its quota from the spec."""
    declared: Flavors = {"f": {CPU: 1}, "other": {CPU: Quota(4, 5, 7)}}
    assert _quotas(queue("a", declared), {"f": {CPU: 1}}).resource_groups == groups(declared)
    assert _quotas(cohort("a", declared), {"f": {CPU: 1}}).resource_groups == groups(declared)


def test_groups_keep_their_shape() -> None:
    """Groups, covered resources, flavors and resources in the order of the spec: Kueue tries flavors in that order."""
    member = queue(
        "a", {"z": {MEMORY: 1, CPU: 1}, "b": {MEMORY: 1, CPU: 1}, "m": {MEMORY: 1, CPU: 1}}, {"g": {GPU: 1}}, {}
    )
    capacity = {"b": {CPU: 2, MEMORY: 3}, "g": {GPU: 4}, "z": {CPU: 5, MEMORY: 6}}
    got = _quotas(member, capacity).resource_groups
    wanted = groups({"z": {MEMORY: 6, CPU: 5}, "b": {MEMORY: 3, CPU: 2}, "m": {MEMORY: 1, CPU: 1}}, {"g": {GPU: 4}}, {})
    assert got == wanted
    assert got[0].covered_resources == (MEMORY, CPU)


@pytest.mark.parametrize("member", [queue("a"), cohort("a")], ids=["ClusterQueue", "Cohort"])
def test_a_member_without_resource_groups_gets_an_empty_list(member: Member) -> None:
    """And not nothing: what is set is used in place of the spec."""
    assert _quotas(member, {"f": {CPU: 5}}) == EffectiveQuotas(ref("dqo"), ())


def test_the_quotas_name_the_orchestrator_that_computed_them() -> None:
    """By group, kind and name."""
    writer = _quotas(queue("a", {"f": {CPU: 1}}), {"f": {CPU: 5}}).orchestrator_ref
    assert (writer.api_group, writer.kind, writer.name) == ("kueue.x-k8s.io", "DynamicQuotaOrchestrator", "dqo")


def test_shares_come_from_the_declaration_and_not_from_what_is_in_force() -> None:
    """Else the proportions would wander from one pass to the next."""
    members = [
        cohort("root"),
        queue("a", {"f": {CPU: 10}}, parent="root")._replace(in_force=groups({"f": {CPU: 1}})),
        queue("b", {"f": {CPU: 20}}, parent="root")._replace(in_force=groups({"f": {CPU: 1, MEMORY: 1}})),
    ]
    outcome = settled(
        [orchestrator("dqo", "capacity", root=members[0].key)], [provider("capacity", {"f": {CPU: 48}})], members
    )
    quotas = outcome["dqo"].quotas
    assert nominals(quotas[members[1].key]) == {"f/cpu": "16"}
    assert nominals(quotas[members[2].key]) == {"f/cpu": "32"}


# --- how it is written ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("resource", "declared", "capacity", "written"),
    [
        pytest.param(MEMORY, "64Gi", "32Gi", "32Gi", id="binary"),
        pytest.param(MEMORY, "64Gi", "1536Mi", "1536Mi", id="binary in its canonical form"),
        pytest.param(MEMORY, "64Gi", "1G", "1000000000", id="binary that no suffix divides"),
        pytest.param(MEMORY, "64Gi", "1000", "1k", id="binary below 1024 is decimal"),
        pytest.param(MEMORY, "64G", "32Gi", "34359738368", id="decimal, though the capacity is binary"),
        pytest.param(MEMORY, "64G", "32G", "32G", id="decimal in its canonical form"),
        pytest.param(MEMORY, "64e9", "32Gi", "34359738368", id="exponent that no thousand divides"),
        pytest.param(MEMORY, "64e9", "32G", "32e9", id="exponent"),
        pytest.param(CPU, "1500m", "2500m", "2500m", id="millis"),
        pytest.param(CPU, "1500m", "2", "2", id="millis that are whole"),
        pytest.param(CPU, 10, "9500m", "9500m", id="an integer"),
        pytest.param(CPU, 0.5, "750m", "750m", id="a bare number with a fraction"),
        pytest.param(CPU, "1e1", "9500m", "9500e-3", id="exponent with a fraction"),
        pytest.param(MEMORY, "64Gi", 0, "0", id="zero"),
    ],
)
def test_a_nominal_quota_is_written_in_the_format_in_which_it_was_declared(
    resource: str, declared: Written, capacity: Written, written: str
) -> None:
    """In its canonical form, as the API server would write it."""
    got = _quotas(queue("a", {"f": {resource: declared}}), {"f": {resource: capacity}})
    assert nominals(got) == {f"f/{resource}": written}


@pytest.mark.parametrize("lending", ["1Gi", "32e9"], ids=["below the nominal quota", "equal to it"])
def test_limits_keep_their_own_format(lending: str) -> None:
    """Those that are copied."""
    got = _quotas(queue("a", {"f": {MEMORY: Quota("64G", "2e9", lending)}}), {"f": {MEMORY: "32G"}})
    quota = got.resource_groups[0].flavors[0].resources[0]
    assert (str(quota.nominal_quota), str(quota.borrowing_limit), str(quota.lending_limit)) == ("32G", "2e9", lending)
