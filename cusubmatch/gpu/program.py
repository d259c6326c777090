"""A plan as words: what the walker reads instead of Python objects, and where its stack keeps what.

One walker serves every plan, so nothing is compiled per pattern. Record t says how the candidates of level t are
drawn from the *slots* of that level, partial matches of levels 0 to t - 1. A slot has its prefix, a list (base and
length) for each anchor and non-neighbour, and its share in the running sum of the lengths of the first lists; all of
it lies in shared memory, one array a field, so that lane i reads slot i without conflicts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cusubmatch.plan import Plan, implied_bounds

# The header.
(
    LAST,  # the level whose candidates are counted or written
    STRIDE,  # entries of the offsets a relation: vertices + 1
    HUB,  # the first vertex with a bitmap
    HUBS,  # how many have one
    HUB_WORDS,  # words of a bitmap
    RISING,
    CHUNK,  # first candidates, or whole roots, a ticket
    WHOLE,
    ROOTS,
    WORDS,  # of a warp's stack
    RING,  # entries of the ring, less one
    ENTRY,  # words of an entry
    CAPACITY,  # rows of the output, and
    ENOUGH,  # how many of them end the launch
    COLUMNS,  # where the output columns of the levels stand; NOWHERE for none
    TWICE,  # what a pair counts, for finishes that count pairs, and
    ONCE,  # what a candidate counts
    WEIGH,  # the level whose slots are first weighed; NOWHERE for none
    WEIGHED,  # the record of the level that the weights count
    SIMPLE,  # whether its set is a row as it stands
    WORDWISE,  # the record whose set may be counted by words of bitmaps; NOWHERE for none
    START,  # where counts are kept by tasks: the level whose slots the tickets fill, and
    SHIFT,  # the logarithm of the first candidates, or whole roots, a task
    SIZE,  # words of the program
) = range(24)
HEADER = 24

# A record.
# NEED: a first list that is shorter than this cannot serve the levels that draw from subsets of it.
# FIX: what to test before a vertex of this level is taken off the weight: as REFERENCES, with counts of its own.
ANCHORS, FORBIDDEN, DIFFER, BOUNDS, MASK, REFERENCES, PREFIX, LISTS, SUMS, NEED = range(10)
FIX, FIX_ANCHORS, FIX_FORBIDDEN, FIX_BOUNDS, FIX_MASK = range(10, 15)
RECORD = 15

NOWHERE = 0xFFFFFFFF
LEVEL_BITS = 8  # a reference to a row: relation << 8 | level
FINISHES = {"size": (0, 1), "choose": (1, 0), "ordered": (2, 0), "square": (2, 1)}
SHARED_WORDS = 12_288  # of a block


class Layout(NamedTuple):
    """A program, and the shape of what it needs.

    Attributes
    ----------
    words : uint32 array
        Header, a record for each level from 0 (unused), and what the records refer to.
    slots : int
        Partial matches a level.
    warps : int
        Warps of a block.
    stack : int
        Words of a warp's stack.
    weighed : bool
        Whether partial matches carry weights.
    """

    words: np.ndarray
    slots: int
    warps: int
    stack: int
    weighed: bool


def encode(plan: Plan, tested: tuple[int | None, ...], *, warp: int, wide: bool, longest: int) -> Layout:
    """The program of a plan of at least two levels.

    Parameters
    ----------
    plan : Plan
    tested : tuple of int or None
        Per pattern vertex the vertex whose filter is tested.
    warp : int
        Lanes of a warp, the most slots that a level can have.
    wide : bool
        Whether the base of a list takes two words.
    longest : int
        The length of the longest row; the slots of a level have fewer than 2**32 candidates together.
    """
    counted = plan.walked if plan.finish != "rows" else len(plan.levels) - 1
    fixed = fixed_at(plan, tested)
    last, last_fixed = (counted, 0) if fixed is None else (counted - 1, fixed)
    size = 3 if wide else 2  # words of a list
    drawn = plan.levels[: counted + 1]
    rows = [[*level.anchors, *level.forbidden] for level in drawn]
    weights = [int(fixed is not None and fixed < t <= last) for t in range(len(drawn))]
    prefixes = [t + weights[t] if t <= last else 0 for t in range(len(drawn))]
    per_slot = sum(prefixes[t] + size * len(rows[t]) + 1 for t in range(1, len(drawn)))
    words = [0] * (HEADER + RECORD * len(drawn))
    references = sum(
        3 * len(some) + 2 * len(level.bounds) + len(level.differ) for level, some in zip(drawn, rows, strict=True)
    )
    slots, warps = _shape(
        len(words) + len(drawn) + references, 3 * len(drawn), per_slot, min(warp, (2**32 - 64) // max(longest, 1))
    )
    place, prefix_at = 3 * len(drawn), [0] * len(drawn)
    for t, level in enumerate(drawn):
        if t == 0:
            continue
        prefix_at[t] = place if t <= last else prefix_at[last_fixed + 1]
        lists_at = place + prefixes[t] * slots
        sums_at = lists_at + size * len(rows[t]) * slots
        place = sums_at + slots
        differ = [j for j in level.differ if t <= last or j <= last_fixed]
        begin = HEADER + RECORD * t
        words[begin : begin + FIX] = [
            len(level.anchors),
            len(level.forbidden),
            len(differ),
            len(level.bounds),
            _or_nowhere(tested[level.vertex]),
            len(words),
            prefix_at[t],
            lists_at,
            sums_at,
            _need(plan, t),
        ]
        words += [row.relation << LEVEL_BITS | row.level for row in rows[t]] + differ + list(level.bounds)
        words[begin + FIX] = NOWHERE
        if weights[t] and t in drawn[counted].differ:
            words[begin + FIX : begin + RECORD] = _fix(words, level, drawn[counted], tested)
    named = [vertex for vertex, name in enumerate(plan.pattern.names) if name is not None]
    columns = {vertex: column for column, vertex in enumerate(named)}
    words[COLUMNS] = len(words)
    words += [columns.get(level.vertex, NOWHERE) for level in drawn]
    words[LAST], words[RISING], words[WORDS], words[SIZE] = last, int(plan.rising), place, len(words)
    words[TWICE], words[ONCE] = FINISHES.get(plan.finish, (0, 1))
    words[WEIGH], words[WEIGHED] = (NOWHERE, 0) if fixed is None else (fixed + 1, counted)
    words[SIMPLE] = int(fixed is not None and _is_simple(drawn[counted], tested, fixed))
    drawable = plan.finish == "size" and counted > 1  # first candidates lie in a row
    by_words = drawable and len(rows[counted]) > 1 and tested[drawn[counted].vertex] is None
    words[WORDWISE] = counted if by_words else NOWHERE
    return Layout(np.array(words, np.uint32), slots, warps, place, fixed is not None)


def fixed_at(plan: Plan, tested: tuple[int | None, ...]) -> int | None:
    """The level that completes the set of the counted level, if others are visited after it; else None.

    The size of that set is then a weight that the partial matches carry. A set of the root alone is made again for
    every part of the root's candidates, so it must be a row.
    """
    if plan.finish != "size" or plan.walked < 2:
        return None
    level = plan.levels[plan.walked]
    fixed = max([row.level for row in (*level.anchors, *level.forbidden)] + list(level.bounds))
    taken_off = sum(j > fixed for j in level.differ)
    if fixed >= plan.walked - 1 or (plan.semantics == "homomorphism" and taken_off > 1):
        return None
    return fixed if fixed or _is_simple(level, tested, 0) else None


def _is_simple(level, tested, fixed):
    alone = len(level.anchors) == 1 and not level.forbidden and tested[level.vertex] is None
    return alone and not any(j <= fixed for j in level.differ)


def _fix(words, level, counted, tested):
    """What tells whether a vertex of `level` is in the set of the counted level, beyond what its own rows say."""
    anchors = [row for row in counted.anchors if row not in level.anchors]
    forbidden = [row for row in counted.forbidden if row not in level.forbidden]
    place = len(words)
    words += [row.relation << LEVEL_BITS | row.level for row in (*anchors, *forbidden)] + list(counted.bounds)
    mask = tested[counted.vertex]
    return [place, len(anchors), len(forbidden), len(counted.bounds), _or_nowhere(mask)]


def _or_nowhere(mask):
    return NOWHERE if mask is None else mask


def _need(plan, t):
    """How many levels take different vertices from any row of level t, cut by its restrictions."""
    if plan.semantics == "homomorphism":
        return 1
    implied = implied_bounds([level.bounds for level in plan.levels])
    rows, bounds = set(plan.levels[t].anchors), set(plan.levels[t].bounds)
    return sum(rows <= set(plan.levels[u].anchors) and bounds <= implied[u] for u in range(t, len(plan.levels)))


def _shape(program, fixed, per_slot, most):
    """Slots a level and warps a block: a slot a lane if two warps of that fit, else fewer."""
    for slots in (s for s in (32, 8, 1) if s <= most):
        for warps in (8, 4, 2):
            if program + warps * (fixed + slots * per_slot) <= SHARED_WORDS:
                return slots, warps
    return 1, 1
