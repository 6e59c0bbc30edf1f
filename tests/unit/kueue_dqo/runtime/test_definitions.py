"""Whose a definition is: told by what kubectl and Helm leave on it."""

from __future__ import annotations

import pytest

from kueue_dqo.runtime.resources import OUR_RELEASE, DefinitionMeta

BY = "app.kubernetes.io/managed-by"
RELEASE = "meta.helm.sh/release-name"


@pytest.mark.parametrize(
    ("labels", "annotations", "is_ours"),
    [
        pytest.param({BY: "kueue-dqo"}, {}, True, id="applied by kubectl"),
        pytest.param({}, {}, False, id="Kueue's, by kubectl"),
        pytest.param({BY: "Helm"}, {RELEASE: "kueue"}, False, id="Kueue's, by Helm"),
        pytest.param({BY: "Helm"}, {RELEASE: "crds", OUR_RELEASE: "crds"}, True, id="our chart"),
        pytest.param({BY: "Helm"}, {RELEASE: "kueue", OUR_RELEASE: "crds"}, False, id="taken over by Kueue's chart"),
        pytest.param({BY: "Helm"}, {OUR_RELEASE: "crds"}, False, id="without a release"),
        pytest.param({}, {RELEASE: "crds", OUR_RELEASE: "crds"}, False, id="the label was taken away"),
    ],
)
def test_who_has_brought_it(labels: dict[str, str], annotations: dict[str, str], is_ours: bool) -> None:
    """Ours only where nothing speaks for another owner."""
    assert DefinitionMeta(labels, annotations).is_ours is is_ours
