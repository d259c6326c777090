"""A cluster of this machine: how a query set scales, what killed workers cost, how long a session takes to start.

    python tests/benchmarks/cluster.py PART... [--queries N] [--largest N] [--repeats N] [--cells N] [--delay SECONDS]

Parts are scaling, kills, session and shards.

Two worker processes of one thread are compared with one, on the yeast queries of CUSUBMATCH_DATA, repeated until there
are as many as wanted. Other work on the machine disturbs this: the least of several runs is printed, and beside the
seconds of the wall clock the CPU seconds that all processes of the cluster took.

`shards` measures the shards of some patterns, each on its own, and replays their times: the makespan on n devices that
take them from a queue, over the work divided by n, for several ways of cutting.
"""

from __future__ import annotations

import gc
import heapq
import os
import signal
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import dask
import pandas as pd
import psutil
import typer

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS.parent), str(TESTS / "support"), str(TESTS / "dask")]

KILL_EVERY_S = 5.0
MIN_CPU_S = 0.2  # of a worker; helpers of multiprocessing take less
DEVICES = (8, 64, 512)
PATTERNS = {
    "soc-Epinions1": ["(a)--(b)--(c)--(d)--(a)", "(a)--(b)--(c)--(d)--(a)--(c), (b)--(d)"],
    "facebook_combined": ["(a)--(b)--(c)--(d)--(a)--(e)--(b)--(d), (c)--(e)--(d), (a)--(c)"],
}


def data(name):
    return Path(os.environ["CUSUBMATCH_DATA"]) / name


def yeast_queries(number, largest):
    """Names and patterns, of at most so many vertices and 10**8 embeddings, and their counts."""
    import cusubmatch as csm

    parts = pd.read_parquet(data("yeast.queries.parquet"))
    answers = pd.read_parquet(data("yeast.answers.parquet")).set_index("query")["count"]
    wanted = {}
    for name, part in parts.groupby("query"):
        vertices, edges = part[part.part == "v"], part[part.part == "e"]
        if answers[name] > 10**8 or len(vertices) > largest:
            continue
        wanted[name] = edges, vertices
    names, queries = list(wanted), {}
    for i in range(number):
        name, turn = names[i % len(names)], i // len(names)
        edges, vertices = wanted[name]
        order = vertices.a.tolist()
        order = order[turn:] + order[:turn]  # another pattern for the caches of plans, with the same count
        queries[f"{name}/{turn}"] = csm.Pattern(
            zip(edges.a.tolist(), edges.b.tolist(), strict=True),
            vertices=order,
            labels=dict(zip(vertices.a.tolist(), vertices.b.tolist(), strict=True)),
        )
    return queries, [answers[name.partition("/")[0]] for name in queries]


def yeast(client):
    import cusubmatch.dask as dcsm

    return dcsm.Graph.from_edgelist(
        pd.read_parquet(data("yeast.parquet")),
        vertices=pd.read_parquet(data("yeast.labels.parquet")),
        vertex_label="label",
        client=client,
    )


def cluster_of(workers):
    from distributed import Client, LocalCluster

    dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"})  # a worker that is lost twice stays
    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0")
    return cluster, Client(cluster)


def cpu_seconds():
    """CPU seconds of this process, which has the client and the scheduler, and of each that it has started."""
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    return {process.pid: sum(process.cpu_times()[:2]) for process in processes}


def answered(client, queries, truth):
    """The wall clock, the CPU seconds here and of each worker, and the table of a query set; counts are checked."""
    import cusubmatch.dask as dcsm

    graph = yeast(client).persist(client=client)
    gc.collect()  # what making the queries has left is no part of the job
    wall, cpu = time.perf_counter(), cpu_seconds()
    table = dcsm.count_many(graph, queries, unique=False, client=client)
    wall = time.perf_counter() - wall
    spent = {pid: after - cpu.get(pid, 0.0) for pid, after in cpu_seconds().items()}
    own = spent.pop(os.getpid())
    workers = sorted(seconds for seconds in spent.values() if seconds > MIN_CPU_S)
    wrong = [name for name, count, right in zip(queries, table["count"], truth, strict=True) if count != right]
    assert not wrong, wrong[:5]
    return wall, (own, workers), table


def scaling(number, largest, repeats):
    """Two workers of one thread against one."""
    queries, truth = yeast_queries(number, largest)
    walls, most = {}, {}
    for workers in (1, 2) * repeats:
        cluster, client = cluster_of(workers)
        answered(client, dict(list(queries.items())[:20]), truth[:20])  # compiled code is loaded
        wall, (own, each), _ = answered(client, queries, truth)
        walls[workers] = min(wall, walls.get(workers, wall))
        most[workers] = min(max(each), most.get(workers, max(each)))
        parts = " + ".join(f"{seconds:.1f}" for seconds in each)
        share = 100 * own / sum(each)
        print(
            f"{workers} workers: {wall:.1f} s; CPU s: workers {parts}, client and scheduler {own:.1f} ({share:.0f}%)",
            flush=True,
        )
        client.close()
        cluster.close()
    print(
        f"{number} queries, two workers against one: {walls[1] / walls[2]:.2f} times as fast by the wall clock, "
        f"{most[1] / most[2]:.2f} by the CPU seconds of the busiest worker"
    )


def kills(number, largest, every, delay_s):
    """A worker killed every few seconds, against none. Queries are prolonged, so that the job outlasts some kills."""
    queries, truth = yeast_queries(number, largest)
    cluster, client = cluster_of(2)
    answered(client, dict(list(queries.items())[:20]), truth[:20])
    if delay_s:
        from test_faults import Slow

        client.register_plugin(Slow(delay_s))
    calm = min(answered(client, queries, truth)[0] for _ in range(2))
    over, killed = threading.Event(), []

    def kill():
        while not over.wait(every):
            pids = list(client.run(os.getpid, on_error="ignore").values())
            if pids:
                os.kill(pids[len(killed) % len(pids)], signal.SIGKILL)
                killed.append(pids)

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    wall, _, table = answered(client, queries, truth)
    over.set()
    thread.join()
    print(
        f"{number} queries, all right: {calm:.1f} s undisturbed, {wall:.1f} s with {len(killed)} workers killed, one "
        f"every {every} s: {wall / calm:.2f} times; {int((table['attempts'] > 1).sum())} queries were begun again"
    )
    client.close()
    cluster.close()


def session():
    """From a cluster that is there to the first answer of every worker."""
    import cusubmatch.dask as dcsm

    cluster, client = cluster_of(2)
    for name in ("yeast", "soc-Epinions1", "dblp-2010"):
        begin = time.perf_counter()
        dcsm.Graph.from_parquet(data(f"{name}.parquet"), client=client).persist(client=client)
        print(f"session on {name}: {time.perf_counter() - begin:.2f} s until the graph is on both workers", flush=True)
    client.close()
    cluster.close()


def shards(cells):
    """The makespan of replayed shards, over the work divided by the devices."""
    from cusubmatch.dask.jobs.shards import cut, equal_shares, factored_shares

    print("makespan / (work / devices), for shards of equal work (so many a device) and for factored ones")
    print("pattern | cells | seconds | devices | limit | 1 | 2 | 4 | 8 | 16 | 32 | factored | its shards")
    for name, texts in PATTERNS.items():
        for text in texts:
            shared, times = measured_cells(name, text, cells)
            total = sum(times)
            for devices in DEVICES:
                limit = max(times) * devices / total
                row = [
                    makespan(durations(cut(shared, equal_shares(a * devices)), shared.edges, times), devices)
                    for a in (1, 2, 4, 8, 16, 32)
                ]
                factored = cut(shared, factored_shares(devices, 1e9))
                row.append(makespan(durations(factored, shared.edges, times), devices))
                ratios = " | ".join(f"{span * devices / total:.2f}" for span in row)
                head = f"{name} {text} | {len(times)} | {total:.1f} | {devices}"
                print(f"{head} | {max(limit, 1):.2f} | {ratios} | {len(factored)}", flush=True)


def measured_cells(name, text, cells):
    """A plan and the seconds of each of its cells, run one after another on one thread."""
    import cusubmatch as csm
    from cusubmatch.api.options import checked_query
    from cusubmatch.engines.runs import TaskRange
    from cusubmatch.execution import shared_plan
    from cusubmatch.execution.query_options import QueryOptions
    from cusubmatch.execution.strategies.walk import Walk
    from cusubmatch.system.thread_limit import at_most_threads

    shared_plan.CELLS = cells
    graph = csm.Graph.from_edgelist(pd.read_parquet(data(f"{name}.parquet")))
    query = checked_query(graph, text, QueryOptions(engine="cpu"))
    query = query._replace(plan=query.plan.__class__(**{**vars_of(query.plan), "tables": None}))
    shared = shared_plan.share(query, counting=True)
    walk, times, total = Walk(query.engine, query.plan, query.prepared), [], 0
    with at_most_threads(1):
        walk.run(None, None, TaskRange(0, 1)).total()
        for begin, end in pairwise(shared.edges):
            before = time.thread_time() + cpu_of_threads()
            total += walk.run(None, None, TaskRange(begin, end)).total()
            times.append(max(time.thread_time() + cpu_of_threads() - before, 1e-9))
    assert walk.matches_of(total) == csm.count_matches(graph, text)
    return shared, times


def vars_of(plan):
    return {name: getattr(plan, name) for name in plan.__dataclass_fields__}


def cpu_of_threads():
    """CPU seconds of the process less those of this thread."""
    return time.process_time() - time.thread_time()


def durations(ranges, edges, times):
    """The seconds of each shard, from those of its cells."""
    place = {edge: i for i, edge in enumerate(edges)}
    return [
        sum(times[place[part.tasks.begin] : place[part.tasks.end]]) for part in sorted(ranges, key=lambda p: -p.share)
    ]


def makespan(durations_s, devices):
    """When the last of the devices ends that take shards from a queue."""
    ends = [0.0] * devices
    for duration in durations_s:
        heapq.heappush(ends, heapq.heappop(ends) + duration)
    return max(ends)


def main(
    parts: Annotated[list[str], typer.Argument(help="Some of scaling, kills, session, shards.")],
    queries: Annotated[int, typer.Option(min=1, help="Queries of a set.")] = 1000,
    largest: Annotated[int, typer.Option(min=4, help="Vertices of the largest queries.")] = 32,
    repeats: Annotated[int, typer.Option(min=1, help="Runs of each number of workers.")] = 2,
    cells: Annotated[int, typer.Option(min=1, help="Ranges that are measured of each pattern.")] = 4096,
    delay: Annotated[float, typer.Option(help="Seconds that each query is prolonged by, for kills.")] = 0.0,
) -> None:
    """Measure a cluster of this machine."""
    for part in parts:
        if part == "scaling":
            scaling(queries, largest, repeats)
        elif part == "kills":
            kills(queries, largest, KILL_EVERY_S, delay)
        elif part == "session":
            session()
        elif part == "shards":
            shards(cells)
        else:
            raise typer.BadParameter(f"expected some of scaling, kills, session, shards, got {part}")


if __name__ == "__main__":
    typer.run(main)
