"""Matches that are their vertices, found by walking rows: every combination of rows is found, and each match kept once.

Where windows are narrow a walk over rows meets few combinations, while a walk over vertices meets every vertex that an
edge leads to and asks for rows afterwards. So rows are walked as long as the matches fit a bound; beyond it the walk
over vertices, which keeps nothing, begins anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from cusubmatch.engines.prepared import RowBlock
from cusubmatch.engines.runs import Count, ProgressCallback
from cusubmatch.errors import DeadlinePassed

__all__ = ["DistinctMatches"]

MOST_KEPT = 1 << 23  # matches; sorting so many and as many again takes a second or two
LEAST_WAITING = 1 << 18  # before repeated ones are dropped
MULTIPLIER, HALF_WORD = np.uint64(0x9E3779B97F4A7C15), 32  # of the hash of a match; 2**64 by the golden ratio


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
        self._parts: list[Any] = []  # each match of one once
        self._parts_matches = 0

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
                if self._waiting_matches >= min(enough, LEAST_WAITING):
                    self._drop_waiting_repeats()
                    if self._enough is not None or self._parts_matches >= max(LEAST_WAITING, kept):
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

    def _drop_waiting_repeats(self) -> None:
        """Keep what waits once, while it is in the caches; repeated matches come one soon after the other."""
        if self._waiting:
            self._parts.append(_distinct(self._xp, self._xp.concatenate(self._waiting, axis=1)))
            self._parts_matches += self._parts[-1].shape[1]
            self._waiting, self._waiting_matches = [], 0

    def _drop_repeats(self) -> None:
        self._drop_waiting_repeats()
        if self._parts:
            parts = self._parts if self._found is None else [self._found, *self._parts]
            self._found = _distinct(self._xp, self._xp.concatenate(parts, axis=1))
            self._parts, self._parts_matches = [], 0
            self.matches = self._found.shape[1]


def _distinct(xp: Any, vertices: Any) -> Any:
    """The distinct columns of an int32 array, sorted by a hash; where two have the same hash, by themselves."""
    hashed = xp.zeros(vertices.shape[1], np.uint64)
    for line in vertices:
        hashed = (hashed ^ line.astype(np.uint64)) * MULTIPLIER
        hashed ^= hashed >> np.uint64(HALF_WORD)
    order = xp.argsort(hashed)
    new, same = _changes(xp, vertices, order), hashed[order]
    if bool((new[1:] & (same[1:] == same[:-1])).any()):
        order = xp.lexsort(vertices[::-1])
        new = _changes(xp, vertices, order)
    return xp.ascontiguousarray(vertices[:, order[new]])


def _changes(xp: Any, vertices: Any, order: Any) -> Any:
    """Where in an order of the columns one differs from the one before it."""
    new = xp.zeros(vertices.shape[1], bool)
    new[:1] = True
    for line in vertices:
        ordered = line[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    return new
