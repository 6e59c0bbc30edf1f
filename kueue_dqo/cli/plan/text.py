"""Numbers and messages as the table shows them."""

from __future__ import annotations

from typing import Final

from kueue_dqo.api.kueue import CLUSTER_QUEUE
from kueue_dqo.api.meta import ObjectKey
from kueue_dqo.api.quantity import NANOS, Format, Quantity
from kueue_dqo.api.quotas import ResourceQuota
from kueue_dqo.api.resources import FlavorResource
from orchestrator.compute import Outcome

_MANY_DIGITS: Final = 7
_MANY_DIGITS_BINARY: Final = 4
_LARGEST_SHOWN: Final = 10**24
_BINARY_STEPS: Final = [(suffix, 1024**power) for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)]
_DECIMAL_STEPS: Final = [(suffix, 1000**power) for power, suffix in enumerate(("k", "M", "G", "T", "P", "E"), 1)]


def amount_text(quantity: Quantity) -> str:
    """The exact number; one of many digits in the largest step of its format, marked as rounded."""
    exact = str(quantity)
    if exact[-1] in "mun" or "e-" in exact:  # 9.5 reads better than 9500m
        units, nanos = divmod(abs(quantity.nanos), NANOS)
        sign = "-" if quantity.nanos < 0 else ""
        exact = f"{sign}{units}.{nanos:09}".rstrip("0")
    digits = sum(character.isdigit() for character in exact)
    if abs(quantity.nanos) < NANOS or digits <= (_MANY_DIGITS_BINARY if exact.endswith("i") else _MANY_DIGITS):
        return exact
    units = abs(quantity.nanos) // NANOS
    if units >= _LARGEST_SHOWN:
        power = len(str(units)) - 1
        return f"~{rounded(quantity.nanos, NANOS * 10**power, 2)}e{power}"
    steps = _BINARY_STEPS if quantity.format is Format.BINARY else _DECIMAL_STEPS
    for suffix, step in reversed(steps):
        if units >= step:
            return f"~{rounded(quantity.nanos, step * NANOS, 2)}{suffix}"
    return f"~{rounded(quantity.nanos, NANOS, 3)}"


def rounded(numerator: int, denominator: int, places: int) -> str:
    """The quotient with so many decimal places, half away from zero; in integers, as floats end too soon."""
    scaled = (2 * abs(numerator) * 10**places + denominator) // (2 * denominator)
    sign = "-" if numerator < 0 and scaled else ""
    return f"{sign}{scaled // 10**places}.{scaled % 10**places:0{places}}"


def share_text(pair: FlavorResource, quota: ResourceQuota, outcome: Outcome) -> str:
    """The part of the effective capacity that the quota is, or why it is none."""
    if pair.flavor not in (outcome.discovery.flavors or {}):
        return "as declared"
    amount = (outcome.discovery.flavors or {})[pair.flavor].get(pair.resource)
    if amount is None:
        return "unreported"
    if amount.attos == 0:
        return "-"
    return f"{rounded(quota.nominal_quota.nanos * NANOS * 100, amount.attos, 1)} %"


def tree_label(key: ObjectKey, depth: int) -> str:
    """A ClusterQueue by its name, a Cohort marked as one, moved in as far as it is below the root."""
    return "  " * depth + (key.name if key.kind == CLUSTER_QUEUE else f"{key.name} (Cohort)")
