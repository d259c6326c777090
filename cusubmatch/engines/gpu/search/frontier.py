"""A frontier: partial matches of one level, each with a part of its first list; and ranks found in it by counts.

The places of a frontier are the candidates in those parts, one after the other; a task is 2**shift consecutive places.
Places fall into groups, one for each task of the frontier before, and a rank counts the matches of its group. Parts
lie in device memory; of places only those that were drawn are looked at in host memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Frontier", "TaskSums", "carry", "on_host"]

LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


class Frontier(NamedTuple):
    """Partial matches, and what is searched of their first lists.

    Attributes
    ----------
    level : int
        Vertices of a partial match.
    whole : bool
        Whether a place is a partial match instead of a candidate.
    words : (parts, level + 1) uint32
        The vertices, and the weight where one is carried.
    bases : (parts,) as the graph's offsets
        Where the parts begin; none is empty.
    ends : (parts,) int64
        Their lengths summed up.
    edges : int64 array in host memory
        The places where groups begin, and where the last one ends.
    """

    level: int
    whole: bool
    words: Any
    bases: Any
    ends: Any
    edges: np.ndarray

    @property
    def places(self) -> int:
        return int(self.edges[-1])

    def batches(self, most: int) -> Iterator[tuple[int, int, Frontier]]:
        """The frontier in consecutive groups of at most so many places, or one group: (first group, end, frontier)."""
        groups, begin = len(self.edges) - 1, 0
        if self.places <= most:
            yield 0, groups, self
            return
        parts = self._parts(self.edges)
        while begin < groups:
            end = max(int(np.searchsorted(self.edges, self.edges[begin] + most, side="right")) - 1, begin + 1)
            batch = slice(int(parts[begin]), int(parts[end]))
            before = self.ends[batch.start - 1] if batch.start else 0
            edges = self.edges[begin : end + 1] - self.edges[begin]
            yield (
                begin,
                end,
                self._replace(
                    words=self.words[batch], bases=self.bases[batch], ends=self.ends[batch] - before, edges=edges
                ),
            )
            begin = end

    def cut(self, tasks: np.ndarray, shift: int) -> Frontier:
        """The places of the given tasks, a group a task; whole partial matches stay whole where tasks have several."""
        xp = _module(self.ends)
        begin = tasks << shift
        end = np.minimum(begin + (1 << shift), self.places)
        first, last = self._parts(begin), self._parts(end - 1)
        sizes = last - first + 1
        parts = np.repeat(first - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
        index = xp.asarray(parts)
        low, high = self._begins(index), self.ends[index]
        words, bases = self.words[index], self.bases[index]
        if not self.whole:
            task = np.repeat(np.arange(len(tasks)), sizes)
            inside = xp.maximum(low, xp.asarray(begin[task]))
            high = xp.minimum(high, xp.asarray(end[task]))
            bases = (bases + (inside - low)).astype(bases.dtype)
            low = inside
        ends = xp.cumsum(high - low)
        whole = self.whole and shift > 0
        sums = np.cumsum(end - begin) if whole or not self.whole else on_host(ends)
        return Frontier(self.level, whole, words, bases, ends, np.concatenate([[0], sums]))

    def reached(self, places: np.ndarray, targets: Any) -> Any:
        """Partial matches that have the candidates at some places too: (places, level + 2) uint32, as `words`."""
        xp = _module(self.ends)
        index, parts = xp.asarray(places), xp.asarray(self._parts(places))
        arcs = self.bases[parts].astype(np.int64) + (index - self._begins(parts))
        words = self.words[parts]
        vertices = targets[arcs].view(np.uint32)[:, None]
        return xp.ascontiguousarray(xp.concatenate([words[:, :-1], vertices, words[:, -1:]], axis=1))

    def _parts(self, places: np.ndarray) -> np.ndarray:
        """The parts that places are in, in host memory."""
        if self.whole:
            return places
        return on_host(_module(self.ends).searchsorted(self.ends, _module(self.ends).asarray(places), side="right"))

    def _begins(self, parts: Any) -> Any:
        """The places where parts begin."""
        return _module(self.ends).where(parts > 0, self.ends[parts - 1], 0)


class TaskSums:
    """Running sums of the counts of tasks: on the device, or as Python ints where 64 bits might not hold them.

    Parameters
    ----------
    counters : (tasks, 2) uint64
        A count is the first word and the second one times 2**32.
    max_device_sum : int
        Counts whose sum is smaller are summed up on the device; 2**63 at most.
    """

    def __init__(self, counters: Any, max_device_sum: int = 1 << 63):
        xp = _module(counters)
        low, high = (int(word) for word in carry(counters).sum(axis=0).tolist())
        self.total = low + (high << 32)
        if self.total < max_device_sum:
            self.sums = xp.cumsum((counters[:, 0] + (counters[:, 1] << HALF)).astype(np.int64))
        else:
            words = on_host(counters).astype(object)
            self.sums = np.cumsum(words[:, 0] + (words[:, 1] << 32))
        self.dtype = self.sums.dtype

    def before(self, tasks: np.ndarray) -> np.ndarray:
        """The sum of the counts of all earlier tasks, in host memory."""
        if not len(self.sums):
            return np.zeros(len(tasks), np.int64)
        before = on_host(self.sums[_module(self.sums).asarray(np.maximum(tasks - 1, 0))])
        return np.where(tasks > 0, before, 0)

    def find(self, first: np.ndarray, ranks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The tasks that hold the matches of those ranks from the first of each task on, and the ranks in them."""
        places = (self.before(first) + ranks).astype(self.dtype)
        xp = _module(self.sums)
        tasks = on_host(xp.searchsorted(self.sums, xp.asarray(places), side="right"))
        return tasks, places - self.before(tasks)


def carry(counters: Any) -> Any:
    """The counters, less than 2**32 in each first word."""
    counters[:, 1] += counters[:, 0] >> HALF
    counters[:, 0] &= LOW
    return counters


def on_host(array: Any) -> np.ndarray:
    return array if isinstance(array, np.ndarray) else array.get()


def _module(array: Any) -> Any:
    """NumPy, or CuPy for its arrays."""
    if isinstance(array, np.ndarray):
        return np
    import cupy

    return cupy
