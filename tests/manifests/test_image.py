"""The image as far as it can be judged without a container engine, which these tests do without.

A build and a start in a container are not among them. What is copied is there, what is installed is pinned and
complete, and the program that starts is one that the wheel brings.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from kueue_dqo import __version__
from scripts.release.needs import graph, markers_of_the_image
from tests.manifests.rendered import ROOT, pod

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = ("aws", "gcp", "nvidia")
PINS = re.compile(r"^([A-Za-z0-9._-]+)==(\S+) ((?:\\\n    --hash=sha256:[0-9a-f]{64} ?)+)$", re.MULTILINE)


class Instruction(NamedTuple):
    """One line of the Dockerfile, continuation lines joined."""

    stage: int
    """From 1 on; 0 before the first FROM."""
    name: str
    rest: str


def _instructions() -> list[Instruction]:
    lines = (ROOT / "docker/Dockerfile").read_text().splitlines()
    text = "\n".join(line for line in lines if line and not line.startswith("#")).replace("\\\n", " ")
    stage, found = 0, []
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        stage += name == "FROM"
        found.append(Instruction(stage, name, " ".join(rest.split())))
    return found


INSTRUCTIONS = _instructions()
LAST = INSTRUCTIONS[-1].stage


def _of(name: str, stage: int | None = None) -> list[str]:
    return [each.rest for each in INSTRUCTIONS if each.name == name and stage in (None, each.stage)]


def _base() -> str:
    return _of("ARG", 0)[0].removeprefix("PYTHON_IMAGE=")


def _pins(name: str) -> dict[str, str]:
    text = (ROOT / name).read_text()
    pins: dict[str, str] = {canonicalize_name(each[1]): each[2] for each in PINS.finditer(text)}
    rest = PINS.sub("", text)
    assert [line for line in rest.splitlines() if line.strip() and not line.startswith("#")] == []
    return pins


def _tested() -> dict[str, str]:
    lines = (line.partition("#")[0].strip() for line in (ROOT / "requirements-dev.txt").read_text().splitlines())
    found = [Requirement(line) for line in lines if line]
    return {canonicalize_name(each.name): str(each.specifier).removeprefix("==") for each in found}


def _needed(roots: list[str], machine: str) -> set[str]:
    """What has to be installed for the requirements, themselves included, in the image on such a machine."""
    return set(graph(map(Requirement, roots), markers_of_the_image(machine)))


def test_it_is_built_on_one_exact_python_and_stands_on_nothing() -> None:
    """Which registry the first comes from is the builder's affair."""
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-[a-z]+", _base())
    assert _of("FROM") == ["${PYTHON_IMAGE} AS build", "scratch"]


def test_the_project_says_that_it_runs_on_this_python() -> None:
    """Among the versions in its metadata."""
    version = _base().removeprefix("python:").rpartition(".")[0]
    assert f"Programming Language :: Python :: {version}" in PROJECT["project"]["classifiers"]


def test_what_is_copied_is_there_and_nothing_else_is_sent() -> None:
    """`.dockerignore` lets through just the sources of COPY."""
    sources = {source for rest in _of("COPY") if not rest.startswith("--from=") for source in rest.split()[:-1]}
    assert [source for source in sources if not (ROOT / source).exists()] == []
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    rules = [line for line in ignored if line and not line.startswith("#")]
    assert rules[0] == "*"
    assert {rule.removeprefix("!") for rule in rules if rule.startswith("!")} == sources


def test_what_the_wheel_needs_is_copied() -> None:
    """The packages, and the files that its metadata are made of."""
    sources = {source for rest in _of("COPY", 1) for source in rest.split()[:-1]}
    metadata = {"pyproject.toml", PROJECT["project"]["readme"], *PROJECT["project"]["license-files"]}
    packages = set(PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])
    assert metadata | packages <= sources


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_exactly_what_the_daemons_need_is_pinned(machine: str) -> None:
    """The project's own dependencies and theirs, and the extras that some daemon in a pod needs."""
    project = PROJECT["project"]
    roots = [*project["dependencies"], *(each for extra in EXTRAS for each in project["optional-dependencies"][extra])]
    assert set(_pins("docker/requirements.txt")) == _needed(roots, machine)


def test_the_image_has_what_agents_read_gpus_with() -> None:
    """Python's side of NVML, and nothing of the driver's, which comes with the node and must be of its version."""
    pins = set(_pins("docker/requirements.txt"))
    assert "nvidia-ml-py" in pins
    assert {name for name in pins if name.startswith(("nvidia", "cuda"))} == {"nvidia-ml-py"}
    assert "pynvml" not in pins


def test_the_image_has_what_clouds_are_asked_with() -> None:
    """As the command at the top of the file says, and without what only a person at a terminal needs."""
    pins = set(_pins("docker/requirements.txt"))
    assert {"boto3", "google-cloud-compute", "google-cloud-quotas"} <= pins
    assert pins.isdisjoint({"rich", "moto"})
    told = (ROOT / "docker/requirements.txt").read_text().splitlines()[1]
    assert " ".join(f"--extra {extra}" for extra in EXTRAS) in told
    assert told.count("--extra") == len(EXTRAS)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_exactly_what_the_build_needs_is_pinned(machine: str) -> None:
    """The build backend."""
    assert set(_pins("docker/requirements-build.txt")) == _needed(PROJECT["build-system"]["requires"], machine)


@pytest.mark.parametrize("name", ["docker/requirements.txt", "docker/requirements-build.txt"])
def test_what_is_shipped_is_what_was_tested(name: str) -> None:
    """The same versions as in the development environment."""
    tested = _tested()
    assert _pins(name) == {package: tested[package] for package in _pins(name)}


@pytest.mark.parametrize("name", ["docker/requirements.txt", "docker/requirements-build.txt"])
def test_the_command_that_renews_the_pins_is_for_this_python(name: str) -> None:
    """It stands at the top of the file."""
    version = _base().removeprefix("python:").rpartition(".")[0]
    head = (ROOT / name).read_text().splitlines()[1]
    assert f"uv pip compile --no-annotate --generate-hashes --python-version {version} " in head
    assert f" -o {name} " in head


def test_nothing_is_installed_without_its_hash() -> None:
    """But for the wheel that was just built, and that brings nothing along."""
    installs = [command for rest in _of("RUN") for command in rest.split(" && ") if " install " in command]
    assert len(installs) == 3
    for command in installs:
        assert "--require-hashes -r docker/requirements" in command or "--no-deps --no-index /wheel/" in command


def test_the_image_starts_the_command_as_nobody() -> None:
    """Without a shell, from the environment that the tree was made of, by the number that the pods use too."""
    (entry,) = _of("ENTRYPOINT", LAST)
    (made,) = (rest for rest in _of("RUN", 1) if "docker/rootfs.py" in rest)
    _, _, folder, tree = made.split()
    assert json.loads(entry) == [f"{folder}/bin/dqo"]
    assert "dqo" in PROJECT["project"]["scripts"]
    assert _of("COPY", LAST) == [f"--from=build {tree} /"]
    (variables,) = _of("ENV", LAST)
    environment = dict(pair.split("=", 1) for pair in shlex.split(variables))
    assert environment["PATH"] == f"{folder}/bin"
    assert any(f"venv --without-pip {folder}" in rest for rest in _of("RUN", 1))
    security = pod("spec")["spec"]["securityContext"]
    assert _of("USER", LAST) == [f"{security['runAsUser']}:{security['runAsGroup']}"]


def test_nothing_is_written_at_run_time() -> None:
    """The root file system is read-only; and the last stage runs nothing, so all it has was copied."""
    assert "PYTHONDONTWRITEBYTECODE=1" in _of("ENV", LAST)[0]
    assert _of("RUN", LAST) == []
    assert _of("VOLUME") == []


def test_the_labels_tell_what_it_is() -> None:
    """With the project's own version, unless the build gives another."""
    (labels,) = _of("LABEL", LAST)
    told = dict(pair.split("=", 1) for pair in shlex.split(labels))
    prefix = "org.opencontainers.image."
    assert told[f"{prefix}title"] == PROJECT["project"]["name"]
    assert told[f"{prefix}description"] == PROJECT["project"]["description"]
    assert told[f"{prefix}licenses"] == PROJECT["project"]["license"]
    assert told[f"{prefix}version"] == "${VERSION}"
    assert f"VERSION={__version__}" in _of("ARG", LAST)
