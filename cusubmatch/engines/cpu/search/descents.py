"""Sampled descents: how many partial matches each level of a matching order has, from a population of partial matches.

A random descent (wander join; Li et al. 2016) mostly ends without a match where matches lie in few dense parts of the
graph. So a population goes down together: all its partial matches are extended by all their local candidates, and a
fixed number of the extensions is drawn at equal distances (splitting; Kahn & Harris 1951). Each of them stands for
equally many partial matches, and their expected number is the true one. The next vertex of an order can be chosen as
the one with the fewest local candidates in the population. Draws are seeded: equal calls give equal estimates. It
assumes a candidate graph.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from cusubmatch.engines.cpu.candidates.lists import candidate_lists
from cusubmatch.engines.cpu.primitives.jit import announced, inner, jit, preparation, trailing_zeros
from cusubmatch.engines.cpu.primitives.random_numbers import next_random
from cusubmatch.engines.cpu.primitives.sorted_sets import has
from cusubmatch.plan.candidate_graph import CandidateGraph
from cusubmatch.plan.sampled_orders import SampledOrder

__all__ = ["SampledDescents"]

SEED = 1951
SECOND_POPULATION = 8  # times as large, where no partial match of the first one can be extended
FREE = -1  # in an order: the vertex with the fewest local candidates


class SampledDescents:
    """Descents on a candidate graph.

    Parameters
    ----------
    local : CandidateGraph
    population : int
        Partial matches of each level that are drawn.

    Attributes
    ----------
    preparation : float
        Nanoseconds that they wait for a compiler before they begin, about.
    """

    def __init__(self, local: CandidateGraph, population: int):
        self.preparation = preparation("descents")
        self.population, constraints = population, local.constraints
        self.size = size = len(constraints.labels)
        self.offsets, self.targets, _ = local.adjacency
        self.relations = np.zeros((size, size), np.int64)
        self.neighbours, self.conflicts = np.zeros((2, size), np.int64)
        for (u, w), (relation,) in constraints.required.items():
            self.relations[u, w] = relation
            self.neighbours[u] |= 1 << w
        for u, w in constraints.distinct:
            self.conflicts[u] |= 1 << w
            self.conflicts[w] |= 1 << u
        self.conflicts &= ~self.neighbours
        self.lists, self.begins = candidate_lists(local.candidates.masks, size)
        self.longest = int(np.diff(self.offsets, axis=1).max(initial=0))

    def order(self, first: int, within: Collection[int]) -> SampledOrder:
        """An order of the vertices `within`, connected ones, in which fewest local candidates come next."""
        return self._descend([first, *[FREE] * (len(within) - 1)], within)

    def follow(self, order: Sequence[int]) -> SampledOrder:
        """The same for a given order."""
        return self._descend(order, order)

    def _descend(self, order: Sequence[int], within: Collection[int]) -> SampledOrder:
        arrays = self.offsets, self.targets, self.relations, self.neighbours, self.conflicts, self.lists, self.begins
        allowed, matches = sum(1 << v for v in within), np.zeros(len(order))
        for population in (self.population, SECOND_POPULATION * self.population):
            vertices = np.array(order, np.int64)
            found = np.empty((2, max(population * self.longest, len(self.lists)) + 1), np.int32)
            with announced("descents"):
                survived = _descend(*arrays, found, population, allowed, SEED, vertices, matches)
            if survived:
                break
        return SampledOrder(tuple(vertices.tolist()), tuple(matches.tolist()))


@jit
def _extend(offsets, targets, relations, near, conflicts, images, v, out, at):
    """Write the local candidates of v after a partial match to out[at:]; where they end. `near`: matched neighbours."""
    shortest = rest = near
    begin = end = length = np.int64(-1)
    while rest:
        u = trailing_zeros(rest)
        row = relations[u, v]
        first, last = offsets[row, images[u]], offsets[row, images[u] + 1]
        if length < 0 or last - first < length:
            begin, end, length, shortest = first, last, last - first, u
        rest &= rest - 1
    for i in range(begin, end):
        x, kept = targets[i], True
        rest = near & ~(np.int64(1) << shortest)
        while rest and kept:
            u = trailing_zeros(rest)
            row = relations[u, v]
            kept = has(targets, offsets[row, images[u]], offsets[row, images[u] + 1], x)
            rest &= rest - 1
        rest = conflicts
        while rest and kept:
            kept = images[trailing_zeros(rest)] != x
            rest &= rest - 1
        if kept:
            out[at] = x
            at += 1
    return at


@inner
def _fewest(offsets, targets, relations, neighbours, conflicts, images, count, matched, allowed, last, fanout, out):
    """The vertex that has the fewest local candidates in the population, of those next to the matched ones."""
    best, fewest = -1, 0.0
    rest = allowed & ~matched
    while rest:
        w = trailing_zeros(rest)
        rest &= rest - 1
        near = neighbours[w] & matched
        if not near:
            continue
        if (near >> last) & 1:
            total = 0
            for i in range(count):
                others = conflicts[w] & matched
                total += _extend(offsets, targets, relations, near, others, images[i], w, out, 0)
            fanout[w] = total / count
        if best < 0 or fanout[w] < fewest:
            best, fewest = w, fanout[w]
    return best


@jit
def _descend(
    offsets, targets, relations, neighbours, conflicts, lists, begins, found, population, allowed, seed, order, matches
):
    """Go down an order, whose FREE vertices are chosen, and note the estimated partial matches of each level.

    False where no partial match that was drawn can be extended, but another one may be: there the estimate is what one
    more would have stood for.
    """
    size = len(neighbours)
    images, drawn = np.zeros((population, size), np.int32), np.zeros((population, size), np.int32)
    fanout = np.zeros(size)
    candidates, parents = found[0], found[1]
    random, weight, count, matched, last = np.uint64(seed), 1.0, 1, np.int64(0), np.int64(0)
    for level in range(len(order)):
        v, total = order[level], 0
        if v == FREE:
            v = _fewest(
                offsets,
                targets,
                relations,
                neighbours,
                conflicts,
                images,
                count,
                matched,
                allowed,
                last,
                fanout,
                parents,
            )
            order[level] = v
        if level == 0:
            for i in range(begins[v], begins[v + 1]):
                candidates[total], parents[total] = lists[i], 0
                total += 1
        else:
            near, others = neighbours[v] & matched, conflicts[v] & matched
            for i in range(count):
                end = _extend(offsets, targets, relations, near, others, images[i], v, candidates, total)
                parents[total:end] = i
                total = end
        matches[level] = weight * total
        matched |= np.int64(1) << v
        last = v
        if total == 0:
            _complete(neighbours, matched, allowed, order, level + 1)
            matches[level:] = weight if weight > 1.0 else 0.0
            return weight <= 1.0
        kept = min(total, population)
        step = total / kept
        random = next_random(random)
        shift = np.float64(random >> np.uint64(40)) / np.float64(1 << 24) if kept < total else 0.0
        for i in range(kept):
            at = min(np.int64((i + shift) * step), total - 1)
            drawn[i] = images[parents[at]]
            drawn[i, v] = candidates[at]
        images, drawn, count, weight = drawn, images, kept, weight * step
    return True


@jit
def _complete(neighbours, matched, allowed, order, level):
    """Let a connected order end in any way: no partial match has been met there."""
    for at in range(level, len(order)):
        if order[at] == FREE:
            rest, best, most = allowed & ~matched, -1, 0
            while rest:
                w = trailing_zeros(rest)
                rest &= rest - 1
                near, reached = neighbours[w] & matched, 0
                while near:
                    near &= near - 1
                    reached += 1
                if reached > most:
                    best, most = w, reached
            order[at] = best
        matched |= np.int64(1) << order[at]
