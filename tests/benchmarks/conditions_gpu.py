"""Ordered motifs in windows of time on a GPU, as whole warm calls beside the kernel times of Everest (PVLDB 2024).

    python tests/benchmarks/conditions.py --engine gpu [--graph payments-1M] [--motif cycle3,path3] [--hours 6,24]

The cells, counts and Everest's milliseconds are those of `temporal/counts.tsv` in the data folder. Ours: milliseconds
of the first call of a pattern, on a graph on which others were counted, and of a warm call of `count_matches`, the
least of five. `*` marks a count that is not the recorded one. Last, the rows of ordered triples that a second brings
into a dataframe.
"""

from __future__ import annotations

import math
import time

import numpy as np
import pandas as pd
from temporal_data import temporal_counts, temporal_table

import cusubmatch as csm

HOUR_S = 3_600
REPEATS, FEWER_REPEATS, LONG_S = 5, 3, 0.2
SAME_ROLES = " AND id(x) < id(y)"  # what unique=True says, too
TRIPLES = "(a)-[p]->(b)-[q]->(c) WHERE p.time < q.time AND q.time - p.time <= $D"
OTHER = "(a)-[p]->(b)-[q]->(c)-[r]->(b) WHERE p.time < q.time AND q.time < r.time AND r.time - p.time <= $D"


def milliseconds(call):
    """The result of a call, milliseconds of the first one, and the least of some more."""
    begin = time.perf_counter()
    result = call()
    first, best = time.perf_counter() - begin, math.inf
    for _ in range(REPEATS if first < LONG_S else FEWER_REPEATS):
        begin = time.perf_counter()
        again = call()
        best = min(best, time.perf_counter() - begin)
        if again != result:
            raise AssertionError(f"counts differ: {result} and {again}")
    return result, 1e3 * first, 1e3 * best


def count_cells(name, wanted, hours, engine):
    """Print the cells of a graph; the ratios to Everest's times of the long ones, and the times of the short ones."""
    table = temporal_table(name)[["src", "dst", "time"]]
    begin = time.perf_counter()
    graph = csm.Graph.from_edgelist(table, directed=True, time="time")
    for text in (TRIPLES, OTHER):  # which prepare the rows of the graph, and load kernels and libraries
        csm.count_matches(graph, text, edges="each", params={"D": 1}, engine=engine)
    print(f"{name}: {len(table):,} rows, built and first counted in {time.perf_counter() - begin:.1f} s", flush=True)
    ratios, short, firsts, wrong = [], [], [], 0
    for row in temporal_counts(name).itertuples(index=False):
        if (wanted and row.name not in wanted) or (hours and row.delta // HOUR_S not in hours):
            continue
        pattern, params = row.pattern.replace(SAME_ROLES, ""), {"D": int(row.delta)}

        def call(pattern=pattern, params=params):
            return csm.count_matches(graph, pattern, edges="each", params=params, engine=engine)

        count, first, warm = milliseconds(call)
        known = None if pd.isna(row.count) else int(row.count)
        mark = "*" if known is not None and known != count else " " if known is not None else "?"
        wrong += mark == "*"
        firsts.append(first)
        theirs = float(row.everest_ms)
        (ratios if theirs >= 1 else short).append(warm / theirs if theirs >= 1 else warm)
        figures = f"{row.delta // HOUR_S:4}{count:14}{mark}{first:10.1f}{warm:10.3f}{theirs:10.3f}{warm / theirs:8.2f}"
        print(f"{name:24}{row.name:18}{figures}", flush=True)
    if firsts:
        print(f"{name}: first calls of a pattern: median {np.median(firsts):.1f} ms, largest {max(firsts):.1f} ms")
    return ratios, short, wrong


def rows_a_second(name, delta_s, family, engine):
    """Ordered pairs of payments as rows into a dataframe, the best of three."""
    table = temporal_table(name)[["src", "dst", "time"]]
    if family == "cudf":
        import cudf

        table = cudf.DataFrame(table)
    graph, best, rows = csm.Graph.from_edgelist(table, directed=True, time="time"), math.inf, 0
    for _ in range(4):
        begin = time.perf_counter()
        found = csm.subgraph_match(graph, TRIPLES, edges="each", params={"D": delta_s}, engine=engine)
        rows = len(found)
        del found
        best = min(best, time.perf_counter() - begin)
    print(f"{name}: {rows:,} ordered triples within {delta_s} s into {family}: {rows / best / 1e9:.2f} G rows/s")


def report(names, wanted, hours, engine="gpu"):
    """Print all cells and what they come to."""
    print(f"{'graph':24}{'motif':18}{'h':>4}{'count':>14} {'first ms':>10}{'warm ms':>10}{'Everest':>10}{'ratio':>8}")
    ratios, short, wrong = [], [], 0
    for name in names:
        more = count_cells(name, wanted, hours, engine)
        ratios, short, wrong = ratios + more[0], short + more[1], wrong + more[2]
    if ratios:
        mean = float(np.exp(np.mean(np.log(ratios))))
        print(f"{len(ratios)} cells of 1 ms or more: geometric mean {mean:.2f} (to be 0.5), largest {max(ratios):.2f}")
    if short:
        print(f"{len(short)} cells of less: slowest {max(short):.3f} ms (to be 0.4), median {np.median(short):.3f} ms")
    print(f"{wrong} wrong counts")
