"""What is the providers' own about their installation. What all daemons have in common is in `test_daemons.py`."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest
import yaml

from kueue_dqo.api.quantity import Quantity
from tests.manifests.commands import command
from tests.manifests.rendered import (
    AGENT,
    CLOUDS,
    GPUS,
    MANIFESTS,
    MULTIKUEUE,
    PROVIDERS,
    PROVIDERS_OVERLAY,
    ROOT,
    build,
    container,
    daemon,
    of_kind,
    overlay,
    render,
)

CRDS = MANIFESTS / "crds/providers"
IN_COMMON = ("Namespace", "PriorityClass")
FOR_ALL = tuple(name for name in PROVIDERS if name not in {GPUS, CLOUDS, MULTIKUEUE})


def test_every_source_has_its_installation() -> None:
    """A new one is not forgotten here."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(PROVIDERS) == set(project["entry-points"]["kueue_dqo.providers"])
    bases = {folder.name for folder in (MANIFESTS / "base").iterdir()}
    assert bases == {"namespace", "orchestrator", AGENT, *PROVIDERS}


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
    """Every provider that any cluster can make use of once, and no orchestrator."""
    objects = overlay(PROVIDERS_OVERLAY)
    assert [each["metadata"]["name"] for each in of_kind(objects, "Deployment")] == [
        f"kueue-dqo-{name}" for name in FOR_ALL
    ]
    assert {each["kind"] for each in objects if "app.kubernetes.io/component" not in each["metadata"]["labels"]} == set(
        IN_COMMON
    )
    assert len(objects) == len(IN_COMMON) + sum(len(render(f"base/{name}")) for name in FOR_ALL)


@pytest.mark.parametrize(
    ("folder", "bases"),
    [
        (PROVIDERS_OVERLAY, ("node-inventory", "manual", "composite")),
        (GPUS, (GPUS, AGENT)),
        (MULTIKUEUE, (MULTIKUEUE,)),
    ],
    ids=[PROVIDERS_OVERLAY, GPUS, MULTIKUEUE],
)
def test_the_overlay_tells_how_providers_stand_beside_an_orchestrator(folder: str, bases: tuple[str, ...]) -> None:
    """Its comment is a kustomization that names what is there."""
    text = (MANIFESTS / f"overlays/{folder}/kustomization.yaml").read_text()
    lines = [line.removeprefix("#   ") for line in text.splitlines() if line.startswith("#   ")]
    told = yaml.safe_load("\n".join(lines))
    assert told["resources"] == ["../manifests/overlays/spec", *(f"../manifests/base/{name}" for name in bases)]
    named = told["resources"] + told["components"]
    assert [each for each in named if not (ROOT / "docs" / each).is_dir()] == []
    assert len(told["components"]) == 1


def test_those_that_hold_much_have_memory_for_it() -> None:
    """Every node of a large cluster, the queues of many, or the client libraries of two clouds."""
    memory = {name: Quantity.of(container(name)["resources"]["limits"]["memory"]) for name in PROVIDERS}
    assert {memory[name] for name in ("node-inventory", GPUS, CLOUDS, MULTIKUEUE)} == {Quantity.of("512Mi")}
    assert memory["manual"] == memory["composite"] < memory["node-inventory"]


@pytest.mark.parametrize("name", PROVIDERS)
def test_what_all_have_in_common_has_taken_the_name(name: str) -> None:
    """In every place: the word that stands for it is left nowhere."""
    assert "PROVIDER" not in yaml.safe_dump_all(render(f"base/{name}"))
    for other in set(PROVIDERS) - {name}:
        assert f"kueue-dqo-{other}-" not in yaml.safe_dump_all(render(f"base/{name}"))


def test_a_base_that_says_no_name_is_refused(tmp_path: Path) -> None:
    """Rather than that anything is installed under the word that stands for it."""
    shutil.copytree(MANIFESTS, tmp_path / "manifests")
    role = tmp_path / "manifests/base/manual/clusterrole.yaml"
    role.write_text(role.read_text().replace("    app.kubernetes.io/component: manual\n", "    example.com/a: b\n"))
    with pytest.raises(AssertionError, match=r"app\.kubernetes\.io/component"):
        build(tmp_path / "manifests/base/manual")


def test_the_definitions_of_parameters_are_installed_by_themselves() -> None:
    """Apart from those of Kueue's kinds, which must not be applied over Kueue 0.20."""
    files = sorted(file.name for file in CRDS.glob("*.yaml") if file.name != "kustomization.yaml")
    objects = render("crds/providers")
    assert sorted(f"{each['spec']['names']['plural']}.yaml" for each in objects) == files
    assert {each["spec"]["group"] for each in objects} == {"kueue-dqo.dev"}


@pytest.mark.parametrize("name", PROVIDERS)
def test_the_provider_may_read_the_parameters_that_are_defined(name: str) -> None:
    """By the plural name of its kind; and the reports, where it makes capacity of those."""
    (role,) = of_kind(daemon(name), "ClusterRole")
    named = [each for rule in role["rules"] if rule["apiGroups"] == ["kueue-dqo.dev"] for each in rule["resources"]]
    plurals = {Path(file).stem for file in CRDS.glob("*s.yaml")}
    assert len(named) == 1 + (name == GPUS)
    assert set(named) <= plurals
