"""A prepared graph in a folder: written whole or not at all, opened by mapping its files, refused when damaged."""

from __future__ import annotations

import errno
import json
import os
import pickle
import shutil

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from frame_cases import CASES, HOST_NAMES, NAMES, case_of, dtype_of, frame, host, plain
from refusal import refuses
from test_graph_object import PATHS, assert_same, labelled

import cusubmatch as csm
from cusubmatch import Graph, GraphError
from cusubmatch.frames import family_named

GRAPH = Graph.from_edgelist(pd.DataFrame({"src": [0, 0, 1, 2, 2], "dst": [1, 2, 2, 3, 2]}))
TRIANGLE = "(a)--(b)--(c)--(a)"


@pytest.fixture
def folder(tmp_path):
    """A saved graph."""
    GRAPH.save(tmp_path / "graph")
    return tmp_path / "graph"


@pytest.mark.parametrize("ids", [(11, 12, 13, 14), ("u", "v", "w", "x")], ids=["integers", "strings"])
@pytest.mark.parametrize("name", NAMES)
def test_a_graph_is_saved_and_loaded(tmp_path, name, ids):
    graph = labelled(name, ids)
    csm.count_matches(graph, PATHS)
    graph.save(tmp_path / "graph")
    loaded = Graph.load(str(tmp_path / "graph"))
    assert_same(graph, loaded)
    assert_same(graph, pickle.loads(pickle.dumps(loaded)))
    for text in ("(a:Bank)--(b:Shop)", "(a)-[:x|owes]-(b)", "(a)-->(b)-->(c)-->(a)"):
        assert csm.count_matches(loaded, text) == csm.count_matches(graph, text)


@pytest.mark.parametrize(("name", "case"), CASES)
def test_ids_of_every_kind_come_back_in_their_dtype(tmp_path, name, case):
    if case in ("integers as objects", "tuples", "mixed objects", "surrogates as objects"):
        pytest.skip("Arrow has no such type")
    source, destination, *_ = case_of(name, case)[0]
    family, size = family_named(name), min(len(source), len(destination))
    edges = family.frame({"src": source[:size], "dst": destination[:size]})
    graph = Graph.from_edgelist(edges, directed=True)
    graph.save(tmp_path / "graph")
    places = graph.xp.arange(graph.n_vertices)
    ids, back = (some.to_ids(places) for some in (graph, Graph.load(tmp_path / "graph")))
    assert plain(back) == plain(ids)
    assert [type(value) for value in plain(back)] == [type(value) for value in plain(ids)]
    assert dtype_of(back) == dtype_of(ids) or str(dtype_of(back)) == str(dtype_of(ids)) in ("string", "category")


def test_polars_ids_come_back_in_their_dtype(tmp_path):
    pl = pytest.importorskip("polars")
    for number, dtype in enumerate([pl.UInt16, pl.String, pl.Categorical, pl.Enum(["x", "y"]), pl.Date]):
        text = dtype in (pl.String, pl.Categorical, pl.Enum)
        values = pl.Series(["x", "y"] if text else [3, 7], dtype=dtype)
        graph = Graph.from_edgelist(pl.DataFrame({"src": values, "dst": values.reverse()}))
        graph.save(tmp_path / str(number))
        found = csm.subgraph_match(Graph.load(tmp_path / str(number)), "(a)--(b)", sort=True)
        assert found["a"].dtype == dtype
        assert found.equals(csm.subgraph_match(graph, "(a)--(b)", sort=True))


@pytest.mark.parametrize("saved", HOST_NAMES)
@pytest.mark.parametrize("wanted", HOST_NAMES)
def test_the_library_of_the_results_can_be_chosen(tmp_path, saved, wanted):
    labelled(saved, ("u", "v", "w", "x")).save(tmp_path / "graph")
    graph = Graph.load(tmp_path / "graph", family=wanted)
    assert graph.family is family_named(wanted)
    found = csm.subgraph_match(graph, PATHS)
    assert type(found) is type(frame(wanted, a=[1]))
    assert set(plain(graph.family.column(found, "a"))) <= set("uvwx")


@pytest.mark.parametrize(("name", "instead"), [("cudf", "pandas"), ("polars", "arrow")])
def test_a_library_that_is_not_here_is_replaced_unless_it_was_asked_for(folder, monkeypatch, name, instead):
    monkeypatch.setattr("cusubmatch.graph.stored_graph.is_usable", lambda family: family != name)
    facts = json.loads((folder / "graph.json").read_text())
    (folder / "graph.json").write_text(json.dumps(facts | {"family": name}))
    assert Graph.load(folder).family.name == instead
    with refuses(ValueError, ["family", name, "pandas"]):
        Graph.load(folder, family=name)


@pytest.mark.gpu
def test_a_graph_saved_on_a_gpu_is_loaded_on_it_or_on_the_host(tmp_path):
    cudf, cupy = pytest.importorskip("cudf"), pytest.importorskip("cupy")
    graph = labelled("cudf", ("u", "v", "w", "x"))
    graph.save(tmp_path / "graph")
    loaded, on_host = Graph.load(tmp_path / "graph"), Graph.load(tmp_path / "graph", family="pandas")
    assert isinstance(loaded.targets, cupy.ndarray)
    assert isinstance(csm.subgraph_match(loaded, PATHS), cudf.DataFrame)
    assert isinstance(on_host.targets, np.ndarray)
    assert isinstance(csm.subgraph_match(on_host, PATHS), pd.DataFrame)
    labelled("pandas").save(tmp_path / "host")
    moved = Graph.load(tmp_path / "host", family="cudf")
    assert np.array_equal(host(moved.targets), labelled("pandas").targets)
    assert csm.count_matches(moved, PATHS) == csm.count_matches(labelled("pandas"), PATHS)


def test_arrays_are_mapped_from_the_files_and_may_be_read_by_compiled_code(folder):
    loaded = Graph.load(folder)
    assert not loaded.targets.flags.owndata
    assert loaded.targets.flags.writeable  # a read-only array would be another type to Numba: kernels compile again
    assert loaded.targets.flags.aligned
    loaded.targets[:] = 0  # changes nothing on the disk
    assert csm.count_matches(Graph.load(folder), TRIANGLE) == 1


def test_a_graph_without_edges_or_vertices_is_saved(tmp_path):
    for size in (0, 3):
        graph = Graph.from_edgelist(
            frame("arrow", src=pa.array([], pa.int64()), dst=pa.array([], pa.int64())),
            vertices=frame("arrow", vertex=pa.array(range(size), pa.int64()), kind=pa.array(["A"] * size, pa.string())),
            vertex_label="kind",
        )
        graph.save(tmp_path / str(size))
        loaded = Graph.load(tmp_path / str(size))
        assert (loaded.n_vertices, loaded.n_edges) == (size, 0)
        assert csm.count_matches(loaded, "(a)") == size


def test_every_table_is_an_arrow_file_that_others_can_read(tmp_path):
    labelled("pandas").save(tmp_path / "graph")
    assert sorted(path.name for path in (tmp_path / "graph").iterdir()) == [
        "edge_labels.arrow",
        "edge_table.arrow",
        "edges.arrow",
        "graph.json",
        "offsets.arrow",
        "vertex_labels.arrow",
        "vertex_table.arrow",
        "vertices.arrow",
    ]
    with pa.memory_map(str(tmp_path / "graph" / "vertices.arrow")) as file:
        assert sorted(pa.ipc.open_file(file).read_all()["id"].to_pylist()) == [11, 12, 13, 14]


def test_what_a_later_release_adds_without_changing_the_version_is_passed_over(folder):
    facts = json.loads((folder / "graph.json").read_text())
    facts["tables"]["edge_columns"] = 5
    (folder / "graph.json").write_text(json.dumps(facts | {"time": "when"}))
    assert csm.count_matches(Graph.load(folder), TRIANGLE) == 1


def test_ids_and_labels_that_arrow_cannot_hold_are_refused_before_anything_is_written(tmp_path):
    mixed, pairs = nx.Graph([("a", (1, 2))]), nx.Graph([((0, 1), (1, 2))])
    nx.set_node_attributes(mixed, {"a": ("x",), (1, 2): "x"}, "role")
    with refuses(GraphError, "ids numbers or text"):
        Graph.from_networkx(mixed).save(tmp_path / "graph")
    with refuses(GraphError, "ids numbers or text"):
        Graph.from_networkx(pairs).save(tmp_path / "graph")
    with refuses(GraphError, "vertex labels ('x',) text"):
        Graph.from_networkx(nx.relabel_nodes(mixed, {"a": 1, (1, 2): 2}), vertex_label="role").save(tmp_path / "graph")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_use_is_not_replaced(tmp_path, folder):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with refuses(ValueError, "folder graph not empty"):
        GRAPH.save(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    (tmp_path / "empty").mkdir()
    GRAPH.save(tmp_path / "empty")
    (tmp_path / "file.v2").write_text("")
    with refuses(ValueError, "folder file.v2 no folder"):
        GRAPH.save(tmp_path / "file.v2")
    with refuses(ValueError, "folder nowhere existing writable"):
        GRAPH.save(tmp_path / "nowhere" / "graph")
    with refuses(TypeError, "folder str int"):
        GRAPH.save(5)


@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace", "pyarrow.ipc.new_file"])
def test_a_disk_that_fails_leaves_nothing_and_says_so(tmp_path, monkeypatch, step):
    def fail(*arguments, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(step, fail)
        with pytest.raises(
            OSError, match=r"folder: .*graph' could not be written: No space .*nothing was kept"
        ) as caught:
            GRAPH.save(tmp_path / "graph")
    assert caught.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []


def test_a_writer_that_was_killed_leaves_nothing_for_long(tmp_path):
    left = tmp_path / f".graph.{2**22 + 5}.0.partial"
    left.mkdir()
    GRAPH.save(tmp_path / "graph")
    assert [path.name for path in tmp_path.iterdir()] == ["graph"]


def test_a_folder_that_is_no_graph(tmp_path):
    with refuses(FileNotFoundError, "folder no folder nowhere"):
        Graph.load(tmp_path / "nowhere")
    (tmp_path / "file").write_text("x")
    with refuses(GraphError, "folder file Graph.save"):
        Graph.load(tmp_path / "file")
    with refuses(TypeError, "folder str int"):
        Graph.load(5)
    for text in (None, "", "[]", "{}", '{"format": "other", "version": 1}', '{"format": "cusubmatch graph"}', "\xff{"):
        shutil.rmtree(tmp_path / "foreign", ignore_errors=True)
        (tmp_path / "foreign").mkdir()
        if text is not None:
            (tmp_path / "foreign" / "graph.json").write_text(text, encoding="latin-1")
        with refuses(GraphError, "folder foreign graph.json Graph.save"):
            Graph.load(tmp_path / "foreign")


def test_a_folder_of_a_newer_format_says_that_it_is_newer(folder):
    facts = json.loads((folder / "graph.json").read_text())
    (folder / "graph.json").write_text(json.dumps(facts | {"version": 3}))
    with refuses(GraphError, "folder version 3 newer 2 cusubmatch"):
        Graph.load(folder)


@pytest.mark.parametrize("name", ["vertices", "offsets", "edges"])
def test_a_folder_with_a_file_cut_short_exchanged_or_missing(tmp_path, folder, name):
    file = folder / f"{name}.arrow"
    whole = file.read_bytes()
    for kept in (0, 5, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:kept])
        with refuses(GraphError, ["folder", file.name, "damaged"]):
            Graph.load(folder)
    Graph.from_edgelist(csm.generators.rmat(4, 2)).save(tmp_path / "other")
    shutil.copy(tmp_path / "other" / file.name, file)
    with refuses(GraphError, ["folder", file.name, "damaged"]):
        Graph.load(folder)
    file.unlink()
    with refuses(GraphError, ["folder", file.name, "missing"]):
        Graph.load(folder)


def test_offsets_that_lead_out_of_the_targets_are_refused(folder):
    file = folder / "offsets.arrow"
    offsets = pa.ipc.open_file(file.read_bytes()).read_all()["offset"].to_numpy().copy()
    offsets[-1] += 100
    table = pa.table({"offset": offsets})
    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    with refuses(GraphError, "folder offsets.arrow damaged"):
        Graph.load(folder)


def test_an_unknown_library_is_refused(folder):
    with refuses(ValueError, "family 'dask' pandas polars arrow cudf"):
        Graph.load(folder, family="dask")
