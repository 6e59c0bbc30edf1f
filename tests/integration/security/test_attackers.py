"""What docs/security.md says that an attacker could not do, tried on a real API server.

Each attempt is a dry run, so that one that should be refused and is not leaves nothing behind. A body is complete and
right: what refuses it is who asks, never the form.
"""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, NamedTuple

import pytest

from tests.controlplane.admin import Admin, Refused
from tests.controlplane.cleanup import remove_objects
from tests.controlplane.plane import ControlPlane
from tests.integration.daemons import NAMESPACE, install
from tests.integration.objects import provider as capacity_provider

KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
DQO = "/apis/kueue.x-k8s.io/v1alpha1"
OURS = "/apis/kueue-dqo.dev/v1alpha1"
CORE = "/api/v1"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
TENANT = "tenant"
NOBODY_S = f"{CORE}/namespaces/{NAMESPACE}"
PLURALS = {
    "capacityproviders": DQO,
    "dynamicquotaorchestrators": DQO,
    "clusterqueues": KUEUE,
    "cohorts": KUEUE,
    "resourceflavors": KUEUE,
    "nodeinventoryparameters": OURS,
    "nvidiagpuparameters": OURS,
    "cloudquotaparameters": OURS,
    "multikueueparameters": OURS,
    "compositeparameters": OURS,
    "manualcapacities": OURS,
    "nodegpureports": OURS,
}
SUBRESOURCES = {"capacityproviders", "dynamicquotaorchestrators", "clusterqueues", "cohorts"}


class Attempt(NamedTuple):
    """One request."""

    method: str
    path: str
    body: dict[str, Any] | None = None

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def _patch(path: str) -> Attempt:
    return Attempt("PATCH", path, {"metadata": {"annotations": {"attacked": "yes"}}})


def _all_writes_to(*plurals: str) -> Iterator[Attempt]:
    """Create, change, delete, and change of the status, of such kinds without a namespace."""
    for plural in plurals:
        collection = f"{PLURALS[plural]}/{plural}"
        yield Attempt("POST", collection, {"metadata": {"name": "attacked"}})
        yield _patch(f"{collection}/attacked")
        yield Attempt("DELETE", f"{collection}/attacked")
        if plural in SUBRESOURCES:
            yield _patch(f"{collection}/attacked/status")


IN_OUR_NAMESPACE = (
    Attempt("GET", f"{NOBODY_S}/secrets"),
    Attempt("GET", f"{NOBODY_S}/secrets/worker"),
    Attempt("POST", f"{NOBODY_S}/pods", {"metadata": {"name": "attacked"}}),
    Attempt("POST", f"{NOBODY_S}/pods/kueue-dqo-orchestrator-0/exec"),
    Attempt("GET", f"{NOBODY_S}/pods/kueue-dqo-orchestrator-0/log"),
    Attempt("POST", f"{NOBODY_S}/serviceaccounts/kueue-dqo-orchestrator/token", {"spec": {}}),
    Attempt("PATCH", f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/kueue-dqo-orchestrator", {"spec": {}}),
)
LEASES_OF_OURS = (
    Attempt("POST", LEASES, {"metadata": {"name": "attacked"}}),
    _patch(f"{LEASES}/kueue-dqo-orchestrator"),
    Attempt("DELETE", f"{LEASES}/kueue-dqo-orchestrator"),
)
EVENTS = (Attempt("POST", f"{CORE}/namespaces/default/events", {"metadata": {"name": "attacked"}}),)
RIGHTS = (
    _patch(f"{RBAC}/clusterroles/kueue-dqo-orchestrator"),
    Attempt("POST", f"{RBAC}/clusterrolebindings", {"metadata": {"name": "attacked"}}),
    Attempt("DELETE", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/kueue-dqo-nvidia-gpu-agent"),
)
NODES = (_patch(f"{CORE}/nodes/n1"), _patch(f"{CORE}/nodes/n1/status"))
PODS = (Attempt("GET", f"{CORE}/pods"),)
QUOTAS = tuple(_all_writes_to("clusterqueues", "cohorts"))
ALL_KINDS = tuple(_all_writes_to(*PLURALS))
NAME = {"clusterqueues", "cohorts"}

REFUSED = (HTTPStatus.FORBIDDEN,)


@pytest.fixture(scope="module")
def attacked(shared_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Everything is installed, on the road `spec`, and a tenant may do everything in a namespace of theirs."""
    install(
        shared_plane,
        *("overlays/spec", "base/node-inventory", "base/manual", "base/composite", "base/cloud-quota"),
        *("base/multikueue", "base/nvidia-gpu", "base/nvidia-gpu-agent", "worker/multikueue-reader"),
    )
    admin = shared_plane.admin
    admin.apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TENANT}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "tenant", "namespace": TENANT}},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": {"name": "everything", "namespace": TENANT},
            "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "everything", "namespace": TENANT},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "everything"},
            "subjects": [{"kind": "ServiceAccount", "name": "tenant", "namespace": TENANT}],
        },
    )
    yield shared_plane
    remove_objects(shared_plane)


def _code(client: Admin, attempt: Attempt) -> int:
    """The status of the answer, as a dry run."""
    separator = "&" if "?" in attempt.path else "?"
    writes = attempt.method != "GET"
    path = f"{attempt.path}{separator}dryRun=All" if writes else attempt.path
    content = {"PATCH": "application/merge-patch+json"}.get(attempt.method, "application/json")
    try:
        client.request(attempt.method, path, attempt.body, content_type=content)
    except Refused as refused:
        return refused.code
    return HTTPStatus.OK


def _allowed(client: Admin, *attempts: Attempt) -> list[str]:
    """Those that were not refused for who asks."""
    return [f"{attempt}: {code}" for attempt in attempts if (code := _code(client, attempt)) not in REFUSED]


def test_a_tenant_changes_nothing_outside_their_namespace(attacked: ControlPlane) -> None:
    """No quota, no capacity, no parameters, no report, no Lease, no Event about them, no right."""
    tenant = attacked.as_service_account(TENANT, "tenant")
    assert _allowed(tenant, *ALL_KINDS, *IN_OUR_NAMESPACE, *LEASES_OF_OURS, *EVENTS, *RIGHTS, *NODES, *PODS) == []


def test_a_tenant_may_do_what_is_theirs(attacked: ControlPlane) -> None:
    """So that the test above tests something: the same requests in their own namespace are not refused."""
    tenant = attacked.as_service_account(TENANT, "tenant")
    own = [
        Attempt("GET", f"{CORE}/namespaces/{TENANT}/secrets"),
        Attempt(
            "POST",
            f"{CORE}/namespaces/{TENANT}/configmaps",
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}},
        ),
    ]
    assert len(_allowed(tenant, *own)) == len(own)


@pytest.mark.parametrize("road", ["status", "auto"])
def test_no_road_gives_a_tenant_more(attacked: ControlPlane, road: str) -> None:
    """The overlays differ in what the orchestrator may do; what others may stays."""
    install(attacked, f"overlays/{road}")
    try:
        tenant = attacked.as_service_account(TENANT, "tenant")
        assert _allowed(tenant, *ALL_KINDS, *IN_OUR_NAMESPACE, *LEASES_OF_OURS, *RIGHTS) == []
    finally:
        install(attacked, "overlays/spec")


@pytest.mark.parametrize(
    ("user", "group"),
    [
        ("system:admin", "system:masters"),
        (f"system:serviceaccount:{NAMESPACE}:kueue-dqo-orchestrator", f"system:serviceaccounts:{NAMESPACE}"),
        ("system:node:n1", "system:nodes"),
    ],
)
def test_a_tenant_speaks_for_nobody_else(attacked: ControlPlane, user: str, group: str) -> None:
    """Not for an admin, an account of ours or a node. The administrator may, and is answered."""
    token = attacked.token_of(TENANT, "tenant")
    client = Admin(attacked.url, attacked.ca, token, user=user, group=group)
    try:
        assert _allowed(client, Attempt("GET", f"{KUEUE}/clusterqueues"), *QUOTAS) == []
    finally:
        client.close()
    assert _code(attacked.as_node("n1"), Attempt("GET", f"{CORE}/nodes/n1")) != HTTPStatus.FORBIDDEN


def test_a_node_reaches_nothing_of_ours(attacked: ControlPlane) -> None:
    """By its kubelet's credentials, whatever they are good for elsewhere: Secrets only of pods that it runs."""
    node = attacked.as_node("n1")
    others = (*LEASES_OF_OURS, *RIGHTS)
    secrets = (Attempt("GET", f"{NOBODY_S}/secrets"), Attempt("GET", f"{NOBODY_S}/secrets/worker"))
    assert _allowed(node, *ALL_KINDS, *others, *secrets) == []


@pytest.mark.parametrize("name", ["node-inventory", "manual", "composite", "cloud-quota", "multikueue", "nvidia-gpu"])
def test_a_provider_that_is_taken_over_writes_no_quota(attacked: ControlPlane, name: str) -> None:
    """Nor parameters, nor its own provider's spec, nor another's Secrets, pods, rights or nodes."""
    provider = attacked.as_service_account(NAMESPACE, f"kueue-dqo-{name}")
    kinds = tuple(_all_writes_to(*(set(PLURALS) - {"capacityproviders", "nodegpureports"})))
    spec = (
        Attempt("POST", f"{DQO}/capacityproviders", {"metadata": {"name": "attacked"}}),
        _patch(f"{DQO}/capacityproviders/attacked"),
        Attempt("DELETE", f"{DQO}/capacityproviders/attacked"),
    )
    secrets = () if name == "multikueue" else IN_OUR_NAMESPACE[:2]
    assert _allowed(provider, *kinds, *spec, *secrets, *IN_OUR_NAMESPACE[2:], *RIGHTS, *NODES, *PODS) == []
    assert _allowed(provider, Attempt("GET", f"{CORE}/secrets"), Attempt("DELETE", f"{LEASES}/any")) == []


@pytest.mark.parametrize("name", ["node-inventory", "manual", "composite", "cloud-quota", "multikueue", "nvidia-gpu"])
def test_a_provider_that_is_taken_over_speaks_for_all_providers(attacked: ControlPlane, name: str) -> None:
    """It publishes what it likes for any of them, and takes over Leases: Kubernetes has no right to some names only."""
    of_the_orchestrator = {"name": "kueue-dqo-orchestrator", "namespace": NAMESPACE}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": of_the_orchestrator}
    attacked.admin.apply(lease, capacity_provider("of-another", "default"))
    capacity = {"status": {"capacity": {"flavors": [{"name": "default", "resources": {"cpu": "1000"}}]}}}
    provider = attacked.as_service_account(NAMESPACE, f"kueue-dqo-{name}")
    present = attacked.admin.get(f"{LEASES}/kueue-dqo-orchestrator")
    taken = {**present, "spec": {"holderIdentity": "eve", "leaseDurationSeconds": 3600}}
    for attempt in (
        Attempt("PATCH", f"{DQO}/capacityproviders/of-another/status", capacity),
        Attempt("PUT", f"{LEASES}/kueue-dqo-orchestrator", taken),
    ):
        assert _code(provider, attempt) == HTTPStatus.OK, attempt


def test_the_provider_for_multikueue_reads_all_secrets_of_its_namespace(attacked: ControlPlane) -> None:
    """And of no other. So nothing but kubeconfigs of workers should be kept there."""
    provider = attacked.as_service_account(NAMESPACE, "kueue-dqo-multikueue")
    assert _code(provider, Attempt("GET", f"{NOBODY_S}/secrets")) == HTTPStatus.OK
    elsewhere = Attempt("GET", f"{CORE}/namespaces/{TENANT}/secrets")
    assert _allowed(provider, elsewhere, Attempt("GET", f"{CORE}/secrets")) == []


def test_an_orchestrator_that_is_taken_over_makes_up_no_capacity(attacked: ControlPlane) -> None:
    """It writes specs of queues on its road and nothing else: no status of them, no provider, no parameters."""
    orchestrator = attacked.as_service_account(NAMESPACE, "kueue-dqo-orchestrator")
    kinds = tuple(_all_writes_to(*(set(PLURALS) - {"clusterqueues", "cohorts", "dynamicquotaorchestrators"})))
    queues = [
        attempt
        for plural in sorted(NAME)
        for attempt in (
            Attempt("POST", f"{KUEUE}/{plural}", {"metadata": {"name": "attacked"}}),
            Attempt("DELETE", f"{KUEUE}/{plural}/attacked"),
            _patch(f"{KUEUE}/{plural}/attacked/status"),
        )
    ]
    assert _allowed(orchestrator, *kinds, *queues, *IN_OUR_NAMESPACE, *RIGHTS, *NODES, *PODS) == []
    others = Attempt("PUT", f"{LEASES}/kueue-dqo-manual", {"metadata": {"name": "kueue-dqo-manual"}})
    assert _allowed(orchestrator, others) == []


def test_an_orchestrator_that_is_taken_over_may_change_all_of_a_queue(attacked: ControlPlane) -> None:
    """On the road `spec`, metadata too: there is no right to a single field. So finalizers keep a queue for ever."""
    attacked.admin.apply({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "q"}})
    orchestrator = attacked.as_service_account(NAMESPACE, "kueue-dqo-orchestrator")
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "00000000-0000-0000-0000-000000000000"}
    for changed in (
        {"spec": {"stopPolicy": "HoldAndDrain"}},
        {"metadata": {"finalizers": ["example.com/for-ever"]}},
        {"metadata": {"ownerReferences": [owner]}},
    ):
        assert _code(orchestrator, Attempt("PATCH", f"{KUEUE}/clusterqueues/q", changed)) == HTTPStatus.OK


def test_an_orchestrator_on_the_road_status_writes_the_status_of_queues_alone(attacked: ControlPlane) -> None:
    """So it neither deletes nor stops them."""
    attacked.admin.apply({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "q"}})
    install(attacked, "overlays/status")
    try:
        orchestrator = attacked.as_service_account(NAMESPACE, "kueue-dqo-orchestrator")
        queue = f"{KUEUE}/clusterqueues/q"
        changed = Attempt("PATCH", f"{queue}/status", {"status": {"pendingWorkloads": 1}})
        assert _code(orchestrator, changed) == HTTPStatus.OK
        spec = Attempt("PATCH", queue, {"spec": {"stopPolicy": "HoldAndDrain"}})
        others = [each for each in QUOTAS if not each.path.endswith("/status")]
        assert _allowed(orchestrator, spec, _patch(queue), Attempt("DELETE", queue), *others) == []
    finally:
        install(attacked, "overlays/spec")


def test_an_orchestrator_that_observes_writes_no_quota_at_all(attacked: ControlPlane) -> None:
    """By its rights, whatever its flags say."""
    install(attacked, "overlays/observe")
    try:
        orchestrator = attacked.as_service_account(NAMESPACE, "kueue-dqo-orchestrator")
        assert _allowed(orchestrator, *QUOTAS, *_all_writes_to("dynamicquotaorchestrators")) == []
    finally:
        install(attacked, "overlays/spec")


def test_the_token_of_an_agent_reads_nothing(attacked: ControlPlane) -> None:
    """Not even reports; whose it may write is the policy's affair, in tests/integration/gpu/test_admission.py."""
    agent = attacked.as_service_account(NAMESPACE, "kueue-dqo-nvidia-gpu-agent")
    kinds = tuple(_all_writes_to(*(set(PLURALS) - {"nodegpureports"})))
    reads = tuple(Attempt("GET", f"{group}/{plural}") for plural, group in PLURALS.items())
    gone = Attempt("DELETE", f"{OURS}/nodegpureports/n1")
    everything = (*kinds, *reads, gone, *IN_OUR_NAMESPACE, *LEASES_OF_OURS, *EVENTS, *RIGHTS, *NODES, *PODS)
    assert _allowed(agent, *everything) == []


def test_the_token_on_a_worker_changes_nothing_there(attacked: ControlPlane) -> None:
    """Whoever steals it from the manager reads queues of the worker, and no more."""
    reader = attacked.as_service_account("kueue-dqo-reader", "kueue-dqo-multikueue-reader")
    secrets = Attempt("GET", f"{CORE}/secrets")
    assert _allowed(reader, *ALL_KINDS, *IN_OUR_NAMESPACE, *LEASES_OF_OURS, *RIGHTS, *NODES, *PODS, secrets) == []
