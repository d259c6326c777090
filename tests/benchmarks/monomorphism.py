"""`subgraph_monomorphism` where cuGraph's own runs out of memory, and beside it where it does not: rows into cuDF.

    python tests/benchmarks/monomorphism.py [--only GRAPH,...] [--repeats N] [--no-peer]

All embeddings as a table on the device, of the graphs that cuGraph 26.10 was measured on; instead of email-Enron, which
is not among the data graphs, musae-github. A cuDF column holds fewer than 2**31 rows, so where there are more
embeddings they come in batches, and one match a subgraph as a table. Counts are checked against those of the CPU
engine, and the rows of small cases against what cuGraph itself finds. Graphs are made before the clock runs: each side
is given its own kind.
"""

from __future__ import annotations

import gc
import importlib.util
import time
from typing import Annotated, NamedTuple

import pandas as pd
import typer
from cases import data_folder

import cusubmatch as csm

BATCH_ROWS = 1 << 26


class Case(NamedTuple):
    """A graph, a pattern and how many rows to expect; cuGraph's recorded ms, or why there are none."""

    graph: str
    name: str
    rows: int
    theirs: str = ""
    compared: bool = False
    way: str = "table"


CASES = (
    Case("karate", "triangle", 270, compared=True),
    Case("karate", "4-clique", 264, compared=True),
    Case("karate", "4-cycle", 1_232, compared=True),
    Case("ca-HepPh", "triangle", 20_150_994, "63 ms", compared=True),
    Case("ca-HepPh", "4-clique", 3_606_752_928, "out of memory", way="batches"),
    Case("ca-HepPh", "4-clique", 150_281_372, "", way="unique"),
    Case("musae-github", "triangle", 3_142_860),
    Case("musae-github", "4-clique", 16_589_880),
    Case("musae-github", "4-cycle", 483_086_304),
    Case("soc-Epinions1", "triangle", 9_746_886, "201 ms"),
    Case("soc-Epinions1", "4-clique", 139_281_528, "column overflow"),
    Case("cnr-2000", "triangle", 125_865_774, "out of memory"),
)
PATTERNS = {
    "triangle": [(0, 1), (1, 2), (2, 0)],
    "4-clique": [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)],
    "4-cycle": [(0, 1), (1, 2), (2, 3), (3, 0)],
}


def edges_of(name):
    """The edges as a cuDF dataframe."""
    import cudf

    return cudf.from_pandas(pd.read_parquet(data_folder() / f"{name}.parquet")[["src", "dst"]].astype("int32"))


def timed(function, repeats):
    """(the least milliseconds of so many calls after a first, the last result)."""
    import cupy

    best, result = float("inf"), function()
    for _ in range(repeats):
        result = None  # two results need not fit
        gc.collect()
        begin = time.perf_counter()
        result = function()
        cupy.cuda.Device().synchronize()
        best = min(best, time.perf_counter() - begin)
    return 1e3 * best, result


def by_us(graph, case, repeats):
    """(ms, rows, the table if it is one)."""
    pattern = csm.Pattern(PATTERNS[case.name])
    if case.way == "batches":

        def rows():
            batches = csm.iter_matches(graph, pattern, unique=False, engine="gpu", batch_rows=BATCH_ROWS)
            return sum(map(len, batches))

        ms, found = timed(rows, 1)
        return ms, found, None
    if case.way == "unique":
        ms, table = timed(lambda: csm.subgraph_match(graph, pattern, engine="gpu"), repeats)
    else:
        ms, table = timed(lambda: csm.subgraph_monomorphism(graph, pattern), repeats)
    return ms, len(table), table


def by_cugraph(edges, case, repeats):
    """(ms, table) of cuGraph's function."""
    import cudf
    import cugraph
    from cugraph.experimental import subgraph_monomorphism

    graph, shape = cugraph.Graph(), cugraph.Graph()
    graph.from_cudf_edgelist(edges, source="src", destination="dst")
    ends = pd.DataFrame(PATTERNS[case.name], columns=["src", "dst"], dtype="int32")
    shape.from_cudf_edgelist(cudf.from_pandas(ends), source="src", destination="dst")
    return timed(lambda: subgraph_monomorphism(graph, shape), repeats)


def same_rows(ours, theirs):
    """Whether two tables of embeddings, a column a vertex of the pattern, hold the same rows."""
    columns = sorted(ours.columns)

    def in_order(table):
        table = table.rename(columns={name: str(name) for name in table.columns})[columns].astype("int64")
        return table.sort_values(columns).reset_index(drop=True)

    return len(ours) == len(theirs) and bool((in_order(ours) == in_order(theirs)).all().all())


def main(
    only: Annotated[str, typer.Option(help="Graphs, separated by commas.")] = "",
    repeats: Annotated[int, typer.Option(help="Calls after the first, of which the best stands.")] = 3,
    peer: Annotated[bool, typer.Option(help="Compare with cuGraph's own function on small cases.")] = True,
):
    peer = peer and importlib.util.find_spec("cugraph") is not None
    wrong, last, edges, graph = 0, None, None, None
    print(f"{'graph':14} {'pattern':9} {'as':8} {'rows':>14} {'GB':>6} {'ours ms':>9}  {'cuGraph then':16} cuGraph now")
    for case in CASES:
        if only and case.graph not in only.split(","):
            continue
        if case.graph != last:
            edges, last = edges_of(case.graph), case.graph
            graph = csm.Graph.from_edgelist(edges)
        ms, rows, table = by_us(graph, case, repeats)
        size = 0 if table is None else table.memory_usage(index=False).sum() / 1e9
        now = "" if rows == case.rows else f"WRONG, {case.rows:,} expected"
        if case.compared and peer:
            theirs_ms, theirs = by_cugraph(edges, case, repeats)
            now += f"{theirs_ms:.0f} ms, {'the same rows' if same_rows(table, theirs) else 'WRONG: other rows'}"
            theirs = None
        wrong += "WRONG" in now
        figures = f"{rows:14,} {size:6.2f} {ms:9.1f}"
        print(f"{case.graph:14} {case.name:9} {case.way:8} {figures}  {case.theirs:16} {now}", flush=True)
        table = None
    print(f"{wrong} wrong{'' if peer else '; rows were not compared with cuGraph'}")
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    typer.run(main)
