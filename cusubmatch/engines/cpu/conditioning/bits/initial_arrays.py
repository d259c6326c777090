"""The arrays that a count on bits begins with, and for which candidate graphs there are bits."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from cusubmatch.engines.cpu.conditioning.bits.image_order import put_in_order
from cusubmatch.engines.cpu.conditioning.bits.state import Arrays
from cusubmatch.engines.cpu.conditioning.pools import pools_of
from cusubmatch.engines.cpu.conditioning.registers import MAX_VERTICES, TRAIL_ENTRIES
from cusubmatch.engines.cpu.primitives.bitsets import SET_BITS, SET_WORDS
from cusubmatch.engines.cpu.primitives.cache_lines import on_lines, zeros_on_lines
from cusubmatch.engines.cpu.primitives.jit import jit
from cusubmatch.engines.cpu.tunables import Tunables
from cusubmatch.plan.candidate_graph import CandidateGraph
from cusubmatch.plan.equivalent_vertices import interchangeable_classes

__all__ = ["bit_arrays", "fits_bits"]

SEED = 21  # of the factors
KINDS_OF_FACTORS = 4


def fits_bits(local: CandidateGraph, tunables: Tunables) -> bool:
    """Whether the candidates of a candidate graph are few enough, and its rows as bits small enough."""
    locals_, blocks = len(local.candidates.masks), len(local.adjacency[0])
    words = blocks * locals_ * _width(locals_)
    return locals_ <= min(SET_BITS, tunables.most_set_elements) and words <= tunables.most_set_row_words


def _width(locals_: int) -> int:
    return (locals_ + 63) >> 6


def bit_arrays(
    local: CandidateGraph,
    lists: np.ndarray,
    begins: np.ndarray,
    common: dict[str, Any],
    threads: int,
) -> tuple[Arrays, range, int]:
    """The arrays, with those that are `common` to all states, where the pool of each thread begins in the store.

    And how many embeddings each counted one stands for: of interchangeable vertices one order of images is counted.
    """
    locals_, n = len(local.candidates.masks), MAX_VERTICES
    width = _width(locals_)
    offsets, targets, _ = local.adjacency
    classes = interchangeable_classes(local.constraints)
    blocks = len(offsets) + 2 * len(classes)
    rows = zeros_on_lines(blocks * locals_ * width + SET_WORDS, np.uint64)
    whole, domains = _sets(n), _sets(n)
    _set_bits(offsets, targets, locals_ * width, width, rows)
    _set_bits(begins[None], lists, 0, SET_WORDS, whole)
    domains[:] = whole
    sets = rows[:-SET_WORDS].reshape(blocks, locals_, width)
    for number, vertices in enumerate(classes):
        put_in_order(vertices, common, sets, len(offsets) + 2 * number)
    conflicts = sum(map(int.bit_count, common["all_conflicts"].tolist()))  # each twice
    pools = pools_of(threads, (n + conflicts) * locals_)
    arrays = Arrays(
        rows=rows,
        set_factors=_set_factors(),
        whole=whole,
        domains=domains,
        store=np.empty(pools.stop, np.int32),
        trail=np.zeros(2 * TRAIL_ENTRIES, np.int64),
        trail_sets=on_lines(np.empty, SET_WORDS * TRAIL_ENTRIES, np.uint64),
        locals=locals_,
        width=width,
        **common,
    )
    return arrays, pools, math.prod(math.factorial(len(vertices)) for vertices in classes)


@functools.cache
def _set_factors() -> np.ndarray:
    random = np.random.default_rng(SEED)
    factors = _sets(KINDS_OF_FACTORS * MAX_VERTICES)
    factors[:] = random.integers(0, 1 << 64, len(factors), np.uint64) | np.uint64(1)
    return factors


def _sets(number: int) -> np.ndarray:
    """The words of so many empty sets, each in a line of the caches."""
    return zeros_on_lines(number * SET_WORDS, np.uint64)


@jit
def _set_bits(offsets, targets, block_words, width, sets):
    """Write row x of each block to the set at block * block_words + x * width."""
    for block in range(offsets.shape[0]):
        for x in range(offsets.shape[1] - 1):
            at = block * block_words + x * width
            for i in range(offsets[block, x], offsets[block, x + 1]):
                sets[at + (targets[i] >> 6)] |= np.uint64(1) << np.uint64(targets[i] & 63)
