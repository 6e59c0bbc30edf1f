"""GPUs of NVIDIA: agents on the nodes report what NVML says, and one aggregator makes a capacity of it."""
