"""What the documentation says of MultiKueue: its tables, messages and commands are those of the code."""

from __future__ import annotations

import ast
import os
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import yaml
from prometheus_client import CollectorRegistry

from kueue_dqo.api.multikueue import (
    AfterGrace,
    Counts,
    FlavorMapping,
    InactiveQueues,
    ManagerQueues,
    MultiKueueParametersSpec,
    UnavailableWorkers,
)
from kueue_dqo.api.parameter_checks.multikueue import LONGEST_GRACE, MAX_CLUSTER_QUEUES, MAX_CLUSTERS, MAX_MAPPINGS
from kueue_dqo.api.parameters import CommonParameters
from kueue_dqo.runtime.kubeconfig_checks import access_of
from providers.amounts import FLAVOR_WITHOUT_AMOUNTS
from providers.multikueue.metrics import FleetMetrics
from providers.multikueue.profiles import plugins_of
from providers.multikueue.requests import WorkerRequests
from providers.multikueue.source import CONTROLLER, KUBECONFIG_NOT_FOLLOWED
from providers.multikueue.wording import WORKER_FLAVOR_NOT_MAPPED, WORKER_HELD, WORKER_LEFT_OUT
from tests.docs.pages import blocks_of, first_cells_of, section_of, without_row

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs/providers/multikueue.md"
TROUBLESHOOTING: Final = ROOT / "docs/troubleshooting.md"
EVENTS: Final = (
    *(WORKER_HELD, WORKER_LEFT_OUT, WORKER_FLAVOR_NOT_MAPPED),
    *(KUBECONFIG_NOT_FOLLOWED, FLAVOR_WITHOUT_AMOUNTS),
)
PLACES: Final = (
    *sorted((ROOT / "providers/multikueue").rglob("*.py")),
    *(ROOT / "providers" / name for name in ("slips.py", "amounts.py")),
    *(ROOT / "kueue_dqo/runtime" / name for name in ("following.py", "kubeconfig_checks.py", "listing.py")),
    ROOT / "kueue_dqo/api/readiness.py",
)


def _fields(struct: type[msgspec.Struct]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(struct)}


# --- parameters ----------------------------------------------------------------------------------------------------


def test_every_field_has_its_row_and_no_other_has() -> None:
    """By its path."""
    wanted = {
        *(f"managerQueues.{name}" for name in _fields(ManagerQueues)),
        *("flavorMapping[]", *(f"flavorMapping[].{name}" for name in _fields(FlavorMapping))),
        *(f"unavailableWorkers.{name}" for name in _fields(UnavailableWorkers)),
        *("otherFlavors", "counts", "workerProviders", "inactiveQueues"),
    }
    told = set(re.findall(r"`([^`]+)`", first_cells_of(section_of(PAGE, "Parameters"))))
    assert told == wanted
    heads = {re.split(r"[.\[]", name)[0] for name in wanted}
    assert heads | _fields(CommonParameters) == _fields(MultiKueueParametersSpec)


def test_defaults_choices_and_limits_are_those_of_the_code() -> None:
    """As a manifest has them."""
    section = section_of(PAGE, "Parameters")
    spec = MultiKueueParametersSpec(manager_queues=ManagerQueues())
    defaults = {
        "counts": spec.counts,
        "inactiveQueues": spec.inactive_queues,
        "unavailableWorkers.grace": spec.unavailable_workers.grace,
        "unavailableWorkers.afterGrace": spec.unavailable_workers.after_grace,
    }
    assert [name for name, value in defaults.items() if f"| `{name}` | `{value}` |" not in section] == []
    assert [each for each in (*Counts, *InactiveQueues, *AfterGrace) if f"`{each}`" not in section] == []
    assert f"`{LONGEST_GRACE}`" in section
    for most in (MAX_CLUSTER_QUEUES, MAX_MAPPINGS, MAX_CLUSTERS):
        assert f"up to {most}" in section


def test_all_that_counts_is_told() -> None:
    """One row for each choice."""
    assert without_row(Counts, section_of(PAGE, "What counts")) == []


def test_the_example_with_comments_has_every_field() -> None:
    """At every depth, but for the list of queues, which stands in its comment."""
    parameters, _ = yaml.safe_load_all((ROOT / "examples/parameters/multikueue.yaml").read_text())
    spec = parameters["spec"]
    assert spec.keys() == _fields(MultiKueueParametersSpec)
    assert set().union(*spec["flavorMapping"]) == _fields(FlavorMapping)
    assert spec["unavailableWorkers"].keys() == _fields(UnavailableWorkers)
    assert "`clusterQueues: [" in (ROOT / "examples/parameters/multikueue.yaml").read_text()


# --- what is told --------------------------------------------------------------------------------------------------


def test_every_event_is_explained() -> None:
    """On the page, where one looks what to do, and where Events of all providers are listed."""
    assert without_row(EVENTS, section_of(PAGE, "The message")) == []
    assert without_row(EVENTS, section_of(TROUBLESHOOTING, "Events on a CapacityProvider")) == []
    assert without_row(EVENTS, section_of(ROOT / "docs/providers/common.md", "Events")) == []


def test_every_metric_is_listed() -> None:
    """By the name that Prometheus shows, and no other."""
    registry = CollectorRegistry()
    kept = FleetMetrics(registry), WorkerRequests(registry)
    section = section_of(ROOT / "docs/reference/metrics.md", "MultiKueue")
    names = {f"{family.name}_total" if family.type == "counter" else family.name for family in registry.collect()}
    assert kept
    assert set(re.findall(r"`(kueue_dqo_\w+)`", first_cells_of(section))) == names


@pytest.mark.parametrize("setting", CONTROLLER.settings, ids=lambda setting: setting.name)
def test_every_setting_is_told(setting: Any) -> None:
    """With its default, where it has one."""
    text = PAGE.read_text()
    assert re.search(rf"`--{setting.name}\b", text)
    assert not setting.default or f"`{setting.default}`" in text


@cache
def _known() -> str:
    """Every text of the code; what is put into it at run time is a NUL."""
    texts: list[str] = []
    for path in PLACES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr):
                parts = (str(part.value) if isinstance(part, ast.Constant) else "\0" for part in node.values)
                texts.append("".join(parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
    return "\0".join(texts)


def _messages() -> Iterator[str]:
    for cell in first_cells_of(section_of(TROUBLESHOOTING, "Workers of MultiKueue")).splitlines():
        yield from re.findall(r"`([^`]{12,})`", cell)


_SHORTEST: Final = 6
FILLED_IN: Final = re.compile(
    r"[…;:,]|\bwhich\b|\b[A-Z]{3,}s?\b|--[a-z-]+|\b(?:LocalQueue|ClusterQueue|Cohort|MultiKueueConfig|CapacityProvider"
    r"|AdmissionCheck|MultiKueueCluster|ClusterProfile|DynamicQuotaOrchestrator|Secret|Active)\b|\bspec\.[\w.]+"
    r"|\[0\][\w.]*|\b\d+\b|kueue\.x-k8s\.io/multikueue|secrets|clusterqueues|nominalQuota|kubeconfig"
    r"|\b(?:list|watch)\b"
)
"""Names of things in capital letters, kinds, fields, flags, numbers: constants in the code, or what it puts in."""
OF_THE_KUBECONFIG: Final = "Secret NAMESPACE/NAME: FIELD: …"


@pytest.mark.parametrize("message", [each for each in _messages() if each != OF_THE_KUBECONFIG])
def test_messages_in_troubleshooting_are_those_of_the_code(message: str) -> None:
    """Piece by piece, between what is filled in."""
    pieces = [piece.strip(" .'()/") for piece in FILLED_IN.split(message)]
    told = [piece for piece in pieces if len(piece) >= _SHORTEST]
    assert told
    assert [piece for piece in told if piece not in _known()] == []


# --- commands ------------------------------------------------------------------------------------------------------

KUBECTL: Final = """#!/bin/sh
case "$*" in
  *"config view"*) printf https://paris.example.com:6443 ;;
  *data.ca*) printf Y2VydGlmaWNhdGU= ;;
  *data.token*) printf cmVhZGVyLXRva2Vu ;;
  *) exit 0 ;;
esac
"""
"""Answers what the commands ask of a worker."""


def test_the_commands_make_a_kubeconfig_that_is_taken(tmp_path: Path) -> None:
    """With the worker's own address and authority, its token, and for nobody else to read."""
    [make] = [block for block in blocks_of("sh", section_of(PAGE, "Make one")) if "cat > " in block]
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(KUBECTL)
    kubectl.chmod(0o755)
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    subprocess.run(["/bin/sh", "-eu", "-c", make], cwd=tmp_path, env={"PATH": path}, check=True, timeout=30)
    file = tmp_path / "paris.kubeconfig"
    assert file.stat().st_mode & 0o077 == 0
    access = access_of(yaml.safe_load(file.read_text()), allow_exec=False, allow_insecure=False)
    assert (access.server, access.token) == ("https://paris.example.com:6443", "reader-token")
    assert access.authority == b"certificate"


def test_names_in_the_commands_are_those_of_the_installation() -> None:
    """The reader's namespace and Secret, the daemon's namespace, the folders."""
    text = PAGE.read_text()
    secret = yaml.safe_load((ROOT / "manifests/worker/multikueue-reader/token.yaml").read_text())["metadata"]
    assert f"-n {secret['namespace']} get secret {secret['name']} " in text
    assert f"delete namespace {secret['namespace']}`" in text
    for folder in set(re.findall(r"manifests/[\w./-]*\w", text)):
        assert (ROOT / folder).exists()
    for name in re.findall(r"the component `([\w-]+)`", text):
        assert (ROOT / "manifests/components" / name).is_dir()


def test_the_file_of_plugins_is_one_that_is_taken() -> None:
    """As the daemon reads it."""
    [block] = blocks_of("yml", section_of(PAGE, "Other places"))
    [plugin] = plugins_of(yaml.safe_load(block))
    assert plugin.exec_config.command.startswith("/")


def test_the_messages_of_the_page_are_those_of_the_example() -> None:
    """Of the status that the example records."""
    status = yaml.safe_load((ROOT / "examples/12-multikueue/provider.yaml").read_text())["status"]
    [shown] = [block for block in blocks_of("text", PAGE.read_text()) if "largest single worker:" in block]
    assert " ".join(shown.split()) == status["conditions"][0]["message"]
