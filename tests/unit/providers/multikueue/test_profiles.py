"""From a ClusterProfile and the admin's plugins to a kubeconfig."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from providers.multikueue.objects import Unreadable
from providers.multikueue.profiles import ClusterProfile, Unusable, decode_profile, kubeconfig_of, plugins_of

Plain = dict[str, Any]
ARGS = "clusterprofiles.multicluster.x-k8s.io/exec/additional-args"
ENVS = "clusterprofiles.multicluster.x-k8s.io/exec/additional-envs"


def profile_of(**status: Any) -> ClusterProfile:
    profile = decode_profile(json.dumps({"status": status}).encode())
    assert isinstance(profile, ClusterProfile)
    return profile


def way(name: str, **cluster: Any) -> Plain:
    return {"name": name, "cluster": {"server": f"https://{name}", **cluster}}


def plugin(name: str, more: Plain | None = None, **spec: Any) -> Plain:
    config = {"apiVersion": "client.authentication.k8s.io/v1", "command": f"/bin/{name}", **spec}
    return {"name": name, "execConfig": config, **(more or {})}


def built(profile: ClusterProfile, *plugins: Plain) -> Plain:
    result: Plain = json.loads(kubeconfig_of(profile, plugins_of({"providers": list(plugins)})))
    return result


def exec_of(profile: ClusterProfile, *plugins: Plain) -> Plain:
    spec: Plain = built(profile, *plugins)["users"][0]["user"]["exec"]
    return spec


def test_the_cluster_comes_from_the_profile_and_the_program_from_the_admins_file() -> None:
    cluster = {"certificate-authority-data": "YQ==", "tls-server-name": "n", "proxy-url": "http://p", "extensions": []}
    variables = [{"name": "K", "value": "v"}]
    result = built(
        profile_of(accessProviders=[way("a", **cluster)]),
        plugin("a", args=["x"], env=variables, provideClusterInfo=True, installHint="?", interactiveMode="Always"),
    )
    assert result == {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "clusters": [{"name": "a", "cluster": {"server": "https://a", **cluster}}],
        "users": [
            {
                "name": "a",
                "user": {
                    "exec": {
                        "apiVersion": "client.authentication.k8s.io/v1",
                        "command": "/bin/a",
                        "args": ["x"],
                        "env": variables,
                        "interactiveMode": "Never",
                        "provideClusterInfo": True,
                    }
                },
            }
        ],
    }


def test_the_first_plugin_counts_whose_access_provider_the_cluster_has() -> None:
    profile = profile_of(accessProviders=[way("a"), way("b"), way("c")])
    assert built(profile, plugin("x"), plugin("c"), plugin("a"))["current-context"] == "c"


def test_the_older_field_counts_as_well_and_the_newer_one_wins() -> None:
    older = [way("a"), way("b", server="https://older")]
    profile = profile_of(credentialProviders=older, accessProviders=[way("b", server="https://newer")])
    assert built(profile, plugin("a"))["clusters"][0]["cluster"]["server"] == "https://a"
    assert built(profile, plugin("b"))["clusters"][0]["cluster"]["server"] == "https://newer"


@pytest.mark.parametrize("status", [{}, {"accessProviders": None}, {"accessProviders": [way("b"), way("a")]}])
def test_without_a_plugin_for_it_the_problem_lists_both_sides(status: Plain) -> None:
    has = "a, b" if status.get("accessProviders") else "none"
    message = f"status.accessProviders: it has {has}, and the file of plugins has x, y; add a plugin for one of its"
    with pytest.raises(Unusable, match=re.escape(message)):
        built(profile_of(**status), plugin("y"), plugin("x"))


def extended(name: str, content: Any) -> ClusterProfile:
    return profile_of(accessProviders=[way("a", extensions=[{"name": "other"}, {"name": name, "extension": content}])])


@pytest.mark.parametrize(("policy", "args"), [(None, ["x"]), ("Ignore", ["x"]), ("Append", ["x", "y", "z"])])
def test_a_profile_adds_arguments_only_where_the_admin_lets_it(policy: str | None, args: list[str]) -> None:
    more = {"profileSourcedCLIArgsPolicy": policy} if policy else None
    assert exec_of(extended(ARGS, ["y", "z"]), plugin("a", more, args=["x"]))["args"] == args


@pytest.mark.parametrize(
    ("policy", "variables"),
    [
        (None, {"K": "admin"}),
        ("Ignore", {"K": "admin"}),
        ("AppendIfNotExists", {"K": "admin", "L": "profile"}),
        ("Replace", {"K": "profile", "L": "profile"}),
    ],
)
def test_a_profile_adds_variables_only_where_the_admin_lets_it(policy: str | None, variables: Plain) -> None:
    more = {"profileSourcedEnvVarsPolicy": policy} if policy else None
    own = [{"name": "K", "value": "admin"}]
    spec = exec_of(extended(ENVS, {"K": "profile", "L": "profile"}), plugin("a", more, env=own))
    assert {each["name"]: each["value"] for each in spec["env"]} == variables


@pytest.mark.parametrize(
    ("name", "content", "more", "message"),
    [
        (ARGS, "x", {"profileSourcedCLIArgsPolicy": "Append"}, f"access provider 'a', extension {ARGS}: Expected"),
        (ENVS, [], {"profileSourcedEnvVarsPolicy": "Replace"}, f"access provider 'a', extension {ENVS}: Expected"),
        (ARGS, [], {"profileSourcedCLIArgsPolicy": "Add"}, "plugin 'a': profileSourcedCLIArgsPolicy 'Add' is neither"),
        (ENVS, {}, {"profileSourcedEnvVarsPolicy": "Add"}, "plugin 'a': profileSourcedEnvVarsPolicy 'Add' is neither"),
    ],
)
def test_additions_that_cannot_be_used_are_a_problem(name: str, content: Any, more: Plain, message: str) -> None:
    with pytest.raises(Unusable, match=re.escape(message)):
        built(extended(name, content), plugin("a", more))


@pytest.mark.parametrize("content", [None, [], {}, {"providers": {}}, {"providers": [{"name": "a"}]}])
def test_a_file_that_lists_no_plugins_is_a_problem_that_says_where(content: Any) -> None:
    with pytest.raises(Unusable, match="it is no list of plugins: "):
        plugins_of(content)


@pytest.mark.parametrize("raw", [b"[]", b'{"status": {"accessProviders": [{"cluster": {}}]}}', b'{"status": 5}'])
def test_a_profile_of_another_shape_is_unreadable(raw: bytes) -> None:
    profile = decode_profile(raw)
    assert isinstance(profile, Unreadable)
    assert profile.why
