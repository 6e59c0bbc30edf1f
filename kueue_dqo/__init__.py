"""Quotas that follow capacity: what the orchestrator and the capacity providers share.

The package `api` holds the objects and their arithmetic, `cli` the command `dqo`. The quota side lives in the top-level
package `orchestrator`, the capacity side in `providers`.
"""

__version__ = "0.1.0"
