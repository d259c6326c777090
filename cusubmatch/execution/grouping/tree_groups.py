"""Matches of a tree by the image of one vertex, by sums along its edges (Yannakakis, VLDB 1981, for counts).

The tree hangs on that vertex. What a vertex of the graph counts is the product over the branches there of the sum over
its neighbours in each; a leaf counts 1 where it may stand. That is exact where vertices need not differ, or differ by
themselves: neighbours do, and so do vertices of different labels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cusubmatch.engines.prepared import Prepared
from cusubmatch.execution.grouping.grouped_rows import Groups
from cusubmatch.graph.csr import row_lengths, running_sums
from cusubmatch.plan import Constraints
from cusubmatch.plan.constraints import are_disjoint

__all__ = ["is_tree", "number_of_arcs", "tree_groups"]

MAX_COUNT = (1 << 63) - 1


def is_tree(constraints: Constraints) -> bool:
    """Whether a pattern is a tree whose counts are sums along its edges."""
    required, labels = constraints.required, constraints.labels
    if any(constraints.forbidden.values()) or any(len(relations) != 1 for relations in required.values()):
        return False
    if len(required) != 2 * (len(labels) - 1):
        return False
    return all((u, w) in required or are_disjoint(labels[u], labels[w]) for u, w in constraints.distinct)


def number_of_arcs(constraints: Constraints, prepared: Prepared) -> int:
    """The arcs that the sums go over, about."""
    offsets = prepared.adjacency.offsets
    relations = {relation for some in constraints.required.values() for relation in some}
    return sum(int(offsets[relation][-1] - offsets[relation][0]) for relation in relations)


def tree_groups(constraints: Constraints, prepared: Prepared, root: int) -> Groups | None:
    """The matches by the image of a vertex; None where they might be too many for an int64."""
    offsets, targets, _ = prepared.adjacency
    masks, required, size = prepared.candidates.masks, constraints.required, len(constraints.labels)
    bound = 1.0

    def counts(vertex: int, above: Sequence[int]) -> np.ndarray:
        """The matches of the branch at a vertex, by its image."""
        nonlocal bound
        product = (masks >> np.uint32(vertex) & np.uint32(1)).astype(np.int64)
        for other in range(size):
            if (vertex, other) in required and other not in above:
                below = counts(other, [vertex])
                (relation,) = required[vertex, other]
                rows = offsets[relation]
                bound *= max(float(row_lengths(rows).max(initial=0)), 1.0)
                if bound > MAX_COUNT:
                    return product
                first = int(rows[0])
                sums = running_sums(np, below[targets[first : int(rows[-1])]], np.int64)[rows - first]
                product *= sums[1:] - sums[:-1]
        return product

    found = counts(root, [])
    # A running sum over all rows wraps where it is too large, and the difference is right again.
    if bound > MAX_COUNT:
        return None
    vertices = np.flatnonzero(found).astype(np.int32)
    return Groups(vertices[None], found[vertices])
