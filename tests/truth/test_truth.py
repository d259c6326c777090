"""Recorded counts: triangles of every data graph, larger patterns where independent engines agree, and closed forms.

`truth/graphs.tsv` has the size and the triangles of each data graph; `truth/counts.tsv` has unique monomorphisms of
other patterns, with what walking them takes on a CPU: `short` ones always run, `long` ones (about a minute on one slow
core) are marked slow; none is beyond walking. `truth/kronecker.tsv` is the table of Kronecker graphs, which need no
data folder.
"""

import pandas as pd
import pytest
from paths import TRUTH
from tiers import thorough

import cusubmatch as csm
from cusubmatch.generators import kronecker, kronecker_counts, rmat

PATTERNS = {
    "triangle": csm.Pattern.clique(3),
    "clique4": csm.Pattern.clique(4),
    "clique5": csm.Pattern.clique(5),
    "diamond": csm.Pattern([(0, 1), (0, 2), (0, 3), (1, 2), (2, 3)]),
}


def rows(table, name):
    """The rows of a table as parameters, those whose `walk` is long marked slow; `name` gives their ids."""
    frame = pd.read_csv(TRUTH / table, sep="\t")
    marks = {"long": [pytest.mark.slow], "second tier": [pytest.mark.thorough]}
    return [
        pytest.param(row, id=name.format(**row._asdict()), marks=marks.get(row.walk, []))
        for row in frame.assign(walk=frame.get("walk", "short")).itertuples(index=False)
    ]


def pattern_of(edges):
    return csm.Pattern([tuple(map(int, edge.split("-"))) for edge in edges.split(",")])


def kronecker_graph(leaves, kind):
    return csm.Graph.from_edgelist(kronecker(leaves, kind))


@pytest.mark.parametrize("row", rows("graphs.tsv", "{graph}"))
def test_a_data_graph_has_its_recorded_size_and_triangles(data_graph, row):
    G = data_graph(row.graph)
    assert (G.n_vertices, G.n_edges) == (row.vertices, row.edges)
    assert csm.count_matches(G, PATTERNS["triangle"]) == row.triangles


@pytest.mark.parametrize("row", rows("counts.tsv", "{graph}-{pattern}"))
def test_a_count_is_the_recorded_one(data_graph, row):
    assert csm.count_matches(data_graph(row.graph), pattern_of(row.edges)) == row.unique_count


@pytest.mark.thorough
@pytest.mark.parametrize("row", rows("kronecker.tsv", "{leaves}-{kind}"))
def test_a_kronecker_graph_has_its_published_size_and_triangles(row):
    G = kronecker_graph([int(m) for m in row.leaves.split("-")], row.kind)
    assert (G.n_vertices, G.n_edges) == (row.vertices, row.edges)
    assert csm.count_matches(G, PATTERNS["triangle"]) == row.triangles


@pytest.mark.parametrize("kind", ["B0k", "B1k", "B2k"])
@pytest.mark.parametrize("leaves", [(1,), (7,), (1, 1), (3, 4), (2, 5, 9), (2, 3, 4, 5)], ids=str)
def test_a_small_kronecker_graph_has_the_triangles_of_the_closed_form(leaves, kind):
    G, counts = kronecker_graph(leaves, kind), kronecker_counts(leaves, kind)
    assert (G.n_vertices, G.n_edges) == (counts.vertices, counts.edges)
    assert csm.count_matches(G, PATTERNS["triangle"]) == counts.triangles


@pytest.mark.parametrize(("pattern", "count"), [("clique4", 518_400), *thorough(("clique5", 0))])
def test_cliques_of_the_kronecker_graph_with_hubs(pattern, count):
    assert csm.count_matches(kronecker_graph((25, 81, 256), "B1k"), PATTERNS[pattern]) == count


@pytest.mark.parametrize(("pattern", "count"), thorough(("triangle", 82_602_718), ("diamond", 45_612_565_584)))
def test_counts_of_the_rmat_graph_of_scale_18(pattern, count):
    assert csm.count_matches(csm.Graph.from_edgelist(rmat(18, 16)), PATTERNS[pattern]) == count
