"""What one report of GPUs shows to be wrong. The definition judges the same table in `tests/integration`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from kueue_dqo.api import gpu, gpu_checks
from kueue_dqo.api.problems import FieldProblem
from kueue_dqo.api.scheme import ObjectInvalid, decode, known_kind, to_manifest
from tests.unit.kueue_dqo.api.parameter_specs import API_VERSION
from tests.unit.kueue_dqo.api.report_specs import BAD, GOOD, KIND, Case

DEFINITION = Path(__file__).parents[4] / "manifests/crds/providers/nodegpureports.yaml"
FORMS = {
    "devices.*.name": gpu_checks.REPORTED,
    ".reason": gpu_checks.REASON,
    ".since": gpu_checks.TIME,
    ".renewTime": gpu_checks.TIME,
    ".uuid": gpu_checks.UUID,
}
LENGTHS = {
    ".bootId": gpu.LONGEST_TEXT,
    ".driverVersion": gpu.LONGEST_TEXT,
    ".product": gpu.LONGEST_TEXT,
    ".message": gpu.LONGEST_PROBLEM,
}


def _decoded(manifest: dict[str, Any]) -> Any:
    known = known_kind(API_VERSION, KIND)
    assert known is not None
    return decode(known, "v1alpha1", manifest).object


def _problems(manifest: dict[str, Any]) -> list[FieldProblem]:
    with pytest.raises(ObjectInvalid) as raised:
        _decoded(manifest)
    return list(raised.value.problems)


@pytest.mark.parametrize("case", GOOD, ids=str)
def test_what_the_rules_allow_is_taken(case: Case) -> None:
    """And read whole, and written as it can be read again."""
    report = _decoded(case.manifest)
    assert _decoded({**case.manifest, "spec": to_manifest(report.spec)}) == report


@pytest.mark.parametrize("case", BAD, ids=str)
def test_what_the_rules_forbid_is_named_with_its_field(case: Case) -> None:
    """That field and no other: the same report without the one change is good."""
    found = _problems(case.manifest)
    assert {each.field for each in found} == {case.named}
    assert any(case.says in each.problem for each in found), found


# --- the definition says the same ----------------------------------------------------------------------------------


def _schema() -> dict[str, Any]:
    schema: dict[str, Any] = yaml.safe_load(DEFINITION.read_text())["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema["properties"]["spec"]  # type: ignore[no-any-return]  # of YAML


def _nodes(schema: dict[str, Any], path: str = "spec") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, schema
    for name, field in schema.get("properties", {}).items():
        yield from _nodes(field, f"{path}.{name}")
    if "items" in schema:
        yield from _nodes(schema["items"], f"{path}.*")


def _structs(kind: msgspec.inspect.Type, path: str = "spec") -> Iterator[tuple[str, msgspec.inspect.Type]]:
    """Every field that the structs read, written as _nodes does, with its type."""
    match kind:
        case msgspec.inspect.UnionType():
            (kind,) = (each for each in kind.types if not isinstance(each, msgspec.inspect.NoneType))
    yield path, kind
    match kind:
        case msgspec.inspect.StructType():
            for field in kind.fields:
                yield from _structs(field.type, f"{path}.{field.encode_name}")
        case msgspec.inspect.VarTupleType():
            yield from _structs(kind.item_type, f"{path}.*")


def test_the_definition_has_exactly_the_fields_that_are_read() -> None:
    """One in the definition alone would be passed over, one in the structs alone pruned; and required are the same."""
    read = dict(_structs(msgspec.inspect.type_info(gpu.NodeGPUReportSpec)))
    defined = dict(_nodes(_schema()))
    assert defined.keys() == read.keys()
    for path, kind in read.items():
        if isinstance(kind, msgspec.inspect.StructType):
            required = {field.encode_name for field in kind.fields if field.required}
            assert set(defined[path].get("required", ())) == required, path


def test_texts_have_the_same_form_and_length_in_both() -> None:
    """Every one of them."""
    for path, schema in _nodes(_schema()):
        if schema.get("type") != "string":
            continue
        form = next((FORMS[end] for end in FORMS if path.endswith(end)), None)
        if form is not None:
            assert (schema["maxLength"], schema["pattern"]) == (form.longest, f"^{form.pattern.pattern}$"), path
        else:
            (longest,) = (LENGTHS[end] for end in LENGTHS if path.endswith(end))
            assert schema["maxLength"] == longest, path


def test_numbers_and_lists_have_the_same_limits_in_both() -> None:
    """Every one of them."""
    for path, schema in _nodes(_schema()):
        if schema["type"] == "integer":
            most = gpu.MAX_DEVICES
            if path.endswith(".heartbeatSeconds"):
                most = gpu.LONGEST_HEARTBEAT
            elif path.endswith(".index"):
                most = gpu.MAX_DEVICES - 1
            assert schema["maximum"] == most, path
            assert schema["minimum"] == (1 if path.endswith(".heartbeatSeconds") else 0), path
    lists = {path: schema["maxItems"] for path, schema in _nodes(_schema()) if schema["type"] == "array"}
    assert lists == {
        "spec.inventory.devices": gpu.MAX_DEVICE_RESOURCES,
        "spec.inventory.unhealthy": gpu.MAX_UNHEALTHY_DEVICES,
    }


def test_each_part_has_one_owner() -> None:
    """So that managedFields holds two entries, however much there is in the parts."""
    parts = _schema()["properties"]
    assert {name: part["x-kubernetes-map-type"] for name, part in parts.items()} == dict.fromkeys(parts, "atomic")


def test_every_reason_of_a_device_has_the_form_of_one() -> None:
    """An agent would be refused otherwise."""
    assert [each for each in gpu.UnhealthyReason if not gpu_checks.REASON.fits(each)] == []
