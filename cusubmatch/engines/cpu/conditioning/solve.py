"""Counting by recursive conditioning with a cache (Darwiche 2001; AND/OR search, Dechter & Mateescu 2007).

The unmatched pattern vertices are split into components: vertices in one are joined by pattern edges, or by conflicts
of domains that overlap. Counts of components are multiplied. Inside a component a vertex is matched to each of its
candidates in turn, and what is left is counted the same way. Counts of components are kept, by their domains, so that
no state of a component is counted twice: the matched vertices it depends on are those of a tree decomposition's bags.

A conflict between two parts without a pattern edge does not have to join them. The count is that without the conflict,
less that of the maps which send both vertices to one image (a quotient of the pattern); these are few where domains
overlap little. With many conflicts the terms of that sum double with each: where there are more conflicts than
candidates of some vertex, that vertex is matched instead.

Counts are modulo 2^64 or a prime, and come with a bound, as floats, that tells whether 64 bits suffice.
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.conditioning import state as c
from cusubmatch.engines.cpu.conditioning.branching import branch_vertex, component_of, conflict_to_waive
from cusubmatch.engines.cpu.conditioning.component_cache import key_of, lookup, remember
from cusubmatch.engines.cpu.conditioning.domains import assign, is_pending, overlap, undo
from cusubmatch.engines.cpu.conditioning.small_components import count_small
from cusubmatch.engines.cpu.primitives.jit import inner, jit

__all__ = ["EXACT_BELOW", "count_roots"]

EXACT_BELOW = float(1 << 62)  # counts below it are exact in 64 bits


@inner
def _plus(s, a, b):
    total = a + b
    if s.prime != 0 and total >= s.prime:
        total -= s.prime
    return total


@inner
def _minus(s, a, b):
    if s.prime != 0:
        return (a + s.prime - b) % s.prime
    return a - b


@jit
def _times(s, a, b):
    product = a * b
    if s.prime != 0:
        product %= s.prime
    return product


@inner
def _residue(s, number):
    value = np.uint64(number)
    if s.prime != 0:
        value %= s.prime
    return value


@inner
def _tightened(s, value, bound):
    """The bound of a count; the count itself where 64 bits hold it."""
    if s.prime == 0 and bound < EXACT_BELOW:
        return np.float64(value)
    return bound


@inner
def _waive(s, u, w):
    """Let two vertices have the same image, or no longer, if they already may."""
    s.conflicts[u] ^= np.int64(1) << w
    s.conflicts[w] ^= np.int64(1) << u


@inner
def _solve(s, rest):
    """The number of ways to match the vertices of `rest`, and a bound on it; nothing is promised once it is ABORTED."""
    registers = s.registers
    total, total_bound = np.uint64(1), 1.0
    while rest:
        component = component_of(s, rest)
        rest &= ~component
        value, bound = np.uint64(0), 0.0
        small = count_small(s, component)
        if small == 0:
            return np.uint64(0), 0.0
        if small > 0:
            total, total_bound = _times(s, total, _residue(s, small)), total_bound * small
            continue
        first, second = key_of(s, component)
        known, value, bound = lookup(s, first, second)
        if not known:
            trail_top, pool_top, matched = registers[c.TRAIL_TOP], registers[c.POOL_TOP], registers[c.MATCHED]
            u, w = conflict_to_waive(s, component)
            if u >= 0:
                others = component & ~(np.int64(1) << u) & ~(np.int64(1) << w)
                end = pool_top + overlap(s, u, w, pool_top)
                registers[c.POOL_TOP] = end
                _waive(s, u, w)
                value, bound = _solve(s, component)
                for i in range(pool_top, end if bound > 0.0 else pool_top):
                    if _spend_step(s):
                        return np.uint64(0), 0.0
                    if assign(s, u, s.store[i], others) and assign(s, w, s.store[i], others):
                        lost, _ = _solve(s, others)
                        value = _minus(s, value, lost)
                    undo(s, trail_top, end, matched)
                registers[c.POOL_TOP] = pool_top
                _waive(s, u, w)
            else:
                v = branch_vertex(s, component)
                others = component & ~(np.int64(1) << v)
                touched = (registers[c.TOUCHED] >> v) & 1
                begin, end = (s.begin[v], s.end[v]) if touched else (s.list_begin[v], s.list_end[v])
                at = begin + ((end - begin) * registers[c.SHIFT] >> c.WHOLE_SHIFT)
                for _ in range(begin, end):
                    i, at = at, (at + 1 if at + 1 < end else begin)
                    if _spend_step(s):
                        return np.uint64(0), 0.0
                    if (touched or not is_pending(s, v, s.store[i])) and assign(s, v, s.store[i], others):
                        part_value, part_bound = _solve(s, others)
                        value, bound = _plus(s, value, part_value), bound + part_bound
                    undo(s, trail_top, pool_top, matched)
            if registers[c.ABORTED]:
                return np.uint64(0), 0.0
            bound = _tightened(s, value, bound)
            remember(s, first, second, value, bound)
        if bound == 0.0:
            return np.uint64(0), 0.0
        total, total_bound = _times(s, total, value), total_bound * bound
    return total, _tightened(s, total, total_bound)


@inner
def _spend_step(s):
    """Count a step; whether the count is given up."""
    s.registers[c.STEPS] -= 1
    if s.registers[c.STEPS] < 0 or s.ended[0] != 0:
        s.registers[c.ABORTED] = 1
    return s.registers[c.ABORTED] != 0


@jit
def count_roots(arrays, root, vertices, end, sums, bounds, steps, pool_begin):
    """Count from each candidate of `root`, from the register POSITION to `end`; whether that was done in `steps`."""
    s = c.on_arrays(arrays)
    registers = s.registers
    registers[c.STEPS] = steps
    begin = registers[c.POSITION]
    for i in range(begin, end):
        registers[c.TOUCHED] = registers[c.MATCHED] = registers[c.TRAIL_TOP] = registers[c.ABORTED] = 0
        registers[c.POOL_TOP] = pool_begin
        for v in range(c.MAX_VERTICES):
            s.conflicts[v] = s.all_conflicts[v]
        others = vertices & ~(np.int64(1) << root)
        if assign(s, root, s.store[s.list_begin[root] + i], others):
            value, bound = _solve(s, others)
            if registers[c.ABORTED]:
                registers[c.POSITION] = i
                return False
            sums[0] = _plus(s, sums[0], value)
            bounds[0] += bound
        registers[c.STEPS] -= 1
        if (registers[c.STEPS] < 0 or s.ended[0] != 0) and i + 1 < end:
            registers[c.POSITION] = i + 1
            return False
    registers[c.POSITION] = end
    return True
