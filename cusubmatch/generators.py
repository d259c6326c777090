"""Graphs whose structure is known beforehand: R-MAT for load, Kronecker products of stars for exact truth at any size.

`rmat` is Chakrabarti, Zhan & Faloutsos, "R-MAT: A Recursive Model for Graph Mining" (SDM 2004), made simple and
undirected. `kronecker` makes the 'Theory' graphs of GraphChallenge (Kepner et al., "Design, Generation, and Validation
of Extreme Scale Power-Law Graphs", IPDPSW 2018), whose triangles `kronecker_counts` knows without looking at the graph.
Both return edges in a pandas frame, each edge once with `src < dst`, sorted, ids int32 from 0. They assume that the
edges fit in memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cusubmatch.frames import family_named

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["KroneckerCounts", "kronecker", "kronecker_counts", "rmat"]

ID_BITS = 31
ID_MASK = 2**ID_BITS - 1
MAX_VERTICES = 2**ID_BITS
KINDS = ("B0k", "B1k", "B2k")


class KroneckerCounts(NamedTuple):
    """The size of a Kronecker graph, exact: vertices, undirected edges and triangles."""

    vertices: int
    edges: int
    triangles: int


def rmat(
    scale: int, edge_factor: int = 16, *, seed: int = 1, a: float = 0.57, b: float = 0.19, c: float = 0.19
) -> pd.DataFrame:
    """A power-law graph: each edge falls down a quadtree over the adjacency matrix.

    The same arguments give the same graph on every machine. Self loops and repeated edges are dropped, and so are
    vertices that no edge touches; the rest are numbered from 0 in their old order.

    Parameters
    ----------
    scale : int
        The adjacency matrix has ``2**scale`` rows; 1 to 31.
    edge_factor : int, default 16
        Edges drawn per row; the graph has fewer, because repeats are dropped.
    seed : int, default 1
        Seed of NumPy's default generator.
    a, b, c : float
        Probabilities of the upper left, upper right and lower left quadrant; the lower right one takes the rest.

    Returns
    -------
    pandas.DataFrame
        Columns `src`, `dst` (int32), one row an edge, ``src < dst``, sorted.

    Raises
    ------
    ValueError
        If `scale`, `edge_factor` or `seed` is out of range, or the probabilities are negative or sum to more than 1.

    Examples
    --------
    >>> edges = rmat(4, 2)
    >>> bool((edges["src"] < edges["dst"]).all())
    True
    """
    _check_whole("scale", scale, 1, ID_BITS)
    _check_whole("edge_factor", edge_factor, 1)
    _check_whole("seed", seed, 0)
    for name, value in (("a", a), ("b", b), ("c", c)):
        if not isinstance(value, Real) or not 0 <= value <= 1:
            raise ValueError(f"{name}: expected a probability from 0 to 1, got {value!r}")
    if a + b + c > 1 + 1e-9:
        raise ValueError(f"a, b, c: expected a sum of at most 1, got {a + b + c!r}; the fourth quadrant takes the rest")

    # The bounds are in the precision of the draws: which side a draw falls on is part of the graph's identity.
    left, upper, upper_or_left = np.float32(a), np.float32(a + b), np.float32(a + b + c)
    generator = np.random.default_rng(seed)
    n_drawn = int(edge_factor) << int(scale)
    row = np.zeros(n_drawn, np.int64)
    column = np.zeros(n_drawn, np.int64)
    for _ in range(scale):
        draw = generator.random(n_drawn, dtype=np.float32)
        lower = draw >= upper
        right = np.where(lower, draw >= upper_or_left, draw >= left)
        row += row + lower
        column += column + right

    keys = _edge_keys(row, column)
    src, dst = keys >> ID_BITS, keys & ID_MASK
    touched = np.zeros(1 << int(scale), bool)
    touched[src] = touched[dst] = True
    compact = np.cumsum(touched, dtype=np.int64) - 1
    return _edge_frame(compact[src], compact[dst])


def kronecker(leaves: Sequence[int], kind: str = "B1k") -> pd.DataFrame:
    """The Kronecker product of star graphs, without its self loop.

    Parameters
    ----------
    leaves : sequence of int
        Leaves of each star, for example ``(25, 81, 256)``.
    kind : {'B0k', 'B1k', 'B2k'}, default 'B1k'
        Whether the stars carry no self loop (the product is bipartite), one on the hub, or one on a leaf.

    Returns
    -------
    pandas.DataFrame
        Columns `src`, `dst` (int32), one row an edge, ``src < dst``, sorted. Every vertex has an edge.

    Raises
    ------
    ValueError
        If `leaves` is empty or not made of positive integers, `kind` is unknown, or there are 2**31 vertices or more.

    See Also
    --------
    kronecker_counts : its vertices, edges and triangles in closed form.

    Examples
    --------
    >>> len(kronecker((3, 4), "B1k"))
    31
    """
    counts = kronecker_counts(leaves, kind)
    if counts.vertices >= MAX_VERTICES:
        raise ValueError(f"leaves: {tuple(leaves)} gives {counts.vertices:,} vertices; fewer than 2**31 fit")

    # From the last factor to the first: `every` holds the entries of the product so far, `above` those above its
    # diagonal. An entry of a longer product lies above the diagonal if its first factor's entry does, or if that one is
    # the self loop and the rest does.
    every = above = None
    n_rows = 1
    for m in reversed([int(m) for m in leaves]):
        row, column = _star(m, kind)
        star, upper, loop = row << ID_BITS | column, row < column, row == column
        if every is None:
            every, above = star, star[upper]
        else:
            above = np.concatenate([_product(star[upper], every, n_rows), _product(star[loop], above, n_rows)])
            every = _product(star, every, n_rows) if n_rows * (m + 1) < counts.vertices else None
        n_rows *= m + 1
    assert above is not None  # noqa: S101 - at least one star was multiplied
    above.sort()
    return _edge_frame(above >> ID_BITS, above & ID_MASK)


def kronecker_counts(leaves: Sequence[int], kind: str = "B1k") -> KroneckerCounts:
    """Vertices, edges and triangles of `kronecker(leaves, kind)`, in closed form and exact at any size.

    Where matrices multiply by Kronecker's product, so do their numbers of entries and the traces of their cubes. What
    remains is to take the product's only self loop away: at a vertex with d other neighbours it is part of 3 d + 1
    closed walks of length 3. A triangle is 6 of the walks that are left.

    Parameters
    ----------
    leaves, kind
        As for `kronecker`.

    Returns
    -------
    KroneckerCounts
        Python integers `vertices`, `edges`, `triangles`.

    Raises
    ------
    ValueError
        If `leaves` is empty or not made of positive integers, or `kind` is unknown.

    Examples
    --------
    >>> kronecker_counts((25, 81, 256), "B1k")
    KroneckerCounts(vertices=547924, edges=2132284, triangles=2102761)
    """
    if isinstance(leaves, str) or not isinstance(leaves, Sequence | np.ndarray) or len(leaves) == 0:
        raise ValueError(f"leaves: expected a sequence of positive integers such as (25, 81, 256), got {leaves!r}")
    for m in leaves:
        _check_whole("leaves", m, 1)
    if kind not in KINDS:
        raise ValueError(f"kind: expected one of {', '.join(KINDS)}, got {kind!r}")

    sizes = [int(m) for m in leaves]
    vertices = math.prod(m + 1 for m in sizes)
    if kind == "B0k":
        return KroneckerCounts(vertices, math.prod(2 * m for m in sizes) // 2, 0)
    entries = math.prod(2 * m + 1 for m in sizes)
    if kind == "B1k":
        closed_walks, loop_row = math.prod(3 * m + 1 for m in sizes), vertices
    else:
        closed_walks, loop_row = 4 ** len(sizes), 2 ** len(sizes)
    walks_through_loop = 3 * (loop_row - 1) + 1
    return KroneckerCounts(vertices, (entries - 1) // 2, (closed_walks - walks_through_loop) // 6)


def _star(m, kind):
    """Rows and columns of a star's adjacency matrix: hub 0, leaves 1 to m, and the self loop of its kind."""
    leaf = np.arange(1, m + 1)
    loop = np.array({"B0k": [], "B1k": [0], "B2k": [m]}[kind], np.int64)
    hub = np.zeros_like(leaf)
    return np.concatenate([hub, leaf, loop]), np.concatenate([leaf, hub, loop])


def _product(first, rest, n_rows):
    """The entries of a Kronecker product, packed as ``row << ID_BITS | column``; `rest` has `n_rows` rows.

    Row and column both become ``first * n_rows + rest``, so the packed words do, as long as no id outgrows its bits.
    """
    return np.add.outer(first * n_rows, rest).ravel()


def _edge_keys(row, column):
    """Each undirected edge once, packed as ``low << ID_BITS | high`` and sorted, without self loops."""
    low, high = np.minimum(row, column), np.maximum(row, column)
    keys = (low << ID_BITS | high)[low < high]
    keys.sort()
    return keys[np.diff(keys, prepend=-1) != 0]


def _edge_frame(src, dst):
    family = family_named("pandas")
    return family.frame({"src": family.values(src.astype(np.int32)), "dst": family.values(dst.astype(np.int32))})


def _check_whole(name, value, low, high=None):
    if isinstance(value, bool) or not isinstance(value, Integral) or value < low or (high is not None and value > high):
        wanted = f"an integer of at least {low}" if high is None else f"an integer from {low} to {high}"
        raise ValueError(f"{name}: expected {wanted}, got {value!r}")
