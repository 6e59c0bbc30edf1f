"""What agents may write, on a real API server: each the report of its own node, whatever else it tries."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from kueue_dqo.api.gpu import INVENTORY_MANAGER, NODE_GPU_REPORT
from kueue_dqo.runtime.resources import NODE_GPU_REPORTS
from tests.controlplane.admin import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, Admin, Refused
from tests.controlplane.kueue import install_crds
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import eventually
from tests.integration.daemons import MANIFESTS, NAMESPACE, install

ACCOUNT: Final = "kueue-dqo-nvidia-gpu-agent"
AGGREGATOR: Final = "kueue-dqo-nvidia-gpu"
REPORTS: Final = NODE_GPU_REPORTS.path()
INVENTORY: Final = {"renewTime": "2026-11-02T10:00:00Z", "heartbeatSeconds": 300}
APPLY: Final = {"fieldManager": INVENTORY_MANAGER, "force": "true"}
BY_THE_POLICY: Final = "ValidatingAdmissionPolicy 'kueue-dqo-nvidia-gpu-agent'"
METADATA: Final[dict[str, Any]] = {
    "finalizers": ["example.com/for-ever"],
    "labels": {"example.com/team": "ours"},
    "annotations": {"example.com/note": "kept"},
}
LONG: Final = ".".join(("n" * 63, "m" * 63, "m" * 61, "m" * 63))
"""As long as the name of a node may be."""


@pytest.fixture(scope="module")
def installed_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """With everything for GPUs and two nodes. It is not emptied: a policy that is removed and comes back has a gap."""
    with ControlPlane(tmp_path_factory.mktemp("controlplane")) as plane:
        install_crds(plane)
        install(plane, "base/namespace", "base/nvidia-gpu", "base/nvidia-gpu-agent")
        plane.admin.apply(_node("n1"), _node("n2"))
        _wait_in_force(plane)
        yield plane


@pytest.fixture
def plane(installed_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Without reports."""
    yield installed_plane
    installed_plane.admin.request("DELETE", REPORTS)


@pytest.fixture
def agent(plane: ControlPlane) -> Admin:
    """With the token of the agent's pod on n1."""
    return _agent(plane, "n1")


def _node(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


def _owner(plane: ControlPlane, node: str, **other: str) -> dict[str, str]:
    uid = plane.admin.get(f"/api/v1/nodes/{node}")["metadata"]["uid"]
    return {"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid, **other}


def _agent(plane: ControlPlane, node: str, namespace: str = NAMESPACE, account: str = ACCOUNT) -> Admin:
    return plane.as_service_account(namespace, account, pod=plane.add_pod(namespace, account, node))


def _report(name: str, *owners: dict[str, str], gpus: int = 8) -> dict[str, Any]:
    meta = {"name": name, **({"ownerReferences": list(owners)} if owners else {})}
    spec = {"inventory": {**INVENTORY, "gpus": gpus}}
    return {"apiVersion": NODE_GPU_REPORTS.api_version, "kind": NODE_GPU_REPORT, "metadata": meta, "spec": spec}


def _apply(user: Admin, report: dict[str, Any]) -> None:
    """As the agent does, in one request."""
    path = NODE_GPU_REPORTS.path(report["metadata"]["name"])
    user.request("PATCH", path, report, content_type=APPLY_PATCH, query=APPLY)


def _gpus(plane: ControlPlane) -> dict[str, int]:
    return {each["metadata"]["name"]: each["spec"]["inventory"]["gpus"] for each in plane.admin.items(REPORTS)}


def _wait_in_force(plane: ControlPlane, namespace: str = NAMESPACE, account: str = ACCOUNT) -> None:
    """Rights and policies are taken into use a moment after they are there; first the one, then the other shows."""
    unbound = plane.as_service_account(namespace, account)

    def is_in_force() -> bool:
        try:
            unbound.request("POST", REPORTS, _report("probe"), query={"dryRun": "All"})
        except Refused as refused:
            return "the token is not bound to a pod on a node" in refused.message
        return False

    eventually(is_in_force, "the policy is in force")


def _assert_refused(refused: pytest.ExceptionInfo[Refused], *words: str) -> None:
    """By the policy, with its own words."""
    assert (refused.value.code, refused.value.reason) == (HTTPStatus.FORBIDDEN, "Forbidden")
    assert BY_THE_POLICY in refused.value.message
    assert [word for word in words if word not in refused.value.message] == []


def test_an_agent_writes_the_report_of_its_node(plane: ControlPlane, agent: Admin) -> None:
    """The first apply creates it, later ones change it; owned by the Node, or by nobody."""
    _apply(agent, _report("n1", _owner(plane, "n1"), gpus=8))
    _apply(agent, _report("n1", _owner(plane, "n1"), gpus=7))
    assert _gpus(plane) == {"n1": 7}
    _apply(agent, _report("n1", gpus=6))
    assert _gpus(plane) == {"n1": 6}


def test_agents_do_not_get_in_each_others_way(plane: ControlPlane, agent: Admin) -> None:
    """Each its own, two on one node the same."""
    _apply(agent, _report("n1", gpus=8))
    _apply(_agent(plane, "n2"), _report("n2", gpus=4))
    _apply(_agent(plane, "n1"), _report("n1", gpus=7))
    assert _gpus(plane) == {"n1": 7, "n2": 4}


def test_an_agent_creates_no_report_of_another_node(plane: ControlPlane, agent: Admin) -> None:
    """By POST or by apply, of a node that is there or of none."""
    words = ("the agent on node n1 may write the report of that node only, not ",)
    for name in ("n2", "n3"):
        with pytest.raises(Refused) as refused:
            agent.create(_report(name))
        _assert_refused(refused, *words, name)
        with pytest.raises(Refused) as refused:
            _apply(agent, _report(name))
        _assert_refused(refused, *words, name)
    assert _gpus(plane) == {}


@pytest.mark.parametrize(
    ("content_type", "change"),
    [
        (APPLY_PATCH, _report("n2", gpus=0)),
        (MERGE_PATCH, {"spec": {"inventory": {**INVENTORY, "gpus": 0}}}),
        (JSON_PATCH, [{"op": "replace", "path": "/spec/inventory/gpus", "value": 0}]),
    ],
    ids=["apply", "merge", "json"],
)
def test_an_agent_changes_no_report_of_another_node(
    content_type: str, change: Any, plane: ControlPlane, agent: Admin
) -> None:
    """By whatever sort of patch."""
    _apply(_agent(plane, "n2"), _report("n2", gpus=4))
    query = APPLY if content_type == APPLY_PATCH else {}
    with pytest.raises(Refused) as refused:
        agent.request("PATCH", f"{REPORTS}/n2", change, content_type=content_type, query=query)
    _assert_refused(refused, "the agent on node n1 may write the report of that node only, not n2")
    assert _gpus(plane) == {"n2": 4}


def test_a_token_that_is_bound_to_no_pod_writes_nothing(plane: ControlPlane) -> None:
    """Somebody has asked for it, and nobody knows for which node."""
    unbound = plane.as_service_account(NAMESPACE, ACCOUNT)
    with pytest.raises(Refused) as refused:
        _apply(unbound, _report("n1"))
    _assert_refused(refused, "the token is not bound to a pod on a node", "run the agent as the pod of its DaemonSet")
    with pytest.raises(Refused) as refused:
        unbound.create(_report("n1"))
    _assert_refused(refused, "the token is not bound to a pod on a node")
    assert _gpus(plane) == {}


@pytest.mark.parametrize(
    "other",
    [
        {"name": "n2"},
        {"kind": "Pod"},
        {"apiVersion": "v2"},
        {"apiVersion": "example.com/v1"},
        {"uid": "00000000-0000-0000-0000-000000000000"},
    ],
    ids=lambda other: "-".join(other.values()).replace("/", "-"),
)
def test_a_report_is_owned_by_nobody_but_its_node(other: dict[str, str], plane: ControlPlane, agent: Admin) -> None:
    """Not even besides it: with another owner, it would go too early or stay for ever."""
    right, wrong = _owner(plane, "n1"), _owner(plane, "n1", **other)
    words = f"the report of node n1 may be owned by that Node alone, with apiVersion v1 and uid {right['uid']}"
    _apply(agent, _report("n1", right))
    for owners in ((wrong,), (right, {**wrong, "uid": wrong["uid"].replace("-", "0")})):
        with pytest.raises(Refused) as refused:
            _apply(agent, _report("n1", *owners, gpus=0))
        _assert_refused(refused, words)
    assert _gpus(plane) == {"n1": 8}


@pytest.mark.parametrize("field", METADATA)
def test_an_agent_puts_nothing_else_into_the_metadata(field: str, plane: ControlPlane, agent: Admin) -> None:
    """Neither with a new report nor later, by whatever sort of request: a finalizer would keep the report for ever."""
    words = (f"an agent leaves metadata.{field} alone", "node n1")
    more = {"metadata": {"name": "n1", field: METADATA[field]}}
    report = _report("n1") | more
    for create in (agent.create, partial(_apply, agent)):
        with pytest.raises(Refused) as refused:
            create(report)
        _assert_refused(refused, *words)
    assert _gpus(plane) == {}
    _apply(agent, _report("n1", _owner(plane, "n1")))
    json_patch = [{"op": "add", "path": f"/metadata/{field}", "value": METADATA[field]}]
    for content_type, change in ((APPLY_PATCH, report), (MERGE_PATCH, more), (JSON_PATCH, json_patch)):
        query = APPLY if content_type == APPLY_PATCH else {}
        with pytest.raises(Refused) as refused:
            agent.request("PATCH", f"{REPORTS}/n1", change, content_type=content_type, query=query)
        _assert_refused(refused, *words)
    assert plane.admin.get(f"{REPORTS}/n1")["metadata"].keys().isdisjoint(METADATA)


def test_what_others_put_into_the_metadata_is_theirs(plane: ControlPlane, agent: Admin) -> None:
    """It does not stop the agent, which can neither change it nor take it away; also while the report is deleted."""
    _apply(agent, _report("n1", _owner(plane, "n1"), gpus=8))
    own = f"{REPORTS}/n1"
    plane.admin.patch(own, {"metadata": METADATA})
    _apply(agent, _report("n1", _owner(plane, "n1"), gpus=7))
    for field, value in METADATA.items():
        for other in (None, ["example.com/other"] if isinstance(value, list) else dict.fromkeys(value, "other")):
            with pytest.raises(Refused) as refused:
                agent.request("PATCH", own, {"metadata": {field: other}}, content_type=MERGE_PATCH)
            _assert_refused(refused, f"an agent leaves metadata.{field} alone")
    plane.admin.request("DELETE", own)
    _apply(agent, _report("n1", _owner(plane, "n1"), gpus=6))
    assert _gpus(plane) == {"n1": 6}
    found = plane.admin.get(own)["metadata"]
    assert {field: found[field] for field in METADATA} == METADATA
    plane.admin.patch(own, {"metadata": {"finalizers": None}})
    assert _gpus(plane) == {}


def test_metadata_of_any_size_can_be_compared(plane: ControlPlane, agent: Admin) -> None:
    """CEL has a budget, and a refusal for want of it would silence the agent; 256 KiB is all that may be in there."""
    _apply(agent, _report("n1", _owner(plane, "n1"), gpus=8))
    few = {f"example.com/{number}": "x" * 24_000 for number in range(10)}
    many = {f"example.com/{number}": "" for number in range(8_000)}
    for gpus, values in enumerate((few, many)):
        meta = {"annotations": values, "labels": dict.fromkeys(values, "y")}
        plane.admin.patch(f"{REPORTS}/n1", {"metadata": dict.fromkeys(meta)})
        plane.admin.patch(f"{REPORTS}/n1", {"metadata": meta})
        _apply(agent, _report("n1", _owner(plane, "n1"), gpus=gpus))
        assert _gpus(plane) == {"n1": gpus}


def test_an_agent_can_neither_read_nor_delete_nor_replace(plane: ControlPlane, agent: Admin) -> None:
    """Not even its own report, nor a Node: RBAC has that in hand."""
    _apply(agent, _report("n1"))
    own = f"{REPORTS}/n1"
    for method, path in [
        ("GET", own),
        ("GET", REPORTS),
        ("DELETE", own),
        ("DELETE", REPORTS),
        ("GET", "/api/v1/nodes/n1"),
        ("GET", "/api/v1/nodes"),
        ("GET", "/api/v1/pods"),
    ]:
        with pytest.raises(Refused, match="cannot") as refused:
            agent.request(method, path)
        assert refused.value.code == HTTPStatus.FORBIDDEN
    with pytest.raises(Refused, match="cannot update"):
        agent.request("PUT", own, _report("n1", gpus=0))
    assert _gpus(plane) == {"n1": 8}


def test_the_answer_to_an_apply_is_the_whole_report(plane: ControlPlane, agent: Admin) -> None:
    """So the agent learns what it wrote before without a right to read."""
    _apply(agent, _report("n1", _owner(plane, "n1"), gpus=5))
    problem = {"reason": "LibraryNotFound", "message": "no library", "since": "2026-11-02T10:00:00Z"}
    body = {**_report("n1", _owner(plane, "n1")), "spec": {"problem": problem}}
    query = {**APPLY, "fieldManager": "another"}
    answer = yaml.safe_load(agent.request("PATCH", f"{REPORTS}/n1", body, content_type=APPLY_PATCH, query=query))
    assert answer["spec"] == {"inventory": {**INVENTORY, "gpus": 5}, "problem": problem}


def test_others_are_not_held_to_it(plane: ControlPlane, agent: Admin) -> None:
    """Admins write any report, and the aggregator removes any, and writes none."""
    _apply(agent, _report("n1"))
    plane.admin.apply(_report("n1", gpus=3), _report("n3", _owner(plane, "n2"), gpus=1))
    assert _gpus(plane) == {"n1": 3, "n3": 1}
    aggregator = plane.as_service_account(NAMESPACE, AGGREGATOR)
    seen = {each["metadata"]["name"]: each["metadata"] for each in aggregator.items(REPORTS)}
    conditions = {"uid": seen["n3"]["uid"], "resourceVersion": seen["n3"]["resourceVersion"]}
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": conditions}
    aggregator.request("DELETE", f"{REPORTS}/n3", options)
    assert _gpus(plane) == {"n1": 3}
    with pytest.raises(Refused, match="cannot patch"):
        _apply(aggregator, _report("n1"))
    plane.admin.delete(f"{REPORTS}/n1")
    assert _gpus(plane) == {}


def test_a_node_may_have_the_longest_of_names(plane: ControlPlane) -> None:
    """253 characters, of which the refusal of another name leaves none out."""
    assert len(LONG) == 253
    plane.admin.apply(_node(LONG))
    agent = _agent(plane, LONG)
    _apply(agent, _report(LONG, _owner(plane, LONG)))
    assert _gpus(plane) == {LONG: 8}
    other = LONG.replace("n", "o")
    with pytest.raises(Refused) as refused:
        _apply(agent, _report(other))
    _assert_refused(refused, f"the agent on node {LONG} may write the report of that node only, not {other}")
    with pytest.raises(Refused) as refused:
        _apply(agent, _report(LONG, _owner(plane, "n1")))
    _assert_refused(refused, f"the report of node {LONG} may be owned by that Node alone")


def test_a_node_that_came_back_is_another_one(plane: ControlPlane) -> None:
    """Deleted and created again, it has another UID: pods that are bound to the old one do not own for the new one."""
    plane.admin.apply(_node("n9"))
    old, agent = _owner(plane, "n9"), _agent(plane, "n9")
    _apply(agent, _report("n9", old))
    plane.admin.delete("/api/v1/nodes/n9")
    plane.admin.apply(_node("n9"))
    with pytest.raises(Refused) as refused:
        _apply(_agent(plane, "n9"), _report("n9", old))
    _assert_refused(refused, "may be owned by that Node alone")
    _apply(_agent(plane, "n9"), _report("n9", _owner(plane, "n9")))


def test_the_policy_holds_wherever_and_under_whatever_name_the_agents_run(
    fresh_plane: ControlPlane, tmp_path: Path
) -> None:
    """A kustomization that moves and renames them does not switch it off."""
    changes = {"namespace": "elsewhere", "namePrefix": "blue-", "nameSuffix": "-2"}
    kustomization = {**changes, "resources": [os.path.relpath(MANIFESTS / "base/nvidia-gpu-agent", tmp_path)]}
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    fresh_plane.admin.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "elsewhere"}}, _node("n1"))
    install(fresh_plane, tmp_path)
    here = ("elsewhere", f"blue-{ACCOUNT}-2")
    _wait_in_force(fresh_plane, *here)
    agent = _agent(fresh_plane, "n1", *here)
    _apply(agent, _report("n1", _owner(fresh_plane, "n1")))
    with pytest.raises(Refused, match="the agent on node n1 may write the report of that node only, not n2"):
        _apply(agent, _report("n2"))
    assert _gpus(fresh_plane) == {"n1": 8}
