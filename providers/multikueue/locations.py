"""Where the kubeconfigs of workers come from: Secrets, files, and ClusterProfiles, all of them watched."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from kueue_dqo.api.kueue import MultiKueueCluster
from kueue_dqo.provider import Environment
from kueue_dqo.runtime.errors import ConfigurationError
from kueue_dqo.runtime.plain_yaml import read_document
from kueue_dqo.runtime.resources import CLUSTER_PROFILES, SECRETS, Resource
from providers.multikueue.kubeconfig_files import read_below, read_named
from providers.multikueue.location_watches import FileWatch, ObjectWatch
from providers.multikueue.objects import Unreadable
from providers.multikueue.places import (
    CLUSTER_PROFILE,
    KEY,
    PATH,
    SECRET,
    Place,
    SecretKubeconfig,
    decode_secret,
    place_of,
)
from providers.multikueue.profiles import (
    ClusterProfile,
    Plugin,
    Unusable,
    decode_profile,
    kubeconfig_of,
    plugins_of,
)
from providers.multikueue.settings import (
    ALLOW_EXEC_PLUGINS,
    CLUSTER_PROFILE_PLUGINS,
    CLUSTER_PROFILES_NAMESPACE,
    DEFAULT_FOLDER,
    KUBECONFIG_FOLDER,
    SECRETS_NAMESPACE,
)

T = TypeVar("T")

_Run = Callable[[], Coroutine[Any, Any, None]]


class Kubeconfig(NamedTuple):
    """A kubeconfig as it was found; its own text does not show it."""

    text: bytes
    origin: str
    """What it is called in messages."""
    allow_exec: bool
    """Whether the admin allows it to name a credential plugin."""

    def __repr__(self) -> str:
        return f"Kubeconfig(origin={self.origin!r}, allow_exec={self.allow_exec})"


class _Watch(NamedTuple):
    run: _Run
    answer: Callable[[], Kubeconfig | str | None]
    unfollowed: Callable[[], str | None]


class _Known(NamedTuple):
    answer: Kubeconfig | str | None = None
    unfollowed: str | None = None


class Locations:
    """What is known of the kubeconfigs of those MultiKueueClusters that are wanted, kept fresh by `run`.

    `changed(cluster)` is called in the event loop when `at(cluster)` or `unfollowed(cluster)` has become another, also
    from within `want`. It must neither raise nor call `want`.
    """

    def __init__(self, environment: Environment, *, changed: Callable[[str], None]) -> None:
        settings = environment.settings
        self._environment = environment
        self._changed = changed
        self._namespaces = {
            SECRET: str(settings.get(SECRETS_NAMESPACE, "")) or environment.namespace,
            CLUSTER_PROFILE: str(settings.get(CLUSTER_PROFILES_NAMESPACE, "")) or environment.namespace,
        }
        self._folder = str(settings.get(KUBECONFIG_FOLDER, DEFAULT_FOLDER))
        self._allow_exec = settings.get(ALLOW_EXEC_PLUGINS) is True
        self._plugin_file = str(settings.get(CLUSTER_PROFILE_PLUGINS, ""))
        self._places: dict[str, Place | str] = {}
        """Of each cluster that is wanted; or what is wrong with it."""
        self._clusters: dict[Place, list[str]] = {}
        self._watches: dict[Place, _Watch] = {}
        """Each once, however many clusters want it."""
        self._plugins: FileWatch[tuple[Plugin, ...] | str] | None = None
        self._known: dict[str, _Known] = {}
        self._wanted = asyncio.Event()

    def want(self, clusters: Mapping[str, MultiKueueCluster]) -> None:
        """All that are wanted from now on. What is not any more is let go."""
        self._places = {name: self._place(cluster) for name, cluster in clusters.items()}
        self._clusters = {}
        for name, place in self._places.items():
            if isinstance(place, Place):
                self._clusters.setdefault(place, []).append(name)
        self._watches = {place: self._watches.get(place) or self._watch(place) for place in self._clusters}
        if not self._plugin_file or all(place.kind != CLUSTER_PROFILE for place in self._clusters):
            self._plugins = None
        elif self._plugins is None:
            self._plugins = FileWatch(self._read_plugins, changed=self._tell_of_profiles)
        self._known = {name: self._known.get(name, _Known()) for name in self._places}
        self._wanted.set()
        self._tell(list(self._places))

    def at(self, cluster: str) -> Kubeconfig | str | None:
        """The kubeconfig; or why there is none, in words; or None while nothing is known, or it is not wanted."""
        return self._known.get(cluster, _Known()).answer

    def unfollowed(self, cluster: str) -> str | None:
        """Why `at` may be an old one, since changes cannot be seen for a while already; None where they can be."""
        return self._known.get(cluster, _Known()).unfollowed

    async def run(self) -> None:
        """Watches what is wanted, until it is cancelled."""
        running: dict[_Run, asyncio.Task[None]] = {}
        async with asyncio.TaskGroup() as group:
            while True:
                self._wanted.clear()
                wanted = {watch.run for watch in self._watches.values()}
                if self._plugins is not None:
                    wanted.add(self._plugins.run)
                for run in running.keys() - wanted:
                    running.pop(run).cancel()
                for run in wanted - running.keys():
                    running[run] = group.create_task(run(), name="watch of a kubeconfig")
                await self._wanted.wait()

    # --- what is watched ---------------------------------------------------------------------------------------------

    def _place(self, cluster: MultiKueueCluster) -> Place | str:
        place = place_of(cluster)
        if isinstance(place, Place) and place.kind != PATH and not self._namespaces[place.kind]:
            setting = SECRETS_NAMESPACE if place.kind == SECRET else CLUSTER_PROFILES_NAMESPACE
            return f"no namespace is known in which to look for a {place.kind}; give --{setting}"
        return place

    def _watch(self, place: Place) -> _Watch:
        if place.kind == PATH:
            file = FileWatch(lambda: read_below(self._folder, place.name), changed=lambda: self._tell_of(place))
            return _Watch(file.run, lambda: self._of_file(place, file.seen), lambda: None)
        if place.kind == SECRET:
            secret = self._object_watch(SECRETS, decode_secret, place)
            return _Watch(secret.run, lambda: self._of_secret(place, secret.seen), lambda: secret.unfollowed)
        profile = self._object_watch(CLUSTER_PROFILES, decode_profile, place)
        return _Watch(profile.run, lambda: self._of_profile(place, profile.seen), lambda: profile.unfollowed)

    def _object_watch(self, resource: Resource, decode: Callable[[bytes], T], place: Place) -> ObjectWatch[T]:
        return ObjectWatch(
            self._environment,
            resource,
            decode,
            namespace=self._namespaces[place.kind],
            name=place.name,
            changed=lambda: self._tell_of(place),
        )

    def _read_plugins(self) -> tuple[Plugin, ...] | str:
        """In a thread."""
        content = read_named(self._plugin_file)
        if isinstance(content, str):
            return f"{content} (--{CLUSTER_PROFILE_PLUGINS})"
        try:
            return plugins_of(read_document(content))
        except (ConfigurationError, Unusable) as error:
            return f"file {self._plugin_file} (--{CLUSTER_PROFILE_PLUGINS}): {error}"

    # --- what is known -----------------------------------------------------------------------------------------------

    def _tell_of(self, place: Place) -> None:
        self._tell(self._clusters.get(place, []))

    def _tell_of_profiles(self) -> None:
        for place in self._clusters:
            if place.kind == CLUSTER_PROFILE:
                self._tell_of(place)

    def _tell(self, clusters: Iterable[str]) -> None:
        for name in tuple(clusters):
            place = self._places[name]
            if isinstance(place, Place):
                watch = self._watches[place]
                now = _Known(watch.answer(), watch.unfollowed())
            else:
                now = _Known(place)
            if now != self._known[name]:
                self._known[name] = now
                self._changed(name)

    def _of_file(self, place: Place, seen: bytes | str | None) -> Kubeconfig | str | None:
        if not isinstance(seen, bytes):
            return seen
        origin = f"file {place.name}"
        return Kubeconfig(seen, origin, self._allow_exec) if seen else f"{origin}: it is empty"

    def _of_secret(self, place: Place, seen: SecretKubeconfig | Unreadable | str | None) -> Kubeconfig | str | None:
        if seen is None or isinstance(seen, str):
            return seen
        origin = self._origin(place)
        if isinstance(seen, Unreadable):
            return f"{origin}: {seen.why}"
        if not seen.text:
            what = "has no key" if seen.text is None else "has nothing under the key"
            return f"{origin}: it {what} {KEY}; put a kubeconfig there"
        return Kubeconfig(seen.text, origin, self._allow_exec)

    def _of_profile(self, place: Place, seen: ClusterProfile | Unreadable | str | None) -> Kubeconfig | str | None:
        if seen is None or isinstance(seen, str):
            return seen
        origin = self._origin(place)
        if isinstance(seen, Unreadable):
            return f"{origin}: {seen.why}"
        if self._plugins is None:
            return f"{origin}: no credential plugins are known for it; name them by --{CLUSTER_PROFILE_PLUGINS}"
        plugins = self._plugins.seen
        if plugins is None or isinstance(plugins, str):
            return plugins
        try:
            # Allowed, since the admin's own file names the program.
            return Kubeconfig(kubeconfig_of(seen, plugins), origin, allow_exec=True)
        except Unusable as error:
            return f"{origin}: {error}"

    def _origin(self, place: Place) -> str:
        return f"{place.kind} {self._namespaces[place.kind]}/{place.name}"
