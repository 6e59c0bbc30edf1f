"""`dqo explain`: why a Workload waits, and where a quota is from."""
