"""Matches that are their vertices, found by walking rows: every combination of rows is found, and each match kept once.

Where windows are narrow a walk over rows meets few combinations, while a walk over vertices meets every vertex that an
edge leads to and asks for rows afterwards. So rows are walked as long as the matches fit a bound; beyond it the walk
over vertices, which keeps nothing, begins anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from cusubmatch.engines.base import Count, ProgressCallback
from cusubmatch.engines.prepared import RowBlock
from cusubmatch.errors import DeadlinePassed

__all__ = ["DistinctMatches"]

MOST_KEPT = 1 << 23  # matches; sorting so many and as many again takes a second or two
LEAST_WAITING = 1 << 18  # before repeated ones are dropped


class DistinctMatches:
    """A run that gives each match once.

    Parameters
    ----------
    by_rows : callable
        by_rows(progress) is a run whose blocks may repeat matches.
    by_vertices : callable
        by_vertices() is a run that gives each match once.
    enough : int or None
        Matches after which the run may stop.
    progress : callable or None
    xp : module
        That of the blocks' arrays.

    Attributes
    ----------
    matches : int or None
        Matches found so far.
    """

    def __init__(
        self,
        by_rows: Callable[[ProgressCallback | None], Any],
        by_vertices: Callable[[], Any],
        enough: int | None,
        progress: ProgressCallback | None,
        xp: Any = np,
    ):
        self.matches: int | None = 0
        self._by_rows, self._by_vertices, self._enough, self._progress = by_rows, by_vertices, enough, progress
        self._xp = xp
        self._found: Any = None  # int32 (pattern vertices, matches), each once
        self._waiting: list[Any] = []
        self._waiting_matches = 0

    def count(self) -> int:
        """The number of matches.

        Raises
        ------
        DeadlinePassed
        """
        if self._collect():
            return self.matches or 0
        run: Count = self._by_vertices()
        try:
            return run.count()
        finally:
            self.matches = run.matches

    total = count

    def blocks(self) -> Iterator[RowBlock]:
        """Blocks of matches, without rows; after a deadline those that are known to be distinct.

        Raises
        ------
        DeadlinePassed
        """
        try:
            complete = self._collect()
        except DeadlinePassed:
            yield from self._kept()
            raise
        if complete:
            yield from self._kept()
        else:
            yield from self._by_vertices().blocks()

    def _kept(self) -> Iterator[RowBlock]:
        if self._found is not None:
            yield RowBlock(self._found, self._xp.empty((0, self._found.shape[1]), np.int64))

    def _collect(self) -> bool:
        """Walk rows and keep each match once; whether all were kept."""
        blocks = self._by_rows(None if self._progress is None else self._report).blocks()
        try:
            for block in blocks:
                self._waiting.append(block.vertices)
                self._waiting_matches += block.vertices.shape[1]
                kept, enough = self.matches or 0, self._enough or MOST_KEPT
                if self._waiting_matches >= min(enough, max(LEAST_WAITING, kept)):
                    self._drop_repeats()
                    kept = self.matches or 0
                if self._enough is not None and kept >= self._enough:
                    return True
                if kept > MOST_KEPT:
                    self._found, self.matches = None, 0
                    return False
        finally:
            blocks.close()
        self._drop_repeats()
        return True

    def _report(self, done: float, _rows: int) -> None:
        if self._progress is not None:
            self._progress(done, self.matches or 0)

    def _drop_repeats(self) -> None:
        if self._waiting:
            parts = self._waiting if self._found is None else [self._found, *self._waiting]
            self._found = _distinct(self._xp, self._xp.concatenate(parts, axis=1))
            self._waiting, self._waiting_matches = [], 0
            self.matches = self._found.shape[1]


def _distinct(xp: Any, vertices: Any) -> Any:
    """The distinct columns of an int32 array, in order; two rows at a time are one key."""
    padded = vertices if len(vertices) % 2 == 0 else xp.concatenate([vertices, xp.zeros_like(vertices[:1])])
    keys = [(padded[i].astype(np.int64) << 32) | padded[i + 1] for i in range(0, len(padded), 2)]
    order = xp.lexsort(xp.stack(keys[::-1])) if len(keys) > 1 else xp.argsort(keys[0])
    new = xp.zeros(vertices.shape[1], bool)
    new[:1] = True
    for key in keys:
        ordered = key[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    return xp.ascontiguousarray(vertices[:, order[new]])
