"""What every test shares."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import settings

_OF_A_FLEET = Path(__file__).parent / "integration" / "multikueue"
"""Tests that need several control planes."""

pytest_plugins = ["tests.controlplane.fixtures"]

# No deadline: a test asserts no times. Each run draws other examples, so few are enough for one run;
# `make test ARGS='--hypothesis-profile=thorough'` draws more.
settings.register_profile("dqo", deadline=None, max_examples=100)
settings.register_profile("thorough", deadline=None, max_examples=3000)
settings.load_profile("dqo")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of a fleet come first: one worker of xdist has them all, and only it starts their control planes."""
    items.sort(key=lambda item: _OF_A_FLEET not in item.path.parents)


# Without this, pytest-asyncio finds no loop before the first coroutine test, makes one to put back later, and never
# closes it; the warning about that then fails a test that has nothing to do with it.
asyncio.set_event_loop(None)
