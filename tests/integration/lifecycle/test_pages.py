"""What the pages of operations say without a cluster; that all of their commands are typed by the tests beside this."""

from __future__ import annotations

import re
from typing import Final

import pytest

from tests.docs.pages import blocks_of, section_of
from tests.integration.lifecycle.checkout import PAGES
from tests.manifests.rendered import render

TYPED: Final = {
    "README.md": {
        "Daily": 1,
        "At three in the morning": 2,
        "Back up and restore": 2,
        "When something large has happened": 1,
    },
    "uninstall.md": {"Stop writing": 1, "Put the declared quotas back": 2, "Remove the daemons": 2},
    "upgrade.md": {"Look before": 1, "Upgrade with kubectl": 2, "Go back": 1},
    "kueue-0.20.md": {
        "1. Hold the queues": 1,
        "2. Stop writing": 1,
        "3. Put the declared quotas back": 2,
        "4. Hand the definitions over": 4,
        "5. Upgrade Kueue": 4,
        "6. One orchestrator": 2,
        "7. Open the queues": 1,
    },
}
"""The blocks of commands below each heading that the tests of this folder type: a new one needs a test."""
FOLDERS: Final = {"orchestrator": "overlays/spec"}
"""Where a daemon is rendered from, if not from the base of its name."""


@pytest.mark.parametrize("page", sorted(each.name for each in PAGES.glob("*.md")))
def test_every_command_is_typed_by_a_test(page: str) -> None:
    """All that stand in blocks, and none of them elsewhere on the page."""
    for heading, number in TYPED[page].items():
        assert len(blocks_of("sh", section_of(PAGES / page, heading))) == number, heading
    assert len(blocks_of("sh", (PAGES / page).read_text())) == sum(TYPED[page].values())


def test_the_needs_of_each_daemon_are_those_of_its_manifest() -> None:
    """What it asks for, and what it gets at most."""
    rows = re.findall(
        r"^\| (`[^|]*) \| (\w+) \| (\w+) \|", section_of(PAGES / "README.md", "How much it needs"), re.MULTILINE
    )
    told = {name: (least, most) for names, least, most in rows for name in re.findall(r"`([^`]+)`", names)}
    assert len(told) == 8
    for name, memory in told.items():
        (workload,) = (
            each for each in render(FOLDERS.get(name, f"base/{name}")) if each["kind"] in {"DaemonSet", "Deployment"}
        )
        (container,) = workload["spec"]["template"]["spec"]["containers"]
        resources = container["resources"]
        assert (resources["requests"]["memory"], resources["limits"]["memory"]) == memory, name
