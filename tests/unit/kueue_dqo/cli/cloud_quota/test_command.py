"""`dqo provider cloud-quota --once`: what it reads, what it takes for granted, how it ends.

`tests/integration/cli/test_cloud_quota_once.py` has the clouds that answer.
"""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import pytest

from kueue_dqo.api.cloud import CloudQuotaParametersSpec
from kueue_dqo.cli.main import run
from providers.cloud_quota.cloud import Cloud
from tests.unit.providers.cloud_quota.clouds import FakeCloud, quota

NAME = ["provider", "cloud-quota", "--once"]
Plain = dict[str, Any]


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> FakeCloud:
    """The one that all parameters are about."""
    fake = FakeCloud({quota("L-417A185B"): 384.0})

    def cloud_of(_: CloudQuotaParametersSpec) -> Cloud:
        return fake

    for module in ("asking", "once"):
        monkeypatch.setattr(f"providers.cloud_quota.{module}.cloud_of", cloud_of)
    return fake


def parameters(name: str = "aws", *flavors: str) -> Plain:
    entries = [{"instanceType": "p5.48xlarge", "quota": {"code": "L-417A185B"}, "share": "0.5"}]
    account = {"regions": ["us-east-1"], "flavors": [{"name": each, "entries": entries} for each in flavors or ["p5"]]}
    return {
        "apiVersion": "kueue-dqo.dev/v1alpha1",
        "kind": "CloudQuotaParameters",
        "metadata": {"name": name},
        "spec": {"aws": account},
    }


def provider(name: str, *flavors: str, of: str = "aws", controller: str = "kueue-dqo.dev/cloud-quota") -> Plain:
    return {
        "apiVersion": "kueue.x-k8s.io/v1alpha1",
        "kind": "CapacityProvider",
        "metadata": {"name": name},
        "spec": {
            "controllerName": controller,
            "orchestratedFlavors": [{"name": each} for each in flavors],
            "parameters": {"apiGroup": "kueue-dqo.dev", "kind": "CloudQuotaParameters", "name": of},
        },
    }


def flavor(name: str) -> Plain:
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": {}}


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Calls the command with objects on standard input. Returns code, output and errors."""

    def once(*objects: Plain, output: str = "json") -> tuple[int, str, str]:
        data = "\n".join(map(json.dumps, objects)).encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        code = run([*NAME, "-f", "-", "-o", output])
        return code, *capsys.readouterr()

    return once


def names(out: str) -> list[str]:
    return [item["metadata"]["name"] for item in json.loads(out)["items"]]


def test_parameters_that_nobody_names_get_a_provider_and_a_note(cloud: FakeCloud, call: Any) -> None:
    del cloud
    code, out, err = call(parameters("aws", "p5", "other"))
    assert code == 0
    (item,) = json.loads(out)["items"]
    assert item["metadata"] == {"name": "aws"}
    assert item["spec"]["orchestratedFlavors"] == [{"name": "p5"}, {"name": "other"}]
    assert err == (
        "Note: CapacityProvider/aws is made up, with all flavors of CloudQuotaParameters/aws, which no "
        "CapacityProvider in the files names\n"
    )


def test_providers_in_the_files_are_asked_about_by_name(cloud: FakeCloud, call: Any) -> None:
    """And those of other controllers are left alone."""
    del cloud
    others = provider("manual", "p5", controller="kueue-dqo.dev/manual")
    code, out, err = call(provider("b", "p5", of="two"), others, provider("a", "p5"), parameters(), parameters("two"))
    assert (code, names(out), err) == (0, ["a", "b"], "")


def test_one_that_fails_among_others_ends_with_1_and_is_told(cloud: FakeCloud, call: Any) -> None:
    """All the same, what there is of the others is printed."""
    del cloud
    code, out, err = call(provider("a", "p5"), provider("b", "p5", of="gone"), parameters())
    assert code == 1
    good, bad = json.loads(out)["items"]
    assert good["status"]["capacity"]["flavors"][0]["resources"]["nvidia.com/gpu"] == "8"
    assert bad["status"].keys() == {"conditions"}
    assert "CapacityProvider/b: nothing would be published: Misconfigured: spec.parameters names" in err
    code, out, _ = call(provider("a", "p5"), provider("b", "p5", of="gone"), parameters(), output="table")
    assert code == 1
    assert "2 CapacityProviders, 1 with a capacity; " in out


@pytest.mark.parametrize("flavors", [[], ["p5"], ["other"]], ids=["no flavor", "the flavor", "another one"])
def test_a_flavor_is_missed_only_where_files_have_flavors(cloud: FakeCloud, call: Any, flavors: list[str]) -> None:
    """Whoever has no cluster has none, and a daemon wants each one there."""
    del cloud
    code, _, err = call(provider("a", "p5"), parameters(), *map(flavor, flavors))
    assert code == 0
    missed = "Note: CapacityProvider/a: ResourceFlavor p5 is not among the files"
    assert (missed in err) is (flavors == ["other"])


def test_a_name_that_is_taken_is_no_name_for_one_that_is_made_up(cloud: FakeCloud, call: Any) -> None:
    """Two objects of one name would be no list."""
    code, out, err = call(provider("aws", "p5", controller="kueue-dqo.dev/manual"), parameters())
    assert (code, out, cloud.asked) == (1, "", [])
    assert "CapacityProvider/aws is another one: add it to the files" in err


def test_files_without_parameters_are_refused(call: Any) -> None:
    code, _, err = call(flavor("p5"))
    assert code == 1
    assert "no CloudQuotaParameters in -: there is nothing to ask about" in err


def test_parameters_with_mistakes_are_refused_before_anybody_is_asked(cloud: FakeCloud, call: Any) -> None:
    wrong = parameters()
    wrong["spec"]["aws"]["flavors"][0]["entries"][0]["instanceType"] = 5
    code, _, err = call(wrong)
    assert (code, cloud.asked) == (1, [])
    assert "CloudQuotaParameters/aws" in err
    assert "instanceType" in err


def test_no_path_is_no_question(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(NAME) == 1
    assert "say where the parameters are: -f PATH" in capsys.readouterr().err


def test_what_a_cloud_says_does_not_steer_the_terminal(cloud: FakeCloud, call: Any) -> None:
    """Control characters are shown as such."""
    cloud.answers[quota("L-417A185B")] = ValueError("\x1b[31mred")
    _, out, _ = call(parameters(), output="table")
    assert "\x1b" not in out
    assert "ValueError: \N{REPLACEMENT CHARACTER}[31mred" in out
