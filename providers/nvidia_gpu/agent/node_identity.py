"""Which node the agent is on: as the API server knows it, which is what the admission policy goes by."""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

import msgspec

from kueue_dqo.runtime.errors import ConfigurationError, NotFound
from kueue_dqo.runtime.resources import SELF_SUBJECT_REVIEWS

NODE_NAME_CLAIM: Final = "authentication.kubernetes.io/node-name"
NODE_UID_CLAIM: Final = "authentication.kubernetes.io/node-uid"
"""What a token that is bound to a pod says of the pod's node (ServiceAccountTokenPodNodeInfo, stable since 1.32)."""


class Identity(NamedTuple):
    """The node, and the report's name."""

    node: str
    uid: str | None
    """None: the report is given no owner."""


class ReviewClient(Protocol):
    """As much of a client as this needs."""

    async def create(self, path: str, body: bytes, /) -> bytes:
        """POST. Raises ApiError."""
        ...


class _User(msgspec.Struct, frozen=True):
    username: str = ""
    extra: dict[str, tuple[str, ...]] | None = None


class _ReviewStatus(msgspec.Struct, frozen=True, rename="camel"):
    user_info: _User = _User()


class _Review(msgspec.Struct, frozen=True):
    status: _ReviewStatus = _ReviewStatus()


async def identify(client: ReviewClient, *, node_name: str | None) -> Identity:
    """The node that the credentials are bound to, or the one that was named, if they are bound to none.

    Raises ApiError, and ConfigurationError where both are there and differ, or neither is there.
    """
    body = msgspec.json.encode({"apiVersion": SELF_SUBJECT_REVIEWS.api_version, "kind": SELF_SUBJECT_REVIEWS.kind})
    try:
        user = _user(await client.create(SELF_SUBJECT_REVIEWS.path(), body))
    except NotFound:  # before Kubernetes 1.28
        user = _User()
    claimed, uid = _claim(user, NODE_NAME_CLAIM), _claim(user, NODE_UID_CLAIM)
    who = f"user {user.username!r}" if user.username else "the user of these credentials"
    if claimed is None:
        if node_name is None:
            raise ConfigurationError(
                f"nobody says which node this is: the token of {who} is bound to no pod on a node ({NODE_NAME_CLAIM} "
                "is missing). In a pod this needs Kubernetes 1.32 or later and the service account's mounted token; "
                "by hand, name the node with --node-name"
            )
        return Identity(node_name, None)
    if node_name is not None and node_name != claimed:
        raise ConfigurationError(
            f"--node-name is {node_name!r}, but the token of {who} is bound to a pod on {claimed!r}: leave --node-name "
            "out, or take it from spec.nodeName of the pod"
        )
    return Identity(claimed, uid)


def _user(answer: bytes) -> _User:
    try:
        return msgspec.json.decode(answer, type=_Review).status.user_info
    except msgspec.DecodeError as error:
        raise ConfigurationError(
            f"the answer to a SelfSubjectReview cannot be read ({error}): is this the address of an API server?"
        ) from error


def _claim(user: _User, name: str) -> str | None:
    values = (user.extra or {}).get(name)
    return values[0] if values and values[0] else None
