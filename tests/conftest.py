"""What every test shares."""

import asyncio

from hypothesis import settings

pytest_plugins = ["tests.controlplane.fixtures"]

# No deadline: a test asserts no times. Each run draws other examples, so few are enough for one run;
# `make test ARGS='--hypothesis-profile=thorough'` draws more.
settings.register_profile("dqo", deadline=None, max_examples=100)
settings.register_profile("thorough", deadline=None, max_examples=3000)
settings.load_profile("dqo")

# Without this, pytest-asyncio finds no loop before the first coroutine test, makes one to put back later, and never
# closes it; the warning about that then fails a test that has nothing to do with it.
asyncio.set_event_loop(None)
