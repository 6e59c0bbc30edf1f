"""Which node the agent is on, as its token and the command line say it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kueue_dqo.runtime.errors import ConfigurationError, Forbidden, NotFound
from providers.nvidia_gpu.agent.node_identity import Identity, identify

PATH = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
CLAIMS = {"authentication.kubernetes.io/node-name": ["gpu-1"], "authentication.kubernetes.io/node-uid": ["1-2-3"]}


class Reviews:
    """An API server that says who asks."""

    def __init__(self, extra: dict[str, list[str]] | None, *, error: Exception | None = None) -> None:
        self.extra = extra
        self.error = error

    async def create(self, path: str, body: bytes, /) -> bytes:
        assert path == PATH
        assert json.loads(body) == {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        if self.error:
            raise self.error
        user: dict[str, Any] = {"username": "system:serviceaccount:a:b", "groups": ["c"]}
        return json.dumps({"status": {"userInfo": user | ({"extra": self.extra} if self.extra else {})}}).encode()


@pytest.mark.parametrize("node_name", [None, "gpu-1"])
async def test_a_token_that_is_bound_to_a_pod_says_the_node(node_name: str | None) -> None:
    assert await identify(Reviews(CLAIMS), node_name=node_name) == Identity("gpu-1", "1-2-3")


async def test_a_token_may_say_the_name_alone() -> None:
    """Then the report has no owner."""
    extra = {"authentication.kubernetes.io/node-name": ["gpu-1"]}
    assert await identify(Reviews(extra), node_name=None) == Identity("gpu-1", None)


async def test_another_name_than_the_tokens_is_refused() -> None:
    """The admission policy would refuse every write."""
    with pytest.raises(ConfigurationError) as refused:
        await identify(Reviews(CLAIMS), node_name="gpu-2")
    for part in ("--node-name is 'gpu-2'", "'system:serviceaccount:a:b'", "'gpu-1'", "spec.nodeName"):
        assert part in str(refused.value)


@pytest.mark.parametrize(
    "reviews",
    [Reviews(None), Reviews({"other": ["x"]}), Reviews(None, error=NotFound(method="POST", path=PATH, code=404))],
    ids=["no extra", "other extra", "an old API server"],
)
async def test_without_a_claim_the_name_on_the_command_line_counts(reviews: Reviews) -> None:
    """Nobody owns the report then; without that name, nobody says which node this is."""
    assert await identify(reviews, node_name="gpu-1") == Identity("gpu-1", None)
    with pytest.raises(ConfigurationError, match="name the node with --node-name"):
        await identify(reviews, node_name=None)


async def test_a_refusal_is_passed_on() -> None:
    """It is tried again."""
    error = Forbidden(method="POST", path=PATH, code=403)
    with pytest.raises(Forbidden):
        await identify(Reviews(None, error=error), node_name="gpu-1")
