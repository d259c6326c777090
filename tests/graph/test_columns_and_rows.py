"""The columns of a graph's tables: kept by reference, typed when first used, and the rows of each arc."""

from __future__ import annotations

import copy
import datetime as dt
import decimal
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from frame_cases import HOST_NAMES, frame
from hypothesis import given
from hypothesis import strategies as st
from refusal import refuses

from cusubmatch import Graph, GraphError
from cusubmatch.frames import family_named, typed_column
from cusubmatch.graph.edge_rows import edge_rows
from cusubmatch.graph.properties import (
    arcs_of_rows,
    edge_column,
    edge_columns,
    id_column,
    rows_by_end,
    vertex_column,
    vertex_columns,
    vertices_of_ids,
)

TIMES = [30, 10, 20, 10, 5]


def payments(name, **options):
    """A directed graph with a self loop, a parallel edge and a vertex without edges."""
    edges = frame(
        name,
        src=["a", "b", "c", "a", "c"],
        dst=["b", "c", "a", "b", "c"],
        at=TIMES,
        amount=[1.5, 2.5, None, 4.0, 5.0],
        kind=["x", "y", "x", "y", "x"],
    )
    people = frame(name, id=["d", "a", "b"], country=["DE", None, "AT"], age=[7, 8, 9])
    options = {"directed": True, "time": "at"} | options
    return Graph.from_edgelist(edges, vertices=people, vertex="id", **options)


def values(column):
    """The values of a typed column, None for null."""
    valid = np.ones(len(column.values), bool) if column.valid is None else column.valid
    read = [column.texts[value] if column.texts else value for value in column.values.tolist()]
    return [value if there else None for value, there in zip(read, valid, strict=True)]


def by_id(graph, column):
    """The values of a typed column by vertex id."""
    return dict(zip(values(id_column(graph)), values(column), strict=True))


WAYS = {
    "itself": lambda graph, folder: graph,
    "pickled": lambda graph, folder: pickle.loads(pickle.dumps(graph)),
    "copied": lambda graph, folder: copy.copy(graph),
    "saved": lambda graph, folder: (graph.save(folder / "graph"), Graph.load(folder / "graph"))[1],
    "saved and loaded as Arrow": lambda graph, folder: (
        graph.save(folder / "graph"),
        Graph.load(folder / "graph", family="arrow"),
    )[1],
    "saved twice": lambda graph, folder: (
        WAYS["saved"](graph, folder).save(folder / "again"),
        pickle.loads(pickle.dumps(Graph.load(folder / "again"))),
    )[1],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", HOST_NAMES)
def test_columns_are_kept_by_reference_copied_pickled_and_saved(name, way, tmp_path):
    graph = WAYS[way](payments(name), tmp_path)
    assert edge_columns(graph) == ["src", "dst", "at", "amount", "kind"]
    assert vertex_columns(graph) == ["id", "country", "age"]
    assert values(edge_column(graph, "at")) == TIMES
    assert values(edge_column(graph, "amount")) == [1.5, 2.5, None, 4.0, 5.0]
    assert values(edge_column(graph, "kind")) == ["x", "y", "x", "y", "x"]
    assert by_id(graph, vertex_column(graph, "country")) == {"a": None, "b": "AT", "c": None, "d": "DE"}
    assert by_id(graph, vertex_column(graph, "age")) == {"a": 8, "b": 9, "c": None, "d": 7}
    rows = rows_by_end(graph)
    ids = values(id_column(graph))
    a, b = ids.index("a"), ids.index("b")
    arc = rows.arc_offsets[a] + np.searchsorted(rows.arc_targets[rows.arc_offsets[a] : rows.arc_offsets[a + 1]], b)
    group = slice(rows.by_arc.offsets[arc], rows.by_arc.offsets[arc + 1])
    assert rows.by_arc.rows[group].tolist() == [3, 0]
    assert rows.by_arc.times[group].tolist() == [10, 30]


def test_nothing_is_read_of_a_graph_that_is_asked_no_condition(monkeypatch):
    monkeypatch.setattr("cusubmatch.frames.typed_columns.typed_column", None)
    graph = payments("pandas", time=None)
    assert not any(graph.cache.values(kind) for kind in ("edge columns", "edge rows", "row ends", "arcs of rows"))


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_the_stored_arc_of_each_row_is_found(directed, labelled):
    graph = payments("pandas", directed=directed, edge_label="kind" if labelled else None)
    sources = np.repeat(np.arange(graph.n_vertices), np.diff(graph.offsets))
    ids, kinds = np.array(values(id_column(graph))), ["x", "y", "x", "y", "x"]
    ends = [("a", "b"), ("b", "c"), ("c", "a"), ("a", "b"), ("c", "c")]
    found = arcs_of_rows(graph)
    assert len(found) == (1 if directed else 2)
    for turned, positions in enumerate(found):
        assert positions[4] == -1
        for row in range(4):
            pair = ids[sources[positions[row]]], ids[graph.targets[positions[row]]]
            assert pair == (ends[row][::-1] if turned else ends[row])
            if labelled:
                assert graph.edge_label_values[graph._edge_labels[positions[row]]] == kinds[row]


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(-2, 2)), max_size=20),
    st.booleans(),
    st.booleans(),
)
def test_rows_are_indexed_by_either_end_and_by_arc_in_order_of_time_and_row(table, directed, timed):
    columns = np.array(table, np.int64).reshape(-1, 3)
    source, target = columns[:, 0].astype(np.int32), columns[:, 1].astype(np.int32)
    times = columns[:, 2].copy() if timed else None
    found = edge_rows(5, source, target, times, directed=directed)
    one_way = [(a, b, t if timed else 0, row) for row, (a, b, t) in enumerate(table) if a != b]
    both_ways = one_way if directed else one_way + [(b, a, t, row) for a, b, t, row in one_way]
    arcs = sorted({(a, b) for a, b, *_ in both_ways})
    assert [(a, b) for a in range(5) for b in found.arc_targets[slice(*found.arc_offsets[a : a + 2])]] == arcs

    def check(index, group, wanted):
        wanted = sorted(wanted)
        part = slice(*index.offsets[group : group + 2])
        assert index.rows[part].tolist() == [row for _, row, _ in wanted]
        assert index.neighbours is None or index.neighbours[part].tolist() == [other for *_, other in wanted]
        assert index.times is None if not timed else index.times[part].tolist() == [t for t, *_ in wanted]

    for vertex in range(5):
        check(found.by_source, vertex, [(t, row, b) for a, b, t, row in both_ways if a == vertex])
        check(found.by_target, vertex, [(t, row, a) for a, b, t, row in both_ways if b == vertex])
    for arc, pair in enumerate(arcs):
        check(found.by_arc, arc, [(t, row, 0) for a, b, t, row in both_ways if (a, b) == pair])


def test_an_edited_table_is_found_out_when_a_column_is_asked_for():
    edges = pd.DataFrame({"src": [1, 2], "dst": [2, 3], "amount": [5, 6]})
    graph = Graph.from_edgelist(edges)
    edges.loc[2] = [3, 4, 7]
    with refuses(GraphError, ["2 rows", "3 now", "make the graph again"]):
        edge_column(graph, "amount")


TIME_REFUSALS = {
    "null": ([1, None], "1 values null"),
    "floats": ([1.5, 2.5], "floats"),
    "text": (["x", "y"], "string"),
}


@pytest.mark.parametrize("name", HOST_NAMES)
@pytest.mark.parametrize("case", TIME_REFUSALS)
def test_times_are_integers_or_dates_without_nulls(name, case):
    column, words = TIME_REFUSALS[case]
    at = pd.Series(column, dtype="Int64") if (case, name) == ("null", "pandas") else None
    edges = frame(name, src=[1, 2], dst=[2, 3], at=column)
    if at is not None:
        edges["at"] = at
    with refuses(GraphError, f"time at {words}"):
        Graph.from_edgelist(edges, time="at")
    with refuses(GraphError, "time when"):
        Graph.from_edgelist(edges, time="when")


def test_networkx_attributes_are_columns():
    nx = pytest.importorskip("networkx")
    source = nx.MultiDiGraph()
    source.add_node("a", age=3)
    source.add_edge("a", "b", amount=5)
    source.add_edge("a", "b", amount=6, note="x")
    graph = Graph.from_networkx(source)
    assert values(edge_column(graph, "amount")) == [5, 6]
    assert values(edge_column(graph, "note")) == [None, "x"]
    assert by_id(graph, vertex_column(graph, "age")) == {"a": 3, "b": None}


def test_a_matrix_has_no_table_and_arrays_have_rows():
    sparse = pytest.importorskip("scipy.sparse")
    with refuses(GraphError, "table"):
        edge_columns(Graph.from_edgelist(sparse.eye(3)))
    rows = rows_by_end(Graph.from_edgelist(np.array([[0, 1], [1, 2], [0, 1]]), directed=True))
    assert np.diff(rows.by_arc.offsets).tolist() in ([2, 1], [1, 2])


def test_a_column_that_arrow_cannot_hold_is_left_out_of_a_saved_graph_and_the_error_says_so(tmp_path):
    edges = pd.DataFrame({"src": [1, 2], "dst": [2, 3], "note": [{1}, "x"], "amount": [5, 6]})
    Graph.from_edgelist(edges).save(tmp_path / "graph")
    graph = Graph.load(tmp_path / "graph")
    assert values(edge_column(graph, "amount")) == [5, 6]
    with refuses(GraphError, ["note", "Arrow"]):
        edge_column(graph, "note")


def test_ids_are_looked_up_and_unknown_ones_are_none():
    graph = payments("pandas")
    found = vertices_of_ids(graph, pd.Series(["c", "z", "a"]))
    assert found[1] == -1
    assert [values(id_column(graph))[vertex] for vertex in found[[0, 2]]] == ["c", "a"]
    with refuses(GraphError, "ids"):
        vertices_of_ids(graph, pd.Series([{1}]))


DAY = 86_400 * 10**9
COLUMNS = {
    "integers": (pd.Series([3, -1], dtype="int16"), "integer", [3, -1]),
    "nullable integers": (pd.Series([3, None], dtype="Int32"), "integer", [3, None]),
    "uint64": (pd.Series([3, 4], dtype="uint64"), "integer", [3, 4]),
    "floats with NaN": (pd.Series([1.5, np.nan]), "float", [1.5, None]),
    "float32": (pd.Series([0.5, 1.5], dtype="float32"), "float", [0.5, 1.5]),
    "booleans": (pd.Series([True, None], dtype="boolean"), "boolean", [1, None]),
    "objects without values": (pd.Series([None, None], dtype=object), "null", [None, None]),
    "text": (pd.Series(["ü", "a", None, "b"]), "text", ["ü", "a", None, "b"]),
    "categories": (pd.Series(["b", None, "a"], dtype="category"), "text", ["b", None, "a"]),
    "categories of integers": (pd.Series([7, 3, 7], dtype="category"), "integer", [7, 3, 7]),
    "time stamps": (pd.Series(pd.to_datetime(["1970-01-02", None])), "time", [DAY, None]),
    "time zones": (pd.Series(pd.to_datetime(["1970-01-02T01:00+01:00"])), "time", [DAY]),
    "dates": (pd.Series([dt.date(1970, 1, 3), None], dtype=object), "time", [2 * DAY, None]),
    "durations": (pd.Series([dt.timedelta(days=-1)]), "duration", [-DAY]),
    "decimals": (pd.Series([decimal.Decimal("1.50"), None, decimal.Decimal("-0.25")]), "decimal", [150, None, -25]),
    "Arrow decimals": (pd.Series([decimal.Decimal(7)], dtype=pd.ArrowDtype(pa.decimal128(9, 3))), "decimal", [7000]),
}


@pytest.mark.parametrize("name", HOST_NAMES)
@pytest.mark.parametrize("case", COLUMNS)
def test_columns_become_typed_arrays(case, name):
    column, kind, wanted = COLUMNS[case]
    family = family_named(name)
    if name != "pandas":
        array = pa.Array.from_pandas(column)
        table = pa.table({"x": pa.chunked_array([array[:1], array[1:]])})
        column = family.column(family.from_arrow(table), "x")
    typed = typed_column(family, column)
    assert typed.kind == kind
    assert values(typed) == wanted
    assert typed.values.dtype == (np.float64 if kind == "float" else np.int64)
    assert list(typed.texts) == sorted(typed.texts)


@pytest.mark.parametrize(
    "column",
    [pd.Series([[1], [2]]), pd.Series([1, "x"]), pd.Series([2**63], dtype="uint64"), pd.Series([1j])],
    ids=["lists", "mixed", "beyond int64", "complex"],
)
def test_columns_that_cannot_be_compared_are_refused(column):
    with pytest.raises((TypeError, ValueError)):
        typed_column(family_named("pandas"), column)
