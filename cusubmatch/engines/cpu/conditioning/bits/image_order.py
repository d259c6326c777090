"""Interchangeable vertices: their images are put in ascending order, so that one way to exchange them is counted.

Breaking a symmetry by an order of images is Grochow & Kellis's (2007). Where two vertices are in conflict, the order
takes the place of that; where they are adjacent, their rows are cut. Either way they are as if adjacent, by rows of
their own: from x to what is above it, and back.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from cusubmatch.engines.cpu.conditioning.registers import MAX_VERTICES
from cusubmatch.engines.cpu.primitives.jit import jit

__all__ = ["put_in_order"]


def put_in_order(vertices: Sequence[int], common: dict[str, Any], sets: np.ndarray, block: int) -> None:
    """Let the images of some vertices ascend.

    Parameters
    ----------
    vertices : sequence of int
        Any two of them may be exchanged.
    common : dict
        `neighbours`, `all_conflicts` and `relations` of `Arrays` are changed.
    sets : uint64 (blocks, locals, width)
        The rows of each block, of which `block` and the next one are written.
    block : int
    """
    neighbours, relations = common["neighbours"], common["relations"]
    first, second = vertices[:2]
    are_adjacent = neighbours[first] >> second & 1
    _write_order(sets, block, int(relations[first * MAX_VERTICES + second]) if are_adjacent else -1)
    for u, w in combinations(vertices, 2):
        for v, other, rows in ((u, w, block), (w, u, block + 1)):
            neighbours[v] |= 1 << other
            common["all_conflicts"][v] &= ~(1 << other)
            relations[v * MAX_VERTICES + other] = rows


@jit
def _write_order(sets, block, within):
    """Write what is above each local index to `block` and what is below to the next; of its row of `within`, or -1."""
    for x in range(sets.shape[1]):
        own, bit = x >> 6, np.uint64(1) << np.uint64(x & 63)
        below = bit - np.uint64(1)
        for i in range(sets.shape[2]):
            row = sets[within, x, i] if within >= 0 else ~np.uint64(0)
            if i < own:
                sets[block + 1, x, i] = row
            elif i > own:
                sets[block, x, i] = row
            else:
                sets[block, x, i] = row & ~(bit | below)
                sets[block + 1, x, i] = row & below
