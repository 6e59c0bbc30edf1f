"""The floor beside the multikueue daemon: aiohttp and json alone, and what a person would write with them.

It takes a file that says where the workers are, by which token, and which of their flavors counts as which.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import ssl
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final

import aiohttp

from bench.measure import own_peak_bytes

_GROUP: Final = "/apis/kueue.x-k8s.io/v1beta2"
_SUFFIXES: Final = {"Gi": 2**30}
_LIMIT: Final = 500
Amounts = Counter[str]


async def _imports(session: aiohttp.ClientSession, where: dict[str, Any]) -> None:
    """Nothing but the imports."""
    del session, where
    _say(peak=own_peak_bytes())


async def _list(session: aiohttp.ClientSession, where: dict[str, Any]) -> None:
    """Everything of every worker, at once; what the queues have that LocalQueues lead to, as the daemon sums it."""
    began = time.monotonic()
    found = await asyncio.gather(*(_amounts(session, url, where["flavors"]) for url in where["workers"]))
    total: Amounts = Counter()
    for each in found:
        total.update(each)
    seconds = time.monotonic() - began
    _say(seconds=seconds, cpu=time.process_time(), peak=own_peak_bytes(), sum=total)


async def _amounts(session: aiohttp.ClientSession, url: str, flavors: dict[str, str]) -> Amounts:
    queues: dict[str, Amounts] = {}
    reached: set[str] = set()

    async def read_queues() -> None:
        async for items in _pages(session, f"{url}{_GROUP}/clusterqueues"):
            queues.update((each["metadata"]["name"], _of_queue(each, flavors)) for each in items)

    async def read_local_queues() -> None:
        async for items in _pages(session, f"{url}{_GROUP}/localqueues"):
            reached.update(each["spec"]["clusterQueue"] for each in items)

    await asyncio.gather(read_queues(), read_local_queues())
    total: Amounts = Counter()
    for name in reached:
        total.update(queues[name])
    return total


async def _pages(session: aiohttp.ClientSession, url: str) -> Any:
    token = ""
    while True:
        more = {"continue": token} if token else {}
        async with session.get(url, params={"limit": str(_LIMIT), **more}) as answer:
            page = json.loads(await answer.read())
        yield page["items"]
        token = page["metadata"].get("continue", "")
        if not token:
            return


def _of_queue(queue: dict[str, Any], flavors: dict[str, str]) -> Amounts:
    amounts: Amounts = Counter()
    for group in queue["spec"]["resourceGroups"]:
        for flavor in group["flavors"]:
            for resource in flavor["resources"]:
                amounts[f"{flavors[flavor['name']]}/{resource['name']}"] += _units(resource["nominalQuota"])
    return amounts


def _units(text: str) -> int:
    return int(text[:-2]) * _SUFFIXES[text[-2:]] if text[-2:] in _SUFFIXES else int(text)


async def _watch(session: aiohttp.ClientSession, where: dict[str, Any]) -> None:
    """All changes of queues of every worker, decoded, until SIGTERM. It says when it has seen as many as it is told."""
    events = 0

    async def follow(url: str) -> None:
        nonlocal events
        async with session.get(url, params={"limit": "1"}) as answer:
            version = json.loads(await answer.read())["metadata"]["resourceVersion"]
        async with session.get(url, params={"watch": "true", "resourceVersion": version}) as answer:
            opened.release()
            async for line in answer.content:
                json.loads(line)
                events += 1
                if events == where["count"]:
                    _say(seen=events)

    opened = asyncio.Semaphore(0)
    urls = [f"{url}{_GROUP}/{plural}" for url in where["workers"] for plural in ("clusterqueues", "localqueues")]
    watches = asyncio.gather(*(follow(url) for url in urls))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, watches.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        for _ in urls:
            await opened.acquire()
        _say(watching=True)
        await watches
    _say(events=events)


async def _main(side: str, where: dict[str, Any]) -> None:
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=where["ca"]), limit=0)
    headers = {"Authorization": f"Bearer {where['token']}"}
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(connector=connector, headers=headers, timeout=timeout) as session:
        await {"imports": _imports, "list": _list, "watch": _watch}[side](session, where)


def _say(**values: Any) -> None:
    print(json.dumps(values), flush=True)


if __name__ == "__main__":
    side, file, *count = sys.argv[1:]
    asyncio.run(_main(side, {**json.loads(Path(file).read_text(encoding="utf-8")), "count": int("".join(count) or 0)}))
