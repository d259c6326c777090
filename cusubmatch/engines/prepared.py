"""What a run walks on: candidates of the pattern's vertices and the rows of its edges, or rows of the edge table."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from cusubmatch.graph import Adjacency, Graph
from cusubmatch.plan import Plan
from cusubmatch.plan.candidate_graph import CandidateGraph
from cusubmatch.plan.candidates import Candidates

__all__ = ["Prepared", "PreparedRows", "RowBlock", "Walked"]


class Prepared(NamedTuple):
    """What a pattern is matched on.

    Attributes
    ----------
    graph : Graph
        Where the engine works. Runs keep derived arrays in its cache and read nothing else from it.
    candidates : Candidates
        The candidate set of each pattern vertex.
    adjacency : Adjacency
        The rows of the graph: row block r belongs to relation r of the constraints.
    candidate_graph : CandidateGraph or None
        What is walked on instead, where an engine has built it.
    """

    graph: Graph
    candidates: Candidates
    adjacency: Adjacency
    candidate_graph: CandidateGraph | None = None

    def walked_by(self, plan: Plan) -> Walked:
        """What a plan is walked on: the graph's rows, or the candidate graph if the plan was made for it."""
        local = self.candidate_graph
        if local is not None and plan.relations == local.constraints.relations:
            return Walked(local.candidates, local.adjacency, local.vertices)
        return Walked(self.candidates, self.adjacency, None)

    @property
    def estimated_by(self) -> Candidates:
        """The candidates whose cardinalities and filters a plan is made with."""
        return self.candidates if self.candidate_graph is None else self.candidate_graph.candidates


class Walked(NamedTuple):
    """What one plan is walked on.

    Attributes
    ----------
    candidates : Candidates
    adjacency : Adjacency
        The rows that each pattern edge is walked on: row block r belongs to `Plan.relations[r]`.
    vertices : tuple of arrays, or None
        Per pattern vertex the internal vertex of each number in the rows; None: numbers are internal vertices.
    """

    candidates: Candidates
    adjacency: Adjacency
    vertices: tuple[Any, ...] | None


class PreparedRows(NamedTuple):
    """What a row plan is walked on.

    Attributes
    ----------
    relations : sequence of EdgeRows
        The rows of each relation that `RowEdge.relation` numbers; those in both directions have each row twice, and
        those under a mask only what it keeps.
    vertex_masks : sequence of arrays or None
        Per pattern vertex a mask, bool (n,), of the internal vertices that it may be mapped to.
    graph : Graph or None
        Where the engine works. Runs keep derived arrays in its cache and read nothing else from it; None: nothing is
        kept.
    keys : tuple of hashable
        What tells each of the relations from others of the graph.
    """

    relations: Sequence[Any]
    vertex_masks: Sequence[Any]
    graph: Graph | None = None
    keys: tuple[Hashable, ...] = ()

    @property
    def n_vertices(self) -> int:
        """Vertices of the graph."""
        return len(self.relations[0].arc_offsets) - 1


class RowBlock(NamedTuple):
    """A block of the matches of a row plan.

    Attributes
    ----------
    vertices : int32 (pattern vertices, matches)
        Internal vertices.
    rows : int64 (bound edges, matches)
        Positions in the edge table, in the order of `RowPattern.bound_edges`; none where matches are vertices.
    """

    vertices: Any
    rows: Any
