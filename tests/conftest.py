"""What every test shares."""

from hypothesis import settings

pytest_plugins = ["tests.controlplane.fixtures"]

# No deadline: a test asserts no times.
settings.register_profile("dqo", deadline=None, max_examples=1000)
settings.load_profile("dqo")
