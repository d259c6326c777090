"""Calls that between them need the compiled code of an engine, each for a process of its own.

What a call compiles is kept for every later process (`cusubmatch warm-up`): the CPU engine's code, and on a GPU what
CuPy compiles between the kernels. Small graphs are enough for most; of a large graph (`graph_arrays.SMALL`) more is
worked on there.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pandas as pd

import cusubmatch as csm
from cusubmatch.engines.compile_kernels import compile_long_counts, load_long_counts
from cusubmatch.generators import rmat

__all__ = ["CALLS", "GPU_CALLS"]

EngineName = Literal["cpu", "gpu"]

TRIANGLE, DIAMOND = "(a)--(b)--(c)--(a)", "(a)--(b)--(c)--(a)--(d)--(c)"
SQUARE = "(a)--(b)--(c)--(d)--(a)"
HOUSE = "(a)--(b)--(c)--(d)--(a), (a)--(e)--(b)"
WITH_TAILS = (  # whose tables are weighted
    "(a)--(b)--(c)--(d)--(a)--(x), (c)--(y)",
    "(a)--(b)--(c)--(d)--(e)--(a)--(x), (c)--(y)",
    "(a)--(b)--(c)--(d)--(a)--(c), (b)--(d), (a)--(x), (b)--(y)",
    "(a)--(b)--(c)--(a)--(x), (b)--(y), (c)--(z)",
    "(a)--(b)--(c)--(a)--(d)--(c), (b)--(x)--(d), (x)--(y)",
)
LABELLED = "(a:0)--(b:1)--(c:2)--(d:0)--(e:1)--(f:2), (a)--(c), (d)--(f)"
LABELLED_PATH = "(a:0)--(b:1)--(c:2)--(d:0)"
RING = "(a)-[x]->(b)-[y]->(c)-[z]->(a) WHERE x.time < y.time AND y.time < z.time"


def _graph(scale: int = 8, degree: int = 6) -> csm.Graph:
    return csm.Graph.from_edgelist(rmat(scale, degree, seed=3))


def _labelled(scale: int = 9) -> csm.Graph:
    edges = rmat(scale, 8, seed=5)
    number = int(edges.to_numpy().max()) + 1
    vertices = pd.DataFrame({"vertex": np.arange(number), "label": np.arange(number) % 3})
    return csm.Graph.from_edgelist(edges, vertices=vertices, vertex_label="label")


def _payments() -> csm.Graph:
    random = np.random.default_rng(7)
    columns = {name: random.integers(0, 40, 400) for name in ("src", "dst")}
    edges = pd.DataFrame(columns | {"time": random.integers(0, 1000, 400)})
    return csm.Graph.from_edgelist(edges, directed=True, time="time")


def _count_walks(engine: EngineName) -> None:
    for pattern in (TRIANGLE, SQUARE, "(a)--(b)--(c)--(d)", HOUSE):
        csm.count_matches(_graph(), pattern, engine=engine)


def _write_rows(engine: EngineName) -> None:
    csm.subgraph_match(_graph(), DIAMOND, engine=engine)
    csm.subgraph_match(_graph(), SQUARE, engine=engine, semantics="induced")


def _sample(engine: EngineName) -> None:
    csm.sample_matches(_graph(), DIAMOND, 10, seed=1, engine=engine)


def _count_tables(engine: EngineName) -> None:
    graph = _graph(12, 16)
    for pattern in (SQUARE, csm.Pattern.cycle(5), HOUSE, *WITH_TAILS):
        csm.count_matches(graph, pattern, engine=engine)


def _count_labelled(engine: EngineName) -> None:
    graph = _labelled()
    csm.count_matches(graph, LABELLED, engine=engine)
    csm.subgraph_match(graph, LABELLED, engine=engine, limit=100)
    next(csm.iter_matches(graph, LABELLED, engine=engine))


def _count_labelled_in_larger_graph(engine: EngineName) -> None:
    csm.count_matches(_labelled(13), LABELLED, engine=engine)


def _count_labelled_for_long(engine: EngineName) -> None:
    if engine == "gpu":
        load_long_counts()
    else:
        compile_long_counts(_labelled(), csm.Pattern.parse(LABELLED))


def _large_graph(labels: int = 0, timed: bool = False) -> csm.Graph:
    """A graph of a million edges, of dataframes that lie on the GPU where cuDF is installed."""
    edges: Any = rmat(16, 24, seed=5, a=0.45, b=0.2, c=0.2)
    number = int(edges.to_numpy().max()) + 1
    vertices: Any = pd.DataFrame({"vertex": np.arange(number), "label": np.arange(number) % max(labels, 1)})
    edges["time"] = np.random.default_rng(7).integers(0, 1000, len(edges))
    if importlib.util.find_spec("cudf"):
        import cudf

        edges, vertices = cudf.DataFrame(edges), cudf.DataFrame(vertices)
    if timed:
        return csm.Graph.from_edgelist(edges, directed=True, time="time")
    edges = edges[["src", "dst"]]
    if not labels:
        return csm.Graph.from_edgelist(edges)
    return csm.Graph.from_edgelist(edges, vertices=vertices, vertex_label="label")


def _count_in_large_graph(engine: EngineName) -> None:
    graph = _large_graph()
    for pattern in (TRIANGLE, SQUARE, "(a)--(b)--(c)--(d)", HOUSE, csm.Pattern.clique(4)):
        csm.count_matches(graph, pattern, engine=engine)
    csm.vertex_counts(graph, TRIANGLE, engine=engine)


def _count_labelled_in_large_graph(engine: EngineName) -> None:
    graph = _large_graph(labels=64)
    for pattern in (LABELLED_PATH, LABELLED):
        csm.count_matches(graph, pattern, engine=engine, progress=lambda *_: None)  # with no head start of the host


def _write_rows_of_large_graph(engine: EngineName) -> None:
    csm.subgraph_match(_large_graph(labels=64), LABELLED, engine=engine, limit=1000)
    graph = _large_graph()
    for pattern in (TRIANGLE, DIAMOND):
        csm.subgraph_match(graph, pattern, engine=engine, limit=1000)
    csm.sample_matches(graph, DIAMOND, 10, seed=1, engine=engine)


def _match_timed_in_large_graph(engine: EngineName) -> None:
    graph = _large_graph(timed=True)
    csm.count_matches(graph, "(a)-->(b)-->(c)-->(a)", engine=engine)
    csm.count_matches(graph, RING, engine=engine, edges="each")
    csm.subgraph_match(graph, RING, engine=engine, edges="each", limit=1000)


def _count_timed(engine: EngineName) -> None:
    csm.count_matches(_payments(), RING, engine=engine, edges="each")


def _match_timed(engine: EngineName) -> None:
    csm.subgraph_match(_payments(), RING, engine=engine, edges="each")


CALLS: dict[str, Callable[[EngineName], None]] = {  # those that take longest first
    "walks that count": _count_walks,
    "rows of the edge table": _count_timed,
    "labelled patterns": _count_labelled,
    "labelled patterns of many candidates": _count_labelled_in_larger_graph,
    "labelled patterns, for long": _count_labelled_for_long,
    "tables": _count_tables,
    "walks that write rows": _write_rows,
    "rows of the edge table, written": _match_timed,
    "samples": _sample,
}
_ALSO_ON_GPU = (
    "labelled patterns, for long",
    "walks that count",
    "labelled patterns",
    "tables",
    "walks that write rows",
    "samples",
)
GPU_CALLS: dict[str, Callable[[EngineName], None]] = {
    "counts in a large graph": _count_in_large_graph,
    "labelled patterns in a large graph": _count_labelled_in_large_graph,
    "rows of a large graph": _write_rows_of_large_graph,
    "rows of a large edge table": _match_timed_in_large_graph,
    **{name: CALLS[name] for name in _ALSO_ON_GPU},
}
