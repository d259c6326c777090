"""Rows that leave the GPU: how much of the bus they take, and what streaming costs beside counting.

    python tests/benchmarks/streaming.py [GRAPH] [--repeats 3]

All embeddings of the 4-cycle, by default 1,333,086,536 rows of soc-Epinions1: as one pandas frame, in batches of pandas
frames with 2 GB of memory, as a cuDF frame; the best of three, after a call that compiles. The bus is measured by
copies of 1 GiB into pinned memory. Memory is what was taken at most, of the device beside the graph, and of the host
beside what the process had.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import threading
import time
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pandas as pd
import typer
from cases import data_folder

import cusubmatch as csm
from cusubmatch.api.options import checked_query
from cusubmatch.execution.query_options import QueryOptions

CYCLE = csm.Pattern.cycle(4)
STREAM_BYTES, WHOLE_BYTES = 2 << 30, 100 << 30  # memory limits: of batches, and of one frame
BATCHES = (1 << 20, 1 << 23)
LOOKS_S = 0.005


class Figure(NamedTuple):
    what: str
    rows: int
    seconds: float
    row_bytes: int
    device_bytes: int
    host_bytes: int


class Memory:
    """The most memory that is in use while it runs, beyond what was in use before: of the device and of the host."""

    def __enter__(self):
        import cupy

        gc.collect()
        cupy.get_default_memory_pool().free_all_blocks()
        self._info, self._ended = cupy.cuda.runtime.memGetInfo, threading.Event()
        self._free = self._least = self._info()[0]
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        self._before = resident("VmRSS")
        self._looking = threading.Thread(target=self._look)
        self._looking.start()
        return self

    def _look(self):
        while not self._ended.wait(LOOKS_S):
            self._least = min(self._least, self._info()[0])

    def __exit__(self, *_):
        self._ended.set()
        self._looking.join()
        self.device_bytes, self.host_bytes = self._free - self._least, resident("VmHWM") - self._before


def resident(entry):
    """Bytes of the process, by the system."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(entry + ":"):
            return int(line.split()[1]) << 10
    return 0


def best(repeats, action):
    """The least seconds of several calls, and what the last one gave."""
    least = float("inf")
    for _ in range(repeats):
        begin = time.perf_counter()
        result = action()
        least = min(least, time.perf_counter() - begin)
    return least, result


def bus_rate(repeats):
    """Bytes a second of copies of 1 GiB from the device into pinned memory."""
    import cupy
    import cupyx

    source = cupy.ones(1 << 30, cupy.uint8)
    target, stream = cupyx.empty_pinned(1 << 30, np.uint8), cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()

    def copy():
        source.get(out=target, stream=stream)
        stream.synchronize()

    copy()
    seconds, _ = best(repeats, copy)
    return (1 << 30) / seconds


def measured(repeats, what, row_bytes, action):
    action()
    with Memory() as memory:
        action()
    seconds, rows = best(repeats, action)
    figure = Figure(what, rows, seconds, row_bytes, memory.device_bytes, memory.host_bytes)
    print(f"{figure.what}: {rows:,} rows in {seconds:.3f} s", flush=True)
    return figure


def streamed(graph, **options):
    """The rows of all batches, of which the caller keeps none."""
    rows = 0
    for batch in csm.iter_matches(graph, CYCLE, engine="gpu", **options):
        rows += len(batch)
    return rows


def counted(graph):
    """Counting by a walk over the same plan: the last level's candidates are counted, not written."""
    query = checked_query(graph, CYCLE, QueryOptions(unique=True, engine="gpu", counting=False))
    query = query._replace(plan=dataclasses.replace(query.plan, leaf_mode="size"))
    with patch("cusubmatch.engines.gpu.search.run.specialised_count", lambda *_: None):
        return query.run().count()


def main(
    graph: Annotated[str, typer.Argument(help="A file of the data folder.")] = "soc-Epinions1",
    repeats: Annotated[int, typer.Option(help="The best of so many is shown.")] = 3,
):
    edges = pd.read_parquet(data_folder() / f"{graph}.parquet")[["src", "dst"]].astype("int32")
    host = csm.Graph.from_edgelist(edges)
    bus, width = bus_rate(repeats), 4 * len(CYCLE.columns)
    every: dict[str, Any] = {"unique": False}

    def whole(given):
        return lambda: len(csm.subgraph_match(given, CYCLE, engine="gpu", memory_limit=WHOLE_BYTES, **every))

    def in_batches(given, rows, **options):
        return lambda: streamed(given, batch_rows=rows, memory_limit=STREAM_BYTES, **options)

    figures = [
        measured(repeats, f"pandas, batches of {rows:,}", width, in_batches(host, rows, **every)) for rows in BATCHES
    ]
    figures.append(measured(repeats, "pandas, one frame", width, whole(host)))
    try:
        import cudf
    except ImportError:
        print("cuDF is not here")
        device = None
    else:
        device = csm.Graph.from_edgelist(cudf.from_pandas(edges))
        figures.append(measured(repeats, "cuDF, one frame", width, whole(device)))
        figures.append(measured(repeats, f"cuDF, batches of {BATCHES[-1]:,}", width, in_batches(device, BATCHES[-1])))
        counting = measured(repeats, "count by walking", 0, lambda: counted(device))
        found = figures[-1]
        assert counting.rows == found.rows, "streaming and counting disagree"

    print(f"\nbus {bus / 1e9:.1f} GB/s")
    print(f"{'rows to':26} {'rows':>14} {'s':>7} {'G rows/s':>9} {'GB/s':>7} {'of bus':>7} {'device':>9} {'host':>9}")
    for figure in figures:
        rate = figure.rows / figure.seconds
        share = f"{100 * rate * figure.row_bytes / bus:6.0f}%" if figure.what.startswith("pandas") else f"{'-':>7}"
        memory = f"{figure.device_bytes / 2**20:6.0f} MiB {figure.host_bytes / 2**20:5.0f} MiB"
        speed = f"{figure.seconds:7.3f} {rate / 1e9:9.2f} {rate * figure.row_bytes / 1e9:7.1f}"
        print(f"{figure.what:26} {figure.rows:14,} {speed} {share} {memory}")
    if device is not None:
        cost = 100 * (found.seconds / counting.seconds - 1)
        seconds = f"{found.seconds:.4f} s, counting by a walk {counting.seconds:.4f} s"
        print(f"streaming on the device {seconds}: {cost:+.0f}%")


if __name__ == "__main__":
    typer.run(main)
