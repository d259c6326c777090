"""A small case that launches every kind of kernel, to be run under compute-sanitizer.

    python tests/benchmarks/sanitized.py

The exit status is 1 if a count is not that of the CPU engine.
"""

import numpy as np
import pandas as pd
import typer

import cusubmatch as csm
from cusubmatch.api.options import checked_query
from cusubmatch.engines.registry import engine_named
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.generators import rmat
from cusubmatch.graph.support_graph import support_graph_of

PATTERNS = [
    *(csm.Pattern.clique(k) for k in (2, 3, 4, 5, 6)),
    csm.Pattern.cycle(4),
    "(a)--(b)--(c)--(d)--(a)--(c)",
    "(a)--(b)--(c)--(d)--(a)--(e)--(b)",
    "(x:a)-[:y]-(z:b)--(w:a|b)--(x)",
]


def main():
    import cupy

    edges = rmat(7, 6, seed=3)
    edges["kind"] = ["x" if i % 3 else "y" for i in range(len(edges))]
    vertices = pd.DataFrame({"vertex": range(128), "label": ["a" if v % 2 else "b" for v in range(128)]})
    G = csm.Graph.from_edgelist(edges, edge_label="kind", vertices=vertices, vertex_label="label")
    for pattern in PATTERNS:
        for semantics in ("monomorphism", "induced", "homomorphism"):
            options = {"semantics": semantics}
            count = csm.count_matches(G, pattern, engine="gpu", **options)
            assert count == csm.count_matches(G, pattern, engine="cpu", **options)
            assert len(csm.subgraph_match(G, pattern, engine="gpu", limit=1000, **options)) == min(count, 1000)

    for text in ("(a)--(b)--(c)--(a)--(x)--(b), (c)--(y)", "(a:a)--(b)--(c:b), (a)--(x), (c)--(y)"):
        query = checked_query(G, text, QueryOptions(engine="gpu", suffix=2))
        assert query.run().count() == csm.count_matches(G, text, engine="cpu")

    # Counts as small as these are walked: the kernels for tables are called as they are.
    on_cpu, on_gpu = (
        engine.table_kernels(support_graph_of(graph, engine.reverse_arcs), lambda _: None)
        for graph, engine in ((G.host, engine_named("cpu")), (G.device, engine_named("gpu")))
    )
    ones = [None] * 5
    twos = [np.full(len(on_cpu.support.targets), 2, np.uint64)] * 5

    def same(kernel, *arguments):
        there = [[None if some is None else cupy.asarray(some) for some in values] for values in arguments[:1]]
        ours, theirs = getattr(on_gpu, kernel)(*there, *arguments[1:]), getattr(on_cpu, kernel)(*arguments)
        assert np.array_equal(cupy.asnumpy(ours), theirs), kernel

    for values in (ones, twos):
        for prime in (0, 2**31 - 1):
            for steps in (2, 3):
                same("chain", values[:steps], False, prime)
            same("cliques", values, prime)
            same("loop", values, prime)
    same("loop", ones[:4], 0)
    for bridge in (ones, twos):
        there = tuple(None if some is None else cupy.asarray(some) for some in bridge)
        found = [
            kernels.pairs((None, None), [((None, None), 1), (kind, 1)], False, True, 0)
            for kernels, kind in ((on_cpu, tuple(bridge)), (on_gpu, there))
        ]
        assert found[0] == found[1]
    print("all counts agree")


if __name__ == "__main__":
    typer.run(main)
