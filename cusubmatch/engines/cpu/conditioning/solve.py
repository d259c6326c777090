"""Counting by recursive conditioning with a cache (Darwiche 2001; AND/OR search, Dechter & Mateescu 2007).

The unmatched pattern vertices are split into components: vertices in one are joined by pattern edges, or by conflicts
of domains that overlap. Counts of components are multiplied. Inside a component a vertex is matched to each of its
candidates in turn, and what is left is counted the same way. Counts of components are kept, by their domains, so that
no state of a component is counted twice: the matched vertices it depends on are those of a tree decomposition's bags.

A conflict between two parts without a pattern edge does not have to join them. The count is that without the conflict,
less that of the maps which send both vertices to one image (a quotient of the pattern). All conflicts of a vertex whose
pattern neighbours are all matched go at once: the count is that of the others times its candidates, less the maps that
send one of the others to one of these, whose domain is narrowed to what both share. No map is taken off twice, since
the others all differ. Where many candidates are shared, a vertex is matched instead. One with a single candidate is
matched at once, without a look whether the component is known.

A count that takes long eliminates the vertices of a component where that takes small tables (`dense`): what vertices
are matched before is a cutset of the pattern (w-cutset conditioning, Bidyuk & Dechter 2007).

Where a vertex has many candidates, the sums over blocks of them are kept as well: a count that other threads help does
no block twice. A count that is interrupted keeps its partial sums, and goes on with them.

Counts are modulo 2^128, or some primes, and come with a bound, as floats, that tells whether these bits suffice.
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.conditioning import registers as c
from cusubmatch.engines.cpu.conditioning.bits.state import on_bits
from cusubmatch.engines.cpu.conditioning.branching import MATCH, SET_APART, WAIVE, component_of, division, scarcest
from cusubmatch.engines.cpu.conditioning.component_cache import ask_for, key_of, key_of_block, lookup, remember
from cusubmatch.engines.cpu.conditioning.count_arithmetic import (
    ZERO,
    from_word,
    from_words,
    minus,
    plus,
    tightened,
    times,
)
from cusubmatch.engines.cpu.conditioning.dense.eliminate import eliminated
from cusubmatch.engines.cpu.conditioning.lists.state import on_lists
from cusubmatch.engines.cpu.conditioning.partial_sums import forget_partial_sums, keep_partial_sum, take_partial_sum
from cusubmatch.engines.cpu.conditioning.representation import (
    assign,
    candidates,
    choices,
    count_small,
    mark_domains,
    restart,
    restrict,
    takes_long,
    undo,
    unmark_domains,
    write_overlap,
)
from cusubmatch.engines.cpu.conditioning.root_queue import next_range
from cusubmatch.engines.cpu.primitives.jit import inner, jit, popcount, trailing_zeros
from cusubmatch.engines.cpu.primitives.pointers import pointer

__all__ = ["count_roots_of_bits", "count_roots_of_lists"]

BLOCK = 32  # candidates whose sum is kept


@inner
def _waive(s, u, w):
    """Let two vertices have the same image, or no longer, if they already may."""
    s.conflicts[u] ^= np.int64(1) << w
    s.conflicts[w] ^= np.int64(1) << u


@inner
def _small(s, component):
    """The count of a component of few vertices and its bound, kept where it takes long; for others a bound of -1."""
    if not takes_long(s, component):
        small = count_small(s, component)
        return from_word(s, small), np.float64(small)
    first, second = key_of(s, component)
    known, value, bound = lookup(s, first, second)
    if not known:
        small = count_small(s, component)
        value, bound = from_word(s, small), np.float64(small)
        remember(s, first, second, value, bound)
    return value, bound


@inner
def _may_be_eliminated(s, component):
    """Whether a component is looked at as one that elimination may count."""
    registers = s.registers
    return registers[c.MOST_COMBINATIONS] and popcount(np.uint64(component)) >= registers[c.LEAST_VERTICES]


@inner
def _solve(s, rest):
    """The number of ways to match the vertices of `rest`, and a bound on it; nothing is promised once it is ABORTED."""
    registers = s.registers
    total, total_bound = from_word(s, 1), 1.0
    while rest:
        component = component_of(s, rest)
        rest &= ~component
        value, bound = _small(s, component)
        if bound == 0.0:
            return ZERO, 0.0
        if bound > 0.0:
            total, total_bound = times(s, total, value), total_bound * bound
            continue
        w, fewest = scarcest(s, component)
        way, partners = MATCH, np.int64(1) << w
        known, value, bound = False, ZERO, 0.0
        first = second = np.uint64(0)
        if fewest > 1:
            first, second = key_of(s, component)
            ask_for(s, first, second)
            way, partners, w = division(s, component, fewest)  # if it is known, that takes as long to find
            known, value, bound = lookup(s, first, second)
            if not known and _may_be_eliminated(s, component):
                words, exact, u = eliminated(s, component, np.float64(registers[c.MOST_COMBINATIONS]))
                if exact >= 0.0:
                    known, value, bound = True, from_words(s, words[0], words[1]), exact
                    remember(s, first, second, value, bound)
                elif way == MATCH and u >= 0:
                    partners = np.int64(1) << u
        if not known:
            trail_top, pool_top, matched = registers[c.TRAIL_TOP], registers[c.POOL_TOP], registers[c.MATCHED]
            u = trailing_zeros(partners)
            if way == WAIVE:
                _waive(s, u, w)
                value, bound = _solve(s, component)
            elif way == SET_APART:
                size, others = choices(s, w), component & ~(np.int64(1) << w)
                value, bound = _solve(s, others)
                value, bound = times(s, value, from_word(s, size)), bound * size
                while partners and bound > 0.0:
                    if _spend_step(s):
                        return ZERO, 0.0
                    if restrict(s, trailing_zeros(partners), w):
                        value = minus(s, value, _solve(s, others)[0])
                    undo(s, trail_top, pool_top, matched)
                    partners &= partners - 1
            if way == MATCH or (way == WAIVE and bound > 0.0):
                others = component & ~(np.int64(1) << u)
                if way == WAIVE:
                    others &= ~(np.int64(1) << w)
                begin, end = candidates(s, u) if way == MATCH else write_overlap(s, u, w)
                marked = mark_domains(s, u, begin, end, others)
                pool_end, size = registers[c.POOL_TOP], end - begin
                block = BLOCK if way == MATCH and size >= 2 * BLOCK else max(size, 1)
                blocks = (size + block - 1) // block
                number = blocks * registers[c.SHIFT] >> c.WHOLE_SHIFT
                for _ in range(blocks):
                    known, part, part_bound = False, ZERO, 0.0
                    key_1, key_2 = key_of_block(s, first, second, u, number)
                    if blocks > 1:
                        known, part, part_bound = lookup(s, key_1, key_2)
                    if not known:
                        low = begin + number * block
                        high = min(low + block, end)
                        done, part, part_bound = take_partial_sum(s, key_1, key_2)
                        at = low + done + (0 if blocks > 1 else (high - low) * registers[c.SHIFT] >> c.WHOLE_SHIFT)
                        for term in range(done, high - low):
                            x = s.store[at if at < high else at - (high - low)]
                            aborted = _spend_step(s)
                            if not aborted and assign(s, u, x, others) and (way == MATCH or assign(s, w, x, others)):
                                one, one_bound = _solve(s, others)
                                part, part_bound = plus(s, part, one), part_bound + one_bound
                                aborted = registers[c.ABORTED] != 0
                            if aborted:
                                keep_partial_sum(s, key_1, key_2, term, part, part_bound)
                                return ZERO, 0.0
                            at += 1
                            undo(s, trail_top, pool_end, matched)
                        if blocks > 1:
                            remember(s, key_1, key_2, part, tightened(s, part, part_bound))
                    if way == MATCH:
                        value, bound = plus(s, value, part), bound + part_bound
                    else:
                        value = minus(s, value, part)
                    number = number + 1 if number + 1 < blocks else 0
                unmark_domains(s, marked)
                registers[c.POOL_TOP] = pool_top
            if way == WAIVE:
                _waive(s, u, w)
            if registers[c.ABORTED]:
                return ZERO, 0.0
            bound = tightened(s, value, bound)
            if fewest > 1:
                remember(s, first, second, value, bound)
        if bound == 0.0:
            return ZERO, 0.0
        total, total_bound = times(s, total, value), total_bound * bound
    return total, tightened(s, total, total_bound)


@inner
def _spend_step(s):
    """Count a step; whether the count is interrupted."""
    s.registers[c.STEPS] -= 1
    if (s.registers[c.STEPS] < 0 or s.ended[0] != 0) and not s.registers[c.ABORTED]:
        s.registers[c.ABORTED] = 1
        forget_partial_sums(s)  # of an earlier interruption
    return s.registers[c.ABORTED] != 0


@inner
def _count_roots(s, root, vertices, queue, sums, bounds, steps, pool_begin):
    """Count from each root from the register POSITION to RANGE_END, then of ranges of the queue, for so many steps."""
    registers = s.registers
    registers[c.STEPS], registers[c.ROOTS] = steps, 0
    if registers[c.SHIFT] != registers[c.PARTIAL_SHIFT]:
        forget_partial_sums(s)
        registers[c.PARTIAL_SHIFT] = registers[c.SHIFT]
    others = vertices & ~(np.int64(1) << root)
    while registers[c.STEPS] >= 0 and s.ended[0] == 0:
        if registers[c.POSITION] == registers[c.RANGE_END]:
            begin, end = next_range(queue)
            if begin == end:
                return
            registers[c.POSITION], registers[c.RANGE_END] = begin, end
        restart(s, pool_begin)
        if assign(s, root, s.roots[registers[c.POSITION]], others):
            value, bound = _solve(s, others)
            if registers[c.ABORTED]:
                return
            sums[0], sums[1] = plus(s, (sums[0], sums[1]), value)
            bounds[0] += bound
        registers[c.STEPS] -= 1
        registers[c.POSITION] += 1
        registers[c.ROOTS] += 1


@jit
def count_roots_of_lists(table, root, vertices, queue, sums, bounds, steps, pool_begin):
    """Count from roots, where the domains are lists."""
    _count_roots(on_lists(table), root, vertices, pointer(queue), sums, bounds, steps, pool_begin)


@jit
def count_roots_of_bits(table, root, vertices, queue, sums, bounds, steps, pool_begin):
    """Count from roots, where the domains are bits."""
    _count_roots(on_bits(table), root, vertices, pointer(queue), sums, bounds, steps, pool_begin)
