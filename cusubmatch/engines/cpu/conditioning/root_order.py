"""The order in which the roots of a count are counted: those with the longest rows first.

They take longest. So what is left towards the end is short, and threads end at about the same time (longest processing
time first, Graham 1969); and how long the first roots take does not promise too little.
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import jit
from cusubmatch.plan.candidate_graph import CandidateGraph

__all__ = ["put_longest_first"]


def put_longest_first(local: CandidateGraph, root: int, roots: np.ndarray) -> None:
    """Put some roots in order, in place: int32 local indices of candidates of the vertex `root`."""
    relations = [relation for (u, _), (relation,) in local.constraints.required.items() if u == root]
    sizes = np.ones(len(roots))
    _multiply_lengths(local.adjacency.offsets, np.array(relations, np.int64), roots, sizes)
    roots[:] = roots[np.argsort(-sizes, kind="stable")]


@jit
def _multiply_lengths(offsets, relations, roots, sizes):
    """Multiply each size by the lengths of its root's rows in these relations."""
    for relation in relations:
        for i in range(len(roots)):
            sizes[i] *= offsets[relation, roots[i] + 1] - offsets[relation, roots[i]]
