"""Deletes reports whose nodes are gone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec
import structlog

from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.errors import ApiError, Conflict, Forbidden, NotFound
from kueue_dqo.runtime.resources import NODE_GPU_REPORTS
from providers.nvidia_gpu.decoding import Report

INTERVAL: Final = 300.0
"""Seconds between two sweeps."""

_log = structlog.get_logger(__name__)


class _Preconditions(msgspec.Struct, frozen=True, rename="camel"):
    uid: str
    resource_version: str


class _DeleteOptions(msgspec.Struct, frozen=True, rename="camel"):
    preconditions: _Preconditions
    kind: str = "DeleteOptions"
    api_version: str = "v1"


async def delete_reports(client: Client, reports: Iterable[Report]) -> None:
    """Deletes them as they were seen. One that was written meanwhile is left alone: its agent is there."""
    for report in reports:
        body = msgspec.json.encode(_DeleteOptions(_Preconditions(report.uid, report.version)))
        try:
            await client.delete(NODE_GPU_REPORTS.path(report.node), body=body)
        except NotFound:
            continue
        except Conflict:
            _log.info("report of a node that is gone was written meanwhile, and is left alone", node=report.node)
        except Forbidden as error:
            _log.warning(
                "reports of nodes that are gone cannot be deleted: the ClusterRole of the daemon's ServiceAccount has "
                "to allow delete of nodegpureports",
                node=report.node,
                error=str(error),
            )
            return
        except ApiError as error:
            _log.warning("report of a node that is gone not deleted", node=report.node, error=str(error))
        else:
            _log.info("report of a node that is gone deleted", node=report.node)
