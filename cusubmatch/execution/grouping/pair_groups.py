"""Matches grouped by two pattern vertices that all others, which are alike, are joined to, and to no more.

Scatter-gather `a->m->b`, `a->n->b` grouped by a and b is such a pattern. The images of the others are drawn from one
set, the common neighbours of the pair; with c of them there are c (c - 1) ... embeddings of k others, and c^k
homomorphisms. So the engine counts common neighbours (`Engine.two_step_pairs`). Edges and negated edges between the
two choose pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from cusubmatch.engines.base import Engine
from cusubmatch.engines.prepared import Prepared
from cusubmatch.engines.table_algebra import Rows, TwoStepPaths
from cusubmatch.execution.grouping.group_images import GroupImages
from cusubmatch.execution.grouping.grouped_rows import Groups
from cusubmatch.graph.csr import contains
from cusubmatch.plan import Constraints

__all__ = ["MiddleForm", "common_neighbour_form", "pair_groups", "paths_of"]

MAX_COUNT = (1 << 63) - 1  # that an int64 column can hold


class MiddleForm(NamedTuple):
    """How a pattern is made of common neighbours of two vertices.

    Attributes
    ----------
    first, last, middle : int
        Pattern vertices; the middle one is any of those that are alike.
    to_middle, from_middle : int
        Relations of the graph.
    required, forbidden : tuple of int
        Relations that the pair must have, or must not have.
    middles : int
        How many vertices are alike.
    injective : bool
        Whether these must differ.
    distinct : bool
        Whether the first and the last one must differ.
    """

    first: int
    last: int
    middle: int
    to_middle: int
    from_middle: int
    required: tuple[int, ...]
    forbidden: tuple[int, ...]
    middles: int
    injective: bool
    distinct: bool

    def matches(self, neighbours: int, divisor: int) -> int:
        """The matches of a pair with so many common neighbours, each of which stands for `divisor` embeddings."""
        embeddings = math.perm(neighbours, self.middles) if self.injective else neighbours**self.middles
        return embeddings // divisor

    def neighbours_needed(self, least: int, divisor: int) -> int:
        """The fewest common neighbours of a pair with at least so many matches; no more than a row can have."""
        low, high = 0, 1 << 32
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.matches(middle, divisor) >= least else (middle, high)
        return high


def common_neighbour_form(constraints: Constraints, first: int, last: int) -> MiddleForm | None:
    """The form of a pattern, if it has this one."""
    size, required, forbidden = len(constraints.labels), constraints.required, constraints.forbidden
    others = [v for v in range(size) if v not in (first, last)]
    if not others or any(pair not in ((first, last), (last, first)) for pair, some in forbidden.items() if some):
        return None
    if any(u in others and w in others for u, w in required):
        return None
    labels = {constraints.labels[v] for v in others}
    kinds = {tuple(required.get(p, ()) for p in ((first, v), (v, first), (v, last), (last, v))) for v in others}
    if len(labels) != 1 or len(kinds) != 1:
        return None
    to_middle, _, from_middle, _ = kinds.pop()
    if len(to_middle) != 1 or len(from_middle) != 1:
        return None
    differing = {constraints.must_differ(u, w) for u in others for w in others if u < w}
    if len(differing) > 1:
        return None
    return MiddleForm(
        first,
        last,
        others[0],
        to_middle[0],
        from_middle[0],
        required.get((first, last), ()),
        forbidden.get((first, last), ()),
        len(others),
        differing == {True},
        constraints.must_differ(first, last),
    )


def paths_of(form: MiddleForm, prepared: Prepared, images: GroupImages, least: int) -> TwoStepPaths:
    """The paths of two edges that the engine is to count."""
    masks, (offsets, targets, _) = prepared.candidates.masks, prepared.adjacency
    first, last, middle = ((masks >> np.uint32(v) & np.uint32(1)).astype(bool) for v in form[:3])
    return TwoStepPaths(
        Rows(offsets[form.to_middle], targets),
        Rows(offsets[form.from_middle], targets),
        np.flatnonzero(first).astype(np.int32),
        middle,
        last,
        least,
        below=len(images.exchanges) > 1,
        distinct=form.distinct,
    )


def pair_groups(
    form: MiddleForm,
    engine: Engine,
    prepared: Prepared,
    paths: TwoStepPaths,
    divisor: int,
    check: Callable[[float, int], None],
) -> Groups:
    """The pairs and their matches.

    Raises
    ------
    OverflowError
        If a pair has 2^63 matches or more.
    """
    blocks = engine.two_step_pairs(paths, check)
    columns = [np.concatenate([block[i] for block in blocks]) if blocks else np.empty(0, np.int32) for i in range(3)]
    first, last, common = columns
    offsets, targets, _ = prepared.adjacency
    kept = np.ones(len(first), bool)
    for relation in form.required:
        kept &= contains(np, offsets[relation], targets, first, last)
    for relation in form.forbidden:
        kept &= ~contains(np, offsets[relation], targets, first, last)
    if not kept.all():
        first, last, common = first[kept], last[kept], common[kept]
    if paths.below:
        first, last = last, first
    sizes, place = np.unique(common, return_inverse=True)
    matches = [form.matches(int(neighbours), divisor) for neighbours in sizes]
    if matches and max(matches) > MAX_COUNT:
        raise OverflowError("two vertices are in 2**63 matches or more, and columns of counts are int64")
    return Groups(np.stack([first, last]).astype(np.int32), np.array(matches, np.int64)[place])
