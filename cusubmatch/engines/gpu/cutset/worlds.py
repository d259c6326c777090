"""The worlds of a count, as many at a time as there is memory for; first a sample, from which a count may be judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.conditioning import state_format as p
from cusubmatch.engines.gpu.conditioning.program import pattern_words
from cusubmatch.engines.gpu.conditioning.row_sets import fill_store
from cusubmatch.engines.gpu.cutset import state_format as f
from cusubmatch.engines.gpu.cutset import world_kernels as k
from cusubmatch.engines.gpu.cutset.launch_shapes import block_shape
from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.gpu.runtime.transfer import to_host
from cusubmatch.plan.candidate_graph import CandidateGraph

__all__ = ["WorldBatch", "Worlds"]

WORD_BITS = 32
WRITING_WARPS = 512  # that write worlds at the same time, each with room for a world's elements
SAMPLED = 16  # one of so many worlds is in the sample
FEWEST = 4  # worlds of a sample
MOST_WORDS = 1 << 31  # of rows: places in them are 32 bits


class WorldBatch(NamedTuple):
    """Worlds in device memory.

    Attributes
    ----------
    number : int
    share : float
        Of the work on all worlds, about, that these take.
    worlds, rows : uint32 arrays
        What is known of each (`world_kernels`), and the rows.
    """

    number: int
    share: float
    worlds: Any
    rows: Any


class Worlds:
    """The worlds of a candidate graph that lies in host memory.

    Parameters
    ----------
    local : CandidateGraph
    order : sequence of int
        The vertices, the root first.
    gpu : Device
    xp : module
        NumPy or CuPy.

    Attributes
    ----------
    n, root : int
        Pattern vertices, and the one that is matched in each world.
    width : int
        Words of the longest set of all worlds.
    edges, conflicts : list of int
        Of each vertex, the others but the root that it is joined to, and that it is in conflict with, as bits.

    Raises
    ------
    MemoryError
    """

    def __init__(self, local: CandidateGraph, order: Sequence[int], gpu: Device, xp: Any):
        self.n, self.root, self.gpu, self.xp = len(order), order[0], gpu, xp
        masks = np.asarray(local.candidates.masks)
        words, _ = pattern_words(local, order)
        self._locals, self._set_words = len(masks), -(-len(masks) // WORD_BITS)
        words[p.VERTICES], words[p.ROOT], words[p.LOCALS] = self.n, self.root, self._locals
        words[p.ROWS] = self.n * self._set_words
        others = [0 if v == self.root else ~(1 << self.root) for v in range(self.n)]
        self.conflicts = [words[p.CONFLICTS + v] & others[v] for v in range(self.n)]
        self.edges = [words[p.NEIGHBOURS + v] & others[v] for v in range(self.n)]
        self._program = gpu.to_device(xp.asarray(np.array(words, np.uint32)))
        self._store = xp.empty(self._set_words * (self.n + len(local.adjacency.offsets) * self._locals), np.uint32)
        fill_store(local, self._set_words, self._store, gpu, xp)
        self._narrow(np.flatnonzero(masks >> masks.dtype.type(self.root) & 1).astype(np.int32))

    @property
    def number(self) -> int:
        """How many there are."""
        return len(self._known)

    @property
    def near(self) -> list[int]:
        """Of each vertex, the others that it is joined to or in conflict with."""
        return [edges | conflicts for edges, conflicts in zip(self.edges, self.conflicts, strict=True)]

    def _narrow(self, roots: np.ndarray) -> None:
        """Narrow the sets of all worlds; forget those in which a vertex has no candidate."""
        gpu, xp = self.gpu, self.xp
        sets = xp.empty((len(roots), self.n * self._set_words), np.uint32)
        worlds = xp.zeros((len(roots), k.WORLD_WORDS), np.uint32)
        most = max(edges.bit_count() for edges in self.edges)
        shape = block_shape(gpu, k.SETS + (self.n + most) * self._set_words, 1)
        k.make_narrow_worlds(gpu.target)[shape.launch()](
            self._program,
            gpu.to_device(xp.asarray(f.pattern_words(self.edges, self.conflicts))),
            gpu.to_device(self._store),
            gpu.to_device(xp.asarray(roots)),
            np.uint32(self._set_words),
            gpu.to_device(sets.ravel()),
            gpu.to_device(worlds.ravel()),
        )
        known = to_host(worlds)
        counts = known[:, k.COUNTS : k.COUNTS + self.n]
        left = np.flatnonzero(np.delete(counts, self.root, axis=1).min(axis=1, initial=1) > 0)
        work = _work(counts[left])
        order = _sample_first(work)
        left, self._shares = left[order], work[order] / work.sum()
        self._sets, self._known = sets[xp.asarray(left)], known[left]
        counts = counts[left].astype(np.int64)
        degrees = np.array([near.bit_count() for near in self.near])
        widths = -(-counts.max(axis=1, initial=0) // WORD_BITS)
        self._sizes = counts * degrees * widths[:, None]  # words of the rows, by world and vertex
        self._known[:, k.WIDTH] = widths
        self.width = int(widths.max(initial=1))

    def batches(self, row_words: int) -> Iterator[WorldBatch]:
        """The sample, then all other worlds; so many that their rows have no more words than that, or one at least."""
        ends, begin, sample = np.cumsum(self._sizes.sum(axis=1)), 0, _sample_size(self.number)
        while begin < len(ends):
            before = ends[begin - 1] if begin else 0
            end = max(int(np.searchsorted(ends, before + row_words, "right")), begin + 1)
            end = min(end, sample) if begin < sample else end
            yield self._written(begin, end)
            begin = end

    def _written(self, begin: int, end: int) -> WorldBatch:
        """Some of the worlds."""
        gpu, xp, sizes = self.gpu, self.xp, self._sizes[begin:end]
        number, lanes = end - begin, gpu.target.WARP
        words = int(sizes.sum())
        if words >= MOST_WORDS:
            raise MemoryError
        known = self._known[begin:end].copy()
        known[:, k.BEGINS : k.BEGINS + self.n] = (np.cumsum(sizes) - sizes.ravel()).reshape(number, self.n)
        worlds, rows = xp.asarray(known.ravel()), xp.empty(words, np.uint32)
        warps = WRITING_WARPS if lanes > 1 else 1  # whatever the number is: another shape of launches is to be loaded
        k.make_write_worlds(gpu.target)[warps, lanes](
            self._program,
            gpu.to_device(self._store),
            np.uint32(self._set_words),
            gpu.to_device(self._sets[begin:end].ravel()),
            gpu.to_device(worlds),
            gpu.to_device(xp.empty(warps * self.n * self._locals, np.uint32)),
            gpu.to_device(rows),
        )
        return WorldBatch(number, float(self._shares[begin:end].sum()), worlds, rows)


def _sample_size(number: int) -> int:
    """Worlds of a sample of so many; 0 if these are few."""
    size = -(-number // SAMPLED)
    return size if size >= FEWEST else 0


def _work(counts: np.ndarray) -> np.ndarray:
    """How much work worlds with such numbers of candidates are, about; the largest one 1.

    It is the combinations of about half of the vertices: some are matched, some others in a table together.
    """
    size = np.log(np.maximum(counts, 1)).sum(axis=1) / 2
    return np.exp(size - size.max(initial=0.0))


def _sample_first(work: np.ndarray) -> np.ndarray:
    """Worlds in the order in which they are counted: those of the sample, which are of all sizes, then the others."""
    by_work = np.argsort(-work, kind="stable")
    is_sampled = np.arange(len(work)) % SAMPLED == 0
    return np.concatenate([by_work[is_sampled], by_work[~is_sampled]]) if _sample_size(len(work)) else by_work
