"""The dashboard asks for what daemons serve, in queries that Prometheus understands."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.monitoring.rules import DASHBOARD, alerts, promtool, unknown_in

BOARD: dict[str, Any] = json.loads(DASHBOARD.read_text())
PANELS: list[dict[str, Any]] = [panel for panel in BOARD["panels"] if panel["type"] != "row"]
CORE = {"row", "stat", "table", "timeseries"}
"""Panels that every Grafana has."""


def _queries() -> Iterator[tuple[str, str]]:
    for panel in PANELS:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]


def test_queries_ask_for_what_daemons_serve() -> None:
    """Series and labels, those of the variables too."""
    wrong = {title: unknown_in(query) for title, query in _queries()}
    variables = [each["query"]["query"] for each in BOARD["templating"]["list"] if each["type"] == "query"]
    wrong |= {query: unknown_in(query) for query in variables}
    assert {title: names for title, names in wrong.items() if names} == {}
    assert len(variables) == 5


def test_prometheus_understands_the_queries(tmp_path: Path) -> None:
    """As rules that record what they give, with Grafana's variables filled in."""
    plain = [re.sub(r"\$__rate_interval", "5m", re.sub(r"\$(?!__)\w+", ".*", query)) for _, query in _queries()]
    rules = [{"record": f"panel:query:{number}", "expr": query} for number, query in enumerate(plain)]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    done = promtool("check", "rules", tmp_path / "rules.yaml")
    assert done.returncode == 0, done.stderr
    assert len(rules) > 25


def test_every_panel_says_what_it_shows() -> None:
    """With a unit, and the alerts that belong to it by names that there are."""
    for panel in PANELS:
        assert panel["description"], panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        assert set(re.findall(r"KueueDqo\w+", panel["description"])) <= set(alerts()), panel["title"]


def test_it_runs_in_every_grafana() -> None:
    """Core panels only, one place for each, and the data source is the reader's choice."""
    assert {panel["type"] for panel in BOARD["panels"]} <= CORE
    numbers = [panel["id"] for panel in BOARD["panels"]]
    assert len(numbers) == len(set(numbers))
    sources = {json.dumps(each["datasource"]) for panel in PANELS for each in (panel, *panel["targets"])}
    assert sources == {'{"type": "prometheus", "uid": "${datasource}"}'}


def test_panels_do_not_overlap() -> None:
    """On Grafana's grid of 24 columns."""
    taken: set[tuple[int, int]] = set()
    for panel in BOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells
