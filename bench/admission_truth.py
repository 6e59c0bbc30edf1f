"""`python -m bench.admission_truth --seeds 0-1999`: random clusters in the real Kueue and in the model of admission.

The tests do so with 200 clusters; this is for thousands, and says more. Each that differs is taken to the real Kueue
again, several times side by side: where one of these is as the model, the difference is Kueue's own chance.
"""

from __future__ import annotations

import argparse
import collections
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from tests.admission.comparing import compare, verdicts
from tests.admission.generator import CONFIGURATIONS, KINDS, Cluster, cluster
from tests.admission.real import start
from tests.controlplane.kueue import install_crds
from tests.controlplane.plane import ControlPlane

_AT_ONCE: Final = 150
"""Clusters in one control plane."""


def main() -> int:
    """Returns 1 where the model differs from what the real Kueue always does."""
    parser = argparse.ArgumentParser(prog="python -m bench.admission_truth", description=__doc__)
    parser.add_argument("--seeds", default="0-1999", help="the first and the last, or one (default: %(default)s)")
    parser.add_argument("--kind", choices=KINDS, help="only clusters of this kind")
    parser.add_argument(
        "--folder", type=Path, default=Path("admission-truth"), help="for the steps of those that differ"
    )
    parser.add_argument("--words", action="store_true", help="also show differences in messages and counters")
    arguments = parser.parse_args()
    first, _, last = arguments.seeds.partition("-")
    clusters = [cluster(seed) for seed in range(int(first), int(last or first) + 1)]
    clusters = [each for each in clusters if arguments.kind in {None, each.kind}]
    totals: collections.Counter[str] = collections.Counter()
    wrong = 0
    for configuration, part in _parts(clusters):
        for drawn in part:
            shutil.rmtree(arguments.folder / drawn.name, ignore_errors=True)
        with ControlPlane() as plane:
            install_crds(plane, ours=False)
            start(plane, configuration)
            found = compare(plane, part, arguments.folder)
            differing = verdicts(plane, found, arguments.folder)
        for each in found:
            totals[f"{each.seen.cluster.kind}: clusters"] += 1
            totals[f"{each.seen.cluster.kind}: in other words"] += bool(each.words)
            if arguments.words and each.words:
                _print([each.seen.cluster.name, *each.words])
            if not each.differs:
                shutil.rmtree(each.folder)
        for verdict in differing:
            wrong += not verdict.is_chance
            what = "by chance" if verdict.is_chance else "differ"
            totals[f"{verdict.first.seen.cluster.kind}: {what}"] += 1
            _print([f"{what}: {verdict}"])
            for copy in verdict.copies:
                shutil.rmtree(copy.folder)
        _print([f"{len(part)} clusters until {part[-1].name}: {len(differing)} differ"])
    _print(["in all:", *(f"{name}: {count}" for name, count in sorted(totals.items()) if count)])
    return int(wrong > 0)


def _parts(clusters: Iterable[Cluster]) -> Iterator[tuple[str, list[Cluster]]]:
    """Of one configuration each."""
    every = list(clusters)
    for configuration in CONFIGURATIONS:
        same = [each for each in every if each.configuration == configuration]
        for index in range(0, len(same), _AT_ONCE):
            yield configuration, same[index : index + _AT_ONCE]


def _print(lines: Iterable[str]) -> None:
    print("\n  ".join(lines), flush=True)


if __name__ == "__main__":
    sys.exit(main())
