"""Candidates on the GPU: arc consistency and the counts of what remains (the rest is `plan/candidates.py`).

Consistency is one launch for all pattern edges that do not see what another one of them clears. Whatever the result,
the numbers travel to the host together, once.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.gpu.runtime.transfer import near_array
from cusubmatch.engines.gpu.search.filter_kernels import (
    make_arc_consistency_pass,
    make_count_candidates,
    make_count_pairs,
    make_take_sample,
    signatures,
)
from cusubmatch.graph import Adjacency, Graph
from cusubmatch.graph.csr import module_of
from cusubmatch.pattern import Pattern
from cusubmatch.plan import Constraints
from cusubmatch.plan.candidates import (
    ROUNDS,
    SAMPLE,
    Candidates,
    candidate_constraints_of,
    label_degree_filter,
    select,
    uniform,
)

__all__ = ["find_candidates"]

U, L = np.uint32, np.uint64
BLOCKS = 8  # a multiprocessor
MASK_BITS = 32


def find_candidates(
    graph: Graph,
    pattern: Pattern,
    constraints: Constraints,
    adjacency: Adjacency,
    injective: bool,
    *,
    gpu: Device,
    sample: int = SAMPLE,
) -> Candidates:
    """Filter the vertices of a device graph for every vertex of `pattern`: the candidates that the CPU finds."""
    requirements = candidate_constraints_of(constraints, injective)
    if requirements.uniform:
        rows = adjacency._replace(offsets=near_array(adjacency.offsets))
        xp = module_of(graph.xp, rows.offsets)
        return uniform(xp, requirements, rows, label_degree_filter(graph, constraints, requirements, rows, xp))
    masks = label_degree_filter(graph, constraints, requirements, adjacency)
    size, edges = len(pattern), requirements.edges
    sizes, differ, pairs = [0] * size, [0] * size, [(0, 0)] * len(edges)
    if len(masks):
        if gpu.target.ahead is not None:
            gpu.target.ahead(signatures())
        kernels = _FilterKernels(gpu, graph.xp, adjacency, masks, edges)
        for _ in range(ROUNDS):
            if not kernels.make_consistent(requirements):
                break
        sizes, differ, pairs = kernels.count(size, sample)

    def have_equal_candidates(u, w):
        return not differ[u] >> w & 1

    return select(graph, constraints, requirements, lambda: masks, sizes, pairs, have_equal_candidates, sample)


class _FilterKernels:
    """The kernels with what they share: rows, masks and the pattern's edges, as kernels take them."""

    def __init__(self, gpu, xp, adjacency, masks, edges):
        self.gpu, self.xp, self.to_device, self.tunables = gpu, xp, gpu.to_device, gpu.tunables
        self.n, self.edges = len(masks), edges
        targets = adjacency.targets if len(adjacency.targets) else xp.zeros(1, np.int32)
        offsets = adjacency.offsets.ravel() if len(edges) else xp.zeros(1, np.int64)
        words = xp.asarray(edges.ravel().astype(np.uint32)) if len(edges) else xp.zeros(3, np.uint32)
        self.rows, self.masks = [self.to_device(offsets), self.to_device(targets)], self.to_device(masks)
        self.edge_words = self.to_device(words)

    def _launch(self, kernel, warps, *arguments):
        block_warps = self.tunables.filter_block_warps
        blocks = max(1, min(-(-warps // block_warps), BLOCKS * self.gpu.processors))
        kernel[blocks, block_warps * self.gpu.target.WARP](*arguments)

    def make_consistent(self, requirements):
        """One round; whether any bit was cleared."""
        target, changed = self.gpu.target, self.xp.zeros(1, np.uint32)
        kernel = make_arc_consistency_pass(target, self.tunables.filter_probed_neighbours)
        flag = self.to_device(changed)
        for begin, end in requirements.passes:
            sources = sum({1 << u for u in self.edges[begin:end, 0].tolist()})
            arguments = (*self.rows, self.masks, self.edge_words, U(begin), U(end), U(sources), flag)
            self._launch(kernel, -(-self.n // target.WARP), *arguments)
        return bool(changed[0])

    def count(self, size, sample):
        """Per pattern vertex its candidates and the mask of those that differ in theirs; per edge (pairs, squares).

        The pairs of an edge are those of a sampled candidate and a neighbour; see `plan.candidates`.
        """
        xp, target, m = self.xp, self.gpu.target, len(self.edges)
        chunk = self.tunables.filter_chunk_vertices
        chunks = -(-self.n // chunk)
        numbers = xp.zeros(MASK_BITS + 2 * m + size + 1, np.uint64)
        counts = xp.zeros(size * chunks + 1, np.uint32)
        results = self.to_device(counts), self.to_device(numbers)
        self._launch(make_count_candidates(target, chunk), chunks, self.masks, *results, L(chunks), U(size))
        sums = xp.cumsum(counts, dtype=np.uint64)
        numbers[MASK_BITS + 2 * m :] = sums[::chunks]
        if m:
            sampled = [self.to_device(sums), self.to_device(xp.empty(size * 2 * sample, np.uint32))]
            self._launch(make_take_sample(target, sample, chunk), chunks, self.masks, *sampled, L(chunks), U(size))
            kernel, tasks = make_count_pairs(target, sample), m * 2 * sample
            counted = xp.zeros(tasks, np.uint32)
            sampled.append(self.to_device(counted))
            self._launch(kernel, tasks, *self.rows, self.masks, self.edge_words, *sampled, L(chunks), U(tasks))
            pairs = counted.reshape(m, -1).astype(np.uint64)  # a row of samples an edge
            numbers[MASK_BITS : MASK_BITS + m] = pairs.sum(axis=1)
            numbers[MASK_BITS + m : MASK_BITS + 2 * m] = (pairs * (pairs - np.uint64(1))).sum(axis=1)
        numbers = [int(number) for number in numbers.tolist()]
        of_edges, sums = numbers[MASK_BITS : MASK_BITS + 2 * m], numbers[MASK_BITS + 2 * m :]
        sizes = [after - before for before, after in pairwise(sums)]
        return sizes, numbers[:size], list(zip(of_edges[:m], of_edges[m:], strict=True))
