"""Tables and counts of a decomposition on a support graph, as both engines offer them.

Path tables and counts of cycles are made of sums over triangles and over the wedges below a vertex. A cycle is found
from its highest vertex, which can be any of the pattern's: with weights each of these in turn is the highest one, and
the weights are read from there. A table over arcs is transposed by reading it at the reverse arcs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from cusubmatch.graph.csr import running_sums
from cusubmatch.graph.support_graph import SupportGraph

__all__ = ["PairBlock", "PairKind", "PairSum", "Rows", "TableAlgebra", "TwoStepPaths"]

Values = Sequence[Any]  # arrays over the arcs, None for all ones

DIAMOND_VALUES = 5  # arcs of a diamond, a clique of four less an edge


class Rows(NamedTuple):
    """Compressed sparse rows: row v is targets[offsets[v]:offsets[v + 1]], ascending."""

    offsets: Any  # int64 (n + 1)
    targets: Any  # int32


class TwoStepPaths(NamedTuple):
    """Paths of two edges, and which pairs of their ends are wanted.

    Attributes
    ----------
    to_middle, from_middle : Rows
        The middle vertices of a first one; the last ones of a middle one.
    first : int32 array
        The first vertices.
    middle, last : bool arrays (n,)
        Which vertices may stand there.
    least : int
        Pairs with fewer paths are left out.
    below, distinct : bool
        Whether only pairs with last < first are wanted, and only those of two vertices.
    """

    to_middle: Rows
    from_middle: Rows
    first: Any
    middle: Any
    last: Any
    least: int
    below: bool
    distinct: bool


class PairBlock(NamedTuple):
    """Pairs of vertices, int32, and how many paths there are from the first to the last, uint32."""

    first: Any
    last: Any
    count: Any


class PairKind(NamedTuple):
    """What connects a pair of vertices, and the power to which its sum is raised.

    Five `values`; a path uses the first two.
    """

    is_diamond: bool
    values: Values
    power: int

    @property
    def is_weighted_diamond(self) -> bool:
        return self.is_diamond and any(value is not None for value in self.values)


class PairSum(NamedTuple):
    """What is summed over pairs of vertices; see `TableAlgebra.pairs`.

    There are two kinds, the second perhaps with the power 0, and diamonds come first: paths matter only where diamonds
    lead.
    """

    kinds: tuple[PairKind, PairKind]
    weights: Values
    below: bool
    distinct: bool

    @property
    def has_diamonds(self) -> bool:
        return any(kind.is_diamond for kind in self.kinds)

    @property
    def has_weighted_diamonds(self) -> bool:
        return any(kind.is_weighted_diamond for kind in self.kinds)


class TableAlgebra(ABC):
    """Kernels on a support graph; path tables and cycles from sums over triangles and over wedges below a vertex.

    Values are uint64 arrays over the arcs, or None for all ones; with a `prime`, residues, else modulo 2^64.
    """

    support: SupportGraph
    cells: int  # numbers of a dense matrix that its kernels work on fastest

    @abstractmethod
    def row_sums(self, values: Any, weights: Any, prime: int) -> Any:
        """Over vertices: the sums of the rows of an array over arcs, times weights of the targets."""

    @abstractmethod
    def triangles(self) -> Any:
        """Over arcs (x, y), x < y: the triangles that they are in; 0 elsewhere."""

    @abstractmethod
    def weighted_triangles(self, values: Values, prime: int) -> Any:
        """Over arcs (x, y): the sum over z of two arrays at (x, z) and (z, y)."""

    @abstractmethod
    def three_step_paths(self) -> Any:
        """Over arcs (x, y), x > y: the paths of three steps from x to y; 0 elsewhere."""

    @abstractmethod
    def weighted_three_step_paths(self, values: Values, *, at_highest: bool, prime: int) -> Any:
        """Cycles u, v, w, v' below their highest vertex u: one way round is a[u, v] b[v, w], the other way c and d.

        Over arcs: the sums of the products at the arc (u, v') of the other way, if `at_highest`, or at (v', w).
        """

    @abstractmethod
    def four_cycles(self, prime: int) -> int:
        """The cycles of four, each once."""

    @abstractmethod
    def five_cycles(self) -> int:
        """The cycles of five, each twice."""

    @abstractmethod
    def weighted_five_cycles(self, values: Values, backs: Values, above: Any, prime: int) -> int:
        """Weighted cycles of five whose highest vertex is where the first step starts; `backs`: transposed values.

        `above` are running sums over the arcs (x, y) of the weight of going from x to y, the highest vertex, and back.
        """

    @abstractmethod
    def cliques(self, values: Values, prime: int) -> Any:
        """Over arcs (x, y): sums over ordered pairs w, z that make a clique with x and y.

        The values are those of (x, w), (x, z), (w, z), (w, y) and (z, y).
        """

    @abstractmethod
    def sparse_product(self, values: Any, columns: Any, prime: int) -> Any:
        """The sparse matrix of values over the arcs, times a dense matrix, uint64 (vertices, any number).

        With a prime both must be residues, and so is the product.
        """

    @abstractmethod
    def _pair_sum(self, wanted: PairSum, prime: int) -> int:
        """The sum over pairs, modulo 2^64 or the prime."""

    def pairs(self, ends: Sequence, paths: Sequence, below: bool, distinct_pairs: bool, prime: int) -> int:
        """Sum over pairs of vertices x, y the product of their weights and of what connects them, to powers.

        Parameters
        ----------
        ends : pair of array or None
            Weights of x and of y.
        paths : sequence of (values, power)
            One or two kinds. Two `values` are a path's, of (x, z) and (z, y); five are a diamond's, of (x, w), (x, z),
            (w, z), (w, y) and (z, y), which is summed over ordered pairs w, z of adjacent common neighbours.
        below : bool
            Only pairs y < x.
        distinct_pairs : bool
            Only pairs that differ.
        """
        kinds = [
            PairKind(len(values) == DIAMOND_VALUES, (*values, *[None] * (DIAMOND_VALUES - len(values))), power)
            for values, power in sorted(paths, key=lambda kind: -len(kind[0]))
        ]
        nothing = PairKind(False, (None,) * DIAMOND_VALUES, 0)
        first, second = (*kinds, nothing)[:2]
        return self._pair_sum(PairSum((first, second), tuple(ends), below, distinct_pairs), prime)

    def transposed(self, values: Any) -> Any:
        """A table over arcs, read at the reverse arcs."""
        return None if values is None else values[self.support.reverse_arc]

    def path_table(self, values: Values, symmetric: bool, prime: int) -> Any:
        """Over arcs (x, y): sums over paths of two or three steps from x to y, whose vertices all differ.

        `symmetric`: transposed, the path's values are the same.
        """
        if all(value is None for value in values):
            out = self.triangles() if len(values) == 2 else self.three_step_paths()
            out += out[self.support.reverse_arc]
        elif len(values) == 2:
            out = self.weighted_triangles(values, prime)
        else:
            out = self._weighted_three_steps(values, symmetric, prime)
        return out % out.dtype.type(prime) if prime else out

    def _weighted_three_steps(self, values, symmetric, prime):
        """Each of the four vertices in turn is the highest one."""
        paths, reverse_arc, (first, second, third) = self.weighted_three_step_paths, self.support.reverse_arc, values
        first_back, second_back, third_back = map(self.transposed, values)
        from_start = paths((first, second, None, third_back), at_highest=True, prime=prime)
        from_start += paths((second, third, first_back, None), at_highest=False, prime=prime)
        if symmetric:
            return from_start + from_start[reverse_arc]
        from_end = paths((third_back, second_back, None, first), at_highest=True, prime=prime)
        from_end += paths((second_back, first_back, third, None), at_highest=False, prime=prime)
        return from_start + from_end[reverse_arc]

    def cycle_sum(self, values: list, prime: int) -> int:
        """Sum over cycles of four steps, all ones, or of five, from each start, in this direction.

        Their vertices all differ.
        """
        modulus = prime or 1 << 64
        if len(values) == 4:
            return 8 * self.four_cycles(prime) % modulus
        if all(value is None for value in values) and not prime:
            return 5 * self.five_cycles() % modulus
        identities = [-1 if value is None else id(value) for value in values]
        rotations = [tuple(identities[i:] + identities[:i]) for i in range(5)]
        backs, total = [self.transposed(value) for value in values], 0
        for rotation, times in Counter(rotations).items():
            i = rotations.index(rotation)
            total += times * self._from_highest(values[i:] + values[:i], backs[i:] + backs[:i], prime)
        return total % modulus

    def _from_highest(self, values, backs, prime):
        """The sum over cycles of five whose first step starts at the highest vertex."""
        xp = self.support.xp
        there_and_back = xp.ones(len(self.support.targets), xp.uint64)
        for value in (backs[0], values[4]):
            if value is not None:
                there_and_back = there_and_back * value
        if prime:
            there_and_back %= xp.uint64(prime)
        return self.weighted_five_cycles(values, backs, running_sums(xp, there_and_back, xp.uint64), prime)
