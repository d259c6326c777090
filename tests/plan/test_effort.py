"""How long planning may take: greedy orders first, no search that takes longer than the plan will."""

import numpy as np
import pandas as pd
import pytest
from plans import plan_for

from cusubmatch import Graph, Pattern, count_matches
from cusubmatch.engines.cpu import CpuEngine
from cusubmatch.plan import PlanningProblem, constraints_of, planner
from cusubmatch.plan.decomposition.foldable import is_foldable
from cusubmatch.plan.planning_problem import PlanOptions


def labelled_graph(n, edges, kinds, seed=4):
    random = np.random.default_rng(seed)
    ends = pd.DataFrame(random.integers(0, n, (edges, 2)), columns=["src", "dst"])
    labels = random.permutation(np.arange(n) % kinds)
    vertices = pd.DataFrame({"vertex": range(n), "label": labels})
    return Graph.from_edgelist(ends[ends.src != ends.dst], vertices=vertices, vertex_label="label")


def ring(size, kinds):
    return Pattern(
        [(i, (i + 1) % size) for i in range(size)], vertices=range(size), labels={i: i % kinds for i in range(size)}
    )


def searched(graph, pattern):
    """The plan search of a pattern, ended."""
    constraints = constraints_of(pattern, graph, "monomorphism")
    candidates = CpuEngine().prepare(graph, pattern, constraints, True).candidates
    problem = PlanningProblem(
        pattern,
        constraints,
        candidates.cardinalities,
        candidates.filters,
        graph.statistics,
        semantics="monomorphism",
        unique=True,
        counting=True,
    )
    search = planner._PlanSearch(problem, PlanOptions(), 1)
    search.run()
    return search


@pytest.mark.parametrize("size", [5, 16, 32])
def test_a_plan_that_takes_little_is_one_of_a_few_greedy_orders(size):
    search = searched(labelled_graph(600, 1200, 8), ring(size, 8))
    assert search.effort.prefixes <= 4 * size
    assert len(search.best[0].order.vertices) == size


@pytest.mark.parametrize("unique", [True, False])
def test_a_given_order_is_costed_as_among_others_but_not_before_somebody_asks(unique, monkeypatch):
    graph, pattern = labelled_graph(600, 1200, 4), ring(6, 4)
    constraints = constraints_of(pattern, graph, "monomorphism")
    prepared = CpuEngine().prepare(graph, pattern, constraints, True)
    local, estimated_by = prepared.candidate_graph, prepared.estimated_by
    arguments = pattern, local.constraints, estimated_by.cardinalities, estimated_by.filters, graph.statistics
    problem = PlanningProblem(*arguments, "monomorphism", unique, counting=False, few_rows=True)
    order = (1, 0, 5, 4, 3, 2)
    compared = planner.make_plan(problem, PlanOptions(("lists",), order=order))
    with monkeypatch.context() as patch:
        patch.setattr(planner, "best_orders", None)
        plan = planner.plan_of_order(problem, order)
    assert plan == compared
    assert plan.order.vertices == order
    assert (plan.cost, *plan.order.candidates) == (compared.cost, *compared.order.candidates)
    assert plan.order.matches == compared.order.matches


def test_a_dear_plan_is_searched_for_longer_than_a_cheap_one():
    cheap, dear = (searched(labelled_graph(400, edges, 4), ring(12, 4)) for edges in (800, 8000))
    assert cheap.effort.prefixes < dear.effort.prefixes
    assert dear.effort.prefixes < 0.3 * dear.best[0].cost / 12_000 + 1000


def test_the_same_question_has_the_same_plan():
    plans = [plan_for(labelled_graph(400, 4000, 4), ring(12, 4), suffix=None)[0] for _ in range(2)]
    assert plans[0].levels == plans[1].levels


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ("0-1,1-2,2-3", True),
        ("0-1,1-2,2-0,2-3,3-4,4-2", True),
        ("0-1,1-2,2-3,3-4,4-5,5-0", True),
        ("0-1,0-2,0-3,1-2,1-3,2-3", True),
        ("0-1,0-2,0-3,0-4,1-2,1-3,1-4,2-3,2-4,3-4", False),
        ("0-3,0-4,0-5,1-3,1-4,1-5,2-3,2-4,2-5", False),
        ("0-1,1-2,2-3,3-0,4-5,5-6,6-7,7-4,0-4,1-5,2-6,3-7", False),
    ],
)
def test_the_structure_says_whether_tables_can_count_a_pattern(edges, expected):
    pairs = [tuple(map(int, edge.split("-"))) for edge in edges.split(",")]
    neighbours = [[] for _ in range(1 + max(map(max, pairs)))]
    for a, b in pairs:
        neighbours[a].append(b)
        neighbours[b].append(a)
    assert is_foldable(neighbours) == expected


def test_patterns_of_single_labels_share_their_rows():
    graph = labelled_graph(60, 400, 3)
    patterns = [ring(5, 3), Pattern([(0, 1), (1, 2)], labels={0: 2, 1: 1, 2: 2})]
    keys = {constraints_of(pattern, graph, "monomorphism").relations for pattern in patterns}
    assert keys == {graph.shared_relations}
    alone = labelled_graph(60, 400, 3)
    alone.host.__dict__["shared_relations"] = ()
    for pattern in patterns:
        assert count_matches(graph, pattern, unique=False) == count_matches(alone, pattern, unique=False) > 0
