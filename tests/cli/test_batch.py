"""The command `batch`: a query set in a file, answered by workers."""

import contextlib
import json
import os
import signal
import time
from pathlib import Path

import pandas as pd
import pytest
from command_line import LOOP, TRIANGLE, assert_one_line, messages, run, write_graph_files
from tiers import thorough

import cusubmatch as csm
from cusubmatch.cli import batch


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_graph_files()
    (tmp_path / "queries.txt").write_text(f"# of the examples\n{TRIANGLE}\n\nclique:3\npath:3\n")
    return tmp_path


@pytest.fixture
def threads(monkeypatch):
    """Workers that are threads of this process, which start at once."""
    from distributed import LocalCluster

    def cluster(_class, workers, _engine):
        return LocalCluster(n_workers=workers or 1, threads_per_worker=1, processes=False, dashboard_address=":0")

    monkeypatch.setattr(batch, "_local_cluster", cluster)


def expected(text, **options):
    edges = pd.read_parquet("edges.parquet")
    return csm.count_matches(csm.Graph.from_edgelist(edges, **options), text)


@pytest.mark.parametrize("edges", ["edges.parquet", "edges.csv"])
def test_counts_of_a_text_file_of_queries_go_to_the_folder(threads, files, edges):
    result = run("batch", edges, "queries.txt", "-o", "answers", "--workers", "2")
    assert result.exit_code == 0, result.output
    assert messages(result) == ["3 queries: 3 done; in answers"]
    table = pd.read_parquet("answers/results.parquet")
    assert table["query"].tolist() == [TRIANGLE, "clique:3", "path:3"]
    path = expected("(a)--(b)--(c)")
    assert table["count"].tolist() == [2, 2, path]
    assert json.loads((files / "answers" / "job.json").read_text())["kind"] == "counts"


@pytest.mark.parametrize("edges", ["payments.csv", "payments.parquet"])
def test_queries_have_conditions_parameters_and_rows(threads, files, edges):
    payments = pd.DataFrame({"src": [1, 2, 3, 1], "dst": [2, 3, 1, 2], "day": [1, 2, 3, 4], "name": list("uvwx")})
    payments.to_csv("payments.csv", index=False)
    payments.to_parquet("payments.parquet")
    (files / "ids.csv").write_text("id\n1\n2\n")
    paths = "(a)-[p]->(b)-[q]->(c) WHERE p.day < q.day AND q.day - p.day <= $days"
    (files / "asked.txt").write_text(f"{paths}\n(a)-[p]->(b) OPTIONAL (b)-[q]->(c) WHERE q.day > 3\n")
    asked = [edges, "asked.txt", "--param", "days=1", "--each-edge", "--time", "day", "--touching", "ids.csv"]
    result = run("batch", *asked, "-o", "job", "--matches", "--edge-id", "name", "--workers", "1")
    assert result.exit_code == 0, result.output
    table = pd.read_parquet("job/results.parquet")
    assert table["count"].tolist() == [3, 4]
    rows = pd.read_parquet(files / "job" / table["file"][0])
    assert sorted(rows.itertuples(index=False, name=None)) == [
        (1, 2, 3, "u", "v"),
        (2, 3, 1, "v", "w"),
        (3, 1, 2, "w", "x"),
    ]
    assert_one_line(run("batch", *asked, "-o", "other", "--edge-id", "name"), "--edge-id", "--matches")


def test_matches_go_to_a_file_a_query_and_a_job_can_be_resumed(threads, files):
    pd.DataFrame({"query": ["loops", "odd"], "pattern": [LOOP, "(a)-->("]}).to_csv("queries.csv", index=False)
    arguments = ["batch", "edges.parquet", "queries.csv", "-o", "job", "--matches", "--workers", "1"]
    result = run(*arguments)
    assert result.exit_code == 1
    assert messages(result) == ["2 queries: 1 done, 1 error; in job"]
    table = pd.read_parquet("job/results.parquet")
    assert table["reason"][1] == "the pattern ends too early (at character 8)"
    assert len(pd.read_parquet(files / "job" / table["file"][0])) == table["count"][0] == 1
    assert_one_line(run(*arguments), "--output", "is not empty")
    again = run(*arguments, "--resume")
    assert (again.exit_code, messages(again)) == (1, messages(result))


WRONG = {
    "QUERIES: there is no file": ["batch", "edges.parquet", "nowhere.txt", "-o", "job"],
    "QUERIES: expected a .parquet, .csv, .tsv or .txt file": ["batch", "edges.parquet", "queries.dat", "-o", "job"],
    "QUERIES: 'empty.txt' holds no query": ["batch", "edges.parquet", "empty.txt", "-o", "job"],
    "QUERIES: expected a column pattern": ["batch", "edges.parquet", "edges.csv", "-o", "job"],
    "--workers: the cluster of --scheduler": [
        *("batch", "edges.parquet", "queries.txt", "-o", "job", "--workers", "1", "--scheduler", "tcp://127.0.0.1:1")
    ],
    "--limit: counts have none; say --matches": ["batch", "edges.parquet", "queries.txt", "-o", "job", "--limit", "1"],
    "EDGES: there is no file": ["batch", "nowhere.csv", "queries.txt", "-o", "job", "--workers", "1"],
}


@pytest.mark.parametrize("message", WRONG)
def test_bad_input_of_a_batch_is_one_line(threads, files, message):
    (files / "queries.dat").touch()
    (files / "empty.txt").write_text("# nothing\n")
    assert_one_line(run(*WRONG[message]), message)


@pytest.mark.parametrize("_", thorough("once"))
def test_a_scheduler_that_is_not_there_is_one_line(files, monkeypatch, _):
    monkeypatch.setattr(batch, "SECONDS_TO_CONNECT", 0.3)
    result = run("batch", "edges.parquet", "queries.txt", "-o", "job", "--scheduler", "tcp://127.0.0.1:1")
    assert_one_line(result, "--scheduler: cannot connect to 'tcp://127.0.0.1:1'")


class KilledAsItStarts:
    """Plugin of workers: one that finds the file is killed when the scheduler knows it and its nanny does not yet."""

    name = "killed_as_it_starts"

    def __init__(self, flag):
        self.flag = flag

    def setup(self, worker):
        with contextlib.suppress(FileNotFoundError):
            Path(self.flag).unlink()
            os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.thorough
def test_a_cluster_whose_worker_died_as_it_started_is_closed_in_time(tmp_path, monkeypatch):
    from distributed import WorkerPlugin

    monkeypatch.setattr(batch, "SECONDS_TO_CLOSE", 3.0)
    flag = tmp_path / "next"
    plugin = type("Plugin", (KilledAsItStarts, WorkerPlugin), {})
    with batch.cluster_client(None, 1, "cpu") as client:
        client.register_plugin(plugin(str(flag)))
        flag.touch()
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        time.sleep(0.5)
        client.wait_for_workers(1, timeout=60)
        assert not flag.exists()
        assert client.submit(sum, [1, 2]).result(timeout=60) == 3
        began = time.monotonic()
    assert time.monotonic() - began < 30


def test_workers_of_this_machine_do_not_look_at_what_their_threads_do():
    with batch.cluster_client(None, 1, "cpu") as client:
        (callbacks,) = client.run(lambda dask_worker: [*dask_worker.periodic_callbacks]).values()
    assert "heartbeat" in callbacks
    assert "profile" not in callbacks
