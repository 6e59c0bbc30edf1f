"""The page about security names tests that there are, and its rights are those that are granted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import blocks_of, section_of
from tests.manifests.rendered import AGENT, OVERLAYS, PROVIDERS, build, daemon, kustomized, overlay, render
from tests.manifests.test_rights import Right, _granted

ROOT = Path(__file__).parents[2]
SECURITY = (ROOT / "docs/security.md").read_text()
RIGHTS = (ROOT / "docs/reference/rights.md").read_text()
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", SECURITY)))


def test_every_test_that_is_named_is_there() -> None:
    """A claim whose test was renamed is noticed."""
    assert len(NAMED) > 12
    assert [name for file, name in NAMED if f"def {name}(" not in (ROOT / file).read_text()] == []


@pytest.mark.parametrize("file", sorted((ROOT / "tests/integration/security").glob("test_*.py")), ids=lambda f: f.stem)
def test_every_attack_that_is_tested_is_told(file: Path) -> None:
    """What could be done as well as what could not."""
    tests = set(re.findall(r"^def (test_\w+)\(", file.read_text(), re.MULTILINE))
    assert {name for where, name in NAMED if where == str(file.relative_to(ROOT))} == tests


def test_every_row_that_says_could_not_names_its_test() -> None:
    """But one, that follows from who calls whom."""
    rows = re.findall(r"^\| could not \| (.*?) \| (.*?) ?\|$", SECURITY, re.MULTILINE)
    assert [what for what, tested in rows if "`tests/" not in tested] == [
        "get anything of the manager: the daemon sends it requests and its own token"
    ]


def test_every_row_that_says_could_names_its_test() -> None:
    """But two, that depend on others: what namespaces allow, and what a worker says."""
    rows = re.findall(r"^\| could \| (.*?) ?\|$", SECURITY, re.MULTILINE)
    assert [row[:40] for row in rows if "`tests/" not in row] == [
        "start pods that Kueue does not manage: w",
        "say that it has more or less than it has",
    ]


def test_the_patch_keeps_every_daemon_off_tenants_nodes(tmp_path: Path) -> None:
    """All Deployments of ours, as kustomize builds them with what the page says."""
    (block,) = (each for each in blocks_of("yml", SECURITY) if "nodeSelector" in each)
    folder = kustomized(tmp_path, ["overlays/spec", "base/manual", "base/multikueue"])
    with (folder / "kustomization.yaml").open("a", encoding="utf-8") as kustomization:
        kustomization.write(block)
    specs = [each["spec"]["template"]["spec"] for each in build(folder) if each["kind"] == "Deployment"]
    control_plane = "node-role.kubernetes.io/control-plane"
    assert [each["nodeSelector"].get(control_plane) for each in specs] == [""] * 3
    assert [[one["key"] for one in each["tolerations"]] for each in specs] == [[control_plane]] * 3


def _told(title: str) -> set[Right]:
    """What the table below a title says."""
    text = RIGHTS.partition(f"**{title}**\n")[2].partition("\n**")[0]
    told = set()
    for resource, verbs, where in re.findall(r"^\| `(\S+)` \| ([^|]+) \| ([^|]+) \|", text, re.MULTILINE):
        names = re.findall(r"`([^`]+)`", where)
        namespace = "" if where.startswith("everywhere") else names.pop(0)
        plain, dot, group = resource.partition(".")
        del dot
        told |= {Right(namespace, group, plain, verb, names[0] if names else "") for verb in verbs.split(", ")}
    return told


@pytest.mark.parametrize("name", OVERLAYS)
def test_the_rights_of_the_orchestrator_are_told(name: str) -> None:
    """Each with its reason, none too many."""
    assert _told(f"`kueue-dqo-orchestrator`, overlay `{name}`") == _granted(overlay(name))


@pytest.mark.parametrize("name", [*PROVIDERS, AGENT])
def test_the_rights_of_the_provider_are_told(name: str) -> None:
    """As above."""
    assert _told(f"`kueue-dqo-{name}`") == _granted(daemon(name))


def test_the_rights_on_a_worker_are_told() -> None:
    """As above."""
    assert _told("`kueue-dqo-multikueue-reader`, on a worker") == _granted(render("worker/multikueue-reader"))


def test_no_role_is_aggregated() -> None:
    """Or whoever has `view`, `edit` or `admin` of Kubernetes would have it."""
    objects = [each for name in OVERLAYS for each in overlay(name)]
    objects += [each for name in (*PROVIDERS, AGENT) for each in daemon(name)]
    roles = [each for each in (*objects, *render("worker/multikueue-reader")) if each["kind"] == "ClusterRole"]
    assert len(roles) > 8
    labels = {label for each in roles for label in each["metadata"].get("labels", {})}
    assert [label for label in labels if label.startswith("rbac.authorization.k8s.io/")] == []


def test_every_right_has_its_reason() -> None:
    """The last column is never empty."""
    assert re.findall(r"^\| `[^|]+\|[^|]+\|[^|]+\|\s*(?:None)?\s*\|$", RIGHTS, re.MULTILINE) == []
    assert "network-policy" in section_of(ROOT / "docs/security.md", "Network")
