"""Writes what is shipped as CycloneDX 1.6, one file for the image and one for the wheel.

    .venv/bin/python -m scripts.release.sbom [--directory dist]

Components are the pins, each with its licence and with the checksum of every file that is accepted for it; the graph
says which needs which. Serial number and time are derived, from the contents and from the last commit, so that the
same commit makes the same bytes. What is written was validated against the schema.
"""

from __future__ import annotations

import argparse
import json
import sys
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.license import LicenseAcknowledgement
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL
from packaging.utils import canonicalize_name

from scripts.release import shipped
from scripts.release.licences import licence_of
from scripts.release.needs import graph, markers_of_the_image
from scripts.release.pins import DEVELOPMENT, IMAGE, Pin, pins
from scripts.release.tree import DIST, ReleaseError, time_of_release

_ACCEPTED: Final = "SHA-256 of each file of this version that is accepted: wheels by platform, the source distribution"
_TOOL: Final = "cyclonedx-python-lib"
_NAMESPACE: Final = uuid.uuid5(uuid.NAMESPACE_DNS, "kueue-dqo.dev")


def main() -> int:
    """Writes both, and returns the exit code."""
    parser = argparse.ArgumentParser(description="Writes what the image and the wheel consist of, as CycloneDX.")
    parser.add_argument("--directory", type=Path, default=DIST, help="where the files are put")
    directory = parser.parse_args().directory
    try:
        time = datetime.fromtimestamp(time_of_release(), UTC)
        texts = {"image": of_the_image(time), "wheel": of_the_wheel(time)}
    except ReleaseError as error:
        print(f"sbom: {error}", file=sys.stderr)
        return 1
    directory.mkdir(parents=True, exist_ok=True)
    for what, text in texts.items():
        path = directory / f"kueue_dqo-{shipped.project()['version']}-{what}.cdx.json"
        path.write_text(text)
        print(f"sbom: {path.name}, {len(json.loads(text)['components'])} components")
    return 0


def of_the_image(time: datetime) -> str:
    """What docker/requirements.txt installs. Packages of the base image are not in it: an image scanner knows those."""
    roots = shipped.base() + [each for name in shipped.IMAGE_EXTRAS for each in shipped.added_by(name)]
    needed = graph(roots, markers_of_the_image())
    return _text(needed, {each.name for each in roots}, pins(IMAGE), frozenset(needed), time)


def of_the_wheel(time: datetime) -> str:
    """What the wheel needs, in the versions that are tested; what an extra alone brings is optional."""
    base = shipped.base()
    roots = base + [each for name in shipped.extras() for each in shipped.added_by(name)]
    markers = markers_of_the_image()
    needed = graph(roots, markers)
    known = pins(DEVELOPMENT)
    missing = sorted(needed.keys() - known.keys())
    if missing:
        raise ReleaseError(f"{DEVELOPMENT.name} has no pin of {', '.join(missing)}: add it to requirements-dev.txt")
    chosen = {name: known[name] for name in needed}
    return _text(needed, {each.name for each in roots}, chosen, frozenset(graph(base, markers)), time)


def _text(
    needed: Mapping[str, set[str]],
    roots: set[str],
    chosen: Mapping[str, Pin],
    required: frozenset[str],
    time: datetime,
) -> str:
    """The file. Roots are what the project itself needs, chosen what is listed, required what is not optional."""
    components = {name: _component(pin, is_required=name in required) for name, pin in chosen.items()}
    project = shipped.project()
    own = Component(
        type=ComponentType.APPLICATION,
        name=shipped.NAME,
        version=project["version"],
        description=project["description"],
        licenses=[LicenseFactory().make_from_string(project["license"])],
        purl=PackageURL("generic", name=shipped.NAME, version=project["version"]),
        bom_ref=shipped.NAME,
    )
    bom = Bom(components=components.values())
    bom.metadata.component = own
    bom.metadata.timestamp = time
    bom.metadata.tools.components.add(
        Component(type=ComponentType.LIBRARY, name=_TOOL, version=version(_TOOL), bom_ref=_TOOL)
    )
    bom.register_dependency(own, [components[canonicalize_name(name)] for name in roots])
    for name, component in components.items():
        bom.register_dependency(component, [components[other] for other in needed.get(name, ())])
    return _with_serial_number(bom)


def _component(pin: Pin, *, is_required: bool) -> Component:
    licence = licence_of(pin.name)
    if licence.version != pin.version:
        raise ReleaseError(f"{pin.name} {licence.version} is installed, {pin.version} is pinned: run make venv")
    purl = PackageURL("pypi", name=pin.name, version=pin.version)
    concluded = LicenseAcknowledgement.CONCLUDED if licence.is_judged else LicenseAcknowledgement.DECLARED
    files = ExternalReference(
        type=ExternalReferenceType.DISTRIBUTION,
        url=XsUri(str(purl)),
        comment=_ACCEPTED,
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=each) for each in pin.hashes],
    )
    return Component(
        type=ComponentType.LIBRARY,
        name=pin.name,
        version=pin.version,
        purl=purl,
        bom_ref=str(purl),
        scope=ComponentScope.REQUIRED if is_required else ComponentScope.OPTIONAL,
        licenses=[LicenseFactory().make_from_string(licence.expression, license_acknowledgement=concluded)],
        external_references=[files],
    )


def _with_serial_number(bom: Bom) -> str:
    """The same contents have the same number. Raises ReleaseError where the schema says no."""
    bom.serial_number = _NAMESPACE
    bom.serial_number = uuid.uuid5(_NAMESPACE, JsonV1Dot6(bom).output_as_string())
    text = JsonV1Dot6(bom).output_as_string(indent=2) + "\n"
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if error is not None:
        raise ReleaseError(f"what was made is no CycloneDX 1.6: {error}")
    return text


if __name__ == "__main__":
    sys.exit(main())
