"""The candidate graph: of each pattern edge, the arcs between candidates of its ends.

Every pattern vertex has a list of candidates. Where two lists share a vertex, directly or through others, both are
numbered together, so that equal numbers are equal vertices; a number is a local index. Each ordered pair of pattern
vertices with an edge has a relation of its own, whose rows lead from local indices of the one to local indices of the
other. Labels, directions and edge labels are tested when the rows are made. A search reads these rows and tests nothing
else, and only vertices that share a candidate have to be kept apart (CECI, Bhattarai et al. 2019; DAF, Han et al.
2019). Engines make the rows.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from cusubmatch.graph import Adjacency, Relation
from cusubmatch.plan.candidates import Candidates
from cusubmatch.plan.constraints import Constraints

__all__ = ["CandidateGraph", "PairRelation", "local_constraints", "pair_relations"]


# Rows from the candidates of one pattern vertex to those of another, within all of some relations of the data graph.
PairRelation: TypeAlias = tuple[int, int, tuple[int, ...]]


class CandidateGraph(NamedTuple):
    """What is searched instead of the data graph.

    Attributes
    ----------
    constraints : Constraints
        The pattern's constraints with a relation for each ordered pair; only vertices that share a candidate differ.
    candidates : Candidates
        The candidate sets in local indices; no filter is left to test.
    adjacency : Adjacency
        Rows and targets in local indices; row block r belongs to `constraints.relations[r]`.
    vertices : tuple of int32 arrays
        Per pattern vertex, the internal vertex of each local index.
    """

    constraints: Constraints
    candidates: Candidates
    adjacency: Adjacency
    vertices: tuple[Any, ...]


def pair_relations(
    constraints: Constraints, first_alike: Sequence[int]
) -> tuple[dict[tuple[int, int], int], dict[tuple[int, int], int], list[PairRelation]]:
    """The relations that a candidate graph needs, each once.

    Parameters
    ----------
    constraints : Constraints
    first_alike : sequence of int
        Per pattern vertex, the first vertex with the same candidates.

    Returns
    -------
    required, forbidden : dict
        The number of the relation of each ordered pair.
    relations : list of PairRelation
    """
    numbers: dict[PairRelation, int] = {}

    def numbered(pairs: dict[tuple[int, int], tuple[int, ...]]) -> dict[tuple[int, int], int]:
        return {
            (u, w): numbers.setdefault((first_alike[u], first_alike[w], relations), len(numbers))
            for (u, w), relations in pairs.items()
        }

    return numbered(constraints.required), numbered(constraints.forbidden), list(numbers)


class LocalRelations(Sequence[Relation]):
    """The relations of a candidate graph, made when one of them is asked for: a count that is soon done asks for none.

    Parameters
    ----------
    known : sequence of Relation
        Those of the data graph.
    pairs : tuple of (source, target, *numbers)
        Of each relation its ends, and the known ones that it is within.
    """

    def __init__(self, known: Sequence[Relation], pairs: tuple[tuple[int, ...], ...]):
        self._known, self._pairs = known, pairs

    @functools.cached_property
    def _relations(self) -> list[Relation]:
        return [self._known[first]._replace(between=(u, w, first, *others)) for u, w, first, *others in self._pairs]

    def __getitem__(self, number: Any) -> Any:
        return self._relations[number]

    def __len__(self) -> int:
        return len(self._pairs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LocalRelations) and (self._known, self._pairs) == (other._known, other._pairs)

    def __hash__(self) -> int:
        return hash((self._known, self._pairs))


def local_constraints(
    constraints: Constraints,
    required: dict[tuple[int, int], int],
    forbidden: dict[tuple[int, int], int],
    relations: Sequence[PairRelation],
    arcs: Sequence[int],
    shares: Sequence[int],
) -> Constraints:
    """The constraints of a pattern on its candidate graph.

    `arcs`: of each relation; a forbidden one without arcs forbids nothing. Bit w of `shares[u]` is set where pattern
    vertices u and w share a candidate.
    """
    size = len(shares)
    return constraints._replace(
        relations=LocalRelations(constraints.relations, tuple([(u, w, *of_pair) for u, w, of_pair in relations])),
        required={pair: (number,) for pair, number in required.items()},
        forbidden={pair: (number,) for pair, number in forbidden.items() if arcs[number]},
        distinct=constraints.distinct.intersection(
            (u, w) for u, shared in enumerate(shares) if shared >> u > 1 for w in range(u + 1, size) if shared >> w & 1
        ),
    )
