"""What the domains of two vertices in conflict have in common.

Two that are untouched are taken to collide: their lists share a candidate, or there would be no conflict.
"""

from __future__ import annotations

from cusubmatch.engines.cpu.conditioning import registers as c
from cusubmatch.engines.cpu.conditioning.lists.domains import is_pending, save, set_domain
from cusubmatch.engines.cpu.primitives.jit import inner, jit
from cusubmatch.engines.cpu.primitives.sorted_sets import count_common, have_common, intersect

__all__ = ["may_collide", "most_waived", "overlap", "restrict", "write_overlap"]


@jit
def may_collide(s, u, w):
    """Whether two vertices in conflict can still take the same candidate."""
    touched = s.registers[c.TOUCHED]
    if not (touched >> u) & 1:
        u, w = w, u
    if not (touched >> u) & 1:
        return True
    if (touched >> w) & 1:
        return have_common(s.store, s.begin[u], s.end[u], s.store, s.begin[w], s.end[w])
    for i in range(s.begin[u], s.end[u]):
        x = s.store[i]
        if (s.masks[x] >> w) & 1 and not is_pending(s, w, x):
            return True
    return False


@inner
def most_waived(_s, fewest):
    """How many conflicts between two parts are waived, at most, where all vertices have so many candidates."""
    return fewest


@inner
def overlap(s, u, w):
    """The number of candidates that both u and w may take."""
    return _overlap(s, u, w, -1)


@inner
def write_overlap(s, u, w):
    """The candidates that both u and w may take, put into the pool: a range of the store."""
    begin = s.registers[c.POOL_TOP]
    s.registers[c.POOL_TOP] = end = begin + _overlap(s, u, w, begin)
    return begin, end


@inner
def restrict(s, u, w):
    """Take from the domain of u what w may not take; whether anything is left."""
    save(s, u)
    begin, end = write_overlap(s, u, w)
    set_domain(s, u, begin, end)
    return begin < end


@jit
def _overlap(s, u, w, out):
    """Write the candidates that both u and w may take to the store at `out`, or with out < 0 count them; how many."""
    touched, n = s.registers[c.TOUCHED], 0
    if (touched >> u) & (touched >> w) & 1:
        if s.store[s.end[u] - 1] < s.store[s.begin[w]] or s.store[s.end[w] - 1] < s.store[s.begin[u]]:
            return 0
        if out < 0:
            return count_common(s.store, s.begin[u], s.end[u], s.store, s.begin[w], s.end[w])
        return intersect(s.store, s.begin[u], s.end[u], s.store, s.begin[w], s.end[w], s.store, out)
    if not (touched >> u) & 1:
        u, w = w, u
    of_lists = not (touched >> u) & 1
    begin, end = (s.list_begin[u], s.list_end[u]) if of_lists else (s.begin[u], s.end[u])
    for i in range(begin, end):
        x = s.store[i]
        if (s.masks[x] >> w) & 1 and not is_pending(s, w, x) and not (of_lists and is_pending(s, u, x)):
            if out >= 0:
                s.store[out + n] = x
            n += 1
    return n
