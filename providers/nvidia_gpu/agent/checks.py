"""Which signs of NVML make a device unhealthy. Pure."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

IGNORED_XIDS: Final = frozenset({13, 31, 43, 45, 68, 109})
"""Errors of applications, after which the device is as good as before: those that NVIDIA's device plugin ignores."""
HINTS: Final = frozenset({63, 154})
"""They say that a better sign has changed, and mark nothing unless they are enabled: 63, a row is to be remapped (a
failure is 64); 154, the recovery action is another one. The device plugin takes both for bad health."""
_ALL: Final = "all"
_XIDS: Final = "xids"
_NUMBER: Final = re.compile(r"[0-9]{1,9}")


class Checks(NamedTuple):
    """What the options `--disable-health-checks` and `--enable-health-checks` come to.

    They take what the device plugin takes as DP_DISABLE_HEALTHCHECKS and DP_ENABLE_HEALTHCHECKS. Whatever is disabled,
    a GPU that NVML calls lost is lost.
    """

    xids: bool = True
    """Whether XIDs count that neither `ignored` nor `enabled` names."""
    ignored: frozenset[int] = IGNORED_XIDS | HINTS
    enabled: frozenset[int] = frozenset()
    """They count whatever the rest says."""
    recovery: bool = True
    """Whether the recovery action counts."""
    row_remap: bool = True
    """Whether a failed row remapping counts."""

    @classmethod
    def of(cls, disable: str, enable: str) -> Checks:
        """From both options: `all`, `xids`, or numbers of XIDs with commas between; empty for none.

        `all` disables XIDs, recovery action and row remapping; `xids` only XIDs. Either, among what is enabled, lets
        every XID count, the ignored ones included. Raises ValueError for anything else.
        """
        off, off_numbers = _parsed("--disable-health-checks", disable)
        on, on_numbers = _parsed("--enable-health-checks", enable)
        return cls(
            xids=bool(on) or not off,
            ignored=frozenset() if on else IGNORED_XIDS | HINTS | off_numbers,
            enabled=on_numbers,
            recovery=_ALL in on or _ALL not in off,
            row_remap=_ALL in on or _ALL not in off,
        )

    def xid(self, number: int) -> bool:
        """Whether an XID of this number marks the device."""
        return number in self.enabled or (self.xids and number not in self.ignored)

    def is_hint(self, number: int) -> bool:
        """Whether an XID of this number marks nothing, but is a reason to read all GPUs at once."""
        return number in HINTS and not self.xid(number)


def _parsed(option: str, text: str) -> tuple[frozenset[str], frozenset[int]]:
    """The words and the numbers of an option."""
    words, numbers = set[str](), set[int]()
    for part in text.split(","):
        word = part.strip().lower()
        if word in {_ALL, _XIDS}:
            words.add(word)
        elif _NUMBER.fullmatch(word):
            numbers.add(int(word))
        elif word:
            raise ValueError(
                f"{option} has {part.strip()!r}, which is neither {_ALL}, nor {_XIDS}, nor the number of an XID: "
                "write for instance 48,79"
            )
    return frozenset(words), frozenset(numbers)
