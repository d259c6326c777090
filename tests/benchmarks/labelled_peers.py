"""Labelled queries that the CPU engine has never seen, on one thread, beside the CPU peers that were measured before.

    python tests/benchmarks/labelled_peers.py [--query 8_0,query_dense_4_58] [--graph yeast] [--limit S] [--profile]
    python tests/benchmarks/labelled_peers.py --rows 100000

`labelled/peers.tsv` of the data folder lists the queries with the CPU milliseconds of each peer (`>`: not within 10 s);
those of github (16 random labels) and human are made anew by the same random walks, those of yeast are recorded ones.
Cold is a query never seen on a graph that other queries have been asked of, kernels compiled: the least of a few
trials, each of which forgets what is kept for single queries. It is split into filters, plan, build and search. Warm is
the second call. Times are CPU milliseconds of the process. Counts are compared with the recorded ones. With --rows, so
many matches are listed instead, and build and search are the walk and the dataframe; DAF's time is for 100,000.
"""

from __future__ import annotations

import os

os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import cProfile
import math
import pstats
import time
from collections import deque
from typing import Annotated, NamedTuple

import numpy as np
import pandas as pd
import typer
from cases import data_folder

import cusubmatch as csm
from cusubmatch.engines.cpu import CpuEngine
from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution.collection.row_collector import row_collector
from cusubmatch.execution.conditioned_query import make_count
from cusubmatch.execution.planned_call import make_query
from cusubmatch.execution.query_options import QueryOptions

LABELS, LABEL_SEED, WALK_SEED, WALKS = 16, 1203, 77, 20
STEPS_PER_VERTEX = 60  # of a random walk, before another one is begun
PEERS = ["DAF", "RM", "RMnoFS", "SMGQL", "SMGQLnoFS", "SMRI"]
# What the cache of a graph, or of its copy on a device, keeps for a query.
OF_ONE_QUERY = ("prepared", "plans", "plans beside", "walks", "forms", "sampled plans", "device plans")
OF_ONE_QUERY += "left to the GPU", "seconds that the host took", "counted patterns", "counted in place of"
SLACK_FACTOR, SLACK_MS = 1.5, 2.0  # no query is to be slower than the best peer by more
SHOWN = 30


class Taken(NamedTuple):
    """Milliseconds of one call, and its count (None: not within the limit)."""

    filters: float
    plan: float
    build: float
    search: float
    count: int | None

    @property
    def together(self) -> float:
        return self.filters + self.plan + self.build + self.search


def walked_query(random, neighbours, starts, labels, size):
    """The pattern induced by a random walk, None where the walk meets too few vertices; draws as the peers' queries."""
    here, steps = starts[int(random.integers(len(starts)))], 0
    met = [here]
    while len(met) < size and steps < STEPS_PER_VERTEX * size:
        here, steps = neighbours[here][int(random.integers(len(neighbours[here])))], steps + 1
        if here not in met:
            met.append(here)
    if len(met) < size:
        return None
    inside = [(i, j) for i in range(size) for j in range(i + 1, size) if met[j] in set(neighbours[met[i]])]
    return csm.Pattern(inside, vertices=range(size), labels={i: int(labels[v]) for i, v in enumerate(met)})


def walked_queries(edges, labels, size, count=WALKS, seed=WALK_SEED):
    """So many patterns of `size` vertices that random walks induce, by number."""
    neighbours = [[] for _ in labels]
    for a, b in edges.itertuples(index=False):
        neighbours[a].append(b)
        neighbours[b].append(a)
    starts = [v for v, some in enumerate(neighbours) if len(some) > 1]
    random, queries = np.random.default_rng(seed * 1000 + size), []
    while len(queries) < count:
        query = walked_query(random, neighbours, starts, labels, size)
        queries += [] if query is None else [query]
    return queries


def recorded_queries(folder, names):
    """The queries of yeast by name."""
    parts = pd.read_parquet(folder / "yeast.queries.parquet")
    queries = {}
    for name in names:
        part = parts[parts["query"] == name]
        vertices, edges = part[part.part == "v"], part[part.part == "e"]
        ends = list(zip(edges.a.tolist(), edges.b.tolist(), strict=True))
        labels = dict(zip(vertices.a.tolist(), vertices.b.tolist(), strict=True))
        queries[name] = csm.Pattern(ends, vertices=vertices.a.tolist(), labels=labels)
    return queries


def load(name, peers):
    """(graph, queries by name, queries to prepare the graph with) of a workload."""
    folder = data_folder()
    file = "musae-github" if name == "github" else name
    edges = pd.read_parquet(folder / f"{file}.parquet")[["src", "dst"]]
    if name == "github":
        labels = np.random.default_rng(LABEL_SEED).integers(0, LABELS, int(edges.max().max()) + 1)
    else:
        labels = pd.read_parquet(folder / f"{name}.labels.parquet").sort_values("vertex").label.to_numpy()
    vertices = pd.DataFrame({"vertex": np.arange(len(labels)), "label": labels})
    graph = csm.Graph.from_edgelist(edges, vertices=vertices, vertex_label="label")
    others = [query for size in (4, 8, 12) for query in walked_queries(edges, labels, size, 3, seed=5)]
    if name == "yeast":
        return graph, recorded_queries(folder, peers["query"]), others
    queries = {}
    for size in sorted(set(peers["size"])):
        walked = walked_queries(edges, labels, size)
        queries |= {f"{size}_{i}": query for i, query in enumerate(walked)}
    return graph, queries, others


def whole_call(graph, query, limit_s, engine, clock):
    """Count a query by the public function, whose steps overlap where two engines count: all time is search."""
    begin = clock()
    try:
        counted = csm.count_matches(graph, query, unique=False, engine=engine.name, time_limit=limit_s)
    except csm.TimeLimitExceeded:
        counted = None
    return Taken(0.0, 0.0, 0.0, (clock() - begin) / 1e6, counted)


def call(graph, query, limit_s, rows=0, engine=CpuEngine, clock=time.process_time_ns):
    """Count a query in the steps of a public call, or list so many rows, each step with its time."""
    if engine is not CpuEngine and not rows:
        return whole_call(graph, query, limit_s, engine, clock)
    spent = {"filters": 0.0}
    prepare = engine.prepare

    def timed_prepare(*arguments):
        begin = clock()
        try:
            return prepare(*arguments)
        finally:
            spent["filters"] += clock() - begin

    engine.prepare = timed_prepare
    begin = clock()
    deadline = time.monotonic() + limit_s
    counted = made = built = None
    try:
        options = QueryOptions(unique=False, engine=engine.name, counting=not rows, limit=rows or None)
        planned = (make_query if rows else make_count)(graph, query, options, deadline)
        made = clock()
        if rows:
            found = row_collector(planned, rows, None)
            deque(found.blocks(None), 0)
            built = clock()
            counted = len(found.frame())
        else:
            run = planned.count_run(None)
            built = clock()
            counted = run.count()
    except DeadlinePassed:
        made = made or clock()
        built = built or made
    finally:
        engine.prepare = prepare
    end = clock()
    filters = spent["filters"]
    return Taken(filters / 1e6, (made - begin - filters) / 1e6, (built - made) / 1e6, (end - built) / 1e6, counted)


def forget(graph):
    """Forget what is kept for single queries: also rows, unless they are those that all queries share."""
    for copy in (graph, *graph.cache.values("copies")):
        copy.cache.forget(*OF_ONE_QUERY)
    if not graph.shared_relations:
        graph.cache.forget("rows", "hubs")


def cold(graph, query, limit_s, trials, rows=0, **how):
    """The least of several calls as if the query had never been asked, and the call after them."""
    best = None
    for _ in range(trials):
        forget(graph)
        unseen = csm.Pattern(
            [(e.source, e.target) for e in query.edges],
            vertices=range(len(query)),
            labels=dict(enumerate(query.labels)),
        )
        taken = call(graph, unseen, limit_s, rows, **how)
        if best is None or taken.together < best.together:
            best = taken
        if taken.together > 1e3:
            break
    return best, call(graph, unseen, limit_s, rows, **how) if best.count is not None else best


def profiled(graph, query, limit_s, rows):
    """Print where the Python time of a cold call goes."""
    forget(graph)
    profiler = cProfile.Profile()
    profiler.enable()
    call(graph, query, limit_s, rows)
    profiler.disable()
    pstats.Stats(profiler).strip_dirs().sort_stats("cumulative").print_stats(SHOWN)


def geometric_mean(values):
    values = np.asarray(list(values), float)
    return float(np.exp(np.log(np.maximum(values, 1e-3)).mean())) if len(values) else float("nan")


def summary(table):
    """The lines below the table: means beside the peers', and what is behind."""
    ours = table[table.cold.notna()]
    both = ours[ours.DAF.notna()]
    best = ours[ours.best.notna()]
    unsolved = table[table.best.isna()]
    yield f"solved {len(ours)} of {len(table)}; DAF {table.DAF.notna().sum()}, any peer {table.best.notna().sum()}"
    yield f"of the {len(unsolved)} that no peer solves: {unsolved.cold.notna().sum()}"
    yield (
        f"with DAF ({len(both)}): cold {geometric_mean(both.cold):.2f} ms, warm {geometric_mean(both.warm):.2f}, "
        f"DAF {geometric_mean(both.DAF):.2f}; filters {geometric_mean(both.filters):.2f}, "
        f"plan {geometric_mean(both.plan):.2f}, build {geometric_mean(both.build):.2f}, "
        f"search {geometric_mean(both.search):.2f}"
    )
    means = geometric_mean(best.cold), geometric_mean(best.best)
    yield f"with the best peer ({len(best)}): cold {means[0]:.2f} ms, best {means[1]:.2f}"
    slower = best[best.cold > SLACK_FACTOR * best.best + SLACK_MS]
    yield f"slower than {SLACK_FACTOR} times the best peer and {SLACK_MS:g} ms: {len(slower)} {list(slower['query'])}"
    for least, most, target in ((0, 16, 2.0), (17, 32, 10.0)):
        some = table[(table["size"] >= least) & (table["size"] <= most) & table.plan.notna()]
        if len(some):
            planning = some.filters + some.plan
            worst = f"{planning.max():.2f} ({some['query'][planning.idxmax()]})"
            yield (
                f"{least} to {most} vertices: filters and plan median {planning.median():.2f} ms, worst {worst}, "
                f"{(planning > target).sum()} over {target:g}"
            )


def main(
    query: Annotated[str, typer.Option(help="Only these queries, separated by commas.")] = "",
    graph: Annotated[str, typer.Option(help="Only these workloads, separated by commas.")] = "",
    limit: Annotated[float, typer.Option(help="Seconds that a call may take.")] = 10.0,
    trials: Annotated[int, typer.Option(help="Cold calls of a query, of which the least counts.")] = 3,
    rows: Annotated[int, typer.Option(help="List at most so many matches instead of counting.")] = 0,
    profile: Annotated[bool, typer.Option("--profile", help="Also profile a cold call of each query.")] = False,
    save: Annotated[str, typer.Option(help="File to write the table to, separated by tabs.")] = "",
):
    """Ask the queries of `labelled/peers.tsv`, and print a line for each."""
    peers = pd.read_csv(data_folder() / "labelled" / "peers.tsv", sep="\t", dtype={"count": "string"})
    if rows:
        peers = peers.drop(columns=["DAF", "RM"]).rename(columns={"DAF_1e5": "DAF", "RM_1e5": "RM"})
        peers[["RMnoFS", "SMGQL", "SMGQLnoFS", "SMRI"]] = math.nan
    for peer in PEERS:
        peers[peer] = pd.to_numeric(peers[peer], errors="coerce")
    if query:
        peers = peers[peers["query"].isin(query.split(","))]
    if graph:
        peers = peers[peers.workload.isin(graph.split(","))]
    print(f"walks: seed {WALK_SEED}, labels of github: {LABELS}, seed {LABEL_SEED}; least of {trials}; CPU ms")
    print(
        f"{'query':26} {'count':>20} {'filters':>8} {'plan':>8} {'build':>7} {'search':>9} {'cold':>9} {'warm':>9} "
        f"{'DAF':>9} {'best':>9}"
    )
    lines = []
    for workload, wanted in peers.groupby("workload", sort=False):
        G, queries, others = load(workload, wanted)
        for other in others:
            call(G, other, 5.0, rows)
        for peer in wanted.itertuples():
            P = queries[peer.query]
            first, second = cold(G, P, limit, trials, rows)
            best = min((t for t in (getattr(peer, name) for name in PEERS) if t == t), default=float("nan"))
            solved = first.count is not None
            expected = None if pd.isna(peer.count) else min(int(peer.count), rows or math.inf)
            wrong = solved and expected not in (None, first.count)
            row = {
                "graph": workload, "query": peer.query, "size": len(P), "count": first.count, "filters": first.filters,
                "plan": first.plan, "build": first.build, "search": first.search,
                "cold": first.together if solved else None, "warm": second.together if solved else None,
                "DAF": peer.DAF, "best": best,
            }  # fmt: skip
            lines.append(row)
            count = str(first.count) if solved else ">"
            shown_cold, shown_warm = (f"{row[k]:9.2f}" if solved else f"{'>':>9}" for k in ("cold", "warm"))
            print(
                f"{workload + ' ' + peer.query:26} {count[:20]:>20} {first.filters:8.2f} {first.plan:8.2f} "
                f"{first.build:7.2f} {first.search:9.2f} {shown_cold} {shown_warm} {peer.DAF:9.2f} {best:9.2f}"
                f"{' WRONG' if wrong else ''}",
                flush=True,
            )
            if profile:
                profiled(G, P, limit, rows)
    table = pd.DataFrame(lines)
    if save:
        table.to_csv(save, sep="\t", index=False)
    print(*summary(table.astype(dict.fromkeys(("cold", "warm", "DAF", "best"), float))), sep="\n")


if __name__ == "__main__":
    typer.run(main)
