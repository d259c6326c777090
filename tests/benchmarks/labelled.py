"""Labelled queries that an engine has never seen: filters with candidate graph, plan and search, apart and together.

    python tests/benchmarks/labelled.py [--only yeast,human] [--engine gpu] [--sizes 8,12] [--queries 20] [--limit S]

Yeast: recorded queries of each size. The other sets: the patterns that random walks of so many vertices induce; human
has its own labels, the others 16 random ones; seeds are printed. Cold is a query never seen on a graph that others have
been asked of, kernels compiled; warm is the second call. Wall-clock milliseconds, the CPU engine on as many threads as
NUMBA_NUM_THREADS says, by default one. A query that is not counted within the limit has no part in the medians. With
`--engine cpu,gpu` counts are compared, too.
"""

from __future__ import annotations

from itertools import pairwise
from time import perf_counter_ns
from typing import Annotated

import labelled_peers as peers  # the CPU engine gets one thread
import numpy as np
import pandas as pd
import typer
from cases import data_folder

import cusubmatch as csm
from cusubmatch.engines.cpu import CpuEngine

SETS = "yeast,human,musae-github"  # also ego-Twitter and cnr-2000, which suit a GPU
OTHER_QUERIES_LIMIT_S = 5.0


def engine_class(name):
    """The class of an engine; a GPU package is imported only if it is asked for."""
    if name == "cpu":
        return CpuEngine
    from cusubmatch.engines.gpu.engine import GpuEngine

    return GpuEngine


def load(name, sizes, count):
    """(graph, queries by size, queries to prepare the graph with) of a set."""
    folder = data_folder()
    edges = pd.read_parquet(folder / f"{name}.parquet")[["src", "dst"]]
    if name in ("yeast", "human"):
        labels = pd.read_parquet(folder / f"{name}.labels.parquet").sort_values("vertex").label.to_numpy()
    else:
        random = np.random.default_rng(peers.LABEL_SEED)
        labels = random.integers(0, peers.LABELS, int(edges.max().max()) + 1)
    vertices = pd.DataFrame({"vertex": np.arange(len(labels)), "label": labels})
    graph = csm.Graph.from_edgelist(edges, vertices=vertices, vertex_label="label")
    others = [query for size in (4, 8, 12) for query in peers.walked_queries(edges, labels, size, 3, seed=5)]
    if name == "yeast":
        answers = pd.read_parquet(folder / "yeast.answers.parquet")["query"]
        queries = {size: recorded(folder, answers, size, count) for size in sizes}
    else:
        queries = {size: peers.walked_queries(edges, labels, size, count) for size in sizes}
    return graph, queries, others


def recorded(folder, names, size, count):
    """So many recorded queries of yeast with so many vertices, evenly spread."""
    of_size = sorted(name for name in names if name.split("_")[2] == str(size))
    cuts = np.linspace(0, len(of_size), min(count, len(of_size)) + 1).astype(int).tolist()
    return list(peers.recorded_queries(folder, [of_size[begin] for begin, _ in pairwise(cuts)]).values())


def row_of(pairs):
    """The part of a row that tells of (cold, warm) calls: counted, medians of each step, the worst, the sum."""
    solved = [(cold, warm) for cold, warm in pairs if cold.count is not None]
    if not solved:
        return f"{0:7}"
    steps = [np.median([getattr(cold, step) for cold, _ in solved]) for step in ("filters", "plan")]
    steps.append(np.median([cold.build + cold.search for cold, _ in solved]))
    together = [cold.together for cold, _ in solved]
    warm = np.median([warm.together for _, warm in solved])
    numbers = [*steps, np.median(together), max(together), sum(together), warm]
    return f"{len(solved):7} " + " ".join(f"{number:9.2f}" for number in numbers)


def main(
    only: Annotated[str, typer.Option(help="Sets, comma-separated; also ego-Twitter, cnr-2000.")] = SETS,
    engine: Annotated[str, typer.Option(help="Engines, comma-separated.")] = "cpu",
    sizes: Annotated[str, typer.Option(help="Vertices of the queries, comma-separated.")] = "8,16,24",
    queries: Annotated[int, typer.Option(help="Queries of each size.")] = 20,
    limit: Annotated[float, typer.Option(help="Seconds that a query may take.")] = 2.0,
    trials: Annotated[int, typer.Option(help="Cold calls of a query, of which the least counts.")] = 2,
    each: Annotated[bool, typer.Option(help="Print a line for each query, too.")] = False,
):
    """Ask every query of the sets, and print a line for each set, size and engine."""
    wanted = [int(size) for size in sizes.split(",")]
    print(f"walks: seed {peers.WALK_SEED} and size; random labels: {peers.LABELS}, seed {peers.LABEL_SEED}")
    print(f"least of {trials} cold calls, wall-clock ms; at most {limit:g} s a query")
    columns = ("filters", "plan", "search", "together", "worst", "sum", "warm")
    print(
        f"{'graph':14}{'vertices':>8} {'engine':6} {'queries':>7} {'counted':>7} "
        + " ".join(map("{:>9}".format, columns))
    )
    for name in only.split(","):
        graph, by_size, others = load(name, wanted, queries)
        counts: dict[int, list[list]] = {size: [] for size in wanted}
        for one in engine.split(","):
            how = {"engine": engine_class(one), "clock": perf_counter_ns}
            for other in others:
                peers.call(graph, other, OTHER_QUERIES_LIMIT_S, **how)
            for size, asked in by_size.items():
                pairs = []
                for number, query in enumerate(asked):
                    pairs.append(peers.cold(graph, query, limit, trials, **how))
                    if each:
                        cold, _ = pairs[-1]
                        print(
                            f"{name:14}{size:8} {one:6} query {number}: {cold.count}, {cold.together:.1f}", flush=True
                        )
                counts[size].append([cold.count for cold, _ in pairs])
                print(f"{name:14}{size:8} {one:6} {len(asked):7} {row_of(pairs)}", flush=True)
        for size, found in counts.items():
            differ = sum(len({count for count in query if count is not None}) > 1 for query in zip(*found, strict=True))
            if differ:
                print(f"{name:14}{size:8} WRONG: the engines differ in {differ} counts")


if __name__ == "__main__":
    typer.run(main)
