"""One embedding of each orbit, chosen among all of them after they were found."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["ChosenRows"]


class ChosenRows(NamedTuple):
    """One row of each orbit, out of all of them.

    Attributes
    ----------
    below : tuple of (u, w)
        The image of pattern vertex u has a lower number than that of w.
    columns : tuple of int
        The pattern vertices that a row has in the end; those of the plan are all.
    """

    below: tuple[tuple[int, int], ...]
    columns: tuple[int, ...]

    def of(self, block: Any) -> Any:
        """The chosen rows of a block of all pattern vertices."""
        for u, w in self.below:
            block = block[:, block[u] < block[w]]
        return block[list(self.columns)]
