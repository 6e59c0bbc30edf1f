"""From what a manifest or the API server holds to typed objects.

Decoding is partial: fields that the suite does not use are passed over. What it uses is checked whole, and a problem
names its field, the value found there and what is wanted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from kueue_dqo.api import cloud, core, dqo, gpu, kueue, multikueue, parameters, queueing, workloads
from kueue_dqo.api.durations import Duration
from kueue_dqo.api.meta import KUEUE_GROUP, OUR_GROUP
from kueue_dqo.api.problems import FieldProblem
from kueue_dqo.api.quantity import Quantity, QuantityError
from kueue_dqo.api.quotas import EffectiveQuotas, ResourceGroup
from kueue_dqo.api.validation import problems_of, problems_of_groups, refusals_of

T = TypeVar("T")

V1BETA1: Final = "v1beta1"


class KnownKind(NamedTuple):
    """A kind that the suite reads: its group, the versions understood, and the type it is decoded to."""

    group: str
    kind: str
    versions: tuple[str, ...]
    """The versions that are understood; empty where its metadata alone is read, so that any version will do."""
    type: Any
    """A struct, or a generic one with its parameter."""


KNOWN_KINDS: Final = (
    KnownKind("", core.NODE, ("v1",), core.Node),
    KnownKind("", core.POD, ("v1",), core.Pod),
    KnownKind(KUEUE_GROUP, kueue.RESOURCE_FLAVOR, ("v1beta2", V1BETA1), kueue.ResourceFlavor),
    KnownKind(KUEUE_GROUP, kueue.CLUSTER_QUEUE, ("v1beta2", V1BETA1), kueue.ClusterQueue),
    KnownKind(KUEUE_GROUP, kueue.COHORT, ("v1beta2", V1BETA1), kueue.Cohort),
    KnownKind(KUEUE_GROUP, kueue.ADMISSION_CHECK, ("v1beta2", V1BETA1), kueue.AdmissionCheck),
    KnownKind(KUEUE_GROUP, kueue.MULTI_KUEUE_CONFIG, ("v1beta2", V1BETA1), kueue.MultiKueueConfig),
    KnownKind(KUEUE_GROUP, dqo.CAPACITY_PROVIDER, ("v1alpha1",), dqo.CapacityProvider),
    KnownKind(KUEUE_GROUP, dqo.DYNAMIC_QUOTA_ORCHESTRATOR, ("v1alpha1",), dqo.DynamicQuotaOrchestrator),
    KnownKind(OUR_GROUP, parameters.NODE_INVENTORY_PARAMETERS, ("v1alpha1",), parameters.NodeInventoryParameters),
    KnownKind(OUR_GROUP, cloud.CLOUD_QUOTA_PARAMETERS, ("v1alpha1",), cloud.CloudQuotaParameters),
    KnownKind(OUR_GROUP, parameters.NVIDIA_GPU_PARAMETERS, ("v1alpha1",), parameters.NvidiaGpuParameters),
    KnownKind(OUR_GROUP, multikueue.MULTIKUEUE_PARAMETERS, ("v1alpha1",), multikueue.MultiKueueParameters),
    KnownKind(OUR_GROUP, gpu.NODE_GPU_REPORT, ("v1alpha1",), gpu.NodeGPUReport),
    KnownKind(OUR_GROUP, parameters.MANUAL_CAPACITY, ("v1alpha1",), parameters.ManualCapacity),
    KnownKind(OUR_GROUP, parameters.COMPOSITE_PARAMETERS, ("v1alpha1",), parameters.CompositeParameters),
)
_WHOLE_SPECS: Final[dict[type, type]] = {
    dqo.CapacityProvider: dqo.CapacityProviderSpec,
    dqo.DynamicQuotaOrchestrator: dqo.DynamicQuotaOrchestratorSpec,
}
"""The kinds whose specs are decoded whole, so that a field that is not known is a mistake."""
Kinds = Mapping[tuple[str, str], KnownKind]
"""What is read, by group and kind."""


def kinds_of(known: Iterable[KnownKind]) -> Kinds:
    """The kinds by group and kind; of two of one name the later one."""
    return {(each.group, each.kind): each for each in known}


QUOTA_KINDS: Final = kinds_of(KNOWN_KINDS)
"""What quotas depend on."""


class ObjectInvalid(ValueError):
    """An object cannot be used as it is."""

    def __init__(self, problems: tuple[FieldProblem, ...]) -> None:
        """Takes at least one problem."""
        super().__init__("; ".join(map(str, problems)))
        self.problems = problems


class Decoded(NamedTuple):
    """An object, and what its author should know about the way it is written."""

    object: Any
    notices: tuple[FieldProblem, ...] = ()


def known_kind(api_version: str, kind: str, kinds: Kinds = QUOTA_KINDS) -> KnownKind | None:
    """The kind that the two fields name, None for one that is not read.

    Who needs more than what quotas depend on, says so.

    Raises:
        ObjectInvalid: the kind is read, but not in this version.
    """
    group, _, version = api_version.rpartition("/")
    known = kinds.get((group, kind))
    if known is not None and known.versions and version not in known.versions:
        readable = " or ".join(f"{group}/{each}" if group else each for each in known.versions)
        raise ObjectInvalid((FieldProblem("apiVersion", f"{api_version!r} of {kind} is not read; {readable} is"),))
    return known


def decode_json(known: KnownKind, version: str, raw: bytes | msgspec.Raw) -> Decoded:
    """The object in a piece of JSON. Raises ObjectInvalid."""
    try:
        obj = msgspec.json.decode(raw, type=known.type, dec_hook=_decode_scalar)
    except msgspec.DecodeError:
        # The careful way knows null fields and can say what is wrong where.
        return decode(known, version, plain_json(raw))
    return _checked(obj, version, ())


def plain_json(raw: bytes | msgspec.Raw) -> object:
    """Plain dicts, lists and scalars from JSON. Raises ObjectInvalid for what is no JSON."""
    try:
        return json.loads(bytes(raw))
    except ValueError as error:
        raise ObjectInvalid((FieldProblem("the document", f"is no JSON: {error}"),)) from error


def decode(known: KnownKind, version: str, plain: object) -> Decoded:
    """The object in plain dicts, lists and scalars. Raises ObjectInvalid."""
    plain = _without_nulls(plain)
    obj = _converted(plain, known.type)
    notices: list[FieldProblem] = []
    if known.group == KUEUE_GROUP:
        notices += _float_notices(plain, "")
    if known.type in _WHOLE_SPECS and isinstance(plain, dict):
        notices += _unknown_fields(plain["spec"], msgspec.inspect.type_info(_WHOLE_SPECS[known.type]), "spec")
    return _checked(obj, version, tuple(notices))


def quotas_json(quotas: EffectiveQuotas | tuple[ResourceGroup, ...], *, as_written: bool = False) -> bytes:
    """The quotas as compact JSON: what `to_manifest` gives, without building it first."""
    return msgspec.json.encode(quotas, enc_hook=_scalar_as_written if as_written else _encode_scalar)


def decode_groups(text: str) -> tuple[ResourceGroup, ...]:
    """Resource groups from JSON text, such as an annotation's. Raises ValueError."""
    groups = _decode_text(text, tuple[ResourceGroup, ...])
    return _unless_problems(groups, problems_of_groups("resourceGroups", groups))


def decode_quotas(text: str) -> EffectiveQuotas:
    """Effective quotas from JSON text, such as an annotation's. Raises ValueError."""
    quotas = _decode_text(text, EffectiveQuotas)
    return _unless_problems(quotas, problems_of_groups("resourceGroups", quotas.resource_groups))


def to_manifest(obj: object, *, as_written: bool = False) -> Any:
    """Plain dicts, lists and scalars as a manifest has them: absent fields left out, quantities in canonical form.

    With `as_written`, quantities that came out of a manifest are what stood there.
    """
    return _without_nulls(msgspec.to_builtins(obj, enc_hook=_scalar_as_written if as_written else _encode_scalar))


def _checked(obj: Any, version: str, notices: tuple[FieldProblem, ...]) -> Decoded:
    if isinstance(obj, kueue.ClusterQueue):
        obj, foreign = _with_parent_of_version(obj, version)
        notices += foreign
    if version == V1BETA1 and type(obj) in _OF_V1BETA1:
        obj = _OF_V1BETA1[type(obj)](obj)
    return Decoded(_unless_problems(obj, problems_of(obj)), (*notices, *refusals_of(obj)))


def _unless_problems(obj: T, found: Iterable[FieldProblem]) -> T:
    problems = tuple(found)
    if problems:
        raise ObjectInvalid(problems)
    return obj


def _decode_text(text: str, wanted: type[T]) -> T:
    try:
        return msgspec.json.decode(text, type=wanted, dec_hook=_decode_scalar)
    except msgspec.DecodeError:
        pass  # the careful way knows null fields and can say what is wrong where
    except RecursionError as error:
        raise ObjectInvalid((FieldProblem("the text", "is nested too deeply"),)) from error
    try:
        plain = _without_nulls(msgspec.json.decode(text))
    except RecursionError as error:
        raise ObjectInvalid((FieldProblem("the text", "is nested too deeply"),)) from error
    return _converted(plain, wanted)


def _converted(plain: object, wanted: type[T]) -> T:
    try:
        return msgspec.convert(plain, wanted, dec_hook=_decode_scalar)
    except msgspec.ValidationError as error:
        raise ObjectInvalid((_explained(str(error), plain, wanted),)) from error


def _with_parent_of_version(
    queue: kueue.ClusterQueue, version: str
) -> tuple[kueue.ClusterQueue, tuple[FieldProblem, ...]]:
    """v1beta1 calls the parent `cohort`, v1beta2 `cohortName`; the API server drops the other version's field."""
    spec = queue.spec
    parent, mine, value, other = (spec.cohort_name, "cohortName", spec.cohort, "cohort")
    if version == V1BETA1:
        parent, mine, value, other = (spec.cohort, "cohort", spec.cohort_name, "cohortName")
    notices: tuple[FieldProblem, ...] = ()
    if value:
        notices = (FieldProblem(f"spec.{other}", f"{value!r} is ignored: {version} calls this field spec.{mine}"),)
    if parent == spec.cohort_name:
        return queue, notices
    return msgspec.structs.replace(queue, spec=msgspec.structs.replace(spec, cohort_name=parent)), notices


def _with_fungibility_of_v1beta2(queue: queueing.ClusterQueue) -> queueing.ClusterQueue:
    """v1beta1 has two more words for MayStopSearch, and lists checks by name alone."""
    spec = queue.spec
    stop, change = queueing.FungibilityPolicy.MAY_STOP_SEARCH, msgspec.structs.replace
    fungibility = spec.flavor_fungibility
    if fungibility.when_can_borrow is queueing.FungibilityPolicy.BORROW:
        fungibility = change(fungibility, when_can_borrow=stop)
    if fungibility.when_can_preempt is queueing.FungibilityPolicy.PREEMPT:
        fungibility = change(fungibility, when_can_preempt=stop)
    checks = spec.admission_checks_strategy
    if spec.admission_checks:
        checks = kueue.AdmissionChecksStrategy(tuple(kueue.AdmissionCheckRule(name) for name in spec.admission_checks))
    return change(queue, spec=change(spec, flavor_fungibility=fungibility, admission_checks_strategy=checks))


def _with_priority_of_v1beta2(workload: workloads.Workload) -> workloads.Workload:
    """v1beta1 says where a priority is from by a source and a name, v1beta2 by a reference."""
    spec = workload.spec
    if spec is None or not spec.priority_class_source:
        return workload
    group, _, resource = spec.priority_class_source.partition("/")
    ref = workloads.PriorityClassRef(group, _KINDS_OF_PRIORITY.get(resource, resource), spec.priority_class_name)
    change = msgspec.structs.replace
    return change(workload, spec=change(spec, priority_class_ref=ref))


_KINDS_OF_PRIORITY: Final = {
    "workloadpriorityclass": "WorkloadPriorityClass",
    "priorityclass": "PriorityClass",
}
_OF_V1BETA1: Final[dict[type, Callable[[Any], Any]]] = {
    queueing.ClusterQueue: _with_fungibility_of_v1beta2,
    workloads.Workload: _with_priority_of_v1beta2,
}
"""Objects of v1beta1 as v1beta2 writes them."""


def _decode_scalar(wanted: type, value: object) -> object:
    if wanted is Quantity:
        return Quantity.of(value)
    if wanted is Duration:
        return Duration.of(value)
    raise TypeError(wanted)


def _encode_scalar(value: object) -> str:
    if isinstance(value, Quantity | Duration):
        return str(value)
    raise TypeError(value)


def _scalar_as_written(value: object) -> str | float:
    text = _encode_scalar(value)
    return value.written if isinstance(value, Quantity) and value.written is not None else text


def _without_nulls(plain: object) -> object:
    """As the API server reads it: a null field is an absent one, and half a surrogate pair is no character."""
    if isinstance(plain, dict):
        return {_whole(key): _without_nulls(value) for key, value in plain.items() if value is not None}
    if isinstance(plain, list | tuple):
        return [_without_nulls(value) for value in plain]
    return _whole(plain) if isinstance(plain, str) else plain


def _whole(text: str) -> str:
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unknown_fields(plain: object, wanted: msgspec.inspect.Type, field: str) -> Iterator[FieldProblem]:
    """The API server drops a misspelt field; without capacityDistribution an orchestrator is discovery-only."""
    wanted = _present_type(wanted)
    if isinstance(wanted, msgspec.inspect.VarTupleType) and isinstance(plain, list):
        for index, value in enumerate(plain):
            yield from _unknown_fields(value, wanted.item_type, f"{field}[{index}]")
    elif isinstance(wanted, msgspec.inspect.StructType) and isinstance(plain, dict):
        types = {each.encode_name: each.type for each in wanted.fields}
        for name, value in plain.items():
            if name in types:
                yield from _unknown_fields(value, types[name], f"{field}.{name}")
            else:
                known = ", ".join(types)
                yield FieldProblem(f"{field}.{name}", f"is ignored: {field} has no such field (it has {known})")


def _float_notices(plain: object, field: str) -> Iterator[FieldProblem]:
    if isinstance(plain, dict):
        for key, value in plain.items():
            yield from _float_notices(value, f"{field}.{key}" if field else str(key))
    elif isinstance(plain, list):
        for index, value in enumerate(plain):
            yield from _float_notices(value, f"{field}[{index}]")
    elif isinstance(plain, float) and not plain.is_integer():  # 1.0 is passed on as 1
        yield FieldProblem(field, f'{plain!r} has to be quoted ("{plain!r}") before an API server takes it')


# --- what went wrong, in words -------------------------------------------------------------------------------------

_TYPE_NAMES: Final = {
    "str": "a string",
    "int": "an integer",
    "bool": "true or false",
    "array": "a list",
    "object": "a mapping",
    "float": "a number with a fraction",
    "null": "nothing",
}
_BOUNDS: Final = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}
_PATH_STEP: Final = re.compile(r"\.([^.\[]+)|\[(\d+)\]|(\[\.\.\.\])")
_SHOWN_VALUE: Final = 60


def _explained(message: str, plain: object, wanted: type) -> FieldProblem:
    """msgspec's message (`Expected …, got … - at `$.path``) as a field of the object, its value and what is wanted."""
    text, _, path = message.rpartition(" - at `$")
    text = text or message
    field, value = _located(path.rstrip("`"), plain, _is_text if text.startswith("Expected `str") else _is_quantity)
    missing = re.fullmatch(r"Object missing required field `(.+)`", text)
    if missing:
        return FieldProblem(_joined(field, missing[1]), "is required and missing")
    unknown = re.fullmatch(r"Object contains unknown field `(.+)`", text)
    if unknown:
        return FieldProblem(_joined(field, unknown[1]), "is no field of this kind: see its name and its place")
    mismatch = re.fullmatch(r"Expected `(.+?)`(?:, got `(.+)`)?", text)
    if mismatch:
        types = " or ".join(_TYPE_NAMES.get(each, each) for each in mismatch[1].split(" | ") if each != "null")
        found = _TYPE_NAMES.get(mismatch[2] or "", mismatch[2] or "something else")
        hint = ": quote it" if types == "a string" and isinstance(value, int | float) else ""
        return FieldProblem(field or "the document", f"{_shown(value)} is {found}; {types} is wanted{hint}")
    if text.startswith("Invalid enum value"):
        return FieldProblem(field, f"{_shown(value)} is none of {', '.join(_choices(wanted, path))}")
    return FieldProblem(field or "the document", _out_of_range(text, value) or text)


def _out_of_range(text: str, value: object) -> str | None:
    """Of a value that is of the right type and no number or time that is allowed there."""
    bound = re.fullmatch(r"Expected `(\w+)` (>=|<=|>|<) (-?\d+)", text)
    if bound:
        return f"{_shown(value)} is not {_BOUNDS[bound[2]]} {bound[3]}"
    if text.startswith(("Invalid RFC3339", "Expected `datetime`")):
        return f"{_shown(value)} is no time: write it as 2026-01-31T12:00:00Z"
    return None


def _choices(wanted: type, path: str) -> Iterator[str]:
    """What the enumeration at the path takes."""
    found = _present_type(msgspec.inspect.type_info(wanted))
    for name, _, _ in _PATH_STEP.findall(path.rstrip("`")):
        match found:
            case msgspec.inspect.StructType():
                inner = next(each.type for each in found.fields if each.encode_name == name)
            case msgspec.inspect.DictType():
                inner = found.value_type
            case msgspec.inspect.VarTupleType():
                inner = found.item_type
            case _:
                return
        found = _present_type(inner)
    if isinstance(found, msgspec.inspect.EnumType):
        yield from (str(each.value) for each in found.cls)


def _present_type(found: msgspec.inspect.Type) -> msgspec.inspect.Type:
    """Of a field that may be absent, what it is where it is not."""
    if isinstance(found, msgspec.inspect.UnionType):
        return next(each for each in found.types if not isinstance(each, msgspec.inspect.NoneType))
    return found


def _joined(field: str, name: str) -> str:
    return f"{field}.{name}" if field else name


def _located(path: str, plain: object, decodes: Callable[[object], bool]) -> tuple[str, object]:
    """The path in dots and brackets, and the value there; `[...]` is resolved to the entry that does not decode."""
    field, value = "", plain
    for name, index, _ in _PATH_STEP.findall(path):
        if name:
            field = _joined(field, name)
            value = value.get(name) if isinstance(value, dict) else None
        elif index:
            field = f"{field}[{index}]"
            value = value[int(index)] if isinstance(value, list) else None
        elif isinstance(value, dict):
            key = next((key for key, each in value.items() if not decodes(each)), "…")
            field, value = f"{field}[{key}]", value.get(key)
    return field, value


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_quantity(value: object) -> bool:
    try:
        Quantity.of(value)
    except QuantityError:
        return False
    return True


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return text if len(text) <= _SHOWN_VALUE else f"{text[:_SHOWN_VALUE]}…"
