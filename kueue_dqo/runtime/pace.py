"""How a cache asks and waits."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """Times in seconds."""

    page: int = 500
    """Objects in a page of a list."""
    most_objects: int | None = None
    """That are held, where the server is not trusted with more; what has more cannot be followed."""
    list_timeout: float = 30.0
    """For each page."""
    watch_timeouts: tuple[int, int] = (240, 480)
    """After how long the server ends a watch: drawn from this span, so that not all end at once."""
    inactivity: float = 150.0
    """A watch in which nothing comes for so long is dead. Bookmarks come about once a minute."""
    first_wait: float = 0.5
    longest_wait: float = 10.0
    """More would save nothing worth having, and quotas would follow late after a failure."""
    longest_retry_after: float = 300.0
    """For so long at most is the server left alone where it asks for it."""
    longest_wait_for_resource: float = 10.0
    """While the API server does not know the resource."""

    @property
    def most_pages(self) -> int | None:
        """Of a list, where objects are bounded: twice what they fill, since the server decides how full a page is."""
        return None if self.most_objects is None else 2 * (self.most_objects // self.page + 1)
