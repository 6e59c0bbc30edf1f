"""The rate limit, in virtual time."""

from __future__ import annotations

import asyncio

import pytest

from kueue_dqo.runtime.limiter import TokenBucket

pytestmark = pytest.mark.looptime


async def times_of(bucket: TokenBucket, count: int) -> list[float]:
    loop = asyncio.get_running_loop()
    begin = loop.time()

    async def take() -> float:
        await bucket.take()
        return round(loop.time() - begin, 6)

    return await asyncio.gather(*(take() for _ in range(count)))


async def test_a_burst_passes_at_once_and_the_rest_at_the_rate() -> None:
    assert await times_of(TokenBucket(rate=2, burst=3), 6) == [0, 0, 0, 0.5, 1, 1.5]


async def test_a_burst_of_one_spaces_all() -> None:
    assert await times_of(TokenBucket(rate=10, burst=1), 3) == [0, 0.1, 0.2]


async def test_the_bucket_fills_again_but_not_over_its_brim() -> None:
    bucket = TokenBucket(rate=2, burst=3)
    await times_of(bucket, 3)
    await asyncio.sleep(1)
    assert await times_of(bucket, 3) == [0, 0, 0.5]
    await asyncio.sleep(1000)
    assert await times_of(bucket, 4) == [0, 0, 0, 0.5]


async def test_who_is_cancelled_gives_the_token_back() -> None:
    bucket = TokenBucket(rate=1, burst=1)
    await bucket.take()
    waiting = asyncio.create_task(bucket.take())
    await asyncio.sleep(0.25)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await times_of(bucket, 1) == [0.75]


@pytest.mark.parametrize(("rate", "burst"), [(0, 1), (-1, 1), (1, 0)])
def test_a_limit_that_lets_nothing_through_is_refused(rate: float, burst: int) -> None:
    with pytest.raises(ValueError, match="a rate above 0 and a burst of at least 1"):
        TokenBucket(rate=rate, burst=burst)
