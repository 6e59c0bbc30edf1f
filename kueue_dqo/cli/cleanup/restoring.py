"""The writes of `dqo cleanup`: compare-and-set, judged anew where somebody else has written in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Final

from kueue_dqo.api.kueue import CLUSTER_QUEUE
from kueue_dqo.api.meta import ObjectKey
from kueue_dqo.cli.cleanup.reading import read
from kueue_dqo.cli.cluster import FIELD_MANAGER, explained, what_became_of
from kueue_dqo.runtime.client import Client
from kueue_dqo.runtime.errors import ApiError, Conflict, Invalid, NotFound, Unauthorized, Unreachable
from kueue_dqo.runtime.resources import CLUSTER_QUEUES, COHORTS
from orchestrator.cleanup import Leftover, disowning
from orchestrator.enforcement.held import Held, held_of
from orchestrator.enforcement.roads import Road

_ROUNDS: Final = 5

Say = Callable[[str], None]
Identity = tuple[ObjectKey, Road]


class _Result(Enum):
    DONE = auto()
    CHANGED = auto()
    FAILED = auto()


async def restore(
    client: Client, due: Sequence[Leftover], is_due: Callable[[Leftover], bool], say: Say, complain: Say
) -> bool:
    """Restores the declared quotas of each, and says what became of it; returns whether all went well.

    Where an object is no longer what was seen, all is read and judged anew, and only what `is_due` still is written.
    Raises ApiError where the cluster cannot be reached any more, or its reading fails.
    """
    failed = False
    for _ in range(_ROUNDS):
        changed: set[Identity] = set()
        for leftover in due:
            result = await _write(client, leftover, say, complain)
            failed = failed or result is _Result.FAILED
            if result is _Result.CHANGED:
                changed.add(leftover.identity)
        if not changed:
            return not failed
        due = await still_due(client, changed, is_due, say)
    for leftover in due:
        complain(f"{leftover.held.key} ({leftover.road}): changed by others {_ROUNDS} times: see who writes to it")
    return not (failed or due)


async def still_due(
    client: Client, wanted: set[Identity], is_due: Callable[[Leftover], bool], say: Say
) -> list[Leftover]:
    """Those that are still due, read and judged anew; says which are not."""
    found = [each for each in (await read(client)).leftovers if each.identity in wanted and is_due(each)]
    for key, road in sorted(wanted - {each.identity for each in found}):
        say(f"{key} ({road}): left alone, it has changed and is no longer to be restored")
    return found


async def _write(client: Client, leftover: Leftover, say: Say, complain: Say) -> _Result:
    key, road = leftover.identity
    resource = CLUSTER_QUEUES if key.kind == CLUSTER_QUEUE else COHORTS
    path = resource.path(key.name, subresource=road.subresource)
    try:
        raw = await client.json_patch(path, leftover.restoring(), field_manager=FIELD_MANAGER)
    except NotFound:
        say(f"{key} ({road}): deleted in the meantime")
        return _Result.DONE
    except Conflict:
        return _Result.CHANGED
    except Invalid as error:
        if error.is_failed_test:
            return _Result.CHANGED
        complain(f"{key} ({road}): refused: {error}")
        return _Result.FAILED
    except (Unreachable, Unauthorized) as error:
        complain(f"{key} ({road}): {what_became_of(error)}")
        raise  # it would be the same for all that follow
    except ApiError as error:
        complain(f"{key} ({road}): {what_became_of(error)}: {explained(error)}")
        return _Result.FAILED
    say(f"{key} ({road}): the declared quotas are in force again")
    if road is Road.SPEC:
        await _let_go(client, path, held_of(key.kind, raw), complain)
    return _Result.DONE


async def _let_go(client: Client, path: str, restored: Held, complain: Say) -> None:
    """Leaves the quotas to whoever applies them next: with an owner, a server-side apply of others would conflict."""
    operations = disowning(restored, FIELD_MANAGER)
    if not operations:
        return
    try:
        await client.json_patch(path, operations, field_manager=FIELD_MANAGER)
    except NotFound:
        return
    except ApiError as error:
        complain(
            f"Note: {restored.key}: {FIELD_MANAGER} still owns spec.resourceGroups ({explained(error)}): the next "
            "server-side apply of other quotas wants --force-conflicts"
        )
