"""Where the numbers of a count lie in shared memory: the pattern, the block's state, and that of each of its warps.

A block's state is about one world: what is left of the candidates when the root, the vertex that is matched first, has
one image. Candidates of a vertex are numbered anew in each world, and sets of them have so many words, the world's
width. Some parts are as long as the program says: `n` pattern vertices, and `width` words at the most.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

__all__ = ["BLOCK_WORDS", "MAX_VERTICES", "StateParts", "pattern_words", "state_parts"]

MAX_VERTICES = 32

# The pattern: of each vertex those that it is joined to or in conflict with, and the latter alone, as bits, without the
# root; and by number the first of these, the second and so on.
NEAR, CONFLICTS, NTH = 0, MAX_VERTICES, 2 * MAX_VERTICES
PATTERN_WORDS = NTH + MAX_VERTICES * MAX_VERTICES

# The block, by vertex: numbers of candidates; where the rows begin, in the world and in the task (`task_rows`), and
# where the candidates are listed; those that it is joined to or may collide with.
# By the place of a vertex in the order of elimination: the vertex; those in its table; up to three of these, the inner
# ones; where the table begins; all bits that the numbers in it have; the tables that are multiplied to make it. Of the
# table that is made: these, one after the other, then itself.
SIZES, FIRSTS, TASK_FIRSTS, LISTS, JOINED, ORDER, BAGS, INNERS, PLACES, LOW_BITS, HIGH_BITS, USED, FACTORS = range(
    PATTERN_WORDS, PATTERN_WORDS + 13 * MAX_VERTICES, MAX_VERTICES
)
# The task that is done; vertices whose sets others are narrowed by; those whose sets have changed, twice; what is to be
# done; the words of a set in the world, and in the task; vertices to eliminate, as bits, and how many; the tables whose
# numbers may be 2^32 or more, 2^64 or more; which part of the memory of all blocks is this one's; where in it the
# combinations of candidates of the inner vertices begin, and end; when it is to leave, in two words.
TASK, PENDING, CHANGED, _, VERDICT, WIDTH, TASK_WIDTH, LEFT, NUMBER, WIDE, ROUNDED, PART, LIST, LIST_END, LEAVES, _ = (
    range(FACTORS + MAX_VERTICES, FACTORS + MAX_VERTICES + 16)
)
BLOCK_WORDS = LEAVES + 2  # then parts whose size depends on the pattern and the worlds

# A warp, by level: the next candidate, and the image. Combinations of inner vertices that are left, fewer than two a
# lane.
NEXT, IMAGES, GATHERED, WARP_WORDS = 0, MAX_VERTICES, 2 * MAX_VERTICES, 4 * MAX_VERTICES


class StateParts(NamedTuple):
    """Where the other parts begin: in shared memory the block's, then its warps; and in the state of a warp its own.

    Attributes
    ----------
    sets : int
        Candidates of each vertex, `width` words each.
    around : int
        Room: for what is united, as many words as sets have; then by vertex and lane, the vertices that it is joined
        to while an order of elimination is found; then free.
    levels : int
        By table, the vertices that are not inner ones.
    strides : int
        By table and vertex, how far two successive candidates are apart.
    warps : int
        The first warp's state.
    left : int
        What is left of the candidates of the vertex that is summed over, and of the inner ones.
    offsets : int
        By level and factor, where the images lead to in the factor's table.
    words : int
        Of a warp.
    """

    sets: int
    around: int
    levels: int
    strides: int
    warps: int
    left: int
    offsets: int
    words: int


def state_parts(n: int, width: int, lanes: int) -> StateParts:
    """The parts, for so many pattern vertices, words of a set, and lanes of a warp."""
    sets = BLOCK_WORDS
    around = sets + n * width
    strides = around + n * n
    warps = around + n * max(width, lanes, 2 * n)
    left = WARP_WORDS
    offsets = left + 4 * width
    return StateParts(sets, around, around, strides, warps, left, offsets, offsets + n * n)


def pattern_words(near: Sequence[int], conflicts: Sequence[int]) -> np.ndarray:
    """What the block knows about the pattern, uint32."""
    words = np.zeros(PATTERN_WORDS, np.uint32)
    words[NEAR : NEAR + len(near)], words[CONFLICTS : CONFLICTS + len(near)] = near, conflicts
    for v, others in enumerate(near):
        found = [u for u in range(len(near)) if others >> u & 1]
        begin = NTH + MAX_VERTICES * v
        words[begin : begin + len(found)] = found
    return words
