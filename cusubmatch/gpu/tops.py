"""Vertices in the order in which blocks draw them: by falling work, so that the last ones to be drawn are small.

What lies two steps below a vertex can be looked at in ranges, one apart from the other. Where it is much, it is cut
into ranges of as many vertices as a block can count in shared memory, and no block is left with a hub in the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.csr import row_lengths
from cusubmatch.skeleton import Skeleton

__all__ = ["Parts", "Tops", "all_vertices", "parts", "tops"]

MUCH = 1 << 14  # wedges below a vertex
MOST_PARTS = 16  # of a vertex; the last one has all that is left


class Tops(NamedTuple):
    """Vertices by falling work, int32, as kernels take them, and the sums of their work up to each."""

    vertices: Any
    cumulative: Any
    number: int
    work: float

    @property
    def arrays(self) -> tuple:
        """What kernels draw from."""
        return (self.vertices,)


class Parts(NamedTuple):
    """Vertices with the range of the ends of their wedges, lows, ..., highs - 1, by falling work of the range.

    `many` have more than `few` wedges each, and each of the others is all of a vertex; `most` have more than a window
    has words.
    """

    vertices: Any
    lows: Any
    highs: Any
    cumulative: Any
    number: int
    work: float
    many: int
    most: int

    @property
    def arrays(self) -> tuple:
        """What kernels draw from."""
        return self.vertices, self.lows, self.highs


def tops(skeleton: Skeleton, to_device: Callable[[Any], Any], least: int) -> Tops:
    """The vertices with so many lower neighbours at least, by the wedges below them; kept with the skeleton."""

    def make():
        vertices, work = _below(skeleton, least)
        return _tops(skeleton.xp, to_device, vertices, work)

    return skeleton.keep(f"tops {least}", make)


def parts(skeleton: Skeleton, to_device: Callable[[Any], Any], few: int, window: int, words: int) -> Parts:
    """The vertices below which two wedges can meet, cut into ranges; kept with the skeleton.

    A range has as many vertices as the `window` has counters, in `words` words.
    """

    def make():
        xp = skeleton.xp
        vertices, work = _below(skeleton, 2)
        number = xp.ones(len(vertices), np.int64)
        if window:
            number = xp.where(work > max(MUCH, MOST_PARTS * few), xp.minimum(-(-vertices // window), MOST_PARTS), 1)
        of = xp.repeat(xp.arange(len(vertices)), number)
        part = xp.arange(len(of)) - (xp.cumsum(number) - number)[of]
        highs = vertices[of] - part * window
        lows = xp.where(part + 1 < number[of], highs - window, 0)
        share = work[of] / number[of]
        order = xp.argsort(-share, kind="stable")
        share = share[order]
        arrays = (to_device(some[order].astype(np.int32)) for some in (vertices[of], lows, highs))
        cumulative = xp.cumsum(share)
        total = float(cumulative[-1]) if len(of) else 0.0
        return Parts(*arrays, cumulative, len(of), total, int((share > few).sum()), int((share > words).sum()))

    return skeleton.keep(f"parts {few} {window}", make)


def all_vertices(skeleton: Skeleton, to_device: Callable[[Any], Any]) -> Tops:
    """All vertices with neighbours, by their paths of two; kept with the skeleton."""

    def make():
        lengths = row_lengths(skeleton.offsets)
        work = _sums(skeleton, lengths[skeleton.targets], skeleton.offsets[1:])
        vertices = skeleton.xp.nonzero(lengths > 0)[0]
        return _tops(skeleton.xp, to_device, vertices, work[vertices])

    return skeleton.keep("all vertices", make)


def _below(skeleton, least):
    """The vertices with so many lower neighbours at least and any wedges below them, and how many wedges."""
    steps = skeleton.mate - skeleton.offsets[skeleton.targets]  # for entries (u, v), u > v
    work = _sums(skeleton, steps, skeleton.upper)
    vertices = skeleton.xp.nonzero((skeleton.upper - skeleton.offsets[:-1] >= least) & (work > 0))[0]
    return vertices, work[vertices]


def _sums(skeleton, steps, ends):
    """For each vertex the sum over its entries up to `ends`."""
    sums = skeleton.xp.zeros(len(steps) + 1, np.int64)
    skeleton.xp.cumsum(steps, out=sums[1:])
    return sums[ends] - sums[skeleton.offsets[:-1]]


def _tops(xp, to_device, vertices, work):
    order = xp.argsort(-work, kind="stable")
    cumulative = xp.cumsum(work[order].astype(np.float64))
    total = float(cumulative[-1]) if len(vertices) else 0.0
    return Tops(to_device(vertices[order].astype(np.int32)), cumulative, len(vertices), total)
