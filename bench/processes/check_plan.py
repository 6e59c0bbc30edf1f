"""Compares a plan in JSON with the right one, number by number, and says how many there were."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from kueue_dqo.api.quantity import Quantity


def main(printed: Path, right: Path) -> None:
    items = json.loads(printed.read_text(encoding="utf-8"))["items"]
    wanted = json.loads(right.read_text(encoding="utf-8"))
    orchestrators = [item for item in items if item["kind"] == "DynamicQuotaOrchestrator"]
    assert len(orchestrators) == 1
    capacity = _capacity(orchestrators[0])
    missing = {pair: 0 for pair in wanted["capacity"] if pair not in capacity}
    assert wanted["capacity"].items() <= (capacity | missing).items(), "the capacity is another one"
    quotas = {
        f"{item['kind']}/{item['metadata']['name']}": _quotas(item)
        for item in items
        if item["kind"] in {"ClusterQueue", "Cohort"}
    }
    assert quotas == wanted["quotas"], "the quotas are others"
    json.dump({"objects": len(quotas), "quotas": sum(map(len, quotas.values()))}, sys.stdout)


def _capacity(orchestrator: dict[str, Any]) -> dict[str, int]:
    return {
        f"{flavor['name']}/{resource}": Quantity.of(text).nanos
        for flavor in orchestrator["status"]["effectiveCapacity"]["flavors"]
        for resource, text in flavor["resources"].items()
    }


def _quotas(item: dict[str, Any]) -> dict[str, int]:
    return {
        f"{flavor['name']}/{quota['name']}": Quantity.of(quota["nominalQuota"]).nanos
        for group in item["status"]["effectiveQuotas"]["resourceGroups"]
        for flavor in group["flavors"]
        for quota in flavor["resources"]
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
