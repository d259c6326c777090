"""A plan as words: what the walker reads instead of Python objects, and where its stack keeps what.

One walker serves every plan, so nothing is compiled per pattern. Record t says how the candidates of level t are
drawn from the *slots* of that level, partial matches of levels 0 to t - 1. A slot has its prefix, a list (base and
length) for each anchor and non-neighbour, and its share in the running sum of the lengths of the first lists; all of
it lies in shared memory, one array a field, so that lane i reads slot i without conflicts. Behind the prefix lies what
a slot carries along: a weight, or what is known already of a suffix. A set that is only counted has a record too, after
those of the levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cusubmatch.engines.gpu.search.suffix_program import suffix_layout
from cusubmatch.engines.gpu.walker import program_format as p
from cusubmatch.plan import NeighbourRows, Plan, Suffix, implied_bounds

LEAF_MODES = {"size": (0, 1), "choose": (1, 0), "ordered": (2, 0), "square": (2, 1)}
SHARED_WORDS = 12_288  # of a block
SLOTS = 32, 8, 1  # of a level


class Layout(NamedTuple):
    """A program, and the shape of what it needs.

    Attributes
    ----------
    words : uint32 array
        Header, a record for each level from 0 (unused) and each set that is counted, and what the records refer to.
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


class Record(NamedTuple):
    """What a record says, and `words`: how many its slots have, prefix and lists, in a place of their own."""

    backward_neighbours: Sequence[NeighbourRows] = ()
    forbidden: Sequence[NeighbourRows] = ()
    injectivity_checks: Sequence[int] = ()
    bounds: Sequence[int] = ()
    mask: int | None = None
    need: int = 0
    wordwise: bool = False
    carried: int = 0

    @property
    def rows(self) -> list[NeighbourRows]:
        return [*self.backward_neighbours, *self.forbidden]

    @property
    def references(self) -> list[int]:
        rows = [row.relation << p.LEVEL_BITS | row.level for row in self.rows]
        return [*rows, *self.injectivity_checks, *self.bounds]


def encode(plan: Plan, tested: tuple[int | None, ...], *, warp: int, offsets64: bool, longest: int) -> Layout:
    """The program of a plan of at least two levels, two of them visited if it has a suffix.

    Parameters
    ----------
    plan : Plan
    tested : tuple of int or None
        Per pattern vertex the vertex whose filter is tested.
    warp : int
        Lanes of a warp, the most slots that a level can have.
    offsets64 : bool
        Whether the base of a list takes two words.
    longest : int
        The length of the longest row; the slots of a level have fewer than 2**32 candidates together.
    """
    fixed, suffix = fixed_at(plan, tested), suffix_layout(plan) if plan.suffix is not None else None
    counted = plan.walked if plan.leaf_mode != "rows" else len(plan.levels) - 1
    last = counted if fixed is None and suffix is None else counted - 1
    extra = [int(fixed is not None and fixed < t) for t in range(last + 1)] if suffix is None else suffix.carried
    records = [Record()]
    records += [_record(plan, tested, t, plan.levels[t].injectivity_checks, extra[t]) for t in range(1, last + 1)]
    if suffix is not None:
        records.append(Record(carried=last + 1 + extra[last + 1]))
        records += [Record(rows, wordwise=len(rows) > 1) for rows in suffix.rows]
    elif fixed is not None:
        injectivity_checks = [j for j in plan.levels[counted].injectivity_checks if j <= fixed]
        records.append(_record(plan, tested, counted, injectivity_checks)._replace(carried=0))
    words = [0] * (p.HEADER + p.RECORD * len(records))
    words[p.WEIGH] = p.NOWHERE
    for t, record in enumerate(records):
        begin = p.HEADER + p.RECORD * t
        words[begin : begin + p.PREFIX] = [
            len(record.backward_neighbours),
            len(record.forbidden),
            len(record.injectivity_checks),
            len(record.bounds),
            _or_nowhere(record.mask),
            len(words),
        ]
        words[begin + p.NEED : begin + p.FIX + 1] = [record.need, int(record.wordwise), record.carried, p.NOWHERE]
        words += record.references
    if suffix is not None:
        _put_suffix(words, suffix, last)
    elif fixed is not None:
        _put_weights(words, plan, tested, fixed, last)
    columns = {vertex: column for column, vertex in enumerate(plan.columns)}
    words[p.COLUMNS] = len(words)
    words += [columns.get(level.vertex, p.NOWHERE) for level in plan.levels[: last + 1]]
    words[p.LAST], words[p.ASCENDING], words[p.SIZE] = last, int(plan.ascending), len(words)
    words[p.PER_PAIR], words[p.PER_CANDIDATE] = LEAF_MODES.get(plan.leaf_mode, (0, 1))
    most = min(warp, (2**32 - 64) // max(longest, 1))
    slots, warps = _place_stack(words, records, last, fixed, suffix, 3 if offsets64 else 2, most)
    return Layout(np.array(words, np.uint32), slots, warps, words[p.WORDS], fixed is not None)


def modulo(words: np.ndarray, suffix: Suffix, prime: int) -> np.ndarray:
    """The program of a plan with a suffix whose values are taken modulo a prime below 2**31."""
    words, at = words.copy(), int(words[p.FACTORS])
    words[p.PRIME] = prime
    for factor in suffix.factors:
        at += 1
        for coefficient in factor.values():
            words[at : at + 2] = coefficient % prime, 0
            at += 3 + int(words[at + 2])
    return words


def _record(plan, tested, t, injectivity_checks, carried=0):
    """The record of level t, `carried` words of whose slots come after the prefix."""
    level = plan.levels[t]
    mask, counted = tested[level.vertex], plan.leaf_mode == "size" and t == plan.walked
    several = len(level.backward_neighbours) + len(level.forbidden) > 1
    wordwise = counted and t > 1 and several and mask is None  # first candidates lie in a row
    need = _need(plan, t)
    return Record(
        level.backward_neighbours, level.forbidden, injectivity_checks, level.bounds, mask, need, wordwise, t + carried
    )


def _put_weights(words, plan, tested, fixed, last):
    """What the walker takes off the weights; the counted set has the record after those of the levels."""
    counted = plan.levels[plan.walked]
    words[p.WEIGH], words[p.WEIGHED] = fixed + 1, last + 1
    for t in range(fixed + 1, last + 1):
        if t in counted.injectivity_checks:
            at = p.HEADER + p.RECORD * t
            words[at + p.FIX : at + p.RECORD] = _fix(words, plan.levels[t], counted, tested)


def _put_suffix(words, suffix, last):
    """The tests, losses and factors of a suffix, and at which level what of it is known."""
    first = words[p.VARIABLES] = last + 2
    for t in range(1, first):
        at = p.HEADER + p.RECORD * t
        words[at + p.MEASURED : at + p.MEASURED_END + 1] = [first + suffix.variables_known(s) for s in (t - 1, t)]
        words[at + p.TESTED : at + p.TESTED_END + 1] = [suffix.tests_known(s) for s in (t - 1, t)]
    words[p.TESTS], words[p.TEST_WORDS] = len(words), suffix.test_words
    for relation, owner, member in suffix.tests:
        words += [relation << p.LEVEL_BITS | owner, member]
    for i, losses in enumerate(suffix.losses):
        at = p.HEADER + p.RECORD * (first + i)
        words[at + p.LOSSES] = len(words)
        for tests in losses:
            words += [len(tests), *tests]
        words[at + p.LOSSES_END], words[at + p.LEAST] = len(words), suffix.least[i]
    words[p.FACTORS] = len(words)
    for factor in suffix.factors:
        words.append(sum(3 + len(monomial) for monomial in factor))
        for monomial, coefficient in factor.items():
            wrapped = coefficient % (1 << 64)
            words += [wrapped & 0xFFFFFFFF, wrapped >> 32, len(monomial), *monomial]
    words[p.FACTORS_END] = len(words)


def _place_stack(words, records, last, fixed, suffix, size, most):
    """Where the stack keeps what, of as many slots and warps as fit; a list has `size` words."""
    levels = last + 1 + (suffix is not None)  # records whose slots have a prefix of their own
    owner = list(range(levels))
    if suffix is not None:
        owner += suffix.known
    elif fixed is not None:
        owner.append(fixed + 1)
    lists = [size * len(record.rows) + bool(record.rows) for record in records]  # with the running sum
    shared = max(lists[levels:], default=0)
    per_slot = sum(record.carried for record in records) + sum(lists[:levels]) + shared
    slots, warps = _shape(len(words), 3 * (last + 1), per_slot, most)
    next_word, prefixes = 3 * (last + 1), []
    for t, record in enumerate(records):
        prefixes.append(next_word if t < levels else prefixes[owner[t]])
        lists_at = next_word + record.carried * slots
        at = p.HEADER + p.RECORD * t
        words[at + p.PREFIX : at + p.NEED] = [prefixes[t], lists_at, lists_at + size * len(record.rows) * slots]
        if t < levels:
            next_word = lists_at + lists[t] * slots
    words[p.WORDS] = next_word + shared * slots
    return slots, warps


def fixed_at(plan: Plan, tested: tuple[int | None, ...]) -> int | None:
    """The level that completes the set of the counted level, if others are visited after it; else None.

    The size of that set is then a weight that the partial matches carry. A set of the root alone is made again for
    every part of the root's candidates, so it must be a row.
    """
    if plan.leaf_mode != "size" or plan.walked < 2:
        return None
    level = plan.levels[plan.walked]
    fixed = max([row.level for row in (*level.backward_neighbours, *level.forbidden)] + list(level.bounds))
    taken_off = sum(j > fixed for j in level.injectivity_checks)
    if fixed >= plan.walked - 1 or (plan.semantics == "homomorphism" and taken_off > 1):
        return None
    return fixed if fixed or _is_simple(level, tested, 0) else None


def _is_simple(level, tested, fixed):
    alone = len(level.backward_neighbours) == 1 and not level.forbidden and tested[level.vertex] is None
    return alone and not any(j <= fixed for j in level.injectivity_checks)


def _fix(words, level, counted, tested):
    """What tells whether a vertex of `level` is in the set of the counted level, beyond what its own rows say."""
    backward_neighbours = [row for row in counted.backward_neighbours if row not in level.backward_neighbours]
    forbidden = [row for row in counted.forbidden if row not in level.forbidden]
    place = len(words)
    words += [row.relation << p.LEVEL_BITS | row.level for row in (*backward_neighbours, *forbidden)] + list(
        counted.bounds
    )
    mask = tested[counted.vertex]
    return [place, len(backward_neighbours), len(forbidden), len(counted.bounds), _or_nowhere(mask)]


def _or_nowhere(mask):
    return p.NOWHERE if mask is None else mask


def _need(plan, t):
    """How many levels take different vertices from any row of level t, cut by its restrictions."""
    if plan.semantics == "homomorphism":
        return 1
    implied = implied_bounds([level.bounds for level in plan.levels])
    rows, bounds = set(plan.levels[t].backward_neighbours), set(plan.levels[t].bounds)
    return sum(
        rows <= set(plan.levels[u].backward_neighbours) and bounds <= implied[u] for u in range(t, len(plan.levels))
    )


def _shape(program, fixed, per_slot, most):
    """Slots a level and warps a block: a slot a lane if two warps of that fit, else fewer."""
    for slots in (s for s in SLOTS if s <= most):
        for warps in (8, 4, 2):
            if program + warps * (fixed + slots * per_slot) <= SHARED_WORDS:
                return slots, warps
    return 1, 1
