"""What the tests of the runtime share."""

import asyncio

# Without this, pytest-asyncio finds no loop before the first coroutine test, makes one to put back later, and never
# closes it; the warning about that then fails a test that has nothing to do with it.
asyncio.set_event_loop(None)
