"""What Kueue will do with Workloads: a model of its admission, pure."""
