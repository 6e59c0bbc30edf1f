"""The Kubernetes objects that the suite reads and writes, decoded partially and typed. Pure: no I/O."""
