"""The lines of a daemon: their form, the libraries' lines among them, and what must not be in them."""

from __future__ import annotations

import io
import json
import logging
import re
import warnings
from collections.abc import Iterator
from typing import Any, NoReturn

import pytest
import structlog

from kueue_dqo.runtime.logs import configure_logs


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    """Leaves logging as other tests expect it."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for name in ("kueue_dqo", "orchestrator", "providers"):
        logging.getLogger(name).setLevel(logging.NOTSET)
    logging.captureWarnings(capture=False)
    structlog.reset_defaults()


def _ours() -> structlog.stdlib.BoundLogger:
    logger: structlog.stdlib.BoundLogger = structlog.get_logger("kueue_dqo.example")
    return logger


def _break(text: str) -> NoReturn:
    raise RuntimeError(text)


def _lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.fixture
def stream() -> io.StringIO:
    stream = io.StringIO()
    configure_logs(level="info", form="json", stream=stream)
    return stream


def test_a_line_is_json_with_time_level_logger_event_and_pairs_in_that_order(stream: io.StringIO) -> None:
    _ours().info("quota written", queue="team-a", cpus=3, shares={"x": "×"})
    (line,) = _lines(stream)
    assert list(line) == ["timestamp", "level", "logger", "event", "queue", "cpus", "shares"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", line.pop("timestamp"))
    assert line == {
        "level": "info",
        "logger": "kueue_dqo.example",
        "event": "quota written",
        "queue": "team-a",
        "cpus": 3,
        "shares": {"x": "×"},
    }
    assert stream.getvalue().isascii()


def test_a_logger_is_named_after_its_module(stream: io.StringIO) -> None:
    logger: structlog.stdlib.BoundLogger = structlog.get_logger()
    logger.warning("something")
    assert _lines(stream)[0]["logger"] == __name__


def test_what_is_bound_to_the_context_is_on_every_line(stream: io.StringIO) -> None:
    with structlog.contextvars.bound_contextvars(controller="dqo", key="a"):
        _ours().info("something")
        logging.getLogger("library").info("something else")
    assert [(line["controller"], line["key"]) for line in _lines(stream)] == [("dqo", "a")] * 2


def test_lines_of_libraries_have_the_same_form(stream: io.StringIO) -> None:
    logging.getLogger("aiohttp.server").warning("dropped %d of %s", 3, "them", extra={"peer": "x"})
    (line,) = _lines(stream)
    del line["timestamp"]
    assert line == {"level": "warning", "logger": "aiohttp.server", "event": "dropped 3 of them", "peer": "x"}


def test_warnings_of_python_are_lines(stream: io.StringIO) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(capture=False)
        logging.captureWarnings(capture=True)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    assert "DeprecationWarning: old" in _lines(stream)[0]["event"]


@pytest.mark.parametrize("ours", [True, False])
def test_an_exception_is_one_line_with_its_traceback(stream: io.StringIO, ours: bool) -> None:
    try:
        _break("broken")
    except RuntimeError as error:
        if ours:
            _ours().error("failed", exc_info=error)
        else:
            logging.getLogger("library").exception("failed")
    (line,) = _lines(stream)
    assert line["event"] == "failed"
    assert line["exception"].startswith("Traceback")
    assert line["exception"].endswith("RuntimeError: broken")


@pytest.mark.parametrize("form", ["json", "console"])
def test_secrets_are_masked_wherever_they_stand(form: Any) -> None:
    stream = io.StringIO()
    configure_logs(level="info", form=form, stream=stream)
    secret = "hunter2hunter2"  # noqa: S105 - what is looked for
    try:
        _break(f"GET / with Bearer {secret}")
    except RuntimeError as error:
        _ours().error(
            "request failed",
            authorization=secret,
            apiToken=secret,
            headers={"Authorization": secret, "nested": [{"password": secret}]},
            raw=f"authorization: bearer {secret}".encode(),
            error=error,
            exc_info=error,
        )
    logging.getLogger("library").info("sent Basic %s", secret, extra={"client_secret": secret})
    assert secret not in stream.getvalue()
    assert stream.getvalue().count("***") >= 7


def test_values_that_json_does_not_know_do_not_lose_the_line(stream: io.StringIO) -> None:
    _ours().info("something", key={("a", 1): object()}, names={"x"}, raw=b"\xff")
    (line,) = _lines(stream)
    assert (line["names"], line["raw"]) == (["x"], "\\xff")


def test_the_level_holds_for_ours_and_libraries_stay_at_info_on_debug() -> None:
    stream = io.StringIO()
    configure_logs(level="debug", form="json", stream=stream)
    _ours().debug("ours")
    logging.getLogger("kubernetes_asyncio").debug("response body: ...")
    logging.getLogger("kubernetes_asyncio").info("library")
    assert [line["event"] for line in _lines(stream)] == ["ours", "library"]
    configure_logs(level="warning", form="json", stream=stream)
    _ours().info("not ours")
    logging.getLogger("kubernetes_asyncio").info("not the library's")
    assert len(_lines(stream)) == 2


def test_configuring_twice_writes_no_line_twice(stream: io.StringIO) -> None:
    configure_logs(level="info", form="json", stream=stream)
    _ours().info("once")
    assert len(_lines(stream)) == 1


def test_the_console_form_is_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(level="info", form="console")
    try:
        _break("broken")
    except RuntimeError as error:
        _ours().error("failed", queue="team-a", exc_info=error)
    text = capsys.readouterr().out
    assert re.search(r"error.*failed.*queue=team-a", text)
    assert "RuntimeError: broken" in text


def test_an_unknown_level_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="log level 'loud': it is one of debug, info, warning, error"):
        configure_logs(level="loud", form="json")
