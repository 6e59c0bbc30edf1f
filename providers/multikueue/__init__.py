"""The worker clusters of MultiKueue: what of their queues a manager's queues can send Workloads to."""
