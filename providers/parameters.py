"""The parameters of a CapacityProvider: the object that it names, and what is wrong where they cannot be had."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from kueue_dqo.api import dqo
from kueue_dqo.api.meta import OUR_GROUP
from kueue_dqo.api.parameters import CommonParameters, ParametersObject
from kueue_dqo.api.scheme import KnownKind, ObjectInvalid, decode_json
from kueue_dqo.provider import CapacityController, Misconfigured, ParametersKind, WithoutParameters
from kueue_dqo.runtime.cache import Cache
from kueue_dqo.runtime.resources import Resource

_DEFINITIONS: Final = "manifests/crds/providers"
"""Where the definitions of our own kinds are."""


class HeldParameters(NamedTuple):
    """An object of the parameters kind; `spec` is None where it cannot be used, which `problem` then explains."""

    spec: CommonParameters | None
    problem: str | None = None


def held_parameters(kind: ParametersKind[Any], raw: bytes) -> HeldParameters:
    """The object in the API server's JSON. What is wrong with it is said by the providers that name it."""
    resource = kind.resource
    known = KnownKind(resource.group, resource.kind, (resource.version,), ParametersObject[kind.spec])  # type: ignore[name-defined]
    try:
        return HeldParameters(decode_json(known, resource.version, raw).object.spec)
    except ObjectInvalid as error:
        return HeldParameters(None, str(error))


def parameters_of(
    provider: dqo.CapacityProvider, controller: CapacityController[Any], cache: Cache[HeldParameters] | None
) -> CommonParameters:
    """What the provider is told. `cache` has the objects of the controller's kind, if it has one.

    Raises:
        Misconfigured: they are missing, of another kind, or cannot be used.
    """
    reference, kind = provider.spec.parameters, controller.parameters
    if reference is None:
        if kind is None:
            return CommonParameters()
        if controller.without_parameters is WithoutParameters.DEFAULTS:
            parameters: CommonParameters = kind.spec()
            return parameters
        raise Misconfigured(
            f"spec.parameters is missing: {controller.name} needs them; name an object of apiGroup "
            f"{kind.resource.group!r} and kind {kind.resource.kind!r} there"
        )
    if kind is None or cache is None:
        raise Misconfigured(
            f"spec.parameters names {reference.kind} {reference.name!r}, but {controller.name} takes no parameters: "
            "take the field away"
        )
    return _named(reference, kind.resource, cache)


def _named(reference: dqo.ParametersRef, resource: Resource, cache: Cache[HeldParameters]) -> CommonParameters:
    if (reference.api_group, reference.kind) != (resource.group, resource.kind):
        raise Misconfigured(
            f"spec.parameters names kind {reference.kind!r} of apiGroup {reference.api_group!r}, but the controller "
            f"reads kind {resource.kind!r} of apiGroup {resource.group!r}: correct it"
        )
    if cache.is_absent:
        remedy = f"kubectl apply -k {_DEFINITIONS}" if resource.group == OUR_GROUP else "install it"
        raise Misconfigured(
            f"spec.parameters names {resource.kind} {reference.name!r}, but the cluster has no "
            f"CustomResourceDefinition {resource.plural}.{resource.group} in version {resource.version}: {remedy}"
        )
    held = cache.objects.get(reference.name)
    if held is None:
        raise Misconfigured(
            f"spec.parameters names {resource.kind} {reference.name!r}, which does not exist: create it, or correct "
            "the name"
        )
    if held.spec is None:
        raise Misconfigured(f"{resource.kind}/{reference.name} cannot be used: {held.problem}")
    return held.spec
