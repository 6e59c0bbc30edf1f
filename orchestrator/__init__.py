"""The quota side: from capacities to effective quotas over a subtree of ClusterQueues and Cohorts."""
