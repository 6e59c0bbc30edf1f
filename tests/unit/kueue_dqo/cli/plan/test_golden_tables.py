"""The tables of the examples, word by word, and what becomes of them in terminals of all kinds.

The right texts stand in `golden/`. After a change of the table that is meant, write them anew, and read the difference
before it is committed:

    DQO_REWRITE_GOLDEN=1 .venv/bin/pytest tests/unit/kueue_dqo/cli/plan/test_golden_tables.py; git diff

Such a run skips the tests whose texts it wrote, so that it is no proof of anything.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[5]
GOLDEN = Path(__file__).parent / "golden"
REWRITE = "DQO_REWRITE_GOLDEN"
EXAMPLES = [
    "01-two-teams-one-pool",
    "02-gpu-pools",
    "03-two-orchestrators-in-conflict",
    "04-cluster-dump",
    "05-capacity-by-calendar",
    "06-nodes-below-a-ceiling",
    "07-machines-in-trouble",
    "08-gpus-that-died",
    "09-gpus-by-two-witnesses",
    "10-cloud-quota-aws",
    "11-cloud-quota-gcp",
    "12-multikueue",
]
PLANNED_FOR = {
    "05-capacity-by-calendar": "2026-10-06T22:00:00+02:00",
    "07-machines-in-trouble": "2026-09-20T10:00:00Z",
}
"""The times in the READMEs of those that depend on the time."""
PROGRAM = [sys.executable, "-m", "kueue_dqo.cli", "plan", "-f"]
SET_BY_OTHERS = re.compile(
    r"COLUMNS|LINES|NO_COLOR|FORCE_COLOR|CLICOLOR.*|TTY_.*|TERM|COLORTERM|LC_.*|LANG|PYTHON.*|CI"
)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def command(example: str) -> list[str]:
    """The one in the example's README."""
    at = PLANNED_FOR.get(example)
    return [*PROGRAM, f"examples/{example}", *([f"--at={at}"] if at is not None else [])]


def environment(changes: dict[str, str]) -> dict[str, str]:
    """The present one, without what changes a terminal's output, and with UTF-8 unless said otherwise."""
    kept = {name: value for name, value in os.environ.items() if not SET_BY_OTHERS.fullmatch(name)}
    return kept | {"TERM": "xterm-256color", "PYTHONUTF8": "1"} | changes


def piped(example: str, *, stdin: int = subprocess.DEVNULL, **changes: str) -> bytes:
    """What the command prints into a pipe, which has to be all that it prints."""
    process = subprocess.run(
        command(example),
        cwd=ROOT,
        env=environment(changes),
        stdin=stdin,
        capture_output=True,
        check=False,
    )
    assert (process.returncode, process.stderr) == (0, b"")
    return process.stdout


def open_terminal(columns: int) -> tuple[int, int]:
    """A pseudo-terminal of so many columns: the end of the person and the end of the program."""
    person, program = pty.openpty()
    fcntl.ioctl(program, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    return person, program


def in_terminal(example: str, columns: int, **changes: str) -> str:
    """What the command prints on a terminal."""
    person, program = open_terminal(columns)
    with (
        os.fdopen(person, "rb", buffering=0) as screen,
        subprocess.Popen(
            command(example), cwd=ROOT, env=environment(changes), stdin=program, stdout=program, stderr=program
        ) as process,
    ):
        os.close(program)
        printed = b""
        try:
            while part := screen.read(65536):
                printed += part
        except OSError:
            pass  # how Linux says that the program has closed its end
        assert process.wait() == 0
    return printed.decode().replace("\r\n", "\n")


def without_colours(text: str) -> str:
    return "\n".join(line.rstrip() for line in COLOUR.sub("", text).split("\n"))


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_table_of_an_example_reads_as_it_should(example: str) -> None:
    """To the letter, so that a change of the table is seen as a whole."""
    printed = piped(example).decode()
    path = GOLDEN / f"{example}.txt"
    if os.environ.get(REWRITE):
        path.write_text(printed, encoding="utf-8")
        pytest.skip(f"{path} was written anew")
    assert printed == path.read_text(encoding="utf-8")


def test_every_example_has_its_text() -> None:
    """A new example needs one, and a lost one must not look like success."""
    assert sorted(path.name for path in (ROOT / "examples").glob("[0-9]*")) == EXAMPLES
    assert sorted(path.stem for path in GOLDEN.iterdir()) == EXAMPLES


def golden(example: str) -> str:
    return (GOLDEN / f"{example}.txt").read_text(encoding="utf-8")


# --- colours --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_terminal_gets_colours_and_the_same_words(example: str) -> None:
    """Where it is as wide as a pipe is taken to be."""
    printed = in_terminal(example, 120)
    assert COLOUR.search(printed)
    assert without_colours(printed) == golden(example)


def test_what_matters_most_is_coloured() -> None:
    """A quota that becomes zero in bold red, one that falls in yellow, what works in green."""
    printed = in_terminal("02-gpu-pools", 120)
    assert re.search(r"\x1b\[1;31m▼ becomes 0", printed)
    assert re.search(r"\x1b\[33m▼ falls", printed)
    assert re.search(r"\x1b\[32mTrue Computed", printed)
    conflict = in_terminal("03-two-orchestrators-in-conflict", 120)
    assert re.search(r"\x1b\[31mFalse ", conflict)
    assert re.search(r"\x1b\[31mSourceUnavailable", conflict)
    assert re.search(r"\x1b\[32mSynchronized", conflict)


def test_no_color_is_heeded_and_the_words_are_the_same() -> None:
    """Bold is no colour."""
    printed = in_terminal("02-gpu-pools", 120, NO_COLOR="1")
    assert not re.search(r"\x1b\[(?:[0-9]+;)*[349][0-9]", printed)
    assert without_colours(printed) == golden("02-gpu-pools")


def test_a_terminal_that_knows_no_colours_gets_none() -> None:
    """Such as the one inside an editor."""
    assert "\x1b" not in in_terminal("02-gpu-pools", 120, TERM="dumb")


@pytest.mark.parametrize("columns", [30, 200])
def test_a_pipe_gets_neither_colours_nor_the_width_of_the_terminal_it_was_typed_at(columns: int) -> None:
    """Standard input may be a terminal still."""
    person, program = open_terminal(columns)
    try:
        assert piped("02-gpu-pools", stdin=program).decode() == golden("02-gpu-pools")
    finally:
        os.close(program)
        os.close(person)


# --- narrow terminals -----------------------------------------------------------------------------------------------


def cells(text: str) -> list[str]:
    """What the table of quotas is for: each quota before and after, and each mark."""
    return re.findall(r"[0-9.~A-Za-z]+ → [0-9.~A-Za-z]+|▼", text)


@pytest.mark.parametrize("columns", [200, 100, 80, 60, 40])
@pytest.mark.parametrize("example", EXAMPLES)
def test_a_narrow_terminal_cuts_no_quota_and_no_mark(example: str, columns: int) -> None:
    """Names may be cut, and lines may be broken; a number that is cut is a wrong one, a lost mark a lost warning."""
    assert cells(without_colours(in_terminal(example, columns))) == cells(golden(example))


@pytest.mark.parametrize("columns", [80, 40])
@pytest.mark.parametrize("example", EXAMPLES[1:3])
def test_warnings_and_notes_are_whole_in_a_narrow_terminal(example: str, columns: int) -> None:
    """Word by word, over as many lines as it takes."""

    def words(text: str) -> list[str]:
        _, found, rest = text.partition("\nWarnings\n")
        return (rest if found else text.partition("\nNotes\n")[2]).split()

    assert words(without_colours(in_terminal(example, columns))) == words(golden(example))


# --- encodings ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "koi8-r", "shift_jis"])
def test_an_encoding_that_lacks_a_sign_gets_a_question_mark(encoding: str) -> None:
    """Nothing else changes, and nothing fails."""
    printed = piped("02-gpu-pools", PYTHONUTF8="0", PYTHONIOENCODING=encoding)
    assert printed == golden("02-gpu-pools").encode(encoding, errors="replace")


def test_the_locale_c_is_no_obstacle() -> None:
    """As in a container without a locale; Python itself may choose UTF-8 there."""
    printed = piped("02-gpu-pools", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert printed == golden("02-gpu-pools").encode("ascii", errors="replace")
