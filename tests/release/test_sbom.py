"""The files that say what is shipped: exactly the pins, in a form that tools read, the same at every build."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from kueue_dqo import __version__
from scripts.release import sbom
from scripts.release.licence_terms import JUDGED
from scripts.release.licences import licence_of
from scripts.release.needs import graph, markers_of_the_image
from scripts.release.pins import DEVELOPMENT, IMAGE, Pin, pins
from scripts.release.shipped import base, with_extras
from scripts.release.tree import ReleaseError
from tests.e2e.process import ROOT, environment

TIME = 1_700_000_001
NAMES = {what: f"kueue_dqo-{__version__}-{what}.cdx.json" for what in ("image", "wheel")}


def _pinned(what: str) -> dict[str, Pin]:
    if what == "image":
        return pins(IMAGE)
    brought = with_extras()
    return {name: pin for name, pin in pins(DEVELOPMENT).items() if name in brought}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """As `make sbom` writes them."""
    folder = tmp_path_factory.mktemp("sbom")
    command = [sys.executable, "-m", "scripts.release.sbom", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, env=environment(SOURCE_DATE_EPOCH=str(TIME)), check=True, capture_output=True)
    texts = {path.name: path.read_text() for path in folder.iterdir()}
    assert texts.keys() == set(NAMES.values())
    return {what: texts[name] for what, name in NAMES.items()}


@pytest.mark.parametrize("what", NAMES)
def test_components_are_exactly_the_pins(what: str, files: dict[str, str]) -> None:
    """With version, package URL, licence, and the checksum of each file that is accepted."""
    told: dict[str, Any] = json.loads(files[what])
    components = {each["name"]: each for each in told["components"]}
    assert len(components) == len(told["components"])
    pinned = _pinned(what)
    assert components.keys() == pinned.keys()
    for name, pin in pinned.items():
        component = components[name]
        assert (component["version"], component["purl"]) == (pin.version, f"pkg:pypi/{name}@{pin.version}")
        [files_of_it] = component["externalReferences"]
        assert files_of_it["type"] == "distribution"
        assert sorted(each["content"] for each in files_of_it["hashes"]) == list(pin.hashes)
        [licence] = component["licenses"]
        stated = licence["expression"] if "expression" in licence else licence["license"]["id"]
        assert stated == licence_of(name).expression
        acknowledged = (licence if "expression" in licence else licence["license"])["acknowledgement"]
        assert acknowledged == ("concluded" if name in JUDGED else "declared")


@pytest.mark.parametrize("what", NAMES)
def test_the_schema_accepts_it(what: str, files: dict[str, str]) -> None:
    """In its strict form, which refuses a field that it does not know."""
    judge = JsonStrictValidator(SchemaVersion.V1_6)
    assert judge.validate_str(files[what]) is None
    odd = {**json.loads(files[what]), "colour": "blue"}
    assert judge.validate_str(json.dumps(odd)) is not None


def test_what_an_extra_alone_brings_is_optional(files: dict[str, str]) -> None:
    """In the wheel's; the image has all of its own."""
    plain = graph(base(), markers_of_the_image()).keys()
    for each in json.loads(files["wheel"])["components"]:
        assert each["scope"] == ("required" if each["name"] in plain else "optional"), each["name"]
    assert {each["scope"] for each in json.loads(files["image"])["components"]} == {"required"}


@pytest.mark.parametrize("what", NAMES)
def test_everything_is_there_because_something_needs_it(what: str, files: dict[str, str]) -> None:
    """By the graph, from the project on."""
    told = json.loads(files[what])
    needed = {each["ref"]: each.get("dependsOn", []) for each in told["dependencies"]}
    seen: set[str] = set()
    waiting = [told["metadata"]["component"]["bom-ref"]]
    while waiting:
        ref = waiting.pop()
        if ref not in seen:
            seen.add(ref)
            waiting += needed[ref]
    assert seen == {each["bom-ref"] for each in told["components"]} | {"kueue-dqo"}
    [aiohttp] = (ref for ref in needed if ref.startswith("pkg:pypi/aiohttp@"))
    assert any(ref.startswith("pkg:pypi/yarl@") for ref in needed[aiohttp])


@pytest.mark.parametrize("what", NAMES)
def test_the_same_commit_makes_the_same_bytes(what: str, files: dict[str, str]) -> None:
    """Its serial number and its time are derived, so another time makes another number."""
    make = {"image": sbom.of_the_image, "wheel": sbom.of_the_wheel}[what]
    assert make(datetime.fromtimestamp(TIME, UTC)) == files[what]
    told = json.loads(files[what])
    assert told["metadata"]["timestamp"] == "2023-11-14T22:13:21+00:00"
    later = json.loads(make(datetime.fromtimestamp(TIME + 1, UTC)))
    assert later["serialNumber"] != told["serialNumber"]
    assert later["components"] == told["components"]


def test_it_says_what_it_is_about(files: dict[str, str]) -> None:
    """Of the project, in its version, under its licence; the two files can be told apart."""
    for text in files.values():
        about = json.loads(text)["metadata"]["component"]
        assert (about["name"], about["version"]) == ("kueue-dqo", __version__)
        assert about["licenses"] == [{"license": {"id": "Apache-2.0"}}]
    assert json.loads(files["image"])["serialNumber"] != json.loads(files["wheel"])["serialNumber"]


def test_a_licence_of_another_version_is_not_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where the environment is not that of the pins."""
    path = tmp_path / "requirements.txt"
    path.write_text(IMAGE.read_text().replace("\nclick==", "\nclick==9"))
    monkeypatch.setattr(sbom, "IMAGE", path)
    with pytest.raises(ReleaseError, match=r"click \S+ is installed, 9\S+ is pinned: run make venv"):
        sbom.of_the_image(datetime.fromtimestamp(TIME, UTC))
