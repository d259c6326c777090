"""What a job does about queries that take more time or memory than was expected, on workers in this process."""

import time
from types import SimpleNamespace

import pytest

import cusubmatch as csm
import cusubmatch.dask as dcsm
from cusubmatch.dask import counts
from cusubmatch.dask.jobs.job import JobTask
from cusubmatch.dask.jobs.job_futures import JobFutures
from cusubmatch.dask.workers import tasks
from cusubmatch.generators import rmat

RING = "(a)--(b)--(c)--(d)--(e)--(a)"


@pytest.fixture(scope="module")
def plain():
    return csm.Graph.from_edgelist(rmat(7, 6, seed=3))


@pytest.fixture(scope="module")
def graph(thread_client):
    return dcsm.Graph.from_edgelist(rmat(7, 6, seed=3), client=thread_client)


@pytest.mark.parametrize("patience_s", [1e-9, 1e9])
def test_a_shared_walk_that_takes_too_long_is_given_up_for_the_other_strategy(
    plain, graph, thread_client, monkeypatch, patience_s
):
    given_up, share, other = [], tasks.share_call, tasks.other_strategy
    monkeypatch.setattr(counts, "SHARED_FROM_S", 0.0)
    monkeypatch.setattr(tasks, "share_call", lambda *call, **how: share(*call, **how)._replace(patience_s=patience_s))
    monkeypatch.setattr(tasks, "other_strategy", lambda *call: given_up.append(1) or other(*call))
    assert dcsm.count_matches(graph, RING, client=thread_client) == csm.count_matches(plain, RING)
    assert len(given_up) == (1 if patience_s < 1 else 0)


def test_a_query_that_ran_out_of_memory_beside_others_is_run_again_alone(plain, graph, thread_client, monkeypatch):
    count, failed = tasks.count_of_plan, []

    def once_too_large(query, options):
        if len(query.plan.pattern) == 5 and not failed:
            failed.append(1)
            raise MemoryError("too much")
        if len(query.plan.pattern) == 4:
            raise MemoryError("always too much")
        return count(query, options)

    monkeypatch.setattr(tasks, "count_of_plan", once_too_large)
    queries = {"once": RING, "always": csm.Pattern.cycle(4), "never": csm.Pattern.cycle(3)}
    answers = dcsm.count_many(graph, queries, client=thread_client).set_index("query")
    assert answers["status"].to_dict() == {"once": "done", "always": "out of memory", "never": "done"}
    assert answers["attempts"].to_dict() == {"once": 2, "always": 2, "never": 1}
    assert answers["reason"]["always"] == "always too much"
    assert answers["count"]["once"] == csm.count_matches(plain, RING)


def test_a_time_limit_is_of_all_shards_of_a_count_together(graph, thread_client, monkeypatch):
    monkeypatch.setattr(counts, "SHARED_FROM_S", 0.0)
    strategy_on = tasks.strategy_on

    def slow(*call):
        time.sleep(0.5)
        return strategy_on(*call)

    monkeypatch.setattr(tasks, "strategy_on", slow)
    begin = time.monotonic()
    with pytest.raises(csm.TimeLimitExceeded, match=r"not finished within 0\.3 s"):
        dcsm.count_matches(graph, RING, time_limit=0.3, client=thread_client)
    assert time.monotonic() - begin < 5


def test_an_error_of_the_cluster_ends_the_job_and_its_other_tasks(graph, thread_client, monkeypatch):
    def broken(*_):
        raise RuntimeError("this worker has no engine")

    monkeypatch.setattr(tasks, "count_of_plan", broken)
    with pytest.raises(RuntimeError, match="this worker has no engine"):
        dcsm.count_many(graph, [RING] * 40, client=thread_client)
    monkeypatch.undo()
    assert dcsm.count_many(graph, ["(a)"], client=thread_client)["status"].tolist() == ["done"]


class StandIn:
    """A future whose state is another one each time that it is asked for."""

    key = "task"

    def __init__(self, *states):
        self.states = list(states)

    @property
    def status(self):
        return self.states.pop(0) if len(self.states) > 1 else self.states[0]


def waiting_for(future, client_status):
    """The tasks of a job that waits for one future; what it waits for anew, and what it submits."""
    waited, submitted = [], []
    client = SimpleNamespace(
        status=client_status,
        gather=lambda *_, **__: [],
        map=lambda kind, *work, key, **__: submitted.append(work) or [StandIn("pending")],
    )
    futures = JobFutures(client, "job", lambda *_: None)
    futures._completed = SimpleNamespace(add=waited.append, update=list)
    futures._futures[future.key] = future
    futures._tasks[future.key] = JobTask("work", SimpleNamespace(number=0), len), 0
    return futures, waited, submitted


def test_a_result_that_is_lost_and_found_again_at_once_is_waited_for():
    future = StandIn("lost", "finished")
    futures, waited, submitted = waiting_for(future, "running")
    assert not list(futures.results([future]))
    assert (waited, submitted) == ([future], [])


def test_a_task_that_the_scheduler_forgot_is_submitted_again_a_few_times():
    for status, times in (("running", 3), ("connecting", 0)):
        futures, _, submitted = waiting_for(StandIn("cancelled"), status)
        for _ in range(times):
            assert not list(futures.results([StandIn("cancelled")]))
            futures._futures["task"] = futures._futures.popitem()[1]
            futures._tasks["task"] = futures._tasks.popitem()[1]
        with pytest.raises(dcsm.ClusterError, match="the scheduler was lost"):
            list(futures.results([StandIn("cancelled")]))
        assert len(submitted) == times
