"""Text in columns. A table of many thousand rows takes rich a quarter of a minute; this takes a moment."""

from __future__ import annotations

from rich.cells import cell_len
from rich.text import Text

Cell = str | tuple[str, str]
"""A text, or a text and its style."""

_GAP = "  "


class Columns:
    """Rows of cells, each column as wide as its widest cell.

    Nothing is cut or folded: the terminal breaks lines that are too long for it.
    """

    def __init__(self, *titles: str, right: tuple[str, ...] = ()) -> None:
        """Takes the titles of the columns, and which of them are set to the right."""
        self._right = [title in right for title in titles]
        self._rows: list[list[tuple[str, str]]] = []
        self.add(*((title, "bold") for title in titles))

    def add(self, *cells: Cell) -> None:
        """Adds a row; cells that are not given are empty."""
        self._rows.append([(cell, "") if isinstance(cell, str) else cell for cell in cells])

    def text(self) -> Text:
        """All rows, indented, without blanks at their ends."""
        widths = [0] * len(self._right)
        for row in self._rows:
            for column, (cell, _) in enumerate(row):
                widths[column] = max(widths[column], cell_len(cell))
        lines = Text()
        for number, row in enumerate(self._rows):
            lines.append("\n" if number else "")
            last = max((column for column, (cell, _) in enumerate(row) if cell), default=-1)
            for column, (cell, style) in enumerate(row[: last + 1]):
                padding = " " * (widths[column] - cell_len(cell))
                lines.append(_GAP)
                if self._right[column]:
                    lines.append(padding)
                lines.append(cell, style)
                if not self._right[column] and column < last:
                    lines.append(padding)
        return lines
