"""What the wheel says of itself: the project's own words, what it needs, what it brings."""

from __future__ import annotations

import re
import zipfile
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from kueue_dqo import __version__
from scripts.release import shipped
from tests.e2e.process import PROGRAMS, ROOT

EXTRAS = ["aws", "cli", "gcp", "nvidia"]
FIELDS = {
    "name": "Name",
    "version": "Version",
    "description": "Summary",
    "requires-python": "Requires-Python",
    "license": "License-Expression",
}


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    """As they stand in it."""
    return HeaderParser().parsestr(_read(wheel, "METADATA"))


def _read(wheel: Path, name: str) -> str:
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(f"kueue_dqo-{__version__}.dist-info/{name}").decode()


def test_its_metadata_are_those_of_the_project(metadata: Message) -> None:
    """Word by word, with the README as description."""
    project = shipped.project()
    assert {field: metadata[header] for field, header in FIELDS.items()} == {name: project[name] for name in FIELDS}
    assert metadata.get_all("License-File") == ["LICENSE"]
    assert metadata.get_all("Classifier") == project["classifiers"]
    assert metadata.get_payload() == (ROOT / "README.md").read_text()


def test_it_says_what_the_wheel_needs(metadata: Message) -> None:
    """What every daemon stands on; the rest belongs to extras."""
    needs = [Requirement(line) for line in metadata.get_all("Requires-Dist") or []]
    assert {canonicalize_name(each.name) for each in needs if each.marker is None} == {
        *("aiohttp", "click", "kubernetes-asyncio", "msgspec", "prometheus-client", "python-dateutil", "pyyaml"),
        *("structlog", "tzdata"),
    }
    assert metadata.get_all("Provides-Extra") == shipped.extras() == EXTRAS
    for extra in EXTRAS:
        brought = [each for each in needs if each.marker and each.marker.evaluate({"extra": extra})]
        assert {canonicalize_name(each.name) for each in brought} == {
            canonicalize_name(each.name) for each in shipped.added_by(extra)
        }


def test_the_wheel_brings_the_programs_and_the_providers(wheel: Path) -> None:
    """By the names that pods and kubectl call them."""
    text = _read(wheel, "entry_points.txt")
    assert re.findall(r"^\[(.*)\]$", text, re.MULTILINE) == ["console_scripts", "kueue_dqo.providers"]
    for program in PROGRAMS:
        assert f"\n{program} = kueue_dqo.cli.main:main\n" in text
    for folder in sorted((ROOT / "providers").glob("*/source.py")):
        name = folder.parent.name
        assert f"\n{name.replace('_', '-')} = providers.{name}.source:CONTROLLER\n" in text
