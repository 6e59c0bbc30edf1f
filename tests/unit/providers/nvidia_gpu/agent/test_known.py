"""What is known of a GPU from one reading to the next."""

from __future__ import annotations

from kueue_dqo.api.gpu import UnhealthyReason
from providers.nvidia_gpu.agent.known import KnownGPU, KnownGPUs
from tests.unit.providers.nvidia_gpu.agent.readings import HOUR, LOST, NOON, ODD, gpu, nameless


def test_a_gpu_is_gone_or_unread_and_never_both() -> None:
    """A loss is more than nothing, and stays what NVML said until the GPU is read again."""
    known = KnownGPUs()
    assert known.learn(gpu(0), NOON) == KnownGPU(gpu(0))
    assert known.learn(gpu(0, error=ODD), NOON) == KnownGPU(gpu(0), unread_since=NOON)
    assert known.learn(gpu(0, error=ODD), NOON + HOUR) == KnownGPU(gpu(0), unread_since=NOON)
    assert known.learn(gpu(0, error=LOST), NOON + HOUR) == KnownGPU(gpu(0), gone=UnhealthyReason.LOST)
    assert known.learn(gpu(0, error=ODD), NOON + HOUR) == KnownGPU(gpu(0), gone=UnhealthyReason.LOST)
    assert known.learn(gpu(0), NOON + HOUR) == KnownGPU(gpu(0))


def test_a_gpu_that_was_never_read_is_not_known() -> None:
    known = KnownGPUs()
    assert known.learn(gpu(0, error=LOST), NOON) is None
    assert known.learn(nameless(1, LOST), NOON) is None
    assert list(known) == []
