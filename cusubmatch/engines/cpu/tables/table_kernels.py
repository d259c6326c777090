"""The kernels of a decomposition on all cores.

Each thread has rows of one number a vertex of its own, and where a kernel writes to entries of other rows than its own,
a table of its own, added up in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import announced
from cusubmatch.engines.cpu.tables import arc_tables as table_kernels
from cusubmatch.engines.cpu.tables import cycle_tables as loop_kernels
from cusubmatch.engines.cpu.tables.pair_sums import pair_sum
from cusubmatch.engines.cpu.tables.schedule import Team, masked
from cusubmatch.engines.table_algebra import TableAlgebra
from cusubmatch.graph.support_graph import SupportGraph

__all__ = ["TableKernels", "reverse_arcs"]


class TableKernels(TableAlgebra):
    """Kernels on a skeleton in host memory.

    Parameters
    ----------
    skeleton : Skeleton
    pulse : callable
        Called as pulse(share of the kernel that is done) now and then; what it raises ends the kernel.
    """

    cells = 1 << 18  # a matrix fits the cache of a core

    def __init__(self, support: SupportGraph, check_deadline: Callable[[float], None]):
        self.support, self.team = support, Team(support, check_deadline)
        self._rows = support.offsets, support.targets, support.upper

    def rows(self, values, weights, prime: int):
        """See `TableAlgebra`."""
        offsets, targets, _ = self._rows
        if values is None and weights is None:
            return np.diff(offsets).astype(np.uint64)
        out = np.zeros(self.support.vertices, np.uint64)
        fixed = (offsets, targets, *masked(values), *masked(weights))
        self.team.run(lambda: lambda *rows: table_kernels.row_sums(*fixed, *rows, np.uint64(prime), out))
        return out

    def triangles(self):
        """See `TableAlgebra`."""
        offsets, targets, upper = self._rows
        return self.team.summed(
            lambda out, place: lambda *rows: table_kernels.triangles(offsets, targets, upper, *rows, place, out),
            self._places,
        )

    def weighted_triangles(self, values: Sequence, prime: int):
        """See `TableAlgebra`."""
        offsets, targets, upper = self._rows
        fixed, (a, b), width = (
            (offsets, targets, self.support.reverse_arc, upper),
            map(masked, values),
            np.uint64(prime),
        )
        return self.team.summed(
            lambda out, place: lambda *rows: table_kernels.weighted_triangles(*fixed, *a, *b, *rows, width, place, out),
            self._places,
        )

    def wedges(self):
        """See `TableAlgebra`."""
        offsets, targets, upper = self._rows
        return self.team.summed(
            lambda out, row: lambda *rows: table_kernels.wedges_below(offsets, targets, upper, *rows, row, out),
            self._row,
        )

    def paths_below(self, weights: Sequence, *, towards_top: bool, prime: int):
        """See `TableAlgebra`."""
        fixed = (*self._rows, *(part for weight in weights for part in masked(weight)), towards_top)
        return self.team.summed(
            lambda out, row: lambda *rows: table_kernels.paths_below(*fixed, *rows, np.uint64(prime), row, out),
            self._row,
        )

    def cliques(self, values: Sequence, prime: int):
        """See `TableAlgebra`."""
        (offsets, targets, upper), reverse_arc = self._rows, self.support.reverse_arc
        plain = all(value is None for value in values)
        arrays = [part for value in values for part in masked(value)]
        out = self.team.summed(
            lambda out, *own: (
                lambda *rows: table_kernels.cliques(
                    offsets, targets, reverse_arc, upper, plain, *arrays, *rows, np.uint64(prime), *own, out
                )
            ),
            lambda: (*self._places(), *self._places(), np.empty(int(np.diff(offsets).max(initial=0)), np.int64)),
        )
        if plain:
            out += out[reverse_arc]
        return out % np.uint64(prime) if prime else out

    def sparse_product(self, values, columns: np.ndarray, prime: int):
        """See `TableAlgebra`."""
        offsets, targets, _ = self._rows
        out = np.empty_like(columns)
        fixed = (offsets, targets, *masked(values), columns)
        self.team.run(lambda: lambda *rows: table_kernels.sparse_product(*fixed, *rows, np.uint64(prime), out))
        return out

    def fours(self, prime: int) -> int:
        """See `TableAlgebra`."""
        offsets, targets, upper = self._rows
        return self.team.total(
            lambda out, *own: (
                lambda *rows: loop_kernels.plain_squares(offsets, targets, upper, *rows, np.uint64(prime), *own, out)
            ),
            lambda: (np.zeros(self.support.vertices, np.uint32), np.zeros(1, np.uint32)),
        )

    def fives(self) -> int:
        """See `TableAlgebra`."""
        offsets, targets, upper = self._rows
        walks = self.team.total(
            lambda out, *own: lambda *rows: loop_kernels.plain_loops(offsets, targets, upper, *rows, *own, out),
            lambda: (*self._row(), np.zeros(self.support.vertices, np.bool_), *self._seen()),
        )
        degenerate = self.team.total(
            lambda out, place: lambda *rows: loop_kernels.plain_degenerate(offsets, targets, upper, *rows, place, out),
            self._places,
        )
        return walks - degenerate

    def loops(self, values: Sequence, backs: Sequence, above: np.ndarray, prime: int) -> int:
        """See `TableAlgebra`."""
        (offsets, targets, upper), reverse_arc = self._rows, self.support.reverse_arc
        n, width = self.support.vertices, np.uint64(prime)
        one, two, three, four, _ = map(masked, values)
        sides = (*one, *two, masked(backs[1])[0], *three, masked(backs[2])[0], *four, masked(backs[3])[0])
        walks = self.team.total(
            lambda out, *own: (
                lambda *rows: loop_kernels.loops(
                    offsets, targets, upper, *sides, *masked(backs[4]), *rows, width, *own, out
                )
            ),
            lambda: tuple(np.zeros(n, np.uint64) for _ in range(4)),
        )
        degenerate = self.team.total(
            lambda out, place: (
                lambda *rows: loop_kernels.weighted_degenerate(
                    offsets, targets, reverse_arc, upper, *two, *three, *four, above, *rows, width, place, out
                )
            ),
            self._places,
        )
        return walks - degenerate

    def pairs(self, ends: Sequence, paths: Sequence, below: bool, distinct_pairs: bool, prime: int) -> int:
        """See `TableAlgebra`."""
        return pair_sum(self.support, self.team, ends, paths, below, distinct_pairs, prime)

    def _places(self):
        return (np.full(self.support.vertices, -1, np.int64),)

    def _row(self):
        return (np.zeros(self.support.vertices, np.uint64),)

    def _seen(self):
        return (np.empty(self.support.vertices, np.int32),)


def reverse_arcs(offsets, targets):
    """Of each entry (x, y) of symmetric rows the place of (y, x)."""
    with announced("tables"):
        return table_kernels.reverse_arcs(offsets, targets)
