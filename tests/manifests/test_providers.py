"""What is the providers' own about their installation. What all daemons have in common is in `test_daemons.py`."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import yaml

from kueue_dqo.api.quantity import Quantity
from tests.manifests.commands import command
from tests.manifests.rendered import (
    MANIFESTS,
    PROVIDERS,
    PROVIDERS_OVERLAY,
    ROOT,
    container,
    daemon,
    of_kind,
    overlay,
    render,
)

CRDS = MANIFESTS / "crds/providers"
IN_COMMON = ("Namespace", "PriorityClass")


def test_every_source_has_its_installation() -> None:
    """A new one is not forgotten here."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(PROVIDERS) == set(project["entry-points"]["kueue_dqo.providers"])
    bases = {folder.name for folder in (MANIFESTS / "base").iterdir()}
    assert bases == {"namespace", "orchestrator", *PROVIDERS}


@pytest.mark.parametrize("name", PROVIDERS)
def test_the_container_runs_its_source(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the Lease of its own name, so that only one replica asks the source."""
    assert container(name)["args"] == ["provider", name]
    context = command(name, monkeypatch)
    assert context.params["leader_elect"] is True
    assert context.params["lease_name"] == f"kueue-dqo-{name}"
    assert context.params["only"] == ()


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_base_is_all_that_its_provider_needs_but_the_namespace(name: str) -> None:
    """So that it can stand beside an overlay of the orchestrator, which brings that."""
    assert list(render(f"base/{name}")) == [each for each in daemon(name) if each["kind"] not in IN_COMMON]


def test_the_overlay_is_the_providers_and_what_they_stand_on() -> None:
    """Every provider once, and no orchestrator."""
    objects = overlay(PROVIDERS_OVERLAY)
    assert [each["metadata"]["name"] for each in of_kind(objects, "Deployment")] == [
        f"kueue-dqo-{name}" for name in PROVIDERS
    ]
    assert {each["kind"] for each in objects if "app.kubernetes.io/component" not in each["metadata"]["labels"]} == set(
        IN_COMMON
    )
    assert len(objects) == len(IN_COMMON) + sum(len(render(f"base/{name}")) for name in PROVIDERS)


def test_the_overlay_tells_how_providers_stand_beside_an_orchestrator() -> None:
    """Its comment is a kustomization that names what is there."""
    text = (MANIFESTS / "overlays/providers/kustomization.yaml").read_text()
    lines = [line.removeprefix("#   ") for line in text.splitlines() if line.startswith("#   ")]
    told = yaml.safe_load("\n".join(lines))
    assert told["resources"] == ["../manifests/overlays/spec"] + [
        f"../manifests/base/{name}" for name in ("node-inventory", "manual", "composite")
    ]
    assert [(ROOT / "docs" / each).is_dir() for each in told["resources"] + told["components"]] == [True] * 5


def test_the_node_inventory_has_memory_for_a_large_cluster() -> None:
    """Every node of the cluster is kept."""
    memory = {name: Quantity.of(container(name)["resources"]["limits"]["memory"]) for name in PROVIDERS}
    assert memory["node-inventory"] == Quantity.of("512Mi")
    assert memory["manual"] == memory["composite"] < memory["node-inventory"]


def test_the_definitions_of_parameters_are_installed_by_themselves() -> None:
    """Apart from those of Kueue's kinds, which must not be applied over Kueue 0.20."""
    files = sorted(file.name for file in CRDS.glob("*.yaml") if file.name != "kustomization.yaml")
    objects = render("crds/providers")
    assert sorted(f"{each['spec']['names']['plural']}.yaml" for each in objects) == files
    assert {each["spec"]["group"] for each in objects} == {"kueue-dqo.dev"}


@pytest.mark.parametrize("name", PROVIDERS)
def test_the_provider_may_read_the_parameters_that_are_defined(name: str) -> None:
    """By the plural name of its kind."""
    (role,) = of_kind(daemon(name), "ClusterRole")
    (named,) = (rule["resources"] for rule in role["rules"] if rule["apiGroups"] == ["kueue-dqo.dev"])
    plurals = {Path(file).stem for file in CRDS.glob("*s.yaml")}
    assert len(named) == 1
    assert set(named) <= plurals
