"""Manifests with their right results, through the command as a user calls it: `dqo plan -f - -o json`."""

from __future__ import annotations

import io
import json
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kueue_dqo.api.quantity import Quantity
from kueue_dqo.cli.main import run

CASES = [
    json.loads(line)
    for name in ("dqo.jsonl", "nodes.jsonl")
    for line in (Path(__file__).parent / name).read_text().splitlines()
]
QUOTAS = ("nominalQuota", "borrowingLimit", "lendingLimit")


def test_all_cases_are_here() -> None:
    """A lost file must not look like success."""
    assert len(CASES) == 85
    assert len({case["name"] for case in CASES}) == 85


@pytest.mark.parametrize("order", ["as written", "reversed", "shuffled"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_case(
    case: dict[str, Any], order: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The plan of a case is its right result, in whatever order the objects come."""
    manifests = list(case["manifests"])
    if order == "reversed":
        manifests.reverse()
    elif order == "shuffled":
        random.Random(case["name"]).shuffle(manifests)
    planned = _plan(manifests, monkeypatch, capsys)
    differences = _differences(planned, case["expected"])
    if differences and "also_accepted" in case:
        differences = _differences(planned, case["expected"] | _merged(case["expected"], case["also_accepted"]))
    assert differences == []


def _plan(
    manifests: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> dict[tuple[str, str], Any]:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests})
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    code = run(["plan", "-f", "-", "-o", "json"])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    return {(item["kind"], item["metadata"]["name"]): item for item in json.loads(printed.out)["items"]}


def _merged(expected: dict[str, Any], accepted: dict[str, Any]) -> dict[str, Any]:
    return {kind: expected[kind] | objects for kind, objects in accepted.items()}


def _differences(planned: dict[tuple[str, str], Any], expected: dict[str, Any]) -> list[str]:
    found: list[str] = []
    seen: set[tuple[str, str]] = set()
    for field, kind in (("clusterQueues", "ClusterQueue"), ("cohorts", "Cohort")):
        for name, wanted in expected[field].items():
            seen.add((kind, name))
            item = planned.get((kind, name))
            got = "untouched" if item is None else _quotas(item["status"]["effectiveQuotas"])
            if got != (wanted if wanted == "untouched" else _quotas(wanted)):
                found.append(f"{kind}/{name}: {got}, wanted {wanted}")
    for name, wanted in expected["dynamicQuotaOrchestrators"].items():
        seen.add(("DynamicQuotaOrchestrator", name))
        item = planned.get(("DynamicQuotaOrchestrator", name))
        if wanted == "untouched":
            found += [f"{name} was touched"] if item is not None else []
            continue
        found += _status_differences(name, item, wanted, "effectiveCapacity")
    for name, wanted in expected.get("capacityProviders", {}).items():
        seen.add(("CapacityProvider", name))
        item = planned.get(("CapacityProvider", name))
        found += _status_differences(name, item, wanted, "capacity")
        if item is not None and wanted["capacity"] is not None:
            found += _summary_differences(name, item["status"]["conditions"][0]["message"], wanted)
    return found + [f"{key} was written" for key in planned.keys() - seen]


def _status_differences(name: str, item: Any, wanted: dict[str, Any], field: str) -> list[str]:
    if item is None:
        return [f"{name} is absent"]
    status = item["status"]
    found: list[str] = []
    conditions = {each["type"]: each for each in status.get("conditions", [])}
    if conditions.keys() != {each["type"] for each in wanted["conditions"]}:
        found.append(f"{name}: conditions {sorted(conditions)}, wanted {wanted['conditions']}")
    for each in wanted["conditions"]:
        reasons = each["reason"] if isinstance(each["reason"], list) else [each["reason"]]
        got = conditions.get(each["type"], {})
        if got.get("status") != each["status"] or got.get("reason") not in reasons:
            found.append(f"{name}: {got}, wanted {each}")
    if (field in status) != (wanted[field] is not None):
        found.append(f"{name}: {field} {status.get(field)}, wanted {wanted[field]}")
    elif wanted[field] is not None and _capacity(status[field]) != _capacity(wanted[field]):
        found.append(f"{name}: {field} {status[field]}, wanted {wanted[field]}")
    return found


def _summary_differences(name: str, message: str, wanted: dict[str, Any]) -> list[str]:
    """`counted` and `excluded` are what the summary line says."""
    found = [
        f"{name}: {message!r}, wanted {count} nodes of {flavor}"
        for flavor, count in wanted["counted"].items()
        if f"{flavor}: {count} node" not in message
    ]
    _, _, listed = message.partition("excluded: ")
    excluded = Counter({each.partition("=")[0]: int(each.partition("=")[2]) for each in listed.split(", ") if each})
    renamed = {("Cordoned" if reason == "Unschedulable" else reason): n for reason, n in wanted["excluded"].items()}
    return found + ([f"{name}: excluded {excluded}, wanted {renamed}"] if excluded != renamed else [])


def _quotas(effective: dict[str, Any]) -> Any:
    """Compared by value: `2Gi` is `2147483648`."""
    groups = [
        (
            group["coveredResources"],
            [
                (
                    flavor["name"],
                    [
                        (each["name"], *(Quantity.of(each[key]) if key in each else None for key in QUOTAS))
                        for each in flavor["resources"]
                    ],
                )
                for flavor in group["flavors"]
            ],
        )
        for group in effective["resourceGroups"]
    ]
    return effective["orchestratorRef"], groups


def _capacity(capacity: dict[str, Any]) -> dict[tuple[str, str], Quantity]:
    """An explicit zero too many, or a flavor without resources, is no difference."""
    return {
        (flavor["name"], resource): Quantity.of(value)
        for flavor in capacity["flavors"]
        for resource, value in flavor["resources"].items()
        if Quantity.of(value) != Quantity.of(0)
    }
