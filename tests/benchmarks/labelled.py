"""Labelled queries: the GPU engine beside the CPU engine on two threads, whole calls, counts compared.

    python tests/benchmarks/labelled.py

Yeast: its recorded queries with at most 10^8 embeddings. Human and ego-Twitter (with 16 random labels): the patterns
that random walks of 8 to 16 vertices induce. Plans are made and kernels compiled before the clock runs; what the first
call of a query takes to plan is shown apart. A query that is not answered within the limit counts for that.
"""

from __future__ import annotations

import os
import time

os.environ["NUMBA_NUM_THREADS"] = "2"

from itertools import combinations

import numpy as np
import pandas as pd
from cases import data_folder

import cusubmatch as csm

LIMIT_S = 3.0
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


def answer(graph, queries, engine, limit_s=LIMIT_S):
    """Per query the count (None beyond the limit) and the seconds."""
    counts, seconds = [], []
    for query in queries:
        begin = time.perf_counter()
        try:
            counts.append(csm.count_matches(graph, query, unique=False, engine=engine, time_limit=limit_s))
        except csm.TimeLimitExceeded:
            counts.append(None)
        seconds.append(time.perf_counter() - begin)
    return counts, np.array(seconds)


def sets():
    """(name, graph, queries) of each set."""
    folder = data_folder()
    for name in ("yeast", "human", "ego-Twitter"):
        edges = pd.read_parquet(folder / f"{name}.parquet")
        if name == "ego-Twitter":
            n = int(edges[["src", "dst"]].max().max()) + 1
            labels = np.random.default_rng(16).integers(0, LABELS, n).tolist()
        else:
            labels = pd.read_parquet(folder / f"{name}.labels.parquet").sort_values("vertex").label.tolist()
        queries = yeast_queries(folder) if name == "yeast" else walked_queries(edges, labels, SIZES, QUERIES)
        yield name, graph_of(edges, labels), queries


def main():
    heads = f"{'gpu s':>8} {'cpu s':>8} {'faster':>7} {'median':>7}"
    print(f"{'graph':12} {'queries':>7} {'embeddings':>16} {heads} late gpu, cpu; ms to plan gpu, cpu")
    for name, graph, queries in sets():
        planned, taken, found = {}, {}, {}
        for engine in ("gpu", "cpu"):
            answer(graph, queries, engine, limit_s=0.3)
            begin = time.perf_counter()
            for query in queries:
                csm.explain(graph, query, unique=False, engine=engine)
            planned[engine] = 1e3 * (time.perf_counter() - begin) / len(queries)
            found[engine], taken[engine] = answer(graph, queries, engine)
        both = [(a, b) for a, b in zip(found["gpu"], found["cpu"], strict=True) if None not in (a, b)]
        wrong = sum(a != b for a, b in both)
        late = [sum(count is None for count in found[engine]) for engine in ("gpu", "cpu")]
        faster, median = taken["cpu"].sum() / taken["gpu"].sum(), np.median(taken["cpu"] / taken["gpu"])
        total = sum(count or 0 for count in found["gpu"])
        times = f"{taken['gpu'].sum():8.3f} {taken['cpu'].sum():8.2f} {faster:7.1f} {median:7.1f}"
        marks = f"{late[0]}, {late[1]}; {planned['gpu']:.1f}, {planned['cpu']:.1f}{' WRONG' * bool(wrong)}"
        print(f"{name:12} {len(queries):7} {total:16,} {times} {marks}", flush=True)


if __name__ == "__main__":
    main()
