"""The order of roots: those with the longest rows first, each once, and none outside a range."""

import numpy as np
import pandas as pd

from cusubmatch import Graph, Pattern
from cusubmatch.engines.cpu import CpuEngine
from cusubmatch.engines.cpu.conditioning.root_order import put_longest_first
from cusubmatch.engines.cpu.tunables import Tunables
from cusubmatch.plan import constraints_of

STARS = (1, 3, 2, 3)  # leaves of each


def test_the_roots_with_the_longest_rows_come_first():
    edges = [(centre, 10 * (centre + 1) + leaf) for centre, leaves in enumerate(STARS) for leaf in range(leaves)]
    vertices = pd.DataFrame({"vertex": sorted({v for edge in edges for v in edge})})
    vertices["label"] = (vertices["vertex"] >= 10).astype(int)
    frame = pd.DataFrame(edges, columns=["src", "dst"])
    graph = Graph.from_edgelist(frame, vertices=vertices, vertex_label="label")
    pattern = Pattern([(0, 1)], labels={0: 0, 1: 1})
    engine = CpuEngine(Tunables(candidate_graph_vertices=1, small_candidate_arcs=1 << 40))
    local = engine.prepare(graph, pattern, constraints_of(pattern, graph, "monomorphism"), True).candidate_graph
    lengths, roots = np.diff(local.adjacency.offsets[local.constraints.required[0, 1][0]]), np.arange(4, dtype=np.int32)
    put_longest_first(local, 0, roots[1:3])
    assert lengths[roots[1]] >= lengths[roots[2]]
    assert roots[[0, 3]].tolist() == [0, 3]
    put_longest_first(local, 0, roots)
    assert lengths[roots].tolist() == [3, 3, 2, 1]
    assert sorted(roots.tolist()) == [0, 1, 2, 3]
