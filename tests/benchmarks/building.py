"""Building graphs of dataframes on the device: seconds, and peak device memory over what the graph takes.

    python tests/benchmarks/building.py [--edges 1000000000] [--ids dense,wide,hashed] [--parquet FOLDER]

Random edges with sixteen a vertex, directed and undirected, in a cuDF dataframe that is made before; a line for each
kind of ids: int32 from 0 on, int64 with gaps, or any int64. With `--parquet` the table is written there first, in row
groups, and graphs are built of these.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from scale import Peak

import cusubmatch as csm

ROW_GROUPS = 64
GAPS = 15  # between wide ids


def columns(edges, ids):
    """Sources and destinations on the device."""
    import cupy

    random = cupy.random.default_rng(1)
    vertices = edges // 16
    names = None
    if ids != "dense":
        names = random.integers(0, 1 << 60, vertices) if ids == "hashed" else cupy.arange(vertices) * GAPS
    ends = {}
    for end in ("src", "dst"):
        ends[end] = random.integers(0, vertices, edges, dtype="int32")
        if names is not None:
            ends[end] = names[ends[end]]
    return ends


def write(frame, path):
    """A Parquet file of so many row groups."""
    from pyarrow import parquet

    step = -(-len(frame) // ROW_GROUPS)
    writer = None
    for begin in range(0, len(frame), step):
        table = frame.iloc[begin : begin + step].to_arrow(preserve_index=False)
        writer = writer or parquet.ParquetWriter(path, table.schema, compression="none", use_dictionary=False)
        writer.write_table(table, row_group_size=step)
    writer.close()


def built(make, edges, kind):
    """Build a graph under watch; what to say of it."""
    import cupy

    with Peak() as peak:
        begin = time.perf_counter()
        graph = make()
        cupy.cuda.Device().synchronize()
        seconds = time.perf_counter() - begin
    taken = (graph.offsets.nbytes + graph.targets.nbytes) / 1e9
    rate = edges / seconds / 1e6
    return f"{kind} {seconds:.2f} s ({rate:,.0f} M/s), peak {peak.beyond:.2f} GB, {peak.beyond / taken:.2f} of the CSR"


def main(
    edges: Annotated[int, typer.Option(help="rows of the edge table")] = 1_000_000_000,
    ids: Annotated[str, typer.Option(help="kinds of ids, with commas")] = "dense,wide,hashed",
    parquet: Annotated[Path | None, typer.Option(help="a folder for Parquet files")] = None,
) -> None:
    """Build each graph once, after a small one, and print the lines."""
    import cudf
    import cupy

    from cusubmatch.frames import family_named
    from cusubmatch.graph.parquet_edges import graph_of_parquet

    cupy.cuda.set_allocator(cupy.get_default_memory_pool().malloc)  # the pool that is watched, rather than RMM's
    options = {"source": "src", "destination": "dst", "edge_label": None, "vertex": "vertex", "vertex_label": None}
    options["time"] = None
    for kind in ids.split(","):
        frame = cudf.DataFrame(columns(edges, kind))
        path = None
        if parquet is not None:
            path = str(parquet / f"{kind}.parquet")
            write(frame, path)
            frame = frame.head(1000)
        said = []
        for directed in (True, False):
            csm.Graph.from_edgelist(frame.head(1000), directed=directed)  # what is compiled and imported for it

            def make(frame=frame, path=path, directed=directed):
                if path is None:
                    return csm.Graph.from_edgelist(frame, directed=directed)
                return graph_of_parquet(
                    [path], family_named("cudf"), None, options | {"directed": directed, "time": None}
                )

            said.append(built(make, edges, "directed" if directed else "undirected"))
        source = "rows" if path is None else "rows of Parquet"
        print(f"building of {edges:,} {source}, {kind} ids: {'; '.join(said)}", flush=True)
        del frame
        cupy.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    typer.run(main)
