"""The kernels of a decomposition on the GPU: launches over edges, or over the vertices that cycles are found from.

Vertices come by falling work, so that the last ones to be drawn are small. Long work is launched in pieces, with a look
at the clock between them. Blocks have rows of one number a vertex each; there are no more blocks than such rows may
take memory.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.csr import row_lengths
from cusubmatch.folding import Folding
from cusubmatch.gpu.clique_tables import make_cliques
from cusubmatch.gpu.entries import make_mates
from cusubmatch.gpu.loops import LONG, make_fives, make_loops
from cusubmatch.gpu.machine import Machine, machine
from cusubmatch.gpu.pairs import make_pairs
from cusubmatch.gpu.pieces import PIECE_S, Launches, Step, ranges
from cusubmatch.gpu.triangle_tables import (
    make_pinched,
    make_triangles,
    make_weighted_pinched,
    make_weighted_triangles,
)
from cusubmatch.gpu.warp import grid
from cusubmatch.gpu.wedges import (
    FEW,
    FEW_THREADS,
    SLOTS,
    TICKET,
    make_few_fours,
    make_fours,
    make_paths,
    make_wedges,
)
from cusubmatch.skeleton import Skeleton, sources_of

__all__ = ["Kernels", "mates"]

U, L, S = np.uint32, np.uint64, np.int64

THREADS = 512  # of a block that takes a vertex,
EDGE_THREADS = 256  # or edges
LANES = 8  # for a list
WINDOW = 12_000  # words of counters in shared memory
MOST_PACKED = (1 << 15) - 1  # what a counter of half a word can count to
BLOCKS = 4  # of a multiprocessor
EDGE_BLOCKS = 8
ROWS_BYTES = 4 << 30  # of the blocks' rows
# Low estimates: steps a second
WEDGES, WEIGHTED_WEDGES, LOOPS, WEIGHTED_LOOPS = 2e10, 1e9, 2e9, 2e8
EDGES, WEIGHTED_EDGES, CLIQUE_EDGES, PATHS = 2e8, 5e7, 5e6, 2e9


class Shape(NamedTuple):
    """How kernels are launched: threads of a block, lanes a list, words of a window, blocks of a multiprocessor.

    A list of `long` entries is gone over by a whole block.
    """

    threads: int = THREADS
    lanes: int = LANES
    window: int = WINDOW
    blocks: int = BLOCKS
    edge_threads: int = EDGE_THREADS
    long: int = LONG


class Tops(NamedTuple):
    """Vertices by falling work, int32, and the sums of their work up to each.

    `many` have more than `FEW` steps each, `most` more than a window has words.
    """

    vertices: Any
    cumulative: Any
    work: float
    many: int
    most: int


class Rows(NamedTuple):
    """Rows for so many blocks, as kernels take them."""

    blocks: int
    given: Any


class Kernels(Folding):
    """Kernels on a skeleton in device memory.

    Parameters
    ----------
    skeleton : Skeleton
    pulse : callable
        Called as pulse(share of the kernel that is done) now and then; what it raises ends the kernel.
    gpu : Machine, optional
        Where to run; default the current GPU.
    shape : Shape
    """

    def __init__(
        self, skeleton: Skeleton, pulse: Callable[[float], None], gpu: Machine | None = None, shape: Shape | None = None
    ):
        self.skeleton, self.pulse, self.gpu, self.xp = skeleton, pulse, gpu or machine(), skeleton.xp
        shape = shape or Shape()
        if self.gpu.target.WARP == 1:
            shape = shape._replace(threads=1, edge_threads=1, lanes=1)
        self.shape = shape
        self.n = skeleton.vertices
        self.packed = skeleton.keep("lower neighbours", self._most_below) <= MOST_PACKED
        self.words = self.n // 2 + 1 if self.packed else self.n  # of a row of counters
        self.window = min((1 + self.packed) * shape.window, self.n)
        self._one = self._given(self.xp.ones(1, np.uint64))
        self._scratch: dict[tuple, tuple[Any, Any]] = {}

    def rows(self, values: Any, weights: Any, prime: int) -> Any:
        """Over vertices: the sums of the rows of an array over entries, times weights of the targets."""
        skeleton, xp = self.skeleton, self.xp
        if values is None and weights is None:
            return row_lengths(skeleton.offsets).astype(np.uint64)
        if weights is not None:
            weights = weights[skeleton.targets]
            values = weights if values is None else values * weights
            values = values % L(prime) if prime else values
        sums = xp.zeros(len(values) + 1, np.uint64)
        xp.cumsum(values, out=sums[1:])
        sums = sums[skeleton.offsets]
        sums = sums[1:] - sums[:-1]
        return sums % L(prime) if prime else sums

    def triangles(self) -> Any:
        """See `Folding`."""
        return self._table_by_edge(self._edgewise(make_triangles), EDGES, ())

    def weighted_triangles(self, values: Sequence, prime: int) -> Any:
        """See `Folding`."""
        kernel, rest = self._edgewise(make_weighted_triangles), (*self._masked(values), L(prime))
        return self._table_by_edge(kernel, WEIGHTED_EDGES, rest)

    def wedges(self) -> Any:
        """See `Folding`."""
        out = self.xp.zeros(len(self.skeleton.targets), np.uint64)
        self._counted(self._blockwise(make_wedges, self.packed), self._wedges, (self._given(out),))
        return out

    def fours(self, prime: int) -> int:  # noqa: ARG002 - the count is exact
        """See `Folding`."""
        tops = self._wedges
        few = self._few_fours(tops)
        return few + self._counted(self._blockwise(make_fours, self.packed), tops, (), tops.many)

    def _counted(self, kernel, tops, rest, most=None):
        """The count of a kernel with counters, at the first tops."""
        rows = self._rows(np.uint32, self.words, 1)
        rest = (U(tops.most), S(self.window), rows.given, S(self.words), *rest)
        return self._by_top(kernel, tops, WEDGES, rows.blocks, rest, self.shape.window, most)

    def _few_fours(self, tops):
        """The cycles of four at tops with few wedges."""
        threads = FEW_THREADS if self.gpu.target.WARP > 1 else 1
        kernel = make_few_fours(self.gpu.target, threads, SLOTS)
        launch = kernel[grid(self.gpu.target, EDGE_BLOCKS * self.gpu.processors, threads)]
        given = *self._graph, self._given(tops.vertices), S(tops.many), S(len(tops.vertices))
        return self._run(lambda _: [Step(0.0, lambda state: launch(*given, state))], 0.0)

    def paths_below(self, weights: Sequence, *, towards_top: bool, prime: int) -> Any:
        """See `Folding`."""
        out = self.xp.zeros(len(self.skeleton.targets), np.uint64)
        rows = self._rows(np.uint64, self.n, 1)
        rest = (*self._masked(weights), U(towards_top), L(prime), rows.given, S(self.n), self._given(out))
        self._by_top(self._blockwise(make_paths), self._wedges, WEIGHTED_WEDGES, rows.blocks, rest)
        return out % L(prime) if prime else out

    def fives(self) -> int:
        """See `Folding`."""
        rows, seen = self._rows(np.uint32, self.words, 1), self._rows(np.int32, self.n, 1)
        kernel, blocks = self._blockwise(make_fives, self.packed, self.shape.long), min(rows.blocks, seen.blocks)
        rest = (S(self.window), rows.given, S(self.words), seen.given, S(self.n))
        walks = self._by_top(kernel, self._walks, LOOPS, blocks, rest, self.shape.window)
        return walks - self._by_edge(self._edgewise(make_pinched), EDGES, ())

    def loops(self, values: Sequence, backs: Sequence, above: Any, prime: int) -> int:
        """See `Folding`."""
        (one, two, three, four, _), (_, two_back, three_back, four_back, five_back) = values, backs
        rows, seen = self._rows(np.uint64, self.n, 4), self._rows(np.int32, self.n, 1)
        sides = [self._masked([one])]
        for there, back in ((two, two_back), (three, three_back), (four, four_back)):
            sides.append((*self._masked([there]), self._masked([back])[0]))
        sides.append(self._masked([five_back]))
        rest = (*(part for side in sides for part in side), L(prime), rows.given, seen.given, S(self.n))
        kernel, blocks = make_loops(self.gpu.target, self.shape.threads), min(rows.blocks, seen.blocks)
        walks = self._by_top(kernel, self._walks, WEIGHTED_LOOPS, blocks, rest)
        rest = (*self._masked((two, three, four)), self._given(above), L(prime))
        pinched = self._by_edge(self._edgewise(make_weighted_pinched), WEIGHTED_EDGES, rest)
        return walks - pinched

    def cliques(self, values: Sequence, prime: int) -> Any:
        """Over entries (x, y): sums over ordered pairs w, z that make a clique with x and y.

        The values are those of (x, w), (x, z), (w, z), (w, y) and (z, y).
        """
        plain, skeleton = all(value is None for value in values), self.skeleton
        longest = max(int((skeleton.offsets[1:] - skeleton.upper).max()) if self.n else 0, 1)
        warps = self.shape.edge_threads // self.gpu.target.WARP
        blocks = max(1, min(EDGE_BLOCKS * self.gpu.processors, ROWS_BYTES // (16 * longest * warps)))
        common = self._given(self.xp.empty(2 * longest * warps * blocks, np.int64))
        kernel = make_cliques(self.gpu.target, self.shape.edge_threads, not plain)
        rest = (*self._masked(values), L(prime), common, S(longest))
        out = self._table_by_edge(kernel, CLIQUE_EDGES, rest, blocks)
        if plain:
            out += out[skeleton.mate]
        return out % L(prime) if prime else out

    def pairs(self, ends: Sequence, paths: Sequence, below: bool, apart: bool, prime: int) -> int:
        """The sum over pairs of vertices of the product of their weights and of powers of their paths of two.

        `paths` has one or two (values, power); with `below`, each pair is looked at from one end.
        """
        (first, power), (second, other) = paths if len(paths) == 2 else (*paths, ((None, None), 0))
        rows, seen = self._rows(np.uint64, self.n, 2), self._rows(np.int32, self.n, 1)
        kinds = (*self._masked(first), S(power), *self._masked(second), S(other))
        rest = (*kinds, *self._masked(ends), U(below), U(apart), L(prime), rows.given, seen.given, S(self.n))
        total = self._by_top(self._blockwise(make_pairs), self._paths, PATHS, min(rows.blocks, seen.blocks), rest)
        return total % (prime or 1 << 64)

    # What is launched

    def _blockwise(self, make, *more):
        return make(self.gpu.target, self.shape.threads, self.shape.lanes, *more)

    def _edgewise(self, make):
        return make(self.gpu.target, self.shape.edge_threads, self.shape.lanes)

    def _by_top(self, kernel, tops, a_second, blocks, rest, window=0, most=None):
        """The count of a kernel that draws vertices by tickets, the first ones at most."""
        cumulative = tops.cumulative[:most]
        blocks = min(blocks, len(cumulative))
        if not blocks:
            return 0
        launch = kernel[(*grid(self.gpu.target, blocks, self.shape.threads), 4 * window)]
        given = *self._graph, self._given(tops.vertices)

        def step(start, stop, state):
            launch(*given, U(start), U(stop), *rest, state)

        def steps(most_s):
            for start, stop, work in ranges(self.xp, cumulative, tops.work, most_s * a_second):
                yield Step(work / a_second, functools.partial(step, start, stop), TICKET)

        return self._run(steps, tops.work / a_second)

    def _table_by_edge(self, kernel, a_second, rest, blocks=None):
        """The table that a kernel over the edges makes."""
        out = self.xp.zeros(len(self.skeleton.targets), np.uint64)
        self._by_edge(kernel, a_second, (*rest, self._given(out)), blocks, counts=False)
        return out

    def _by_edge(self, kernel, a_second, rest, blocks=None, counts=True):
        """The count of a kernel over the edges."""
        edges = len(self._lists[0])
        launch = kernel[grid(self.gpu.target, blocks or EDGE_BLOCKS * self.gpu.processors, self.shape.edge_threads)]

        def step(start, stop, state):
            launch(*self._graph, *self._edges, S(start), S(stop), *rest, *([state] if counts else []))

        def steps(most_s):
            pieces = max(1, math.ceil(edges / (most_s * a_second)))
            for i in range(pieces):
                launch = functools.partial(step, edges * i // pieces, edges * (i + 1) // pieces)
                yield Step(edges / pieces / a_second, launch)

        return self._run(steps, edges / a_second)

    def _run(self, steps, total_s):
        launches = Launches(self.gpu.target, self.xp, self.gpu.to_device, total_s, same=False)
        return launches.count(steps, lambda done, _: self.pulse(done), PIECE_S)

    # What kernels are given

    def _given(self, array):
        return self.gpu.to_device(array)

    @functools.cached_property
    def _graph(self):
        graph = self.skeleton
        return tuple(self._given(array) for array in (graph.offsets, graph.targets, graph.upper, graph.mate))

    def _masked(self, values):
        """Arrays and the masks of their indices: ones are a single number."""
        return tuple(
            part for value in values for part in ((self._one, S(0)) if value is None else (self._given(value), S(-1)))
        )

    def _rows(self, dtype, stride, each):
        """Rows of zeros for as many blocks as may have some, kept for the next kernel: kernels leave them so."""
        key = np.dtype(dtype), each
        if key not in self._scratch:
            size = max(stride * each, 1)
            blocks = max(1, min(self.shape.blocks * self.gpu.processors, ROWS_BYTES // (size * key[0].itemsize)))
            array = self.xp.zeros(size * blocks, dtype)
            self._scratch[key] = Rows(blocks, self._given(array))
        return self._scratch[key]

    @property
    def _lists(self):
        """The places of the entries (x, y), x < y, and x."""

        def make():
            sources = sources_of(self.xp, self.skeleton.offsets)
            edges = self.xp.nonzero(self.skeleton.targets > sources)[0]
            return edges, sources[edges]

        return self.skeleton.keep("edges", make)

    @functools.cached_property
    def _edges(self):
        edges, lows = self._lists
        return self._given(lows), self._given(edges)

    @property
    def _wedges(self):
        """The vertices below which paths of two can meet."""
        return self._below("wedges", 2)

    @property
    def _walks(self):
        """The vertices that have wedges below them."""
        return self._below("walks", 1)

    def _below(self, name, least):
        """The vertices with so many lower neighbours, by the wedges below them."""

        def make():
            skeleton = self.skeleton
            steps = skeleton.mate - skeleton.offsets[skeleton.targets]  # for entries (u, v), u > v
            return self._tops(steps, skeleton.upper, skeleton.upper - skeleton.offsets[:-1] >= least)

        return self.skeleton.keep(name, make)

    def _most_below(self):
        skeleton = self.skeleton
        return int((skeleton.upper - skeleton.offsets[:-1]).max()) if self.n else 0

    @property
    def _paths(self):
        """All vertices with neighbours, by their paths of two."""

        def make():
            offsets = self.skeleton.offsets
            lengths = row_lengths(offsets)
            return self._tops(lengths[self.skeleton.targets], offsets[1:], lengths > 0)

        return self.skeleton.keep("paths", make)

    def _tops(self, steps, ends, wanted):
        """The wanted vertices with anything to do, by the sums of steps over their entries up to `ends`."""
        xp, offsets = self.xp, self.skeleton.offsets
        sums = xp.zeros(len(steps) + 1, np.int64)
        xp.cumsum(steps, out=sums[1:])
        work = sums[ends] - sums[offsets[:-1]]
        vertices = xp.nonzero(wanted & (work > 0))[0]
        work = work[vertices]
        order = xp.argsort(-work, kind="stable")
        work = work[order]
        cumulative = xp.cumsum(work.astype(np.float64))
        numbers = [(work > least).sum() for least in (FEW, self.shape.window)]
        total = float(cumulative[-1]) if len(vertices) else 0.0
        return Tops(vertices[order].astype(np.int32), cumulative, total, *map(int, numbers))


def mates(offsets: Any, targets: Any, gpu: Machine | None = None) -> Any:
    """Of each entry (x, y) of symmetric rows the place of (y, x), int64."""
    import cupy

    return mates_on(gpu or machine(), cupy, offsets, targets)


def mates_on(gpu: Machine, xp: Any, offsets: Any, targets: Any) -> Any:
    """`mates` on any machine."""
    found = xp.empty(len(targets), np.int64)
    if len(targets):
        launch = make_mates(gpu.target, EDGE_THREADS)[grid(gpu.target, EDGE_BLOCKS * gpu.processors, EDGE_THREADS)]
        launch(*(gpu.to_device(array) for array in (offsets, targets, found)))
    return found
