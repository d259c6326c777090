"""Where the matches of an orbit are counted: which images of a match make rows, and which rows are one.

A match stands for an orbit of embeddings. It counts once in each row that one of them gives. Automorphisms that map the
grouped vertices to themselves exchange columns; rows that differ by such an exchange are one, written with its vertices
in the least order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cusubmatch.errors import PatternError
from cusubmatch.pattern.automorphisms import AutomorphismGroup

__all__ = ["GroupImages", "group_images"]

MAX_IMAGES = 20_000


class GroupImages(NamedTuple):
    """What a match contributes.

    Attributes
    ----------
    tuples : tuple of tuples of int
        The pattern vertices whose images are the columns of a row, for each row that a match counts in.
    exchanges : tuple of tuples of int
        The orders of the columns that make the same row; the first is the given one.
    divisor : int
        The embeddings of a match that give the same columns: automorphisms that leave the grouped vertices in place.
    """

    tuples: tuple[tuple[int, ...], ...]
    exchanges: tuple[tuple[int, ...], ...]
    divisor: int = 1

    def least(self, rows: np.ndarray) -> np.ndarray:
        """Rows (columns, rows) of internal vertices, each with its vertices in the least order."""
        if len(self.exchanges) == 1:
            return rows
        if len(self.exchanges) == math.factorial(len(rows)):
            return np.sort(rows, axis=0)
        best = rows
        for order in self.exchanges[1:]:
            other = rows[list(order)]
            best = np.where(_is_less(other, best), other, best)
        return best


def group_images(group: AutomorphismGroup | None, by: Sequence[int]) -> GroupImages:
    """The images of the vertices `by` under a group; None: every embedding counts by itself.

    Raises
    ------
    PatternError
        If there are too many.
    """
    by = tuple(by)
    if group is None or group.is_trivial:
        return GroupImages((by,), (tuple(range(len(by))),))
    elements = [tuple(range(group.size))]
    for i, vertex in enumerate(by):
        turns = list(group.images(by[:i], vertex).values())
        if len(elements) * len(turns) > MAX_IMAGES:
            raise PatternError(
                f"by: symmetry exchanges {', '.join(map(str, by))} in more than {MAX_IMAGES:,} ways; "
                "name fewer vertices, or say unique=False"
            )
        elements = [tuple(element[v] for v in turn) for element in elements for turn in turns]
    tuples = [tuple(element[v] for v in by) for element in elements]
    exchanges = [tuple(by.index(v) for v in one) for one in tuples if set(one) == set(by)]
    identity = tuple(range(len(by)))
    distinct = {frozenset(one): one for one in reversed(tuples)} | {frozenset(by): by}
    others = (one for one in exchanges if one != identity)
    return GroupImages(tuple(distinct.values()), (identity, *others), group.order // len(elements))


def _is_less(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Which rows come before the others, column by column."""
    less, equal = np.zeros(rows.shape[1], bool), np.ones(rows.shape[1], bool)
    for one, other in zip(rows, others, strict=True):
        less |= equal & (one < other)
        equal &= one == other
    return less
