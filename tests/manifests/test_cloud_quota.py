"""The installation of the cloud quota provider: whose rights in which cloud, and how a second account stands beside."""

from __future__ import annotations

import copy
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kueue_dqo.api.problems import DNS_LABEL
from tests.manifests.rendered import (
    CLOUD_OVERLAYS,
    CLOUDS,
    MANIFESTS,
    NAMESPACE,
    ROOT,
    build,
    of_kind,
    only,
    overlay,
    render,
    spreads,
)

NAME = f"kueue-dqo-{CLOUDS}"
FIRST, SECOND = "beside an orchestrator", "a second account"
ANNOTATIONS = {"aws": "eks.amazonaws.com/role-arn", "gcp": "iam.gke.io/gcp-service-account"}
OF_BASE = {"DQO_CONCURRENCY": "16"}
VARIABLES = {"aws": {"AWS_EC2_METADATA_DISABLED": "true"}, "gcp": {}}
FORMS = {
    "aws": r"arn:aws:iam::(111122223333|444455556666):role/kueue-dqo",
    "gcp": r"kueue-dqo@(my|research)-project\.iam\.gserviceaccount\.com",
}
LABEL = "app.kubernetes.io/instance"


def _plain(cloud: str) -> tuple[dict[str, Any], ...]:
    """The overlay without what is the cloud's own."""
    objects = copy.deepcopy(overlay(cloud))
    del only(objects, "ServiceAccount")["metadata"]["annotations"]
    container = _container(only(objects, "Deployment"))
    container["env"] = [each for each in container["env"] if each["name"] not in VARIABLES[cloud]]
    return objects


def _container(deployment: dict[str, Any]) -> dict[str, Any]:
    (found,) = deployment["spec"]["template"]["spec"]["containers"]
    assert isinstance(found, dict)
    return found


def _variables(deployment: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["value"] for each in _container(deployment)["env"] if "value" in each}


def _told(cloud: str) -> dict[str, dict[str, Any]]:
    """The kustomizations in the comment of the overlay."""
    lines = (MANIFESTS / f"overlays/{cloud}/kustomization.yaml").read_text().splitlines()
    text = "\n".join(line.removeprefix("#   ") if line.startswith("#   ") else "" for line in lines)
    first, second = (yaml.safe_load(block) for block in re.split(r"\n\n+", text.strip()))
    return {FIRST: first, SECOND: second}


@pytest.fixture(params=CLOUD_OVERLAYS)
def cloud(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def side_by_side(cloud: str, tmp_path: Path) -> dict[str, tuple[dict[str, Any], ...]]:
    """Both of the comment's, in folders of their own beside `manifests/`."""
    shutil.copytree(MANIFESTS, tmp_path / "manifests")
    built = {}
    for name, plain in _told(cloud).items():
        folder = tmp_path / name.replace(" ", "-")
        folder.mkdir()
        (folder / "kustomization.yaml").write_text(yaml.safe_dump(plain))
        objects = build(folder)
        built[name] = tuple(
            each for each in objects if each["metadata"]["labels"].get("app.kubernetes.io/component") == CLOUDS
        )
    return built


def test_an_overlay_is_the_base_and_whose_rights_it_has_in_the_cloud(cloud: str) -> None:
    """By the annotation that the cloud's own machinery looks for, with an account that is nobody's."""
    objects = overlay(cloud)
    assert only(objects, "ServiceAccount")["metadata"]["annotations"].keys() == {ANNOTATIONS[cloud]}
    assert re.fullmatch(FORMS[cloud], only(objects, "ServiceAccount")["metadata"]["annotations"][ANNOTATIONS[cloud]])
    assert _variables(only(objects, "Deployment")) == OF_BASE | VARIABLES[cloud]
    plain = _plain(cloud)
    for part in ("namespace", CLOUDS):
        assert [each for each in render(f"base/{part}") if each not in plain] == []
    assert len(plain) == len(render("base/namespace")) + len(render(f"base/{CLOUDS}"))


def test_no_key_is_shipped_or_mounted(cloud: str) -> None:
    """Neither by a variable of an SDK nor as a file."""
    text = yaml.safe_dump_all(overlay(cloud))
    assert re.findall(r"ACCESS_KEY|SESSION_TOKEN|GOOGLE_APPLICATION_CREDENTIALS|Secret|volumes", text) == []


def test_the_comment_gives_the_account_beside_an_orchestrator(
    cloud: str, side_by_side: dict[str, tuple[dict[str, Any], ...]]
) -> None:
    """As the overlay has it alone."""
    found = only(side_by_side[FIRST], "ServiceAccount")
    assert found == only(overlay(cloud), "ServiceAccount")


def test_the_page_about_the_installation_tells_the_same(cloud: str) -> None:
    """Both overlays by their names, and what stands in the comment of one of them."""
    page = (ROOT / "docs/install.md").read_text()
    assert f"\n| `overlays/{cloud}` |" in page
    assert f"`manifests/overlays/{cloud}`" in page
    blocks = map(yaml.safe_load, re.findall(r"^```yml\n(.*?)^```", page, re.MULTILINE | re.DOTALL))
    assert _told("aws")[FIRST] in list(blocks)


def test_two_accounts_share_no_object(side_by_side: dict[str, tuple[dict[str, Any], ...]]) -> None:
    """Neither rights nor a Service, a budget or an account; and none refers to one of the other's."""
    keys = [
        {(each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"]) for each in objects}
        for objects in side_by_side.values()
    ]
    assert len(keys[0]) == len(keys[1]) == len(render(f"base/{CLOUDS}"))
    assert keys[0].isdisjoint(keys[1])
    for objects in side_by_side.values():
        names = {each["metadata"]["name"] for each in objects}
        for each in of_kind(objects, "RoleBinding") + of_kind(objects, "ClusterRoleBinding"):
            assert {each["roleRef"]["name"], each["subjects"][0]["name"]} <= names
            assert each["subjects"][0]["namespace"] == NAMESPACE
        assert only(objects, "Deployment")["spec"]["template"]["spec"]["serviceAccountName"] in names
        assert all(DNS_LABEL.fits(name) for name in names)


def _selectors(objects: tuple[dict[str, Any], ...]) -> Iterator[dict[str, str]]:
    deployment = only(objects, "Deployment")["spec"]
    yield deployment["selector"]["matchLabels"]
    yield only(objects, "Service")["spec"]["selector"]
    yield only(objects, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"]
    for each in spreads(deployment["template"]["spec"]):
        yield each["labelSelector"]["matchLabels"]


def test_two_accounts_select_their_own_pods_alone(side_by_side: dict[str, tuple[dict[str, Any], ...]]) -> None:
    """In Deployment, Service, budget and spread."""
    labels = [
        only(objects, "Deployment")["spec"]["template"]["metadata"]["labels"] for objects in side_by_side.values()
    ]
    for objects, own, other in zip(side_by_side.values(), labels, labels[::-1], strict=True):
        for selector in _selectors(objects):
            assert selector.items() <= own.items()
            assert not selector.items() <= other.items()
            assert LABEL in selector


def test_two_accounts_elect_by_themselves_and_serve_their_own(
    cloud: str, side_by_side: dict[str, tuple[dict[str, Any], ...]]
) -> None:
    """Each with the rights of another account of the cloud."""
    second = side_by_side[SECOND]
    assert _variables(only(side_by_side[FIRST], "Deployment")).keys().isdisjoint({"DQO_ONLY", "DQO_LEASE_NAME"})
    told = _variables(only(second, "Deployment"))
    assert told["DQO_LEASE_NAME"] == only(second, "Deployment")["metadata"]["name"] != NAME
    assert told["DQO_ONLY"].split() == ["research-a", "research-b"]
    accounts = [
        only(objects, "ServiceAccount")["metadata"]["annotations"][ANNOTATIONS[cloud]]
        for objects in side_by_side.values()
    ]
    assert accounts[0] != accounts[1]
    assert all(re.fullmatch(FORMS[cloud], each) for each in accounts)
