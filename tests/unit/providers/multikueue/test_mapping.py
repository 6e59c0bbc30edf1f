"""As which flavor of the manager a worker's flavor counts."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kueue_dqo.api.multikueue import FlavorMapping
from kueue_dqo.provider import Misconfigured
from providers.multikueue.mapping import FlavorMap
from tests.unit.providers.multikueue.manager_objects import listed, provider

H100, A100 = FlavorMapping("h100-sxm", "gpu"), FlavorMapping("a100", "old")


def test_without_a_mapping_everything_is_the_one_flavor() -> None:
    flavors = FlavorMap.of(provider(flavors=["gpu"]), listed("a"))
    assert flavors.manager_flavor("worker1", "whatever") == "gpu"


def test_with_a_mapping_what_it_does_not_name_is_not_counted() -> None:
    """Not even where the provider has one flavor only."""
    flavors = FlavorMap.of(provider(flavors=["gpu"]), listed("a", flavor_mapping=(H100,)))
    assert flavors.manager_flavor("worker1", "h100-sxm") == "gpu"
    assert flavors.manager_flavor("worker1", "gpu") is None


def test_other_flavors_take_what_no_entry_names() -> None:
    spec = listed("a", flavor_mapping=(H100,), other_flavors="old")
    flavors = FlavorMap.of(provider(flavors=["gpu", "old"]), spec)
    assert flavors.manager_flavor("worker1", "h100-sxm") == "gpu"
    assert flavors.manager_flavor("worker1", "t4") == "old"


def test_other_flavors_do_for_several_flavors_without_a_mapping() -> None:
    flavors = FlavorMap.of(provider(flavors=["gpu", "old"]), listed("a", other_flavors="old"))
    assert flavors.manager_flavor("worker1", "gpu") == "old"


def test_the_first_entry_that_fits_counts() -> None:
    mapping = (FlavorMapping("default", "gpu", ("worker1",)), FlavorMapping("default", "old"), H100)
    flavors = FlavorMap.of(provider(flavors=["gpu", "old"]), listed("a", flavor_mapping=mapping))
    assert flavors.manager_flavor("worker1", "default") == "gpu"
    assert flavors.manager_flavor("worker2", "default") == "old"


def test_an_entry_for_other_clusters_does_not_fit() -> None:
    spec = listed("a", flavor_mapping=(FlavorMapping("default", "gpu", ("worker1", "worker3")),))
    flavors = FlavorMap.of(provider(), spec)
    found = [flavors.manager_flavor(f"worker{number}", "default") for number in (1, 2, 3)]
    assert found == ["gpu", None, "gpu"]


def test_a_flavor_that_is_not_orchestrated_is_refused_in_each_place() -> None:
    spec = listed("a", flavor_mapping=(H100, A100), other_flavors="new")
    with pytest.raises(Misconfigured) as raised:
        FlavorMap.of(provider(flavors=["gpu"]), spec)
    text = str(raised.value)
    assert text.startswith("MultiKueueParameters fleet-parameters: spec.flavorMapping[1].flavor names 'old', which is")
    assert "spec.otherFlavors names 'new', which is not in spec.orchestratedFlavors of CapacityProvider fleet" in text
    assert "flavorMapping[0]" not in text


def test_several_flavors_want_to_be_told_apart() -> None:
    wanted = "spec.flavorMapping: is empty, while CapacityProvider fleet orchestrates 2 flavors (gpu, old): say which"
    with pytest.raises(Misconfigured, match=re.escape(wanted)):
        FlavorMap.of(provider(flavors=["gpu", "old"]), listed("a"))


_NAMES = st.sampled_from("abc")


@given(
    entries=st.lists(st.tuples(_NAMES, st.sampled_from(["gpu", "old"]), st.lists(_NAMES, max_size=2).map(tuple))),
    others=st.sampled_from([None, "gpu", "old"]),
    cluster=_NAMES,
    flavor=_NAMES,
)
def test_a_flavor_is_one_of_the_providers_or_not_counted(
    entries: list[tuple[str, str, tuple[str, ...]]], others: str | None, cluster: str, flavor: str
) -> None:
    """What no entry fits has the flavor of all others, whatever the other entries are."""
    mapping = tuple(FlavorMapping(*entry) for entry in entries)
    owner = provider(flavors=["gpu", "old"])
    spec = listed("a", flavor_mapping=mapping, other_flavors=others)
    if not mapping and others is None:
        with pytest.raises(Misconfigured):
            FlavorMap.of(owner, spec)
        return
    fitting = [to for of, to, clusters in entries if of == flavor and (cluster in clusters or not clusters)]
    assert FlavorMap.of(owner, spec).manager_flavor(cluster, flavor) == [*fitting, others][0]
