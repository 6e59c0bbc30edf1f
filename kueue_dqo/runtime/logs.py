"""Logs of a daemon: one line for each event on standard output, the libraries' included.

An event is a constant text; what varies stands beside it in pairs of key and value. Code of ours takes its logger by
`structlog.get_logger()` at module level.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Mapping
from typing import Any, Final, Literal, TextIO

import structlog

LEVELS: Final = ("debug", "info", "warning", "error")

_OURS: Final = ("kueue_dqo", "orchestrator", "providers")
_FIRST_KEYS: Final = ("timestamp", "level", "logger", "event")
_SECRET_KEY: Final = re.compile(
    r"authorization|cookie|credential|passphrase|password|private_?key|secret|token", re.IGNORECASE
)
_SECRET_TEXT: Final = re.compile(r"\b(Bearer|Basic)(\s+)[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)
_MASK: Final = "***"


def configure_logs(*, level: str, form: Literal["json", "console"], stream: TextIO | None = None) -> None:
    """Sets up structlog and the standard library's logging, for the whole process.

    `level` is debug, info, warning or error, else ValueError. Libraries never log below info: on debug they print whole
    answers, with what may be secret in them. `stream` is standard output where none is given.
    """
    if level.lower() not in LEVELS:
        raise ValueError(f"log level {level!r}: it is one of {', '.join(LEVELS)}")
    stream = stream or sys.stdout
    number = logging.getLevelNamesMapping()[level.upper()]
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        # Not cached: module-level loggers would keep the first configuration for ever, and a daemon's lines are few.
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.ExtraAdder()],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                _mask_secrets,
                _order,
                _renderer(form, stream),
            ],
        )
    )
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(max(number, logging.INFO))
    for name in _OURS:
        logging.getLogger(name).setLevel(number)
    logging.captureWarnings(capture=True)


def _renderer(form: Literal["json", "console"], stream: TextIO) -> structlog.typing.Processor:
    if form == "json":
        # ASCII only, as JSON allows: a stream whose encoding lacks a character would spoil the line.
        return structlog.processors.JSONRenderer()
    return structlog.dev.ConsoleRenderer(
        colors=stream.isatty(),
        # Not rich's, which prints local variables, secrets among them.
        exception_formatter=structlog.dev.plain_traceback,
        sort_keys=False,
    )


def _mask_secrets(logger: object, method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    del logger, method
    return {key: _masked(key, value) for key, value in event.items()}


def _masked(key: object, value: Any) -> Any:
    if isinstance(key, str) and _SECRET_KEY.search(key):
        return _MASK
    if isinstance(value, bytes):
        value = value.decode(errors="backslashreplace")
    elif isinstance(value, BaseException):
        value = f"{type(value).__name__}: {value}"
    if isinstance(value, str):
        return _SECRET_TEXT.sub(rf"\1\2{_MASK}", value)
    if isinstance(value, Mapping):
        return {str(inner): _masked(inner, each) for inner, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_masked(None, each) for each in value]
    return value


def _order(logger: object, method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """What every line has comes first, so that lines can be read one below the other."""
    del logger, method
    first = {key: event[key] for key in _FIRST_KEYS if key in event}
    return first | {key: value for key, value in event.items() if key not in first}
