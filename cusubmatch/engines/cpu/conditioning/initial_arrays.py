"""The arrays that a count by recursive conditioning begins with, and the vertex that is branched on first.

Domains are bits where the candidate graph has few local indices and rows, and sorted lists elsewhere.
"""

from __future__ import annotations

import functools

import numpy as np

from cusubmatch.engines.cpu.candidates.lists import candidate_lists
from cusubmatch.engines.cpu.conditioning.bits.initial_arrays import bit_arrays, fits_bits
from cusubmatch.engines.cpu.conditioning.bits.state import Arrays as BitArrays
from cusubmatch.engines.cpu.conditioning.component_cache import FEW_SLOTS, empty_shares, empty_table
from cusubmatch.engines.cpu.conditioning.count_arithmetic import RESIDUES
from cusubmatch.engines.cpu.conditioning.elimination_order import branching_order
from cusubmatch.engines.cpu.conditioning.lists.initial_arrays import list_arrays
from cusubmatch.engines.cpu.conditioning.lists.state import Arrays as ListArrays
from cusubmatch.engines.cpu.conditioning.partial_sums import PARTIAL_WORDS
from cusubmatch.engines.cpu.conditioning.registers import FACTORS, MAX_VERTICES, REGISTERS
from cusubmatch.engines.cpu.tunables import Tunables
from cusubmatch.plan.candidate_graph import CandidateGraph

__all__ = ["initial_arrays", "number_of_roots", "order_of"]

SEED = 20  # of the random words


def number_of_roots(local: CandidateGraph) -> int:
    """The number of candidates of the vertex that is branched on first."""
    return len(local.candidates.of(order_of(local)[0]))


def order_of(local: CandidateGraph) -> list[int]:
    """The vertices as they are branched on where nothing has narrowed their domains."""
    return branching_order(local.constraints.neighbours_as_bits(), local.candidates.cardinalities.sizes)


def initial_arrays(
    local: CandidateGraph, tunables: Tunables, ended: np.ndarray, threads: int
) -> tuple[int, ListArrays | BitArrays, range, int]:
    """The vertex that is branched on first, the arrays, and where the pool of each thread begins in the store.

    And how many embeddings each one that is counted stands for. `ended` is the flag of the arrays.
    """
    size, n, required = len(local.constraints.labels), MAX_VERTICES, local.constraints.required
    neighbours = local.constraints.neighbours_as_bits()
    conflicts = local.constraints.conflicts_as_bits(neighbours)
    slots = min(FEW_SLOTS, tunables.conditioning_slots)
    relations = np.zeros(n * n, np.int32)
    relations[[n * u + w for u, w in required]] = [relation for (relation,) in required.values()]
    order, priority = branching_order(neighbours, local.candidates.cardinalities.sizes), [0] * size
    for place, v in enumerate(order):
        priority[v] = place
    of_vertices = np.zeros((4, n), np.int64)
    of_vertices[:, :size] = neighbours, conflicts, conflicts, priority
    lists, begins = candidate_lists(local.candidates.masks, size)
    common = {
        "neighbours": of_vertices[0],
        "all_conflicts": of_vertices[1],
        "conflicts": of_vertices[2],
        "priority": of_vertices[3],
        "relations": relations,
        "roots": lists[begins[order[0]] : begins[order[0] + 1]],
        "factors": _factors(),
        "registers": np.zeros(REGISTERS, np.int64),
        "partial_sums": np.zeros(PARTIAL_WORDS, np.uint64),
        "ended": ended,
        "primes": np.zeros(RESIDUES, np.uint64),
        "table": empty_table(slots),
        "shared": empty_shares(slots),
    }
    make = bit_arrays if fits_bits(local, tunables) else list_arrays
    return order[0], *make(local, lists, begins, common, threads)


@functools.cache
def _factors() -> np.ndarray:
    """The random words, which nobody writes to."""
    return np.random.default_rng(SEED).integers(0, 1 << 64, FACTORS, np.uint64) | np.uint64(1)
