"""What a command imports: the client of a cluster is slow, and a plan from files does without."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
PROGRAM = """
import sys
from kueue_dqo.cli.main import run
code = run(sys.argv[1:])
loaded = {"aiohttp", "asyncio", "kubernetes_asyncio", "prometheus_client", "structlog"} & sys.modules.keys()
print(code, sorted(loaded), file=sys.stderr)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["plan", "-f", "examples/01-two-teams-one-pool"],
        ["plan", "-f", "examples/01-two-teams-one-pool", "-o", "json"],
        ["plan", "--help"],
        ["capacity", "set", "--help"],
        ["cleanup", "--help"],
    ],
    ids=" ".join,
)
def test_without_a_cluster_its_client_is_not_imported(arguments: list[str]) -> None:
    """In a process of its own: here, other tests have imported everything."""
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert finished.stderr.splitlines()[-1] == "0 []"
