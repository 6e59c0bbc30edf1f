"""Every block of commands of the pages, and which test types it. What no test can type is named with its reason."""

from __future__ import annotations

import fnmatch
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from tests.controlplane import binaries
from tests.e2e.process import BIN, Finished, environment

ROOT: Final = Path(__file__).parents[2]
HERE: Final = "tests/docs/test_shell_blocks.py::test_commands_without_a_cluster"
IN_A_CLUSTER: Final = "tests/integration/install/test_pages.py::test_the_commands_of_all_pages_are_typed"
_RELEASE: Final = "tests/release/test_release_page.py::test_its_commands_make_a_release_that_can_be_checked"
_HELM: Final = "tests/integration/install/test_helm_page.py::test_the_page_about_helm_is_typed"
_CLOUD: Final = "tests/e2e/test_cloud_examples.py::test_the_output_on_the_page_is_that_of_the_command"
_CLUSTER: Final = "tests/controlplane/test_cluster.py::test_a_cluster_can_be_used_until_it_is_interrupted"
_BARE: Final = "tests/controlplane/test_cluster.py::test_a_bare_cluster_has_kueue_and_runs_pods_and_has_nothing_of_ours"

NOT_RUN: Final = {
    r"docker ": "no container engine; tests/image carries the Dockerfile out without one",
    r"(aws|gcloud|dqo provider cloud-quota) ": "an account in a cloud; tests/e2e asks one of its own by the last",
    r"pip install ": "an index of packages; tests/release installs the wheel",
    r"make (test|verify|generate|audit)\b": "these tests are part of it, or it asks the network: see tests/release",
    r"kubectl .*\bport-forward\b": "the kubelet of the tests forwards no port; what is asked through it, is asked",
    r"kubectl .*\bdebug\b": "an image of others",
    r"curl .*127\.0\.0\.1:8080": "a daemon that was started by hand: the next row",
    r"dqo provider (?!--help)": "a daemon that ends with a signal: tests/integration/providers start each",
}
"""Commands by their beginnings, as regular expressions, with what they need that is not here."""

TYPED_BY: Final = (
    ("README.md", "Why", "tests/docs/test_docs.py::test_a_stale_page_is_named"),
    ("README.md", "Try it: make cluster", _CLUSTER),
    ("README.md", "A first run on your own cluster", IN_A_CLUSTER),
    ("README.md", "*", HERE),
    (
        "docs/helm.md",
        "Upgrade",
        "tests/integration/lifecycle/test_upgrade.py::test_an_upgrade_moves_nothing_and_can_be_taken_back",
    ),
    ("docs/helm.md", "*", _HELM),
    ("docs/monitoring.md", "Without the operator", HERE),
    ("docs/operations/*", "*", "tests/integration/lifecycle/test_pages.py::test_every_command_is_typed_by_a_test"),
    ("docs/plan.md", "The time of a plan", HERE),
    ("docs/plan.md", "JSON and YAML: dqo plan", HERE),
    ("docs/providers/cloud-quota.md", "From your own machine", _CLOUD),
    ("docs/quickstart.md", "*: make demo", HERE),
    ("docs/quickstart.md", "*: make cluster ARGS=bare", _BARE),
    ("docs/quickstart.md", "*: make cluster", _CLUSTER),
    ("docs/release.md", "*", _RELEASE),
    ("docs/simulate.md", "What if", HERE),
    ("docs/troubleshooting.md", "How to look: dqo plan", HERE),
    ("docs/troubleshooting.md", "Why a queue lost GPUs: dqo plan -f", HERE),
    ("*", "*", IN_A_CLUSTER),
)
"""Page, heading, and behind a colon how the block begins, with the test. The first row that fits holds."""


class Block(NamedTuple):
    """Commands as they stand below a heading of a page, which is named from the root of the checkout."""

    page: str
    heading: str
    number: int
    text: str

    def __str__(self) -> str:
        return f"{self.page}, {self.heading}, block {self.number}"

    @property
    def typed_by(self) -> str:
        """The test, as pytest names it."""
        return TYPED_BY[self.row][-1]

    @property
    def row(self) -> int:
        """The number of the row of `TYPED_BY` that holds for it."""
        return next(at for at, (page, place, _) in enumerate(TYPED_BY) if self._fits(page, *place.partition(": ")))

    def _fits(self, page: str, heading: str, _: str, begins: str) -> bool:
        is_there = fnmatch.fnmatch(self.page, page) and fnmatch.fnmatch(self.heading, heading)
        return is_there and self.text.startswith(begins)

    @property
    def commands(self) -> str:
        """Without what cannot be run here; empty where that is all of it."""
        text = re.sub(r"\\\n\s*", "", self.text) if any(map(why_not, self.lines)) else self.text
        return "".join(f"{line}\n" for line in text.splitlines() if not why_not(line)).strip()

    @property
    def lines(self) -> list[str]:
        """Each command on one line."""
        return re.sub(r"\\\n\s*", "", self.text).splitlines()


def why_not(line: str) -> str:
    """The expression in `NOT_RUN` that it begins with, if any."""
    return next((each for each in NOT_RUN if re.match(each, line.strip())), "")


def shell_blocks() -> list[Block]:
    """All of README.md and of docs/, page by page; of transcripts (`console`), what is typed."""
    found = []
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        name = str(page.relative_to(ROOT))
        heading, number, language, lines = "", 0, "", list[str]()
        for line in page.read_text().splitlines():
            fence = re.fullmatch(r" *```(\w*).*", line)
            if fence and not lines and not language:
                language = fence[1] or "text"
            elif fence:
                if language in {"bash", "console", "sh", "shell"}:
                    typed = [each[2:] for each in lines if each.startswith("$ ")] if language == "console" else lines
                    number += 1
                    found.append(Block(name, heading, number, "\n".join(typed)))
                language, lines = "", []
            elif language:
                indent = len(line) - len(line.lstrip())
                lines.append(line[min(indent, _margin(lines, indent)) :])
            elif title := re.fullmatch(r"#+ (.*)", line):
                heading, number = title[1], 0
    return found


def _margin(lines: list[str], indent: int) -> int:
    """How far a block inside a list stands from the margin: as its first line does."""
    return indent if not lines else 0


class Typist:
    """Types blocks in a shell, and remembers which."""

    def __init__(self, folder: Path, *programs: Path, **variables: str) -> None:
        """`folder` is where they are typed, with programs from these folders first, and these variables."""
        self.folder = folder
        self.typed: list[Block] = []
        self._programs = [*programs, BIN]
        self._variables = variables

    def type(self, block: Block, replaced: Mapping[str, str] | None = None, *, within: str = ".") -> Finished:
        """Types what can be typed of it, with placeholders replaced, to whatever end; the first failure is the last.

        Args:
            block: one of a page.
            replaced: what stands for placeholders, by regular expressions, each of which must be there.
            within: a folder in `folder`.
        """
        self.typed.append(block)
        commands = block.commands
        for placeholder, text in (replaced or {}).items():
            assert re.search(placeholder, commands), f"{block} has no {placeholder} any more"
            commands = re.sub(placeholder, text, commands)
        return self.run(commands, within=within)

    def run(self, commands: str, *, within: str = ".") -> Finished:
        """Types any commands. Where there is no jq, what is printed is not made shorter by it."""
        tools = [*self._programs, *(binaries.find(each).parent for each in (binaries.HELM, binaries.PROMTOOL))]
        variables = {"PATH": os.pathsep.join([*map(str, tools), os.environ["PATH"]]), "HOME": str(self.folder)}
        prelude = "command -v jq > /dev/null || jq() { cat; }\n"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", prelude + commands],
            env=environment(**variables | self._variables),
            cwd=self.folder / within,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return Finished(done.returncode, done.stdout, done.stderr)
