"""Lists of all triangles, by edge and by vertex, of which diamonds are made.

A triangle stands three times in lists: at each edge its opposite vertex, at each vertex its opposite edge. Two vertices
in the list of an edge make a diamond. Lists have no order. They may be restricted to a range of vertices, where all
would take too much memory.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import int32, int64, uint64, void

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.kernel_factory import DeclaredKernel, block_of, kernel_factory
from cusubmatch.engines.gpu.tables.parameters import ARC_BATCH, ROWS
from cusubmatch.engines.gpu.tables.triangle_tables import make_over_triangles

__all__ = ["TRIANGLE_LISTS", "TriangleLists", "VertexRanges", "make_list_triangles", "signatures"]

U, L, S = np.uint32, np.uint64, np.int64


class VertexRanges(NamedTuple):
    """The vertices low, ..., high - 1 are listed at edges; first, ..., last - 1 have lists."""

    low: Any
    high: Any
    first: Any
    last: Any


class TriangleLists(NamedTuple):
    """Triangles w, z, y at the arc (w, z), w < z, and at the vertex y.

    Attributes
    ----------
    by_arc, by_vertex : uint64 array
        Where the list of each arc and of each vertex begins.
    opposite_vertices : int32 array
        At each arc (w, z), y.
    arc_sides : int64 array
        With each of them the arcs (w, y) and (z, y); needed where diamonds have values.
    opposite_arcs : int64 array
        At each vertex y, (w, z).
    vertex_sides : int64 array
        As `arc_sides`.
    """

    by_arc: Any
    by_vertex: Any
    opposite_vertices: Any
    arc_sides: Any
    opposite_arcs: Any
    vertex_sides: Any


_RANGES = block_of(VertexRanges, int64, int64, int64, int64)
TRIANGLE_LISTS = block_of(
    TriangleLists, uint64[::1], uint64[::1], int32[::1], int64[::1], int64[::1], int64[::1]
)  # fmt: skip


@kernel_factory
def make_list_triangles(target: Target, threads: int, lanes: int, fill: bool, with_sides: bool) -> Any:
    """The kernel that counts the triangles of each edge and of each vertex, or lists them where `fill`.

    What is counted or listed is added to `by_arc` and `by_vertex`: zeros, or where the lists begin.
    """
    cuda, FILL, WITH_SIDES = target.cuda, fill, with_sides

    @target.device
    def add(wz, y, wy, zy, ranges, lists):
        if ranges.low <= y < ranges.high:
            position = L(cuda.atomic.add(lists.by_arc, wz, L(1)))
            if FILL:
                lists.opposite_vertices[position] = np.int32(y)
                if WITH_SIDES:
                    lists.arc_sides[L(2) * position], lists.arc_sides[L(2) * position + L(1)] = wy, zy
        if ranges.first <= y < ranges.last:
            position = L(cuda.atomic.add(lists.by_vertex, y, L(1)))
            if FILL:
                lists.opposite_arcs[position] = wz
                if WITH_SIDES:
                    lists.vertex_sides[L(2) * position], lists.vertex_sides[L(2) * position + L(1)] = wy, zy

    @target.device
    def visit(rows, triangle, given):
        ranges, lists = given
        u, v, w, uv, vw, uw = triangle
        add(uv, w, uw, vw, ranges, lists)
        add(vw, u, rows.reverse[uv], rows.reverse[uw], ranges, lists)
        add(uw, v, uv, rows.reverse[vw], ranges, lists)
        return L(0)

    over_triangles = make_over_triangles(target, threads, lanes, visit)

    @target.kernel
    def list_triangles(rows, batch, ranges, lists):
        over_triangles(rows, batch, (ranges, lists))

    return list_triangles


def signatures(threads: int, lanes: int) -> list[DeclaredKernel]:
    """Each kernel as a GPU gets it."""
    signature = void(ROWS, ARC_BATCH, _RANGES, TRIANGLE_LISTS)
    return [
        DeclaredKernel(
            f"triangles{' listed' * fill}{' with sides' * with_sides}",
            make_list_triangles.recipe(threads, lanes, fill, with_sides),
            signature,
        )
        for fill, with_sides in ((False, False), (True, False), (True, True))
    ]
