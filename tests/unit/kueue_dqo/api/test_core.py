"""Nodes, taints and tolerations, by the rules of Kubernetes."""

from __future__ import annotations

import itertools

import pytest

from kueue_dqo.api.core import BLOCKING_EFFECTS, Node, NodeCondition, NodeMeta, NodeStatus, Taint, Toleration

GPU = Taint("gpu", "NoSchedule", "h100")
BARE = Taint("gpu", "NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "taint", "tolerated"),
    [
        # Equal, and an empty operator, which is Equal: key, value and effect agree
        (Toleration("gpu", "Equal", "h100", "NoSchedule"), GPU, True),
        (Toleration("gpu", "", "h100", "NoSchedule"), GPU, True),
        (Toleration("gpu", "Equal", "a100", "NoSchedule"), GPU, False),
        (Toleration("gpu", "", "a100", "NoSchedule"), GPU, False),
        (Toleration("cpu", "Equal", "h100", "NoSchedule"), GPU, False),
        (Toleration("gpu", "Equal", "h100", "NoExecute"), GPU, False),
        # an empty value is a value
        (Toleration("gpu", "Equal", "", "NoSchedule"), BARE, True),
        (Toleration("gpu", "", "", "NoSchedule"), BARE, True),
        (Toleration("gpu", "Equal", "", "NoSchedule"), GPU, False),
        (Toleration("gpu", "Equal", "h100", "NoSchedule"), BARE, False),
        # Exists: whatever the value
        (Toleration("gpu", "Exists", "", "NoSchedule"), GPU, True),
        (Toleration("gpu", "Exists", "", "NoSchedule"), BARE, True),
        (Toleration("gpu", "Exists", "a100", "NoSchedule"), GPU, True),
        (Toleration("cpu", "Exists", "", "NoSchedule"), GPU, False),
        (Toleration("gpu", "Exists", "", "NoExecute"), GPU, False),
        # an empty effect is every effect
        (Toleration("gpu", "Equal", "h100"), GPU, True),
        (Toleration("gpu", "Exists"), GPU, True),
        (Toleration("gpu", "Exists"), Taint("gpu", "NoExecute"), True),
        (Toleration("gpu", "Exists"), Taint("gpu", "PreferNoSchedule"), True),
        (Toleration("gpu", "Equal", "a100"), GPU, False),
        # an empty key is every key, of whatever value where the operator is Exists
        (Toleration(operator="Exists"), GPU, True),
        (Toleration(operator="Exists"), Taint("other", "NoExecute", "x"), True),
        (Toleration(operator="Exists", effect="NoSchedule"), GPU, True),
        (Toleration(operator="Exists", effect="NoExecute"), GPU, False),
        (Toleration(operator="Equal", value="h100"), GPU, True),
        (Toleration(operator="Equal", value="a100"), GPU, False),
        (Toleration(), BARE, True),
        (Toleration(), GPU, False),
        # an operator that is not known tolerates nothing; names are exact
        (Toleration("gpu", "exists", "", "NoSchedule"), GPU, False),
        (Toleration("gpu", "equal", "h100", "NoSchedule"), GPU, False),
        (Toleration("gpu", "Gt", "h100", "NoSchedule"), GPU, False),
        (Toleration("GPU", "Exists"), GPU, False),
        (Toleration("gp", "Exists"), GPU, False),
        (Toleration("gpu", "Equal", "H100"), GPU, False),
    ],
)
def test_a_toleration_tolerates_by_the_rules_of_kubernetes(
    toleration: Toleration, taint: Taint, tolerated: bool
) -> None:
    """Key, operator, value and effect, with what is empty standing for every one or for Equal."""
    assert toleration.tolerates(taint) is tolerated


def test_every_combination_of_fields_follows_from_the_rule_of_each() -> None:
    """Key, effect and value are judged each for itself."""
    texts = ("", "a", "b")
    operators = ("", "Equal", "Exists", "Lt")
    for key, operator, value, effect in itertools.product(texts, operators, texts, texts):
        toleration = Toleration(key, operator, value, effect)
        for taint_key, taint_effect, taint_value in itertools.product("ab", "ab", texts):
            by_key = key in {"", taint_key}
            by_effect = effect in {"", taint_effect}
            by_value = {"Exists": True, "Lt": False}.get(operator, value == taint_value)
            taint = Taint(taint_key, taint_effect, taint_value)
            assert toleration.tolerates(taint) == (by_key and by_effect and by_value), (toleration, taint)


def test_two_of_the_three_effects_keep_pods_off() -> None:
    """PreferNoSchedule only makes a node less welcome."""
    assert {"NoSchedule", "NoExecute"} == BLOCKING_EFFECTS


@pytest.mark.parametrize(("taint", "text"), [(GPU, "gpu=h100:NoSchedule"), (BARE, "gpu:NoSchedule")])
def test_a_taint_is_shown_as_kubectl_writes_it(taint: Taint, text: str) -> None:
    """So that it can be pasted into a command."""
    assert str(taint) == text


@pytest.mark.parametrize(
    ("conditions", "ready"),
    [
        ((), False),
        ((NodeCondition("Ready", "True"),), True),
        ((NodeCondition("Ready", "False"),), False),
        ((NodeCondition("Ready", "Unknown"),), False),
        ((NodeCondition("Ready", "true"),), False),
        ((NodeCondition("DiskPressure", "True"),), False),
        ((NodeCondition("DiskPressure", "True"), NodeCondition("Ready", "True")), True),
        ((NodeCondition("DiskPressure", "True"), NodeCondition("Ready", "False")), False),
    ],
)
def test_a_node_is_ready_where_its_ready_condition_is_true(conditions: tuple[NodeCondition, ...], ready: bool) -> None:
    """An absent condition, or one that is Unknown, is not True."""
    assert Node(NodeMeta("a"), status=NodeStatus(conditions=conditions)).is_ready is ready
