"""No file, whatever is in it, gets more out of the command than a message and exit code 1."""

from __future__ import annotations

import os
import resource
import subprocess
from pathlib import Path

import pytest

from tests.e2e.process import BIN, EXAMPLES, HANGS_AFTER, assert_one_message, dqo, environment
from tests.unit.kueue_dqo.cli.bad_inputs import NO_OBJECTS, UNREADABLE, nested
from tests.unit.kueue_dqo.cli.objects import as_json, cohort, listed, orchestrator, provider, queue

BAD = (*UNREADABLE, *NO_OBJECTS)
AT_ONCE = 10


@pytest.mark.parametrize("first", range(0, len(BAD), AT_ONCE))
def test_bad_files_end_in_messages_that_name_them(first: int, tmp_path: Path) -> None:
    """Each with its cause."""
    bad = BAD[first : first + AT_ONCE]
    names = [f"{number}-{each.name}" for number, each in enumerate(bad)]
    for name, each in zip(names, bad, strict=True):
        (tmp_path / name).write_bytes(each.content)
    finished = dqo("plan", "-f", *names, cwd=tmp_path)
    assert "Traceback" not in finished.err, finished.err
    assert (finished.code, finished.out) == (1, "")
    lines = finished.err.splitlines()
    assert lines[0].startswith("Error: ")
    for name, each in zip(names, bad, strict=True):
        assert any(line.startswith(f"  {name}") and all(word in line for word in each.says) for line in lines), finished


@pytest.mark.parametrize("form", nested(1))
def test_deep_nesting_ends_in_a_message_and_not_in_a_crash(form: str, tmp_path: Path) -> None:
    """A parser that recurses without measure would take the interpreter down with it."""
    name, content = nested(100_000)[form]
    (tmp_path / name).write_bytes(content)
    finished = dqo("plan", "-f", name, cwd=tmp_path)
    assert_one_message(finished)
    assert name in finished.err


@pytest.mark.parametrize("levels", [300, 500, 700, 900, 960, 1000])
def test_deep_nesting_in_a_good_object_is_read_or_ends_in_a_message(levels: int) -> None:
    """Every part that walks through an object has its own idea of deep."""
    deep = b"[" * levels + b"]" * levels
    data = as_json(queue("a", unused="HERE")).replace(b'"HERE"', deep)
    finished = dqo("plan", "-f", "-", stdin=data)
    assert finished.code in (0, 1)
    assert "Traceback" not in finished.err
    assert finished.code == 0 or "nested too deeply" in finished.err


def test_half_of_a_surrogate_pair_ends_in_a_plan_or_in_a_message() -> None:
    """JSON can name a character that no text can be written with."""
    data = as_json(listed(orchestrator(), provider(), queue("a", resource="\ud800")))
    for output in ("table", "json", "yaml"):
        finished = dqo("plan", "-f", "-", "-o", output, stdin=data)
        assert finished.code in (0, 1)
        assert "Traceback" not in finished.err


@pytest.mark.parametrize("field", ["capacity", "two capacities", "quota", "two quotas"])
def test_numbers_of_any_length_end_in_a_plan_or_in_a_message(field: str) -> None:
    """Sums and products of them included."""
    number, providers, quota = int("9" * 4300), ("p", "q"), 1
    if "quota" in field:
        providers, quota = ("small", "small-too"), number
    capacities = [
        provider(name, cpu=number if "capacity" in field or "capacities" in field else 4) for name in providers
    ]
    queues = [queue(name, quota, cohort="c") for name in (("a", "b") if "two" in field else ("a",))]
    used = providers if "two" in field else providers[:1]
    data = as_json(listed(orchestrator("Cohort/c", *used), *capacities, cohort("c"), *queues))
    for output in ("table", "json"):
        finished = dqo("plan", "-f", "-", "-o", output, stdin=data)
        assert finished.code in (0, 1)
        assert "Traceback" not in finished.err, finished.err[-500:]


@pytest.mark.parametrize("size", ["1Ei", "8Ei", "16Ei", "1e30"])
def test_a_limit_above_the_memory_is_no_request_for_memory(size: str) -> None:
    """A small file is planned under any limit."""
    data = as_json(listed(orchestrator(), provider(), queue("a")))
    finished = dqo("plan", "-f", "-", "--max-file-size", size, stdin=data)
    assert (finished.code, finished.err) == (0, "")


def test_a_small_file_needs_little_memory() -> None:
    """`ulimit -v`, and hosts that promise no memory which they do not have; the default limit is 1Gi."""
    address_space = 768 << 20
    done = subprocess.run(
        [BIN / "dqo", "plan", "-f", EXAMPLES / "01-two-teams-one-pool"],
        capture_output=True,
        env=environment(),
        timeout=HANGS_AFTER,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space)),
    )
    assert b"Traceback" not in done.stderr, done.stderr.decode()[-500:]
    assert done.returncode == 0


def test_links_in_a_circle_end_in_a_message(tmp_path: Path) -> None:
    """By their name, and inside a folder."""
    (tmp_path / "one.yaml").symlink_to("two.yaml")
    (tmp_path / "two.yaml").symlink_to("one.yaml")
    for path in ("one.yaml", "."):
        finished = dqo("plan", "-f", path, cwd=tmp_path)
        assert finished.code == 1
        assert "Traceback" not in finished.err
        assert "one.yaml" in finished.err


def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    """Nobody may ever write to it; one that is named is read."""
    os.mkfifo(tmp_path / "pipe.yaml")
    finished = dqo("plan", "-f", ".", cwd=tmp_path)
    assert_one_message(finished)
    assert "pipe.yaml" in finished.err


@pytest.mark.parametrize(
    "path", ["", "x" * 5000, "ü & <b>.yaml", "\udcff.yaml"], ids=["empty", "too long", "odd", "no UTF-8"]
)
def test_odd_paths_end_in_a_message(path: str, tmp_path: Path) -> None:
    """Also those that no file system takes."""
    finished = dqo("plan", "-f", path, cwd=tmp_path)
    assert_one_message(finished)
