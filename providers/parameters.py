"""The parameters of a CapacityProvider: the object that it names, and what is wrong where they cannot be had. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kueue_dqo.api import dqo
from kueue_dqo.api.parameters import CommonParameters, ParametersObject
from kueue_dqo.api.scheme import KnownKind, ObjectInvalid, decode_json
from kueue_dqo.provider import Misconfigured, ParametersKind, WithoutParameters


class HeldParameters(NamedTuple):
    """An object of the parameters kind; `spec` is None where it cannot be used, which `problem` then explains."""

    spec: CommonParameters | None
    problem: str | None = None


class Kind(NamedTuple):
    """The kind of object that a controller's parameters are, and the type of its spec."""

    group: str
    kind: str
    spec: type[CommonParameters]


Find = Callable[[str], HeldParameters | None]
"""The object of the controller's kind with that name, None where there is none. May raise Misconfigured."""


def held_parameters(kind: ParametersKind[Any], raw: bytes) -> HeldParameters:
    """The object in the API server's JSON. What is wrong with it is said by the providers that name it."""
    resource = kind.resource
    known = KnownKind(resource.group, resource.kind, (resource.version,), ParametersObject[kind.spec])  # type: ignore[name-defined]
    try:
        return HeldParameters(decode_json(known, resource.version, raw).object.spec)
    except ObjectInvalid as error:
        return HeldParameters(None, str(error))


def parameters_of(
    provider: dqo.CapacityProvider, kind: Kind | None, without_parameters: WithoutParameters, find: Find
) -> CommonParameters:
    """What the provider is told. `kind` is None where its controller takes no parameters.

    Raises:
        Misconfigured: they are missing, of another kind, or cannot be used.
    """
    reference, controller = provider.spec.parameters, provider.spec.controller_name
    if kind is None:
        if reference is None:
            return CommonParameters()
        raise Misconfigured(
            f"spec.parameters names {reference.kind} {reference.name!r}, but {controller} takes no parameters: "
            "take the field away"
        )
    if reference is None:
        if without_parameters is WithoutParameters.DEFAULTS:
            return kind.spec()
        raise Misconfigured(
            f"spec.parameters is missing: {controller} needs them; name an object of apiGroup {kind.group!r} and kind "
            f"{kind.kind!r} there"
        )
    if (reference.api_group, reference.kind) != (kind.group, kind.kind):
        raise Misconfigured(
            f"spec.parameters names kind {reference.kind!r} of apiGroup {reference.api_group!r}, but the controller "
            f"reads kind {kind.kind!r} of apiGroup {kind.group!r}: correct it"
        )
    held = find(reference.name)
    if held is None:
        raise Misconfigured(
            f"spec.parameters names {kind.kind} {reference.name!r}, which does not exist: create it, or correct the "
            "name"
        )
    if held.spec is None:
        raise Misconfigured(f"{kind.kind}/{reference.name} cannot be used: {held.problem}")
    return held.spec
