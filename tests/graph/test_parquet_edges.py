"""A graph of Parquet files is built a row group at a time, and is that of the whole table, bit by bit."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import cusubmatch as csm
from cusubmatch.frames import family_named, numbering
from cusubmatch.graph import parquet_edges
from cusubmatch.graph.parquet_edges import graph_of_parquet

OPTIONS = {
    "source": None,
    "destination": None,
    "directed": False,
    "edge_label": None,
    "vertex": "vertex",
    "vertex_label": None,
    "time": None,
}
PANDAS = family_named("pandas")


def written(folder, edges, files=3):
    """Files of a few rows a row group each, and the table in the order of the files."""
    parts = [edges.iloc[part::files] for part in range(files)]
    for number, part in enumerate(parts):
        table = pa.Table.from_pandas(part, preserve_index=False)
        parquet.write_table(table, folder / f"part-{number}.parquet", row_group_size=17)
    return [str(path) for path in sorted(folder.glob("*.parquet"))], pd.concat(parts, ignore_index=True)


def edges_of(names):
    random = np.random.default_rng(4)
    ends = {end: names[random.integers(0, len(names), 300)] for end in ("src", "dst")}
    return pd.DataFrame(ends | {"day": random.integers(0, 50, 300), "cents": random.integers(0, 9, 300)})


def never_whole(monkeypatch):
    def fail(*_arguments):
        raise AssertionError("the table was read whole")

    monkeypatch.setattr(csm.Graph, "from_edgelist", fail)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("ids", ["dense", "hashed", "unsigned"])
def test_it_is_the_graph_of_the_whole_table(ids, directed, tmp_path, monkeypatch):
    monkeypatch.setattr(numbering, "STEP", 16)
    monkeypatch.setattr(numbering, "HOST_STEP", 16)
    names = np.arange(40) if ids == "dense" else np.arange(40) * 10**15
    paths, whole = written(tmp_path, edges_of(names.astype("uint64" if ids == "unsigned" else "int64")))
    vertices = pd.DataFrame({"vertex": names[:30].astype(whole["src"].dtype), "role": ["A", "B"] * 15})
    options = {"directed": directed, "vertex_label": "role", "time": "day"}
    expected = csm.Graph.from_edgelist(whole, vertices=vertices, **options)
    never_whole(monkeypatch)
    graph = graph_of_parquet(paths, PANDAS, vertices, OPTIONS | options)
    for name in ("offsets", "targets", "vertex_labels", "_ids"):
        made, wanted = getattr(graph, name), getattr(expected, name)
        np.testing.assert_array_equal(made, wanted)
        assert made.dtype == wanted.dtype
    assert (graph.dropped_self_loops, graph.dropped_repeats) == (
        expected.dropped_self_loops,
        expected.dropped_repeats,
    )
    text = "(a:A)-[p]-(b)-[q]-(c) WHERE p.day < q.day AND q.cents > p.cents"
    found, wanted = (csm.subgraph_match(g, text, edges="each", edge_id="cents", sort=True) for g in (graph, expected))
    pd.testing.assert_frame_equal(found, wanted)


@pytest.mark.parametrize("kind", ["text ids", "edge labels", "no statistics", "no rows"])
def test_other_files_are_read_whole(kind, tmp_path):
    edges = edges_of(np.arange(40))
    options = dict(OPTIONS)
    if kind == "text ids":
        edges = edges.astype({"src": str, "dst": str})
    if kind == "edge labels":
        options["edge_label"] = "cents"
    path = tmp_path / "edges.parquet"
    table = pa.Table.from_pandas(edges if kind != "no rows" else edges.iloc[:0])
    parquet.write_table(table, path, write_statistics=kind != "no statistics")
    assert parquet_edges._encoded([str(path)], PANDAS, None, **options) is None
    graph = graph_of_parquet([str(path)], PANDAS, None, options)
    expected = csm.Graph.from_edgelist(table.to_pandas(), **options)
    np.testing.assert_array_equal(graph.targets, expected.targets)


def test_null_ids_and_missing_columns_are_refused_as_in_a_dataframe(tmp_path):
    path = str(tmp_path / "edges.parquet")
    pd.DataFrame({"src": pd.array([1, None], "Int64"), "dst": [2, 3], "day": [1, 2]}).to_parquet(path)
    with pytest.raises(csm.GraphError, match="source: 1 ids are null"):
        graph_of_parquet([path], PANDAS, None, OPTIONS)
    with pytest.raises(csm.GraphError, match="no column 'from'"):
        graph_of_parquet([path], PANDAS, None, OPTIONS | {"source": "from", "destination": "dst"})
    pd.DataFrame({"src": [1], "dst": [2], "day": [0.5]}).to_parquet(path)
    with pytest.raises(csm.GraphError, match="time: column 'day' holds floats"):
        graph_of_parquet([path], PANDAS, None, OPTIONS | {"time": "day"})


def test_values_are_read_a_row_group_at_a_time(tmp_path, monkeypatch):
    paths, whole = written(tmp_path, edges_of(np.arange(40)))
    sizes, read = [], parquet.ParquetFile.read_row_group

    def noted(*arguments, **options):
        table = read(*arguments, **options)
        sizes.append((len(table), table.num_columns))
        return table

    monkeypatch.setattr(parquet.ParquetFile, "read_row_group", noted)
    graph = graph_of_parquet(paths, PANDAS, None, OPTIONS)
    assert set(sizes) <= {(17, 1), (100 % 17, 1)}
    assert sum(rows for rows, _ in sizes) == 4 * len(whole)  # of two columns, to find the ids and to number them
    assert csm.count_matches(graph, "(a)-[p]-(b) WHERE p.cents > 4") > 0


def test_columns_of_files_that_changed_are_refused(tmp_path):
    edges = edges_of(np.arange(40))
    paths, _ = written(tmp_path, edges)
    graph = graph_of_parquet(paths, PANDAS, None, OPTIONS)
    written(tmp_path, edges.assign(cents=edges["cents"] + 1_000_000))
    with pytest.raises(csm.GraphError, match=r"part-0.parquet' has changed since the graph"):
        csm.count_matches(graph, "(a)-[p]-(b) WHERE p.cents > 4")
