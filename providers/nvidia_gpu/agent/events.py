"""XIDs as they happen: a thread of its own that waits for NVML's events."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from random import Random
from typing import Any, Final

import structlog

from kueue_dqo.runtime.backoff import Backoff
from providers.nvidia_gpu.agent.devices import FUNCTION_NOT_FOUND, NOT_SUPPORTED, TIMEOUT, Xid
from providers.nvidia_gpu.agent.texts import gpu_uuid, text_of

WAIT: Final = 5.0
"""Seconds of one wait: the longest until devices that have appeared are registered."""
_FIRST_RETRY: Final = 1.0
_LONGEST_RETRY: Final = 60.0
_EARLY: Final = 0.5
"""Of a wait. A time-out before that is a failure."""
_NO_INSTANCE: Final = 0xFFFFFFFF
"""What an event says where no MIG device is meant."""

_log = structlog.get_logger(__name__)


class _Registered:
    """The GPUs of one set of events, by UUID."""

    def __init__(self) -> None:
        self.heard: set[str] = set()
        self.mute: set[str] = set()
        """Those that support no such events."""
        self.by_handle: dict[int | None, str] = {}
        """Those that are gone as well: their last event may still be on its way."""

    def keep(self, wanted: AbstractSet[str]) -> set[str]:
        """Forgets the others, and returns them."""
        gone = (self.heard | self.mute) - wanted
        self.heard -= gone
        self.mute -= gone
        return gone


class XidWatch:
    """Waits for XIDs of the GPUs that `follow` names, and delivers each.

    The set of events is this thread's own. Where waiting fails, nobody is marked: the set is made anew, after a while.
    What happens between two sets, or before a GPU is registered, is lost; polling sees what it leads to.
    """

    def __init__(  # noqa: PLR0913 - the parts of a thread, by keyword
        self,
        library: Any,
        *,
        deliver: Callable[[Xid], None],
        failed: Callable[[Exception], None],
        random: Random,
        wait: float = WAIT,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`library`: the module pynvml, opened by somebody else by the time that GPUs are named. `wait`: seconds.

        `monotonic`: the clock that waits are measured by.
        `deliver` is called in the thread; so is `failed`, with what ends the thread, as no error of NVML does.
        """
        self._nvml = library
        self._deliver = deliver
        self._failed = failed
        self._wait = wait
        self._monotonic = monotonic
        self._ended_early = False
        """Whether the last wait was over too soon, and nothing had happened."""
        self._backoff = Backoff(random, first=_FIRST_RETRY, longest=_LONGEST_RETRY)
        self._wanted: AbstractSet[str] = frozenset()
        self._news = threading.Event()
        self._stopped = False
        self._is_broken = False
        self._told: dict[str, int] = {}
        """The errors by which GPUs cannot be registered, by UUID."""
        self._beat = time.monotonic()
        # A driver that hangs must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name="xids", daemon=True)

    def start(self) -> None:
        """Once."""
        self._thread.start()

    def stop(self) -> None:
        """The thread ends when its present wait is over. Nobody need wait for that."""
        self._stopped = True
        self._news.set()

    def follow(self, uuids: Iterable[str]) -> None:
        """These GPUs are there now. One that is left out and named again is registered anew: it may have been reset."""
        wanted = frozenset(uuids)
        if wanted != self._wanted:
            self._wanted = wanted
            self._news.set()

    @property
    def silence(self) -> float:
        """For how many seconds the thread has been within one call of the driver, or waits for one to come."""
        return time.monotonic() - self._beat

    def _run(self) -> None:
        try:
            while not self._stopped:
                try:
                    self._watch()
                except self._nvml.NVMLError as error:
                    self._pause_after(error)
        except Exception as error:  # noqa: BLE001 - it is logged, and the process hears of it
            _log.exception("the thread that waits for XIDs failed")
            self._failed(error)

    def _pause_after(self, error: Any) -> None:
        wait = self._backoff.next()
        if not self._is_broken:
            self._is_broken = True
            _log.warning(
                "XIDs cannot be waited for, polling goes on",
                error=text_of(str, error),
                code=error.value,
                retry_in_seconds=wait,
            )
        end = time.monotonic() + wait
        while not self._stopped and (rest := end - time.monotonic()) > 0:
            self._news.clear()
            self._beat = time.monotonic()
            if not self._stopped:
                self._news.wait(min(rest, self._wait))

    def _watch(self) -> None:
        """Waits by one set of events until that fails, which raises NVMLError, or until it is stopped."""
        registered = _Registered()
        events = None
        try:
            while not self._stopped:
                self._beat = time.monotonic()
                self._news.clear()
                wanted = self._wanted
                for uuid in registered.keep(wanted):
                    self._told.pop(uuid, None)
                if wanted and events is None:
                    events = self._nvml.nvmlEventSetCreate()
                for uuid in sorted(wanted - registered.heard - registered.mute):
                    self._register(uuid, events, registered)
                if registered.heard:
                    self._wait_for_one(events, registered)
                elif not self._stopped:
                    self._news.wait(self._wait)
        finally:
            if events is not None:
                self._free(events)

    def _register(self, uuid: str, events: Any, registered: _Registered) -> None:
        """Raises nothing of one GPU: the others' XIDs are waited for all the same."""
        xids = self._nvml.nvmlEventTypeXidCriticalError
        try:
            handle = self._nvml.nvmlDeviceGetHandleByUUID(uuid)
            if self._nvml.nvmlDeviceGetSupportedEventTypes(handle) & xids:
                self._nvml.nvmlDeviceRegisterEvents(handle, xids, events)
                code = None
            else:
                code = NOT_SUPPORTED
        except self._nvml.NVMLError as error:
            code = int(error.value)
        if code is None:
            registered.heard.add(uuid)
            registered.by_handle[_address(handle)] = uuid
            if self._told.pop(uuid, None) is not None:
                _log.info("XIDs of the GPU are told again", uuid=uuid)
            return
        if code in {NOT_SUPPORTED, FUNCTION_NOT_FOUND}:
            registered.mute.add(uuid)
        if self._told.get(uuid) != code:
            self._told[uuid] = code
            text = text_of(str, self._nvml.NVMLError(code))
            _log.warning("XIDs of the GPU are not told, it is polled only", uuid=uuid, error=text, code=code)

    def _wait_for_one(self, events: Any, registered: _Registered) -> None:
        began = self._monotonic()
        try:
            event = self._nvml.nvmlEventSetWait_v2(events, int(self._wait * 1000))
        except self._nvml.NVMLError as error:
            if error.value != TIMEOUT:
                raise
            if self._monotonic() - began < self._wait * _EARLY:
                # One may be an accident. If it goes on, nothing but a pause keeps this from asking without end.
                if self._ended_early:
                    raise
                self._ended_early = True
                return
            event = None
        self._ended_early = False
        self._backoff.reset()
        if self._is_broken:
            self._is_broken = False
            _log.info("XIDs are waited for again")
        if event is not None and event.eventType == self._nvml.nvmlEventTypeXidCriticalError and not self._stopped:
            self._deliver(
                Xid(
                    int(event.eventData),
                    self._uuid_of(event.device, registered),
                    gpu_instance=_instance(event.gpuInstanceId),
                    compute_instance=_instance(event.computeInstanceId),
                )
            )

    def _uuid_of(self, handle: Any, registered: _Registered) -> str | None:
        """A GPU that has just been lost may not tell its UUID any more; its handle is that of its registration."""
        try:
            uuid = gpu_uuid(text_of(self._nvml.nvmlDeviceGetUUID, handle))
            return registered.by_handle.get(_address(handle)) if uuid is None else uuid
        except self._nvml.NVMLError as error:
            known = registered.by_handle.get(_address(handle))
            _log.info(
                "the GPU of an XID does not tell its UUID", error=text_of(str, error), code=error.value, taken_for=known
            )
            return known

    def _free(self, events: Any) -> None:
        try:
            self._nvml.nvmlEventSetFree(events)
        except self._nvml.NVMLError as error:
            _log.info("a set of events cannot be freed", error=text_of(str, error), code=error.value)


def _address(handle: Any) -> int | None:
    return ctypes.cast(handle, ctypes.c_void_p).value


def _instance(number: int) -> int | None:
    return None if number == _NO_INSTANCE else int(number)
