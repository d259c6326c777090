"""The GPUs of a machine as the workers of a Dask cluster, beside one GPU without Dask: milliseconds and efficiency.

    python tests/benchmarks/cluster_gpus.py [--workers 2] [--only session,counts,queries] [--cpu] [--graph NAME]

The efficiency is t1 / (n * tn), with t1 of one GPU without Dask. `session` is the time from a cluster to the graph on
all workers; `counts` are long counts by walking, which the workers share; `queries` a set of labelled queries that no
worker has seen. `--cpu` takes a LocalCluster and the CPU engine, to try the script without a GPU.
"""

from __future__ import annotations

import contextlib
import time
from typing import Annotated

import numpy as np
import pandas as pd
import typer
from cases import data_folder
from devices import P5, labelled_queries, line, pattern_of

import cusubmatch as csm
import cusubmatch.dask as dcsm

PARTS = "session,counts,queries"
POOL_GB, QUERIES, LABELS = 16, 1_000, 4
COUNTS = {"soc-Epinions1": ("5-cycle", "p5"), "ego-Twitter": ("5-cycle",)}
PATTERNS = {"5-cycle": csm.Pattern.cycle(5), "p5": pattern_of(P5), "4-cycle": csm.Pattern.cycle(4)}


@contextlib.contextmanager
def cluster_of(workers, cpu):
    """A client of a cluster with one worker a GPU, or a core."""
    from distributed import Client, LocalCluster

    if cpu:
        made = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0")
    else:
        from dask_cuda import LocalCUDACluster

        made = LocalCUDACluster(n_workers=workers, rmm_pool_size=f"{POOL_GB}GB", dashboard_address=":0")
    with made as cluster, Client(cluster) as client:
        yield client


def seconds_of(call):
    """The seconds of a call, and its result."""
    begin = time.perf_counter()
    result = call()
    return time.perf_counter() - begin, result


def least_of(call, repeats=3):
    """The least seconds of some calls after a first one, and the result, which has to be the same."""
    result, best = call(), float("inf")
    for _ in range(repeats):
        seconds, again = seconds_of(call)
        best = min(best, seconds)
        if again != result:
            raise AssertionError(f"counts differ: {result:,} and {again:,}")
    return best, result


def edges_of(name):
    return pd.read_parquet(data_folder() / f"{name}.parquet")[["src", "dst"]].astype("int32")


def session(name, client):
    """From a cluster that is there to the graph on all its workers."""
    edges = edges_of(name)
    for turn in ("first", "again"):
        seconds, _ = seconds_of(lambda: dcsm.Graph.from_edgelist(edges, client=client).persist(client=client))
        print(f"{name}: {seconds:.2f} s until the graph is on all workers, {turn} (to be 5)", flush=True)


def counts(name, patterns, workers, client, engine):
    """Long counts that the workers share."""
    edges = edges_of(name)
    plain, graph = csm.Graph.from_edgelist(edges), dcsm.Graph.from_edgelist(edges, client=client).persist(client=client)
    for called in patterns:
        pattern = PATTERNS[called]
        one_s, count = least_of(lambda p=pattern: csm.count_matches(plain, p, engine=engine))
        several_s, again = least_of(lambda p=pattern: dcsm.count_matches(graph, p, engine=engine, client=client))
        if count != again:
            raise AssertionError(f"{count:,} on one, {again:,} on several")
        line(f"{name} {called}", one_s, several_s, workers, count)


def queries(name, workers, client, engine):
    """A set of labelled queries, planned too."""
    edges = edges_of(name)
    ids = np.unique(edges.to_numpy())
    labels = [f"L{code}" for code in np.random.default_rng(1).integers(0, LABELS, len(ids))]
    options = {"vertices": pd.DataFrame({"vertex": ids, "label": labels}), "vertex_label": "label"}
    plain = csm.Graph.from_edgelist(edges, **options)
    graph = dcsm.Graph.from_edgelist(edges, client=client, **options).persist(client=client)
    warming, asked = labelled_queries(20, LABELS, seed=1), labelled_queries(QUERIES, LABELS, seed=5)

    def one(some):
        return csm.count_many(plain, some, engine=engine, time_limit=20)

    def several(some):
        return dcsm.count_many(graph, some, engine=engine, time_limit=20, client=client)

    one(warming), several(warming)
    (one_s, here), (several_s, there) = seconds_of(lambda: one(asked)), seconds_of(lambda: several(asked))
    here, there = (list(np.asarray(table["count"].to_numpy(), float)) for table in (here, there))
    if here != there:
        raise AssertionError("counts of the set differ")
    line(f"{QUERIES} labelled queries, {name}", one_s, several_s, workers, int(sum(here)))


def main(
    workers: Annotated[int, typer.Option(min=1, help="GPUs, each with a worker.")] = 2,
    only: Annotated[str, typer.Option(help="Parts, separated by commas.")] = PARTS,
    cpu: Annotated[bool, typer.Option("--cpu", help="The CPU engine on a LocalCluster.")] = False,
    graph: Annotated[str, typer.Option(help="Count 4-cycles of this graph instead of the long counts.")] = "",
):
    """Print a line for each part."""
    engine = "cpu" if cpu else "gpu"
    with cluster_of(workers, cpu) as client:
        for part in only.split(","):
            if part == "session":
                session(graph or "soc-Epinions1", client)
            elif part == "counts":
                for name, patterns in ({graph: ("4-cycle",)} if graph else COUNTS).items():
                    counts(name, patterns, workers, client, engine)
            elif part == "queries":
                queries(graph or "soc-Epinions1", workers, client, engine)
            else:
                raise typer.BadParameter(f"only: expected some of {PARTS}, got {part!r}")


if __name__ == "__main__":
    typer.run(main)
