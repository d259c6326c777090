"""A small case that launches every kind of kernel, to be run under compute-sanitizer."""

import pandas as pd

import cusubmatch as csm
from cusubmatch.generators import rmat

edges = rmat(7, 6, seed=3)
edges["kind"] = ["x" if i % 3 else "y" for i in range(len(edges))]
vertices = pd.DataFrame({"vertex": range(128), "label": ["a" if v % 2 else "b" for v in range(128)]})
G = csm.Graph.from_edgelist(edges, edge_label="kind", vertices=vertices, vertex_label="label")
PATTERNS = [
    *(csm.Pattern.clique(k) for k in (2, 3, 4, 5, 6)),
    csm.Pattern.cycle(4),
    "(a)--(b)--(c)--(d)--(a)--(c)",
    "(a)--(b)--(c)--(d)--(a)--(e)--(b)",
    "(x:a)-[:y]-(z:b)--(w:a|b)--(x)",
]
for pattern in PATTERNS:
    for semantics in ("monomorphism", "induced", "homomorphism"):
        options = {"semantics": semantics}
        count = csm.count_matches(G, pattern, engine="gpu", **options)
        assert count == csm.count_matches(G, pattern, engine="cpu", **options)
        assert len(csm.subgraph_match(G, pattern, engine="gpu", limit=1000, **options)) == min(count, 1000)
print("all counts agree")
