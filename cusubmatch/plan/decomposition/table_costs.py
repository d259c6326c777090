"""What the steps of table kernels cost on an engine, and how many of them a graph takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

__all__ = ["TableCosts", "TableSizes"]


class TableCosts(NamedTuple):
    """Nanoseconds of the steps of an engine's table kernels.

    Attributes
    ----------
    worth : float
        The cost of walking from which a decomposition is looked for.
    start, call : float
        Starting a count; a table or term.
    prepared, indicator : float
        Testing an arc for a pair of the pattern; a pair of the pattern, whatever the number of arcs.
    vertex, entry, gathered : float
        Reading or writing a number of a vertex, of an arc, or of the far end of an arc.
    triangle, clique, pair : float
        Looking for a triangle, for a clique of four, for a path of two.
    wedge, square : float
        Following a wedge below its highest vertex in one direction: in a table of paths, and in a count of cycles of
        four.
    loop : float
        A step along a path of two below the highest vertex of a cycle of five, or along the edge between two of them.
    product, cell : float
        Adding a multiple of a number to another one in the product of a sparse and a dense matrix; multiplying two.
    listed, bridge : float
        A step of listing the common neighbours of all edges; a pair of common neighbours of an edge.
    weighted_triangle, weighted_wedge, weighted_loop, weighted_clique, weighted_bridge : float
        The same with weights.
    """

    worth: float
    start: float
    call: float
    prepared: float
    indicator: float
    vertex: float
    entry: float
    gathered: float
    triangle: float
    weighted_triangle: float
    wedge: float
    weighted_wedge: float
    square: float
    loop: float
    weighted_loop: float
    clique: float
    weighted_clique: float
    pair: float
    product: float
    cell: float
    listed: float
    bridge: float
    weighted_bridge: float


class TableSizes(NamedTuple):
    """How many steps the kernels take on the whole graph."""

    vertices: int
    entries: int  # arcs of the support graph
    triangles: float  # pairs of neighbours that are tested for triangles
    wedges: float  # paths of two below one of their ends
    paths: float  # of two
    cliques: float  # steps for cliques of four, about
    loops: Callable[[], float]  # steps for cycles of five; sampled when it is called
    bridges: Callable[[], float]  # ordered pairs of common neighbours of edges; sampled likewise
