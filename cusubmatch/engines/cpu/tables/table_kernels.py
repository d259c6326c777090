"""The tables and counts of a decomposition on all cores.

Each thread has rows of one number a vertex of its own. Where a kernel adds to arcs of other rows than its own, each
thread has a table of its own too, and these are added up in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from cusubmatch.engines.cpu.tables import clique_tables, five_cycles, four_cycles, sparse_product, triangle_tables
from cusubmatch.engines.cpu.tables.clique_tables import CliqueScratch
from cusubmatch.engines.cpu.tables.five_cycles import FiveCycleRows, FiveCycleValues
from cusubmatch.engines.cpu.tables.pair_sums import pair_sum
from cusubmatch.engines.cpu.tables.parameters import arc_values, rows_of
from cusubmatch.engines.cpu.tables.schedule import Team
from cusubmatch.engines.table_algebra import PairSum, TableAlgebra
from cusubmatch.graph.support_graph import SupportGraph

__all__ = ["TableKernels"]


class TableKernels(TableAlgebra):
    """Kernels on a support graph in host memory.

    Parameters
    ----------
    support : SupportGraph
    check_deadline : callable
        Called as check_deadline(fraction of the kernel done) now and then; what it raises ends the kernel.
    """

    cells = 1 << 18  # a matrix fits the cache of a core

    def __init__(self, support: SupportGraph, check_deadline: Callable[[float], None]):
        self.support, self.team = support, Team(support, check_deadline)
        self._rows = rows_of(support)

    def row_sums(self, values, weights, prime: int):
        """See `TableAlgebra`."""
        if values is None and weights is None:
            return np.diff(self.support.offsets).astype(np.uint64)
        out, modulus = np.zeros(self.support.vertices, np.uint64), np.uint64(prime)
        fixed = self._rows, *arc_values((values, weights))
        self.team.run(lambda: lambda *span: sparse_product.row_sums(*fixed, *span, modulus, out))
        return out

    def triangles(self):
        """See `TableAlgebra`."""
        rows = self._rows
        return self.team.summed(
            lambda out, position: lambda *span: triangle_tables.triangles(rows, *span, position, out), self._positions
        )

    def weighted_triangles(self, values: Sequence, prime: int):
        """See `TableAlgebra`."""
        fixed, modulus = (self._rows, self.support.reverse_arc, arc_values(values)), np.uint64(prime)
        return self.team.summed(
            lambda out, position: (
                lambda *span: triangle_tables.weighted_triangles(*fixed, *span, modulus, position, out)
            ),
            self._positions,
        )

    def three_step_paths(self):
        """See `TableAlgebra`."""
        rows = self._rows
        return self.team.summed(
            lambda out, row: lambda *span: four_cycles.three_step_paths(rows, *span, row, out), self._row
        )

    def weighted_three_step_paths(self, values: Sequence, *, at_highest: bool, prime: int):
        """See `TableAlgebra`."""
        fixed, modulus = (self._rows, arc_values(values), at_highest), np.uint64(prime)
        return self.team.summed(
            lambda out, row: lambda *span: four_cycles.weighted_three_step_paths(*fixed, *span, modulus, row, out),
            self._row,
        )

    def cliques(self, values: Sequence, prime: int):
        """See `TableAlgebra`."""
        plain, longest = all(value is None for value in values), int(np.diff(self.support.offsets).max(initial=0))
        fixed, modulus = (self._rows, self.support.reverse_arc, plain, arc_values(values)), np.uint64(prime)
        out = self.team.summed(
            lambda out, scratch: lambda *span: clique_tables.cliques(*fixed, *span, modulus, scratch, out),
            lambda: (CliqueScratch(self._positions()[0], self._positions()[0], np.empty(longest, np.int64)),),
        )
        if plain:
            out += out[self.support.reverse_arc]
        return out % modulus if prime else out

    def sparse_product(self, values, columns: np.ndarray, prime: int):
        """See `TableAlgebra`."""
        out, modulus = np.empty_like(columns), np.uint64(prime)
        fixed = self._rows, *arc_values((values,)), columns
        self.team.run(lambda: lambda *span: sparse_product.sparse_product(*fixed, *span, modulus, out))
        return out

    def four_cycles(self, prime: int) -> int:
        """See `TableAlgebra`."""
        rows, modulus = self._rows, np.uint64(prime)
        return self.team.total(
            lambda out, row, base: lambda *span: four_cycles.four_cycles(rows, *span, modulus, row, base, out),
            lambda: (np.zeros(self.support.vertices, np.uint32), np.zeros(1, np.uint32)),
        )

    def five_cycles(self) -> int:
        """See `TableAlgebra`."""
        rows, n = self._rows, self.support.vertices
        walks = self.team.total(
            lambda out, *own: lambda *span: five_cycles.five_cycles(rows, *span, *own, out),
            lambda: (*self._row(), np.zeros(n, np.bool_), np.empty(n, np.int32)),
        )
        degenerate = self.team.total(
            lambda out, position: lambda *span: triangle_tables.degenerate_walks(rows, *span, position, out),
            self._positions,
        )
        return walks - degenerate

    def weighted_five_cycles(self, values: Sequence, backs: Sequence, above: np.ndarray, prime: int) -> int:
        """See `TableAlgebra`."""
        rows, reverse, modulus = self._rows, self.support.reverse_arc, np.uint64(prime)
        first, second, third, fourth, _ = arc_values(values)
        _, second_back, third_back, fourth_back, fifth_back = arc_values(backs)
        steps = FiveCycleValues(first, second, second_back, third, third_back, fourth, fourth_back, fifth_back)
        walks = self.team.total(
            lambda out, sums: lambda *span: five_cycles.weighted_five_cycles(rows, steps, *span, modulus, sums, out),
            lambda: (FiveCycleRows(*(self._row()[0] for _ in range(4))),),
        )
        inner = second, third, fourth
        degenerate = self.team.total(
            lambda out, position: (
                lambda *span: triangle_tables.weighted_degenerate_walks(
                    rows, reverse, inner, above, *span, modulus, position, out
                )
            ),
            self._positions,
        )
        return walks - degenerate

    def _pair_sum(self, wanted: PairSum, prime: int) -> int:
        return pair_sum(self.support, self.team, wanted, prime)

    def _positions(self):
        return (np.full(self.support.vertices, -1, np.int64),)

    def _row(self):
        return (np.zeros(self.support.vertices, np.uint64),)
