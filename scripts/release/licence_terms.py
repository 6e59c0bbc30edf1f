"""Under which licences a distribution may be shipped, and what those that state theirs loosely mean."""

from __future__ import annotations

from typing import Final, NamedTuple

ALLOWED: Final = frozenset({"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "PSF-2.0"})
"""SPDX identifiers. They ask for their text and their notices to be passed on, and for nothing else."""


class Exempted(NamedTuple):
    """A licence that one distribution may have though others may not."""

    licence: str
    reason: str


EXCEPTIONS: Final = {
    "certifi": Exempted(
        "MPL-2.0",
        "certificates of authorities as data; the licence binds changes to its files, and they are shipped as they are",
    )
}


class Judged(NamedTuple):
    """The licence by its text, where the metadata do not tell which of several they mean."""

    stated: str
    """What the metadata say. Once they say something else, this has to be judged anew."""
    licence: str
    reason: str


JUDGED: Final = {
    "nvidia-ml-py": Judged("BSD", "BSD-3-Clause", "the text at the top of pynvml.py has three clauses"),
    "pyasn1-modules": Judged("BSD", "BSD-2-Clause", "its LICENSE.txt has two clauses"),
    "python-dateutil": Judged(
        "Dual License", "BSD-3-Clause", "its LICENSE puts all code under it, and some under Apache-2.0 too"
    ),
}

TEXTS_ELSEWHERE: Final = {"nvidia-ml-py": "pynvml.py"}
"""The file that has the licence, where a distribution brings no file for it."""

SPELLINGS: Final = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "MIT License": "MIT",
}
"""What stands for an identifier in older metadata, unmistakably."""
