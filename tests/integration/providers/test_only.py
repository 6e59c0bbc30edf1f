"""`--only`: what is named and served by nobody is in the log of the daemon, leader or not."""

from __future__ import annotations

from typing import Final

import pytest

from tests.controlplane.processes import eventually
from tests.integration.daemons import Daemon
from tests.integration.providers.adapter import Adapter
from tests.integration.providers.adapters import Manual
from tests.integration.providers.scenes import GPU, POOL, wait_published

NOT_SERVED: Final = "named by --only, but not served"
SERVED: Final = "named by --only, and served from now on"


def _named(daemon: Daemon, event: str) -> list[str]:
    return [each["provider"] for each in daemon.logs(event)]


@pytest.mark.parametrize("alone", [Manual], indirect=True, ids=["manual"])
def test_names_that_no_provider_has_are_logged_once(alone: Adapter) -> None:
    daemon = alone.start(arguments=["--only", POOL, "--only", "pol"])
    eventually(lambda: len(_named(daemon, NOT_SERVED)) == 2, "both are told of")
    alone.begin({"h100": {GPU: 80}})
    wait_published(alone.plane, {f"h100/{GPU}": 80})
    eventually(lambda: _named(daemon, SERVED) == [POOL], "one is there now")
    assert sorted(_named(daemon, NOT_SERVED)) == ["pol", POOL]
