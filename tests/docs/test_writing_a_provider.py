"""What the page about providers shows is what the code says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/writing-a-provider.md"
MARKED = re.findall(r"<!-- (from|runs with) (\S+) -->\n\n```\w+\n(.*?)```", PAGE.read_text(), re.DOTALL)
COPIES = [(file, block) for how, file, block in MARKED if how == "from"]
PROGRAMS = [(folder, block) for how, folder, block in MARKED if how == "runs with"]


def test_every_block_of_code_is_marked() -> None:
    """A block without a mark would be checked by nobody."""
    assert len(MARKED) == len(re.findall(r"^```(?:python|toml)$", PAGE.read_text(), re.MULTILINE))
    assert COPIES
    assert PROGRAMS


@pytest.mark.parametrize(("file", "block"), COPIES)
def test_a_block_stands_in_its_file(file: str, block: str) -> None:
    """Line by line."""
    assert block in (ROOT / file).read_text()


@pytest.mark.parametrize(("folder", "block"), PROGRAMS)
def test_a_program_runs(folder: str, block: str) -> None:
    """As it is pasted, beside the example."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / folder}{os.pathsep}{ROOT}"}
    finished = subprocess.run(
        [sys.executable, "-c", block], env=environment, check=False, capture_output=True, text=True
    )
    assert (finished.returncode, finished.stderr) == (0, "")
