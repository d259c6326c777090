"""The kernels for tables as both engines offer them, and of which sums their chains and cycles are made.

A cycle is found from its highest vertex, which can be any of the pattern's: with weights each of them in turn stands
there, and the weights are read from that end. Turned round, an array over entries is read at the mates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Any

from cusubmatch.graph.csr import running_sums
from cusubmatch.graph.support_graph import SupportGraph

__all__ = ["TableAlgebra"]

Values = Sequence[Any]  # arrays over the entries, None for all ones


class TableAlgebra(ABC):
    """Kernels on a skeleton; chains and cycles from sums over triangles and over what lies below a vertex.

    Values are uint64 arrays over the entries, or None for all ones; with a `prime`, residues, else modulo 2^64.
    """

    support: SupportGraph
    cells: int  # numbers of a dense matrix that its kernels like best

    @abstractmethod
    def rows(self, values: Any, weights: Any, prime: int) -> Any:
        """Over vertices: the sums of the rows of an array over entries, times weights of the targets."""

    @abstractmethod
    def triangles(self) -> Any:
        """Over entries (x, y), x < y: the triangles that they are in; 0 elsewhere."""

    @abstractmethod
    def weighted_triangles(self, values: Values, prime: int) -> Any:
        """Over entries (x, y): the sum over z of two arrays at (x, z) and (z, y)."""

    @abstractmethod
    def wedges(self) -> Any:
        """Over entries (x, y), x > y: the paths of three steps from x to y; 0 elsewhere."""

    @abstractmethod
    def paths_below(self, weights: Values, *, towards_top: bool, prime: int) -> Any:
        """4-cycles u, v, w, v' below their highest vertex u, one way round weighted a[u, v] b[v, w], the other c and d.

        Over entries: their sums at the entry (u, v') of the other way, if `towards_top`, or at (v', w).
        """

    @abstractmethod
    def fours(self, prime: int) -> int:
        """The cycles of four, each once."""

    @abstractmethod
    def fives(self) -> int:
        """The cycles of five, each twice."""

    @abstractmethod
    def loops(self, values: Values, backs: Values, above: Any, prime: int) -> int:
        """Weighted cycles of five whose highest vertex is where the first step starts; `backs`: turned round.

        `above` are running sums over the entries (x, y) of the weight of going from x to y, the highest vertex, and
        back.
        """

    @abstractmethod
    def cliques(self, values: Values, prime: int) -> Any:
        """Over entries (x, y): sums over ordered pairs w, z that make a clique with x and y.

        The values are those of (x, w), (x, z), (w, z), (w, y) and (z, y).
        """

    @abstractmethod
    def sparse_product(self, values: Any, columns: Any, prime: int) -> Any:
        """The matrix whose entries the values are, times a dense matrix, uint64 (vertices, any number).

        With a prime both must be residues, and so is the product.
        """

    @abstractmethod
    def pairs(self, ends: Sequence, paths: Sequence, below: bool, distinct_pairs: bool, prime: int) -> int:
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

    def transposed(self, values: Any) -> Any:
        """An array over entries, read at the mates."""
        return None if values is None else values[self.support.reverse_arc]

    def chain(self, values: Values, same: bool, prime: int) -> Any:
        """Over entries (x, y): sums over paths of two or three steps from x to y; `same`: turned round they are alike.

        Their vertices all differ.
        """
        if all(value is None for value in values):
            out = self.triangles() if len(values) == 2 else self.wedges()
            out += out[self.support.reverse_arc]
        else:
            out = self.weighted_triangles(values, prime) if len(values) == 2 else self._squares(values, same, prime)
        return out % out.dtype.type(prime) if prime else out

    def _squares(self, values, same, prime):
        """Each of the four vertices in turn is the highest one."""
        reverse_arc, (first, second, third) = self.support.reverse_arc, values
        first_back, second_back, third_back = map(self.transposed, values)
        ends = self.paths_below((first, second, None, third_back), towards_top=True, prime=prime)
        ends += self.paths_below((second, third, first_back, None), towards_top=False, prime=prime)
        if same:
            return ends + ends[reverse_arc]
        out = self.paths_below((third_back, second_back, None, first), towards_top=True, prime=prime)
        out += self.paths_below((second_back, first_back, third, None), towards_top=False, prime=prime)
        return ends + out[reverse_arc]

    def loop(self, values: list, prime: int) -> int:
        """The sum over cycles of four steps, all ones, or of five, from each start, in this direction.

        Their vertices all differ.
        """
        modulus = prime or 1 << 64
        if len(values) == 4:
            return 8 * self.fours(prime) % modulus
        if all(value is None for value in values) and not prime:
            return 5 * self.fives() % modulus
        kinds = [-1 if value is None else id(value) for value in values]
        around = [tuple(kinds[top:] + kinds[:top]) for top in range(5)]
        backs, total = [self.transposed(value) for value in values], 0
        for name, many in Counter(around).items():
            top = around.index(name)
            total += many * self._from_top(values[top:] + values[:top], backs[top:] + backs[:top], prime)
        return total % modulus

    def _from_top(self, values, backs, prime):
        xp, entries = self.support.xp, len(self.support.targets)
        there_and_back = xp.ones(entries, xp.uint64)
        for value in (backs[0], values[4]):
            if value is not None:
                there_and_back = there_and_back * value
        if prime:
            there_and_back %= xp.uint64(prime)
        return self.loops(values, backs, running_sums(xp, there_and_back, xp.uint64), prime)
