"""Constraints: what a pattern asks of pairs of its vertices, as relations of the data graph.

For an ordered pair (u, w), the image of w must be in every required relation to the image of u, and in no forbidden
one. Induced matching forbids every ordered pair without a pattern edge: `a-->b` alone
forbids b to a, and `a--b` leaves both directions free. A negated edge of the pattern forbids its relation.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from itertools import combinations, permutations
from typing import TYPE_CHECKING, NamedTuple

from cusubmatch.errors import GraphError
from cusubmatch.graph import Graph, Relation
from cusubmatch.pattern import Pattern, PatternError

if TYPE_CHECKING:
    from cusubmatch.pattern.expressions import Absent

__all__ = ["SEMANTICS", "Constraints", "LabelNames", "are_disjoint", "check_suits", "constraints_of", "negated_edges"]

SEMANTICS = ("monomorphism", "induced", "homomorphism")


class LabelNames(NamedTuple):
    """The labels of a pattern by the sets of codes that relations have for them."""

    edge: dict[frozenset[int], frozenset | None]
    vertex: dict[frozenset[int], frozenset | None]


class Constraints(NamedTuple):
    """What a pattern asks of its vertices and of pairs of them.

    Attributes
    ----------
    relations : sequence of Relation
    required, forbidden : dict
        Indices of the relations that each ordered pair of vertices must have, or must not have.
    distinct : frozenset of (u, w)
        Pairs, u < w, that must have different images.
    labels : tuple of frozenset or None
        Label codes that each vertex allows; None allows all.
    label_names : LabelNames
        For texts about plans.
    """

    relations: Sequence[Relation]
    required: dict[tuple[int, int], tuple[int, ...]]
    forbidden: dict[tuple[int, int], tuple[int, ...]]
    distinct: frozenset[tuple[int, int]]
    labels: tuple[frozenset[int] | None, ...]
    label_names: LabelNames

    def must_differ(self, u: int, w: int) -> bool:
        """Whether two vertices must have different images."""
        return ((u, w) if u < w else (w, u)) in self.distinct

    def neighbours_as_bits(self) -> list[int]:
        """Of each vertex those that it has a required relation to: bit w is set for w."""
        neighbours = [0] * len(self.labels)
        for u, w in self.required:
            neighbours[u] |= 1 << w
        return neighbours

    def conflicts_as_bits(self, neighbours: Sequence[int]) -> list[int]:
        """Of each vertex those that it must differ from and is not adjacent to; `neighbours` differ anyway."""
        conflicts = [0] * len(self.labels)
        for u, w in self.distinct:
            if not neighbours[u] >> w & 1:
                conflicts[u] |= 1 << w
                conflicts[w] |= 1 << u
        return conflicts


def constraints_of(pattern: Pattern, graph: Graph, semantics: str) -> Constraints:
    """Translate a pattern into relations of `graph`.

    Raises
    ------
    PatternError
        If the pattern has directed edges and the graph none, or has labels that the graph was not given.
    """
    check_suits(pattern, graph)
    different = {*pattern.labels}
    codes_of = {allowed: None if allowed is None else graph.vertex_label_codes(allowed) for allowed in different}
    labels = tuple(codes_of[allowed] for allowed in pattern.labels)
    shared = graph.shared_relations if _asks_for_single_labels(labels) else ()
    if shared:  # so are the sets of codes
        labels = tuple(shared[code].target_labels for codes in labels for code in codes or ())
    names = LabelNames({}, {codes: pattern.labels[v] for v, codes in enumerate(labels) if codes is not None})
    relations: dict[Relation, int] = {}
    numbers: dict[tuple, int] = {}

    def index(direction, edge_labels, target):
        if shared:  # a relation for each label, in the order of labels
            return next(iter(labels[target]))
        asked = direction, edge_labels, labels[target]
        if asked not in numbers:
            relation = Relation(direction if graph.directed else "any", edge_labels, labels[target])
            numbers[asked] = relations.setdefault(relation, len(relations))
        return numbers[asked]

    required: dict[tuple[int, int], tuple[int, ...]] = {}
    for source, target, directed, edge_labels, _ in pattern.edges:
        codes = None if edge_labels is None else graph.edge_label_codes(edge_labels)
        if codes is not None:
            names.edge[codes] = edge_labels
        there, back = ("out", "in") if directed else ("any", "any")
        for pair, direction in (((source, target), there), ((target, source), back)):
            relation, known = index(direction, codes, pair[1]), required.get(pair, ())
            if relation not in known:
                required[pair] = (*known, relation)
    forbidden: dict[tuple[int, int], tuple[int, ...]] = {}
    if semantics == "induced":
        free = {pair for s, t, directed, *_ in pattern.edges for pair in ([(s, t)] if directed else [(s, t), (t, s)])}
        for u, w in permutations(range(len(pattern)), 2):
            no_out, no_in = (u, w) not in free, (w, u) not in free
            if no_out or no_in:
                forbidden[u, w] = (index("any" if no_out and no_in else "out" if no_out else "in", None, w),)
    for absent in negated_edges(pattern):
        u, w = (pattern.elements[name][0].index for name in (absent.source, absent.target))
        codes = None if absent.labels is None else graph.edge_label_codes(absent.labels)
        if codes is not None:
            names.edge[codes] = absent.labels
        there, back = ("out", "in") if absent.directed else ("any", "any")
        for pair, direction in (((u, w), there), ((w, u), back)):
            relation = index(direction, codes, pair[1])
            if relation not in forbidden.get(pair, ()):
                forbidden[pair] = (*forbidden.get(pair, ()), relation)
    distinct = pattern.distinct if semantics == "homomorphism" else _every_pair(len(pattern))
    return Constraints(shared or tuple(relations), required, forbidden, distinct, labels, names)


@functools.lru_cache(64)
def _every_pair(size: int) -> frozenset[tuple[int, int]]:
    return frozenset(combinations(range(size), 2))


def negated_edges(pattern: Pattern) -> list[Absent]:
    """The negated edges among the conditions of a pattern."""
    if not pattern.conditions:
        return []
    from cusubmatch.pattern.expressions import Absent

    return [condition for condition in pattern.conditions if isinstance(condition, Absent)]


def _asks_for_single_labels(labels):
    """Whether each vertex has just one label."""
    return all(allowed is not None and len(allowed) == 1 for allowed in labels)


def are_disjoint(labels: frozenset[int] | None, other_labels: frozenset[int] | None) -> bool:
    """Whether no label is allowed by both; None allows all."""
    return labels is not None and other_labels is not None and not labels & other_labels


def check_suits(pattern: Pattern, graph: Graph) -> None:
    """Refuse a pattern that asks for directions or labels which the graph was not given.

    Raises
    ------
    PatternError, GraphError
    """
    absent = negated_edges(pattern)
    if (pattern.directed or any(edge.directed for edge in absent)) and not graph.directed:
        raise PatternError(
            "pattern: it has directed edges (-->) but the graph is undirected; "
            "write -- in the pattern or build the graph with directed=True"
        )
    if any(labels is not None for labels in pattern.labels) and graph.vertex_label_values is None:
        raise GraphError(
            "pattern: it has vertex labels but the graph was given none; "
            "build the graph with vertices= and vertex_label="
        )
    asked = [edge.labels for edge in pattern.edges] + [edge.labels for edge in absent]
    if any(labels is not None for labels in asked) and graph.edge_label_values is None:
        raise GraphError("pattern: it has edge labels but the graph was given none; build the graph with edge_label=")
