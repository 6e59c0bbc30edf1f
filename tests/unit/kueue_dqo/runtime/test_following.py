"""What a cache makes of failures."""

from __future__ import annotations

import pytest

from kueue_dqo.runtime.answers import error_of
from kueue_dqo.runtime.errors import ApiError, Unreachable
from kueue_dqo.runtime.following import must_list, problem_of
from kueue_dqo.runtime.resources import CLUSTER_QUEUES, NODES

PATH = "/p"


def answered(code: int, message: str = "m", method: str = "GET") -> ApiError:
    body = b'{"kind":"Status","message":"' + message.encode() + b'"}'
    return error_of(method=method, path=PATH, code=code, body=body)


CUT = Unreachable("reset", method="GET", path=PATH, may_have_landed=True)


@pytest.mark.parametrize(
    ("error", "listed"),
    [
        (CUT, False),
        (answered(410), True),
        (answered(404), True),
        (answered(400), True),
        (answered(401), False),
        (answered(403), False),
        (answered(429), False),
        (answered(500), False),
        (answered(503), False),
        (answered(504, "Timeout: Too large resource version: 9, current: 5"), True),
        (answered(410, method="WATCH"), True),
        (answered(500, method="WATCH"), True),
        (answered(429, method="WATCH"), False),
    ],
)
def test_a_watch_is_resumed_where_that_can_help(error: ApiError, listed: bool) -> None:
    assert must_list(error) is listed


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (
            answered(404),
            "the cluster has no clusterqueues.v1beta2.kueue.x-k8s.io; is its CustomResourceDefinition installed?",
        ),
        (answered(403, "no"), "no permission to list clusterqueues.v1beta2.kueue.x-k8s.io: no"),
        (
            answered(401, "who"),
            "the API server does not accept the credentials to list clusterqueues.v1beta2.kueue.x-k8s.io: who",
        ),
        (CUT, "cannot list clusterqueues.v1beta2.kueue.x-k8s.io: GET /p: reset"),
    ],
)
def test_a_problem_names_the_verb_and_the_resource(error: ApiError, problem: str) -> None:
    assert problem_of("list", CLUSTER_QUEUES, error) == problem


def test_a_built_in_resource_has_no_definition_to_install() -> None:
    assert problem_of("list", NODES, answered(404)) == "the cluster has no nodes"
