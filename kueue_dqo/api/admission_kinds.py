"""Which kinds the model of admission reads: those of quotas with more fields, Workloads, and what shapes them."""

from __future__ import annotations

from typing import Final

from kueue_dqo.api import core, kueue, podtemplates, queueing, workloads
from kueue_dqo.api.meta import KUEUE_GROUP
from kueue_dqo.api.scheme import KNOWN_KINDS, V1BETA1, KnownKind, kinds_of

_VERSIONS: Final = ("v1beta2", V1BETA1)
FOREIGN_JOBS: Final = (
    ("", core.POD),
    ("apps", "Deployment"),
    ("apps", "StatefulSet"),
    ("jobset.x-k8s.io", "JobSet"),
    ("kubeflow.org", "JAXJob"),
    ("kubeflow.org", "MPIJob"),
    ("kubeflow.org", "PaddleJob"),
    ("kubeflow.org", "PyTorchJob"),
    ("kubeflow.org", "TFJob"),
    ("kubeflow.org", "XGBoostJob"),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"),
    ("ray.io", "RayCluster"),
    ("ray.io", "RayJob"),
    ("ray.io", "RayService"),
    ("sparkoperator.k8s.io", "SparkApplication"),
    ("trainer.kubeflow.org", "TrainJob"),
    ("workload.codeflare.dev", "AppWrapper"),
)
"""The kinds of jobs that Kueue 0.19 manages besides batch/v1 Job, by group and kind: not modelled, and said to be."""
ADMISSION_KINDS: Final = kinds_of(
    (
        *KNOWN_KINDS,
        *(KnownKind(group, kind, (), podtemplates.ForeignJob) for group, kind in FOREIGN_JOBS),
        KnownKind("", podtemplates.NAMESPACE, ("v1",), podtemplates.Namespace),
        KnownKind("", podtemplates.LIMIT_RANGE, ("v1",), podtemplates.LimitRange),
        KnownKind("node.k8s.io", podtemplates.RUNTIME_CLASS, ("v1",), podtemplates.RuntimeClass),
        KnownKind("scheduling.k8s.io", podtemplates.PRIORITY_CLASS, ("v1",), podtemplates.PriorityClass),
        KnownKind(podtemplates.BATCH_GROUP, podtemplates.JOB, ("v1",), podtemplates.Job),
        KnownKind(KUEUE_GROUP, kueue.RESOURCE_FLAVOR, _VERSIONS, queueing.ResourceFlavor),
        KnownKind(KUEUE_GROUP, kueue.CLUSTER_QUEUE, _VERSIONS, queueing.ClusterQueue),
        KnownKind(KUEUE_GROUP, kueue.COHORT, _VERSIONS, queueing.Cohort),
        KnownKind(KUEUE_GROUP, kueue.ADMISSION_CHECK, _VERSIONS, queueing.AdmissionCheck),
        KnownKind(KUEUE_GROUP, queueing.LOCAL_QUEUE, _VERSIONS, queueing.LocalQueue),
        KnownKind(KUEUE_GROUP, workloads.WORKLOAD, _VERSIONS, workloads.Workload),
        KnownKind(KUEUE_GROUP, workloads.WORKLOAD_PRIORITY_CLASS, _VERSIONS, workloads.WorkloadPriorityClass),
        KnownKind(KUEUE_GROUP, queueing.TOPOLOGY, (), queueing.Topology),
        KnownKind(queueing.CONFIGURATION_GROUP, queueing.CONFIGURATION, _VERSIONS, queueing.Configuration),
    )
)
