"""What stands on the command line of `dqo capacity set`: pairs of flavor and resource, each with an amount. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from kueue_dqo.api.quantity import LARGEST_UNITS, NANOS, Quantity, QuantityError
from kueue_dqo.api.resources import FlavorResource

Amounts = Mapping[FlavorResource, Quantity | None]
"""The amount of each pair that is named; None takes the pair away."""

_WAY_OUT: Final = "write FLAVOR/RESOURCE=QUANTITY, such as a100/nvidia.com/gpu=8, or FLAVOR/RESOURCE- to take it away"


def amounts_of(texts: Iterable[str]) -> Amounts:
    """The pairs, in the order in which they are named. Raises ValueError, whose message shows the argument."""
    amounts: dict[FlavorResource, Quantity | None] = {}
    for text in texts:
        name, is_set, written = text.partition("=")
        if not is_set:
            if not name.endswith("-"):
                msg = f"{text!r} has no quantity: {_WAY_OUT}"
                raise ValueError(msg)
            name = name[:-1]
        flavor, _, resource = name.partition("/")
        if not flavor or not resource:
            msg = f"{text!r} is no pair of flavor and resource: {_WAY_OUT}"
            raise ValueError(msg)
        pair = FlavorResource(flavor, resource)
        if pair in amounts:
            msg = f"{pair} is named twice: name it once"
            raise ValueError(msg)
        amounts[pair] = _amount(text, written) if is_set else None
    return amounts


def _amount(text: str, written: str) -> Quantity:
    try:
        quantity = Quantity.of(written)
    except QuantityError as error:
        msg = f"{text!r}: {error}"
        raise ValueError(msg) from error
    if quantity.nanos < 0:
        msg = f"{text!r}: {quantity} is negative; 0 or more is allowed"
        raise ValueError(msg)
    if quantity.nanos > LARGEST_UNITS * NANOS:
        msg = f"{text!r}: {quantity} is more than {LARGEST_UNITS}, the largest amount that Kueue can hold"
        raise ValueError(msg)
    return quantity
