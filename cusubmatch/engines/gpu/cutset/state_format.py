"""Where the numbers of a count lie in shared memory: the pattern, the block's state, and that of each of its warps.

A block's state is about one world: what is left of the candidates when the root, the vertex that is matched first, has
one image. Candidates of a vertex are numbered anew in each world, and sets of them have so many words, the world's
width. Some parts are as long as the program says: `n` pattern vertices, and `width` words at the most.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

__all__ = ["BLOCK_WORDS", "MAX_VERTICES", "SET_PAIR_WORDS", "StateParts", "pattern_words", "state_parts"]

MAX_VERTICES = 32
SET_PAIR_WORDS = 64  # of a list of pairs, for each word of a set: two for each candidate

# The pattern: of each vertex those that it is joined to or in conflict with, and the latter alone, as bits, without the
# root; and by number the first of these, the second and so on.
NEAR, CONFLICTS, NTH = 0, MAX_VERTICES, 2 * MAX_VERTICES
PATTERN_WORDS = NTH + MAX_VERTICES * MAX_VERTICES

# The block, by vertex: numbers of candidates; where the rows begin; those that it is joined to or may collide with.
# By the place of a vertex in the order of elimination: the vertex; those in its table; the one of these whose
# candidates lie next to each other, and the one after it, which may be the same; where its table begins. Of the table
# that is made: the tables that are multiplied, and the vertex of each level.
SIZES, FIRSTS, JOINED, ORDER, BAGS, FASTEST, SECOND, PLACES, FACTORS, LEVELS = range(
    PATTERN_WORDS, PATTERN_WORDS + 10 * MAX_VERTICES, MAX_VERTICES
)
# What is to be done; the width; vertices to eliminate; pairs of candidates of the two fastest vertices.
VERDICT, WIDTH, NUMBER, PAIRS = range(LEVELS + MAX_VERTICES, LEVELS + MAX_VERTICES + 4)
BLOCK_WORDS = PAIRS + 1  # then parts whose size depends on the pattern and the worlds

# A warp, by level: the next candidate and that one's rank, and the image.
NEXT, RANKS, IMAGES, WARP_WORDS = 0, MAX_VERTICES, 2 * MAX_VERTICES, 3 * MAX_VERTICES


class StateParts(NamedTuple):
    """Where the other parts begin: in shared memory the block's, then its warps; and in the state of a warp its own.

    Attributes
    ----------
    sets : int
        Candidates of each vertex, `width` words each.
    around : int
        By vertex and lane, the vertices that it is joined to while an order of elimination is found; then free.
    before : int
        How many candidates of the vertex that is summed over lie before each word.
    strides : int
        By level and factor, how far two successive candidates are apart in the factor's table.
    warps : int
        The first warp's state.
    left : int
        By level, what is left of the candidates of the vertex that is summed over, and of the two fastest ones.
    offsets : int
        By level and factor, where the images lead to in the factor's table.
    words : int
        Of a warp.
    """

    sets: int
    around: int
    before: int
    strides: int
    warps: int
    left: int
    offsets: int
    words: int


def state_parts(n: int, width: int, lanes: int) -> StateParts:
    """The parts, for so many pattern vertices, words of a set, and lanes of a warp."""
    sets = BLOCK_WORDS
    before = sets + n * width
    strides = before + width
    warps = max(strides + (n + 2) * n, before + n * lanes)
    left = WARP_WORDS
    offsets = left + 3 * n * width
    return StateParts(sets, before, before, strides, warps, left, offsets, offsets + n * n)


def pattern_words(near: Sequence[int], conflicts: Sequence[int]) -> np.ndarray:
    """What the block knows about the pattern, uint32."""
    words = np.zeros(PATTERN_WORDS, np.uint32)
    words[NEAR : NEAR + len(near)], words[CONFLICTS : CONFLICTS + len(near)] = near, conflicts
    for v, others in enumerate(near):
        found = [u for u in range(len(near)) if others >> u & 1]
        begin = NTH + MAX_VERTICES * v
        words[begin : begin + len(found)] = found
    return words
