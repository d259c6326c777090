"""Counting by variable elimination: it agrees with the definition and with conditioning, also beyond 64 bits."""

from __future__ import annotations

import threading
import time
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import embeddings
from plans import tuned
from strategies import cases
from test_conditioning import EndlessCount, multipartite, path, prepared_for
from tiers import examples, thorough

import cusubmatch as csm
from cusubmatch import Graph, Pattern
from cusubmatch.engines.cpu.elimination import (
    costs,
    elimination_run,
    factor_store,
    host_factors,
    quotient_sum,
    step_costs,
    summed_product,
)
from cusubmatch.engines.cpu.elimination.elimination_run import compile_elimination
from cusubmatch.engines.cpu.elimination.factor_store import FactorStore
from cusubmatch.engines.cpu.elimination.quotient_sum import sum_of_quotients
from cusubmatch.engines.cpu.elimination.step_costs import FINISHED, Step
from cusubmatch.engines.cpu.elimination.task_stack import do_all
from cusubmatch.engines.cpu.engine import CpuEngine
from cusubmatch.engines.factors import fields
from cusubmatch.engines.factors.arithmetic import FLOATS, WORDS
from cusubmatch.engines.runs import RunOptions, StepsSpent
from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution.strategies import conditioning_count
from cusubmatch.execution.strategies.elimination_turns import EliminationIsDoneError, EliminationTurns
from cusubmatch.plan.crt import WORD
from cusubmatch.plan.elimination import irreducible_vertices, suits_elimination
from cusubmatch.system.deadlines import Pending, ended_by

pytestmark = pytest.mark.filterwarnings("ignore::cusubmatch.AbsentLabelWarning")


def count_of(graph, pattern, semantics="monomorphism"):
    engine, prepared = prepared_for(graph, pattern, semantics)
    return engine.eliminate(prepared, RunOptions()).total()


def random_graph(vertices, share, labels, seed):
    random = np.random.default_rng(seed)
    pairs = [pair for pair in combinations(range(vertices), 2) if random.random() < share]
    table = pd.DataFrame({"vertex": range(vertices), "label": random.integers(0, labels, vertices)})
    return Graph.from_edgelist(pd.DataFrame(pairs, columns=["src", "dst"]), vertices=table, vertex_label="label")


def check_by_definition(data, semantics, set_up, device=None):
    """A drawn pattern has as many embeddings by elimination, with something set up, as the definition says."""
    raw, pattern = data.draw(cases())
    graph = raw.graph()
    engine, prepared = prepared_for(graph, pattern, semantics)
    if prepared.candidate_graph is None or len(pattern) < 2:
        return
    with pytest.MonkeyPatch.context() as patch:
        set_up(patch)
        run = engine.eliminate(prepared, RunOptions())
        run.device = device
        found = run.total()
    assert found == sum(1 for _ in embeddings(raw.naive(), pattern, semantics))


# Counts --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("in_parts", [False, True], ids=["whole", "in parts"])
@pytest.mark.parametrize("semantics", ["monomorphism", "homomorphism"])
@examples(80)
@given(data=st.data())
def test_a_count_is_that_of_the_definition(semantics, in_parts, data):
    """In parts: each join has a part of its entries at a time, each level of its terms, and each word of a key."""

    def set_parts(patch):
        if in_parts:
            patch.setattr(fields, "WORD_BITS", 8)
            patch.setattr(summed_product, "MAX_PRODUCTS", 8)
            patch.setattr(summed_product, "PLACES", 1)
            patch.setattr(quotient_sum, "TERMS_AT_ONCE", 2)

    check_by_definition(data, semantics, set_parts)


EDGES = {
    "tree": [(0, 1), (0, 2), (0, 3), (1, 4), (1, 5), (2, 6), (3, 7)],
    "cycle": [*pairwise(range(8)), (7, 0)],
    "two cycles": [(0, 1), (1, 2), (2, 3), (3, 0), (3, 4), (4, 5), (5, 6), (6, 3), (6, 7)],
    "wheel": [(0, i) for i in range(1, 6)] + [(i, i % 5 + 1) for i in range(1, 6)] + [(1, 6), (3, 7)],
    "4-clique with paths": [*combinations(range(4), 2), (0, 4), (4, 5), (5, 1), (2, 6), (6, 7)],
    "bipartite": [(i, j) for i in range(3) for j in range(3, 7)],
}


@pytest.mark.one_each
@pytest.mark.parametrize("edges", EDGES.values(), ids=EDGES)
@pytest.mark.parametrize("labels", [1, 2, 4])
def test_it_agrees_with_conditioning_whatever_coincides(edges, labels):
    graph = random_graph(20, 0.6, labels, seed=labels)
    size = max(map(max, edges)) + 1
    pattern = Pattern(edges, labels={v: v % labels for v in range(size)})
    engine, prepared = prepared_for(graph, pattern, "monomorphism")
    wanted = engine.condition(prepared, RunOptions(), None).total()
    assert engine.eliminate(prepared, RunOptions()).total() == wanted > 0


def test_results_with_too_many_keys_for_a_place_each_are_sorted(monkeypatch):
    graph = random_graph(40, 0.3, 2, seed=5)
    pattern = Pattern(EDGES["cycle"], labels={v: v % 2 for v in range(8)})
    wanted = count_of(graph, pattern)
    monkeypatch.setattr(summed_product, "PLACES", 1)
    assert count_of(graph, pattern) == wanted > 0


@pytest.mark.parametrize("edges", ["two cycles", *thorough("wheel", "4-clique with paths")])
def test_threads_share_the_joins_of_a_level(monkeypatch, edges):
    monkeypatch.setattr(factor_store, "ALONE_S", 0.0)
    monkeypatch.setattr(factor_store, "LEAST_ALONE_S", 0.0)
    monkeypatch.setattr(summed_product, "MAX_PRODUCTS", 64)
    monkeypatch.setattr(summed_product, "PLACES", 1)
    graph, names = random_graph(30, 0.5, 2, seed=3), set()
    pattern = Pattern(EDGES[edges], labels={v: v % 2 for v in range(8)})
    engine, prepared = prepared_for(graph, pattern, "monomorphism", threads=4)
    advance = summed_product.SummedProduct.advance

    def watched(*arguments):
        names.add(threading.get_ident())
        return advance(*arguments)

    monkeypatch.setattr(summed_product.SummedProduct, "advance", watched)
    wanted = engine.condition(prepared, RunOptions(), None).total()
    assert engine.eliminate(prepared, RunOptions()).total() == wanted > 0
    assert len(names) > 1


@pytest.mark.parametrize("threads", [1, 3])
def test_tasks_give_tasks_until_none_is_left(threads):
    done = []

    def do(depth):
        done.append(depth)
        return [depth + 1] * 2 if depth < 6 else []

    do_all([0, 0], do, lambda: None, threads, 0.0)
    assert sorted(done) == sorted(depth for depth in range(7) for _ in range(2 << depth))


@pytest.mark.parametrize("threads", [1, 3])
def test_what_a_task_raises_ends_all(threads):
    def do(task):
        if task == 50:
            raise ZeroDivisionError
        return [task + 1]

    with pytest.raises(ZeroDivisionError):
        do_all([0, 10, 20], do, lambda: None, threads, 0.0)
    assert not [thread for thread in threading.enumerate() if thread.name == "cusubmatch"]


def test_a_count_that_yields_is_the_same():
    graph = random_graph(60, 0.3, 2, seed=9)
    pattern = Pattern(EDGES["4-clique with paths"], labels={v: v % 2 for v in range(8)})
    engine, prepared = prepared_for(
        graph, pattern, "monomorphism", threads=4, conditioning_steps=64, alone_conditioning_s=0.0
    )
    wanted = engine.condition(prepared, RunOptions(), None).total()
    count, turns = engine.condition(prepared, RunOptions(), None), []

    def change(one):
        turns.append(one.yields)
        one.yields = len(turns) % 8 < 4

    count.between_turns = change
    assert count.total() == wanted > 0
    assert {True, False} <= set(turns)


def test_elimination_that_yields_is_done_by_one_thread(monkeypatch):
    threads, graph = [], random_graph(60, 0.3, 2, seed=9)
    pattern = Pattern(EDGES["4-clique with paths"], labels={v: v % 2 for v in range(8)})
    engine, prepared = prepared_for(graph, pattern, "monomorphism", threads=4)
    wanted = engine.eliminate(prepared, RunOptions()).total()

    def do(tasks, advance, check, number, _alone_until_s):
        threads.append(number)
        count.yields = True
        do_all(tasks, advance, check, number, 0.0)

    monkeypatch.setattr(factor_store, "do_all", do)
    count = engine.eliminate(prepared, RunOptions())
    assert count.total() == wanted > 0
    assert (threads[0], threads[-1]) == (4, 1)


@pytest.mark.parametrize("vertices", [10, 20, 32])
def test_counts_beyond_64_bits_are_exact(vertices):
    size = 30 if vertices < 32 else 12
    assert count_of(multipartite(vertices, size), path(range(vertices))) == size**vertices


def test_vertices_of_one_label_are_kept_apart_beyond_64_bits():
    wanted = (86 * 85) ** 5
    assert wanted > WORD
    assert count_of(multipartite(5, 86), path([0, 1, 2, 3, 4] * 2)) == wanted


def test_only_named_pairs_are_kept_apart_in_a_homomorphism():
    pattern = Pattern([(0, 1), (1, 2), (2, 3), (3, 4)], labels={i: i % 2 for i in range(5)}, distinct=[(0, 4), (1, 3)])
    assert count_of(multipartite(2, 7), pattern, "homomorphism") == 7 * 6 * 7 * 6 * 7


def test_terms_that_differ_in_one_factor_become_one():
    """Ten pairs of leaves in conflict: 1,024 terms, were they not added up."""
    operations = []
    store = FactorStore(40, np.array([WORDS]), operations.append)
    offsets, targets = np.arange(0, 41 * 40, 40), np.tile(np.arange(40, dtype=np.int32), 40)
    arcs = [store.add_arcs(0, leaf, offsets, targets) for leaf in range(1, 21)]
    conflicts = frozenset((leaf, leaf + 1) for leaf in range(1, 21, 2))
    (total,), _ = sum_of_quotients(store, arcs, 21, conflicts)
    assert total % WORD == 40 * (40 * 39) ** 10 % WORD
    assert len(operations) < 400


@pytest.mark.parametrize("vertex", [0, 3])
def test_what_an_elimination_makes_has_the_same_vertices(vertex):
    """An end of a path is eliminated, or one with the other end, whose name it has then."""
    store = FactorStore(4, np.array([WORDS]), lambda _: None)
    offsets, targets = np.arange(0, 20, 4), np.tile(np.arange(4, dtype=np.int32), 4)
    arcs = frozenset(store.add_arcs(v, v + 1, offsets, targets) for v in range(3))
    term, step = quotient_sum._Term(1, arcs, frozenset({(0, 3)})), store.costs.step(vertex, arcs, 0b1111)
    assert step.vertices == (vertex,)
    sums = quotient_sum._QuotientSum(store, ())
    store.eliminate([step])
    sums._put_in_place(term, step, 4)
    terms = sums.pools[3].terms
    assert sorted(one.weight for one in terms) == [-1, 1]
    assert {frozenset(v for number in one.factors for v in store.scope(number)) for one in terms} == {
        frozenset({0, 1, 2, 3} - {vertex})
    }


def test_equal_factors_have_one_number():
    """Whichever way a quotient is made, it is the same one."""
    store = FactorStore(8, np.array([WORDS]), lambda _: None)
    offsets, targets = np.arange(9), np.array([7, 6, 5, 4, 3, 2, 1, 0], np.int32)
    arcs, others = store.add_arcs(0, 3, offsets, targets), store.add_arcs(1, 2, offsets, targets)
    assert store.add_arcs(0, 3, offsets, targets) == arcs != others
    assert store.merge(store.merge(others, 2, 3), 1, 0) == store.merge(store.merge(others, 1, 0), 2, 3) == arcs
    store.keep_only([others])
    assert store.add_arcs(0, 3, offsets, targets) != arcs
    assert store.add_arcs(1, 2, offsets, targets) == others


@pytest.mark.parametrize(
    ("edges", "eliminations"),  # by the vertices that are left
    [
        ([(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)], [0, 1, 0, 1, 1, 1]),  # the last two vertices go together
        ([*combinations(range(5), 2)], [0, 1, 0, 0, 0, 0]),  # all do
    ],
)
def test_floats_give_the_count_without_conflicts(edges, eliminations):
    store = FactorStore(4, np.array([FLOATS]), lambda _: None)
    offsets, targets = np.arange(0, 20, 4), np.tile(np.arange(4, dtype=np.int32), 4)
    arcs = [store.add_arcs(*pair, offsets, targets) for pair in edges]
    (bits,), costs = sum_of_quotients(store, arcs, 5, frozenset())
    assert [len(of_size) for of_size in costs] == eliminations
    assert all(cost > 0 for of_size in costs for cost in of_size)
    assert np.uint64(bits).view(np.float64) == 4.0**5


def test_vertices_that_no_other_factor_holds_go_together():
    store = FactorStore(4, np.array([WORDS]), lambda _: None)
    offsets, targets = np.arange(0, 20, 4), np.tile(np.arange(4, dtype=np.int32), 4)
    arcs = [store.add_arcs(*pair, offsets, targets) for pair in [*combinations(range(4), 2), (3, 4)]]
    clique = tuple(arcs[:-1])
    assert store.costs.step(0, arcs) == store.costs.step(1, arcs) == Step((0, 1, 2), clique)
    assert store.costs.step(0, arcs, 0b10) == Step((0, 2), clique)
    assert store.costs.step(3, arcs) == Step((0, 1, 2, 3, 4), tuple(arcs))
    assert store.costs.step(4, arcs) == Step((4,), tuple(arcs[-1:]))
    assert list(store.costs.steps(arcs)) == [store.costs.step(v, arcs) for v in (4, 0, 3)]  # few entries first


@pytest.mark.parametrize("device", [None, object()])
def test_a_device_may_add_up_all_that_is_left(device):
    store = FactorStore(4, np.array([WORDS]), lambda _: None, device=lambda _: device)
    offsets, targets = np.arange(0, 20, 4), np.tile(np.arange(4, dtype=np.int32), 4)
    for vertices in (FINISHED, FINISHED + 1):
        arcs = tuple(store.add_arcs(v, v + 1, offsets, targets) for v in range(vertices - 1))
        offered = device is not None and vertices == FINISHED
        assert (Step(tuple(range(vertices)), arcs) in store.costs.steps(arcs)) == offered
        assert (Step(tuple(range(2, vertices)), arcs) in store.costs.steps(arcs, 0b11)) == offered


def test_what_samples_said_is_believed_of_others_in_part(monkeypatch):
    """All pairs within two groups: images tell nothing of the cliques, which are 2^3 times what is expected."""
    monkeypatch.setattr(step_costs, "MIN_SAMPLED", 4)
    store = FactorStore(32, np.array([WORDS]), lambda _: None)
    offsets = np.arange(0, 33 * 16, 16)
    targets = np.array([y for x in range(32) for y in range(32) if (x ^ y) & 1 == 0], np.int32)
    arcs = [store.add_arcs(*pair, offsets, targets) for pair in combinations(range(5), 2)]
    clique = arcs[:3] + arcs[4:6] + arcs[7:8]
    one, other = store.costs.step(0, clique, 0b1110), store.costs.step(4, arcs, 0b1111)
    expected, of_other = store.costs.cost(one), store.costs.cost(other)
    assert store.look_at([one]) == {one}
    assert store.look_at([one]) == set()
    assert store.costs.cost(one) > 1.5 * expected
    assert store.costs.cost(other) == of_other  # it has another number of vertices
    alike = store.costs.step(1, clique, 0b1101)
    believed = store.costs.cost(alike)
    assert store.look_at([alike]) == {alike}
    assert expected < believed < store.costs.cost(alike)


def test_an_elimination_has_conflicts_apart_that_it_holds():
    """A path of four vertices whose second and last ones, and whose first and last ones, must differ."""
    store = FactorStore(4, np.array([WORDS]), lambda _: None)
    offsets, targets = np.arange(0, 20, 4), np.tile(np.arange(4, dtype=np.int32), 4)
    arcs = frozenset(store.add_arcs(v, v + 1, offsets, targets) for v in range(3))
    term = quotient_sum._Term(1, arcs, frozenset({(1, 3), (0, 3)}))
    choices = quotient_sum._QuotientSum(store, ())._choices(term)
    found = {choice.step.vertices: (choice.merges, choice.conflicts) for choice in choices}
    assert found == {(0,): (1, 2), (1,): (1, 2), (2,): (0, 1), (3,): (2, 2)}


def test_terms_with_many_conflicts_are_rather_not_made(monkeypatch):
    """Of two eliminations the one that holds a conflict is dearer, but makes no term for it."""
    store = FactorStore(64, np.array([WORDS]), lambda _: None)
    random = np.random.default_rng(1)
    rows = [np.sort(random.choice(64, 8, replace=False)).astype(np.int32) for _ in range(64)]
    offsets, targets = np.arange(0, 64 * 8 + 1, 8), np.concatenate(rows)
    edges = [(0, 1), (1, 2), (2, 3), (0, 4), (2, 4), (3, 5)]
    arcs = frozenset(store.add_arcs(*edge, offsets, targets) for edge in edges)
    term = quotient_sum._Term(1, arcs, frozenset({(1, 5), (0, 5), (1, 3), (1, 4), (0, 3)}))
    sums, prices, chosen = quotient_sum._QuotientSum(store, ()), [0.0] + [1e5] * 6, []
    choices = sums._choices(term)
    for factor in (1.0, 16.0):
        monkeypatch.setattr(quotient_sum, "CONFLICT_FACTOR", factor)
        cheapest = sums._cheapest(choices, prices)
        chosen.append(next(choice for choice in choices if choice.step == cheapest))
    one, other = chosen
    assert one.conflicts >= other.conflicts + 1
    assert store.costs.cost(one.step) < store.costs.cost(other.step)


# How it is chosen, and how it ends -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edges", "left"),
    [("tree", 0), ("cycle", 0), ("two cycles", 0), ("wheel", 6), ("4-clique with paths", 4), ("bipartite", 7)],
)
def test_what_no_vertex_with_two_neighbours_makes_smaller_is_left(edges, left):
    size = max(map(max, EDGES[edges])) + 1
    assert irreducible_vertices(size, EDGES[edges]) == left
    assert suits_elimination(size, EDGES[edges]) == (left <= 4)


def test_it_is_given_up_when_its_time_is_spent():
    graph = random_graph(60, 0.3, 2, seed=9)
    pattern = Pattern(EDGES["4-clique with paths"], labels={v: v % 2 for v in range(8)})
    engine, prepared = prepared_for(graph, pattern, "monomorphism")
    run = engine.eliminate(prepared, RunOptions())
    run.max_cost = 1e6
    with pytest.raises(StepsSpent):
        run.total()
    assert run.cost <= run.max_cost


def test_it_has_its_bound_before_the_sum_over_quotients(monkeypatch):
    graph = random_graph(20, 0.3, 2, seed=9)
    engine, prepared = prepared_for(graph, Pattern(EDGES["cycle"], labels={v: v % 2 for v in range(8)}), "monomorphism")
    run, had, make = engine.eliminate(prepared, RunOptions()), [], elimination_run.sum_of_quotients

    def sum_of_quotients(*arguments):
        had.append(run.has_bound)
        return make(*arguments)

    compile_elimination()
    monkeypatch.setattr(elimination_run, "sum_of_quotients", sum_of_quotients)
    run.total()
    assert had == [False, True]


def test_a_deadline_ends_it():
    graph = random_graph(60, 0.3, 2, seed=9)
    engine, prepared = prepared_for(graph, Pattern(EDGES["cycle"], labels={v: v % 2 for v in range(8)}), "monomorphism")
    compile_elimination()
    with pytest.raises(DeadlinePassed):
        engine.eliminate(prepared, RunOptions(deadline=time.monotonic() - 1)).total()


@pytest.mark.parametrize("operation", ["merge", "eliminate"])
def test_sorting_stops_when_the_count_is_ended_and_makes_no_factor(monkeypatch, operation):
    ended, stops, sorted_after = np.zeros(1, np.int64), [], []

    def spend(cost):
        if ended[0]:
            raise DeadlinePassed
        ended[0] = bool(stops) and cost not in {0.0, costs.OPERATION_NS}  # but for moving entries

    def looking(module, name):
        sort = getattr(module, name)

        def sort_and_look(*arguments):
            entries = sort(*arguments)
            sorted_after.append((np.diff(entries[0][:, 0].astype(np.int64)) >= 0).all())
            return entries

        monkeypatch.setattr(module, name, sort_and_look)

    looking(host_factors, "rearranged")
    looking(summed_product, "summed_out")
    targets = np.array([7, 6, 5, 4, 3, 2, 1, 0], np.int32)
    store = FactorStore(8, np.array([WORDS]), spend, ended=ended)
    arcs = store.add_arcs(0, 1, np.arange(9), targets)
    do = {
        "merge": lambda: store.merge(arcs, 0, 2),
        "eliminate": lambda: store.eliminate([store.costs.step(0, [arcs], 0b10)]),
    }
    stops.append(True)
    with pytest.raises(DeadlinePassed):
        do[operation]()
    stops.clear()
    ended[0] = 0
    do[operation]()
    assert sorted_after == [False, True]


def test_factors_that_become_too_large_make_it_hopeless(monkeypatch):
    give_words(monkeypatch, 6000)
    graph = random_graph(60, 0.3, 2, seed=9)
    engine, prepared = prepared_for(graph, Pattern(EDGES["cycle"], labels={v: v % 2 for v in range(8)}), "monomorphism")
    run = engine.eliminate(prepared, RunOptions())
    for _ in range(2):
        with pytest.raises(StepsSpent):
            run.total()
        run.max_cost *= 2


def give_words(monkeypatch, words):
    """Let factors take so many words."""
    monkeypatch.setattr(elimination_run, "MANY_WORDS", words)
    monkeypatch.setattr(elimination_run, "available_memory", lambda: 0)


@pytest.mark.parametrize("threads", [1, 3])
def test_terms_wait_where_memory_is_full(monkeypatch, threads):
    monkeypatch.setattr(factor_store, "ALONE_S", 0.0)
    monkeypatch.setattr(factor_store, "LEAST_ALONE_S", 0.0)
    finish, begun = quotient_sum._QuotientSum._finish, []

    def watched(terms, vertices):
        begun.append(vertices)
        finish(terms, vertices)

    monkeypatch.setattr(quotient_sum._QuotientSum, "_finish", watched)
    graph = random_graph(60, 0.15, 2, seed=9)
    engine, prepared = prepared_for(
        graph, Pattern(EDGES["cycle"], labels={v: v % 2 for v in range(8)}), "monomorphism", threads=threads
    )
    wanted = engine.condition(prepared, RunOptions(), None).total()
    for words, waits in ((1 << 27, False), (130_000, True)):
        give_words(monkeypatch, words)
        assert engine.eliminate(prepared, RunOptions()).total() == wanted
        assert (len(begun) > 2) == waits  # one for floats, one for the moduli
        begun.clear()


def turns_of_a_count(**tunables):
    """Elimination by turns, and the total."""
    compile_elimination()
    graph = random_graph(60, 0.3, 2, seed=9)
    pattern = Pattern(EDGES["4-clique with paths"], labels={v: v % 2 for v in range(8)})
    engine, prepared = prepared_for(graph, pattern, "monomorphism", **tunables)
    flag = np.zeros(1, np.int64)
    with ended_by(flag):
        count = engine.eliminate(prepared, RunOptions())
    return EliminationTurns(count, flag), engine.eliminate(prepared, RunOptions())


def test_turns_do_nothing_twice_and_end_with_the_total():
    turns, whole = turns_of_a_count()
    budget, taken = 1e5, 0
    try:
        while (total := turns.take(budget)) is None:
            assert turns.count.cost <= budget
            budget, taken = budget + 2e5, taken + 1
    finally:
        turns.end()
    assert total == whole.total()
    assert turns.count.cost == pytest.approx(whole.cost)
    assert taken > 5


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("begun", ["not at all", "by turns", "beside"])
def test_a_thread_ends_wherever_it_is(monkeypatch, begun, threads):
    monkeypatch.setattr(factor_store, "ALONE_S", 0.0)
    monkeypatch.setattr(factor_store, "LEAST_ALONE_S", 0.0)
    turns, _ = turns_of_a_count(threads=threads)
    if begun == "by turns":
        for budget in np.linspace(1e5, 1.5e6, 8):
            assert turns.take(budget) is None
        assert len(threads_of_counts()) == 1  # another one would wait for a turn, too
    elif begun == "beside":
        turns.begin()
    turns.end()
    assert not threads_of_counts()


def test_a_thread_that_waits_for_a_compiler_ends():
    turns, _ = turns_of_a_count()
    turns.count.total = Pending().wait
    turns.begin()
    begin = time.monotonic()
    turns.end()
    assert time.monotonic() - begin < 10
    assert not threads_of_counts()


def threads_of_counts():
    return [thread for thread in threading.enumerate() if thread.name == "cusubmatch"]


def test_beside_the_caller_it_is_looked_at_until_it_is_done():
    turns, whole = turns_of_a_count(threads=2)
    assert turns.goes_beside
    try:
        turns.begin()
        with pytest.raises(EliminationIsDoneError):
            while True:
                turns.check()
                time.sleep(1e-3)
        assert turns.total == whole.total()
    finally:
        turns.end()


def test_an_error_reaches_the_caller(monkeypatch):
    turns, _ = turns_of_a_count()
    monkeypatch.setattr(turns.count, "total", lambda: 1 // 0)
    try:
        with pytest.raises(ZeroDivisionError):
            turns.take(1e9)
    finally:
        turns.end()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("hopeless", [False, True])
def test_a_long_count_is_ended_by_elimination_or_by_conditioning(monkeypatch, hopeless, threads):
    compile_elimination()
    graph = random_graph(80, 0.2, 2, seed=4)
    pattern = Pattern(EDGES["two cycles"], labels={v: v % 2 for v in range(8)})
    engine, prepared = prepared_for(graph, pattern, "monomorphism")
    wanted = engine.condition(prepared, RunOptions(), None).total()
    ended, total = [], elimination_run.EliminationRun.total

    def watched(run):
        found = total(run)
        ended.append(found)
        return found

    monkeypatch.setattr(elimination_run.EliminationRun, "total", watched)
    monkeypatch.setattr(conditioning_count, "FIRST_STEPS", 1)
    monkeypatch.setattr(conditioning_count, "STEP_NS", 1e9)
    if hopeless:
        give_words(monkeypatch, 600)
    elif threads > 1:  # conditioning waits for what goes on beside it
        monkeypatch.setattr(
            CpuEngine, "condition", lambda _engine, _prepared, options, _tasks: EndlessCount(options, 1)
        )
    with tuned(threads=threads):
        assert csm.count_matches(graph, pattern, unique=False, engine="cpu") == wanted
    assert ended == ([] if hopeless else [wanted])
