"""Sums over trees with an apex: for many images of the apex at a time, by products of sparse and dense matrices.

With the apex fixed, its edges only say which vertices the others may be, and a tree is summed from its leaves to its
root: one product of the adjacency matrix and a vector for each edge. The vectors of many images of the apex are the
columns of a matrix. (Díaz, Serna & Thilikos 2002 count homomorphisms from graphs of bounded treewidth; these have two.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from cusubmatch.engines.table_algebra import TableAlgebra
from cusubmatch.graph.csr import row_lengths
from cusubmatch.graph.support_graph import SupportGraph, sources_of
from cusubmatch.plan.decomposition.expression import Branch

__all__ = ["apex_tree_sums"]

MIN_COLUMNS = 8  # of a dense matrix


def apex_tree_sums(
    tree: Branch,
    support: SupportGraph,
    kernels: TableAlgebra,
    values_of: Callable[[tuple], Any],
    weights_of: Callable[[tuple], Any],
    prime: int,
) -> Any:
    """Over vertices: the sum over the homomorphisms of a tree with an apex there, uint64.

    Parameters
    ----------
    tree : Branch
    support : SupportGraph
    kernels : TableAlgebra
    values_of, weights_of : callable
        The array over arcs that is a product of factors, and the array over vertices that is one of weights; None
        for all ones.
    prime : int
        0: modulo 2^64.
    """
    xp, below = support.xp, tree.below()
    arrays = {factors: values_of(factors) for branch in below for factors in (branch.link.factors, *branch.chord)}
    weights = {branch.link.weights: weights_of(branch.link.weights) for branch in below}
    out = xp.zeros(support.vertices, xp.uint64)
    chords = {factors for branch in below for factors in branch.chord}
    sources = sources_of(xp, support.offsets)
    images = xp.nonzero(_may_be_apex(support, sources, [arrays[factors] for factors in chords]))[0]
    width = max(MIN_COLUMNS, kernels.cells // max(support.vertices, 1))
    for begin in range(0, len(images), width):
        block = _Block(support, kernels, arrays, weights, images[begin : begin + width], prime)
        out[block.images] = block.reduced(block.at(tree.rootless).sum(axis=0, dtype=xp.uint64))
    return out


def _may_be_apex(support: SupportGraph, sources: Any, chords: Iterable[Any]) -> Any:
    """Which vertices have a neighbour for each of the apex's edges."""
    xp, possible = support.xp, row_lengths(support.offsets) > 0
    for values in chords:
        if values is not None:
            possible &= xp.bincount(sources[values != 0], minlength=support.vertices) > 0
    return possible


class _Block:
    """The matrices of one block of images of the apex: a row for each vertex, a column for each image."""

    def __init__(
        self,
        support: SupportGraph,
        kernels: TableAlgebra,
        arrays: Mapping[tuple, Any],
        weights: Mapping[tuple, Any],
        images: Any,
        prime: int,
    ):
        self.support, self.kernels, self.arrays, self.weights = support, kernels, arrays, weights
        self.images, self.prime, self.xp = images, prime, support.xp
        self._at: dict[Branch, Any] = {}
        self._from: dict[tuple, Any] = {}

    def at(self, branch: Branch) -> Any:
        """Of each vertex y, the sum over the subtree with its root at y."""
        if branch not in self._at:
            weights = self.weights[branch.link.weights]
            factors = [self._from_parent(child) for child in branch.branches]
            factors += [self._rows(self.arrays[chord]) for chord in branch.chord]
            if not factors:  # a leaf that is not adjacent to the apex
                factors = [self.xp.ones((self.support.vertices, len(self.images)), self.xp.uint64)]
            product = factors[0]
            for factor in factors[1:]:
                product = self.reduced(product * factor)
            self._at[branch] = product if weights is None else self.reduced(product * weights[:, None])
        return self._at[branch]

    def _from_parent(self, branch: Branch) -> Any:
        """Of each vertex y, the sum over the subtree with its root at a neighbour of y."""
        key = branch.link.factors, branch.rootless
        if key not in self._from:
            columns = self.at(branch.rootless)
            self._from[key] = self.kernels.sparse_product(self.arrays[branch.link.factors], columns, self.prime)
        return self._from[key]

    def _rows(self, values: Any) -> Any:
        """The rows of the images as columns."""
        xp, (offsets, targets) = self.xp, (self.support.offsets, self.support.targets)
        begins, lengths = offsets[self.images], row_lengths(offsets)[self.images]
        ends = xp.cumsum(lengths)
        arcs = xp.arange(int(ends[-1]), dtype=xp.int64) + xp.repeat(begins - (ends - lengths), lengths)
        columns = xp.repeat(xp.arange(len(self.images), dtype=xp.int64), lengths)
        out = xp.zeros((self.support.vertices, len(self.images)), xp.uint64)
        out[targets[arcs], columns] = np.uint64(1) if values is None else values[arcs]
        return out

    def reduced(self, array: Any) -> Any:
        """Residues, if there is a prime."""
        return array % self.xp.uint64(self.prime) if self.prime else array
