"""Labelled queries: the GPU engine beside the CPU engine on two threads, whole calls, counts compared.

    python tests/benchmarks/labelled.py [--only yeast,human,ego-Twitter] [--limit SECONDS]

Yeast: its recorded queries with at most 10^8 embeddings. Human and ego-Twitter (with 16 random labels): the patterns
that random walks of 8 to 16 vertices induce. Plans are made and kernels compiled before the clock runs. A query that
only the GPU answers in time counts with the limit for the CPU. The median is of seconds where both do, and elsewhere of
embeddings a second, of queries that are not counted by tables.
"""

from __future__ import annotations

import os
import threading
import time

os.environ["NUMBA_NUM_THREADS"] = "2"

from itertools import combinations
from typing import Annotated, NamedTuple

import numpy as np
import pandas as pd
import typer
from cases import data_folder

import cusubmatch as csm

WARM_S = 1.0
QUERIES, SIZES, LABELS = 12, (8, 12, 16), 16
MOST = 10**8  # embeddings of a recorded query


def graph_of(edges, labels):
    vertices = pd.DataFrame({"vertex": np.arange(len(labels)), "label": labels})
    return csm.Graph.from_edgelist(edges[["src", "dst"]], vertices=vertices, vertex_label="label")


def walked_queries(edges, labels, sizes, count):
    """Patterns induced by random walks, with the labels of the vertices that they meet."""
    neighbours = [[] for _ in labels]
    for a, b in edges[["src", "dst"]].itertuples(index=False):
        neighbours[a].append(b)
        neighbours[b].append(a)
    random, queries = np.random.default_rng(5), []
    starts = np.flatnonzero([len(some) > 1 for some in neighbours])
    while len(queries) < count:
        size = sizes[len(queries) % len(sizes)]
        here = int(random.choice(starts))
        found, steps = [here], 0
        while len(found) < size and steps < 50 * size:
            here, steps = neighbours[here][int(random.integers(len(neighbours[here])))], steps + 1
            if here not in found:
                found.append(here)
        if len(found) == size:
            inside = [(i, j) for i, j in combinations(range(size), 2) if found[j] in set(neighbours[found[i]])]
            queries.append(csm.Pattern(inside, labels={i: labels[v] for i, v in enumerate(found)}))
    return queries


def yeast_queries(folder):
    parts, answers = (pd.read_parquet(folder / f"yeast.{kind}.parquet") for kind in ("queries", "answers"))
    queries = []
    for name in answers[answers["count"] <= MOST]["query"].iloc[::6]:
        part = parts[parts["query"] == name]
        vertices, edges = part[part.part == "v"], part[part.part == "e"]
        labels = dict(zip(vertices.a.tolist(), vertices.b.tolist(), strict=True))
        queries.append(csm.Pattern(list(zip(edges.a.tolist(), edges.b.tolist(), strict=True)), labels=labels))
    return queries


class Answer(NamedTuple):
    """What a query brought: its count, or what was counted when the limit came (None: not known), and seconds."""

    count: int | None
    late: bool
    seconds: float

    @classmethod
    def to(cls, graph, query, engine, limit_s):
        begin = time.perf_counter()
        try:
            count, late = csm.count_matches(graph, query, unique=False, engine=engine, time_limit=limit_s), False
        except csm.TimeLimitExceeded as error:
            count, late = error.partial, True
        return cls(count, late, time.perf_counter() - begin)


def warm_up(graph, query, engine):
    """Ask until all that the query needs is planned and compiled; compilers go on in threads when the limit passes."""
    late, idle = True, 0
    while late and idle < 2:
        late = Answer.to(graph, query, engine, WARM_S).late
        compiling = [thread for thread in threading.enumerate() if thread.name.startswith("cusubmatch compiler")]
        for thread in compiling:
            thread.join()
        idle = 0 if compiling else idle + 1


def sets(names):
    """(name, graph, queries) of each set."""
    folder = data_folder()
    for name in names:
        edges = pd.read_parquet(folder / f"{name}.parquet")
        if name == "ego-Twitter":
            n = int(edges[["src", "dst"]].max().max()) + 1
            labels = np.random.default_rng(16).integers(0, LABELS, n).tolist()
        else:
            labels = pd.read_parquet(folder / f"{name}.labels.parquet").sort_values("vertex").label.tolist()
        queries = yeast_queries(folder) if name == "yeast" else walked_queries(edges, labels, SIZES, QUERIES)
        yield name, graph_of(edges, labels), queries


def rows_of(pairs):
    """The table's rows of a set: by which engine a query was answered in time, queries, seconds, ratios."""
    for kind, late in (("both", (False, False)), ("gpu only", (False, True)), ("neither", (True, True))):
        some = [(gpu, cpu) for gpu, cpu in pairs if (gpu.late, cpu.late) == late]
        if not some:
            continue
        gpu_s, cpu_s = (sum(pair[engine].seconds for pair in some) for engine in (0, 1))
        ratios = [cpu.seconds / gpu.seconds for gpu, cpu in some]
        if kind != "both":
            known = [(gpu, cpu) for gpu, cpu in some if gpu.count is not None and cpu.count is not None]
            ratios = [max(gpu.count, 1) / gpu.seconds / (max(cpu.count, 1) / cpu.seconds) for gpu, cpu in known]
        whole = f"{cpu_s / gpu_s:7.1f}" if kind != "neither" else " " * 7
        marks = " WRONG" * (kind == "both" and any(gpu.count != cpu.count for gpu, cpu in some))
        yield f"{kind:9} {len(some):7} {gpu_s:8.3f} {cpu_s:8.2f} {whole} {np.median(ratios):7.1f}{marks}"


def main(
    only: Annotated[str, typer.Option(help="Sets, comma-separated.")] = "yeast,human,ego-Twitter",
    limit: Annotated[float, typer.Option(help="Seconds that a query may take.")] = 3.0,
):
    """Ask every query of the sets on both engines, and print one table."""
    print(f"{'graph':12} {'in time':9} {'queries':>7} {'gpu s':>8} {'cpu s':>8} {'faster':>7} {'median':>7}")
    for name, graph, queries in sets(only.split(",")):
        found, planned = {}, {}
        for engine in ("gpu", "cpu"):
            for query in queries:
                warm_up(graph, query, engine)
            begin = time.perf_counter()
            for query in queries:
                csm.explain(graph, query, unique=False, engine=engine)
            planned[engine] = 1e3 * (time.perf_counter() - begin) / len(queries)
            found[engine] = [Answer.to(graph, query, engine, limit) for query in queries]
        for row in rows_of(list(zip(found["gpu"], found["cpu"], strict=True))):
            print(f"{name:12} {row}", flush=True)
        print(
            f"{name:12} planned in {planned['gpu']:.2f} ms for the GPU, {planned['cpu']:.2f} ms for the CPU", flush=True
        )


if __name__ == "__main__":
    typer.run(main)
