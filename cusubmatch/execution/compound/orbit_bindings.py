"""In which bindings a match of an expansion counts, as bindings of the pattern with its quantified edges.

A match is an orbit of embeddings under the automorphisms of its expansion, and lengths that automorphisms of the whole
pattern exchange are one expansion. So a match counts in the images of what the whole pattern's automorphisms make of
the grouped vertices, under the expansion's. The two groups may differ: in `(a)--{1,2}(b)--(c)` the ends are alike where
the path has length 1 only, and in `(a:A)--{1,2}(b:B)--{1,2}(c:A)` only where both lengths are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cusubmatch.execution.grouping.group_images import GroupImages, group_images
from cusubmatch.execution.grouping.grouped_rows import Groups, summed, wide
from cusubmatch.pattern.automorphisms import AutomorphismGroup

__all__ = ["OrbitBindings", "orbit_bindings"]


class OrbitBindings(NamedTuple):
    """Vertices of an expansion that are grouped by, and how their groups become those that are asked for.

    Attributes
    ----------
    by : tuple of int
        Pattern vertices.
    own : GroupImages
        Their images in the expansion.
    orders : tuple of tuples of int
        The orders of the columns that a group is given in.
    asked : GroupImages
        Those of the whole pattern, whose exchanges make rows one.
    """

    by: tuple[int, ...]
    own: GroupImages
    orders: tuple[tuple[int, ...], ...]
    asked: GroupImages

    @property
    def alike(self) -> bool:
        """Whether the same exchanges make rows one in the expansion and in the whole pattern."""
        return set(self.own.exchanges) == set(self.asked.exchanges)

    def of(self, groups: Groups, n_vertices: int) -> Groups:
        """The groups that are asked for, of those in the expansion."""
        if self.alike:
            return groups
        rows = [self.asked.least(groups.vertices[list(order)]) for order in self.orders]
        return summed(np.concatenate(rows, axis=1), np.tile(wide(groups.counts), len(rows)), n_vertices)


def orbit_bindings(
    whole: AutomorphismGroup | None, expansion: AutomorphismGroup | None, by: Sequence[int]
) -> list[OrbitBindings]:
    """What an expansion is grouped by; the groups are None where every embedding counts by itself."""
    asked, bindings, covered = group_images(whole, by), list[OrbitBindings](), set[tuple[int, ...]]()
    for images in asked.tuples:
        if _least(images, asked) in covered:
            continue
        own = group_images(expansion, images)
        orders: dict[tuple[int, ...], tuple[int, ...]] = {}
        for order in own.exchanges:
            orders.setdefault(_least(order, asked), order)
        covered |= {_least(_ordered(one, order), asked) for one in own.tuples for order in own.exchanges}
        bindings.append(OrbitBindings(images, own, tuple(orders.values()), asked))
    return bindings


def _ordered(row: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    return tuple(row[place] for place in order)


def _least(row: Sequence[int], images: GroupImages) -> tuple[int, ...]:
    """The least of the rows that exchanges make one."""
    return min(_ordered(row, order) for order in images.exchanges)
