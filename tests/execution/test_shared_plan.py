"""A plan made in one process is run by others on their own copies of the graph: any division of it adds up."""

import dataclasses
import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plans import tuned
from tiers import examples

import cusubmatch as csm
from cusubmatch.api.options import checked_call, checked_query, plan_of_call
from cusubmatch.engines.runs import TaskRange
from cusubmatch.execution import shared_sums
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.execution.shared_plan import query_of, share, strategy_on
from cusubmatch.generators import rmat

EDGES = rmat(7, 6, seed=3)
HERE, THERE = (csm.Graph.from_edgelist(EDGES) for _ in range(2))  # as two processes have it
TEXTS = ("(a)--(b)--(c)--(a)", "(a)--(b)--(c)--(d)--(a)", "(a)--(b)--(c)--(d)--(a)--(e)--(b)", "(a)--(b), (a)--(c)")


def shared_by(text, counting, semantics):
    options = QueryOptions(semantics, engine="cpu", counting=counting)
    return pickle.loads(pickle.dumps(share(checked_query(HERE, text, options), counting)))


@examples(60)
@given(
    text=st.sampled_from(TEXTS),
    semantics=st.sampled_from(["monomorphism", "induced", "homomorphism"]),
    cuts=st.lists(st.floats(0, 1), max_size=6),
)
def test_totals_of_any_ranges_of_a_plan_from_elsewhere_add_up_to_the_count(text, semantics, cuts):
    shared = shared_by(text, True, semantics)
    strategy = strategy_on(THERE, shared.plan)
    assert strategy.number_of_tasks == shared.number_of_tasks
    edges = sorted({0, shared.number_of_tasks, *(int(cut * shared.number_of_tasks) for cut in cuts)})
    ranges = [TaskRange(begin, end) for begin, end in pairwise(edges)]
    total = sum(strategy.run(None, None, tasks).total() for tasks in ranges)
    assert strategy.matches_of(total) == csm.count_matches(HERE, text, semantics=semantics, engine="cpu")


SUMS = [
    ("(a)--{1,3}(b)--(c)", {}),
    ("(a)--(b)--(c)--(a)", {"touching": [3, 5, 8]}),
    ("(a)--(b)--(c)--(a)", {"touching": list(range(60))}),
    ("(a)--{1,2}(b) WHERE EXISTS { (a)--()--()--(a) }", {"touching": [3, 5, 8], "unique": False}),
]


@pytest.mark.parametrize(("text", "asked"), SUMS)
def test_ranges_of_a_sum_of_calls_add_up_to_the_whole(text, asked):
    options = QueryOptions(engine="cpu", warn_of_absent_labels=False, **asked)
    found = shared_sums.summands(*checked_call(HERE, text, options, parts=True))
    shared = pickle.loads(pickle.dumps(shared_sums.share_sum(*found, counting=True)))
    assert sum(shared.work) > 0
    assert len(shared.edges) == len(shared.work) + 1
    edges = sorted({int(share * shared.number_of_tasks) for share in (0, 0.2, 0.21, 0.7, 1)})

    def check(here, term):
        assert here == term.number_of_tasks

    totals = sum(
        shared_sums.total_of_range(THERE, shared.plan, TaskRange(*ends), [], check, None, None)
        for ends in pairwise(edges)
    )
    count = csm.count_matches(HERE, text, engine="cpu", **asked)
    assert shared_sums.matches_of_sum(THERE, shared.plan, totals) == count
    rows = plan_of_call(checked_call(HERE, text, dataclasses.replace(options, counting=False), parts=True))
    shared = shared_sums.share_rows(rows)
    middle = shared.number_of_tasks // 3
    parts = [TaskRange(0, middle), TaskRange(middle, shared.number_of_tasks)]
    queries = [shared_sums.rows_of_sum(THERE, shared.plan, tasks, [], check, None) for tasks in parts]
    assert sum(block.shape[1] for query in queries for block in query.blocks(None, None)) == count


@pytest.mark.parametrize("text", TEXTS)
def test_rows_of_ranges_of_a_plan_from_elsewhere_are_the_rows(text):
    shared = shared_by(text, False, "monomorphism")
    middle = shared.number_of_tasks // 3
    blocks = []
    for tasks in (TaskRange(0, middle), TaskRange(middle, shared.number_of_tasks)):
        query = query_of(THERE, shared.plan, None, tasks)
        blocks += query.blocks(None, None)
    expected = csm.subgraph_match(HERE, text, engine="cpu")
    found = np.asarray(THERE.to_ids(np.concatenate(blocks, axis=1).ravel())).reshape(expected.shape[::-1])
    rows = expected.to_numpy().T
    assert np.array_equal(found[:, np.lexsort(found)], rows[:, np.lexsort(rows)])


@pytest.mark.parametrize("semantics", ["monomorphism", "induced", "homomorphism"])
def test_a_plan_on_a_candidate_graph_is_shared(semantics):
    edges, labels = rmat(7, 4, seed=3), np.random.default_rng(2).integers(0, 3, 128)
    vertices = pd.DataFrame({"vertex": range(128), "label": labels})
    here, there = (csm.Graph.from_edgelist(edges, vertices=vertices, vertex_label="label").host for _ in range(2))
    text = "(h:0)--(g:1)--(f:0)--(e:1)--(d:0)--(c:1)--(b:1)--(a:1)--(c)"
    for counting in (True, False):
        options = QueryOptions(semantics, engine="cpu", counting=counting)
        with tuned(max_estimate_share=1e9):
            shared = pickle.loads(pickle.dumps(share(checked_query(here, text, options), counting)))
        assert shared.plan.arcs is not None
        middle = shared.number_of_tasks // 3
        ranges = TaskRange(0, middle), TaskRange(middle, shared.number_of_tasks)
        if counting:
            strategy = strategy_on(there, shared.plan)
            count = strategy.matches_of(sum(strategy.run(None, None, tasks).total() for tasks in ranges))
        else:
            queries = [query_of(there, shared.plan, None, tasks) for tasks in ranges]
            count = sum(block.shape[1] for query in queries for block in query.blocks(None, None))
        assert count == csm.count_matches(here, text, semantics=semantics, engine="cpu") > 0


def test_estimated_work_of_the_cells_adds_up_to_one():
    shared = shared_by(TEXTS[2], False, "monomorphism")
    assert shared.edges[0] == 0
    assert shared.edges[-1] == shared.number_of_tasks
    assert len(shared.work) == len(shared.edges) - 1
    assert sum(shared.work) == pytest.approx(1)
