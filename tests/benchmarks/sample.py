"""What a sample of 1,000 houses takes beside counting them, on one thread.

    python tests/benchmarks/sample.py [GRAPH ...]

A graph is the name of a file in the data folder; by default soc-Epinions1, which takes minutes.
"""

from __future__ import annotations

import time
from typing import Annotated

import numba
import pandas as pd
import typer
from cases import data_folder

import cusubmatch as csm
from cusubmatch.api.sample_matches import sample_matches

HOUSE = "(a)--(b)--(c)--(d)--(a), (a)--(e)--(b)"
ROWS = 1000


def seconds_of(action):
    """Wall seconds of a call, and what it returned."""
    begin = time.perf_counter()
    result = action()
    return time.perf_counter() - begin, result


def main(graphs: Annotated[list[str] | None, typer.Argument(help="Names of files in the data folder.")] = None):
    numba.config.NUMBA_NUM_THREADS = 1
    sample_matches(pd.DataFrame({"src": [0, 1, 2], "dst": [1, 2, 0]}), HOUSE, 1)  # compiles
    for name in graphs or ["soc-Epinions1"]:
        graph = csm.Graph.from_edgelist(pd.read_parquet(data_folder() / f"{name}.parquet")[["src", "dst"]])
        csm.explain(graph, HOUSE, engine="cpu")  # candidates and the plan are kept
        counting, count = seconds_of(lambda graph=graph: csm.count_matches(graph, HOUSE, engine="cpu"))
        drawing, (rows, _) = seconds_of(lambda graph=graph: sample_matches(graph, HOUSE, ROWS, seed=1, engine="cpu"))
        print(
            f"{name} house, {count:,} matches: count {counting:.2f} s, sample of {len(rows):,} {drawing:.2f} s "
            f"({drawing / counting:.2f}x)",
            flush=True,
        )


if __name__ == "__main__":
    typer.run(main)
