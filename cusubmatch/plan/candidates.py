"""Candidates of each pattern vertex before the search: what every engine does alike, on arrays of NumPy or CuPy.

A data vertex may stand for a pattern vertex if its label fits, it has enough neighbours in each relation that the
pattern vertex asks for (LDF and NLF; Zhu et al. 2010), and, for each pattern neighbour, at least one neighbour that is
a candidate of that (arc consistency; GraphQL, He & Singh 2008). Labels and degrees are looked up here, in tables of
masks that answer for all pattern vertices at once; consistency and the counts that remain, which the planner estimates
with, are the engines'. Only numbers leave the device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.graph import Adjacency, Graph
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

ROUNDS = 3  # of consistency
SELECTIVE = 0.9  # a filter that keeps more than this share of a label's vertices is not tested in the search
SAMPLE = 4096  # candidates, about, whose rows are counted for an estimate of pairs


class Candidates(NamedTuple):
    """`masks`: uint32 (n,), bit u where the vertex may be pattern vertex u. `shape` and `tested` are the planner's."""

    masks: Any
    shape: Cardinalities
    tested: tuple[int | None, ...]

    def of(self, vertex: int) -> Any:
        """The candidates of a pattern vertex, int32, highest rank first."""
        return (self.masks & np.uint32(1 << vertex)).nonzero()[0][::-1].astype(np.int32)


class CandidateConstraints(NamedTuple):
    """What a pattern asks of single vertices and of their neighbours.

    Attributes
    ----------
    edges : int32 (m, 3)
        Rows (u, w, relation): an image of u has an image of w among its neighbours in the relation.
    sweeps : tuple of (begin, end)
        Ranges of `edges` in which no target is a source: no edge of a range sees what another one clears.
    least : tuple of dict
        Per pattern vertex the neighbours that it needs, by relation.
    uniform : bool
        Whether one relation and no label are asked for, so that degrees say it all.
    """

    edges: np.ndarray
    passes: tuple[tuple[int, int], ...]
    least: tuple[dict[int, int], ...]
    uniform: bool


def candidate_constraints_of(constraints: Constraints, injective: bool) -> CandidateConstraints:
    """The demands, with the pattern's edges in an order for few sweeps: sources by greedy colouring."""
    required, size = constraints.required, len(constraints.labels)
    least: tuple[dict[int, int], ...] = tuple({} for _ in range(size))
    for (u, _), relations in required.items():
        for relation in relations:
            least[u][relation] = least[u].get(relation, 0) + 1 if injective else 1
    colours: list[int] = []
    for u in range(size):
        taken = {colours[w] for w in range(u) if (u, w) in required}
        colours.append(next(colour for colour in range(size) if colour not in taken))
    edges = sorted((colours[u], u, w, relation) for (u, w), relations in required.items() for relation in relations)
    begins = [place for place, edge in enumerate(edges) if place == 0 or edge[0] != edges[place - 1][0]]
    return CandidateConstraints(
        edges=np.array([edge[1:] for edge in edges], np.int32).reshape(-1, 3),
        passes=tuple(pairwise([*begins, len(edges)])),
        least=least,
        uniform=len(constraints.relations) <= 1 and all(labels is None for labels in constraints.labels),
    )


def label_degree_filter(
    graph: Graph, constraints: Constraints, demands: CandidateConstraints, adjacency: Adjacency
) -> Any:
    """Masks (uint32, one a vertex) of the pattern vertices whose label and degrees a vertex has."""
    xp, size = graph.xp, len(constraints.labels)
    relations = sorted({relation for least in demands.least for relation in least})
    tables = []
    for relation in relations:
        asked = [least.get(relation, 0) for least in demands.least]
        tables.append(np.zeros(max(asked) + 1, np.uint32))
        for u, degree in enumerate(asked):
            tables[-1][degree:] |= np.uint32(1 << u)
    labelled = any(allowed is not None for allowed in constraints.labels)
    if labelled:
        tables.append(np.zeros(len(graph.vertex_label_values or ()) + 1, np.uint32))  # no label is -1: the last entry
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


def uniform(graph: Graph, demands: CandidateConstraints, adjacency: Adjacency, masks: Any) -> Candidates:
    """The candidates where demands are uniform and so nothing is left to filter."""
    xp, asked = graph.xp, [tuple(least.values()) for least in demands.least]
    one = {least: u for u, least in enumerate(asked)}  # a pattern vertex of each demand
    counts = xp.empty(len(one), np.int64)
    for place, u in enumerate(one.values()):
        counts[place] = xp.count_nonzero(masks & np.uint32(1 << u))
    size_of = dict(zip(one, counts.tolist(), strict=True))
    pairs = {(u, w): float(len(adjacency.targets)) for u, w, _ in demands.edges.tolist()}
    return Candidates(
        masks, Cardinalities(tuple(float(size_of[least]) for least in asked), pairs, {}), (None,) * len(asked)
    )


def select(
    graph: Graph,
    constraints: Constraints,
    demands: CandidateConstraints,
    masks: Any,
    sizes: Sequence[int],
    found: Sequence[tuple[int, int]],
    equal: Callable[[int, int], bool],
    sample: int,
) -> Candidates:
    """The candidates from what an engine counted.

    Parameters
    ----------
    sizes : candidates of each pattern vertex
    found : of each edge the pairs of candidates, and the ordered pairs of two of them with the same source, from every
        `spacing`-th candidate of its source
    equal : whether two pattern vertices have the same candidates; asked only where there are equally many
    """
    pairs: dict[tuple[int, int], float] = {}
    biases: dict[tuple[int, int], float] = {}
    for (u, w, _), (count, twos) in zip(demands.edges.tolist(), found, strict=True):
        seen = -(-sizes[u] // spacing(sizes[u], sample))
        whole = count * (sizes[u] / max(seen, 1))
        if whole <= pairs.get((u, w), whole):
            pairs[u, w], biases[u, w] = whole, max(seen * twos / max(count * count, 1), 1.0)
    tested: list[int | None] = []  # equal filters get one name
    for u, (kept, possible) in enumerate(zip(sizes, _labelled(graph, constraints), strict=True)):
        if kept > SELECTIVE * possible:
            tested.append(None)
        else:
            tested.append(next((w for w in range(u) if tested[w] == w and sizes[w] == kept and equal(w, u)), u))
    return Candidates(masks, Cardinalities(tuple(map(float, sizes)), pairs, biases), tuple(tested))


def spacing(total: int, sample: int) -> int:
    """Of so many candidates every how many-th is looked at to see about `sample`, and fewer than twice as many."""
    return max(total // sample, 1)


def _labelled(graph, constraints):
    """How many vertices have a label that each pattern vertex allows."""
    if graph.vertex_labels is None or graph.vertex_label_values is None:
        return [graph.n_vertices] * len(constraints.labels)
    many = len(graph.vertex_label_values) + 1

    def count():
        return graph.xp.bincount(graph.vertex_labels + 1, minlength=many).tolist()

    counts = graph.cache.get("label counts", None, count, 1)
    return [
        graph.n_vertices if allowed is None else sum(counts[code + 1] for code in allowed)
        for allowed in constraints.labels
    ]
