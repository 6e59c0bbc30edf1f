"""The state of NVML's test double, which a test changes while a process uses the library.

    nvml = NvmlState(tmp_path, gpus(8))
    subprocess.Popen(…, env={**os.environ, **nvml.environment})
    nvml.inject_xid(3, 79)
    nvml.lose(3)

Each change is written at once; the library looks at each call, and a call that waits or hangs goes on looking. Whoever
changes the devices themselves (`nvml.gpus[0].remapped = …`) calls `write` afterwards.

The state file has one record on a line, `KEY REST`, and no comments. Before the first device stand those of the node,
and after a device those of that device:

- `driver TEXT`, `nvml TEXT`: versions.
- `fail FUNCTION CODE`: the function does nothing but answer with this nvmlReturn_t. `*` is every function but
  nvmlErrorString. The first that fits holds, the node's before the device's.
- `hang FUNCTION`: the function does not come back before this line is gone.
- `event SEQUENCE UUID TYPE DATA GI CI`: goes once to each event set that had registered the device for the type before
  this line stood there; sequences rise. UUID `-`: it comes without a device. GI and CI are 4294967295 for none.
- `gpu UUID`, `mig UUID`: the next device. GPUs are numbered as they come; MIG devices belong to the GPU above them.
- `name TEXT`, `memory MIB`; of a GPU also `pci DOMAIN:BUS:DEVICE.0`, `mig-mode 0|1 SLOTS`, `events TYPES`,
  `remapped CORRECTABLE UNCORRECTABLE PENDING FAILURE`, `field ID CODE VALUE`: what has no line is not supported;
  of a MIG device also `slot N`, `instances GI CI`, `slices GPU COMPUTE`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from tests.nvml.devices import BY_INDEX, EVERY_CALL, GPU_IS_LOST, XID_EVENT, Gpu
from tests.nvml.library import SONAME, library

DRIVER: Final = "570.86.15"
_NO_INSTANCE: Final = 0xFFFF_FFFF


class NvmlState:
    """One node's NVML. GPUs are given by their place in `gpus`, which is NVML's index, or as themselves."""

    def __init__(self, folder: Path, gpus: Iterable[Gpu] = (), *, driver: str = DRIVER, installed: bool = True) -> None:
        """`folder` must exist, and be nobody else's. `installed`: whether the library can be loaded from the start."""
        self.gpus = list(gpus)
        self.driver = driver
        self.failures: dict[str, int] = {}
        """NVML codes of functions, for the whole node; `*` is every one."""
        self.hangs: set[str] = set()
        """Functions that do not come back, on the whole node."""
        self._events: list[str] = []
        self._written = 0
        self._file = folder / "state"
        self._calls = folder / "calls"
        self._libraries = folder / "lib"
        self._libraries.mkdir()  # a search path that was missing once is never looked at again
        self.write()
        if installed:
            self.install()

    @property
    def environment(self) -> dict[str, str]:
        """Variables of a process that shall use this library; they count only when set before it starts."""
        return {
            "LD_LIBRARY_PATH": str(self._libraries),
            "NVML_SHIM_STATE": str(self._file),
            "NVML_SHIM_CALLS": str(self._calls),
        }

    def write(self) -> None:
        """Makes everything so, at once for whoever reads."""
        unfinished = self._file.with_suffix(".new")
        unfinished.write_text("".join(f"{line}\n" for line in self._lines()), encoding="utf-8")
        self._written = max(time.time_ns(), self._written + 1)  # the library tells versions of the file by this
        os.utime(unfinished, ns=(self._written, self._written))
        unfinished.rename(self._file)

    def install(self, *, without: Iterable[str] = ()) -> None:
        """From now on the library can be loaded; `without` names functions that it does not have."""
        self.uninstall()
        (self._libraries / SONAME).symlink_to(library(frozenset(without)))

    def uninstall(self) -> None:
        """From now on the library is not found. Who has loaded it keeps it."""
        (self._libraries / SONAME).unlink(missing_ok=True)

    # --- what goes wrong, and right again ------------------------------------------------------------------------

    def lose(self, gpu: int | Gpu, *, handle: bool = False) -> None:
        """It has fallen off the bus: still counted, and every call says so; with `handle`, it still gives that."""
        self._gpu(gpu).failures = {**({BY_INDEX: 0} if handle else {}), EVERY_CALL: GPU_IS_LOST}
        self.write()

    def remove(self, gpu: int | Gpu) -> Gpu:
        """It is not listed any more; those after it move up."""
        removed = self._gpu(gpu)
        self.gpus.remove(removed)
        self.write()
        return removed

    def add(self, gpu: Gpu, at: int | None = None) -> None:
        """It is there, or is back, at this index; the last one, where None."""
        self.gpus.insert(len(self.gpus) if at is None else at, gpu)
        self.write()

    def break_call(self, function: str, code: int, gpu: int | Gpu | None = None) -> None:
        """A function, or `*`, answers with this code; for one GPU, or for the node."""
        failures = self.failures if gpu is None else self._gpu(gpu).failures
        failures[function] = code
        self.write()

    def hang(self, function: str, gpu: int | Gpu | None = None) -> None:
        """A function, or `*`, does not come back until `mend`; for one GPU, or for the node."""
        (self.hangs if gpu is None else self._gpu(gpu).hangs).add(function)
        self.write()

    def mend(self, gpu: int | Gpu | None = None) -> None:
        """No function fails or hangs any more: for one GPU, or for the node and every GPU."""
        if gpu is None:
            self.failures.clear()
            self.hangs.clear()
        for each in self.gpus if gpu is None else [self._gpu(gpu)]:
            each.failures.clear()
            each.hangs.clear()
            for device in each.mig or ():
                device.failures.clear()
        self.write()

    def set_field(self, gpu: int | Gpu, field: int, value: int) -> None:
        """A field's value, such as the recovery action."""
        self._gpu(gpu).fields[field] = value
        self.write()

    def inject_xid(
        self,
        gpu: int | Gpu | None,
        number: int,
        *,
        gpu_instance: int | None = None,
        compute_instance: int | None = None,
    ) -> None:
        """An XID, for all who have registered the GPU by now. GPU None: NVML does not tell which one."""
        uuid = "-" if gpu is None else self._gpu(gpu).uuid
        instances = (_NO_INSTANCE if each is None else each for each in (gpu_instance, compute_instance))
        place = " ".join(map(str, instances))
        self._events.append(f"event {len(self._events) + 1} {uuid} {XID_EVENT} {number} {place}")
        self.write()

    # --- what was called ------------------------------------------------------------------------------------------

    def calls(self, process: int | None = None) -> list[str]:
        """The functions that were called, in order: by this process id, or by all."""
        if not self._calls.exists():
            return []
        lines = [line.split() for line in self._calls.read_text(encoding="ascii").splitlines()]
        return [function for pid, function in lines if process in {None, int(pid)}]

    def _gpu(self, gpu: int | Gpu) -> Gpu:
        return self.gpus[gpu] if isinstance(gpu, int) else gpu

    def _lines(self) -> Iterator[str]:
        yield f"driver {self.driver}"
        yield f"nvml 12.{self.driver}"
        yield from (f"hang {function}" for function in sorted(self.hangs))
        yield from (f"fail {function} {code}" for function, code in self.failures.items())
        yield from self._events
        for gpu in self.gpus:
            yield from gpu.lines()
