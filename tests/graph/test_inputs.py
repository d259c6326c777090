"""Whatever holds edges and can be read for free is a graph: arrays, tensors, lazy frames, Arrow streams, matrices."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from frame_cases import module
from refusal import refuses

import cusubmatch as csm
from cusubmatch import Graph, GraphError

TRIANGLE = "(a)--(b)--(c)--(a)"
LOOP = "(a)-->(b)-->(c)-->(a)"
SOURCE, TARGET = np.array([0, 1, 2, 0]), np.array([1, 2, 0, 5])  # a loop and an edge that leaves it
TABLE = pa.table({"src": SOURCE, "dst": TARGET})


class Tensor:
    """What a PyTorch tensor on the CPU is to others: a shape, and `__array__`."""

    def __init__(self, values):
        self.values, self.ndim, self.shape = values, values.ndim, values.shape

    def __array__(self, dtype=None, copy=None):
        return self.values

    def __len__(self):
        return len(self.values)

    def __getitem__(self, key):
        return Tensor(self.values[key])


class Stream:
    """A table of some library that speaks Arrow's C stream interface, and nothing else."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def matrix(form):
    scipy = module("scipy.sparse")
    return getattr(scipy, form)(scipy.coo_array((np.ones(len(SOURCE)), (SOURCE, TARGET)), shape=(7, 7)))


INPUTS = {
    "rows of pairs": (lambda: np.stack([SOURCE, TARGET], 1), "pandas"),
    "two rows, as PyG's edge_index": (lambda: np.stack([SOURCE, TARGET]), "pandas"),
    "a tensor of two rows": (lambda: Tensor(np.stack([SOURCE, TARGET])), "pandas"),
    "a tensor of pairs": (lambda: Tensor(np.stack([SOURCE, TARGET], 1)), "pandas"),
    "a pair of arrays": (lambda: (SOURCE, TARGET), "pandas"),
    "a list of two arrays": (lambda: [SOURCE, TARGET], "pandas"),
    "a pair of tensors": (lambda: (Tensor(SOURCE), Tensor(TARGET)), "pandas"),
    "a Polars LazyFrame": (lambda: module("polars").from_arrow(TABLE).lazy(), "polars"),
    "an Arrow reader": (lambda: pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches()), "pyarrow"),
    "an Arrow record batch": (lambda: TABLE.to_batches()[0], "pyarrow"),
    "any Arrow stream": (lambda: Stream(TABLE), "pyarrow"),
    "a DuckDB relation": (lambda: module("duckdb").connect().from_arrow(TABLE), "pyarrow"),
    **{
        f"a scipy {form}": (lambda form=form: matrix(form), "pandas")
        for form in ("coo_array", "csr_matrix", "dok_array")
    },
}


@pytest.mark.parametrize("case", INPUTS)
def test_edges_of_any_kind_are_a_graph(case):
    make, library = INPUTS[case]
    graph = Graph.from_edgelist(make(), directed=True)
    assert graph.n_edges == 4
    assert csm.count_matches(make(), LOOP) == csm.count_matches(graph, LOOP) == 1
    found = csm.subgraph_match(make(), LOOP)
    assert type(found).__module__.partition(".")[0] == library
    assert len(found) == 1


FUNCTIONS = {
    "has_match": lambda G: csm.has_match(G, LOOP),
    "iter_matches": lambda G: [len(batch) for batch in csm.iter_matches(G, LOOP)] == [1],
    "sample_matches": lambda G: csm.sample_matches(G, LOOP, 1)[1] == 1,
    "count_many": lambda G: len(csm.count_many(G, {"loop": LOOP})) == 1,
    "motif_census": lambda G: len(csm.motif_census(G, 3)) == 2,
    "vertex_counts": lambda G: len(csm.vertex_counts(G, LOOP)) == 4,
    "explain": lambda G: str(csm.explain(G, LOOP)),
    "subgraph_monomorphism": lambda G: len(csm.subgraph_monomorphism(G, TABLE.slice(0, 3))) == 6,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_that_takes_a_graph_takes_arrays_and_streams(name):
    for case in ("two rows, as PyG's edge_index", "a pair of arrays", "any Arrow stream"):
        assert FUNCTIONS[name](INPUTS[case][0]())


def test_a_pattern_may_be_given_as_arrays_too():
    for pattern in ((SOURCE[:3], TARGET[:3]), np.stack([SOURCE[:3], TARGET[:3]]), Stream(TABLE.slice(0, 3))):
        assert len(csm.subgraph_monomorphism(TABLE, pattern)) == 6


def test_an_array_of_two_by_two_has_an_edge_a_row():
    assert sorted(csm.subgraph_match(np.array([[1, 2], [3, 4]]), "(a)-->(b)").to_numpy().tolist()) == [[1, 2], [3, 4]]


def test_the_vertices_of_a_matrix_are_its_rows_and_zeros_are_no_edges():
    scipy = module("scipy.sparse")
    stored_zero = scipy.coo_array(([1.0, 0.0], ([0, 1], [1, 2])), shape=(5, 5))
    graph = Graph.from_edgelist(stored_zero, directed=True)
    assert (graph.n_vertices, graph.n_edges) == (5, 1)
    people = pd.DataFrame({"vertex": [1, 9], "role": ["A", "A"]})
    labelled = Graph.from_edgelist(stored_zero, directed=True, vertices=people, vertex_label="role")
    assert (labelled.n_vertices, csm.count_matches(labelled, "(x:A)")) == (6, 2)
    with refuses(GraphError, "edges matrix (2, 3) square"):
        Graph.from_edgelist(scipy.coo_array((2, 3)))


def test_columns_of_streams_and_lazy_frames_are_named_as_those_of_tables():
    for make in (lambda table: module("polars").from_arrow(table).lazy(), Stream):
        edges = make(TABLE.rename_columns(["from", "to"]))
        people = make(pa.table({"id": [0, 1, 2, 5, 8], "role": ["A"] * 5}))
        graph = Graph.from_edgelist(edges, "from", "to", vertices=people, vertex="id", vertex_label="role")
        assert (graph.n_vertices, csm.count_matches(graph, "(a:A)--(b:A)")) == (5, 4)
    found = csm.subgraph_match(TABLE, "(a)-->(b)")
    assert (
        len(csm.attach_edges(found, "(a)-->(b)", Stream(TABLE.append_column("cents", [[1, 2, 3, 4]])), ["cents"])) == 4
    )


def test_what_is_not_taken_is_told_what_is():
    for other in (5, "edges.csv", np.zeros((3, 3), int), pd.Series([1]), pa.array([1]), pa.chunked_array([[1]])):
        for call in (Graph.from_edgelist, lambda G: csm.count_matches(G, TRIANGLE)):
            with refuses(TypeError, "DataFrame LazyFrame Arrow (m, 2) (2, m) arrays scipy"):
                call(other)


@pytest.mark.parametrize("dtype", ["object", "string[python]", "string[pyarrow]", "str", "category"])
def test_self_loops_between_text_ids_are_dropped(dtype):
    edges = pd.DataFrame({"src": ["a", "b", "c"], "dst": ["a", "c", "a"]}, dtype=dtype)
    graph = Graph.from_edgelist(edges)
    assert (graph.n_vertices, graph.n_edges, graph.dropped_self_loops) == (3, 2, 1)
