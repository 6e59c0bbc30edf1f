"""The Kubernetes objects that the suite reads and writes, decoded partially and typed. Pure: no I/O.

The structs are not tracked by the garbage collector (`gc=False`): they hold no cycles, and a cluster has very many.
"""
