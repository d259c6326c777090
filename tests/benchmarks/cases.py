"""What is counted in the benchmarks: graphs, patterns, and the CPU seconds that one thread may take.

The graphs come from CUSUBMATCH_DATA or from `../shared/data` beside the repository, but for the Kronecker graph, which
is generated. The labelled graph is facebook_combined with 16 random labels; its queries are random walks of 8 vertices
with all the edges among them, and every embedding counts, as in the studies that such queries are known from. A query
says which images must be smaller than which, so that SQL, which knows nothing of symmetry, is at no disadvantage.
"""

from __future__ import annotations

import functools
import os
from itertools import combinations, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

__all__ = ["CASES", "GRAPHS", "Case", "Query", "data_folder", "load_edges", "load_labels"]

FACEBOOK, LABELLED, KRONECKER = "facebook", "facebook-labelled", "kronecker-25-81-256-B1k"
GRAPHS = (FACEBOOK, LABELLED, KRONECKER)
N_LABELS = 16
QUERY_VERTICES = 8
N_QUERIES = 20
SEED = 16
PER_EMBEDDINGS = 12_000_000  # labelled queries are compared by the time that this many embeddings take


class Query(NamedTuple):
    """A pattern on vertices 0, 1, ... that every tool is given in its own words.

    `smaller` has the pairs (a, b) whose images must be in rising order, which leaves one match per subgraph. `labels`
    are those of the vertices; a labelled query asks for every embedding.
    """

    edges: tuple[tuple[int, int], ...]
    smaller: tuple[tuple[int, int], ...] = ()
    labels: tuple[int, ...] | None = None

    @property
    def size(self) -> int:
        return 1 + max(max(edge) for edge in self.edges)


class Case(NamedTuple):
    """Queries counted together on one graph, and the CPU seconds (for `per` embeddings, if given) they are to take."""

    graph: str
    name: str
    target: float | None
    count: int
    query: Query | None  # None: the labelled queries below
    queries: slice = slice(0)
    per: int | None = None

    def load(self) -> tuple[Query, ...]:
        """The queries of the case."""
        return labelled_queries()[self.queries] if self.query is None else (self.query,)


def clique(k):
    """The clique of k vertices."""
    return Query(tuple(combinations(range(k), 2)), tuple(pairwise(range(k))))


TRIANGLE, CLIQUE4, CLIQUE5 = clique(3), clique(4), clique(5)
DIAMOND = Query(((0, 1), (0, 2), (1, 2), (0, 3), (1, 3)), ((0, 1), (2, 3)))
CYCLE4 = Query(((0, 1), (1, 2), (2, 3), (0, 3)), ((0, 1), (0, 2), (0, 3), (1, 3)))
TAILED = Query(((0, 1), (0, 2), (1, 2), (2, 3)), ((0, 1),))
HOUSE = Query(((0, 1), (0, 2), (1, 2), (1, 3), (2, 4), (3, 4)), ((1, 2),))

CASES = (
    Case(FACEBOOK, "triangle", 0.02, 1_612_010, TRIANGLE),
    Case(FACEBOOK, "4-clique", 0.1, 30_004_668, CLIQUE4),
    Case(FACEBOOK, "5-clique", 0.5, 517_965_151, CLIQUE5),
    Case(FACEBOOK, "diamond", 0.1, 228_787_050, DIAMOND),
    Case(FACEBOOK, "4-cycle", 1.6, 144_023_053, CYCLE4),
    Case(FACEBOOK, "tailed-triangle", None, 703_783_680, TAILED),
    Case(FACEBOOK, "house", 10.0, 62_775_353_409, HOUSE),
    Case(KRONECKER, "triangle", 0.4, 2_102_761, TRIANGLE),
    Case(KRONECKER, "4-clique", None, 518_400, CLIQUE4),
    Case(LABELLED, "8-vertex-query", 0.6, 10_966_316, None, slice(6, 7), PER_EMBEDDINGS),
    Case(LABELLED, "8-vertex-queries", 0.6, 1_592_607_227, None, slice(N_QUERIES), PER_EMBEDDINGS),
)


def data_folder() -> Path:
    """The folder of the data graphs; FileNotFoundError where there is none."""
    folder = Path(os.environ.get("CUSUBMATCH_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
    if not folder.is_dir():
        raise FileNotFoundError(f"CUSUBMATCH_DATA: {folder} is not a folder; set it to where the data graphs are")
    return folder


@functools.cache
def load_edges(graph: str) -> pd.DataFrame:
    """The edges of a graph: columns src, dst, each edge once, ids 0 to n - 1."""
    if graph == KRONECKER:
        from cusubmatch.generators import kronecker

        return kronecker((25, 81, 256), "B1k")
    return pd.read_parquet(data_folder() / "facebook_combined.parquet")[["src", "dst"]]


def load_labels(graph: str) -> np.ndarray | None:
    """The label of each vertex, or None for a graph without labels."""
    if graph != LABELLED:
        return None
    n_vertices = int(load_edges(graph).max().max()) + 1
    return np.random.default_rng(SEED).integers(0, N_LABELS, n_vertices)


@functools.cache
def labelled_queries() -> tuple[Query, ...]:
    """The labelled queries: the graphs that random walks induce; the same ones at each call and on every machine."""
    edges, labels = load_edges(LABELLED), load_labels(LABELLED)
    neighbours: list[list[int]] = [[] for _ in labels]
    for a, b in edges.sort_values(["src", "dst"]).itertuples(index=False):
        neighbours[a].append(b)
        neighbours[b].append(a)
    random = np.random.default_rng(SEED + 1)
    queries = []
    for _ in range(N_QUERIES):
        here = int(random.integers(len(labels)))
        found = [here]
        while len(found) < QUERY_VERTICES:
            here = neighbours[here][int(random.integers(len(neighbours[here])))]
            if here not in found:
                found.append(here)
        pairs = combinations(range(QUERY_VERTICES), 2)
        inside = tuple((i, j) for i, j in pairs if found[j] in neighbours[found[i]])
        queries.append(Query(inside, labels=tuple(int(labels[v]) for v in found)))
    return tuple(queries)
