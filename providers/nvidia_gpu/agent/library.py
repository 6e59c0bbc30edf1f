"""The Python module of NVML, loaded when it is needed."""

from __future__ import annotations

import importlib
from typing import Any

from kueue_dqo.runtime.errors import ConfigurationError


def pynvml() -> Any:
    """The module `pynvml`; it has no types. The driver's library is loaded by its nvmlInit only.

    Raises ConfigurationError where it is not installed.
    """
    try:
        return importlib.import_module("pynvml")
    except ImportError as error:
        raise ConfigurationError(
            f"the agent reads GPUs by the Python module pynvml, which cannot be imported ({error}): install "
            "kueue-dqo[nvidia], or the distribution nvidia-ml-py by itself"
        ) from error
