"""A uniform sample of matches while all of them are walked.

Each match gets a random number, a hash of its vertices and rows under a key, and those with the least numbers are kept
(bottom-k sampling: Cohen and Kaplan, "Summarizing data using bottom-k sketches", PODC 2007). So the sample does not
depend on the order in which threads find matches, and no more than a few times the sample is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from cusubmatch.engines.prepared import RowBlock

__all__ = ["RandomChoice", "hashed", "mixed"]

MIN_WAITING = 1 << 16  # matches beyond the sample that are kept until the least are chosen anew


class RandomChoice:
    """A sample of at most `n` matches.

    Parameters
    ----------
    n : int
    key : int
        The same key chooses the same of some matches.
    named : sequence of int
        The pattern vertices whose images are kept; the hash is of all.

    Attributes
    ----------
    count : int
        Matches so far.
    """

    def __init__(self, n: int, key: int, named: Sequence[int]):
        self.count = 0
        self._n, self._key, self._named = n, key, list(named)
        self._blocks: list[RowBlock] = []
        self._numbers: list[np.ndarray] = []
        self._waiting, self._most = 0, np.iinfo(np.uint64).max

    @property
    def kept(self) -> int:
        """Matches that are kept so far."""
        return sum(map(len, self._numbers))

    def add(self, block: RowBlock, expansion: int = 0) -> None:
        """Take some of the matches, of one of several patterns, whose matches may have the same vertices."""
        size = block.vertices.shape[1]
        self.count += size
        if not self._n or not size:
            return
        key = mixed(np.array([self._key], np.uint64), expansion)[0] if expansion else self._key
        numbers = hashed((*block.vertices, *block.rows), size, key)
        least = numbers <= self._most
        self._blocks.append(RowBlock(block.vertices[self._named][:, least], block.rows[:, least]))
        self._numbers.append(numbers[least])
        self._waiting += int(least.sum())
        if self._waiting >= max(MIN_WAITING, self._n):
            self.chosen()

    def chosen(self) -> RowBlock | None:
        """The sample of the matches so far, in random order; None if it is empty."""
        if not self._blocks:
            return None
        numbers = np.concatenate(self._numbers)
        order = np.argsort(numbers, kind="stable")[: self._n]
        vertices, rows = (np.concatenate(part, axis=1)[:, order] for part in zip(*self._blocks, strict=True))
        self._blocks, self._numbers, self._waiting = [RowBlock(vertices, rows)], [numbers[order]], 0
        if len(order) == self._n:
            self._most = self._numbers[0][-1]
        return self._blocks[0]


def hashed(lines: Iterable[np.ndarray], size: int, key: int) -> np.ndarray:
    """A 64-bit hash of each column of some lines, uint64 (size,), under a key."""
    numbers = np.full(size, key, np.uint64)
    for line in lines:
        numbers = mixed(numbers, line)
    return numbers


def mixed(numbers: np.ndarray, line: np.ndarray | int) -> np.ndarray:
    """Hashes with one more number in each: the mixer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    numbers = numbers + np.atleast_1d(line).astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    numbers ^= numbers >> np.uint64(30)
    numbers *= np.uint64(0xBF58476D1CE4E5B9)
    numbers ^= numbers >> np.uint64(27)
    numbers *= np.uint64(0x94D049BB133111EB)
    numbers ^= numbers >> np.uint64(31)
    return numbers
