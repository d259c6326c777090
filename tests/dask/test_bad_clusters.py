"""What is wrong with a call on a cluster is told in one clear sentence, before any work."""

import dask.dataframe
import pandas as pd
import pytest
from distributed import Client, LocalCluster

import cusubmatch as csm
import cusubmatch.dask as dcsm
from cusubmatch.dask import clients

EDGES = pd.DataFrame({"src": [0, 0, 1, 2], "dst": [1, 2, 2, 3]})
TRIANGLE = "(a)--(b)--(c)--(a)"


@pytest.fixture(scope="module")
def graph(thread_client):
    return dcsm.Graph.from_edgelist(EDGES, client=thread_client)


def said(error):
    """The message, which is one sentence on one line."""
    text = str(error.value)
    assert "\n" not in text
    assert len(text) < 250
    return text


def test_a_worker_of_threads_answers_too(graph, thread_client):
    assert dcsm.count_matches(graph, TRIANGLE, client=thread_client) == 1


def test_without_a_client_the_message_says_how_to_make_one(graph, monkeypatch):
    def none():
        raise ValueError("No clients found")

    monkeypatch.setattr(clients, "default_client", none)
    for call in (
        lambda: dcsm.count_matches(graph, TRIANGLE),
        lambda: dcsm.count_many(graph, [TRIANGLE]),
        lambda: dcsm.subgraph_match(graph, TRIANGLE),
        lambda: dcsm.Graph.from_edgelist(EDGES),
    ):
        with pytest.raises(dcsm.ClusterError, match=r"client: there is no Dask client; make one") as error:
            call()
        said(error)
    with pytest.raises(TypeError, match=r"client: expected a dask\.distributed\.Client, got str"):
        dcsm.count_matches(graph, TRIANGLE, client="tcp://here:8786")


def test_a_cluster_without_workers_and_a_closed_client_are_refused(graph, monkeypatch):
    monkeypatch.setattr(clients, "SECONDS_FOR_WORKERS", 0.2)
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        with pytest.raises(dcsm.ClusterError, match="client: the cluster has no workers; start some") as error:
            dcsm.count_matches(graph, TRIANGLE, client=client)
        said(error)
    with pytest.raises(dcsm.ClusterError, match="client: it is closed"):
        dcsm.count_matches(graph, TRIANGLE, client=client)


def test_a_path_that_workers_cannot_see_is_refused(thread_client, tmp_path):
    with pytest.raises(dcsm.ClusterError, match=r"path: no worker can see '.*nowhere\.parquet'; name a path") as error:
        dcsm.Graph.from_parquet(tmp_path / "nowhere.parquet", client=thread_client)
    said(error)
    with pytest.raises(dcsm.ClusterError, match="folder: no worker can see"):
        dcsm.Graph.load(tmp_path / "nowhere", client=thread_client)
    with pytest.raises(csm.GraphError, match=r"path: there is no \.parquet file in"):
        dcsm.Graph.from_parquet(tmp_path, client=thread_client)
    with pytest.raises(TypeError, match="path: expected a str or a path, got int"):
        dcsm.Graph.from_parquet(5, client=thread_client)


def test_a_path_that_some_workers_cannot_see_is_refused(thread_client, tmp_path, monkeypatch):
    from cusubmatch.dask.folders import shared_files

    monkeypatch.setattr(shared_files, "on_all_workers", lambda *_: {"tcp://a": None, "tcp://b": ()})
    with pytest.raises(dcsm.ClusterError, match="path: 1 of 2 workers, such as tcp://a, cannot see") as error:
        dcsm.Graph.from_parquet(tmp_path, client=thread_client)
    said(error)


def test_a_folder_for_results_that_workers_cannot_see_is_refused(graph, thread_client, tmp_path, monkeypatch):
    from cusubmatch.dask.folders import shared_files

    monkeypatch.setattr(shared_files, "on_all_workers", lambda *_: {"tcp://a": False, "tcp://b": True})
    with pytest.raises(dcsm.ClusterError, match=r"path: 1 of 2 workers, such as tcp://a, cannot see") as error:
        dcsm.match_many(graph, [TRIANGLE], tmp_path / "job", client=thread_client)
    said(error)


@pytest.mark.parametrize(
    "call",
    [
        lambda graph: csm.count_matches(graph, TRIANGLE),
        lambda graph: csm.subgraph_match(graph, TRIANGLE),
        lambda graph: csm.count_many(graph, {"a": TRIANGLE}),
        lambda graph: csm.explain(graph, TRIANGLE),
    ],
)
def test_a_graph_of_a_cluster_given_to_the_plain_package_is_refused(graph, call):
    with pytest.raises(TypeError, match=r"G: this graph lies on a Dask cluster; ask a function of cusubmatch\.dask"):
        call(graph)


def test_a_dask_dataframe_given_to_the_plain_package_is_refused():
    frame = dask.dataframe.from_pandas(EDGES, 2)
    for call in (lambda: csm.count_matches(frame, TRIANGLE), lambda: csm.Graph.from_edgelist(frame)):
        with pytest.raises(TypeError, match="edges: a Dask dataframe lies on a cluster") as error:
            call()
        said(error)


def test_a_graph_of_this_process_given_to_a_cluster_is_refused(thread_client):
    plain = csm.Graph.from_edgelist(EDGES)
    with pytest.raises(TypeError, match=r"G: this Graph lies in the memory of one process; for a cluster") as error:
        dcsm.count_matches(plain, TRIANGLE, client=thread_client)
    said(error)
    with pytest.raises(TypeError, match=r"G: expected a cusubmatch\.dask\.Graph; .*, got pandas\.DataFrame"):
        dcsm.count_many(EDGES, [TRIANGLE], client=thread_client)
    with pytest.raises(TypeError, match=r"edges: expected a Dask dataframe or .*, got builtins\.int"):
        dcsm.Graph.from_edgelist(5, client=thread_client)
    with pytest.raises(TypeError, match="Graph: make one with"):
        dcsm.Graph()


WRONG = {
    "semantics: expected one of": lambda G, c: dcsm.count_matches(G, TRIANGLE, semantics="iso", client=c),
    "engine: expected one of": lambda G, c: dcsm.count_many(G, [TRIANGLE], engine="tpu", client=c),
    "time_limit: expected seconds": lambda G, c: dcsm.count_many(G, [TRIANGLE], time_limit=-1, client=c),
    "npartitions: expected at least 1": lambda G, c: dcsm.subgraph_match(G, TRIANGLE, npartitions=0, client=c),
    "queries: expected several patterns": lambda G, c: dcsm.count_many(G, TRIANGLE, client=c),
    "queries: expected a mapping": lambda G, c: dcsm.count_many(G, 5, client=c),
    "queries: expected a column pattern": lambda G, c: dcsm.count_many(G, EDGES, client=c),
    "resume: name the folder": lambda G, c: dcsm.count_many(G, [TRIANGLE], resume=True, client=c),
    "pattern: the pattern ends too early": lambda G, c: dcsm.count_matches(G, "(a)--(", client=c),
    "pattern: all its vertices are anonymous": lambda G, c: dcsm.subgraph_match(G, "()--()", client=c),
    "pattern: .* directed": lambda G, c: dcsm.count_matches(G, "(a)-->(b)", client=c),
    "engine='gpu': ": lambda G, c: dcsm.count_matches(G, TRIANGLE, engine="gpu", client=c),
    "folder in an existing": lambda G, c: dcsm.write_matches(G, TRIANGLE, "/nowhere/at/all", client=c),
}


@pytest.mark.parametrize("message", WRONG)
def test_a_wrong_argument_is_named(graph, thread_client, message):
    with pytest.raises((ValueError, TypeError, csm.EngineUnavailable), match=message):
        WRONG[message](graph, thread_client)


def test_a_query_that_a_graph_cannot_answer_is_an_error_of_its_own(graph, thread_client):
    answers = dcsm.count_many(graph, ["(a)-->(b)", "(a:Person)", TRIANGLE], client=thread_client)
    assert answers["status"].tolist() == ["error", "error", "done"]
    assert all(answers["reason"][:2] != "")
