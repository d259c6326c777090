"""Candidate sets of the pattern vertices before the search: the part that the engines share, on NumPy or CuPy arrays.

A data vertex is a candidate of a pattern vertex if its label fits, if it has enough neighbours in each relation that
the pattern vertex asks for (label and degree filter, LDF and NLF; Zhu et al. 2010), and if it has, for each pattern
neighbour, a neighbour that is a candidate of it (arc consistency; GraphQL, He & Singh 2008). Labels and degrees are
looked up here, in tables of masks that answer for all pattern vertices at once. The engines do arc consistency and
count what remains, for the estimates of the planner. Only numbers leave the device.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.graph import Adjacency, Graph
from cusubmatch.graph.csr import number_of
from cusubmatch.plan.constraints import Constraints
from cusubmatch.plan.estimate import Cardinalities

__all__ = [
    "ROUNDS",
    "SAMPLE",
    "CandidateConstraints",
    "Candidates",
    "candidate_constraints_of",
    "label_degree_filter",
    "select",
    "spacing",
    "uniform",
]

ROUNDS = 3  # of arc consistency
MAX_KEPT_SHARE = 0.9  # a filter that keeps more of the vertices with a label is not tested in the search
SAMPLE = 4096  # candidates, about, whose rows are counted for an estimate of pairs


class Candidates:
    """The candidate sets of a pattern.

    Parameters
    ----------
    make_masks, make_cardinalities : callable
        Give what they say; called when that is first asked for.

    Attributes
    ----------
    filters : tuple of int or None
        Per pattern vertex, the vertex whose bit the search tests: equal filters share one. None: no test is needed.
    """

    def __init__(
        self,
        make_masks: Callable[[], Any],
        make_cardinalities: Callable[[], Cardinalities],
        filters: tuple[int | None, ...],
    ) -> None:
        self._make_masks, self._make_cardinalities, self.filters = make_masks, make_cardinalities, filters

    @functools.cached_property
    def cardinalities(self) -> Cardinalities:
        """What the planner estimates with."""
        return self._make_cardinalities()

    @functools.cached_property
    def masks(self) -> Any:
        """uint32 array (n,): bit u is set where the data vertex is a candidate of pattern vertex u."""
        return self._make_masks()

    def of(self, vertex: int) -> Any:
        """The candidates of a pattern vertex, int32, highest rank first."""
        return (self.masks & np.uint32(1 << vertex)).nonzero()[0][::-1].astype(np.int32)


class CandidateConstraints(NamedTuple):
    """What a pattern asks of single vertices and of their neighbours.

    Attributes
    ----------
    edges : int32 (m, 3)
        Rows (u, w, relation): an image of u has an image of w among its neighbours in the relation.
    passes : tuple of (begin, end)
        Ranges of `edges` in which no target is a source, so that no edge of a range depends on another one.
    min_degrees : tuple of dict
        Per pattern vertex, the neighbours that it needs, by relation.
    uniform : bool
        Whether one relation and no label are asked for, so that degrees decide alone.
    """

    edges: np.ndarray
    passes: tuple[tuple[int, int], ...]
    min_degrees: tuple[dict[int, int], ...]
    uniform: bool


def candidate_constraints_of(constraints: Constraints, injective: bool) -> CandidateConstraints:
    """Collect the constraints, with the edges in few passes: sources are coloured greedily."""
    required, size = constraints.required, len(constraints.labels)
    min_degrees: tuple[dict[int, int], ...] = tuple({} for _ in range(size))
    earlier: list[list[int]] = [[] for _ in range(size)]
    for (u, w), relations in required.items():
        needed = min_degrees[u]
        for relation in relations:
            needed[relation] = needed.get(relation, 0) + 1 if injective else 1
        if w < u:
            earlier[u].append(w)
    colours: list[int] = []
    for others in earlier:
        taken = {colours[w] for w in others}
        colour = 0
        while colour in taken:
            colour += 1
        colours.append(colour)
    edges = sorted([(colours[u], u, w, relation) for (u, w), relations in required.items() for relation in relations])
    last_of_colour = {edge[0]: i for i, edge in enumerate(edges, 1)}
    return CandidateConstraints(
        edges=np.array([number for edge in edges for number in edge[1:]], np.int32).reshape(-1, 3),
        passes=tuple(pairwise([0, *last_of_colour.values()])),
        min_degrees=min_degrees,
        uniform=len(constraints.relations) <= 1 and all(labels is None for labels in constraints.labels),
    )


def label_degree_filter(
    graph: Graph, constraints: Constraints, requirements: CandidateConstraints, adjacency: Adjacency, xp: Any = None
) -> Any:
    """Masks (uint32, one a vertex) of the pattern vertices whose label and degrees a vertex has.

    `xp` is the module of the offsets, by default the graph's.
    """
    xp, size = xp or graph.xp, len(constraints.labels)
    relations = sorted({relation for min_degrees in requirements.min_degrees for relation in min_degrees})
    tables = []
    for relation in relations:
        degrees = [min_degrees.get(relation, 0) for min_degrees in requirements.min_degrees]
        tables.append(np.zeros(max(degrees) + 1, np.uint32))
        for u, degree in enumerate(degrees):
            tables[-1][degree:] |= np.uint32(1 << u)
    labelled = any(allowed is not None for allowed in constraints.labels)
    if labelled:
        tables.append(np.zeros(len(graph.vertex_label_values or ()) + 1, np.uint32))  # no label is -1: the last element
        for u, allowed in enumerate(constraints.labels):
            tables[-1][slice(None) if allowed is None else sorted(allowed)] |= np.uint32(1 << u)
    masks = xp.full(graph.n_vertices, np.uint32((1 << size) - 1), np.uint32)
    if tables:
        words = xp.asarray(np.concatenate(tables))  # one copy to the device
        parts = [words[begin:end] for begin, end in pairwise(np.cumsum([0, *map(len, tables)]).tolist())]
        for relation, table in zip(relations, parts, strict=not labelled):
            degrees = adjacency.offsets[relation, 1:] - adjacency.offsets[relation, :-1]
            masks &= table[xp.minimum(degrees, len(table) - 1, out=degrees)]
        if labelled:
            masks &= parts[-1][graph.vertex_labels]
    return masks


def uniform(xp: Any, requirements: CandidateConstraints, adjacency: Adjacency, masks: Any) -> Candidates:
    """The candidates where the constraints are uniform, so that nothing is left to filter; `xp`: of the masks."""
    degrees = [tuple(min_degrees.values()) for min_degrees in requirements.min_degrees]
    vertex_of = {degree: u for u, degree in enumerate(degrees)}  # one pattern vertex of each degree
    counts = xp.empty(len(vertex_of), np.int64)
    for i, u in enumerate(vertex_of.values()):
        counts[i] = number_of(xp, (masks & np.uint32(1 << u)) != 0)
    size_of = dict(zip(vertex_of, counts.tolist(), strict=True))
    pairs = {(u, w): float(len(adjacency.targets)) for u, w, _ in requirements.edges.tolist()}
    sizes = tuple(float(size_of[degree]) for degree in degrees)
    cardinalities = Cardinalities(sizes, pairs, {})
    return Candidates(lambda: masks, lambda: cardinalities, (None,) * len(degrees))


def select(
    graph: Graph,
    constraints: Constraints,
    requirements: CandidateConstraints,
    make_masks: Callable[[], Any],
    sizes: Sequence[int],
    pair_counts: Sequence[tuple[int, int]],
    equal: Callable[[int, int], bool],
    sample: int,
) -> Candidates:
    """The candidates from what an engine counted.

    Parameters
    ----------
    make_masks : gives the masks
    sizes : candidates of each pattern vertex
    pair_counts : of each edge the pairs of candidates, and the ordered pairs of two of them with the same source, from
        every `spacing`-th candidate of its source
    equal : whether two pattern vertices have the same candidates; called only where there are equally many
    sample : candidates, about, that were counted from
    """
    filters: list[int | None] = []
    filtered: dict[int, list[int]] = {}  # by the number of candidates, vertices whose filters differ
    for u, (kept, labelled) in enumerate(zip(sizes, _labelled(graph, constraints), strict=True)):
        if kept > MAX_KEPT_SHARE * labelled:
            filters.append(None)
            continue
        others = filtered.setdefault(kept, [])
        first = next((w for w in others if equal(w, u)), u)
        if first == u:
            others.append(u)
        filters.append(first)
    make_cardinalities = functools.partial(_cardinalities, requirements, sizes, pair_counts, sample)
    return Candidates(make_masks, make_cardinalities, tuple(filters))


def _cardinalities(requirements, sizes, pair_counts, sample):
    """Sizes, and of each ordered pair the fewest pairs of candidates that an edge of it has."""
    pairs: dict[tuple[int, int], float] = {}
    biases: dict[tuple[int, int], float] = {}
    sampled = [-(-size // spacing(size, sample)) for size in sizes]
    shares = [size / max(some, 1) for size, some in zip(sizes, sampled, strict=True)]
    for (u, w, _), (count, twos) in zip(requirements.edges.tolist(), pair_counts, strict=True):
        pair, whole = (u, w), count * shares[u]
        if pair not in pairs or whole <= pairs[pair]:
            bias = sampled[u] * twos / (count * count) if twos else 1.0
            pairs[pair], biases[pair] = whole, max(bias, 1.0)
    return Cardinalities(tuple(map(float, sizes)), pairs, biases)


def spacing(total: int, sample: int) -> int:
    """The step between sampled candidates: about `sample` of them, and fewer than twice as many."""
    return max(total // sample, 1)


def _labelled(graph, constraints):
    """How many vertices have a label that each pattern vertex allows."""
    if graph.vertex_labels is None or graph.vertex_label_values is None:
        return [graph.n_vertices] * len(constraints.labels)
    codes = len(graph.vertex_label_values) + 1

    def count():
        source = graph.source()
        at = graph if source is None or source.xp is not np else source  # CuPy compiles this for seconds
        return at.xp.bincount(at.vertex_labels + 1, minlength=codes).tolist()

    counts = graph.cache.get("label counts", None, count, 1)
    allowing = {allowed: sum([counts[code + 1] for code in allowed]) for allowed in {*constraints.labels} - {None}}
    return [allowing.get(allowed, graph.n_vertices) for allowed in constraints.labels]
