"""The roots that are still to be counted, in ranges that threads take while they count.

Compiled code takes the next range by one atomic addition: a thread does not ask for the interpreter between two ranges,
which so many threads would wait for. What a thread leaves of a range, because its steps are spent, is put back.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import inner, jit
from cusubmatch.engines.cpu.primitives.pointers import fetch_add, pointer

__all__ = ["FEW_ROOTS", "RootQueue", "next_range"]

FEW_ROOTS = 16  # of a range that is put back, which are taken one by one
TAKEN, RANGES, FIRST = 0, 1, 2  # words of a queue: ranges that are taken, ranges, begin and end of the first


Range: TypeAlias = tuple[int, int]


@inner
def next_range(words):
    """The begin and the end of the next range, which is taken; both 0 if there is none. `words` is a pointer."""
    number = fetch_add(words, 1)
    if number >= words[RANGES]:
        return 0, 0
    at = FIRST + 2 * number
    return words[at], words[at + 1]


@jit
def _take_all(words):
    """Take all ranges that are left; the number of those before them."""
    return min(fetch_add(pointer(words), words[RANGES]), words[RANGES])


class RootQueue:
    """Ranges of roots that no thread has taken.

    Parameters
    ----------
    begin, end : int
        The first range.

    Attributes
    ----------
    words : int64
        What `next_range` takes ranges from; others stand here after `divide`.
    """

    def __init__(self, begin: int, end: int):
        self._lock, self._put_back = threading.Lock(), [(begin, end)]
        self.words = _words(())

    @property
    def roots(self) -> int:
        """How many roots no thread has taken."""
        with self._lock:
            roots = sum(end - begin for begin, end in self._put_back)
            if self.words[RANGES]:
                left = self._ranges(int(self.words[TAKEN]))
                roots += int((left[:, 1] - left[:, 0]).sum())
            return roots

    def take_back(self) -> Range:
        """Take a range that was put back; of no roots if there is none."""
        with self._lock:
            return self._put_back.pop() if self._put_back else (0, 0)

    def put_back(self, begin: int, end: int) -> None:
        """Let others take a range, if it has any roots; one root each where it was divided and has few."""
        few = end - begin <= FEW_ROOTS and self.words[RANGES] > 0
        ranges = [(root, root + 1) for root in range(begin, end)] if few else [(begin, end)]
        if begin < end:
            with self._lock:
                self._put_back += ranges

    def divide(self, parts: int) -> None:
        """Divide what is left into about so many ranges, all of which `next_range` finds; others may take some now."""
        with self._lock:
            left = [*self._put_back, *self._ranges(int(_take_all(self.words))).tolist()]
            self._put_back, self.words = [], _words(_divided(left, parts))

    def _ranges(self, first: int) -> np.ndarray:
        """The ranges from one on, a row each."""
        return self.words[FIRST:].reshape(-1, 2)[first:]


def _words(ranges: Iterable[Range]) -> np.ndarray:
    """The words of a queue of these ranges."""
    flat = [number for pair in ranges for number in pair]
    return np.array([0, len(flat) // 2, *flat], np.int64)


def _divided(ranges: Iterable[Iterable[int]], parts: int) -> Iterator[Range]:
    """The same numbers in about so many ranges, or one more for each."""
    ranges = [(begin, end) for begin, end in ranges]
    numbers = max(sum(end - begin for begin, end in ranges), 1)
    for begin, end in ranges:
        pieces = max(-(-(end - begin) * parts // numbers), 1)
        cuts = [begin + (end - begin) * i // pieces for i in range(pieces + 1)]
        yield from ((first, last) for first, last in pairwise(cuts) if first < last)
