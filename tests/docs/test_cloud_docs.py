"""What the documentation says of cloud quotas: its policies are those of the calls, its tables those of the code."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import yaml
from botocore.session import Session
from prometheus_client import CollectorRegistry

from kueue_dqo.api import cloud
from kueue_dqo.api.parameter_checks.cloud_aws import LEAST_STOP
from kueue_dqo.api.parameters import Combine, CommonParameters
from kueue_dqo.runtime.clock import SystemClock
from providers.cloud_quota import asking, connection, connections, identity, rest, shapes, wording
from providers.cloud_quota.aws import codes, held, holding
from providers.cloud_quota.cloud import Result
from providers.cloud_quota.gcp import machine
from providers.cloud_quota.metrics import CloudMetrics
from tests.docs.pages import blocks_of, first_cells_of, section_of, without_row

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs/providers/cloud-quota.md"
TROUBLESHOOTING: Final = ROOT / "docs/troubleshooting.md"
CODE: Final = ROOT / "providers/cloud_quota"
CALL: Final = re.compile(r"(ec2|servicequotas|sts):[A-Z]\w+|(compute|cloudquotas)\.[a-zA-Z]+\.(get|list)")
WITHOUT_PERMISSION: Final = {"sts:GetCallerIdentity"}
"""AWS answers it to whoever asks, and says so on the operation's page."""
BY_ROLE: Final = {"sts:AssumeRole"}
EVENTS: Final = [
    shapes.UNKNOWN_ACCELERATOR,
    wording.RESERVATION_ENDED,
    holding.NO_RESERVATIONS,
    codes.QUOTA_MISMATCH,
    machine.MACHINE_TYPE_DEPRECATED,
]
SPECS: Final = {
    "aws": (
        *(cloud.AwsAccount, cloud.AwsRole, cloud.AwsFlavor, cloud.AwsEntry, cloud.AwsQuota),
        *(cloud.AwsCapacityReservations, cloud.AwsCapacityBlocks),
    ),
    "gcp": (
        *(cloud.GcpProject, cloud.GcpFlavor, cloud.GcpEntry, cloud.GcpMetric, cloud.GcpGpuFamily),
        cloud.GcpReservations,
    ),
}


@cache
def _trees() -> dict[Path, ast.Module]:
    places = [*CODE.rglob("*.py"), *(ROOT / "kueue_dqo/api/parameter_checks").glob("cloud*.py")]
    return {path: ast.parse(path.read_text()) for path in sorted(places)}


def _texts() -> Iterator[tuple[Path, str]]:
    """Every text of the code; what is put into it at run time is a NUL."""
    for path, tree in _trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                yield path, "".join(str(part.value) if isinstance(part, ast.Constant) else "\0" for part in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield path, node.value


def _calls(folder: str) -> set[str]:
    """The names of the calls that the code of a cloud makes: they are those of the permissions."""
    return {text for path, text in _texts() if path.parent == CODE / folder and CALL.fullmatch(text)}


# --- rights ----------------------------------------------------------------------------------------------------------


def _actions(policy: dict[str, Any]) -> set[str]:
    found: set[str] = set()
    for statement in policy["Statement"]:
        action = statement["Action"]
        found |= {action} if isinstance(action, str) else set(action)
    return found


def _policy_of_aws() -> dict[str, Any]:
    policy: dict[str, Any] = json.loads(blocks_of("json", section_of(PAGE, "Rights on AWS"))[0])
    return policy


def test_the_policy_of_aws_has_the_calls_that_are_made_and_no_other() -> None:
    """But those that everybody may make, and the one for roles, which has a policy of its own."""
    calls = _calls("aws")
    assert len(calls) > 5
    assert _actions(_policy_of_aws()) == calls - WITHOUT_PERMISSION - BY_ROLE


def test_the_policy_for_roles_has_just_that() -> None:
    """What the daemon's own role needs where parameters name others."""
    *_, daemons = map(json.loads, blocks_of("json", section_of(PAGE, "Several accounts of AWS")))
    assert _actions(daemons) == BY_ROLE <= _calls("aws")


def test_each_action_is_an_operation_of_the_service() -> None:
    """By the service models of the SDK: a misspelt action would be allowed to nobody."""
    models = {"ec2": "ec2", "servicequotas": "service-quotas", "sts": "sts"}
    session = Session()
    for action in _calls("aws"):
        service, _, operation = action.partition(":")
        assert operation in session.get_service_model(models[service]).operation_names


def test_nothing_but_reading_is_allowed() -> None:
    """Neither here nor there."""
    assert all(re.match(r"(ec2:Describe|servicequotas:Get)", each) for each in _actions(_policy_of_aws()))
    assert all(each.endswith((".get", ".list")) for each in _role_of_gcp())


def _role_of_gcp() -> set[str]:
    [role] = (yaml.safe_load(each) for each in blocks_of("yml", section_of(PAGE, "Rights on Google Cloud"))[:1])
    return set(role["includedPermissions"])


def test_the_role_of_google_cloud_has_the_calls_that_are_made_and_no_other() -> None:
    """Permissions are the names of the calls."""
    calls = _calls("gcp")
    assert len(calls) > 4
    assert _role_of_gcp() == calls


def test_every_call_is_told_with_how_often_it_is_made() -> None:
    """In one table for both clouds."""
    section = section_of(PAGE, "What it asks, and how often")
    calls = _calls("aws") | _calls("gcp")
    assert without_row(calls, section) == []
    assert {call[0] for call in re.findall(r"^\| `([^`]+)` \|()", section, re.MULTILINE)} == calls


@pytest.mark.parametrize("name", ["aws", "gcp"])
def test_the_annotation_is_that_of_the_overlay(name: str) -> None:
    """On the ServiceAccount that the installation has, for the role that the examples have."""
    overlay = yaml.safe_load((ROOT / f"manifests/overlays/{name}/account.yaml").read_text())
    [key] = overlay["metadata"]["annotations"]
    patches = [
        yaml.safe_load(each["patch"])
        for block in blocks_of("yml", PAGE.read_text())
        for each in yaml.safe_load(block).get("patches", ())
    ]
    [patch] = [each for each in patches if key in each["metadata"]["annotations"]]
    assert {**patch["metadata"], "annotations": None} == {**overlay["metadata"], "annotations": None}
    assert "kueue-dqo-system:kueue-dqo-cloud-quota" in section_of(PAGE, "IRSA")
    assert overlay["metadata"]["name"] == "kueue-dqo-cloud-quota"


def test_every_block_that_is_no_example_of_objects_can_be_read() -> None:
    """As what it says that it is."""
    text = PAGE.read_text()
    assert len([json.loads(each) for each in blocks_of("json", text)]) == 5
    assert all(yaml.safe_load(each) for each in blocks_of("yml", text))


def test_times_are_those_of_the_code() -> None:
    """The rest after a throttle, the time of a look, how long answers are used."""
    text = " ".join(PAGE.read_text().split())
    assert f"{rest.FIRST:g} seconds at first" in text
    assert rest.LONGEST == 300
    assert "up to five minutes" in text
    assert f"{identity.PATIENCE:g} seconds after the look's end" in text
    assert connections.MOST_LEFT == 3
    assert "At most three connections are left behind" in text
    assert f"not opened again for {connection.HOLDS:g} seconds" in text
    assert f"look has {asking.LONGEST_LOOK:g} seconds" in text
    assert asking.used_for(300) == 60
    assert "a minute old at most" in text


def test_variables_of_private_endpoints_are_told() -> None:
    """Those that the code reads."""
    read = {text for _, text in _texts() if re.fullmatch(r"DQO_GCP_\w+", text)}
    assert len(read) == 3
    assert [each for each in read if f"`{each}`" not in PAGE.read_text()] == []


# --- parameters ------------------------------------------------------------------------------------------------------


def _fields(struct: type[msgspec.Struct]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(struct)}


def _common() -> set[str]:
    return _fields(CommonParameters)


def _names_in(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from _names_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _names_in(inner)


@pytest.mark.parametrize("name", SPECS)
def test_every_field_has_its_row(name: str) -> None:
    """By its own name, wherever it stands."""
    told = set(re.findall(r"[a-zA-Z]+", first_cells_of(section_of(PAGE, "Parameters"))))
    wanted = set().union(*map(_fields, SPECS[name]))
    assert wanted - told - {name, "flavors", "quota"} == set()


@pytest.mark.parametrize("name", SPECS)
def test_the_example_with_comments_has_every_field(name: str) -> None:
    """And decodes."""
    documents = list(yaml.safe_load_all((ROOT / f"examples/parameters/cloud-quota-{name}.yaml").read_text()))
    spec = documents[0]["spec"]
    given = set(_names_in(spec[name]))
    assert set().union(*map(_fields, SPECS[name])) - given == set()
    assert set(spec) == {name} | _common()
    assert msgspec.json.decode(json.dumps(spec), type=dict)


def test_defaults_are_those_of_the_code() -> None:
    """As they are written in a manifest."""
    section = section_of(PAGE, "Parameters")
    blocks, family = cloud.AwsCapacityBlocks(), cloud.GcpGpuFamily("NVIDIA_H100")
    told = {
        "flavors[].combine": cloud.AwsFlavor(name="a", entries=()).combine,
        "quota.service": cloud.AwsQuota("L-00000000").service,
        "quota.purchaseOption": cloud.AwsQuota("L-00000000").purchase_option,
        "capacityBlocks.stopAdmittingBefore": blocks.stop_admitting_before,
        "gpuFamily.quotaId": family.quota_id,
        "gpuFamily.service": family.service,
    }
    assert [name for name, value in told.items() if f"| `{name}` | `{value}` |" not in section] == []
    assert f"{LEAST_STOP} at least" in section
    assert all(f"`{each}`" in section for each in (*Combine, *cloud.PurchaseOption, *cloud.MetricUnit))


def test_resources_are_those_of_the_code() -> None:
    """What accelerators are called."""
    section = section_of(PAGE, "Whole machines")
    assert [each for each in set(shapes.RESOURCE_BY_MAKER.values()) if f"`{each}`" not in section] == []


def test_the_codes_of_aws_are_those_of_the_code() -> None:
    """With their purchase options, in both directions."""
    rows = [line.split("|")[1:4] for line in section_of(PAGE, "Known codes of AWS").splitlines() if "| `L-" in line]
    found = {
        code: option
        for _, *cells in rows
        for option, cell in zip(cloud.PurchaseOption, cells, strict=True)
        for code in re.findall(r"L-[0-9A-F]{8}", cell)
    }
    assert found == {code: known.purchase_option for code, known in codes.KNOWN_CODES.items()}


@pytest.mark.parametrize(
    "name", ["Running On-Demand P instances", "All P5 Spot Instance Requests", "Running Dedicated p5 Hosts"]
)
def test_the_command_for_other_codes_finds_quotas_of_instances(name: str) -> None:
    """Those that were never raised as well, under the names that AWS gives them."""
    [command] = [each for each in blocks_of("sh", section_of(PAGE, "Known codes of AWS")) if "service-quotas" in each]
    assert "list-aws-default-service-quotas" in command
    is_found = any(part in name for part in re.findall(r"contains\(QuotaName, '(\w+)'\)", command))
    assert is_found == ("nstance" in name)


def test_the_states_of_reservations_that_are_over_are_told() -> None:
    """Those that the page lists are none but these."""
    section = section_of(PAGE, "Capacity reservations of AWS")
    [row] = [line for line in section.splitlines() if line.startswith("| at an end")]
    assert set(re.findall(r"`([a-z-]+)`", row)) <= held.OVER


# --- what is told ----------------------------------------------------------------------------------------------------


def test_every_event_is_explained() -> None:
    """On the page, where one looks what to do, and where Events of all providers are listed."""
    used = {
        node.value
        for tree in _trees().values()
        for each in tree.body
        if isinstance(each, ast.AnnAssign | ast.Assign)
        for node in [each.value]
        if isinstance(node, ast.Constant) and re.fullmatch(r"([A-Z][a-z]+){2,}", str(node.value))
    }
    assert set(EVENTS) <= used
    assert without_row(EVENTS, section_of(PAGE, "The message")) == []
    assert without_row(EVENTS, section_of(TROUBLESHOOTING, "Events on a CapacityProvider")) == []
    assert without_row(EVENTS, section_of(ROOT / "docs/providers/common.md", "Events")) == []


def test_every_metric_is_listed() -> None:
    """By the name that Prometheus shows, with its labels and the ends of calls."""
    registry = CollectorRegistry()
    metrics = CloudMetrics(registry, SystemClock())
    section = section_of(ROOT / "docs/reference/metrics.md", "Cloud quota")
    families = [*registry.collect()]
    names = {f"{family.name}_total" if family.type == "counter" else family.name for family in families}
    assert len(names) == 6
    assert without_row(names, section) == []
    assert set(re.findall(r"`(kueue_dqo_\w+)`", first_cells_of(section))) == names
    assert [each for each in Result if f"`{each}`" not in section] == []
    assert metrics is not None


def _messages() -> list[str]:
    """Those in the tables for cloud accounts."""
    section = section_of(TROUBLESHOOTING, "Cloud accounts")
    return [message for cell in first_cells_of(section).splitlines() for message in re.findall(r"`([^`]{20,})`", cell)]


FILLED_IN: Final = re.compile(r"…|\b[A-Z]+\b|\b[a-z]+(?:\.\w+)+|\b[a-z]+:\w+|-?\b\d+(?:\.\d+)?\b")
"""Names of things in capital letters, fields and permissions, numbers."""
OF_THE_SDK: Final = ("Could not connect to the endpoint", "AuthFailure")


@pytest.mark.parametrize("message", _messages())
def test_messages_in_troubleshooting_are_those_of_the_code(message: str) -> None:
    """Piece by piece, between what is filled in."""
    known = "\0".join(text for _, text in _texts())
    pieces = [piece.strip(" :;,.'()") for piece in FILLED_IN.split(message)]
    told = [piece for piece in pieces if len(piece) > 8 and piece not in OF_THE_SDK]
    assert told or any(each in message for each in OF_THE_SDK)
    assert [piece for piece in told if piece not in known] == []
