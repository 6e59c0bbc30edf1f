"""What the command line decides about workers, and no object in the cluster may."""

from __future__ import annotations

from typing import Final

from kueue_dqo.provider import Setting

SECRETS_NAMESPACE: Final = "secrets-namespace"
CLUSTER_PROFILES_NAMESPACE: Final = "cluster-profiles-namespace"
KUBECONFIG_FOLDER: Final = "kubeconfig-folder"
CLUSTER_PROFILE_PLUGINS: Final = "cluster-profile-plugins"
ALLOW_EXEC_PLUGINS: Final = "allow-exec-plugins"
ALLOW_INSECURE_TLS: Final = "allow-insecure-tls"

DEFAULT_FOLDER: Final = "/etc/multikueue/kubeconfigs"
"""Where Kueue looks as well."""

SETTINGS: Final = (
    Setting(
        SECRETS_NAMESPACE,
        "Where the Secrets with the kubeconfigs of workers are. Those of no other namespace are read. [default: the "
        "daemon's own]",
        "",
        "NAMESPACE",
    ),
    Setting(
        CLUSTER_PROFILES_NAMESPACE,
        "Where the ClusterProfiles of workers are. Those of no other namespace are read. [default: the daemon's own]",
        "",
        "NAMESPACE",
    ),
    Setting(
        KUBECONFIG_FOLDER,
        "The folder that kubeconfigs of MultiKueueClusters with locationType Path have to be in.",
        DEFAULT_FOLDER,
        "FOLDER",
    ),
    Setting(
        CLUSTER_PROFILE_PLUGINS,
        "A file with the commands that give credentials for ClusterProfiles, as Kueue takes them. [default: none, and "
        "ClusterProfiles are refused]",
        "",
        "FILE",
    ),
    Setting(
        ALLOW_EXEC_PLUGINS,
        "Run the commands that kubeconfigs of workers name, in this process's container, with its rights.",
        default=False,
    ),
    Setting(ALLOW_INSECURE_TLS, "Take workers whose certificate is not verified, or that speak no TLS.", default=False),
)
