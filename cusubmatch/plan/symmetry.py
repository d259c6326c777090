"""Restrictions: order constraints that leave one member of each orbit of a pattern's automorphisms.

Along the matching order, a stabiliser chain gives them: each vertex must rank before the rest of its orbit once all
vertices before it are fixed (Grochow & Kellis, RECOMB 2007; GraphPi, SC 2020, section IV-A).
"""

from __future__ import annotations

from collections.abc import Sequence

from cusubmatch.pattern.automorphisms import AutomorphismGroup

__all__ = ["implied_bounds", "ordered_pairs", "restrictions"]


def restrictions(group: AutomorphismGroup, order: Sequence[int]) -> list[list[int]]:
    """For each level of `order`, the earlier levels whose image bounds this level's image, without implied ones."""
    position = {vertex: level for level, vertex in enumerate(order)}
    bounds: list[list[int]] = [[] for _ in order]
    for level, others in enumerate(group.chain(order)):
        for vertex in others:
            bounds[position[vertex]].append(level)
    implied = [set().union(*(bounds[level] for level in levels)) for levels in bounds]
    return [[i for i in levels if i not in others] for levels, others in zip(bounds, implied, strict=True)]


def ordered_pairs(group: AutomorphismGroup, order: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """The restrictions as pairs: the image of the first ranks below that of the second."""
    bounds = zip(order, restrictions(group, order), strict=True)
    return tuple((order[level], vertex) for vertex, levels in bounds for level in levels)


def implied_bounds(bounds: Sequence[Sequence[int]]) -> list[set[int]]:
    """For each level all levels that bound it, directly or through others."""
    if not any(bounds):
        return [set() for _ in bounds]
    implied: list[set[int]] = []
    for levels in bounds:
        implied.append(set(levels).union(*(implied[i] for i in levels)))
    return implied
