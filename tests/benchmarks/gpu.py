"""The GPU engine beside the best of eight research codes, on one GPU: kernel time by CUDA events, counts checked.

    python tests/benchmarks/gpu.py [--only GRAPH,...]

The codes' figures are in `truth/gpu_peers.tsv`: kernels only, each by its own timer, on an H200. Ours are the best of
three warm counts that walk, less what is prepared once a graph; where kernels are launched as one, of that launch.
`call` is a whole warm call, which counts by decomposition where that is thought to be quicker. Then: rows a second into
a dataframe, and edges a second of preparation.
"""

from __future__ import annotations

import sys
import time
from math import exp, log
from pathlib import Path
from typing import Annotated
from unittest import mock

import numpy as np
import pandas as pd
import typer
from cases import data_folder

import cusubmatch as csm
from cusubmatch.api.options import checked_query
from cusubmatch.engines.gpu.runtime import cuda, launch_batches
from cusubmatch.execution.query_options import QueryOptions

PEERS = Path(__file__).parents[1] / "data" / "gpu_peers.tsv"
REPEATS = 3
WARM = 3  # calls after which nothing is prepared, compiled or recorded any more
BOUND = ("closed", "device plans")  # what a graph keeps that is bound to launches

DELAY = r"""extern "C" __global__ void delay(long long ns) {
    long long begin, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
    do { asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)); } while (now - begin < ns);
}"""


class KernelClock:
    """Milliseconds of all kernels that are launched while it runs.

    A kernel is held back until the host has launched it and recorded the events around it, so that only its own time is
    between them. Launches are not recorded meanwhile: they would be launched as one.
    """

    def __enter__(self):
        import cupy

        self.events, original = [], cuda.Kernel.__getitem__
        delay = cupy.RawKernel(DELAY, "delay")

        def timed(kernel, shape):
            launch = original(kernel, shape)

            def run(*arguments):
                begin, end = cupy.cuda.Event(), cupy.cuda.Event()
                delay((1,), (1,), (np.int64(300_000),))
                begin.record()
                launch(*arguments)
                end.record()
                self.events.append((begin, end))

            return run

        self._patches = (
            mock.patch.object(cuda.Kernel, "__getitem__", timed),
            mock.patch.object(launch_batches, "COUNTS_BEFORE_RECORDING", -1),
        )
        for patch in self._patches:
            patch.start()
        return self

    def __exit__(self, *_):
        for patch in self._patches:
            patch.stop()

    @property
    def ms(self):
        import cupy

        cupy.cuda.Device().synchronize()
        return sum(cupy.cuda.get_elapsed_time(begin, end) for begin, end in self.events)


def graph_edges(name):
    if name.startswith("rmat"):
        return csm.generators.rmat(int(name[4:]), 16)
    return pd.read_parquet(data_folder() / f"{name}.parquet")[["src", "dst"]]


def graph_of(name):
    return csm.Graph.from_edgelist(graph_edges(name)).device


def pattern_of(edges):
    return csm.Pattern([tuple(edge.split("-")) for edge in edges.split(",")])


def kernel_ms(count, repeats=REPEATS):
    """The least milliseconds of the kernels that `count()` launches; what it prepares is not counted."""
    best = float("inf")
    with KernelClock() as clock:
        count()
        for _ in range(repeats):
            clock.events.clear()
            count()
            best = min(best, clock.ms)
    return best


def kernel_ms_of(G, pattern, repeats=REPEATS):
    """The least milliseconds of the kernels of a warm count."""
    G.cache.forget(*BOUND)  # so that launches are bound to kernels that are timed
    try:
        return kernel_ms(lambda: csm.count_matches(G, pattern, engine="gpu"), repeats)
    finally:
        G.cache.forget(*BOUND)


def one_launch_ms(G, repeats=REPEATS):
    """The least milliseconds on the device of the closed count made last, if its kernels are launched as one."""
    import cupy

    replays = [words.replay for counter in G.cache.values("closed")[-1:] for words in counter._launches._free]
    if not any(replays):
        return None
    delay, best = cupy.RawKernel(DELAY, "delay"), float("inf")
    for _ in range(repeats):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        delay((1,), (1,), (np.int64(300_000),))
        begin.record()
        next(filter(None, replays))()
        end.record()
        end.synchronize()
        best = min(best, cupy.cuda.get_elapsed_time(begin, end))
    return best


def calls_ms(G, pattern, repeats):
    """The milliseconds of each of so many whole calls, warm."""
    taken = []
    for turn in range(WARM + repeats):
        begin = time.perf_counter()
        csm.count_matches(G, pattern, engine="gpu")
        if turn >= WARM:
            taken.append(1e3 * (time.perf_counter() - begin))
    return taken


def measured(G, pattern):
    """(count, kernel ms by walking, ms of a call, how the call counts)."""
    G.cache.forget("closed")
    count = csm.count_matches(G, pattern, engine="gpu")
    call = min(calls_ms(G, pattern, REPEATS))
    chosen, query = (checked_query(G, pattern, QueryOptions(engine="gpu", suffix=suffix)) for suffix in (None, 0))
    plan = chosen.plan
    in_parts = plan.in_parts is not None and plan.in_parts.first
    how = "tables" if in_parts else "suffix" if plan.suffix is not None else "walk"

    def walk():
        if query.run().count() != count:
            raise SystemExit(f"{pattern!r}: walking finds another number than {count:,}")

    ms = one_launch_ms(G) if how == "walk" else None
    if ms is None:
        G.cache.forget(*BOUND)  # so that launches are bound to kernels that are timed
        ms = kernel_ms(walk)
        G.cache.forget(*BOUND)
    return count, ms, call, how


def rows_a_second():
    """Embeddings of the 4-cycle into a dataframe on the device."""
    import cudf

    edges = cudf.from_pandas(pd.read_parquet(data_folder() / "soc-Epinions1.parquet")[["src", "dst"]].astype("int32"))
    G, best = csm.Graph.from_edgelist(edges), float("inf")
    for _ in range(REPEATS):
        begin = time.perf_counter()
        found = len(csm.subgraph_match(G, csm.Pattern.cycle(4), unique=False, engine="gpu"))
        best = min(best, time.perf_counter() - begin)
    print(f"4-cycles as rows of a cuDF frame: {found:,} in {1e3 * best:.0f} ms, {found / best / 1e9:.2f} G/s")


def edges_a_second():
    """From a cuDF edge list to a graph."""
    import cudf
    import cupy

    edges, best = cudf.from_pandas(csm.generators.rmat(22, 16)), float("inf")
    for _ in range(REPEATS):
        begin = time.perf_counter()
        csm.Graph.from_edgelist(edges)
        cupy.cuda.Device().synchronize()
        best = min(best, time.perf_counter() - begin)
    print(f"graph from cuDF: {len(edges):,} edges in {1e3 * best:.0f} ms, {len(edges) / best / 1e6:.0f} M/s")


def main(only: Annotated[str, typer.Option(help="Graphs, separated by commas.")] = ""):
    peers = pd.read_csv(PEERS, sep="\t")
    ratios: list[tuple[float, float]] = []
    wrong = 0
    heads = f"{'graph':14} {'pattern':18} {'count':>15} {'peer ms':>9} {'walk ms':>9} {'faster':>7}"
    print(f"{heads} {'call ms':>9} {'faster':>7}  how     peer")
    for name, rows in peers.groupby("graph", sort=False):
        if only and name not in only.split(","):
            continue
        G = graph_of(name)
        for row in rows.itertuples():
            count, ms, call, how = measured(G, pattern_of(row.edges))
            wrong += count != row.count
            ratios.append((row.peer_ms / ms, row.peer_ms / call))
            mark = "" if count == row.count else "  WRONG"
            walked = f"{row.graph:14} {row.pattern:18} {count:15,} {row.peer_ms:9.3f} {ms:9.3f} {row.peer_ms / ms:7.2f}"
            print(f"{walked} {call:9.3f} {row.peer_ms / call:7.2f}  {how:6}  {row.peer}{mark}", flush=True)
    if not only:
        rows_a_second()
        edges_a_second()
    walking, calls = (exp(np.mean([log(ratio) for ratio in some])) for some in zip(*ratios, strict=True))
    print(f"geometric mean {walking:.2f}x by kernels that walk, {calls:.2f}x by whole calls; {wrong} wrong")
    return sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    typer.run(main)
