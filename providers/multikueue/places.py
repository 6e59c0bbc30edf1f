"""Where the kubeconfig of a worker is, as its MultiKueueCluster says, and what a Secret holds of it. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec

from kueue_dqo.api.kueue import MultiKueueCluster
from providers.multikueue.objects import Unreadable

SECRET: Final = "Secret"  # noqa: S105 - a kind
PATH: Final = "Path"
CLUSTER_PROFILE: Final = "ClusterProfile"
KEY: Final = "kubeconfig"
"""The key of the Secret."""
_SOURCE: Final = "spec.clusterSource"
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
"""Of an object. What is none must not get into a field selector."""


class Place(NamedTuple):
    kind: str
    """SECRET, PATH or CLUSTER_PROFILE."""
    name: str
    """Of the object, in the one namespace in which such objects are read; or the path of the file."""


@dataclass(frozen=True, slots=True)
class SecretKubeconfig:
    """What a Secret holds; its text does not show it."""

    text: bytes | None = field(repr=False)
    """None: it has no key `kubeconfig`."""


class _Data(msgspec.Struct, frozen=True):
    kubeconfig: bytes | None = None


class _Secret(msgspec.Struct, frozen=True):
    data: _Data | None = None


_decode: Final = msgspec.json.Decoder(_Secret).decode


def place_of(cluster: MultiKueueCluster) -> Place | str:
    """Where the kubeconfig is; or what is wrong: field, value, way out."""
    source = cluster.spec.cluster_source
    if (source.kube_config is None) == (source.cluster_profile_ref is None):
        found = "neither kubeConfig nor" if source.kube_config is None else "both kubeConfig and"
        return f"{_SOURCE}: it has {found} clusterProfileRef; give one of them"
    if source.cluster_profile_ref is not None:
        return _object(CLUSTER_PROFILE, source.cluster_profile_ref.name, "clusterProfileRef.name")
    assert source.kube_config is not None  # noqa: S101 - exactly one is set
    location = source.kube_config.location
    if source.kube_config.location_type == SECRET:
        return _object(SECRET, location, "kubeConfig.location")
    if source.kube_config.location_type == PATH:
        return Place(PATH, location)
    return f"{_SOURCE}.kubeConfig.locationType: {source.kube_config.location_type!r} is neither {SECRET} nor {PATH}"


def decode_secret(raw: bytes) -> SecretKubeconfig | Unreadable:
    """Never raises: an error would be logged, and what it quotes might be secret."""
    try:
        data = _decode(raw).data
    except (msgspec.DecodeError, RecursionError):
        return Unreadable(f"data.{KEY}: it is no base64")
    return SecretKubeconfig(data.kubeconfig if data else None)


def _object(kind: str, name: str, key: str) -> Place | str:
    return Place(kind, name) if _NAME.fullmatch(name) else f"{_SOURCE}.{key}: {name!r} is no name of a {kind}"
