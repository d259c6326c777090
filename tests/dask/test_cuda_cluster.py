"""A LocalCUDACluster, one worker a GPU, and dask_cudf: counts and rows are those of the plain package on one GPU."""

import pytest
from dask import config
from test_faults import one_killed_every, queries_that

import cusubmatch as csm
import cusubmatch.dask as dcsm
from cusubmatch.dask import counts
from cusubmatch.generators import rmat
from cusubmatch.system.gpu_presence import gpus

pytestmark = [pytest.mark.mg, pytest.mark.skipif(len(gpus()) < 2, reason="there are fewer than two GPUs")]

TEXTS = {
    "triangle": "(a)--(b)--(c)--(a)",
    "square": "(a)--(b)--(c)--(d)--(a)",
    "house": "(a)--(b)--(c)--(d)--(a)--(e)--(b)",
    "star": "(a)--(b), (a)--(c), (a)--(d)",
}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    from dask_cuda import LocalCUDACluster
    from distributed import Client

    folder = str(tmp_path_factory.mktemp("cluster"))
    with (
        config.set({"temporary-directory": folder}),
        LocalCUDACluster(n_workers=2, rmm_pool_size="4GB", local_directory=folder, dashboard_address=":0") as cluster,
        Client(cluster) as connected,
    ):
        yield connected


@pytest.fixture(scope="module")
def edges():
    return rmat(12, 8, seed=3)


@pytest.fixture(scope="module")
def plain(edges):
    return csm.Graph.from_edgelist(edges)


@pytest.fixture(scope="module")
def graph(edges, client):
    import cudf
    import dask_cudf

    return dcsm.Graph.from_edgelist(dask_cudf.from_cudf(cudf.from_pandas(edges), npartitions=3), client=client)


def rows_of(frame):
    return sorted(map(tuple, frame.to_numpy().tolist()))


def test_counts_of_a_query_set_are_those_of_one_gpu(plain, graph, client):
    answers = dcsm.count_many(graph, TEXTS, engine="gpu", client=client)
    assert answers["count"].to_arrow().to_pylist() == [
        csm.count_matches(plain, text, engine="gpu") for text in TEXTS.values()
    ]
    assert set(answers["status"].to_arrow().to_pylist()) == {"done"}
    assert len(set(answers["worker"].to_arrow().to_pylist())) == 2


def test_a_count_that_the_gpus_share_is_that_of_one(plain, graph, client, monkeypatch):
    monkeypatch.setattr(counts, "SHARED_FROM_S", 0.0)
    for text in TEXTS.values():
        found = dcsm.count_matches(graph, text, engine="gpu", client=client)
        assert found == csm.count_matches(plain, text, engine="gpu"), text


def test_rows_are_those_of_one_gpu_in_the_frames_of_the_graph(plain, graph, client):
    import cudf

    frame = dcsm.subgraph_match(graph, TEXTS["triangle"], npartitions=5, engine="gpu", client=client)
    computed = frame.compute()
    assert isinstance(computed, cudf.DataFrame)
    expected = csm.subgraph_match(plain, TEXTS["triangle"], engine="gpu")
    triangles = {tuple(sorted(row)) for row in rows_of(expected)}
    assert {tuple(sorted(row)) for row in computed.to_pandas().to_numpy().tolist()} == triangles
    assert len(computed) == len(expected) == len(triangles)


def test_a_worker_that_is_killed_costs_the_queries_that_it_ran(plain, graph, client):
    patterns = {str(number): csm.Pattern.path(2 + number % 3) for number in range(40)}
    with queries_that(client, seconds=0.2), one_killed_every(client, 60.0, first=1.0) as killed:
        answers = dcsm.count_many(graph, patterns, engine="gpu", client=client)
    assert killed
    assert answers["count"].to_arrow().to_pylist() == [
        csm.count_matches(plain, pattern) for pattern in patterns.values()
    ]
    assert set(answers["status"].to_arrow().to_pylist()) == {"done"}
