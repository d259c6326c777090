"""Large graphs made on the device: seconds, edges a second and peak device memory, with closed forms for truth.

    python tests/benchmarks/scale.py [--small] [--triangles]

A Kronecker product of stars with 1.8 billion edges, whose triangles and 4-cliques are known in closed form, and R-MAT
of scale 24. Edges never touch the host. `--small` takes scale 16 and a product of 1.4 million edges; with `--triangles`
4-cliques are left out.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from typing import Annotated

import numpy as np
import typer

import cusubmatch as csm

LEAVES, SMALL = (3, 4, 5, 9, 16, 25, 81), (3, 4, 5, 9, 16)
CHUNK = 1 << 27  # entries made at a time
LONG_S = 5.0  # a count that takes longer is not repeated


def kronecker(leaves):
    """The edges src < dst of the product of stars with a loop at each hub, less its own loop."""
    import cupy

    entries = math.prod(2 * n + 1 for n in leaves)
    src, dst = (cupy.empty(entries // 2, np.int32) for _ in range(2))
    filled = 0
    for begin in range(0, entries, CHUNK):
        rest = cupy.arange(begin, min(begin + CHUNK, entries), dtype=np.int64)
        row, column = cupy.zeros(len(rest), np.int32), cupy.zeros(len(rest), np.int32)
        for n in leaves:
            entry = (rest % (2 * n + 1)).astype(np.int32)
            rest //= 2 * n + 1
            row = row * (n + 1) + cupy.where(entry > n, entry - n, 0)
            column = column * (n + 1) + cupy.where(entry > n, 0, entry)
        kept = cupy.flatnonzero(row < column)
        src[filled : filled + len(kept)], dst[filled : filled + len(kept)] = row[kept], column[kept]
        filled += len(kept)
    return src, dst


def kronecker_cliques(leaves, k):
    """k-cliques of that product: injective maps are homomorphisms less those that share vertex 0, the only loop.

    A leaf has no loop and no neighbour but the hub, so of k mutually adjacent vertices at most one is at a leaf.
    """

    def homomorphisms(size):
        return math.prod(1 + size * n for n in leaves)

    def without_loop(size):  # injective, vertex 0 not used; it is adjacent to all
        return sum((-1) ** j * math.comb(size, j) * homomorphisms(size - j) for j in range(size + 1))

    return (without_loop(k) + k * without_loop(k - 1)) // math.factorial(k)


def rmat(scale, edge_factor=16, seed=1):
    """R-MAT as `generators.rmat` describes it, from the device's random numbers."""
    import cupy

    n = edge_factor << scale
    random = cupy.random.default_rng(seed)
    keys = cupy.zeros(n, np.int64)
    for _ in range(scale):
        draw = random.random(n, dtype=np.float32)
        lower = draw >= np.float32(0.76)
        right = cupy.where(lower, draw >= np.float32(0.95), draw >= np.float32(0.57))
        keys += keys + (lower.astype(np.int64) << 32) + right
    del draw, lower, right
    row, column = (keys >> 32).astype(np.int32), (keys & 0xFFFFFFFF).astype(np.int32)
    del keys
    return row, column


def used():
    """A hook of CuPy that looks at every allocation how many bytes of its pool are in use."""
    import cupy

    class Used(cupy.cuda.MemoryHook):
        name = "used"

        def __init__(self):
            self.before = self.most = cupy.get_default_memory_pool().used_bytes()

        def malloc_postprocess(self, **_):
            self.most = max(self.most, cupy.get_default_memory_pool().used_bytes())

    return Used()


class Peak:
    """The most device memory that is taken while it runs, in GB.

    `most`: of the whole device, looked at every few milliseconds; `beyond`: what arrays take beyond those that were
    there before, exactly.
    """

    def __enter__(self):
        import cupy

        cupy.get_default_memory_pool().free_all_blocks()
        self._stop, self.most = threading.Event(), 0.0
        self._used = used()
        self._used.__enter__()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self):
        import cupy

        while not self._stop.wait(0.002):
            free, total = cupy.cuda.runtime.memGetInfo()
            self.most = max(self.most, (total - free) / 1e9)

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()
        self._used.__exit__(*_)

    @property
    def beyond(self):
        return (self._used.most - self._used.before) / 1e9

    def __str__(self):
        return f"device memory up to {self.most:.1f} GB, {self.beyond:.2f} GB beyond what lay there"


def measured(name, edges, expected):
    """Build a graph, count its cliques of each size, and print what that took; how many counts are wrong."""
    import cupy

    rows = len(edges[0])
    with Peak() as peak:
        begin = time.perf_counter()
        graph = csm.Graph.from_edgelist(edges)
        cupy.cuda.Device().synchronize()
        seconds = time.perf_counter() - begin
    del edges
    size = (graph.offsets.nbytes + graph.targets.nbytes) / 1e9
    built = f"{rows:,} rows in {seconds:.2f} s, {rows / seconds / 1e6:,.0f} M/s, {peak}, {peak.beyond / size:.2f} CSR"
    title = f"{graph.n_vertices:,} vertices, {graph.n_edges:,} edges, CSR of {size:.2f} GB"
    print(f"{name}: {title}; built from {built}", flush=True)
    wrong = 0
    for k in expected:
        seconds = []
        with Peak() as peak:
            while len(seconds) < 2 and sum(seconds) < LONG_S:
                begin = time.perf_counter()
                count = csm.count_matches(graph, csm.Pattern.clique(k), engine="gpu")
                seconds.append(time.perf_counter() - begin)
        wrong += expected[k] not in {None, count}
        verdict = {None: "", count: ", as in closed form"}.get(expected[k], ", WRONG")
        again = "".join(f", again {each:.3f} s" for each in seconds[1:])
        times = f"first {seconds[0]:.2f} s{again}, {peak}, {peak.beyond / size:.2f} CSR"
        print(f"  {k}-cliques {count:,}{verdict}: {times}", flush=True)
    return wrong


def main(
    small: Annotated[bool, typer.Option(help="Small graphs.")] = False,
    triangles: Annotated[bool, typer.Option(help="Triangles only.")] = False,
):
    import cupy

    sizes = (3,) if triangles else (3, 4)
    leaves, scale = (SMALL, 16) if small else (LEAVES, 24)
    csm.Graph.from_edgelist(rmat(10))  # compiles
    cupy.cuda.set_allocator(cupy.get_default_memory_pool().malloc)  # hooks do not see RMM's, which cuDF has set
    wrong = measured(f"R-MAT {scale} x 16", rmat(scale), dict.fromkeys(sizes))
    expected = {k: kronecker_cliques(leaves, k) for k in sizes}
    wrong += measured(f"Kronecker {'-'.join(map(str, leaves))} B1k", kronecker(leaves), expected)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    typer.run(main)
