"""Cores: which pattern vertices a count must visit, where the rest, its suffix, is counted by sizes of sets.

No two vertices of a suffix are adjacent, so their candidates depend on the core alone. The core is connected, so it can
be walked. Suffix vertices with the same backward neighbours are of one kind. A block is a set of kinds that may choose
the same vertex of the graph: the size of the intersection of their candidates enters the count (GraphPi, SC 2020,
section IV-D).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from cusubmatch.pattern.automorphisms import AutomorphismGroup
from cusubmatch.pattern.connectivity import is_connected
from cusubmatch.plan.constraints import Constraints, are_disjoint

__all__ = ["Block", "Core", "cores"]

EXHAUSTIVE_VERTICES = 7  # larger patterns are offered a few suffixes only
MAX_KINDS = 6  # of a group
MAX_STATES = 100  # of the recursion that gives the polynomial of a group
MAX_STATES_OF_TWO_KINDS = 200  # the same for a group of two kinds


class Block(NamedTuple):
    """Kinds whose candidates are intersected.

    `vertices` are one vertex of each kind. `backward_neighbours` are the core vertices whose rows are intersected.
    """

    kinds: frozenset[int]
    vertices: tuple[int, ...]
    backward_neighbours: frozenset[int]


class Core(NamedTuple):
    """A choice of the suffix.

    Attributes
    ----------
    suffix : frozenset of int
        The vertices that are not visited.
    kinds : tuple
        The vertices of each kind.
    groups : tuple
        The kinds, by number, that may choose the same vertex, directly or through others. The counts of different
        groups are multiplied.
    blocks : tuple of Block
        Each within a group.
    states : int
        Of the recursion that gives the polynomials; their length grows with it.
    symmetry : AutomorphismGroup
        The automorphisms that map the core to itself.
    """

    suffix: frozenset[int]
    kinds: tuple[tuple[int, ...], ...]
    groups: tuple[tuple[int, ...], ...]
    blocks: tuple[Block, ...]
    states: int
    symmetry: AutomorphismGroup


def cores(constraints: Constraints, group: AutomorphismGroup, injective: bool, size: int | None) -> Iterator[Core]:
    """Cores to consider, those with the largest suffix first; of the ones with a suffix of `size`, if that is given."""
    vertices = range(len(constraints.labels))
    neighbours = [{w for w in vertices if (v, w) in constraints.required} for v in vertices]
    rigid = not injective or len(set(group.orbits())) == len(vertices)
    parts_of = functools.cache(lambda suffix: _parts(constraints, suffix, injective))
    suffixes: Iterator[frozenset[int]]
    if size is None and len(vertices) > EXHAUSTIVE_VERTICES:
        suffixes = iter(_grown(neighbours, lambda suffix: parts_of(suffix) is not None))
    else:
        least, most = (2, len(vertices) - 1) if size is None else (size, min(size, len(vertices) - 1))
        sizes = range(most, least - 1, -1)
        suffixes = (frozenset(suffix) for k in sizes for suffix in combinations(vertices, k))
    equivalent = _previous_equivalent(constraints, injective)
    for suffix in suffixes:
        if size is None and any(equivalent[v] not in suffix for v in suffix if equivalent[v] is not None):
            continue  # as good as the suffix with the equivalent vertex instead
        if size is None and len(suffix) == 2 and equivalent[max(suffix)] == min(suffix):
            continue  # a pair that walking counts by itself
        if any(neighbours[v] & suffix for v in suffix) or not is_connected(neighbours, set(vertices) - suffix):
            continue
        parts = parts_of(suffix)
        if parts is not None:
            kinds, groups, blocks, states = parts
            symmetry = group if rigid else group.stabiliser(suffix)
            yield Core(suffix, kinds, groups, blocks, states, symmetry)


def _previous_equivalent(constraints, injective):
    """For each vertex the last one before it that asks for the same, None if there is none."""
    vertices = range(len(constraints.labels))
    last: dict[tuple, int] = {}
    previous = []
    for v in vertices:
        rows = frozenset((u, constraints.required[u, v]) for u in vertices if (u, v) in constraints.required)
        distinct = None if injective else frozenset(pair for pair in constraints.distinct if v in pair)
        key = rows, constraints.labels[v], distinct
        previous.append(last.get(key))
        last[key] = v
    return previous


def _grown(neighbours, fits):
    """Suffixes that grow by one vertex at a time, low degrees first, as far as they fit; the largest first."""
    grown: list[frozenset[int]] = [frozenset()]
    vertices = set(range(len(neighbours)))
    for v in sorted(vertices, key=lambda v: len(neighbours[v])):
        larger = grown[-1] | {v}
        if not neighbours[v] & grown[-1] and is_connected(neighbours, vertices - larger) and fits(larger):
            grown.append(larger)
    return grown[:1:-1]


def _parts(constraints, suffix, injective):
    """Kinds, groups, blocks and states; None if there are too many, or if sizes of intersections are not enough."""
    labels = constraints.labels
    core = [u for u in range(len(labels)) if u not in suffix]
    vertex_groups: list[set[int]] = []
    for v in sorted(suffix):
        met = [group for group in vertex_groups if any(_may_meet(constraints, v, w) for w in group)]
        vertex_groups = [group for group in vertex_groups if group not in met] + [{v}.union(*met)]
    every_pair = [pair for group in vertex_groups for pair in combinations(group, 2)]
    if not injective and any(not _may_meet(constraints, u, w) for u, w in every_pair):
        return None
    kinds: list[tuple[int, ...]] = []
    groups: list[tuple[int, ...]] = []
    blocks: list[Block] = []
    all_states = 0
    for group in vertex_groups:
        own_kinds = _kinds(constraints, core, group)
        numbers = tuple(range(len(kinds), len(kinds) + len(own_kinds)))
        kinds += own_kinds
        groups.append(numbers)
        states = math.prod(len(vertices) + 1 for vertices in own_kinds)
        most = MAX_STATES_OF_TWO_KINDS if len(numbers) == 2 else MAX_STATES
        if len(numbers) > MAX_KINDS or (len(numbers) > 1 and states > most):
            return None
        all_states += states
        blocks += _blocks(constraints, core, kinds, numbers)
    if not injective and any(
        sum(any(constraints.must_differ(u, v) for v in block.vertices) for u in core) > 1 for block in blocks
    ):  # images of the core may coincide there, and are not to be taken off twice
        return None
    return tuple(kinds), tuple(groups), tuple(blocks), all_states


def _kinds(constraints, core, group):
    """The vertices of a group by kind: those with the same rows and the same inequalities."""
    kinds: dict[tuple, list[int]] = {}
    for v in sorted(group):
        rows = frozenset((u, relation) for u in core for relation in constraints.required.get((u, v), ()))
        kinds.setdefault((rows, tuple(constraints.must_differ(u, v) for u in core)), []).append(v)
    return list(map(tuple, kinds.values()))


def _blocks(constraints, core, kinds, numbers):
    """The sets of kinds of a group that may choose one vertex of the graph together."""
    blocks = []
    for k in range(1, len(numbers) + 1):
        for chosen in combinations(numbers, k):
            vertices = tuple(kinds[kind][0] for kind in chosen)
            meet = all(_may_meet(constraints, u, w) for u, w in combinations(vertices, 2))
            if k == 1 or (meet and _share_a_label(constraints.labels, vertices)):
                rows = frozenset(u for u in core if any((u, v) in constraints.required for v in vertices))
                blocks.append(Block(frozenset(chosen), vertices, rows))
    return blocks


def _may_meet(constraints, u, w):
    """Whether only an inequality keeps two vertices from the same image."""
    return constraints.must_differ(u, w) and not are_disjoint(constraints.labels[u], constraints.labels[w])


def _share_a_label(labels, vertices):
    """Whether one vertex of the graph can have a label that each vertex allows."""
    known = [labels[v] for v in vertices if labels[v] is not None]
    return not known or bool(frozenset.intersection(*known))
