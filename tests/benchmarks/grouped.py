"""Pairs of accounts with many accounts between them: `count_by`, scipy's sparse product and DuckDB, in the same run.

    python tests/benchmarks/grouped.py [--least 4] [--repeats 3] [--limit 60]

The payments are those of payments-1M (`temporal/payments.py` in the data folder), without their times. Seconds of wall
and CPU, each the least of some calls; ours also of the first call on a new graph. Numbers of pairs are compared.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from temporal_data import temporal_table

import cusubmatch as csm

PATTERN = "(a)-->(m)-->(b)"


def timed(call, repeats):
    """The result of a call, and the least of its wall and CPU seconds."""
    figures, result = [], None
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        result = call()
        figures.append((time.perf_counter() - wall, time.process_time() - cpu))
    return result, *(min(column) for column in zip(*figures, strict=True))


def by_scipy(table, least):
    """The pairs by a sparse product."""
    import scipy.sparse

    pairs = table[["src", "dst"]].drop_duplicates()
    n = int(pairs.max().max()) + 1
    matrix = scipy.sparse.csr_matrix((np.ones(len(pairs), np.int32), (pairs.src, pairs.dst)), shape=(n, n))

    def count():
        product = matrix @ matrix
        product.setdiag(0)
        return int((product.data >= least).sum())

    return count


def by_joins(table, least, limit):
    """The pairs by a join and a group; None where that takes longer than the limit."""
    import duckdb

    connection = duckdb.connect(config={"threads": 2})
    connection.register("given", table)
    connection.execute("create table pairs as select distinct src, dst from given")

    def count():
        timer = threading.Timer(limit, connection.interrupt)
        timer.start()
        try:
            return connection.execute(
                "select count(*) from (select 1 from pairs x join pairs y on x.dst = y.src where x.src <> y.dst "
                f"group by x.src, y.dst having count(*) >= {least})"
            ).fetchone()[0]
        except duckdb.InterruptException:
            return None
        finally:
            timer.cancel()

    return count


def main(
    least: Annotated[int, typer.Option(help="The fewest accounts between two.")] = 4,
    repeats: Annotated[int, typer.Option(help="Calls of which the quickest counts.")] = 3,
    limit: Annotated[float, typer.Option(help="Seconds after which DuckDB is cut.")] = 60.0,
):
    table = temporal_table("payments-1M")[["src", "dst"]]
    table = table[table.src != table.dst]
    graph = csm.Graph.from_edgelist(table, directed=True)

    def ours():
        return len(csm.count_by(graph, PATTERN, ["a", "b"], min_count=least, engine="cpu"))

    print(f"{'':22}{'pairs':>10}{'wall s':>9}{'CPU s':>9}")
    counts = set()
    for name, call, times in (
        ("count_by, first call", ours, 1),
        ("count_by, warm", ours, repeats),
        ("scipy", by_scipy(table, least), repeats),
        ("DuckDB, two threads", by_joins(table, least, limit), repeats),
    ):
        pairs, wall, cpu = timed(call, times)
        counts |= {pairs} - {None}
        print(f"{name:22}{'-' if pairs is None else pairs:>10}{wall:9.2f}{cpu:9.2f}", flush=True)
    if len(counts) > 1:
        print(f"the numbers of pairs differ: {sorted(counts)}")
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
