"""Counts and rows from a cluster of processes are those of the plain package."""

import json

import dask.dataframe
import numpy as np
import pandas as pd
import pytest
from test_faults import one_killed_every, queries_that
from tiers import thorough

import cusubmatch as csm
import cusubmatch.dask as dcsm
from cusubmatch.dask import counts
from cusubmatch.generators import rmat

TEXTS = {
    "vertex": "(a)",
    "triangle": "(a)--(b)--(c)--(a)",
    "square": "(a)--(b)--(c)--(d)--(a)",
    "house": "(a)--(b)--(c)--(d)--(a)--(e)--(b)",
    "gem": "(a)--(b)--(c)--(d), (e)--(a), (e)--(b), (e)--(c), (e)--(d)",
    "star": "(a)--(b), (a)--(c), (a)--(d)",
}
SEMANTICS = ("monomorphism", "induced", "homomorphism")


@pytest.fixture(scope="module")
def edges():
    return rmat(7, 6, seed=3)


@pytest.fixture(scope="module")
def plain(edges):
    return csm.Graph.from_edgelist(edges)


@pytest.fixture(scope="module")
def graph(edges, client):
    return dcsm.Graph.from_edgelist(edges, client=client)


@pytest.fixture(scope="module")
def labelled_tables():
    kinds = pd.DataFrame({"src": [1, 2, 3, 3, 1, 4, 5], "dst": [2, 3, 1, 4, 4, 5, 1], "kind": list("XYXXYXX")})
    people = pd.DataFrame({"id": [1, 2, 3, 4, 5, 6], "role": ["A", "A", "B", "B", None, None]})
    return kinds, people


LABELS = {"directed": True, "edge_label": "kind", "vertex": "id", "vertex_label": "role"}


def rows_of(frame):
    return sorted(map(tuple, frame.to_numpy().tolist()))


def canonical(frame):
    """Rows of a pattern whose vertices are all interchangeable."""
    return sorted(tuple(sorted(row)) for row in frame.to_numpy().tolist())


@pytest.mark.parametrize("semantics", [SEMANTICS[0], *thorough(*SEMANTICS[1:])])
def test_counts_of_a_query_set_are_those_of_the_plain_package(plain, graph, client, semantics):
    answers = dcsm.count_many(graph, TEXTS, semantics=semantics, client=client)
    expected = csm.count_many(plain, TEXTS, semantics=semantics)
    assert answers["query"].tolist() == list(TEXTS)
    assert answers["count"].tolist() == expected["count"].tolist()
    assert set(answers["status"]) == {"done"}
    assert answers["attempts"].tolist() == [1] * len(TEXTS)
    assert set(answers["worker"]) <= set(client.nthreads())


@pytest.mark.parametrize("semantics", SEMANTICS)
@pytest.mark.parametrize(
    "name", ["square", "house", *thorough(*(name for name in TEXTS if name not in ("square", "house")))]
)
def test_a_count_that_the_workers_share_is_that_of_the_plain_package(
    plain, graph, client, name, semantics, monkeypatch
):
    monkeypatch.setattr(counts, "SHARED_FROM_S", 0.0)
    reports = []
    found = dcsm.count_matches(
        graph, TEXTS[name], semantics=semantics, client=client, progress=lambda *report: reports.append(report)
    )
    assert found == csm.count_matches(plain, TEXTS[name], semantics=semantics)
    assert reports[-1] == (1.0, found)


@pytest.mark.parametrize("name", ["square", *thorough("triangle", "vertex", "house", "gem", "star")])
@pytest.mark.parametrize("parts", [5, *thorough(None)])
def test_rows_in_partitions_are_those_of_the_plain_package(plain, graph, client, name, parts):
    frame = dcsm.subgraph_match(graph, TEXTS[name], unique=False, npartitions=parts, client=client)
    expected = csm.subgraph_match(plain, TEXTS[name], unique=False)
    assert frame.columns.tolist() == expected.columns.tolist()
    assert frame.npartitions == (5 if parts else 1)
    computed = frame.compute()
    assert computed.dtypes.tolist() == expected.dtypes.tolist() == frame.dtypes.tolist()
    assert rows_of(computed) == rows_of(expected)


def test_a_limit_and_an_absent_pattern_give_as_many_rows_as_there_are(graph, client):
    assert len(dcsm.subgraph_match(graph, TEXTS["square"], limit=7, client=client)) == 7
    assert len(dcsm.subgraph_match(graph, csm.Pattern.clique(20), client=client)) == 0


@pytest.fixture(scope="module")
def labelled(labelled_tables):
    return csm.Graph.from_edgelist(labelled_tables[0], vertices=labelled_tables[1], **LABELS)


LABELLED = {"one": "(a:A)-[:X]->(b)-->(c:B)", "ring": "(a)-[:X]->(b)-[:Y]->(c)-[:X]->(a)", "none": "(a:B)-->(b:A)"}


PAYMENTS = {"directed": True, "time": "time", "vertex": "id", "vertex_label": ["role", "land"]}
CONDITIONED = {
    "each": ("(a)-[p]->(b)-[q]->(c) WHERE p.time < q.time AND q.cents >= $least * p.cents", {"edges": "each"}),
    "any": ("(a)-[p]->(b)-[q]->(c)-[r]->(a) WHERE p.time < q.time AND q.time < r.time", {"edges": "any"}),
    "mask": ("(a:DE)-[p]->(b {risk: 1}) WHERE p.cents > 100 * $least", {"candidates": {"a": list(range(20))}}),
    "touching": ("(a)-[p]->(b)-[q]->(c) WHERE p.time < q.time", {"touching": [1, 2, 99], "edges": "each"}),
    "optional": ("(a)-[p]->(b:A) OPTIONAL (b)-[q]->(c) WHERE q.cents > 50", {"edges": "each"}),
    "exists": ("(a)-->(b)-->(c) WHERE NOT EXISTS { (a)-->(c) } AND EXISTS { (b)-->(:A) }", {}),
    "lengths": ("(a:A)-->{1,2}(b)", {}),
    "touched": ("(a)--(b)--(c)", {"touching": [1, 2, 99]}),
    "many": ("(a)--{1,2}(b) WHERE EXISTS { (a)-[p]->() WHERE p.cents > 20 }", {"touching": list(range(20))}),
}


@pytest.fixture(scope="module")
def payment_tables():
    random = np.random.default_rng(5)
    ends, cells = random.integers(0, 30, (2, 150)), random.integers(0, 100, (2, 150))
    payments = pd.DataFrame({"src": ends[0], "dst": ends[1], "time": cells[0], "cents": cells[1], "note": "x"})
    people = {"id": range(30), "role": ["A", "B", None] * 10, "land": ["DE", "FR"] * 15, "risk": [0, 1] * 15}
    return payments, pd.DataFrame(people)


@pytest.fixture(scope="module", params=["dask", *thorough("parquet", "plain", "carried")])
def conditioned(request, payment_tables, client, tmp_path_factory):
    """A graph with columns on the cluster, and the same one here."""
    payments, people = payment_tables
    here = csm.Graph.from_edgelist(payments, vertices=people, **PAYMENTS)
    if request.param == "dask":
        tables = dask.dataframe.from_pandas(payments, 3, sort=False), dask.dataframe.from_pandas(people, 2)
        return dcsm.Graph.from_edgelist(tables[0], vertices=tables[1], client=client, **PAYMENTS), here
    if request.param == "parquet":
        folder = tmp_path_factory.mktemp("tables")
        payments.to_parquet(folder / "edges.parquet")
        people.to_parquet(folder / "people.parquet")
        names = folder / "edges.parquet", folder / "people.parquet"
        return dcsm.Graph.from_parquet(names[0], vertices=names[1], client=client, **PAYMENTS), here
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "carried":
            patch.setattr("cusubmatch.dask.cluster_graph.shared_folder", lambda _client: None)
        return dcsm.Graph.from_edgelist(payments, vertices=people, client=client, **PAYMENTS), here


def with_nulls_last(frame):
    return sorted(tuple(1e9 if pd.isna(cell) else cell for cell in row) for row in frame.to_numpy().tolist())


@pytest.mark.filterwarnings("ignore::cusubmatch.AbsentIdWarning")
@pytest.mark.parametrize("name", [*list(CONDITIONED)[:4], *thorough(*list(CONDITIONED)[4:])])
def test_conditions_are_answered_on_a_cluster_as_here(conditioned, client, tmp_path, name, monkeypatch):
    monkeypatch.setattr(counts, "SHARED_FROM_S", 0.0)
    graph, here = conditioned
    text, options = CONDITIONED[name]
    options = options | ({"params": {"least": 0.5}} if "$least" in text else {})
    count = csm.count_matches(here, text, **options)
    assert count > 0
    assert dcsm.count_matches(graph, text, client=client, **options) == count
    if "touching" not in options and "candidates" not in options:
        assert dcsm.count_many(graph, {"one": text}, client=client, **options)["count"].tolist() == [count]
    expected = csm.subgraph_match(here, text, **options)
    found = dcsm.subgraph_match(graph, text, npartitions=3, client=client, **options)
    assert found.columns.tolist() == expected.columns.tolist()
    assert found.npartitions == (1 if name in ("optional", "exists") else 3)
    assert with_nulls_last(found.compute()) == with_nulls_last(expected)
    assert dcsm.write_matches(graph, text, tmp_path / "rows", npartitions=2, client=client, **options) == count
    assert with_nulls_last(pd.read_parquet(tmp_path / "rows")) == with_nulls_last(expected)


def test_a_query_set_shares_parameters_and_names_its_edges(conditioned, client, tmp_path):
    graph, here = conditioned
    queries = {name: CONDITIONED[name][0] for name in ("each", "any", "optional")}
    options = {"params": {"least": 0.5}, "edges": "each", "edge_id": "cents"}
    table = dcsm.match_many(graph, queries, tmp_path / "job", client=client, **options)
    for query, row in zip(queries.values(), table.itertuples(), strict=True):
        own = options if "$least" in query else options | {"params": None}
        written = pd.read_parquet(tmp_path / "job" / row.file)
        assert with_nulls_last(written) == with_nulls_last(csm.subgraph_match(here, query, **own))
    again = {"client": client, "resume": True, **options}
    assert dcsm.match_many(graph, queries, tmp_path / "job", **again)["count"].tolist() == table["count"].tolist()
    with pytest.raises(ValueError, match="differs in conditions"):
        dcsm.match_many(graph, queries, tmp_path / "job", **again | {"params": {"least": 0.6}})
    with pytest.raises(csm.PatternError, match="params: 'most' is in none of the patterns"):
        dcsm.count_many(graph, queries, client=client, params={"least": 1, "most": 2})
    with pytest.warns(csm.AbsentIdWarning, match="touching: 1 of 2 ids are not in the graph"):
        dcsm.count_matches(graph, "(a)-->(b)", touching=[1, 99], client=client)
    with pytest.raises(csm.PatternError, match=r"asks for \$least"):
        dcsm.count_matches(graph, queries["each"], client=client)


@pytest.mark.parametrize("made", ["plain", "dask", "parquet", "saved", "carried"])
def test_a_graph_with_labels_is_the_same_however_it_reaches_the_workers(
    labelled_tables, labelled, client, tmp_path, made, monkeypatch
):
    kinds, people = labelled_tables
    if made == "plain":
        graph = dcsm.Graph.from_edgelist(kinds, vertices=people, client=client, **LABELS)
    elif made == "dask":
        partitions = dask.dataframe.from_pandas(kinds, 3), dask.dataframe.from_pandas(people, 2)
        graph = dcsm.Graph.from_edgelist(partitions[0], vertices=partitions[1], client=client, **LABELS)
    elif made == "parquet":
        kinds.to_parquet(tmp_path / "edges.parquet")
        people.to_parquet(tmp_path / "people.parquet")
        graph = dcsm.Graph.from_parquet(
            tmp_path / "edges.parquet", vertices=tmp_path / "people.parquet", client=client, **LABELS
        )
    elif made == "saved":
        labelled.save(tmp_path / "graph")
        graph = dcsm.Graph.load(tmp_path / "graph", client=client)
    else:
        monkeypatch.setattr("cusubmatch.dask.cluster_graph.shared_folder", lambda _client: None)
        graph = dcsm.Graph.from_edgelist(kinds, vertices=people, client=client, **LABELS)
    answers = dcsm.count_many(graph, LABELLED, client=client)
    assert answers["count"].tolist() == csm.count_many(labelled, LABELLED)["count"].tolist()
    rows = dcsm.subgraph_match(graph, LABELLED["one"], client=client).compute()
    assert rows_of(rows) == rows_of(csm.subgraph_match(labelled, LABELLED["one"]))


def test_text_ids_come_back_as_text(client):
    edges = pd.DataFrame({"src": ["x", "y", "z"], "dst": ["y", "z", "x"]})
    graph = dcsm.Graph.from_edgelist(edges, client=client)
    rows = dcsm.subgraph_match(graph, TEXTS["triangle"], client=client).compute()
    assert canonical(rows) == [("x", "y", "z")]


def test_a_query_that_cannot_be_read_is_an_error_with_its_position_and_the_rest_runs(graph, client):
    queries = pd.DataFrame({"query": ["good", "bad"], "pattern": [TEXTS["triangle"], "(a)--("]})
    answers = dcsm.count_many(graph, queries, client=client)
    assert answers["status"].tolist() == ["done", "error"]
    assert answers["reason"].tolist() == ["", "the pattern ends too early (at character 7)"]
    assert answers["count"].isna().tolist() == [False, True]
    assert answers["attempts"].tolist() == [1, 0]


def test_a_query_past_its_time_or_its_memory_is_reported_and_the_rest_is_answered(client):
    graph = dcsm.Graph.from_edgelist(rmat(10, 16, seed=3), client=client)
    long = {"long": csm.Pattern.cycle(9), "short": TEXTS["triangle"]}
    answers = dcsm.count_many(graph, long, semantics="induced", time_limit=0.3, client=client)
    assert answers["status"].tolist() == ["time limit", "done"]
    assert "not finished within 0.3 s" in answers["reason"][0]
    workers = client.nthreads()
    answers = dcsm.count_many(graph, long, semantics="induced", memory_limit=1, time_limit=20, client=client)
    assert answers["status"][0] == "out of memory"
    assert "of the 1 that it may take" in answers["reason"][0]
    assert client.nthreads() == workers
    with pytest.raises(csm.TimeLimitExceeded, match=r"not finished within 0\.2 s"):
        dcsm.count_matches(graph, csm.Pattern.cycle(9), semantics="induced", time_limit=0.2, client=client)


def test_labels_that_occur_nowhere_warn_once_at_the_client(labelled_tables, client):
    kinds, people = labelled_tables
    graph = dcsm.Graph.from_edgelist(kinds, vertices=people, client=client, **LABELS)
    with pytest.warns(csm.AbsentLabelWarning, match="no vertex label 'C'"):
        assert dcsm.count_matches(graph, "(a:C)-->(b)", client=client) == 0
    with pytest.warns(csm.AbsentLabelWarning, match=r"queries\['\(a:C\)-->\(b\)'\]"):
        dcsm.count_many(graph, ["(a:C)-->(b)"], client=client)


def test_parts_on_disk_are_the_rows_and_the_manifest_says_how_many(plain, graph, client, tmp_path):
    rows = dcsm.write_matches(graph, TEXTS["square"], tmp_path / "squares", npartitions=4, client=client)
    assert rows == csm.count_matches(plain, TEXTS["square"])
    there = sorted(path.name for path in (tmp_path / "squares").iterdir())
    assert there == ["_manifest.json", *(f"part-{number:05d}.parquet" for number in range(4))]
    assert [path.name for path in tmp_path.iterdir()] == ["squares"]
    assert len(pd.read_parquet(tmp_path / "squares")) == rows
    manifest = json.loads((tmp_path / "squares" / "_manifest.json").read_text())
    assert manifest["rows"] == rows == sum(part["rows"] for part in manifest["parts"])
    assert dcsm.write_matches(graph, TEXTS["square"], tmp_path / "squares", resume=True, client=client) == rows
    with pytest.raises(ValueError, match="not empty"):
        dcsm.write_matches(graph, TEXTS["square"], tmp_path / "squares", client=client)
    with pytest.raises(ValueError, match="differs in pattern"):
        dcsm.write_matches(graph, TEXTS["triangle"], tmp_path / "squares", resume=True, client=client)


def test_a_query_set_is_written_to_a_file_a_query(plain, graph, client, tmp_path):
    queries = {"triangles": TEXTS["triangle"], "bad": "(a", "squares": TEXTS["square"]}
    table = dcsm.match_many(graph, queries, tmp_path / "job", client=client)
    assert table["status"].tolist() == ["done", "error", "done"]
    assert table["file"].tolist() == ["matches-00000.parquet", "", "matches-00002.parquet"]
    for text, row in zip(queries.values(), table.itertuples(), strict=True):
        if row.status == "done":
            rows = pd.read_parquet(tmp_path / "job" / row.file)
            assert len(rows) == row.count == csm.count_matches(plain, text)
    assert pd.read_parquet(tmp_path / "job" / "results.parquet")["file"].tolist() == table["file"].tolist()


@pytest.mark.thorough
def test_a_worker_that_is_killed_costs_the_queries_that_it_ran(plain, graph, client):
    patterns = {str(number): csm.Pattern.path(2 + number % 3) for number in range(40)}
    with queries_that(client, seconds=0.03), one_killed_every(client, 30.0, first=0.3) as killed:
        answers = dcsm.count_many(graph, patterns, client=client)
    assert killed
    assert answers["count"].tolist() == [csm.count_matches(plain, pattern) for pattern in patterns.values()]
    assert set(answers["status"]) == {"done"}
    assert answers["attempts"].max() == 2
    # Lost are the queries that it ran, and those whose answers lay there still: no more than it has time for in 0.3 s.
    assert answers["attempts"].sum() <= 40 + 10
