"""Workers and schedulers that are lost cost what was running: answers stay right, and the rest of the job is done."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest
from command_line import environment
from distributed import WorkerPlugin

import cusubmatch as csm
import cusubmatch.dask as dcsm
from cusubmatch.dask import counts, query_jobs
from cusubmatch.dask.jobs.question_batches import MOST_BATCHED
from cusubmatch.errors import GraphError
from cusubmatch.generators import rmat

pytestmark = pytest.mark.thorough  # test_cluster.py has a quick one
TRIANGLE, SQUARE, RING = "(a)--(b)--(c)--(a)", "(a)--(b)--(c)--(d)--(a)", "(a)--(b)--(c)--(d)--(e)--(a)"


class Slow(WorkerPlugin):
    """Lets every query take so long, on all workers, and those of some vertices end their worker."""

    name = "slow"

    def __init__(self, seconds, deadly=None):
        self.seconds, self.deadly = seconds, deadly

    def setup(self, worker):
        from cusubmatch.dask.workers import tasks

        self.original = original = tasks.checked_call

        def slow(graph, pattern, options, **how):
            time.sleep(self.seconds)
            if len(pattern) == self.deadly:
                os.kill(os.getpid(), signal.SIGKILL)
            return original(graph, pattern, options, **how)

        tasks.checked_call = slow

    def teardown(self, worker):
        from cusubmatch.dask.workers import tasks

        tasks.checked_call = self.original


@contextmanager
def queries_that(client, **how):
    client.register_plugin(Slow(**how))
    try:
        yield
    finally:
        client.unregister_worker_plugin("slow")


def wait_for_both(client):
    """Wait until both workers are there, after the scheduler has noticed that one was lost."""
    time.sleep(0.5)
    client.wait_for_workers(2, timeout=60)


@contextmanager
def one_killed_every(client, seconds, first):
    """Kill a worker with SIGKILL after `first` seconds, and then every so often while both are there.

    Yields the list of the killed. On a machine with more to do, a worker takes longer than `seconds` to start again:
    killed at once, none would ever answer.
    """
    over, killed = threading.Event(), []

    def kill():
        wait = first
        while not over.wait(wait):
            pids = list(client.run(os.getpid, on_error="ignore").values())
            wait = seconds if len(pids) == 2 else 0.1
            if len(pids) == 2:
                os.kill(pids[0], signal.SIGKILL)
                killed.append(pids[0])

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()
        wait_for_both(client)


def allow_failures(number, dask_scheduler=None):
    dask_scheduler.allowed_failures = number


@pytest.fixture(scope="module")
def plain():
    return csm.Graph.from_edgelist(rmat(7, 6, seed=3))


@pytest.fixture(scope="module")
def graph(client):
    return dcsm.Graph.from_edgelist(rmat(7, 6, seed=3), client=client)


def test_workers_that_are_killed_every_few_seconds_cost_the_queries_that_they_ran(
    plain, graph, client, queries=400, every=3.0
):
    patterns = {str(number): csm.Pattern.path(2 + number % 3) for number in range(queries)}
    expected = [csm.count_matches(plain, pattern) for pattern in patterns.values()]
    with queries_that(client, seconds=0.05), one_killed_every(client, every, first=0.4) as killed:
        answers = dcsm.count_many(graph, patterns, client=client)
    assert killed
    assert answers["count"].tolist() == expected
    assert set(answers["status"]) == {"done"}
    assert answers["attempts"].max() >= 2
    assert answers["attempts"].sum() <= queries + (1 + MOST_BATCHED) * len(killed)


@pytest.mark.parametrize("left", [4, pytest.param(0.1, marks=pytest.mark.thorough)], ids=["single", "batched"])
def test_a_query_that_ends_its_workers_is_found_and_the_innocent_are_answered(plain, graph, client, left, monkeypatch):
    monkeypatch.setattr("cusubmatch.dask.jobs.question_batches.BATCHES_LEFT", left)
    client.run_on_scheduler(allow_failures, 0)
    patterns = {str(number): csm.Pattern.path(2 + number % 2) for number in range(12)} | {"deadly": SQUARE}
    with queries_that(client, seconds=0.02, deadly=4):
        answers = dcsm.count_many(graph, patterns, client=client).set_index("query")
    client.run_on_scheduler(allow_failures, 3)
    wait_for_both(client)
    assert answers["status"].drop("deadly").tolist() == ["done"] * 12
    assert answers["count"].drop("deadly").tolist() == [
        csm.count_matches(plain, pattern) for pattern in list(patterns.values())[:-1]
    ]
    assert answers["status"]["deadly"] == "error"
    assert "3 workers were lost while they ran it" in answers["reason"]["deadly"]


def test_a_count_that_is_shared_survives_a_killed_worker(plain, graph, client, monkeypatch):
    monkeypatch.setattr(counts, "SHARED_FROM_S", 0.0)
    with queries_that(client, seconds=0.3), one_killed_every(client, 30.0, first=0.1) as killed:
        assert dcsm.count_matches(graph, RING, client=client) == csm.count_matches(plain, RING)
        time.sleep(0.1)
    assert killed


def test_rows_that_were_lost_with_their_worker_are_found_again(plain, graph, client):
    frame = dcsm.subgraph_match(graph, TRIANGLE, npartitions=6, client=client).persist()
    expected = csm.count_matches(plain, TRIANGLE)
    assert len(frame) == expected
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
    assert len(frame) == expected
    wait_for_both(client)


def test_a_file_that_changes_under_a_job_is_an_error(client, tmp_path):
    path = tmp_path / "edges.parquet"
    rmat(7, 6, seed=3).to_parquet(path)
    graph = dcsm.Graph.from_parquet(path, client=client)
    assert dcsm.count_matches(graph, TRIANGLE, client=client) > 0
    rmat(7, 6, seed=4).to_parquet(path)
    time.sleep(1.1)  # after which a worker looks again
    with pytest.raises(GraphError, match=r"path: '.*edges\.parquet' has changed since the graph was made of it"):
        dcsm.count_matches(graph, TRIANGLE, client=client)
    path.unlink()
    time.sleep(1.1)
    with pytest.raises(GraphError, match="a worker cannot see"):
        dcsm.count_many(graph, [TRIANGLE], client=client)


JOB = """
    import sys
    import cusubmatch.dask as dcsm
    from distributed import Client, LocalCluster
    sys.path.insert(0, {here!r})
    from test_faults import Slow

    if __name__ == "__main__":
        client = Client(LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0"))
        client.register_plugin(Slow(0.1))
        graph = dcsm.Graph.from_parquet({edges!r})
        {call}
"""


def killed_job(tmp_path, edges, call, begun):
    """Run a job in a process of its own, with its scheduler, and kill that once `begun` says so."""
    script = tmp_path / "job.py"
    here = str(Path(__file__).parent)
    script.write_text(textwrap.dedent(JOB.format(here=here, edges=str(edges), call=call)))
    with subprocess.Popen([sys.executable, str(script)], env=environment(), cwd=tmp_path) as process:
        deadline = time.monotonic() + 60
        while not begun() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        process.kill()
    assert begun()


def lines_of(path):
    return len(path.read_bytes().splitlines()) if path.exists() else 0


def test_a_query_set_whose_scheduler_died_goes_on_where_it_stopped(plain, client, tmp_path):
    edges, folder = tmp_path / "edges.parquet", tmp_path / "job"
    rmat(7, 6, seed=3).to_parquet(edges)
    texts = [repr(csm.Pattern.path(size))[8:-1] for size in range(2, 5)] * 10
    call = f"dcsm.count_many(graph, {texts!r}, path={str(folder)!r})"
    killed_job(tmp_path, edges, call, lambda: lines_of(folder / "done.jsonl") >= 4)
    with (folder / "done.jsonl").open("ab") as file:
        file.write(b'{"number": 29, "val')  # a line that the crash cut short
    done = lines_of(folder / "done.jsonl") - 1
    assert 4 <= done < len(texts)
    asked = []
    original = query_jobs.Job
    query_jobs.Job = lambda client, questions, *rest: asked.append(len(questions)) or original(client, questions, *rest)
    try:
        graph = dcsm.Graph.from_parquet(edges, client=client)
        answers = dcsm.count_many(graph, texts, path=folder, resume=True, client=client)
    finally:
        query_jobs.Job = original
    assert asked == [len(texts) - done]
    assert answers["count"].tolist() == [csm.count_matches(plain, text) for text in texts]
    assert pd.read_parquet(folder / "results.parquet")["count"].tolist() == answers["count"].tolist()
    with pytest.raises(ValueError, match="differs in queries"):
        dcsm.count_many(graph, texts[1:], path=folder, resume=True, client=client)


def test_parts_that_were_written_before_the_scheduler_died_are_kept(plain, client, tmp_path):
    edges, folder = tmp_path / "edges.parquet", tmp_path / "squares"
    hidden = tmp_path / ".squares.job"
    rmat(7, 6, seed=3).to_parquet(edges)
    call = (
        "from cusubmatch.dask.workers import tasks; client.run(slow_parts); "
        f"dcsm.write_matches(graph, {SQUARE!r}, {str(folder)!r}, npartitions=30)"
    )
    call = "from test_faults import slow_parts; " + call
    killed_job(tmp_path, edges, call, lambda: lines_of(hidden / "done.jsonl") >= 3)
    assert not folder.exists()
    times = {path.name: path.stat().st_mtime_ns for path in hidden.glob("part-*.parquet")}
    done = lines_of(hidden / "done.jsonl")
    assert 3 <= done < 30
    graph = dcsm.Graph.from_parquet(edges, client=client)
    rows = dcsm.write_matches(graph, SQUARE, folder, resume=True, client=client)
    assert rows == csm.count_matches(plain, SQUARE) == len(pd.read_parquet(folder))
    assert sum((folder / name).stat().st_mtime_ns == time for name, time in times.items()) >= done
    assert not hidden.exists()


def slow_parts():
    """Let each part that this worker writes take a while."""
    from cusubmatch.dask.workers import tasks

    original = tasks.write_batches

    def slow(*arguments, **options):
        time.sleep(0.1)
        return original(*arguments, **options)

    tasks.write_batches = slow
