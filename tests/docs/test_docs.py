"""What the documentation says is so: its reasons, its examples, its links, its tables."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kueue_dqo.api import dqo
from kueue_dqo.api.quantity import Quantity, QuantityError
from kueue_dqo.api.scheme import KNOWN_KINDS
from kueue_dqo.cli.main import run
from orchestrator.statuses import WRITE_REJECTED
from providers import news
from providers.amounts import FLAVOR_WITHOUT_AMOUNTS
from providers.composite.compute import MEMBERS_SKIPPED
from providers.node_inventory.exclusion import Exclusion
from providers.nodes.wording import NODES_EXCLUDED
from providers.nvidia_gpu.notices import CAPPED, DEVICES_UNHEALTHY, NODES_HELD, ODD_OFFER
from tests.docs.pages import blocks_of, section_of

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / name for name in ("README.md", "AGENTS.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES += sorted([*(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md"), *(ROOT / "bench").rglob("*.md")])
REASONS = {
    dqo.CAPACITY_SYNCHRONIZED: [dqo.SYNCHRONIZED, dqo.SOURCE_UNAVAILABLE, dqo.INVALID_CAPACITY, dqo.MISCONFIGURED],
    dqo.EFFECTIVE_CAPACITY_COMPUTED: [
        dqo.COMPUTED,
        dqo.MISCONFIGURED,
        dqo.PROVIDER_NOT_READY,
        dqo.AGGREGATION_FAILED,
    ],
    dqo.DISTRIBUTED: [
        dqo.QUOTAS_DISTRIBUTED,
        dqo.EFFECTIVE_CAPACITY_NOT_COMPUTED,
        dqo.CONFLICTING_ORCHESTRATOR,
        dqo.EFFECTIVE_QUOTAS_CONFLICT,
        WRITE_REJECTED,
        dqo.MISCONFIGURED,
    ],
}
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(#[^)\s]*)?\)")


def _text(name: str) -> str:
    return (ROOT / name).read_text()


def _blocks(path: Path, language: str) -> Iterator[str]:
    """The fenced blocks of a language; one inside a list is moved to the margin."""
    for indent, body in re.findall(rf"^( *)```{language}\n(.*?)^ *```", path.read_text(), re.MULTILINE | re.DOTALL):
        yield re.sub(rf"^{indent}", "", body, flags=re.MULTILINE)


def test_every_condition_and_reason_has_its_place_in_troubleshooting() -> None:
    """By condition and reason: that is how an admin looks one up."""
    sections = dict(
        re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", _text("docs/troubleshooting.md"), re.MULTILINE | re.DOTALL)
    )
    for condition, reasons in REASONS.items():
        assert [reason for reason in reasons if f"### {reason}\n" not in sections[condition]] == []


def test_every_exclusion_of_a_node_is_explained() -> None:
    """The summary line counts by these words."""
    page = _text("docs/providers/node-inventory.md")
    assert [each for each in Exclusion if f"`{each}`" not in page] == []


def test_every_event_on_a_provider_is_explained() -> None:
    """An admin finds it where it is told what to do, and where it is told when it comes."""
    reasons = {
        news.CAPACITY_HELD,
        news.CAPACITY_RELEASED,
        news.FALL_ACKNOWLEDGED,
        news.STATUS_REJECTED,
        "LeaseOfAnother",
        NODES_EXCLUDED,
        NODES_HELD,
        DEVICES_UNHEALTHY,
        CAPPED,
        ODD_OFFER,
        MEMBERS_SKIPPED,
        FLAVOR_WITHOUT_AMOUNTS,
    }
    for page in ("docs/troubleshooting.md", "docs/providers/common.md"):
        assert [reason for reason in sorted(reasons) if f"`{reason}`" not in _text(page)] == []


def test_every_kind_that_is_read_is_listed() -> None:
    """With its versions."""
    page = _text("docs/plan.md")
    for known in KNOWN_KINDS:
        assert known.kind in page
        assert [version for version in known.versions if version not in page] == []


def test_the_table_of_canonical_forms_is_right() -> None:
    """Row by row."""
    section = _text("docs/quantities.md").partition("| written | canonical |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \|", section, re.MULTILINE)
    assert len(rows) > 5
    assert [(written, str(Quantity.of(written))) for written, _ in rows] == rows


@pytest.mark.parametrize("text", ["1K", "1 Gi", "1_000", "NaN", "Infinity"])
def test_what_is_no_quantity_is_listed(text: str) -> None:
    """The usual mistakes."""
    assert f"`{text}`" in _text("docs/quantities.md")
    with pytest.raises(QuantityError):
        Quantity.of(text)


YAML_BLOCKS = [(page, number, block) for page in PAGES for number, block in enumerate(_blocks(page, "yaml"))]


@pytest.mark.parametrize(
    "block", [pytest.param(block, id=f"{page.relative_to(ROOT)}-{number}") for page, number, block in YAML_BLOCKS]
)
def test_every_yaml_example_is_read(
    block: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A reader pastes it."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(block.encode())))
    code = run(["plan", "-f", "-", "-o", "json"])
    assert (code, "Error" in capsys.readouterr().err) == (0, False)


COMMANDS = [
    (page, line)
    for page in PAGES
    for block in _blocks(page, "sh")
    for line in block.splitlines()
    if line.startswith("dqo plan -f examples/") and "|" not in line
]


@pytest.mark.parametrize(
    "line", [pytest.param(line, id=f"{page.relative_to(ROOT)}: {line}") for page, line in COMMANDS]
)
def test_every_plan_of_an_example_runs(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the root of the checkout, as the pages say."""
    monkeypatch.chdir(ROOT)
    assert run(line.partition("#")[0].split()[1:]) in (0, 2, 3)
    assert capsys.readouterr().out


def test_the_first_run_of_the_readme_distributes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its dqo.yaml, with the two names changed, beside a dump."""
    (block,) = _blocks(ROOT / "README.md", "yaml")
    dump = json.loads(_text("examples/04-cluster-dump/cluster.json"))
    dump["items"] = [
        each for each in dump["items"] if each["kind"] in ("Node", "ResourceFlavor", "ClusterQueue", "Cohort")
    ]
    for each in dump["items"]:
        each.get("status", {}).pop("effectiveQuotas", None)
    (tmp_path / "dump.json").write_text(json.dumps(dump))
    (tmp_path / "dqo.yaml").write_text(block.replace("default-flavor ", "etl ").replace("all-teams ", "data "))
    assert run(["plan", "-f", str(tmp_path), "-o", "json"]) == 0
    items = json.loads(capsys.readouterr().out)["items"]
    (orchestrator,) = (each for each in items if each["kind"] == "DynamicQuotaOrchestrator")
    assert [each["status"] for each in orchestrator["status"]["conditions"]] == ["True", "True"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """To a file or folder of the project, and to a heading that is there."""
    for target, anchor in LINK.findall(page.read_text()):
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", file.read_text(), re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor[1:] in anchors, (target, anchor)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_rows_of_a_table_have_as_many_cells_as_its_head(page: Path) -> None:
    """A bar within a cell is escaped, in code as well, or the row falls apart where it is shown."""
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in page.read_text().splitlines() if re.match(r"\|.*\|$", line)]
    rules = [at for at, cells in enumerate(rows) if all(re.fullmatch(r" ?:?-+:? ?", cell) for cell in cells)]
    for first, end in zip(rules, [*(at - 1 for at in rules[1:]), len(rows)], strict=False):
        assert [cells for cells in rows[first + 1 : end] if len(cells) != len(rows[first])] == []


def _documents(text: str) -> list[dict[str, Any]]:
    """Objects in the order in which they are applied; a List holds several."""
    found = [each for each in yaml.safe_load_all(text) if isinstance(each, dict)]
    return [obj for each in found for obj in each.get("items", [each])]


TO_BE_APPLIED = [
    pytest.param("\n---\n".join(file.read_text() for file in sorted(folder.glob("*.yaml"))), id=folder.name)
    for folder in sorted({file.parent for file in (ROOT / "examples").glob("*/*.yaml")})
] + [pytest.param(block, id=f"{page.relative_to(ROOT)}-{number}") for page, number, block in YAML_BLOCKS]


@pytest.mark.parametrize("text", TO_BE_APPLIED)
def test_parameters_come_before_the_provider_that_names_them(text: str) -> None:
    """Applied in this order, no CapacityProvider is Misconfigured for a moment, which an Event would tell."""
    objects = _documents(text)
    places = {(each.get("kind"), each.get("metadata", {}).get("name")): at for at, each in enumerate(objects)}
    late = [
        each["metadata"]["name"]
        for at, each in enumerate(objects)
        if each.get("kind") == "CapacityProvider"
        and (named := each.get("spec", {}).get("parameters"))
        and places.get((named["kind"], named["name"]), at) > at
    ]
    assert late == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_an_example_is_applied_only_where_the_page_says_so(page: Path) -> None:
    """Whoever types a page on a real cluster gets an object of an example by that page's own word, or by a dry run."""
    # On purpose, on a cluster to try things on.
    said = {"examples/writing-a-provider/", "examples/08-gpus-that-died/"}
    applied = [
        line
        for block in _blocks(page, "sh")
        for line in block.replace("\\\n", "").splitlines()
        if re.match(r"kubectl (apply|create|replace)\b.* examples/", line) and "--dry-run=server" not in line
    ]
    assert [line for line in applied if not any(f" {each}" in line for each in said)] == []


def test_agents_is_short() -> None:
    """It is read at every start."""
    assert len((ROOT / "AGENTS.md").read_bytes()) < 3 * 1024


def test_a_stale_page_is_named(tmp_path: Path) -> None:
    """The check of generated files fails where one is not what the command prints."""
    copy = tmp_path / "copy"
    for name in ("docs", "manifests", "scripts"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "README.md").write_text(_text("README.md"))
    (copy / "examples").symlink_to(ROOT / "examples")
    command = [sys.executable, "scripts/generate.py", "--check"]
    environment = os.environ | {"PYTHONPATH": str(copy)}
    assert subprocess.run(command, cwd=copy, env=environment, check=False).returncode == 0
    stale = copy / "docs/reference/cli.md"
    stale.write_text(stale.read_text().replace("--road", "--rode"))
    finished = subprocess.run(command, cwd=copy, env=environment, check=False, capture_output=True, text=True)
    assert finished.returncode == 1
    assert "docs/reference/cli.md" in finished.stdout + finished.stderr
    assert "README.md" not in finished.stdout + finished.stderr


def test_every_reason_has_the_command_to_run_next() -> None:
    """In its own section, complete but for names."""
    without = [
        (condition, reason)
        for condition, reasons in REASONS.items()
        for reason in reasons
        if not re.search(
            r"(?:`|^)(?:kubectl|dqo) [-a-z]",
            section_of(ROOT / "docs/troubleshooting.md", condition, reason),
            re.MULTILINE,
        )
    ]
    assert without == []


def test_the_walk_to_lost_gpus_is_what_the_example_says() -> None:
    """Its message is that of `dqo plan`, whatever the width."""
    walk = section_of(ROOT / "docs/troubleshooting.md", "Why a queue lost GPUs")
    (quoted,) = blocks_of("text", walk)
    command = [sys.executable, "-m", "kueue_dqo.cli", "plan", "-f", "examples/08-gpus-that-died"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert " ".join(quoted.split()) in " ".join(printed.split())
