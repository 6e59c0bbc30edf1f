"""Standard input, output and error that are closed, full, or left by their reader."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.process import BIN, EXAMPLES, Finished, assert_one_message, dqo, execute
from tests.unit.kueue_dqo.cli.objects import as_json, cohort, listed, orchestrator, provider, queue

OUTPUTS = ("table", "json", "yaml")
PIPE_HOLDS, BUFFER_HOLDS = 65_536, 8_192  # bytes; of a pipe of Linux, of a buffer of Python
SMALL, LARGE = 1, 800


@pytest.fixture(scope="module", params=[SMALL, LARGE], ids=["small", "large"])
def manifests(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan that fits into every buffer, and one that does not; neither has anything to say on standard error."""
    queues = (queue(f"queue-with-a-long-name-for-a-long-line-{number}", cohort="c") for number in range(request.param))
    path = tmp_path_factory.mktemp("output") / "all.json"
    path.write_bytes(as_json(listed(orchestrator("Cohort/c"), provider(), cohort("c"), *queues)))
    return path


def test_the_manifests_have_nothing_to_say_on_standard_error(manifests: Path) -> None:
    """So that what is said below is about the output."""
    for output in OUTPUTS:
        finished = dqo("plan", "-f", manifests, "-o", output)
        assert (finished.code, finished.err) == (0, "")
        assert (len(finished.out) > PIPE_HOLDS + BUFFER_HOLDS) == (manifests.stat().st_size > 100_000)


@contextmanager
def _pipe_without_a_reader() -> Iterator[int]:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        yield writer
    finally:
        os.close(writer)


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_reader_that_goes_away_is_told_in_one_line(output: str, manifests: Path) -> None:
    """`dqo plan … | true`."""
    with _pipe_without_a_reader() as pipe:
        finished = dqo("plan", "-f", manifests, "-o", output, stdout=pipe)
    assert_one_message(finished)
    assert "standard output was closed" in finished.err


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_reader_that_has_seen_enough_is_told_in_one_line(output: str, manifests: Path) -> None:
    """`dqo plan … | head -n 1`: only where there is more than a pipe holds does anybody notice."""
    reader, writer = os.pipe()
    with subprocess.Popen(
        [BIN / "dqo", "plan", "-f", manifests, "-o", output], stdout=writer, stderr=subprocess.PIPE
    ) as process:
        os.close(writer)
        assert os.read(reader, 1)
        os.close(reader)
        _, err = process.communicate()
    if process.returncode:
        assert_one_message(Finished(process.returncode, "", err.decode()))
    else:
        assert err == b""
    assert (process.returncode == 0) == (manifests.stat().st_size < 100_000)


@pytest.mark.parametrize("arguments", [["--help"], ["plan", "--help"], ["--version"]], ids=" ".join)
def test_help_without_a_reader_is_told_in_one_line(arguments: list[str]) -> None:
    """As a plan is."""
    with _pipe_without_a_reader() as pipe:
        finished = dqo(*arguments, stdout=pipe)
    assert_one_message(finished)


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_full_disk_is_told_in_one_line(output: str, manifests: Path) -> None:
    """With the words of the operating system."""
    with Path("/dev/full").open("wb") as full:
        finished = dqo("plan", "-f", manifests, "-o", output, stdout=full.fileno())
    assert_one_message(finished)
    assert "No space left on device" in finished.err


@pytest.mark.parametrize("output", OUTPUTS)
def test_an_unbuffered_output_loses_nothing(output: str, manifests: Path) -> None:
    """PYTHONUNBUFFERED=1, as in many containers; a pipe takes 64 KiB at a time, and a reader may go away."""
    arguments = ("plan", "-f", manifests, "-o", output)
    assert dqo(*arguments, PYTHONUNBUFFERED="1") == dqo(*arguments)
    with _pipe_without_a_reader() as pipe:
        assert_one_message(dqo(*arguments, stdout=pipe, PYTHONUNBUFFERED="1"))


def _with(redirection: str, *arguments: str | Path) -> Finished:
    """The command behind a redirection of the shell."""
    return execute("sh", "-c", f'exec "$0" "$@" {redirection}', BIN / "dqo", *arguments)


@pytest.mark.parametrize("output", OUTPUTS)
def test_an_output_that_was_never_open_is_told_in_one_line(output: str, manifests: Path) -> None:
    """`dqo plan … >&-`, as a careless daemon starts it."""
    assert_one_message(_with(">&-", "plan", "-f", manifests, "-o", output))


def test_an_input_that_was_never_open_is_told_in_one_line() -> None:
    """`dqo plan -f - <&-`: nothing can be read from there."""
    finished = _with("<&-", "plan", "-f", "-")
    assert_one_message(finished)
    assert "standard input" in finished.err


def test_an_input_that_is_not_wanted_may_be_closed() -> None:
    """Files are read without it."""
    for output in OUTPUTS:
        arguments = ("plan", "-f", EXAMPLES / "01-two-teams-one-pool", "-o", output)
        assert _with("<&-", *arguments) == dqo(*arguments)


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/null"])
def test_nobody_has_to_listen_to_warnings(redirection: str, tmp_path: Path) -> None:
    """The plan comes out all the same."""
    path = tmp_path / "all.json"
    path.write_bytes(as_json(orchestrator(), provider(memory="4Gi"), queue("a")))
    for output in OUTPUTS:
        heard = dqo("plan", "-f", path, "-o", output)
        assert ("Warning" in heard.err) == (output != "table")
        assert _with(redirection, "plan", "-f", path, "-o", output) == Finished(0, heard.out, "")


def test_errors_are_exit_codes_even_where_nobody_listens() -> None:
    """With everything closed."""
    assert _with("<&- >&- 2>&-", "plan", "-f", "/nowhere").code == 1
