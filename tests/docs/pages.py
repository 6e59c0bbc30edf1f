"""Parts of documentation pages, by their headings and tables."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path


def section_of(page: Path, *headings: str) -> str:
    """What stands below a heading, up to the next one of its rank or above; of several, each within the one before."""
    text = page.read_text()
    for heading in headings:
        text = _below(heading, text)
    return text


def _below(heading: str, text: str) -> str:
    """A comment in a block is no heading."""
    rank, kept, is_block = 0, [], False
    for line in text.splitlines():
        is_block ^= line.lstrip().startswith("```")
        found = None if is_block else re.fullmatch(r"(#+) (.*)", line)
        if found is not None and rank and len(found[1]) <= rank:
            break
        if rank:
            kept.append(line)
        elif found is not None and found[2] == heading:
            rank = len(found[1])
    assert rank, heading
    return "\n".join([*kept, ""])


def blocks_of(language: str, text: str) -> list[str]:
    """What stands in the blocks of code in that language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def first_cells_of(section: str) -> str:
    """The first cell of each row of its tables, a line each."""
    return "\n".join(re.findall(r"^\| (.+?) \|", section, re.MULTILINE))


def without_row(words: Iterable[str], section: str) -> list[str]:
    """Those that begin no row of a table."""
    cells = first_cells_of(section)
    return [word for word in words if f"`{word}`" not in cells]
