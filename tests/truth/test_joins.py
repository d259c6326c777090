"""The engine against a database's way: one join of an edge table a pattern edge, then what may not be is struck out.

This is the truth for graphs that the oracle is too slow for: 150 vertices with hubs, vertex labels and parallel edges,
where the engine's shortcuts for long lists, hubs and counted levels are at work. The joins themselves are held against
the oracle.
"""

from __future__ import annotations

from functools import cache
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from naive import SEMANTICS, automorphisms, embeddings
from strategies import RawGraph, cases, patterns, skewed_rows
from tiers import examples

from cusubmatch import count_matches, subgraph_match

# Random patterns ask for labels that random graphs lack.
pytestmark = pytest.mark.filterwarnings("ignore::cusubmatch.AbsentLabelWarning")

MOST_ROWS = 60_000


def joined(raw, pattern, semantics):
    """All embeddings as an array (rows, pattern vertices), sorted; None if a join grows past MOST_ROWS."""
    arcs = pd.DataFrame([(a, b, row[0] if row else None) for a, b, *row in raw.rows], columns=["a", "b", "label"])
    arcs = arcs[arcs["a"] != arcs["b"]]
    if not raw.directed:
        arcs = pd.concat([arcs, arcs.rename(columns={"a": "b", "b": "a"})])
    labels = raw.labels or {}
    vertices = pd.Series(raw.naive().vertices, dtype=arcs["a"].dtype if len(arcs) else None)

    def allowed(i):
        some = pattern.labels[i]
        return vertices if some is None else vertices[[labels.get(v) in some for v in vertices]]

    table, open_edges = pd.DataFrame({0: allowed(0)}), list(pattern.edges)
    while open_edges:
        edge = next(e for e in open_edges if e.source in table or e.target in table)
        open_edges.remove(edge)
        pairs = arcs if edge.labels is None else arcs[arcs["label"].isin(edge.labels)]
        pairs = pairs[["a", "b"]].set_axis([edge.source, edge.target], axis=1)
        if not edge.directed:
            pairs = pd.concat([pairs, pairs.set_axis([edge.target, edge.source], axis=1)])
        pairs = pairs.drop_duplicates()
        known = [end for end in (edge.source, edge.target) if end in table]
        table = table.merge(pairs, on=known)
        for new in {edge.source, edge.target} - set(known):
            table = table[table[new].isin(allowed(new))]
        apart = pattern.distinct if semantics == "homomorphism" else permutations(table.columns, 2)
        for i, j in apart:
            if i in table and j in table:
                table = table[table[i] != table[j]]
        if len(table) > MOST_ROWS:
            return None
    if semantics == "induced":
        free = {(e.source, e.target) for e in pattern.edges} | {
            (e.target, e.source) for e in pattern.edges if not e.directed
        }
        present = pd.MultiIndex.from_frame(arcs[["a", "b"]])
        for i, j in set(permutations(range(len(pattern)), 2)) - free:
            table = table[~pd.MultiIndex.from_frame(table[[i, j]]).isin(present)]
    return ordered(table[list(range(len(pattern)))].to_numpy())


def ordered(rows):
    """The rows of an array in lexicographic order."""
    return rows[np.lexsort(rows.T[::-1])] if len(rows) else rows


@cache
def skewed(directed, seed):
    """A graph of 150 vertices with hubs, most of them labelled, and parallel edges of three labels."""
    random = np.random.default_rng(seed)
    source, destination = skewed_rows(150, 700, seed).tolist()
    rows = list(zip(source, destination, random.choice(["X", "X", "Y", "Z"], len(source)).tolist(), strict=True))
    names = sorted({*source, *destination})
    labels = {
        v: (None, "A", "A", "B", "B", "C")[i] for v, i in zip(names, random.integers(0, 6, len(names)), strict=True)
    }
    raw = RawGraph(rows, directed, "int", "str", edge_labelled=True, labels=labels, isolated=[])
    return raw, raw.graph()


@pytest.mark.parametrize("semantics", SEMANTICS)
@examples(60)
@given(case=cases(max_vertices=7))
def test_joins_give_what_the_oracle_gives(semantics, case):
    raw, pattern = case
    rows = joined(raw, pattern, semantics)
    assert sorted(map(tuple, rows.tolist())) == sorted(embeddings(raw.naive(), pattern, semantics))


@pytest.mark.parametrize("semantics", SEMANTICS)
@examples(80)
@given(data=st.data(), directed=st.booleans(), seed=st.integers(0, 2))
def test_matches_in_a_graph_with_hubs_are_those_of_joins(semantics, data, directed, seed):
    raw, graph = skewed(directed, seed)
    pattern = data.draw(patterns(raw, 5, anonymous=False))
    truth = joined(raw, pattern, semantics)
    assume(truth is not None)
    symmetries = automorphisms(pattern)

    every = subgraph_match(graph, pattern, semantics=semantics, unique=False).to_numpy()
    assert np.array_equal(ordered(every), truth)
    assert count_matches(graph, pattern, semantics=semantics, unique=False) == len(truth)
    if semantics != "homomorphism":
        unique = subgraph_match(graph, pattern, semantics=semantics).to_numpy()
        assert np.array_equal(ordered(np.concatenate([unique[:, s] for s in symmetries])), truth)
        assert count_matches(graph, pattern, semantics=semantics) == len(unique)
