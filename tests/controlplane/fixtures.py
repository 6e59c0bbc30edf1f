"""Fixtures that give a test a real control plane. A plugin of pytest, named in `tests/conftest.py`.

A test never skips for want of the programs: they are built, with progress on the terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from tests.controlplane import binaries
from tests.controlplane.cleanup import remove_objects
from tests.controlplane.kueue import install_crds
from tests.controlplane.plane import ControlPlane

_LOG_LINES = 30


@pytest.fixture(scope="session")
def shared_plane(tmp_path_factory: pytest.TempPathFactory, _say: binaries.Say) -> Iterator[ControlPlane]:
    """The one that most tests share; ask for `plane`, which also cleans up."""
    with _started(tmp_path_factory, _say) as plane:
        install_crds(plane)
        yield plane


@pytest.fixture
def plane(shared_plane: ControlPlane) -> Iterator[ControlPlane]:
    """A control plane with the definitions of Kueue 0.19 and of this project, and without objects.

    It outlives the test: whoever stops its servers, or changes definitions, takes `fresh_plane`. Servers that the test
    adds, such as Kueue, are ended with it.
    """
    before = list(shared_plane.servers)
    yield shared_plane
    for server in reversed(shared_plane.servers[len(before) :]):
        server.stop()
        shared_plane.servers.remove(server)
    remove_objects(shared_plane)


@pytest.fixture(scope="session")
def shared_status_plane(tmp_path_factory: pytest.TempPathFactory, _say: binaries.Say) -> Iterator[ControlPlane]:
    """The one that tests of the status road share; ask for `status_plane`."""
    with _started(tmp_path_factory, _say) as plane:
        install_crds(plane, effective_quotas=True)
        yield plane


@pytest.fixture
def status_plane(shared_status_plane: ControlPlane) -> Iterator[ControlPlane]:
    """As `plane`, and its ClusterQueues and Cohorts have `status.effectiveQuotas`. No Kueue may run on it."""
    yield shared_status_plane
    remove_objects(shared_status_plane)


@pytest.fixture
def fresh_plane(tmp_path_factory: pytest.TempPathFactory, _say: binaries.Say) -> Iterator[ControlPlane]:
    """A control plane of the test's own, with the same definitions as `plane`, to do anything with."""
    with _started(tmp_path_factory, _say) as plane:
        install_crds(plane)
        yield plane


@pytest.fixture
def bare_plane(tmp_path_factory: pytest.TempPathFactory, _say: binaries.Say) -> Iterator[ControlPlane]:
    """A control plane of the test's own, without any definition."""
    with _started(tmp_path_factory, _say) as plane:
        yield plane


@pytest.fixture(scope="session")
def _say(pytestconfig: pytest.Config) -> binaries.Say:
    """Progress of a build goes to the terminal although pytest keeps what a test prints."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")

    def say(line: str) -> None:
        if capture is None:
            binaries.say_on_stderr(line)
        else:
            with capture.global_and_fixture_disabled():
                binaries.say_on_stderr(line)

    return say


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What the servers logged last is shown with a test that failed."""
    report = yield
    if report.failed:
        for name, value in getattr(item, "funcargs", {}).items():
            if isinstance(value, ControlPlane):
                report.sections.append((f"servers of {name}", value.logs(_LOG_LINES)))
    return report


def _started(factory: pytest.TempPathFactory, say: Callable[[str], None]) -> ControlPlane:
    folder: Path = factory.mktemp("controlplane")
    return ControlPlane(folder, say)
