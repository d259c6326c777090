"""Cores: which pattern vertices a count must visit, where the rest, its suffix, is counted by sizes of sets.

A suffix is pairwise non-adjacent, so its vertices' candidates depend on the core alone, and the core is connected, so
it can be walked. Suffix vertices with the same anchors are of one kind. A block is some kinds that may pick the same
vertex of the graph: the size of the intersection of their candidates enters the count (GraphPi, SC 2020, section IV-D).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from cusubmatch.pattern.automorphisms import AutomorphismGroup
from cusubmatch.plan.constraints import Constraints

__all__ = ["Block", "Core", "cores"]

EXHAUSTIVE_SIZE = 7  # larger patterns are offered a few suffixes only
MOST_KINDS = 6  # that may meet
MOST_STATES = 100  # of the recursion that gives the polynomial of kinds that may meet; of two kinds, twice that


class Block(NamedTuple):
    """Kinds whose candidates are intersected, their vertices, and the vertices whose images' rows that takes."""

    kinds: frozenset[int]
    vertices: tuple[int, ...]
    backward_neighbours: frozenset[int]


class Core(NamedTuple):
    """A choice of the suffix.

    `kinds` are its vertices by kind, `groups` the kinds (by number) that have choices in common to avoid, directly or
    through others: counts of different groups are multiplied. `blocks` are within groups. `states` are those of the
    recursion that gives the polynomial, whose length goes with them. `symmetry` are the automorphisms that map the core
    to itself.
    """

    suffix: frozenset[int]
    kinds: tuple[tuple[int, ...], ...]
    groups: tuple[tuple[int, ...], ...]
    blocks: tuple[Block, ...]
    states: int
    symmetry: AutomorphismGroup


def cores(constraints: Constraints, group: AutomorphismGroup, injective: bool, size: int | None) -> Iterator[Core]:
    """Cores to consider, those with the largest suffix first; of the ones with a suffix of `size`, if that is given."""
    many = len(constraints.labels)
    neighbours = [{w for w in range(many) if (v, w) in constraints.required} for v in range(many)]
    rigid = not injective or len(set(group.orbits())) == many
    parts_of = functools.cache(lambda suffix: _parts(constraints, suffix, injective))
    if size is None and many > EXHAUSTIVE_SIZE:
        found = _grown(neighbours, lambda suffix: parts_of(suffix) is not None)
    else:
        least, most = (2, many - 1) if size is None else (size, min(size, many - 1))
        found = (frozenset(some) for k in range(most, least - 1, -1) for some in combinations(range(many), k))
    twin = _twins(constraints, injective)
    for suffix in found:
        if size is None and any(twin[v] not in suffix for v in suffix if twin[v] is not None):
            continue  # as good as the suffix with that twin instead
        if size is None and len(suffix) == 2 and twin[max(suffix)] == min(suffix):
            continue  # a pair that walking counts by itself
        if any(neighbours[v] & suffix for v in suffix) or not _connected(neighbours, suffix):
            continue
        parts = parts_of(suffix)
        if parts is not None:
            kinds, groups, blocks, states = parts
            symmetry = group if rigid else group.stabiliser(suffix)
            yield Core(suffix, kinds, groups, blocks, states, symmetry)


def _twins(constraints, injective):
    """For each vertex the last one before it that asks for the same, None if there is none."""
    many = range(len(constraints.labels))
    last: dict[tuple, int] = {}
    found = []
    for v in many:
        rows = frozenset((u, constraints.required[u, v]) for u in many if (u, v) in constraints.required)
        apart = None if injective else frozenset(pair for pair in constraints.distinct if v in pair)
        asked = rows, constraints.labels[v], apart
        found.append(last.get(asked))
        last[asked] = v
    return found


def _grown(neighbours, fits):
    """Suffixes grown vertex by vertex, from those of low degree, as far as they fit; and each on the way."""
    grown: list[frozenset[int]] = [frozenset()]
    for v in sorted(range(len(neighbours)), key=lambda v: len(neighbours[v])):
        more = grown[-1] | {v}
        if not neighbours[v] & grown[-1] and _connected(neighbours, more) and fits(more):
            grown.append(more)
    return grown[:1:-1]


def _connected(neighbours, without):
    rest = set(range(len(neighbours))) - without
    frontier = [rest.pop()] if rest else []
    if not frontier:
        return False
    while frontier:
        reached = neighbours[frontier.pop()] & rest
        rest -= reached
        frontier += reached
    return not rest


def _parts(constraints, suffix, injective):
    """Kinds, groups, blocks and states; None if there are too many, or if sizes of intersections are not enough."""
    required, labels = constraints.required, constraints.labels
    core = [u for u in range(len(labels)) if u not in suffix]

    def apart(u, w):
        return (min(u, w), max(u, w)) in constraints.distinct

    def may_meet(u, w):
        return apart(u, w) and (labels[u] is None or labels[w] is None or bool(labels[u] & labels[w]))

    groups: list[set[int]] = []
    for v in sorted(suffix):
        joined = [some for some in groups if any(may_meet(v, w) for w in some)]
        groups = [some for some in groups if some not in joined] + [{v}.union(*joined)]
    if not injective and any(not may_meet(u, w) for some in groups for u, w in combinations(some, 2)):
        return None
    kinds: list[tuple[int, ...]] = []
    numbers: list[tuple[int, ...]] = []
    blocks: list[Block] = []
    all_states = 0
    for some in groups:
        alike: dict[tuple, list[int]] = {}
        for v in sorted(some):
            rows = frozenset((u, relation) for u in core for relation in required.get((u, v), ()))
            alike.setdefault((rows, tuple(apart(u, v) for u in core)), []).append(v)
        own = range(len(kinds), len(kinds) + len(alike))
        kinds += map(tuple, alike.values())
        numbers.append(tuple(own))
        states = math.prod(len(kinds[kind]) + 1 for kind in own)
        if len(own) > MOST_KINDS or (len(own) > 1 and states > MOST_STATES * (2 if len(own) == 2 else 1)):
            return None
        all_states += states
        for k in range(1, len(own) + 1):
            for chosen in combinations(own, k):
                vertices = tuple(kinds[kind][0] for kind in chosen)
                backward_neighbours = frozenset(u for u in core if any((u, v) in required for v in vertices))
                if k == 1 or (
                    all(may_meet(u, w) for u, w in combinations(vertices, 2)) and _possible(labels, vertices)
                ):
                    blocks.append(Block(frozenset(chosen), vertices, backward_neighbours))
    if not injective and any(
        sum(any(apart(u, v) for v in block.vertices) for u in core) > 1 for block in blocks
    ):  # images of the core may coincide there, and are not to be taken off twice
        return None
    return tuple(kinds), tuple(numbers), tuple(blocks), all_states


def _possible(labels, vertices):
    """Whether one vertex of the graph can have a label of each."""
    some = [labels[v] for v in vertices if labels[v] is not None]
    return not some or bool(frozenset.intersection(*some))
