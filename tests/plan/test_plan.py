"""The plan: any order, method and direction counts the same; restrictions keep one of each orbit; the text is whole."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from naive import automorphisms
from plans import plan_for
from tiers import thorough

import cusubmatch as csm
from cusubmatch import Graph, Pattern, generators
from cusubmatch.engines.cpu.search.run import Run
from cusubmatch.plan.symmetry import restrictions

SHAPES = {
    "edge": "(a)--(b)",
    "path": "(a)--(b)--(c)--(d)",
    "claw": "(a)--(b), (a)--(c), (a)--(d)",
    "triangle": "(a)--(b)--(c)--(a)",
    "paw": "(a)--(b)--(c)--(a)--(d)",
    "square": "(a)--(b)--(c)--(d)--(a)",
    "diamond": "(a)--(b)--(c)--(d)--(a)--(c)",
    "4-clique": "(a)--(b)--(c)--(d)--(a)--(c), (b)--(d)",
    "house": "(a)--(b)--(c)--(d)--(a)--(e)--(b)",
    "bull": "(a)--(b)--(c)--(a)--(d), (b)--(e)",
    "bowtie": "(a)--(b)--(c)--(a)--(d)--(e)--(a)",
    "K2,3": "(a)--(x)--(b)--(y)--(a)--(z)--(b)",
    "feed-forward": "(a)-->(b)-->(c), (a)-->(c)",
    "ring": "(a)-->(b)-->(c)-->(a)",
    "two sources": "(a)-->(c), (b)-->(c), (c)--(d)",
}
LONG = ["house", "bowtie"]  # they have many orders, and many matches
WAYS = [("monomorphism", True), ("induced", True), ("homomorphism", False)]


def skewed_graph(directed):
    edges = generators.rmat(7, 6, seed=3)
    return Graph.from_edgelist(edges, directed=directed)


def connected_orders(pattern):
    joined = {pair for edge in pattern.edges for pair in (edge[:2], edge[1::-1])}
    for order in permutations(range(len(pattern))):
        if all(any((u, v) in joined for u in order[:i]) for i, v in enumerate(order) if i):
            yield order


@pytest.mark.one_each
@pytest.mark.parametrize(("semantics", "unique"), WAYS)
@pytest.mark.parametrize("name", [*(name for name in SHAPES if name not in LONG), *thorough(*LONG)])
def test_every_order_method_and_direction_counts_the_same(name, semantics, unique):
    pattern = Pattern.parse(SHAPES[name])
    graph = skewed_graph(pattern.directed)
    prepared = None
    counts, methods = set(), set()
    for order in connected_orders(pattern):
        for method in ("lists", "bitmaps"):
            for ascending in (False, True):
                try:
                    only = {"methods": (method,), "ascending": ascending, "order": order}
                    plan, prepared = plan_for(graph, pattern, semantics, unique, True, prepared, **only)
                except ValueError:  # bitmaps need a first vertex that touches all others
                    continue
                if plan.walked < (2 if method == "bitmaps" else 0):
                    continue
                assert tuple(level.vertex for level in plan.levels) == order
                counts.add(Run(prepared, plan).count())
                methods.add(plan.method)
    touches_all = any(sum(v in edge[:2] for edge in pattern.edges) == len(pattern) - 1 for v in range(len(pattern)))
    assert methods >= ({"lists", "bitmaps"} if touches_all and len(pattern) > 3 else {"lists"})
    assert counts == {csm.count_matches(graph, pattern, semantics=semantics)}


@pytest.mark.parametrize("name", SHAPES)
def test_restrictions_keep_exactly_one_member_of_each_orbit(name):
    pattern = Pattern.parse(SHAPES[name])
    symmetries = automorphisms(pattern)
    for order in connected_orders(pattern):
        bounds = restrictions(pattern.automorphisms, order)
        for ranks in permutations(range(len(pattern))):  # data vertices of any ranks, one for each pattern vertex
            orbit = [[ranks[s[vertex]] for vertex in order] for s in symmetries]
            kept = [all(image[i] > image[j] for j, some in enumerate(bounds) for i in some) for image in orbit]
            assert sum(kept) == 1


@pytest.mark.parametrize("counting", [True, False])
@pytest.mark.parametrize("name", SHAPES)
def test_the_text_of_a_plan_names_every_level_set_and_restriction(name, counting):
    pattern = Pattern.parse(SHAPES[name])
    plan = csm.explain(skewed_graph(pattern.directed), pattern, counting=counting)
    text = str(plan)
    for index, level in enumerate(plan.levels):
        assert f"level {index}: {pattern.names[level.vertex]} from " in text
    for number, _ in enumerate(plan.steps, 1):
        assert f"make S{number} = " in text
        assert text.count(f"S{number}") >= 2  # made, and used
    side = "above" if plan.ascending else "below"
    applied = sum(len(level.deferred_restrictions) for level in plan.levels) + sum(
        len(step.bounds) for step in plan.steps
    )
    assert text.count(f"rank {side} ") == applied
    assert ("estimated time" in text, plan.engine in text, plan.why in text) == (True, True, True)


@pytest.mark.parametrize("counting", [True, False])
@pytest.mark.parametrize("size", [2, 5, 20])
def test_the_repr_of_a_plan_is_one_short_line_and_its_str_the_whole_text(size, counting):
    plan = csm.explain(skewed_graph(directed=False), Pattern.clique(size), counting=counting, engine="cpu")
    assert repr(plan).startswith("Plan(")
    assert len(repr(plan)) < 200
    for part in ("estimated", "monomorphism", "count by" if counting else "rows by", "cpu"):
        assert part in repr(plan)
    assert (repr(plan.pattern) in repr(plan)) == (size == 2)
    assert str(plan).startswith(repr(plan.pattern))
    assert "\n" not in repr(plan)


def test_a_plan_depends_on_structure_and_not_on_names():
    graph, house = skewed_graph(directed=False), [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (4, 1)]
    named = [Pattern([(names[a], names[b]) for a, b in house]) for names in ("abcde", "edcba", "vwxyz", "house")]
    assert len({csm.explain(graph, pattern).cost for pattern in named}) == 1


def test_filters_leave_a_plan_what_can_reach_the_rare_label():
    edges = pd.DataFrame({"src": range(1000), "dst": [i // 2 for i in range(1000, 2000)]})
    vertices = pd.DataFrame({"vertex": range(1000), "label": ["rare" if v == 500 else "common" for v in range(1000)]})
    graph = Graph.from_edgelist(edges, vertices=vertices, vertex_label="label")
    assert csm.explain(graph, "(a:common)--(b:common)--(c:rare)").sizes == (2, 1, 1)


def test_sets_that_are_cut_by_their_own_members_are_not_taken_to_be_short():
    n = 20_000
    hubs = pd.DataFrame({"src": np.repeat([0, 1], n), "dst": np.tile(np.arange(2, n + 2), 2)})
    graph = Graph.from_edgelist(hubs)
    plan = csm.explain(graph, "(a)--(x)--(b)--(y)--(a)--(z)--(b)", engine="cpu")
    assert n * n / 2 < plan.count_cost < 4 * n * n  # nanoseconds: at each of n vertices, a set of n / 2 is made
