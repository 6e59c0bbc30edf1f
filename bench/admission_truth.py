"""`python -m bench.admission_truth --seeds 0-1999`: random clusters in the real Kueue and in the model of admission.

The tests do so with 200 clusters; this is for thousands, and says more. Each that differs is taken to the real Kueue
again, several times side by side: where those do not agree with one another, the difference is Kueue's own chance.
"""

from __future__ import annotations

import argparse
import collections
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from tests.admission.comparing import Compared, compare
from tests.admission.generator import CONFIGURATIONS, KINDS, Cluster, cluster
from tests.controlplane.kueue import install_crds
from tests.controlplane.plane import ControlPlane

_AT_ONCE: Final = 150
"""Clusters in one control plane."""
_COPIES: Final = 4


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
    for part in _parts(clusters):
        found = _compared(part, arguments.folder)
        for each in found:
            totals[f"{each.seen.cluster.kind}: clusters"] += 1
            totals[f"{each.seen.cluster.kind}: in other words"] += bool(each.words)
            if arguments.words and each.words:
                _print([each.seen.cluster.name, *each.words])
        differing = [each for each in found if each.differs]
        again = _again(differing, arguments.folder)
        for each in differing:
            copies = again[each.seen.cluster.seed]
            by_chance = not _agree([each, *copies])
            wrong += not by_chance
            totals[f"{each.seen.cluster.kind}: {'by chance' if by_chance else 'differ'}"] += 1
            verdict = "Kueue decides by chance" if by_chance else "the model differs"
            agreeing = sum(not copy.differs for copy in copies)
            title = f"{each.seen.cluster.name}: {verdict}; {agreeing} of {len(copies)} copies are as the model"
            _print([f"{title} ({each.folder})", *each.lines])
        for each in found:
            if not each.differs:
                shutil.rmtree(each.folder)
        _print([f"{len(part)} clusters until {part[-1].name}: {len(differing)} differ"])
    _print(["in all:", *(f"{name}: {count}" for name, count in sorted(totals.items()) if count)])
    return int(wrong > 0)


def _parts(clusters: Iterable[Cluster]) -> Iterator[list[Cluster]]:
    """Of one configuration each."""
    every = list(clusters)
    for configuration in CONFIGURATIONS:
        same = [each for each in every if each.configuration == configuration]
        for index in range(0, len(same), _AT_ONCE):
            yield same[index : index + _AT_ONCE]


def _compared(clusters: list[Cluster], folder: Path) -> list[Compared]:
    for each in clusters:
        shutil.rmtree(folder / each.name, ignore_errors=True)
    with ControlPlane() as plane:
        install_crds(plane, ours=False)
        return compare(plane, clusters, folder)


def _again(differing: list[Compared], folder: Path) -> dict[int, list[Compared]]:
    """The copies of each cluster, by its seed."""
    if not differing:
        return {}
    found: dict[int, list[Compared]] = collections.defaultdict(list)
    seeds = [each.seen.cluster.seed for each in differing]
    for each in _compared([cluster(seed, copy) for seed in seeds for copy in range(1, _COPIES + 1)], folder):
        found[each.seen.cluster.seed].append(each)
        shutil.rmtree(each.folder)
    return found


def _agree(copies: list[Compared]) -> bool:
    """Whether the real Kueue has done the same with all copies, by how they differ from the model."""
    lines = {tuple(line.replace(f"{each.seen.cluster.prefix}-", "") for line in each.lines) for each in copies}
    return len(lines) == 1


def _print(lines: Iterable[str]) -> None:
    print("\n  ".join(lines), flush=True)


if __name__ == "__main__":
    sys.exit(main())
