"""The kernels of a decomposition on the GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.runtime.device import Device, current_device
from cusubmatch.engines.gpu.runtime.launch_batches import evenly
from cusubmatch.engines.gpu.runtime.warp import grid
from cusubmatch.engines.gpu.tables.clique_tables import make_cliques
from cusubmatch.engines.gpu.tables.five_cycles import LONG, make_fives, make_loops
from cusubmatch.engines.gpu.tables.four_cycles import (
    FEW,
    FEW_THREADS,
    SLOTS,
    make_few_fours,
    make_fours,
    make_paths,
    make_wedges,
)
from cusubmatch.engines.gpu.tables.pair_sums import pair_sum
from cusubmatch.engines.gpu.tables.reverse_arcs import make_reverse_arcs
from cusubmatch.engines.gpu.tables.schedule import ROWS_BYTES, Grid, Team
from cusubmatch.engines.gpu.tables.sparse_product import make_product
from cusubmatch.engines.gpu.tables.triangle_tables import (
    make_degenerate,
    make_triangles,
    make_weighted_degenerate,
    make_weighted_triangles,
)
from cusubmatch.engines.gpu.tables.vertex_schedule import tops
from cusubmatch.engines.table_algebra import TableAlgebra
from cusubmatch.graph.csr import row_lengths, running_sums
from cusubmatch.graph.support_graph import SupportGraph

__all__ = ["LaunchShape", "TableKernels", "reverse_arcs_on"]

U, L, S = np.uint32, np.uint64, np.int64

MOST_PACKED = (1 << 15) - 1  # what a counter of half a word can count to
# Low estimates: steps a second
WEDGES, WEIGHTED_WEDGES, LOOPS, WEIGHTED_LOOPS, PRODUCTS = 2e10, 1e9, 2e9, 2e8, 2e10
EDGES, WEIGHTED_EDGES, CLIQUE_EDGES = 2e8, 5e7, 5e6


class LaunchShape(NamedTuple):
    """How kernels are launched: those that count wedges, those for pairs, other ones that draw vertices, and by edge.

    `window`: words of shared memory for counters. A list of more than `long` entries is gone over by a whole block.
    """

    wedges: Grid = Grid(threads=1024, lanes=16, blocks=1)
    pairs: Grid = Grid(threads=512, lanes=16, blocks=2)
    tops: Grid = Grid(threads=512, lanes=8, blocks=2)
    edges: Grid = Grid(threads=256, lanes=8, blocks=8)
    window: int = 12_000
    long: int = LONG


class TableKernels(TableAlgebra):
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

    cells = 1 << 24  # 128 MB a matrix

    def __init__(
        self,
        support: SupportGraph,
        check_deadline: Callable[[float], None],
        gpu: Device | None = None,
        shape: LaunchShape | None = None,
    ):
        self.support, self.xp, self.gpu, shape = support, support.xp, gpu or current_device(), shape or LaunchShape()
        if self.gpu.target.WARP == 1:
            alone = Grid(1, 1, 1)
            shape = LaunchShape(alone, alone, alone, alone, shape.window, shape.long)
        self.shape, self.team = shape, Team(support, check_deadline, self.gpu)
        self.packed = support.keep("lower neighbours", self._most_below) <= MOST_PACKED
        self.words = support.vertices // 2 + 1 if self.packed else support.vertices  # of a row of counters
        self.window = min((1 + self.packed) * shape.window, support.vertices)

    def rows(self, values: Any, weights: Any, prime: int) -> Any:
        """See `TableAlgebra`."""
        support, xp = self.support, self.xp
        if values is None and weights is None:
            return row_lengths(support.offsets).astype(np.uint64)
        if weights is not None:
            weights = weights[support.targets]
            values = weights if values is None else values * weights
            values = values % L(prime) if prime else values
        sums = row_lengths(running_sums(xp, values, np.uint64)[support.offsets])
        return sums % L(prime) if prime else sums

    def triangles(self) -> Any:
        """See `TableAlgebra`."""
        return self.team.table_by_edge(self._made(make_triangles, self.shape.edges), self.shape.edges, EDGES, ())

    def weighted_triangles(self, values: Sequence, prime: int) -> Any:
        """See `TableAlgebra`."""
        kernel, rest = self._made(make_weighted_triangles, self.shape.edges), (*self.team.masked(values), L(prime))
        return self.team.table_by_edge(kernel, self.shape.edges, WEIGHTED_EDGES, rest)

    def wedges(self) -> Any:
        """See `TableAlgebra`."""
        out = self.xp.zeros(len(self.support.targets), np.uint64)
        self._counted(make_wedges, (self.team.given(out),), counts=False)
        return out

    def sparse_product(self, values: Any, columns: Any, prime: int) -> Any:
        """See `TableAlgebra`."""
        support, shape, out = self.support, self.shape.edges, self.xp.empty_like(columns)
        rows, width = columns.shape
        launch = make_product(self.gpu.target, shape.threads)[
            grid(self.gpu.target, shape.blocks * self.gpu.processors, shape.threads)
        ]
        given = (*self.team.graph[:2], *self.team.masked([values]), self.team.given(columns.reshape(-1)), S(width))
        flat = self.team.given(out.reshape(-1))

        def step(start, stop, _state):
            launch(*given, S(start), S(stop), L(prime), flat)

        total_s = len(support.targets) * width / PRODUCTS
        self.team.run(lambda most_s: evenly(rows, total_s, most_s, step), total_s, counts=False)
        return out

    def fours(self, prime: int) -> int:  # noqa: ARG002 - the count is exact
        """See `TableAlgebra`."""
        return self._counted(make_fours, (), most=self._tops(2).many, before=self._few_fours)

    def _counted(self, make, rest, **how):
        """The count of a kernel that counts wedges, at the first tops."""
        shape, found = self.shape.wedges, self._tops(2)
        kernel, rows = self._made(make, shape, self.packed), self.team.rows(np.uint32, self.words, shape)
        rest = (U(found.most), S(self.window), rows.given, S(self.words), *rest)
        return self.team.by_top(kernel, shape, found, WEDGES, rows.blocks, rest, words=self.shape.window, **how)

    def _few_fours(self, piece_s):
        """The launches for cycles of four at tops with few wedges."""
        threads, found = FEW_THREADS if self.gpu.target.WARP > 1 else 1, self._tops(2)
        few, most_s = found.number - found.many, FEW / WEDGES  # seconds of a top at most
        kernel = make_few_fours(self.gpu.target, threads, SLOTS)
        launch = kernel[grid(self.gpu.target, self.shape.edges.blocks * self.gpu.processors, threads)]

        def step(start, stop, state):
            launch(*self.team.graph, found.vertices, S(found.many + start), S(found.many + stop), state)

        return evenly(few, few * most_s, piece_s, step) if few else ()

    def paths_below(self, weights: Sequence, *, towards_top: bool, prime: int) -> Any:
        """See `TableAlgebra`."""
        out, shape, n = self.xp.zeros(len(self.support.targets), np.uint64), self.shape.tops, self.support.vertices
        rows, kernel = self.team.rows(np.uint64, n, shape), self._made(make_paths, shape)
        rest = (*self.team.masked(weights), U(towards_top), L(prime), rows.given, S(n), self.team.given(out))
        self.team.by_top(kernel, shape, self._tops(2), WEIGHTED_WEDGES, rows.blocks, rest, counts=False)
        return out % L(prime) if prime else out

    def fives(self) -> int:
        """See `TableAlgebra`."""
        shape, n = self.shape.tops, self.support.vertices
        rows, seen = self.team.rows(np.uint32, self.words, shape), self.team.lists(shape)
        kernel, blocks = self._made(make_fives, shape, self.packed, self.shape.long), min(rows.blocks, seen.blocks)
        rest = (S(self.window), rows.given, S(self.words), seen.given, S(n))
        walks = self.team.by_top(kernel, shape, self._tops(1), LOOPS, blocks, rest, words=self.shape.window)
        return walks - self.team.by_edge(self._made(make_degenerate, self.shape.edges), self.shape.edges, EDGES, ())

    def loops(self, values: Sequence, backs: Sequence, above: Any, prime: int) -> int:
        """See `TableAlgebra`."""
        (one, two, three, four, _), (_, two_back, three_back, four_back, five_back) = values, backs
        team, shape, n = self.team, self.shape.tops, self.support.vertices
        rows, seen = team.rows(np.uint64, n, shape, 4), team.lists(shape)
        sides = [team.masked([one])]
        for there, back in ((two, two_back), (three, three_back), (four, four_back)):
            sides.append((*team.masked([there]), team.masked([back])[0]))
        sides.append(team.masked([five_back]))
        rest = (*(part for side in sides for part in side), L(prime), rows.given, seen.given, S(n))
        kernel, blocks = make_loops(self.gpu.target, shape.threads), min(rows.blocks, seen.blocks)
        walks = team.by_top(kernel, shape, self._tops(1), WEIGHTED_LOOPS, blocks, rest)
        rest = (*team.masked((two, three, four)), team.given(above), L(prime))
        kernel = self._made(make_weighted_degenerate, self.shape.edges)
        return walks - team.by_edge(kernel, self.shape.edges, WEIGHTED_EDGES, rest)

    def cliques(self, values: Sequence, prime: int) -> Any:
        """See `TableAlgebra`."""
        plain, support, shape = all(value is None for value in values), self.support, self.shape.edges
        longest = max(support.keep("higher neighbours", self._most_above), 1)
        warps = shape.threads // self.gpu.target.WARP
        blocks = max(1, min(shape.blocks * self.gpu.processors, ROWS_BYTES // (16 * longest * warps)))
        common = self.team.given(self.xp.empty(2 * longest * warps * blocks, np.int64))
        kernel = make_cliques(self.gpu.target, shape.threads, not plain)
        rest = (*self.team.masked(values), L(prime), common, S(longest))
        out = self.team.table_by_edge(kernel, shape, CLIQUE_EDGES, rest, blocks)
        if plain:
            out += out[support.reverse_arc]
        return out % L(prime) if prime else out

    def pairs(self, ends: Sequence, paths: Sequence, below: bool, distinct_pairs: bool, prime: int) -> int:
        """See `TableAlgebra`."""
        total = pair_sum(self.team, self.shape.pairs, self.shape.edges, ends, paths, below, distinct_pairs, prime)
        return total % (prime or 1 << 64)

    def _made(self, make, shape, *more):
        return make(self.gpu.target, shape.threads, shape.lanes, *more)

    def _tops(self, least):
        """The vertices with so many lower neighbours."""
        return tops(self.support, self.team.given, least, FEW, self.shape.window)

    def _most_above(self):
        support = self.support
        return int((support.offsets[1:] - support.upper).max()) if support.vertices else 0

    def _most_below(self):
        support = self.support
        return int((support.upper - support.offsets[:-1]).max()) if support.vertices else 0


def reverse_arcs_on(gpu: Device, offsets: Any, targets: Any) -> Any:
    """Of each entry (x, y) of symmetric rows the place of (y, x), int64."""
    found, shape = np.empty_like(targets, np.int64), LaunchShape().edges
    if len(targets):
        launch = make_reverse_arcs(gpu.target, shape.threads)[
            grid(gpu.target, shape.blocks * gpu.processors, shape.threads)
        ]
        launch(*(gpu.to_device(array) for array in (offsets, targets, found)))
    return found
