"""A kubeconfig from a ClusterProfile and the admin's list of credential plugins (the cluster inventory API). Pure.

The ClusterProfile says where a worker is and by which access providers it can be reached; the admin's file says which
program stands for an access provider. So no program runs that the admin did not name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from providers.multikueue.objects import Unreadable

_ADDITIONAL_ARGS: Final = "clusterprofiles.multicluster.x-k8s.io/exec/additional-args"
_ADDITIONAL_ENV: Final = "clusterprofiles.multicluster.x-k8s.io/exec/additional-envs"
_IGNORE: Final = ("", "Ignore")
_APPEND: Final = "Append"
_APPEND_IF_NOT_EXISTS: Final = "AppendIfNotExists"
_REPLACE: Final = "Replace"


class Unusable(Exception):
    """No kubeconfig can be made of it. The message names the field, why, and the way out."""


class AccessProvider(msgspec.Struct, frozen=True):
    """A way to reach a cluster."""

    name: str
    cluster: dict[str, Any] = {}
    """As in a kubeconfig; it is judged where that is read."""


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    access_providers: tuple[AccessProvider, ...] | None = None
    credential_providers: tuple[AccessProvider, ...] | None = None


class _Profile(msgspec.Struct, frozen=True):
    status: _Status = _Status()


class ClusterProfile(msgspec.Struct, frozen=True):
    """The access providers of a cluster, by name; of two of one name, the one of the newer field."""

    providers: dict[str, AccessProvider]


class Variable(msgspec.Struct, frozen=True):
    """A variable of a program's environment."""

    name: str
    value: str = ""


class ExecConfig(msgspec.Struct, frozen=True, rename="camel"):
    """The program, as in a kubeconfig."""

    api_version: str
    command: str
    args: tuple[str, ...] | None = None
    env: tuple[Variable, ...] | None = None
    provide_cluster_info: bool = False


class Plugin(msgspec.Struct, frozen=True, rename="camel"):
    """What stands for an access provider."""

    name: str
    exec_config: ExecConfig
    args_policy: str = msgspec.field(default="", name="profileSourcedCLIArgsPolicy")
    """Whether the ClusterProfile may add arguments: `Append` or `Ignore`."""
    env_policy: str = msgspec.field(default="", name="profileSourcedEnvVarsPolicy")
    """Whether the ClusterProfile may add variables: `AppendIfNotExists`, `Replace` or `Ignore`."""


class _PluginFile(msgspec.Struct, frozen=True):
    providers: tuple[Plugin, ...]


def decode_profile(raw: bytes) -> ClusterProfile | Unreadable:
    """The part of a ClusterProfile that says how the cluster is reached."""
    try:
        status = msgspec.json.decode(raw, type=_Profile).status
    except (msgspec.DecodeError, RecursionError) as error:
        return Unreadable(f"{error}")
    newer, older = status.access_providers or (), status.credential_providers or ()
    return ClusterProfile({each.name: each for each in (*older, *newer)})


def plugins_of(content: Any) -> tuple[Plugin, ...]:
    """The plugins of the admin's file, which is given as plain values. Raises Unusable."""
    try:
        return msgspec.convert(content, _PluginFile).providers
    except msgspec.ValidationError as error:
        raise Unusable(f"it is no list of plugins: {error}") from error


def kubeconfig_of(profile: ClusterProfile, plugins: Iterable[Plugin]) -> bytes:
    """For the first plugin whose access provider the cluster has. Raises Unusable."""
    plugins = tuple(plugins)
    for plugin in plugins:
        provider = profile.providers.get(plugin.name)
        if provider is not None:
            return _kubeconfig(provider.cluster, plugin)
    raise Unusable(
        f"status.accessProviders: it has {_names(profile.providers)}, and the file of plugins has "
        f"{_names(each.name for each in plugins)}; add a plugin for one of its access providers"
    )


def _kubeconfig(cluster: Mapping[str, Any], plugin: Plugin) -> bytes:
    name = plugin.name
    spec = plugin.exec_config
    user = {
        "exec": {
            "apiVersion": spec.api_version,
            "command": spec.command,
            "args": [*(spec.args or ()), *_additional_args(cluster, plugin)],
            "env": [{"name": each, "value": value} for each, value in _env(cluster, plugin).items()],
            "interactiveMode": "Never",
            "provideClusterInfo": spec.provide_cluster_info,
        }
    }
    return msgspec.json.encode(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "clusters": [{"name": name, "cluster": cluster}],
            "users": [{"name": name, "user": user}],
        }
    )


def _additional_args(cluster: Mapping[str, Any], plugin: Plugin) -> tuple[str, ...]:
    if plugin.args_policy in _IGNORE:
        return ()
    if plugin.args_policy != _APPEND:
        raise Unusable(
            f"plugin {plugin.name!r}: profileSourcedCLIArgsPolicy {plugin.args_policy!r} is neither {_APPEND} nor "
            "Ignore"
        )
    args: tuple[str, ...] = _extension(cluster, plugin, _ADDITIONAL_ARGS, tuple[str, ...], ())
    return args


def _env(cluster: Mapping[str, Any], plugin: Plugin) -> Mapping[str, str]:
    own = {each.name: each.value for each in plugin.exec_config.env or ()}
    if plugin.env_policy in _IGNORE:
        return own
    if plugin.env_policy not in {_APPEND_IF_NOT_EXISTS, _REPLACE}:
        raise Unusable(
            f"plugin {plugin.name!r}: profileSourcedEnvVarsPolicy {plugin.env_policy!r} is neither "
            f"{_APPEND_IF_NOT_EXISTS}, {_REPLACE} nor Ignore"
        )
    theirs: dict[str, str] = _extension(cluster, plugin, _ADDITIONAL_ENV, dict[str, str], {})
    return {**own, **theirs} if plugin.env_policy == _REPLACE else {**theirs, **own}


def _extension(cluster: Mapping[str, Any], plugin: Plugin, name: str, wanted: Any, otherwise: Any) -> Any:
    """What an extension of the cluster holds, in the type that is wanted."""
    extensions = cluster.get("extensions")
    for each in extensions if isinstance(extensions, list) else ():
        if isinstance(each, dict) and each.get("name") == name:
            try:
                return msgspec.convert(each.get("extension"), wanted)
            except msgspec.ValidationError as error:
                raise Unusable(f"access provider {plugin.name!r}, extension {name}: {error}") from error
    return otherwise


def _names(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
