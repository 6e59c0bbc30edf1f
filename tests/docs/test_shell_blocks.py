"""Every block of commands on a page is typed by a test, or cannot be, for a reason that is told."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.docs.pages import blocks_of, section_of
from tests.docs.shell_blocks import HERE, NOT_RUN, ROOT, TYPED_BY, Block, Typist, shell_blocks, why_not
from tests.e2e.process import BIN

BLOCKS: Final = shell_blocks()
REPLACED: Final[Mapping[str, Mapping[str, str]]] = {
    "docs/troubleshooting.md": {"FOLDER": "examples/03-two-orchestrators-in-conflict"}
}
JOB: Final = """
apiVersion: batch/v1
kind: Job
metadata: {name: mine, namespace: lab, labels: {kueue.x-k8s.io/queue-name: queue}}
spec:
  suspend: true
  template: {spec: {containers: [{name: main, image: busybox, resources: {requests: {nvidia.com/gpu: 1}}}]}}
"""


def test_each_block_of_each_page_is_seen() -> None:
    """Whatever the way in which it is fenced: none escapes what follows."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    fences = [re.findall(r"^ *```(?:sh|bash|shell|console)\b", page.read_text(), re.MULTILINE) for page in pages]
    assert sum(map(len, fences)) == len(BLOCKS) > 100


def test_each_is_typed_by_a_test_that_there_is() -> None:
    """Or nothing of it can be run here."""
    tests = {block.typed_by: block for block in BLOCKS if block.commands}
    parts = {test: test.split("::") for test in tests}
    missing = [test for test, (file, name) in parts.items() if f"def {name}(" not in (ROOT / file).read_text()]
    assert [(test, str(tests[test])) for test in missing] == []


def test_every_reason_has_a_command_and_every_row_a_block() -> None:
    """What is not on the pages any more is taken out of the tables."""
    lines = {why_not(line) for block in BLOCKS for line in block.lines}
    assert [each for each in NOT_RUN if each not in lines] == []
    rows = {block.row for block in BLOCKS}
    assert [row for at, row in enumerate(TYPED_BY) if at not in rows] == []


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the commands are about: a checkout, and files of one's own."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("Makefile", "examples", "manifests", "pyproject.toml", "requirements-dev.lock", "scripts"):
        (folder / name).symlink_to(ROOT / name)
    # `make` takes the environment of these tests for the one of that checkout.
    (folder / ".venv").symlink_to(BIN.parent)
    program = shutil.which("make")
    (folder / "programs").mkdir()
    (folder / "programs/make").write_text(f'#!/bin/sh\nexec {program} --old-file .venv/.stamp "$@"\n')
    (folder / "programs/make").chmod(0o755)
    first, _ = blocks_of("yaml", section_of(ROOT / "docs/simulate.md", "Steps"))
    nodes = "".join(f"---\napiVersion: v1\nkind: Node\nmetadata: {{name: node-{number}}}\n" for number in (7, 8))
    cluster = first.replace("standard", "gpus").replace("[cpu]", "[nvidia.com/gpu]").replace("cpu", "nvidia.com/gpu")
    (folder / "cluster.yaml").write_text(cluster.replace("nominalQuota: 4", "nominalQuota: 12") + nodes)
    (folder / "job.yaml").write_text(JOB)
    return folder


@pytest.mark.parametrize("block", [each for each in BLOCKS if each.commands and each.typed_by == HERE], ids=str)
def test_commands_without_a_cluster(block: Block, checkout: Path) -> None:
    """They succeed, and print something."""
    typist = Typist(checkout, checkout / "programs")
    done = typist.type(block, REPLACED.get(block.page) if re.search("FOLDER", block.text) else None)
    assert done.code == 0, f"{block}\n{done.out}\n{done.err}"
    assert done.out.strip(), block
