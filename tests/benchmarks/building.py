"""Building graphs of dataframes on the device: seconds, and peak device memory over what the graph takes.

    python tests/benchmarks/building.py [--edges 1000000000]

Random edges with sixteen a vertex, directed and undirected, in a cuDF dataframe that is made before; one line.
"""

from __future__ import annotations

import time
from typing import Annotated

import typer
from scale import Peak

import cusubmatch as csm


def main(
    edges: Annotated[int, typer.Option(help="rows of the edge table")] = 1_000_000_000,
) -> None:
    """Build each graph twice, the second time under watch, and print the line."""
    import cudf
    import cupy

    cupy.cuda.set_allocator(cupy.get_default_memory_pool().malloc)  # the pool that is watched, rather than RMM's
    random = cupy.random.default_rng(1)
    frame = cudf.DataFrame({end: random.integers(0, edges // 16, edges, dtype="int32") for end in ("src", "dst")})
    said = []
    for directed in (True, False):
        csm.Graph.from_edgelist(frame.head(1000), directed=directed)  # what is compiled and imported for it
        with Peak() as peak:
            begin = time.perf_counter()
            graph = csm.Graph.from_edgelist(frame, directed=directed)
            cupy.cuda.Device().synchronize()
            seconds = time.perf_counter() - begin
        taken = (graph.offsets.nbytes + graph.targets.nbytes) / 1e9
        kind = "directed" if directed else "undirected"
        said.append(f"{kind} {seconds:.3f} s, peak {peak.beyond:.2f} GB, {peak.beyond / taken:.2f} of the CSR")
        del graph
    print(f"building of {edges:,} edges: {'; '.join(said)}")


if __name__ == "__main__":
    typer.run(main)
