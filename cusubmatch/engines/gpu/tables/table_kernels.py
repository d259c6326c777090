"""The tables and counts of a decomposition on the GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.runtime.device import Device, current_device
from cusubmatch.engines.gpu.runtime.launch_batches import evenly
from cusubmatch.engines.gpu.runtime.warp import grid
from cusubmatch.engines.gpu.tables.clique_tables import CliqueMemory, make_cliques
from cusubmatch.engines.gpu.tables.five_cycles import (
    LONG_ROW,
    FiveCycleValues,
    make_five_cycles,
    make_weighted_five_cycles,
)
from cusubmatch.engines.gpu.tables.four_cycles import (
    FEW_THREADS,
    FEW_WEDGES,
    SLOTS,
    make_few_four_cycles,
    make_four_cycles,
    make_three_step_paths,
    make_weighted_three_step_paths,
)
from cusubmatch.engines.gpu.tables.pair_sums import pair_sum
from cusubmatch.engines.gpu.tables.parameters import CounterRows, VertexBatch
from cusubmatch.engines.gpu.tables.reverse_arcs import make_reverse_arcs
from cusubmatch.engines.gpu.tables.schedule import ROWS_BYTES, Grid, Team
from cusubmatch.engines.gpu.tables.sparse_product import make_product
from cusubmatch.engines.gpu.tables.triangle_tables import (
    make_degenerate,
    make_triangles,
    make_weighted_degenerate,
    make_weighted_triangles,
)
from cusubmatch.engines.gpu.tables.vertex_schedule import VertexSchedule, highest_vertices
from cusubmatch.engines.table_algebra import PairSum, TableAlgebra
from cusubmatch.graph.csr import row_lengths, running_sums
from cusubmatch.graph.support_graph import SupportGraph

__all__ = ["LaunchShape", "TableKernels", "reverse_arcs_on"]

U, L, S = np.uint32, np.uint64, np.int64

MOST_PACKED = (1 << 15) - 1  # what a counter of half a word can count to
# Low estimates: steps a second
WEDGES, WEIGHTED_WEDGES, FIVE_CYCLE_STEPS, WEIGHTED_FIVE_CYCLE_STEPS, PRODUCTS = 2e10, 1e9, 2e9, 2e8, 2e10
EDGES, WEIGHTED_EDGES, CLIQUE_EDGES = 2e8, 5e7, 5e6


class LaunchShape(NamedTuple):
    """How kernels are launched: those that count wedges, those for pairs, other ones by vertex, and by edge.

    `window`: words of shared memory for counters. A row of more than `long` arcs is read by a whole block.
    """

    wedges: Grid = Grid(threads=1024, lanes=16, blocks=1)
    pairs: Grid = Grid(threads=512, lanes=16, blocks=2)
    vertices: Grid = Grid(threads=512, lanes=8, blocks=2)
    edges: Grid = Grid(threads=256, lanes=8, blocks=8)
    window: int = 12_000
    long: int = LONG_ROW


class TableKernels(TableAlgebra):
    """Kernels on a support graph in device memory.

    Parameters
    ----------
    support : SupportGraph
    check_deadline : callable
        Called as check_deadline(fraction of the kernel done) now and then; what it raises ends the kernel.
    gpu : Device, optional
        Where to run; default the current GPU.
    shape : LaunchShape
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

    def row_sums(self, values: Any, weights: Any, prime: int) -> Any:
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
        kernel, rest = self._made(make_weighted_triangles, self.shape.edges), (self.team.arc_values(values), L(prime))
        return self.team.table_by_edge(kernel, self.shape.edges, WEIGHTED_EDGES, rest)

    def three_step_paths(self) -> Any:
        """See `TableAlgebra`."""
        out = self.xp.zeros(len(self.support.targets), np.uint64)
        self._counted(make_three_step_paths, (self.team.on_device(out),), counts=False)
        return out

    def sparse_product(self, values: Any, columns: Any, prime: int) -> Any:
        """See `TableAlgebra`."""
        support, shape, out = self.support, self.shape.edges, self.xp.empty_like(columns)
        rows, width = columns.shape
        launch = make_product(self.gpu.target, shape.threads)[
            grid(self.gpu.target, shape.blocks * self.gpu.processors, shape.threads)
        ]
        (arc_values,), columns, flat = self.team.arc_values([values]), columns.reshape(-1), out.reshape(-1)
        fixed = self.team.graph, arc_values, self.team.on_device(columns), S(width)
        flat = self.team.on_device(flat)

        def step(start, stop, _state):
            launch(*fixed, S(start), S(stop), L(prime), flat)

        total_s = len(support.targets) * width / PRODUCTS
        self.team.run(lambda most_s: evenly(rows, total_s, most_s, step), total_s, counts=False)
        return out

    def four_cycles(self, prime: int) -> int:  # noqa: ARG002 - the count is exact
        """See `TableAlgebra`."""
        return self._counted(make_four_cycles, (), most=self._highest(2).busy, before=self._few_four_cycles)

    def _counted(self, make, rest, **how):
        """The count of a kernel that counts wedges, at the first vertices."""
        shape, vertices = self.shape.wedges, self._highest(2)
        kernel, (counters, blocks) = self._made(make, shape, self.packed), self._counters(shape)
        rest = (U(vertices.most), counters, *rest)
        return self.team.by_vertex(kernel, shape, vertices, WEDGES, blocks, rest, words=self.shape.window, **how)

    def _counters(self, shape):
        """Counters of every vertex for each block, and the number of blocks that may have them."""
        memory = self.team.rows(np.uint32, self.words, shape)
        return CounterRows(S(self.window), memory.words, memory.stride), memory.blocks

    def _few_four_cycles(self, batch_s):
        """The launches for cycles of four at vertices with few wedges."""
        threads, vertices = FEW_THREADS if self.gpu.target.WARP > 1 else 1, self._highest(2)
        few, most_s = vertices.number - vertices.busy, FEW_WEDGES / WEDGES  # seconds of a vertex at most
        kernel = make_few_four_cycles(self.gpu.target, threads, SLOTS)
        launch = kernel[grid(self.gpu.target, self.shape.edges.blocks * self.gpu.processors, threads)]

        def step(start, stop, state):
            batch = VertexBatch(vertices.vertices, S(vertices.busy + start), S(vertices.busy + stop))
            launch(self.team.graph, batch, state)

        return evenly(few, few * most_s, batch_s, step) if few else ()

    def weighted_three_step_paths(self, values: Sequence, *, at_highest: bool, prime: int) -> Any:
        """See `TableAlgebra`."""
        out, shape, n = self.xp.zeros(len(self.support.targets), np.uint64), self.shape.vertices, self.support.vertices
        sums, kernel = self.team.rows(np.uint64, n, shape), self._made(make_weighted_three_step_paths, shape)
        rest = self.team.arc_values(values), U(at_highest), L(prime), sums.rows, self.team.on_device(out)
        self.team.by_vertex(kernel, shape, self._highest(2), WEIGHTED_WEDGES, sums.blocks, rest, counts=False)
        return out % L(prime) if prime else out

    def five_cycles(self) -> int:
        """See `TableAlgebra`."""
        shape, edge_shape = self.shape.vertices, self.shape.edges
        counters, blocks = self._counters(shape)
        reached, kernel = self.team.lists(shape), self._made(make_five_cycles, shape, self.packed, self.shape.long)
        walks = self.team.by_vertex(
            kernel, shape, self._highest(1), FIVE_CYCLE_STEPS, min(blocks, reached.blocks), (counters, reached.rows),
            words=self.shape.window,
        )  # fmt: skip
        return walks - self.team.by_edge(self._made(make_degenerate, edge_shape), edge_shape, EDGES, ())

    def weighted_five_cycles(self, values: Sequence, backs: Sequence, above: Any, prime: int) -> int:
        """See `TableAlgebra`."""
        team, shape, edge_shape = self.team, self.shape.vertices, self.shape.edges
        first, second, third, fourth, _ = team.arc_values(values)
        _, second_back, third_back, fourth_back, fifth_back = team.arc_values(backs)
        steps = FiveCycleValues(first, second, second_back, third, third_back, fourth, fourth_back, fifth_back)
        sums, reached = team.rows(np.uint64, self.support.vertices, shape, 4), team.lists(shape)
        kernel, blocks = make_weighted_five_cycles(self.gpu.target, shape.threads), min(sums.blocks, reached.blocks)
        rest = steps, L(prime), sums.rows, reached.rows
        walks = team.by_vertex(kernel, shape, self._highest(1), WEIGHTED_FIVE_CYCLE_STEPS, blocks, rest)
        inner = (second, third, fourth), team.on_device(above), L(prime)
        return walks - team.by_edge(
            self._made(make_weighted_degenerate, edge_shape), edge_shape, WEIGHTED_EDGES, inner
        )  # fmt: skip

    def cliques(self, values: Sequence, prime: int) -> Any:
        """See `TableAlgebra`."""
        plain, support, shape = all(value is None for value in values), self.support, self.shape.edges
        longest = max(support.keep("higher neighbours", self._most_above), 1)
        warps = shape.threads // self.gpu.target.WARP
        blocks = max(1, min(shape.blocks * self.gpu.processors, ROWS_BYTES // (16 * longest * warps)))
        arcs = self.team.on_device(self.xp.empty(2 * longest * warps * blocks, np.int64))
        kernel = make_cliques(self.gpu.target, shape.threads, not plain)
        rest = self.team.arc_values(values), L(prime), CliqueMemory(arcs, S(longest))
        out = self.team.table_by_edge(kernel, shape, CLIQUE_EDGES, rest, blocks)
        if plain:
            out += out[support.reverse_arc]
        return out % L(prime) if prime else out

    def _pair_sum(self, wanted: PairSum, prime: int) -> int:
        return pair_sum(self.team, self.shape.pairs, self.shape.edges, wanted, prime) % (prime or 1 << 64)

    def _made(self, make, shape, *more):
        return make(self.gpu.target, shape.threads, shape.lanes, *more)

    def _highest(self, least) -> VertexSchedule:
        """The vertices with so many lower neighbours."""
        return highest_vertices(self.support, self.team.on_device, least, FEW_WEDGES, self.shape.window)

    def _most_above(self):
        support = self.support.near
        return int((support.offsets[1:] - support.upper).max()) if support.vertices else 0

    def _most_below(self):
        support = self.support.near
        return int((support.upper - support.offsets[:-1]).max()) if support.vertices else 0


def reverse_arcs_on(gpu: Device, offsets: Any, targets: Any) -> Any:
    """Find the reverse arc of every arc of symmetric rows, int64."""
    reverse, shape = np.empty_like(targets, np.int64), LaunchShape().edges
    if len(targets):
        launch = make_reverse_arcs(gpu.target, shape.threads)[
            grid(gpu.target, shape.blocks * gpu.processors, shape.threads)
        ]
        launch(*(gpu.to_device(array) for array in (offsets, targets, reverse)))
    return reverse
