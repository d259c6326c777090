"""The kernels of a decomposition on all cores.

Each thread has rows of one number a vertex of its own, and where a kernel writes to entries of other rows than its own,
a table of its own, added up in the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from cusubmatch.cpu import loop_kernels, table_kernels
from cusubmatch.cpu.compiled import announced
from cusubmatch.cpu.pairs import pair_sum
from cusubmatch.cpu.team import Team, masked
from cusubmatch.skeleton import Skeleton

__all__ = ["Kernels", "mates"]


class Kernels:
    """Kernels on a skeleton in host memory.

    Parameters
    ----------
    skeleton : Skeleton
    pulse : callable
        Called as pulse(share of the kernel that is done) now and then; what it raises ends the kernel.

    Values are uint64 arrays over the entries, or None for all ones; with a `prime`, residues, else modulo 2^64.
    """

    def __init__(self, skeleton: Skeleton, pulse: Callable[[float], None]):
        self.skeleton, self.team = skeleton, Team(skeleton, pulse)
        self._rows = skeleton.offsets, skeleton.targets, skeleton.upper

    def rows(self, values, weights, prime: int):
        """Over vertices: the sums of the rows of an array over entries, times weights of the targets."""
        offsets, targets, _ = self._rows
        if values is None and weights is None:
            return np.diff(offsets).astype(np.uint64)
        out = np.zeros(self.skeleton.vertices, np.uint64)
        fixed = (offsets, targets, *masked(values), *masked(weights))
        self.team.run(lambda: lambda *rows: table_kernels.row_sums(*fixed, *rows, np.uint64(prime), out))
        return out

    def chain(self, values: Sequence, same: bool, prime: int):
        """Over entries (x, y): sums over paths of two or three steps from x to y; `same`: turned round they are alike.

        Their vertices all differ.
        """
        mate = self.skeleton.mate
        if all(value is None for value in values):
            out = self._plain(len(values))
            out += out[mate]
            return out % np.uint64(prime) if prime else out
        out = self._triangles(values, prime) if len(values) == 2 else self._squares(values, same, prime)
        return out % np.uint64(prime) if prime else out

    def _plain(self, steps):
        offsets, targets, upper = self._rows
        if steps == 2:
            return self.team.summed(
                lambda out, place: lambda *rows: table_kernels.triangles(offsets, targets, upper, *rows, place, out),
                self._places,
            )
        return self.team.summed(
            lambda out, row: lambda *rows: table_kernels.wedges_below(offsets, targets, upper, *rows, row, out),
            self._row,
        )

    def _triangles(self, values, prime):
        offsets, targets, upper = self._rows
        fixed, (a, b), prime = (offsets, targets, self.skeleton.mate, upper), values, np.uint64(prime)
        return self.team.summed(
            lambda out, place: (
                lambda *rows: table_kernels.weighted_triangles(*fixed, *masked(a), *masked(b), *rows, prime, place, out)
            ),
            self._places,
        )

    def _squares(self, values, same, prime):
        """Each of the four vertices in turn is the highest one."""
        (offsets, targets, upper), mate = self._rows, self.skeleton.mate
        first, second, third = values
        first_back, second_back, third_back = map(self.turned, values)
        prime = np.uint64(prime)

        def from_top(near, *weights):
            arrays = [part for weight in weights for part in masked(weight)]
            return self.team.summed(
                lambda out, row: (
                    lambda *rows: table_kernels.paths_below(
                        offsets, targets, upper, *arrays, near, *rows, prime, row, out
                    )
                ),
                self._row,
            )

        if same:
            out = from_top(True, first, second, None, third_back)
            out += from_top(False, second, third, first_back, None)
            return out + out[mate]
        out = from_top(True, third_back, second_back, None, first)
        out += from_top(False, second_back, first_back, third, None)
        out = out[mate]
        out += from_top(True, first, second, None, third_back)
        out += from_top(False, second, third, first_back, None)
        return out

    def cliques(self, values: Sequence, prime: int):
        """Over entries (x, y): sums over ordered pairs w, z that make a clique with x and y.

        The values are those of (x, w), (x, z), (w, z), (w, y) and (z, y).
        """
        (offsets, targets, upper), mate = self._rows, self.skeleton.mate
        plain = all(value is None for value in values)
        arrays = [part for value in values for part in masked(value)]
        out = self.team.summed(
            lambda out, *own: (
                lambda *rows: table_kernels.cliques(
                    offsets, targets, mate, upper, plain, *arrays, *rows, np.uint64(prime), *own, out
                )
            ),
            lambda: (*self._places(), *self._places(), np.empty(int(np.diff(offsets).max(initial=0)), np.int64)),
        )
        if plain:
            out += out[mate]
        return out % np.uint64(prime) if prime else out

    def loop(self, values: list, prime: int) -> int:
        """The sum over cycles of four or five steps, from each start, in this direction; their vertices all differ.

        Those of four have no values.
        """
        offsets, targets, upper = self._rows
        modulus, width = prime or 1 << 64, np.uint64(prime)
        if len(values) == 4:
            cycles = self.team.total(
                lambda out, *own: (
                    lambda *rows: loop_kernels.plain_squares(offsets, targets, upper, *rows, width, *own, out)
                ),
                lambda: (np.zeros(self.skeleton.vertices, np.uint32), np.zeros(1, np.uint32)),
            )
            return 8 * cycles % modulus
        if all(value is None for value in values) and not prime:
            walks = self.team.total(
                lambda out, *own: lambda *rows: loop_kernels.plain_loops(offsets, targets, upper, *rows, *own, out),
                lambda: (*self._row(), np.zeros(self.skeleton.vertices, np.bool_), *self._seen()),
            )
            pinched = self.team.total(
                lambda out, place: lambda *rows: loop_kernels.plain_pinched(offsets, targets, upper, *rows, place, out),
                self._places,
            )
            return 5 * (walks - pinched) % modulus
        kinds = [-1 if value is None else id(value) for value in values]
        tops = Counter(tuple(kinds[top:] + kinds[:top]) for top in range(5))
        first = {tuple(kinds[top:] + kinds[:top]): top for top in range(5)}
        backs, total = [self.turned(value) for value in values], 0
        for name, many in tops.items():
            top = first[name]
            total += many * self._loop_from(values[top:] + values[:top], backs[top:] + backs[:top], prime)
        return total % modulus

    def _loop_from(self, values, backs, prime):
        """Cycles whose highest vertex is where the first step starts."""
        (offsets, targets, upper), mate = self._rows, self.skeleton.mate
        modulus, n, width = prime or 1 << 64, self.skeleton.vertices, np.uint64(prime)
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
        there_and_back = np.ones(len(targets), np.uint64)
        for value in (backs[0], values[4]):
            if value is not None:
                there_and_back *= value
        if prime:
            there_and_back %= width
        sums = np.zeros(len(targets) + 1, np.uint64)
        np.cumsum(there_and_back, out=sums[1:])
        pinched = self.team.total(
            lambda out, place: (
                lambda *rows: loop_kernels.weighted_pinched(
                    offsets, targets, mate, upper, *two, *three, *four, sums, *rows, width, place, out
                )
            ),
            self._places,
        )
        return (walks - pinched) % modulus

    def pairs(self, ends: Sequence, paths: Sequence, below: bool, apart: bool, prime: int) -> int:
        """The sum over pairs of vertices x, y of the product of their weights and of what lies between them, to powers.

        Parameters
        ----------
        ends : pair of array or None
            Weights of x and of y.
        paths : sequence of (values, power)
            One or two kinds. Two `values` are a path's, of (x, z) and (z, y); five are a bridge's, of (x, w), (x, z),
            (w, z), (w, y) and (z, y), which is summed over ordered pairs w, z of adjacent common neighbours.
        below : bool
            Only pairs y < x.
        apart : bool
            Only pairs that differ.
        """
        return pair_sum(self.skeleton, self.team, ends, paths, below, apart, prime)

    def turned(self, values):
        """An array over entries, read at the mates."""
        return None if values is None else values[self.skeleton.mate]

    def _places(self):
        return (np.full(self.skeleton.vertices, -1, np.int64),)

    def _row(self):
        return (np.zeros(self.skeleton.vertices, np.uint64),)

    def _seen(self):
        return (np.empty(self.skeleton.vertices, np.int32),)


def mates(offsets, targets):
    """Of each entry (x, y) of symmetric rows the place of (y, x)."""
    with announced("tables"):
        return table_kernels.mates(offsets, targets)
