"""Quota codes of EC2 whose meaning is documented, to warn of one that counts other instances. Pure.

What is not known here is as good as what is: a code of the parameters is always asked, and its answer counts.
https://docs.aws.amazon.com/general/latest/gr/ec2-service.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from kueue_dqo.api.cloud import AwsEntry, AwsQuota, PurchaseOption
from kueue_dqo.provider import Notice

QUOTA_MISMATCH: Final = "QuotaMismatch"
"""The reason of the Event about a quota that is documented to count other instances than the entry's."""

_UNDOCUMENTED_SPOT: Final = r"p([6-9]|\d{2}).*"
"""Types of which no document says which code counts their spot instances."""


class KnownCode(NamedTuple):
    """What a code counts."""

    instances: str
    """For a person: `G and VT`."""
    family: str
    """A regular expression of the instance type's name before the dot."""
    purchase_option: PurchaseOption


_STANDARD: Final = r"(a|c|d|h|i|im|is|m|r|t|z)\d.*"
_G: Final = r"(g|gr|vt)\d.*"
_HIGH_MEMORY: Final = r"u(-|\d).*"
_ON_DEMAND: Final = PurchaseOption.ON_DEMAND
_SPOT: Final = PurchaseOption.SPOT

KNOWN_CODES: Final[Mapping[str, KnownCode]] = {
    "L-1216C47A": KnownCode("Standard (A, C, D, H, I, M, R, T, Z)", _STANDARD, _ON_DEMAND),
    "L-417A185B": KnownCode("P", r"p\d.*", _ON_DEMAND),
    "L-DB2E81BA": KnownCode("G and VT", _G, _ON_DEMAND),
    "L-2C3B7624": KnownCode("Trn", r"trn\d.*", _ON_DEMAND),
    "L-1945791B": KnownCode("Inf", r"inf\d.*", _ON_DEMAND),
    "L-6E869C2A": KnownCode("DL", r"dl\d.*", _ON_DEMAND),
    "L-7295265B": KnownCode("X", r"x\d.*", _ON_DEMAND),
    "L-74FC7D96": KnownCode("F", r"f\d.*", _ON_DEMAND),
    "L-F7808C92": KnownCode("HPC", r"hpc\d.*", _ON_DEMAND),
    "L-43DA4232": KnownCode("High Memory", _HIGH_MEMORY, _ON_DEMAND),
    "L-34B43A08": KnownCode("Standard (A, C, D, H, I, M, R, T, Z)", _STANDARD, _SPOT),
    "L-7212CCBC": KnownCode("P2, P3 and P4", r"p[2-4](?!\d).*", _SPOT),
    "L-C4BD4855": KnownCode("P5", r"p5.*", _SPOT),
    "L-3819A6DF": KnownCode("G and VT", _G, _SPOT),
    "L-6B0D517C": KnownCode("Trn", r"trn\d.*", _SPOT),
    "L-B5D1601B": KnownCode("Inf", r"inf\d.*", _SPOT),
    "L-85EED4F7": KnownCode("DL", r"dl\d.*", _SPOT),
    "L-E3A00192": KnownCode("X", r"x\d.*", _SPOT),
    "L-88CF9481": KnownCode("F", r"f\d.*", _SPOT),
}


def mismatch(entry: AwsEntry, quota: AwsQuota) -> tuple[Notice, ...]:
    """A warning where the code is documented to count other instances, or those of another purchase option."""
    known = KNOWN_CODES.get(quota.code) if quota.service == "ec2" else None
    family = entry.instance_type.partition(".")[0]
    is_spot = quota.purchase_option is PurchaseOption.SPOT
    if known is None or (is_spot and re.fullmatch(_UNDOCUMENTED_SPOT, family)):
        return ()
    is_family = re.fullmatch(known.family, family) is not None
    if is_family and known.purchase_option is quota.purchase_option:
        return ()
    better = [
        code
        for code, other in KNOWN_CODES.items()
        if other.purchase_option is quota.purchase_option and re.fullmatch(other.family, family)
    ]
    way_out = f"name {' or '.join(better)}, or correct instanceType or purchaseOption" if better else "correct the code"
    return (
        Notice(
            QUOTA_MISMATCH,
            f"Quota {quota.code} is documented to count vCPUs of {known.instances} instances of purchase option "
            f"{known.purchase_option.value}; the entry is of {entry.instance_type} and {quota.purchase_option.value}: "
            f"{way_out}",
        ),
    )
