"""What Kubernetes' own objects say of the pods that a Workload will have: templates, defaults, priorities, overhead.

These are read to model admission. The pods that run, of which daemons hold many, are those of `core.py`, with less.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec

from kueue_dqo.api.core import Amounts, Time, Toleration
from kueue_dqo.api.meta import Condition

NAMESPACE: Final = "Namespace"
LIMIT_RANGE: Final = "LimitRange"
RUNTIME_CLASS: Final = "RuntimeClass"
PRIORITY_CLASS: Final = "PriorityClass"
JOB: Final = "Job"
BATCH_GROUP: Final = "batch"
NAME_LABEL: Final = "kubernetes.io/metadata.name"
"""The label that the API server gives every Namespace: its name."""
SUPPORTED_POD_RESOURCES: Final = ("cpu", "memory")
"""Resources whose requests may stand in a pod's own `resources`; those that begin as `HUGE_PAGES` as well."""
HUGE_PAGES: Final = "hugepages-"

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


class OwnerReference(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Whose an object is."""

    kind: str
    name: str
    api_version: str = ""
    uid: str = ""
    controller: bool = False


class Metadata(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Metadata of what is read to model admission: with labels and owners, without the fields of managers."""

    name: str
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    owner_references: tuple[OwnerReference, ...] = ()

    @property
    def key(self) -> str:
        """`namespace/name`; the name alone where there is no namespace."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def is_deleted(self) -> bool:
        """Whether it is on its way out."""
        return self.deletion_timestamp is not None


class Namespace(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A namespace: what ClusterQueues and Kueue's configuration select is its labels."""

    metadata: Metadata

    @property
    def labels(self) -> dict[str, str]:
        """Its labels, with the one that the API server gives."""
        return self.metadata.labels | {NAME_LABEL: self.metadata.name}


# --- pod templates -------------------------------------------------------------------------------------------------


class ResourceNeeds(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """`resources` of a container or a pod."""

    requests: Amounts = {}
    limits: Amounts = {}
    claims: tuple[Any, ...] = ()
    """Of dynamic resource allocation."""


class TemplateContainer(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A container of a template. One that runs at the start goes on running where its `restart_policy` is Always."""

    name: str = ""
    resources: ResourceNeeds = ResourceNeeds()
    restart_policy: str = ""
    ports: tuple[Any, ...] = ()
    """Nothing is decided by them; Workloads that differ in them do not count as equal."""


class NodeSelectorRequirement(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One expression of a node selector: In, NotIn, Exists, DoesNotExist, Gt, Lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class NodeSelectorTerm(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Expressions that must all hold."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Terms of which one must hold."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class NodeAffinity(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Which nodes the pod may have (`required…`), and which it would rather have."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[Any, ...] = ()


class Affinity(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """`affinity`. Kueue looks at the nodes' part; by the pods' part Workloads differ, and no more."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: Any = None
    pod_anti_affinity: Any = None


class PodToleration(Toleration, frozen=True, gc=False, rename="camel"):
    """A toleration, and for how long. Kueue does not count the time; Workloads that differ in it are not equal."""

    toleration_seconds: int | None = None


class TemplatePodSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The pod's spec, as far as its quota, its flavors and its priority depend on it."""

    containers: tuple[TemplateContainer, ...] = ()
    init_containers: tuple[TemplateContainer, ...] = ()
    overhead: Amounts = {}
    resources: ResourceNeeds | None = None
    """Of the pod as a whole; its requests stand for the sum of its containers'."""
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[PodToleration, ...] = ()
    priority_class_name: str = ""
    priority: Int32 | None = None
    runtime_class_name: str = ""
    resource_claims: tuple[Any, ...] = ()
    topology_spread_constraints: tuple[Any, ...] = ()
    scheduling_gates: tuple[Any, ...] = ()


class TemplateMetadata(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Labels and annotations of the pods."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class PodTemplate(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """`template`: what each pod will be."""

    metadata: TemplateMetadata = TemplateMetadata()
    spec: TemplatePodSpec = TemplatePodSpec()


# --- Job -----------------------------------------------------------------------------------------------------------


class JobSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A Job's spec. What is absent, the API server fills in: one pod at a time, one in all."""

    template: PodTemplate = PodTemplate()
    parallelism: Count | None = None
    completions: Count | None = None
    completion_mode: str = ""
    suspend: bool = False
    managed_by: str = ""


class JobStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What has become of a Job."""

    conditions: tuple[Condition, ...] = ()
    succeeded: Count = 0
    completed_indexes: str = ""


class Job(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A Job of batch/v1. In a folder of steps, one without a spec says what has become of an earlier one."""

    metadata: Metadata
    spec: JobSpec | None = None
    status: JobStatus = JobStatus()


class ForeignJob(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A job of a kind that Kueue manages and the model of admission does not: its metadata says whether it counts."""

    metadata: Metadata


# --- defaults, priorities, overhead --------------------------------------------------------------------------------


class LimitRangeItem(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Limits of one type of thing: Container, Pod, PersistentVolumeClaim."""

    type: str
    max: Amounts = {}
    min: Amounts = {}
    default: Amounts = {}
    default_request: Amounts = {}
    max_limit_request_ratio: Amounts = {}


class LimitRangeSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """`limits`, as written: what the API server adds to them, it adds when the object is created."""

    limits: tuple[LimitRangeItem, ...] = ()


class LimitRange(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What containers and pods of a namespace get and may have."""

    metadata: Metadata
    spec: LimitRangeSpec = LimitRangeSpec()


class Overhead(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What a pod costs beyond its containers."""

    pod_fixed: Amounts = {}


class RuntimeClass(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """How pods are run, and what that costs."""

    metadata: Metadata
    overhead: Overhead = Overhead()


class PriorityClass(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A priority of pods by name."""

    metadata: Metadata
    value: Int32
    global_default: bool = False
