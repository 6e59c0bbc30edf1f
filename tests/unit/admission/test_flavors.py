"""Which flavors pods may have: taints, and labels that the flavor has."""

from __future__ import annotations

from typing import Any

import pytest

from admission.flavors import mismatch
from tests.unit.admission.odd_jobs import Manifest, container, job
from tests.unit.admission.test_jobs import decoded

ARM = {"nodeLabels": {"arch": "arm64", "cores": "16"}}
SPOT = {"nodeTaints": [{"key": "spot", "value": "yes", "effect": "NoSchedule"}]}
NO_MATCH = "flavor f doesn't match node affinity"
UNTOLERATED = "untolerated taint {spot yes NoSchedule <nil>} in flavor f"


def _flavor(**spec: Any) -> Any:
    manifest = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ResourceFlavor",
        "metadata": {"name": "f"},
        "spec": spec,
    }
    return decoded(manifest)


def _terms(*terms: list[tuple[str, str, list[str]]]) -> Manifest:
    required = [
        {"matchExpressions": [{"key": key, "operator": operator, "values": values} for key, operator, values in term]}
        for term in terms
    ]
    node = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": required}}
    return {"affinity": {"nodeAffinity": node}}


def _tolerating(**toleration: str) -> Manifest:
    return {"tolerations": [toleration]}


CASES = [
    pytest.param({}, {}, "", id="nothing of either"),
    pytest.param(ARM, {}, "", id="no selector"),
    pytest.param(ARM, {"nodeSelector": {"arch": "arm64"}}, "", id="selected"),
    pytest.param(ARM, {"nodeSelector": {"arch": "amd64"}}, NO_MATCH, id="another value"),
    pytest.param(ARM, {"nodeSelector": {"disk": "ssd"}}, "", id="a key that the flavor lacks"),
    pytest.param(ARM, {"nodeSelector": {"arch": "amd64", "disk": "ssd"}}, NO_MATCH, id="one of two keys"),
    pytest.param(ARM, _terms([("arch", "In", ["arm64", "amd64"])]), "", id="in"),
    pytest.param(ARM, _terms([("arch", "In", ["amd64"])]), NO_MATCH, id="not in these"),
    pytest.param(ARM, _terms([("arch", "NotIn", ["arm64"])]), NO_MATCH, id="not to be in"),
    pytest.param(ARM, _terms([("arch", "Exists", [])]), "", id="exists"),
    pytest.param(ARM, _terms([("arch", "DoesNotExist", [])]), NO_MATCH, id="must not exist"),
    pytest.param(ARM, _terms([("disk", "DoesNotExist", [])]), "", id="does not exist"),
    pytest.param(ARM, _terms([("disk", "Exists", [])]), "", id="should exist, and the flavor does not say"),
    pytest.param(ARM, _terms([("cores", "Gt", ["8"])]), "", id="greater"),
    pytest.param(ARM, _terms([("cores", "Lt", ["8"])]), NO_MATCH, id="not less"),
    pytest.param(ARM, _terms([("arch", "Gt", ["8"])]), NO_MATCH, id="no number"),
    pytest.param(ARM, _terms([("arch", "In", ["amd64"])], [("cores", "Gt", ["8"])]), "", id="one of two terms"),
    pytest.param(ARM, _terms([("arch", "In", ["amd64"])], [("disk", "Exists", [])]), "", id="a term of other keys"),
    pytest.param(ARM, _terms([("arch", "In", ["arm64"]), ("cores", "Gt", ["16"])]), NO_MATCH, id="all of a term"),
    pytest.param(ARM, {**_terms([("cores", "Gt", ["8"])]), "nodeSelector": {"arch": "amd64"}}, NO_MATCH,
                 id="both hold"),
    pytest.param(SPOT, {}, UNTOLERATED, id="a taint"),
    pytest.param(SPOT, _tolerating(key="spot", operator="Exists"), "", id="tolerated"),
    pytest.param(SPOT, _tolerating(operator="Exists"), "", id="everything tolerated"),
    pytest.param(SPOT, _tolerating(key="spot", value="yes"), "", id="equal"),
    pytest.param(SPOT, _tolerating(key="spot", value="no"), UNTOLERATED, id="not equal"),
    pytest.param(SPOT, _tolerating(key="spot", operator="Exists", effect="NoExecute"), UNTOLERATED,
                 id="another effect"),
    pytest.param({**SPOT, "tolerations": [{"key": "spot", "operator": "Exists"}]}, {}, "", id="the flavor tolerates"),
    pytest.param({"nodeTaints": [{"key": "a", "effect": "PreferNoSchedule"}]}, {}, "", id="a preference"),
    pytest.param({"nodeTaints": [{"key": "a", "effect": "NoExecute"}]}, {},
                 "untolerated taint {a  NoExecute <nil>} in flavor f", id="no value"),
    pytest.param({"nodeTaints": [{"key": "load", "value": "9", "effect": "NoSchedule"}]},
                 _tolerating(key="load", operator="Lt", value="10"), "", id="less than tolerated"),
    pytest.param({"nodeTaints": [{"key": "load", "value": "9", "effect": "NoSchedule"}]},
                 _tolerating(key="load", operator="Gt", value="10"),
                 "untolerated taint {load 9 NoSchedule <nil>} in flavor f", id="not more than tolerated"),
    pytest.param({**ARM, **SPOT}, {"nodeSelector": {"arch": "amd64"}}, UNTOLERATED, id="taints come first"),
]  # fmt: skip


@pytest.mark.parametrize(("flavor", "pod", "message"), CASES)
def test_a_flavor_fits_as_far_as_it_says(flavor: Manifest, pod: Manifest, message: str) -> None:
    """In Kueue's words where it does not."""
    template = decoded(job("j", container(), pod=pod)).spec.template
    assert mismatch("f", _flavor(**flavor), template.spec) == message


def test_a_flavor_that_is_not_there_fits_nothing() -> None:
    """It is said to be missing."""
    assert mismatch("f", None, decoded(job("j", container())).spec.template.spec) == "flavor f not found"
