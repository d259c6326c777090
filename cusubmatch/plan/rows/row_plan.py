"""Plans that walk rows of the edge table: what a pattern asks of rows, and in which order its edges are bound.

A pattern whose named edges are bound to rows (`edges="each"`), or whose conditions compare edges (`edges="any"`), is
not matched on adjacency but on rows sorted by time. Which rows a pattern edge may take is a *relation*: rows in their
direction or in both, all of them or those under a mask; relations are numbered, and the caller holds their rows. Times
are compared by difference constraints, a closed matrix as in simple temporal networks (Dechter, Meiri and Pearl 1991,
section 2). Internal vertices are numbered by rank.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from cusubmatch.plan.conditions.column_windows import ColumnWindows

__all__ = ["RowCondition", "RowEdge", "RowPattern", "RowPlan", "RowStep"]


class RowEdge(NamedTuple):
    """A pattern edge.

    Attributes
    ----------
    source, target : int
        Its ends, pattern vertices.
    relation : int
        The rows that it may take; where they serve in both directions, so do the rows of the relation.
    bound : bool
        Whether it takes a row; else some row has to exist.
    """

    source: int
    target: int
    relation: int = 0
    bound: bool = True

    @property
    def ends(self) -> tuple[int, int]:
        """Source and target."""
        return self.source, self.target


class RowCondition(NamedTuple):
    """A condition that is none of the others, tested where the last of its names is bound.

    Attributes
    ----------
    vertices, edges : tuple of int
        The pattern vertices and edges that it reads.
    program : object
        What the engine evaluates.
    """

    vertices: tuple[int, ...]
    edges: tuple[int, ...]
    program: Any


@dataclass(frozen=True)
class RowPattern:
    """What is asked of the images of vertices and of the rows of edges.

    Attributes
    ----------
    n_vertices : int
    edges : tuple of RowEdge
    windows : tuple of tuple of int
        `windows[e][f]` is the most that time(f) - time(e) may be, or `NO_BOUND`; closed under transitivity.
    distinct : frozenset of (u, w)
        Pairs of vertices, u < w, that have different images.
    vertex_order : tuple of (u, w)
        The image of u has a lower rank than that of w.
    row_order : tuple of (p, q)
        The row of p stands before that of q in the edge table.
    different_rows : tuple of (p, q)
        Pairs of edges that take different rows.
    forbidden : tuple of (u, w, relation)
        There is no row of the relation from the image of u to the image of w.
    conditions : tuple of RowCondition
    existential : bool
        A match is its vertices, if some rows of the bound edges fulfil everything together (`edges="any"`); two edges
        may then take one row. Otherwise each combination of rows is a match.
    candidates : tuple of int or None
        How many vertices each pattern vertex may be mapped to; None: no mask is given.
    column_windows : ColumnWindows or None
        What some of `conditions` are, as windows on a column; see `by_windows`.
    """

    n_vertices: int
    edges: tuple[RowEdge, ...]
    windows: tuple[tuple[int, ...], ...]
    distinct: frozenset[tuple[int, int]] = frozenset()
    vertex_order: tuple[tuple[int, int], ...] = ()
    row_order: tuple[tuple[int, int], ...] = ()
    different_rows: tuple[tuple[int, int], ...] = ()
    forbidden: tuple[tuple[int, int, int], ...] = ()
    conditions: tuple[RowCondition, ...] = ()
    existential: bool = False
    candidates: tuple[int | None, ...] = ()
    column_windows: ColumnWindows | None = None

    def must_differ(self, u: int, w: int) -> bool:
        """Whether two vertices have different images."""
        return (min(u, w), max(u, w)) in self.distinct

    def by_programs(self) -> RowPattern:
        """The pattern for a walk that tests all conditions by their programs."""
        return replace(self, column_windows=None)

    def by_windows(self) -> RowPattern:
        """The pattern for a walk that keeps the windows on a column, without the conditions that these decide."""
        if self.column_windows is None:
            return self
        decided = self.column_windows.decided
        return replace(self, conditions=tuple(c for i, c in enumerate(self.conditions) if i not in decided))

    @property
    def bound_edges(self) -> tuple[int, ...]:
        """The edges that take a row."""
        return tuple(e for e, edge in enumerate(self.edges) if edge.bound)

    def may_share_a_row(self, p: int, q: int) -> bool:
        """Whether vertices and times leave it open that two edges take the same row."""
        if self.windows[p][q] < 0 or self.windows[q][p] < 0:
            return False
        (a, b), (x, y) = self.edges[p].ends, self.edges[q].ends
        same = not self.must_differ(a, x) and not self.must_differ(b, y)
        swapped = not self.must_differ(a, y) and not self.must_differ(b, x)
        return same or swapped

    @property
    def compared_rows(self) -> tuple[tuple[int, int], ...]:
        """The pairs of `different_rows` that nothing else keeps apart."""
        return tuple(pair for pair in self.different_rows if self.may_share_a_row(*pair))


class RowStep(NamedTuple):
    """One step of a walk.

    Attributes
    ----------
    kind : {"rows", "vertices", "scan", "close", "meet", "neighbours", "arc"}
        "rows": all rows of an edge, grouped by the image of `start`. "vertices": all vertices. "scan": rows out of, or
        into, the image of `start`, in order of time. "close": rows between two images. "neighbours": vertices that an
        edge leads to from the image of `start`, each once. "arc": some row between two images exists. "meet": one row,
        or a path of two, between the image of `start` and the vertex that the first step groups by; they are kept by
        the vertex where they end while the window of the first step's rows slides on.
    edges : tuple of int
        The pattern edge; for "meet" that at the first step's vertex, and perhaps the one after it; none for "vertices".
    start : int
        A pattern vertex; for "close" and "arc" the source of the edge.
    binds : tuple of int
        The vertices that are bound here.
    """

    kind: str
    edges: tuple[int, ...]
    start: int
    binds: tuple[int, ...]


@dataclass(frozen=True)
class RowPlan:
    """An order in which the edges of a pattern are bound.

    Attributes
    ----------
    pattern : RowPattern
    steps : tuple of RowStep
    leaf : {"rows", "visit", "count", "pairs"}
        "rows": matches come out. "visit": they are visited and counted; "count": the last step is counted at once, or
        with "pairs" the last two, which only a window joins.
    cost : float
        Nanoseconds.
    by_column : bool
        Whether rows lie in the order of the column of `pattern.column_windows`, and their times are tested; otherwise
        they lie in the order of time.
    """

    pattern: RowPattern
    steps: tuple[RowStep, ...]
    leaf: str
    cost: float = 0.0
    by_column: bool = False

    @property
    def counting(self) -> bool:
        """Whether it counts and gives no rows."""
        return self.leaf != "rows"

    def counted_beside(self, index: int) -> RowStep | None:
        """The step that is counted together with a later one, `index`, and so is not bound when that is looked at."""
        return self.steps[-2] if self.leaf == "pairs" and index == len(self.steps) - 1 else None

    @property
    def meeting(self) -> RowStep | None:
        """The step that meets the first one, if there is one."""
        return next((step for step in self.steps if step.kind == "meet"), None)

    def without_meeting(self) -> RowPlan:
        """The plan that searches what the other one keeps; itself, if it keeps nothing."""
        if self.meeting is None:
            return self
        steps = []
        for step in self.steps:
            if step.kind == "meet":
                if step.binds:
                    steps.append(RowStep("scan", step.edges[1:], step.start, step.binds))
                steps.append(RowStep("close", step.edges[:1], self.pattern.edges[step.edges[0]].source, ()))
            else:
                steps.append(step)
        return replace(self, steps=tuple(steps))
