"""The agent: one process on each GPU node, which reads NVML and keeps the report of its node."""
