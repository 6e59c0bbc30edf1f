"""Profiles of MIG devices, from their names or from their attributes."""

from __future__ import annotations

import pytest

from kueue_dqo.api.gpu import MIG_PREFIX
from kueue_dqo.api.problems import RESOURCE_NAME
from providers.nvidia_gpu.agent.profiles import profile_in, profile_of


@pytest.mark.parametrize(
    ("name", "profile"),
    [
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", "1g.10gb"),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb+me", "1g.10gb.me"),
        ("NVIDIA H100 80GB HBM3 MIG 1c.3g.40gb", "1c.3g.40gb"),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb+me,gfx", "1g.5gb.me.gfx"),
        ("NVIDIA RTX PRO 6000 MIG 1g.24gb-me", "1g.24gb-me"),
        ("H100 MIG 1g.10gb+", "1g.10gb"),
        ("H100 MIG 1g.10gb-", "1g.10gb"),
        ("H100 MIG 1g.10gb+.-me", "1g.10gb.me"),
        ("H100 MIG 1g.10gb\N{LATIN SMALL LETTER U WITH DIAERESIS}me", "1g.10gb.me"),
        (f"H100 MIG 1g.10gb+{'x' * 39}+y", f"1g.10gb.{'x' * 39}"),
        (f"H100 MIG 1g.10gb+{'x' * 99}", f"1g.10gb.{'x' * 40}"),
        ("H100 MIG 123456g.10gb", None),
        ("H100 MIG \N{ARABIC-INDIC DIGIT ONE}g.10gb", None),
        ("NVIDIA H100 80GB HBM3", None),
        ("NVIDIA H100 80GB HBM3 MIG", None),
        ("NVIDIA H100 80GB HBM3 MIG device", None),
        ("", None),
    ],
)
def test_a_name_ends_with_the_profile(name: str, profile: str | None) -> None:
    """In the words of resources, which have no plus sign, and end with a letter or a digit."""
    assert profile_in(name) == profile
    assert profile is None or RESOURCE_NAME.fits(f"{MIG_PREFIX}{profile}")


@pytest.mark.parametrize(
    ("gpu_slices", "compute_slices", "memory_mib", "gpu_memory_mib", "profile"),
    [
        (1, 1, 9856, 81559, "1g.10gb"),  # H100 80 GB
        (1, 1, 20096, 81559, "1g.20gb"),
        (3, 1, 40448, 81559, "1c.3g.40gb"),
        (7, 7, 80896, 81559, "7g.80gb"),
        (1, 1, 4864, 40960, "1g.5gb"),  # A100 40 GB
        (2, 2, 9984, 40960, "2g.10gb"),
        (1, 1, 10240, None, "1g.10gb"),
    ],
)
def test_attributes_come_to_the_profile(
    gpu_slices: int, compute_slices: int, memory_mib: int, gpu_memory_mib: int | None, profile: str
) -> None:
    """Of the memory, the profile has whole eighths of the GPU's, which is a little more than the device has."""
    found = profile_of(
        gpu_slices=gpu_slices, compute_slices=compute_slices, memory_mib=memory_mib, gpu_memory_mib=gpu_memory_mib
    )
    assert found == profile
