"""Where the kubeconfigs of workers come from: Secrets, files and ClusterProfiles that come, change and go."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from kueue_dqo.api.kueue import (
    ClusterProfileReference,
    ClusterSource,
    KubeConfigLocation,
    MultiKueueCluster,
    MultiKueueClusterSpec,
)
from kueue_dqo.api.meta import ObjectMeta
from kueue_dqo.runtime.kubeconfig_text import connection_from_text
from providers.multikueue import location_watches
from providers.multikueue.locations import Kubeconfig, Locations
from tests.unit.kueue_dqo.runtime.scripted_server import drops, refuses, until
from tests.unit.providers.multikueue.object_api import ObjectApi, environment_of

SECRETS = "/api/v1/namespaces/ours/secrets"
PROFILES = "/apis/multicluster.x-k8s.io/v1alpha1/namespaces/ours/clusterprofiles"


@pytest.fixture(autouse=True)
def at_any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are looked at again at once, not after 10 seconds."""
    monkeypatch.setattr(location_watches, "_LOOK_EVERY", 0.001)


@pytest.fixture
async def api() -> AsyncIterator[ObjectApi]:
    async with ObjectApi().running() as api:
        yield api


def cluster(name: str, location: str = "", kind: str = "Secret", profile: str = "") -> MultiKueueCluster:
    source = ClusterSource(
        kube_config=KubeConfigLocation(location, kind) if location else None,
        cluster_profile_ref=ClusterProfileReference(profile) if profile else None,
    )
    return MultiKueueCluster(ObjectMeta(name=name), MultiKueueClusterSpec(source))


class Watched:
    """Locations that run, and whom they told of what."""

    def __init__(self, locations: Locations, changes: list[str]) -> None:
        self.locations = locations
        self.changes = changes

    def want(self, *clusters: MultiKueueCluster) -> None:
        self.locations.want({each.metadata.name: each for each in clusters})

    def at(self, cluster: str) -> Kubeconfig | str | None:
        return self.locations.at(cluster)

    async def text(self, cluster: str, text: bytes) -> Kubeconfig:
        """The kubeconfig, once it is this one."""

        def is_there() -> bool:
            found = self.at(cluster)
            return isinstance(found, Kubeconfig) and found.text == text

        await until(is_there)
        found = self.at(cluster)
        assert isinstance(found, Kubeconfig)
        return found

    async def problem(self, cluster: str, words: str) -> str:

        def is_told() -> bool:
            found = self.at(cluster)
            return isinstance(found, str) and words in found

        await until(is_told)
        return str(self.at(cluster))


@asynccontextmanager
async def watched(api: ObjectApi, *, namespace: str = "ours", **settings: str | bool) -> AsyncIterator[Watched]:
    """At its end, no task and no watch is left."""
    async with environment_of(api, namespace=namespace, **settings) as environment:
        changes: list[str] = []
        locations = Locations(environment, changed=changes.append)
        running = asyncio.create_task(locations.run())
        try:
            yield Watched(locations, changes)
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
    left = {task for task in asyncio.all_tasks() if task.get_name() == "watch of a kubeconfig"}
    assert left == set()
    await until(lambda: not api.open)


def encoded(text: bytes) -> dict[str, Any]:
    return {"data": {"kubeconfig": base64.b64encode(text).decode(), "other": "bm90aGluZw=="}}


# --- Secrets -------------------------------------------------------------------------------------------------------


async def test_a_secret_is_watched_by_its_name_and_every_other_text_is_told_once(api: ObjectApi) -> None:
    api.put(SECRETS, "one", **encoded(b"first"))
    api.put(SECRETS, "two", **encoded(b"another's"))
    async with watched(api, allow_exec_plugins=True) as seen:
        seen.want(cluster("w", "one"))
        assert seen.at("w") is None
        assert await seen.text("w", b"first") == Kubeconfig(b"first", "Secret ours/one", allow_exec=True)
        assert seen.changes == ["w"]
        await until(lambda: api.open == [(SECRETS, "metadata.name=one")])
        api.put(SECRETS, "one", **encoded(b"first"), immutable=True)
        api.put(SECRETS, "one", **encoded(b"second"))
        await seen.text("w", b"second")
        assert seen.changes == ["w", "w"]
        api.delete(SECRETS, "one")
        await seen.problem("w", "there is no Secret ours/one")
        api.put(SECRETS, "one", **encoded(b"third"))
        await seen.text("w", b"third")
    assert {each.query["fieldSelector"] for each in api.server.seen} == {"metadata.name=one"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "Secret ours/one: it has no key kubeconfig; put a kubeconfig there"),
        ({"data": None}, "Secret ours/one: it has no key kubeconfig; put a kubeconfig there"),
        ({"data": {"config": "czNjcmV0"}}, "Secret ours/one: it has no key kubeconfig; put a kubeconfig there"),
        (
            {"data": {"kubeconfig": ""}},
            "Secret ours/one: it has nothing under the key kubeconfig; put a kubeconfig the",
        ),
        ({"data": {"kubeconfig": "s3cret!"}}, "Secret ours/one: data.kubeconfig: it is no base64"),
        ({"data": {"kubeconfig": 5}}, "Secret ours/one: data.kubeconfig: it is no base64"),
    ],
)
async def test_a_secret_without_a_kubeconfig_is_a_problem(
    api: ObjectApi, capfd: pytest.CaptureFixture[str], content: dict[str, Any], message: str
) -> None:
    async with watched(api) as seen:
        seen.want(cluster("w", "one"))
        await seen.problem("w", "there is no Secret ours/one")
        api.put(SECRETS, "one", **content)
        assert (await seen.problem("w", ": ")).startswith(message)
        assert seen.changes == ["w", "w"]
    assert "s3cret" not in "".join(capfd.readouterr())


async def test_nothing_of_a_secret_is_shown(api: ObjectApi, capfd: pytest.CaptureFixture[str]) -> None:
    api.put(SECRETS, "one", **encoded(b"s3cret"))
    async with watched(api) as seen:
        seen.want(cluster("w", "one"))
        found = await seen.text("w", b"s3cret")
        watch = next(iter(seen.locations._watches.values()))  # noqa: SLF001 - what is held must not be shown either
        shown = f"{found!r} {found} {vars(seen.locations)} {watch}"
        assert "s3cret" not in shown
        assert "s3cret" not in repr(location_watches.ObjectWatch.seen.fget(watch.run.__self__))  # type: ignore[attr-defined]
    logged = "".join(capfd.readouterr())
    assert "s3cret" not in logged
    assert base64.b64encode(b"s3cret").decode() not in logged


async def test_a_missing_right_is_told_with_the_role_that_is_needed(api: ObjectApi) -> None:
    message = 'secrets is forbidden: User "dqo" cannot list resource "secrets"'
    api.refusals[SECRETS] = refuses(403, "Forbidden", message)
    async with watched(api) as seen:
        seen.want(cluster("w", "one"))
        assert await seen.problem("w", "Secret") == (
            f"Secret ours/one: no permission to list secrets: {message}; reading it takes a Role in the namespace ours "
            "that allows list and watch of secrets with the resourceName one"
        )


async def test_a_secret_that_may_not_be_watched_is_told_after_a_while(
    api: ObjectApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read of it counts on, but another kubeconfig would never be noticed."""
    monkeypatch.setattr(location_watches, "_LONGEST_UNFOLLOWED", 0.1)
    message = 'secrets is forbidden: User "dqo" cannot watch resource "secrets"'
    api.watch_refusals[SECRETS] = refuses(403, "Forbidden", message)
    api.put(SECRETS, "one", **encoded(b"first"))
    async with watched(api) as seen:
        seen.want(cluster("w", "one"))
        await seen.text("w", b"first")
        await until(lambda: seen.changes == ["w", "w"])
        assert seen.locations.unfollowed("w") == (
            "changes of Secret ours/one are not seen: reading it takes a Role in the namespace ours that allows list "
            f"and watch of secrets with the resourceName one; no permission to watch secrets: {message}"
        )
        await seen.text("w", b"first")
        api.watch_refusals.clear()
        await until(lambda: seen.locations.unfollowed("w") is None)
        assert seen.changes == ["w", "w", "w"]


async def test_a_watch_that_breaks_off_for_a_moment_is_not_told(
    api: ObjectApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.put(SECRETS, "one", **encoded(b"first"))
    async with watched(api) as seen:
        seen.want(cluster("w", "one"))
        await until(lambda: api.open)
        requests = len(api.server.seen)
        api.watch_refusals[SECRETS] = refuses(503)
        api.end_watches()
        await until(lambda: len(api.server.seen) > requests + 1)
        api.watch_refusals.clear()
        await until(lambda: api.open)
        assert seen.locations.unfollowed("w") is None
        monkeypatch.setattr(location_watches, "_LONGEST_UNFOLLOWED", 0.0)
        assert seen.locations.unfollowed("w") is None
        assert seen.changes == ["w"]


async def test_what_was_read_counts_while_the_api_server_cannot_be_reached(api: ObjectApi) -> None:
    api.put(SECRETS, "one", **encoded(b"first"))
    async with watched(api) as seen:
        seen.want(cluster("w", "one"))
        await seen.text("w", b"first")
        await until(lambda: api.open)
        requests = len(api.server.seen)
        api.refusals[SECRETS] = drops()
        api.end_watches()
        await until(lambda: len(api.server.seen) > requests + 1)
        await seen.text("w", b"first")
        assert seen.changes == ["w"]


async def test_a_secret_of_two_clusters_is_watched_once_until_neither_wants_it(api: ObjectApi) -> None:
    api.put(SECRETS, "one", **encoded(b"first"))
    async with watched(api) as seen:
        seen.want(cluster("v", "one"), cluster("w", "one"))
        await seen.text("v", b"first")
        await seen.text("w", b"first")
        assert sorted(seen.changes) == ["v", "w"]
        assert len(api.server.seen_lists) == 1
        await until(lambda: len(api.open) == 1)
        seen.want(cluster("w", "one"))
        assert seen.at("v") is None
        assert len(seen.changes) == 2
        api.put(SECRETS, "one", **encoded(b"second"))
        await seen.text("w", b"second")
        assert len(api.server.seen_lists) == 1
        seen.want()
        await until(lambda: not api.open)
        assert seen.at("w") is None


async def test_a_cluster_that_names_another_secret_has_nothing_until_that_is_read(api: ObjectApi) -> None:
    api.put(SECRETS, "one", **encoded(b"first"))
    api.put(SECRETS, "two", **encoded(b"second"))
    async with watched(api) as seen:
        seen.want(cluster("w", "one"))
        await seen.text("w", b"first")
        seen.want(cluster("w", "two"))
        assert seen.at("w") is None
        assert seen.changes == ["w", "w"]
        await seen.text("w", b"second")
        await until(lambda: api.open == [(SECRETS, "metadata.name=two")])


async def test_the_namespace_of_the_secrets_can_be_another(api: ObjectApi) -> None:
    api.put("/api/v1/namespaces/theirs/secrets", "one", **encoded(b"first"))
    async with watched(api, secrets_namespace="theirs") as seen:
        seen.want(cluster("w", "one"))
        assert (await seen.text("w", b"first")).origin == "Secret theirs/one"


async def test_cluster_profiles_have_a_namespace_of_their_own(api: ObjectApi, tmp_path: Path) -> None:
    """So that Secrets can stay in the daemon's, where no other program's of the same names are."""
    api.put(SECRETS, "one", **encoded(b"first"))
    api.put(PROFILES.replace("ours", "theirs"), "p", **profile())
    plugins = str(plugin_file(tmp_path))
    async with watched(api, cluster_profiles_namespace="theirs", cluster_profile_plugins=plugins) as seen:
        seen.want(cluster("v", "one"), cluster("w", profile="p"))
        assert (await seen.text("v", b"first")).origin == "Secret ours/one"
        await until(lambda: isinstance(seen.at("w"), Kubeconfig))
        found = seen.at("w")
        assert isinstance(found, Kubeconfig)
        assert found.origin == "ClusterProfile theirs/p"


async def test_without_a_namespace_nothing_is_asked(api: ObjectApi) -> None:
    async with watched(api, namespace="") as seen:
        seen.want(cluster("v", "one"), cluster("w", profile="one"))
        for name, kind in (("v", "Secret"), ("w", "ClusterProfile")):
            setting = {"Secret": "--secrets-namespace", "ClusterProfile": "--cluster-profiles-namespace"}[kind]
            assert seen.at(name) == f"no namespace is known in which to look for a {kind}; give {setting}"
    assert api.server.seen == []


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (cluster("w"), "spec.clusterSource: it has neither kubeConfig nor clusterProfileRef; give one of them"),
        (
            cluster("w", "one", profile="one"),
            "spec.clusterSource: it has both kubeConfig and clusterProfileRef; give one of them",
        ),
        (
            cluster("w", "one", kind="Vault"),
            "spec.clusterSource.kubeConfig.locationType: 'Vault' is neither Secret nor Path",
        ),
        (
            cluster("w", "one,metadata.namespace=x"),
            "spec.clusterSource.kubeConfig.location: 'one,metadata.namespace=x' is no name of a Secret",
        ),
        (cluster("w", "../x"), "spec.clusterSource.kubeConfig.location: '../x' is no name of a Secret"),
        (cluster("w", "a\n"), "spec.clusterSource.kubeConfig.location: 'a\\n' is no name of a Secret"),
        (cluster("w", profile="X"), "spec.clusterSource.clusterProfileRef.name: 'X' is no name of a ClusterProfile"),
    ],
)
async def test_a_source_that_cannot_be_used_is_a_problem_at_once(
    api: ObjectApi, source: MultiKueueCluster, message: str
) -> None:
    async with watched(api) as seen:
        seen.want(source)
        assert seen.at("w") == message
        assert seen.changes == ["w"]
        seen.want(source)
        assert seen.changes == ["w"]
    assert api.server.seen == []


# --- files ---------------------------------------------------------------------------------------------------------


async def test_a_file_is_read_and_its_changes_are_told(api: ObjectApi, tmp_path: Path) -> None:
    path = tmp_path / "w"
    path.write_bytes(b"first")
    async with watched(api, kubeconfig_folder=str(tmp_path)) as seen:
        seen.want(cluster("w", str(path), "Path"))
        found = await seen.text("w", b"first")
        assert found == Kubeconfig(b"first", f"file {path}", allow_exec=False)
        for content in (b"first", b"second"):
            (tmp_path / "new").write_bytes(content)
            (tmp_path / "new").rename(path)
        await seen.text("w", b"second")
        assert seen.changes == ["w", "w"]
        path.unlink()
        assert await seen.problem("w", "file") == f"file {path}: there is no such file"
    assert api.server.seen == []


async def test_a_volume_that_the_kubelet_replaces_is_followed(api: ObjectApi, tmp_path: Path) -> None:
    def mount(version: str) -> None:
        (tmp_path / version).mkdir()
        (tmp_path / version / "w").write_text(version)
        (tmp_path / "..data_tmp").symlink_to(version)
        (tmp_path / "..data_tmp").rename(tmp_path / "..data")

    mount("..1")
    (tmp_path / "w").symlink_to("..data/w")
    async with watched(api, kubeconfig_folder=str(tmp_path)) as seen:
        seen.want(cluster("w", str(tmp_path / "w"), "Path"))
        await seen.text("w", b"..1")
        mount("..2")
        await seen.text("w", b"..2")
        assert seen.changes == ["w", "w"]


async def test_a_file_is_looked_at_every_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    reads: list[str] = []
    waits: list[float] = []

    async def at_once(read: Any) -> Any:
        return read()

    async def note(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            raise asyncio.CancelledError

    monkeypatch.setattr(asyncio, "to_thread", at_once)
    monkeypatch.setattr(asyncio, "sleep", note)
    changes: list[str] = []

    def read() -> str:
        reads.append("text")
        return "text"

    watch = location_watches.FileWatch(read, changed=lambda: changes.append("changed"))
    with pytest.raises(asyncio.CancelledError):
        await watch.run()
    assert len(reads) == 3
    assert len(changes) == 1
    assert waits == [10.0, 10.0, 10.0]


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("FOLDER/none", "file FOLDER/none: there is no such file"),
        ("FOLDER/file/none", "file FOLDER/file/none: Not a directory"),
        ("FOLDER", "file FOLDER: it is no regular file"),
        ("FOLDER/folder", "file FOLDER/folder: it is no regular file"),
        ("FOLDER/pipe", "file FOLDER/pipe: it is no regular file"),
        ("FOLDER/large", "file FOLDER/large: it is larger than 1 MiB"),
        ("FOLDER/empty", "file FOLDER/empty: it is empty"),
        ("FOLDER/loop", "file FOLDER/loop: Too many levels of symbolic links"),
        ("FOLDER/outside", "file FOLDER/outside: its symbolic links lead out of FOLDER (--kubeconfig-folder)"),
        ("FOLDER/beside", "file FOLDER/beside: its symbolic links lead out of FOLDER (--kubeconfig-folder)"),
        ("FOLDER/up/token", "file FOLDER/up/token: its symbolic links lead out of FOLDER (--kubeconfig-folder)"),
        ("FOLDER-2/token", "file FOLDER-2/token: it is not below FOLDER (--kubeconfig-folder)"),
        ("FOLDER/../token", "file 'FOLDER/../token': it is no absolute path without `..`"),
        ("/etc/none", "file /etc/none: it is not below FOLDER (--kubeconfig-folder)"),
        ("file", "file 'file': it is no absolute path without `..`"),
        ("FOLDER/a\0b", "file 'FOLDER/a\\x00b': it is no absolute path without `..`"),
    ],
)
async def test_a_file_that_cannot_be_used_is_a_problem(
    api: ObjectApi, tmp_path: Path, location: str, message: str
) -> None:
    folder = tmp_path / "folder"
    for each in (folder / "folder", tmp_path / "folder-2"):
        each.mkdir(parents=True)
    for each in (tmp_path / "token", tmp_path / "folder-2" / "token", folder / "file"):
        each.write_text("s3cret")
    (folder / "empty").touch()
    (folder / "large").write_bytes(b"#" * (2**20 + 1))
    os.mkfifo(folder / "pipe")
    for name, target in (("loop", "loop"), ("outside", "../token"), ("beside", "../folder-2/token"), ("up", "..")):
        (folder / name).symlink_to(target)
    async with watched(api, kubeconfig_folder=str(folder)) as seen:
        seen.want(cluster("w", location.replace("FOLDER", str(folder)), "Path"))
        assert await seen.problem("w", "file") == message.replace("FOLDER", str(folder))


# --- ClusterProfiles -----------------------------------------------------------------------------------------------


def profile(server: str = "https://k:1", **cluster: Any) -> dict[str, Any]:
    return {"status": {"accessProviders": [{"name": "cloud", "cluster": {"server": server, **cluster}}]}}


def plugin_file(folder: Path, name: str = "cloud") -> Path:
    """With a plugin that answers with what it was told."""
    script = folder / "plugin.py"
    script.write_text(
        "import json, os\n"
        "info = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        "told = info['spec']['cluster']\n"
        "token = told['server'] + '/' + told['config']['audience']\n"
        "print(json.dumps({'apiVersion': info['apiVersion'], 'kind': 'ExecCredential', 'status': {'token': token}}))\n"
    )
    spec = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": sys.executable,
        "args": ["-S", str(script)],
        "provideClusterInfo": True,
    }
    path = folder / "plugins.json"
    path.write_text(json.dumps({"providers": [{"name": name, "execConfig": spec}]}))
    return path


async def test_a_cluster_profile_and_the_admins_plugin_lead_to_a_connection(api: ObjectApi, tmp_path: Path) -> None:
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "ours"}}
    api.put(PROFILES, "p", **profile(extensions=[extension]))
    async with watched(api, cluster_profile_plugins=str(plugin_file(tmp_path))) as seen:
        seen.want(cluster("w", profile="p"))
        await until(lambda: isinstance(seen.at("w"), Kubeconfig))
        found = seen.at("w")
        assert isinstance(found, Kubeconfig)
        assert (found.origin, found.allow_exec) == ("ClusterProfile ours/p", True)
        assert seen.changes == ["w"]
        connection = await connection_from_text(found.text, origin=found.origin, allow_exec=found.allow_exec)
        assert await connection.credentials.header() == "Bearer https://k:1/ours"
        api.put(PROFILES, "p", **profile("https://other:1"))
        await until(lambda: isinstance(seen.at("w"), Kubeconfig) and seen.at("w") != found)
        assert seen.changes == ["w", "w"]
    assert {each.query["fieldSelector"] for each in api.server.seen} == {"metadata.name=p"}


async def test_a_change_of_the_admins_file_is_a_change_of_all_that_depend_on_it(api: ObjectApi, tmp_path: Path) -> None:
    path = plugin_file(tmp_path, "other")
    for name in ("p", "q"):
        api.put(PROFILES, name, **profile())
    async with watched(api, cluster_profile_plugins=str(path)) as seen:
        seen.want(cluster("v", profile="p"), cluster("w", profile="q"))
        for name, each in (("v", "p"), ("w", "q")):
            assert await seen.problem(name, "it has") == (
                f"ClusterProfile ours/{each}: status.accessProviders: it has cloud, and the file of plugins has other; "
                "add a plugin for one of its access providers"
            )
        plugin_file(tmp_path)
        await until(lambda: all(isinstance(seen.at(name), Kubeconfig) for name in "vw"))
        path.write_text("providers: [")
        words = f"file {path} (--cluster-profile-plugins): it is no YAML or JSON"
        for name in "vw":
            await seen.problem(name, words)
        path.write_text("providers: {}")
        await seen.problem("w", f"file {path} (--cluster-profile-plugins): it is no list of plugins: ")
        path.unlink()
        await seen.problem("w", f"file {path}: No such file or directory (--cluster-profile-plugins)")


async def test_a_cluster_profile_that_leads_nowhere_is_a_problem(api: ObjectApi) -> None:
    async with watched(api) as seen:
        seen.want(cluster("w", profile="p"))
        await seen.problem("w", "there is no ClusterProfile ours/p")
        api.put(PROFILES, "p", **profile())
        assert await seen.problem("w", "plugins") == (
            "ClusterProfile ours/p: no credential plugins are known for it; name them by --cluster-profile-plugins"
        )
        api.put(PROFILES, "p", status=5)
        await seen.problem("w", "ClusterProfile ours/p: Expected `object`, got `int` - at `$.status`")


async def test_a_manager_without_cluster_profiles_is_a_problem(api: ObjectApi) -> None:
    api.refusals[PROFILES] = refuses(404, "NotFound")
    async with watched(api) as seen:
        seen.want(cluster("w", profile="p"))
        await seen.problem("w", "the cluster has no clusterprofiles.v1alpha1.multicluster.x-k8s.io; is its CustomRes")
