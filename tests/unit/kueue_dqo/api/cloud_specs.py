"""Parameters of cloud quotas that are good and that are not, as `parameter_specs` has those of other kinds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tests.unit.kueue_dqo.api.parameter_specs import (
    ABSENT,
    CLOUD,
    FULL,
    GCP,
    GCP_PROJECT,
    GPU,
    HEADROOM,
    LONG_RESOURCE,
    NO_DURATIONS,
    NO_NAMES,
    NO_QUANTITIES,
    NO_RESOURCES,
    SELECTION,
    SUBDOMAIN,
    Case,
)

QUOTA: Final[dict[str, Any]] = {"instanceType": "p5.48xlarge", "quota": {"code": "L-417A185B"}}
SPOT: Final[dict[str, Any]] = {**QUOTA, "quota": {"code": "L-C4BD4855", "purchaseOption": "Spot"}}
RESERVED: Final[dict[str, Any]] = {
    "instanceType": "p5.48xlarge",
    "capacityReservations": {"ids": ["cr-0123456789abcdef0"]},
}
BLOCK: Final[dict[str, Any]] = {"instanceType": "p5.48xlarge", "capacityBlocks": {"ids": ["cr-0a1b2c3d4e5f67890"]}}
METRIC: Final[dict[str, Any]] = {"machineType": "g2-standard-48", "metric": {"name": "NVIDIA_L4_GPUS"}}
FAMILY: Final[dict[str, Any]] = {"machineType": "a3-highgpu-8g", "gpuFamily": {"name": "NVIDIA_H100"}}
BOOKED: Final[dict[str, Any]] = {"machineType": "a3-highgpu-8g", "reservations": {"names": ["h100"]}}
FOREIGN: Final[dict[str, Any]] = {
    "machineType": "a3-highgpu-8g",
    "reservations": {"names": ["h100"], "project": "ml-platform"},
    "share": "0.5",
}
RESERVATIONS_OF_64: Final = {"names": [f"r{number}" for number in range(64)]}
SHARES: Final = (1, "1", "1.0", "0.5", ".5", "500m", "1n", "0.0000000001", "5e-1", "1000m", "+0.1")
NO_SHARES: Final = (0, "0", "0.0", 2, "1.000000001", "1001m", "50", "1k", "1Ki", "1e1", "1E")


def flavor(name: str, *entries: dict[str, Any], combine: Any = ABSENT) -> dict[str, Any]:
    return {"name": name, "combine": combine, "entries": list(entries)}


def aws(*flavors: dict[str, Any], regions: tuple[str, ...] = ("us-east-1",)) -> dict[str, Any]:
    return {"aws": {"regions": list(regions), "flavors": list(flavors)}}


def gcp(*flavors: dict[str, Any], regions: tuple[str, ...] = ("us-central1",)) -> dict[str, Any]:
    return {"gcp": {"project": "vision-prod", "regions": list(regions), "flavors": list(flavors)}}


def _whole(spec: dict[str, Any], field: str = "", says: str = "") -> Case:
    return Case(CLOUD, "", spec, field, says)


def _aws(path: str, value: Any, says: str = "", field: str = "") -> Case:
    return Case(CLOUD, path, value, field, says)


def _gcp(path: str, value: Any, says: str = "", field: str = "") -> Case:
    return Case(CLOUD, path, value, field, says, GCP)


def _missing(base: str, *paths: str) -> Iterator[Case]:
    for path in paths:
        yield Case(CLOUD, path, ABSENT, says="is required and missing", base=base)


def _bad(case: Any, path: str, values: tuple[Any, ...], says: str) -> Iterator[Case]:
    yield from (case(path, value, says) for value in values)


FLAVORS, MACHINES = "aws.flavors", "gcp.flavors"
ON_DEMAND, RESERVATIONS = f"{FLAVORS}.0.entries.0", f"{FLAVORS}.0.entries.1.capacityReservations"
SPOT_QUOTA, TAGGED, BLOCKS = (f"{FLAVORS}.1.entries.{number}" for number in (0, 1, 2))
BY_FAMILY, SHARED = f"{MACHINES}.0.entries.0", f"{MACHINES}.0.entries.1"
BY_METRIC, ATTACHED, OWN = (f"{MACHINES}.1.entries.{number}" for number in (0, 1, 2))
EFA: Final = "vpc.amazonaws.com/efa"

GOOD: Final = [
    Case(CLOUD, "", {"gcp": GCP_PROJECT}),
    _whole(aws(flavor("a", QUOTA))),
    _whole(gcp(flavor("a", METRIC))),
    _aws("aws.assumeRole", ABSENT),
    _aws("aws.accountId", ABSENT),
    _aws("aws.assumeRole.externalId", ABSENT),
    _aws(
        "aws.assumeRole.arn",
        "arn:aws-us-gov:iam::111122223333:role/aws-service-role/some.service/Name_with+=,.@-all",
    ),
    *(_aws("aws.assumeRole.externalId", each) for each in ("aA", "a/b:c@d=e,f.g+h-i_j", "x" * 1224)),
    *(
        _whole(aws(flavor("a", QUOTA), regions=(each,)))
        for each in ("us-gov-west-1", "ap-southeast-4", "us-isob-east-1", "eusc-de-east-1", "cn-northwest-1")
    ),
    _whole(aws(flavor("a", {**QUOTA, "region": "us-east-1"}))),
    _whole(aws(flavor("a", {**QUOTA, "region": "aa-b-1"}), regions=tuple(f"aa-b-{number}" for number in range(1, 33)))),
    _whole(aws(*(flavor(f"f{number}", {**QUOTA, "share": "10m"}) for number in range(64)))),
    _whole(aws(flavor("a", *[QUOTA] * 16))),
    _whole(aws(flavor(SUBDOMAIN, QUOTA))),
    *(
        _whole(aws(flavor("a", {**QUOTA, "instanceType": each})))
        for each in ("p6-b200.48xlarge", "u7i-12tb.224xlarge", "g5g.metal", "c7i.metal-48xl", "mac2-m2pro.metal")
    ),
    *(_whole(aws(flavor("a", each))) for each in (SPOT, RESERVED, BLOCK)),
    *(_aws(f"{ON_DEMAND}.share", each) for each in SHARES),
    *(_aws(f"{ON_DEMAND}.maxInstances", each) for each in (1, 1_000_000, ABSENT)),
    _aws(f"{ON_DEMAND}.perInstance", {EFA: 1, **{f"example.com/r{number}": "1" for number in range(63)}}),
    _aws(f"{ON_DEMAND}.perInstance", {EFA: 0, LONG_RESOURCE: "1.5Gi"}),
    _aws(f"{ON_DEMAND}.quota", {"code": "L-0123ABCD", "service": "SageMaker-2"}),
    _aws(f"{RESERVATIONS}.ids", [f"cr-{number:08x}" for number in range(64)]),
    _aws(f"{RESERVATIONS}.ids", ["cr-" + "f" * 17]),
    _aws(f"{RESERVATIONS}.tags", {}),
    _aws(f"{TAGGED}.capacityReservations.tags", {f"k{number}": "" for number in range(50)}),
    _aws(f"{TAGGED}.capacityReservations.tags", {"ü" * 128: "ü" * 256, "aws:cloudformation/x y": "a\nb"}),
    *(_aws(f"{BLOCKS}.capacityBlocks.stopAdmittingBefore", each) for each in ("30m", "1800s", "8784h", ABSENT)),
    # What may be added up, and what need not add up.
    _whole(aws(flavor("a", SPOT, RESERVED, BLOCK, combine="Sum"))),
    _whole(aws(flavor("a", QUOTA, BLOCK, combine="Sum"))),
    *(_whole(aws(flavor("a", QUOTA, RESERVED, combine=each))) for each in ("Max", "Min")),
    _whole(
        aws(
            flavor("a", {**QUOTA, "region": "us-east-1"}, {**RESERVED, "region": "us-west-2"}, combine="Sum"),
            regions=("us-east-1", "us-west-2"),
        )
    ),
    _whole(gcp(flavor("a", METRIC, FOREIGN, combine="Sum"))),
    _whole(gcp(flavor("a", {**METRIC, "metric": {"name": "PREEMPTIBLE_NVIDIA_L4_GPUS"}}, BOOKED, combine="Sum"))),
    _whole(
        gcp(
            flavor(
                "a",
                {**FAMILY, "gpuFamily": {"name": "NVIDIA_H100", "quotaId": "PREEMPTIBLE-GPUS"}},
                BOOKED,
                combine="Sum",
            )
        )
    ),
    # Google Cloud
    _gcp("gcp.impersonateServiceAccount", ABSENT),
    *(
        _gcp("gcp.impersonateServiceAccount", each)
        for each in (
            "1234-compute@developer.gserviceaccount.com",
            "sa@p.example.com.iam.gserviceaccount.com",
        )
    ),
    *(_gcp("gcp.project", each) for each in ("abcdef", "example.com:my-project", "a" * 30)),
    *(_whole(gcp(flavor("a", METRIC), regions=(each,))) for each in ("northamerica-northeast2", "europe-west12")),
    *(_gcp(f"{BY_METRIC}.metric.globalMetric", each) for each in ("", "CPUS_ALL_REGIONS", ABSENT)),
    *(_gcp(f"{BY_METRIC}.metric", each) for each in ({"name": "C3_CPUS"}, {"name": "CPUS", "unit": "VCPUs"})),
    _gcp(f"{BY_METRIC}.metric", {"name": "TPU_LITE_PODSLICE_V5", "unit": "Accelerators"}),
    *(_gcp(f"{ATTACHED}.accelerators", each) for each in (1, 64, ABSENT)),
    *(_gcp(f"{BY_FAMILY}.gpuFamily", each) for each in ({"name": "NVIDIA_H200"}, {"name": "NVIDIA_RTX_PRO_6000"})),
    *(_gcp(f"{SHARED}.reservations.zones", each) for each in ([], ABSENT, ["us-central1-f"])),
    _whole(
        gcp(flavor("a", {**BOOKED, "reservations": {"names": ["h100"], "zones": ["us-central1-a"]}})),
    ),
    _gcp(f"{OWN}.reservations.names", [f"r{number}" for number in range(64)]),
    _gcp(f"{OWN}.reservations.project", "vision-prod"),
    _gcp(f"{OWN}.machineType", "n2-custom-4-8192-ext"),
    # What is reported.
    _aws(f"{SELECTION}.include", ["cpu", "memory", GPU, EFA]),
    _whole(aws(flavor("a", QUOTA)) | {"resources": {"include": ["aws.amazon.com/neuron", "habana.ai/gaudi"]}}),
    _whole(gcp(flavor("a", METRIC)) | {"resources": {"include": ["google.com/tpu", "amd.com/gpu"]}}),
    _whole(aws(flavor("a", QUOTA)) | {"resources": {"exclude": ["example.com/whatever"]}}),
]

NO_REGIONS_OF_AWS: Final = ("", "us-east-1a", "us-east", "US-EAST-1", "use1-az1", "us-central1", "us-east-1\n")
NO_REGIONS_OF_GCP: Final = ("", "us-central1-a", "us-central", "US-CENTRAL1", "us-east-1", "us-central1\n")
NO_PROJECTS: Final = ("", "short", "a" * 31, "My-project", "123456789012", "my-project-", "my_project", "My Project")

BAD: Final = [
    # which cloud
    _whole({}, says="has neither of aws and gcp"),
    _whole({**FULL[CLOUD], "gcp": GCP_PROJECT}, says="has both of aws and gcp"),
    *(_whole({**FULL[CLOUD], each: {}}, each, "is no field") for each in ("azure", "regions")),
    *_missing("", "aws.regions", FLAVORS, f"{FLAVORS}.0.name", f"{FLAVORS}.0.entries", f"{ON_DEMAND}.instanceType"),
    *_missing("", f"{ON_DEMAND}.quota.code", "aws.assumeRole.arn"),
    *_missing(GCP, "gcp.project", "gcp.regions", MACHINES, f"{MACHINES}.1.name", f"{MACHINES}.1.entries"),
    *_missing(GCP, f"{BY_METRIC}.machineType", f"{BY_METRIC}.metric.name", f"{BY_FAMILY}.gpuFamily.name"),
    *_missing(GCP, f"{OWN}.reservations.names"),
    # the account
    *(
        _whole(aws(flavor("a", QUOTA), regions=(each,)), "aws.regions.0", "is no region of AWS")
        for each in NO_REGIONS_OF_AWS
    ),
    *(
        _whole(gcp(flavor("a", METRIC), regions=(each,)), "gcp.regions.0", "is no region of Google Cloud")
        for each in NO_REGIONS_OF_GCP
    ),
    _whole(
        aws(flavor("a", {**QUOTA, "region": "us-east-1"}), regions=("us-east-1",) * 2), "aws.regions", "'us-east-1'"
    ),
    _whole(
        aws(flavor("a", {**QUOTA, "region": "aa-b-1"}), regions=tuple(f"aa-b-{number}" for number in range(1, 34))),
        "aws.regions",
        "33 entries",
    ),
    *_bad(
        _aws,
        "aws.assumeRole.arn",
        (
            *("", "kueue-dqo", "arn:aws:iam::1111:role/a", "arn:aws:iam::111122223333:user/a"),
            *("arn:aws:iam::111122223333:role/", "arn:aws:sts::111122223333:assumed-role/a/b"),
            *("arn:aws:iam::111122223333:role/a b", f"arn:aws:iam::111122223333:role/{'a' * 65}"),
        ),
        "is no ARN of a role",
    ),
    *_bad(
        _aws, "aws.accountId", ("", "11112222333", "1111222233334", "11112222333a", "1111-2222-33"), "is no id of an"
    ),
    _aws("aws.accountId", "999988887777", "is not the account of assumeRole.arn"),
    *_bad(_aws, "aws.assumeRole.externalId", ("", "x", "a b", "a\n"), "characters are no external id"),
    _aws("aws.assumeRole.externalId", "x" * 1225, "1225 characters are no external id"),
    *_bad(_gcp, "gcp.project", NO_PROJECTS, "is no id of a project"),
    *_bad(
        _gcp,
        "gcp.impersonateServiceAccount",
        ("", "kueue-dqo", "me@example.com", "sa@gserviceaccount.com", "A@p.iam.gserviceaccount.com"),
        "is no e-mail address of a service account",
    ),
    # flavors and entries
    _whole(aws(), "aws.flavors", "is empty"),
    _whole(aws(*(flavor(f"f{number}", {**QUOTA, "share": "10m"}) for number in range(65))), FLAVORS, "65 entries"),
    _whole(aws(*[flavor("a", {**QUOTA, "share": "10m"})] * 2), FLAVORS, "'a' is listed more than once"),
    *(_whole(aws(flavor(each, QUOTA)), f"{FLAVORS}.0.name") for each in NO_NAMES),
    *(_whole(gcp(flavor(each, METRIC)), f"{MACHINES}.0.name") for each in NO_NAMES),
    _whole(aws(flavor("a")), f"{FLAVORS}.0.entries", "has 0 entries"),
    _whole(aws(flavor("a", *[QUOTA] * 17)), f"{FLAVORS}.0.entries", "has 17 entries"),
    _aws(f"{FLAVORS}.0.combine", "Average", '"Average" is none of Min, Max, Sum'),
    _gcp(f"{MACHINES}.0.combine", "max", '"max" is none of Min, Max, Sum'),
    _aws(f"{ON_DEMAND}.quota", ABSENT, "has nothing to count by; exactly one of quota", ON_DEMAND),
    _aws(f"{ON_DEMAND}.capacityBlocks", {"ids": ["cr-00000001"]}, "has quota and capacityBlocks", ON_DEMAND),
    _gcp(f"{BY_FAMILY}.gpuFamily", ABSENT, "exactly one of metric, gpuFamily, reservations is wanted", BY_FAMILY),
    _gcp(f"{BY_FAMILY}.metric", {"name": "C3_CPUS"}, "has metric and gpuFamily", BY_FAMILY),
    _aws(f"{ON_DEMAND}.machineType", "a3-highgpu-8g", "is no field"),
    _aws(f"{ON_DEMAND}.quota.purchaseOption", "spot", '"spot" is none of OnDemand, Spot'),
    _aws(f"{SPOT_QUOTA}.region", ABSENT, "is missing: name one of the account's regions, us-east-1, us-west-2"),
    _gcp(f"{BY_METRIC}.region", ABSENT, "is missing: name one of the account's regions, us-central1"),
    *_bad(_aws, f"{SPOT_QUOTA}.region", ("", "eu-west-1", "us-west-2a"), "is none of the account's regions"),
    *_bad(_gcp, f"{BY_METRIC}.region", ("", "us-east1", "us-central1-a"), "is none of the account's regions"),
    *_bad(_aws, f"{ON_DEMAND}.share", NO_SHARES, "is no share: write more than 0 and at most 1"),
    *_bad(_gcp, f"{SHARED}.share", NO_SHARES, "is no share: write more than 0 and at most 1"),
    *_bad(_aws, f"{ON_DEMAND}.share", ("-0.5", -1), "is negative"),
    *_bad(_aws, f"{ON_DEMAND}.share", (*NO_QUANTITIES, "50%"), "is no quantity"),
    _aws(f"{ON_DEMAND}.share", 0.5, 'has to be quoted ("0.5")'),
    _aws(f"{ON_DEMAND}.share", f"0.{'1' * 31}", "33 characters"),
    *_bad(_aws, f"{ON_DEMAND}.maxInstances", (0, -1, 1_000_001), "is no number of instances"),
    *_bad(_gcp, f"{BY_FAMILY}.maxInstances", (0, 1_000_001), "is no number of instances"),
    *_bad(_aws, f"{ON_DEMAND}.maxInstances", ("8", 1.5), "integer"),
    *(
        _aws(f"{ON_DEMAND}.perInstance", {EFA: 32, each: 1}, "is no name of a resource", f"{ON_DEMAND}.perInstance")
        for each in NO_RESOURCES
    ),
    _aws(f"{ON_DEMAND}.perInstance", {f"example.com/r{number}": 1 for number in range(65)}, "65 resources"),
    *(
        _aws(f"{ON_DEMAND}.perInstance.cpu", value, says, f"{ON_DEMAND}.perInstance[cpu]")
        for value, says in ((-1, "is negative"), ("-1m", "is negative"), ("much", "is no quantity"), ("1" * 33, "33"))
    ),
    _gcp(f"{BY_FAMILY}.perInstance.cpu", "-1", "is negative", f"{BY_FAMILY}.perInstance[cpu]"),
    # AWS
    *_bad(
        _aws,
        f"{ON_DEMAND}.instanceType",
        ("", "p5", "p5.", ".48xlarge", "P5.48xlarge", "p5 48xlarge", "5p.large", f"p5.{'x' * 62}"),
        "is no instance type of EC2",
    ),
    *_bad(
        _aws,
        f"{ON_DEMAND}.quota.code",
        ("", "417A185B", "L-417a185b", "L-417A185", "L-417A185BC", "l-417A185B", "Running On-Demand P instances"),
        "is no code of a quota",
    ),
    *_bad(_aws, f"{ON_DEMAND}.quota.service", ("", "2ec", "amazon ec2", "a" * 64), "is no service code"),
    _aws(RESERVATIONS, {}, "has neither of ids and tags"),
    _aws(RESERVATIONS, {"ids": [], "tags": {}}, "has neither of ids and tags"),
    _aws(f"{RESERVATIONS}.tags", {"team": "a"}, "has both of ids and tags", RESERVATIONS),
    _aws(f"{BLOCKS}.capacityBlocks.ids", ABSENT, "has neither of ids and tags", f"{BLOCKS}.capacityBlocks"),
    *(
        _aws(f"{RESERVATIONS}.ids.1", each, "is no id of a capacity reservation")
        for each in ("", "cr-", "cr-0123", "CR-0123456789abcdef0", "cr-0123456789abcdefg", "cb-0123456789abcdef0")
    ),
    _aws(f"{RESERVATIONS}.ids", ["cr-00000001"] * 2, "'cr-00000001' is listed more than once"),
    _aws(f"{RESERVATIONS}.ids", [f"cr-{number:08x}" for number in range(65)], "65 entries"),
    _aws(f"{TAGGED}.capacityReservations.tags", {f"k{number}": "" for number in range(51)}, "51 entries"),
    *_bad(_aws, f"{TAGGED}.capacityReservations.tags", ({"": "a"}, {"k" * 129: "a"}), "is no key of a tag"),
    _aws(
        f"{TAGGED}.capacityReservations.tags",
        {"team": "a" * 257},
        "is no value of a tag",
        f"{TAGGED}.capacityReservations.tags[team]",
    ),
    _aws(f"{TAGGED}.capacityReservations.tags", {"team": 7}, "quote it", f"{TAGGED}.capacityReservations.tags[team]"),
    *_bad(_aws, f"{BLOCKS}.capacityBlocks.stopAdmittingBefore", ("0s", "29m", "1799s"), "is too short"),
    *_bad(_aws, f"{BLOCKS}.capacityBlocks.stopAdmittingBefore", (*NO_DURATIONS, 60), "is no duration"),
    _aws(f"{BLOCKS}.capacityBlocks.stopAdmittingBefore", "8784h1s", "is more than a year"),
    _whole(
        aws(flavor("a", QUOTA, BLOCK, RESERVED, combine="Sum")),
        f"{FLAVORS}.0.combine",
        "Sum adds the reservations in us-east-1 to the on-demand quota L-417A185B of the same region",
    ),
    _whole(
        aws(flavor("a", {**QUOTA, "share": "0.5"}, {**RESERVED, "region": "us-east-1", "share": "0.1"}, combine="Sum")),
        f"{FLAVORS}.0.combine",
        "combine by Max",
    ),
    # Google Cloud
    *_bad(_gcp, f"{BY_METRIC}.machineType", ("", "A3", "a3_highgpu", "a3-", "zones/x", "a" * 64), "is no machine type"),
    *_bad(_gcp, f"{ATTACHED}.accelerators", (0, -1, 65), "is no number of attached GPUs"),
    _gcp(f"{ATTACHED}.accelerators", "4", "integer"),
    *_bad(_gcp, f"{ATTACHED}.metric.name", ("", "nvidia_t4_gpus", "NVIDIA-T4-GPUS", "1GPUS"), "is no metric"),
    _gcp(f"{ATTACHED}.metric.name", "TPU_LITE", "is missing: the end of 'TPU_LITE'", f"{ATTACHED}.metric.unit"),
    _gcp(f"{ATTACHED}.metric.name", "COMMITTED_NVIDIA_T4_GPUS", "not what may run: name 'NVIDIA_T4_GPUS'"),
    _gcp(f"{BY_METRIC}.metric.unit", "VCPUs", "is not what 'PREEMPTIBLE_NVIDIA_A100_GPUS' counts: write Accelerators"),
    _gcp(f"{BY_METRIC}.metric", {"name": "C3_CPUS", "unit": "Accelerators"}, "write VCPUs", f"{BY_METRIC}.metric.unit"),
    _gcp(f"{BY_METRIC}.metric.unit", "GPUs", "is none of Accelerators, VCPUs"),
    *_bad(_gcp, f"{BY_METRIC}.metric.globalMetric", ("gpus_all_regions", "GPUS ALL"), "is no metric of a project"),
    *_bad(_gcp, f"{BY_FAMILY}.gpuFamily.name", ("", "nvidia_h100", "NVIDIA H100", "A" * 65), "is no GPU family"),
    *_bad(_gcp, f"{BY_FAMILY}.gpuFamily.quotaId", ("", "-GPUS", "GPUS PER FAMILY", "A" * 129), "is no id of a quota"),
    *_bad(_gcp, f"{BY_FAMILY}.gpuFamily.service", ("", "Compute", "compute_googleapis"), "is no service of Cloud"),
    _gcp(f"{OWN}.reservations.names", [], "is empty"),
    _gcp(f"{OWN}.reservations.names", ["a", "a"], "'a' is listed more than once"),
    _gcp(f"{OWN}.reservations.names", [f"r{number}" for number in range(65)], "65 entries"),
    *_bad(
        _gcp, f"{OWN}.reservations.names.0", ("", "A100", "a100-", "projects/p/zones/z/reservations/a"), "is no name of"
    ),
    *_bad(_gcp, f"{SHARED}.reservations.zones.0", ("", "us-central1", "a", "us-central1-A"), "is no zone of Google"),
    *_bad(_gcp, f"{SHARED}.reservations.zones.0", ("europe-west4-a", "us-central10-a"), "is no zone of the entry's"),
    _whole(
        gcp(flavor("a", {**BOOKED, "reservations": {"names": ["h100"], "zones": ["us-central10-a"]}})),
        f"{MACHINES}.0.entries.0.reservations.zones.0",
        "is no zone of the entry's region, us-central1",
    ),
    _gcp(f"{SHARED}.reservations.zones.1", "us-central1-a", "is listed more", f"{SHARED}.reservations.zones"),
    _gcp(f"{SHARED}.reservations.zones", [f"us-central1-{chr(97 + number)}" for number in range(17)], "17 entries"),
    *_bad(_gcp, f"{SHARED}.reservations.project", NO_PROJECTS, "is no id of a project"),
    _gcp(f"{SHARED}.share", ABSENT, "is missing: project 'ml-platform' owns the reservations"),
    *(
        _whole(gcp(flavor("a", *entries, combine="Sum")), f"{MACHINES}.0.combine", "combine by Max")
        for entries in (
            (METRIC, BOOKED),
            (BOOKED, {**FAMILY, "region": "us-central1"}),
            (FAMILY, {**FOREIGN, "reservations": {"names": ["h100"], "project": "vision-prod"}}),
        )
    ),
    # what is reported
    _aws(f"{HEADROOM}.2.flavor", "t4", "'t4' is none of the flavors of spec.aws: h100, a100"),
    _gcp(f"{HEADROOM}.2.flavor", "t4", "'t4' is none of the flavors of spec.gcp: h100, a100"),
    _aws(f"{SELECTION}.include.1", "pods", "is in no catalogue of instance types: write into perInstance"),
    _gcp(f"{SELECTION}.include.1", EFA, "is in no catalogue of instance types"),
    *(
        _whole(
            spec | {HEADROOM: [{"flavor": "a", "resource": "pods", "percent": 1}]},
            f"{HEADROOM}.0.resource",
            "is in no catalogue of instance types",
        )
        for spec in (aws(flavor("a", QUOTA)), gcp(flavor("a", METRIC)))
    ),
    _whole(
        aws(
            *(
                flavor(f"f{n}", {**QUOTA, "share": "10m", "perInstance": {f"x/r{r}": 1 for r in range(64)}})
                for n in range(5)
            )
        )
        | {HEADROOM: [{"flavor": f"f{n % 5}", "resource": f"x/r{n // 5}", "percent": 1} for n in range(257)]},
        HEADROOM,
        "257 entries",
    ),
]

BEYOND_DEFINITIONS: Final = [
    _whole(
        aws(flavor("a", QUOTA), flavor("b", {**QUOTA, "share": "0.25"})),
        FLAVORS,
        "quota L-417A185B in us-east-1 would count 1.25 times (shares: a 1, b 0.25)",
    ),
    _whole(
        aws(*[flavor(name, {**QUOTA, "quota": {"code": "L-1194D53C", "service": "eks"}}) for name in "ab"]),
        FLAVORS,
        "quota eks/L-1194D53C in us-east-1 would count 2 times",
    ),
    _whole(aws(flavor("a", QUOTA, QUOTA, combine="Sum")), FLAVORS, "would count 2 times (shares: a 2)"),
    _whole(
        aws(flavor("a", RESERVED), flavor("b", {**RESERVED, "share": "1n"})),
        FLAVORS,
        "capacity reservation cr-0123456789abcdef0 would count 1.000000001 times",
    ),
    _whole(aws(flavor("a", BLOCK), flavor("b", BLOCK)), FLAVORS, "capacity block cr-0a1b2c3d4e5f67890 would count 2"),
    _whole(
        gcp(*(flavor(name, {**METRIC, "share": "0.4"}) for name in "abc")),
        MACHINES,
        "metric NVIDIA_L4_GPUS in us-central1 of project vision-prod would count 1.2 times",
    ),
    _whole(
        gcp(flavor("a", FAMILY), flavor("b", FAMILY)),
        MACHINES,
        "GPU family NVIDIA_H100 of GPUS-PER-GPU-FAMILY-per-project-region in us-central1",
    ),
    _whole(
        gcp(
            flavor("a", BOOKED),
            flavor("b", {**BOOKED, "reservations": {"names": ["h100"], "zones": ["us-central1-a"]}}),
        ),
        MACHINES,
        "reservation h100 in us-central1-a of project vision-prod would count 2 times",
    ),
    _whole(
        gcp(*(flavor(f"f{number}", {**BOOKED, "reservations": RESERVATIONS_OF_64}) for number in range(17))),
        MACHINES,
        "have 1088 reservations, names times zones: at most 1024",
    ),
]
"""Shares of one thing that come to more than there is. Definitions cannot say so: it would cost them too much."""
ADDING_UP: Final = [
    _whole(aws(*(flavor(name, {**QUOTA, "share": "0.25"}) for name in "abcd"))),
    # The largest of a flavor's entries counts, unless it adds them up.
    _whole(
        aws(flavor("a", {**QUOTA, "share": "0.5"}, {**QUOTA, "share": "0.25"}), flavor("b", {**QUOTA, "share": "0.5"}))
    ),
    _whole(aws(flavor("a", *[{**QUOTA, "share": "0.5"}] * 2, combine="Sum"))),
    _whole(
        aws(
            flavor("a", {**QUOTA, "region": "us-east-1"}),
            flavor("b", {**QUOTA, "region": "us-west-2"}),
            regions=("us-east-1", "us-west-2"),
        )
    ),
    _whole(aws(flavor("a", QUOTA), flavor("b", SPOT), flavor("c", BLOCK), flavor("d", RESERVED))),
    _whole(
        gcp(
            *(
                flavor(zone, {**BOOKED, "reservations": {"names": ["h100"], "zones": [f"us-central1-{zone}"]}})
                for zone in "ab"
            )
        )
    ),
    _whole(gcp(flavor("a", BOOKED), flavor("b", FOREIGN))),
]
"""Shares that look like more than there is and are not."""
