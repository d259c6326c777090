"""Counting by recursive conditioning: it agrees with the definition, and with closed forms beyond 64 bits."""

from __future__ import annotations

import math
import threading
import time
from itertools import combinations, pairwise, permutations, product
from types import SimpleNamespace

import numba
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import embeddings
from plans import tuned
from strategies import cases
from test_candidate_graph import ALWAYS, QUERY, skewed_graph
from tiers import examples, thorough

import cusubmatch as csm
from cusubmatch import Graph, Pattern, generators
from cusubmatch.engines.cpu import CpuEngine
from cusubmatch.engines.cpu.conditioning import component_cache, pools
from cusubmatch.engines.cpu.conditioning.bits.state import Arrays as BitArrays
from cusubmatch.engines.cpu.conditioning.initial_arrays import initial_arrays
from cusubmatch.engines.cpu.conditioning.pools import pools_of
from cusubmatch.engines.cpu.conditioning.root_counter import RootCounter
from cusubmatch.engines.cpu.primitives.sorted_sets import have_common
from cusubmatch.engines.cpu.tunables import Tunables
from cusubmatch.engines.runs import RunOptions, StepsSpent, TaskRange
from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution.planning import plan_of
from cusubmatch.execution.strategies import conditioning_count, walk_turns
from cusubmatch.execution.strategies.conditioning_count import Conditioning
from cusubmatch.plan import constraints_of
from cusubmatch.plan.conditioning import ConditioningPlan
from cusubmatch.plan.crt import PRIMES
from cusubmatch.system.deadlines import ended_by

pytestmark = pytest.mark.filterwarnings("ignore::cusubmatch.AbsentLabelWarning")

TIGHT = {"conditioning_slots": 1 << 10, "conditioning_steps": 7}  # the cache forgets, and counts are given up often
LISTS = {"most_set_elements": 0}  # domains are lists, not bits
# Other threads are started.
SOON = {"alone_conditioning_s": 0.0, "seconds_worth_a_thread": 1e-9, "seconds_before_a_thread": 1e-9}


def copied_for(graph, pattern, semantics="monomorphism"):
    """What a count on a copy is made of: the candidate graph, None where there is none, and its vertices in order."""
    engine, prepared = prepared_for(graph, pattern, semantics)
    local = prepared.candidate_graph
    return local, None if local is None else engine.conditioning_order(prepared)


def prepared_for(graph, pattern, semantics, **changes):
    engine = CpuEngine(Tunables(**ALWAYS, **changes))
    constraints = constraints_of(pattern, graph, semantics)
    return engine, engine.prepare(graph, pattern, constraints, semantics != "homomorphism")


def count_of(graph, pattern, semantics="monomorphism", tasks=None, **changes):
    engine, prepared = prepared_for(graph, pattern, semantics, **changes)
    return engine.condition(prepared, RunOptions(), tasks).total()


def graph_of(pairs, labels):
    """A graph of pairs of vertices, each of which has a label."""
    vertices = pd.DataFrame({"vertex": range(len(labels)), "label": labels})
    return Graph.from_edgelist(pd.DataFrame(pairs, columns=["src", "dst"]), vertices=vertices, vertex_label="label")


def some_pairs(random, size, share):
    """A share of the pairs of so many vertices."""
    return [(i, j) for i in range(size) for j in range(i) if random.random() < share]


def multipartite(parts, size):
    """A graph whose vertices with labels 0, 1, ... are adjacent to all with another label."""
    labels = np.repeat(np.arange(parts), size)
    return graph_of(np.argwhere(labels[:, None] < labels[None, :]), labels)


def beside_a_hub(seed, vertices, number):
    """So many (graph, pattern, homomorphisms by the definition): a hub, and any edges and named pairs of the others."""
    random = np.random.default_rng(100 * seed + vertices)
    size, pairs = 9, list(combinations(range(vertices), 2))
    for _ in range(number):
        adjacent = np.triu(random.random((size, size)) < random.choice([0.3, 0.6]), 1)
        adjacent |= adjacent.T
        labels = random.integers(0, 2, size)
        hub = size  # it is adjacent to all, and so is the pattern's
        arcs = [*np.argwhere(np.triu(adjacent)).tolist(), *([v, hub] for v in range(size))]
        edges = [pair for pair in pairs if random.random() < 0.3]
        differ = [pair for pair in pairs if random.random() < 0.7]
        wanted = {u: int(random.integers(2)) for u in range(vertices) if random.random() < 0.4}
        pattern = Pattern(
            [*edges, *((u, vertices) for u in range(vertices))], labels={**wanted, vertices: 2}, distinct=differ
        )
        maps = np.indices((size,) * vertices)
        kept = np.ones((size,) * vertices, bool)
        for u, w in edges:
            kept &= adjacent[maps[u], maps[w]]
        for u, w in differ:
            kept &= maps[u] != maps[w]
        for u, label in wanted.items():
            kept &= labels[maps[u]] == label
        yield graph_of(arcs, [*labels.tolist(), 2]), pattern, kept.sum()


def path(labels):
    return Pattern(list(pairwise(range(len(labels)))), labels=dict(enumerate(labels)))


# Counts --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [{}, LISTS], ids=["bits", "lists"])
@pytest.mark.parametrize("changes", [{}, TIGHT, {"threads": 3, **SOON, **TIGHT}], ids=["roomy", "tight", "threads"])
@pytest.mark.parametrize("semantics", ["monomorphism", "homomorphism"])
@examples(40)
@given(data=st.data())
def test_a_count_is_that_of_the_definition(semantics, changes, kind, data):
    raw, pattern = data.draw(cases())
    graph = raw.graph()
    engine, prepared = prepared_for(graph, pattern, semantics, **changes, **kind)
    if prepared.candidate_graph is not None:
        found = engine.condition(prepared, RunOptions(), None).total()
        assert found == sum(1 for _ in embeddings(raw.naive(), pattern, semantics))


@pytest.mark.one_each
@pytest.mark.parametrize("labels", [1, 3])
@pytest.mark.parametrize("seed", [0, *thorough(1, 2, 3)])
def test_domains_as_lists_and_as_bits_give_one_count(seed, labels):
    random, n = np.random.default_rng(seed), 160
    degrees = random.permutation(np.r_[np.full(8, 0.9), np.full(n - 8, 0.12)])  # some rows are much longer than others
    pairs = [(i, j) for i in range(n) for j in range(i) if random.random() < max(degrees[i], degrees[j])]
    graph = graph_of(pairs, random.integers(0, labels, n))
    edges = [(u, w) for u, w in combinations(range(6), 2) if w == u + 1 or random.random() < 0.4]
    pattern = Pattern(edges, labels={u: int(random.integers(labels)) for u in range(6)})
    assert count_of(graph, pattern, **LISTS) == count_of(graph, pattern)
    assert count_of(graph, pattern, "homomorphism", **LISTS) == count_of(graph, pattern, "homomorphism")


@pytest.mark.parametrize("kind", [{}, LISTS], ids=["bits", "lists"])
@pytest.mark.parametrize("vertices", [5, 6, 7, 8])
def test_vertices_of_one_label_are_kept_apart(vertices, kind):
    labels = [v % 2 for v in range(vertices)]
    wanted = math.perm(7, labels.count(0)) * math.perm(7, labels.count(1))
    graph = multipartite(2, 7)
    assert count_of(graph, path(labels), **kind) == wanted
    assert count_of(graph, path(labels), **TIGHT, **kind) == wanted
    assert count_of(graph, path(labels), "homomorphism", **kind) == 7**vertices


def test_many_vertices_of_one_label_do_not_double_the_steps_each():
    graph = graph_of(some_pairs(np.random.default_rng(3), 30, 0.12), [0] * 30)
    tree = [(0, 1), (0, 2), (0, 3), *((1 + i // 3, 4 + i) for i in range(8))]
    engine, prepared = prepared_for(graph, Pattern(tree, labels=dict.fromkeys(range(12), 0)), "monomorphism")
    run = engine.condition(prepared, RunOptions(), None)
    assert run.total() == 73_584
    assert run.steps < 10_000  # inclusion and exclusion of all conflicts takes 615,210


@pytest.mark.parametrize(
    ("edges", "labels", "ways"),
    [
        ([(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4), (4, 5)], [0] * 6, 4),  # 0 and 1, 2 and 3
        ([(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4), (4, 5)], [0, 0, 0, 1, 0, 0], 2),
        ([(0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4)], [1, 1, 0, 1, 1], 4),  # 0 and 1, 3 and 4, which are adjacent
        ([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)], [0] * 4, 24),
        ([(0, 1), (1, 2), (2, 3), (3, 0)], [0] * 4, 4),  # not 0 and 1, though they are alike
        ([(0, 1), (0, 2), (0, 3)], [0] * 4, 1),  # leaves are left out
    ],
)
def test_of_the_ways_to_exchange_images_one_is_counted(edges, labels, ways):
    size = 150  # more than a word of candidates
    graph = graph_of(some_pairs(np.random.default_rng(ways), size, 0.2), np.arange(size) % (1 + max(labels)))
    pattern = Pattern(edges, labels=dict(enumerate(labels)))
    for semantics in ("monomorphism", "homomorphism"):
        assert count_of(graph, pattern, semantics) == count_of(graph, pattern, semantics, **LISTS)
    engine, prepared = prepared_for(graph, pattern, "monomorphism")
    *_, multiple = initial_arrays(prepared.candidate_graph, engine.tunables, np.zeros(1, np.int64), 1)
    assert multiple == ways


@pytest.mark.parametrize(
    ("distinct", "ways"),
    [
        ([], 1),
        ([(1, 2)], 2),
        ([(1, 2), (3, 4)], 4),  # not 1 and 3, though they are adjacent to the same
        ([(1, 2), (1, 3), (2, 3)], 6),
        ([(1, 2), (1, 3)], 1),  # not 1 and 2: only one must differ from 3
        ([(1, 2), (1, 3), (1, 4), (2, 3), (2, 4)], 2),
    ],
)
def test_images_are_exchanged_of_vertices_that_must_differ_from_the_same(distinct, ways):
    graph = graph_of(some_pairs(np.random.default_rng(ways), 40, 0.3), [0] * 40)
    edges = [(hub, v) for hub in (0, 5) for v in (1, 2, 3, 4)]
    pattern = Pattern(edges, labels=dict.fromkeys(range(6), 0), distinct=distinct)
    assert count_of(graph, pattern, "homomorphism") == count_of(graph, pattern, "homomorphism", **LISTS)
    engine, prepared = prepared_for(graph, pattern, "homomorphism")
    *_, multiple = initial_arrays(prepared.candidate_graph, engine.tunables, np.zeros(1, np.int64), 1)
    assert multiple == ways


@pytest.mark.parametrize("size", [512, 513])
def test_domains_are_bits_up_to_512_candidates_and_lists_beyond(size):
    graph, pattern = multipartite(2, size), path([0, 1, 0, 1, 0])
    engine, prepared = prepared_for(graph, pattern, "homomorphism")
    _, arrays, _, _ = initial_arrays(prepared.candidate_graph, engine.tunables, np.zeros(1, np.int64), 1)
    assert isinstance(arrays, BitArrays) == (size <= 512)
    assert engine.condition(prepared, RunOptions(), None).total() == size**5


@pytest.mark.parametrize("kind", [{}, LISTS], ids=["bits", "lists"])
@pytest.mark.parametrize("changes", [{"threads": 1}, {"threads": 3, **SOON}], ids=["alone", "threads"])
@pytest.mark.parametrize("steps", [1 << 13, 50])
def test_sums_over_blocks_of_many_candidates_are_those_of_matrices(kind, changes, steps):
    size, between = 100, np.random.default_rng(9).random((5, 100, 100)) < 0.8
    pairs = [np.argwhere(part) + np.array([size * u, size * ((u + 1) % 5)]) for u, part in enumerate(between)]
    graph = graph_of(np.concatenate(pairs), np.repeat(range(5), size))
    cycle = Pattern([(v, (v + 1) % 5) for v in range(5)], labels=dict(enumerate(range(5))))
    wanted = int(np.trace(np.linalg.multi_dot(between.astype(np.float64))))
    assert count_of(graph, cycle, conditioning_steps=steps, **changes, **kind) == wanted


@numba.njit
def common_of(both, length):
    return have_common(both, 0, length, both, length, len(both))


def test_whether_two_lists_have_an_element_in_common():
    random = np.random.default_rng(2)
    for sizes in [(0, 5), (3, 3), (1, 200), (200, 2), (60, 40)]:
        for _ in range(20):
            a, b = (np.sort(random.choice(1000, size, replace=False)).astype(np.int32) for size in sizes)
            both = np.concatenate([a, b])
            assert common_of(both, len(a)) == bool(set(a.tolist()) & set(b.tolist()))


@pytest.mark.parametrize("kind", [{}, LISTS], ids=["bits", "lists"])
@pytest.mark.parametrize("edges", [[(0, 1)], [(0, 1), (1, 2)], [(0, 1), (1, 2), (0, 2)], []])
def test_what_is_left_of_three_vertices_is_kept_apart(edges, kind):
    pairs = some_pairs(np.random.default_rng(8), 10, 0.6)
    graph = graph_of(pairs, [0] * 10)
    pattern = Pattern([*edges, (3, 0), (3, 1), (3, 2), (3, 4)], labels=dict.fromkeys(range(5), 0))
    adjacent = np.zeros((10, 10), bool)
    adjacent[tuple(np.array(pairs).T)] = True
    adjacent |= adjacent.T
    wanted = sum(
        all(adjacent[maps[u], maps[w]] for u, w in [*edges, (3, 0), (3, 1), (3, 2), (3, 4)])
        for maps in permutations(range(10), 5)
    )
    assert count_of(graph, pattern, **kind) == wanted


@pytest.mark.parametrize("kind", [{}, LISTS], ids=["bits", "lists"])
@pytest.mark.parametrize("vertices", [2, 3, 4, 5])
@pytest.mark.parametrize("seed", [0, *thorough(*range(1, 12))])
def test_what_is_left_of_a_few_vertices_is_kept_apart_where_that_is_asked(seed, vertices, kind):
    for graph, pattern, wanted in beside_a_hub(seed, vertices, 25):
        assert count_of(graph, pattern, "homomorphism", **kind) == wanted, pattern


@pytest.mark.parametrize("kind", [{}, LISTS], ids=["bits", "lists"])
def test_vertices_that_may_have_one_image_are_not_taken_for_different(kind):
    graph = graph_of(list(combinations(range(5), 2)), [0] * 5)
    arms = [(0, 1), (0, 2), (0, 3), (0, 4), (2, 5), (3, 6), (4, 7)]  # 1 is set apart from 2, 3 and 4
    pattern = Pattern(arms, labels=dict.fromkeys(range(8), 0), distinct=[(1, 2), (1, 3), (1, 4)])
    wanted = 5 * 4**3 * sum(4 - len(set(images)) for images in product(range(4), repeat=3))
    assert count_of(graph, pattern, "homomorphism", **kind) == wanted


@pytest.mark.parametrize("kind", [{}, LISTS], ids=["bits", "lists"])
def test_an_image_that_two_vertices_have_is_taken_from_a_row_once(kind):
    graph = graph_of(list(combinations(range(8), 2)), ["A"] * 2 + ["B"] * 6)
    # 1 and 2 have few candidates, and go first, with 0; then 3, which is touched, and 4, which is not, are a component.
    edges, differ = [(0, 5), (0, 6), (5, 6), *product((1, 2), (0, 3, 5, 6)), (3, 4)], [(1, 4), (2, 4)]
    pattern = Pattern(edges, labels={v: "A" if v in (1, 2) else "B" for v in (0, 1, 2, 3, 5, 6)}, distinct=differ)
    of_a, of_b = range(2), range(2, 8)
    images = product(of_b, of_a, of_a, of_b, range(8), of_b, of_b)
    wanted = sum(all(maps[u] != maps[w] for u, w in [*edges, *differ]) for maps in images)
    assert count_of(graph, pattern, "homomorphism", **kind) == wanted


@pytest.mark.parametrize("size", [4, 12])
def test_small_and_large_triangles_are_left(size):
    clique = Pattern(list(combinations(range(6), 2)), labels=dict(enumerate(range(6))))
    assert count_of(multipartite(6, size), clique) == size**6


def test_only_named_pairs_are_kept_apart_in_a_homomorphism():
    pattern = Pattern([(0, 1), (1, 2), (2, 3), (3, 4)], labels={i: i % 2 for i in range(5)}, distinct=[(0, 4), (1, 3)])
    assert count_of(multipartite(2, 7), pattern, "homomorphism") == 7 * 6 * 7 * 6 * 7


@pytest.mark.parametrize("kind", [{}, LISTS], ids=["bits", "lists"])
@pytest.mark.parametrize("vertices", [10, 20, 32])
def test_counts_beyond_64_bits_are_exact(vertices, kind):
    graph, pattern = multipartite(vertices, 30 if vertices < 32 else 12), path(range(vertices))
    size = 30 if vertices < 32 else 12
    assert count_of(graph, pattern, **kind) == size**vertices
    assert csm.count_matches(graph, pattern, unique=False, engine="cpu") == size**vertices


def test_ranges_of_roots_add_up():
    graph, pattern = skewed_graph(), Pattern.parse(QUERY)
    engine, prepared = prepared_for(graph, pattern, "monomorphism")
    plan, _ = plan_of(graph, engine, pattern, "monomorphism", unique=True)
    strategy = Conditioning.of_plan(engine, plan, prepared, ConditioningPlan(1.0, 1e9))
    tasks = strategy.number_of_tasks
    for parts in (1, 2, 3, 7):
        cuts = np.linspace(0, tasks, parts + 1).astype(int).tolist()
        total = sum(strategy.run(None, None, TaskRange(*ends)).total() for ends in pairwise(cuts))
        assert (
            strategy.matches_of(total)
            == csm.count_matches(graph, QUERY, engine="cpu")
            == strategy.run(None, None).count()
        )


# How it is chosen, and how it ends -----------------------------------------------------------------------------------


def hard():
    """Every vertex is a candidate of every second pattern vertex, and the pattern has cycles and little symmetry."""
    edges = [(i, j) for i in range(10) for j in range(i) if i - j in (1, 3, 5)]
    return multipartite(2, 40), Pattern(edges, labels={i: i % 2 for i in range(10)})


def test_a_long_count_is_made_by_conditioning_and_explain_says_so():
    graph, pattern = multipartite(12, 20), path(range(12))
    plan = csm.explain(graph, pattern, unique=False, engine="cpu")
    assert plan.conditioning is not None
    assert plan.conditioning.first
    assert "conditioning" in str(plan)
    assert "conditioning" in repr(plan)
    begin = time.monotonic()
    assert csm.count_matches(graph, pattern, unique=False, engine="cpu") == 20**12
    assert time.monotonic() - begin < 60


def test_a_count_that_conditioning_may_end_soon_is_begun_without_a_plan(monkeypatch):
    graph, pattern = multipartite(12, 20), path(range(12))
    monkeypatch.setattr(conditioning_count, "plan_of", lambda *_: pytest.fail("a walk was planned"))
    assert csm.count_matches(graph, pattern, unique=False, engine="cpu") == 20**12
    assert csm.count_matches(graph, pattern, engine="cpu") == 20**12 // pattern.automorphism_count()
    assert csm.explain(graph, pattern, engine="cpu").conditioning.first


@pytest.mark.thorough
def test_a_count_that_was_begun_without_a_plan_is_planned_when_its_steps_are_spent(monkeypatch):
    graph = skewed_graph()
    wanted = csm.count_matches(graph, QUERY, engine="cpu")
    monkeypatch.setattr(
        CpuEngine, "condition", lambda _engine, _prepared, options, _tasks: EndlessCount(options, 1 << 20)
    )
    monkeypatch.setattr(conditioning_count.ConditioningCount, "_eliminated", lambda _: None)  # it may be the first
    graph.host.cache.forget("prepared", "plans")
    assert csm.count_matches(graph, QUERY, engine="cpu") == wanted
    assert graph.host.cache.values("plans")


@pytest.mark.parametrize("share", [1e-9, 1e9])
def test_a_walk_that_is_planned_soon_has_a_turn_as_long_as_conditioning_has_taken(monkeypatch, share):
    graph, steps, turns = skewed_graph(), walk_turns.SHORT_STEPS, []

    def walked(_count, walk, factor):
        turns.append((walk.estimate, factor))
        return 7

    def condition(_engine, _prepared, options, _tasks):
        return EndlessCount(options, steps)

    monkeypatch.setattr(CpuEngine, "condition", condition)
    monkeypatch.setattr(conditioning_count.ConditioningCount, "_eliminated", lambda _: None)
    monkeypatch.setattr(walk_turns, "SHORT_SHARE", share)
    monkeypatch.setattr(conditioning_count.ConditioningCount, "_walked", walked)
    assert csm.count_matches(graph, QUERY, engine="cpu") == 7
    ((estimate, factor),) = turns
    if share > 1.0:
        assert factor == min(steps * walk_turns.STEP_NS / estimate, walk_turns.SURPRISE_FACTOR)
    else:  # the walk was left until it was planned by sampled descents
        assert factor == walk_turns.WALK_FACTOR


@pytest.mark.parametrize(("times", "grows"), [(0.5, 2.0), (3.0, 3.0), (1e6, 4.0)])
def test_a_walk_that_was_given_up_has_its_next_turn_by_what_it_had_done(monkeypatch, times, grows):
    graph, turns = skewed_graph(), []

    class GivenUp:
        matches = 0

        def count(self):
            turns.append(self.factor)
            if len(turns) == 3:
                return 7
            raise StepsSpent(times)

    def run(walk, _deadline, _progress, max_work):
        given_up = GivenUp()
        visits = 1 + sum(walk.plan.order.matches[: walk.plan.walked])
        given_up.factor = max_work / visits
        return given_up

    def condition(_engine, _prepared, options, _tasks):
        return EndlessCount(options, walk_turns.MIN_STEPS)

    monkeypatch.setattr(CpuEngine, "condition", condition)
    monkeypatch.setattr(conditioning_count.ConditioningCount, "_eliminated", lambda _: None)
    monkeypatch.setattr(walk_turns, "SHORT_STEPS", 1 << 62)
    monkeypatch.setattr(conditioning_count, "MIN_WALK_NS", 0.0)
    monkeypatch.setattr(walk_turns, "STEP_NS", 1e9)
    monkeypatch.setattr(conditioning_count.Walk, "run", run)
    assert csm.count_matches(graph, QUERY, unique=False, engine="cpu") == 7
    assert turns[0] == pytest.approx(2.0, rel=0.01)
    assert turns[1] / turns[0] == pytest.approx(2.0 * grows, rel=0.01)
    assert turns[2] / turns[1] == pytest.approx(2.0 * grows, rel=0.01)


def test_where_conditioning_is_nearly_done_another_way_is_looked_at_later():
    count = EndlessCount(RunOptions(), 1)
    for steps_left, wanted in ((1 << 62, [False, True, True, True]), (0, [False, False, False, True])):
        count.steps_left = steps_left
        taken = []
        for count.steps in (99, 100, 149, 150):
            taken.append(walk_turns._has_taken(count, 100))
        assert taken == wanted


@pytest.mark.parametrize(
    ("steps", "left", "seconds", "conditioning_yields", "elimination_yields"),
    [
        (1 << 26, 1 << 62, 1.0, True, False),
        (1 << 26, 1 << 20, 1.0, False, True),
        (1 << 23, 1 << 20, 1.0, False, True),
        (1 << 23, 1 << 62, 1.0, False, False),
        (1 << 20, 1 << 10, 1.0, False, False),
        (1 << 26, 1 << 62, 0.0, False, False),
        (1 << 26, 1 << 20, 60.0, False, False),
    ],
)
def test_cores_are_left_to_the_count_that_is_expected_to_be_done_soon(
    steps, left, seconds, conditioning_yields, elimination_yields
):
    conditioned = SimpleNamespace(steps=steps, steps_left=left, yields=None)
    eliminated = SimpleNamespace(seconds_beside=seconds, count=SimpleNamespace(yields=None))
    conditioning_count._leave_cores(eliminated, conditioned, is_suited=True, has_device=False)
    assert (conditioned.yields, eliminated.count.yields) == (conditioning_yields, elimination_yields)


@pytest.mark.parametrize(
    ("left", "has_device", "yields"), [(1 << 62, True, True), (1 << 62, False, False), (1, True, False)]
)
def test_conditioning_leaves_cores_to_elimination_with_a_device(left, has_device, yields):
    """Also where elimination does not suit the pattern."""
    conditioned = SimpleNamespace(steps=1 << 26, steps_left=left, yields=None)
    eliminated = SimpleNamespace(seconds_beside=1.0, count=SimpleNamespace(yields=None))
    conditioning_count._leave_cores(eliminated, conditioned, is_suited=False, has_device=has_device)
    assert (conditioned.yields, eliminated.count.yields) == (yields, False)


class EndlessCount:
    """A count whose turns take so many steps and find nothing."""

    def __init__(self, options, steps_of_turn):
        self.options, self.steps_of_turn, self.steps, self.threads = options, steps_of_turn, 0, 1
        self.steps_left = 1 << 62

    def total(self):
        while True:
            self.steps += self.steps_of_turn
            time.sleep(1e-3)
            if self.options.progress is not None:
                self.options.progress(0.0, 0)
            self.between_turns(self)


def test_induced_counts_and_rows_are_walked():
    graph = skewed_graph()
    assert csm.explain(graph, QUERY, semantics="induced", engine="cpu").conditioning is None
    plan, _ = plan_of(graph, CpuEngine(), Pattern.parse(QUERY), "monomorphism", unique=True, counting=False)
    assert plan.conditioning is None


def test_it_ends_at_a_deadline(monkeypatch):
    monkeypatch.setattr(walk_turns, "MIN_STEPS", 1 << 62)  # a walk would be quicker
    graph, pattern = hard()
    engine, prepared = prepared_for(graph, pattern, "monomorphism")
    with pytest.raises(DeadlinePassed):
        engine.condition(prepared, RunOptions(deadline=time.monotonic() + 0.1), None).total()
    with pytest.raises(csm.TimeLimitExceeded):
        csm.count_matches(graph, pattern, unique=False, engine="cpu", time_limit=0.3)


@pytest.mark.parametrize("threads", [1, 3])
def test_another_thread_ends_a_count_within_a_turn(threads):
    graph, pattern = hard()
    engine, prepared = prepared_for(graph, pattern, "monomorphism", threads=threads, conditioning_steps=1 << 40, **SOON)
    flag = np.zeros(1, np.int64)
    with ended_by(flag):
        run = engine.condition(prepared, RunOptions(), None)
    threading.Timer(0.2, flag.fill, [1]).start()
    with pytest.raises(DeadlinePassed):
        run.total()


@pytest.mark.thorough
def test_where_its_steps_are_spent_the_pattern_is_walked(monkeypatch):
    graph, pattern = skewed_graph(), Pattern.parse(QUERY)
    engine, prepared = prepared_for(graph, pattern, "monomorphism", conditioning_steps=1)
    plan, _ = plan_of(graph, engine, pattern, "monomorphism", unique=True)
    wanted = csm.count_matches(graph, QUERY, engine="cpu")
    monkeypatch.setattr(walk_turns, "MIN_STEPS", 3)
    monkeypatch.setattr(conditioning_count, "MIN_WALK_NS", 0.0)
    monkeypatch.setattr(walk_turns, "STEP_NS", 1e9)
    for factor in (1e9, 0.01):  # the walk ends, or is given up as well
        monkeypatch.setattr(walk_turns, "WALK_FACTOR", factor)
        strategy = Conditioning.of_plan(engine, plan, prepared, ConditioningPlan(1.0, 1e9))
        assert strategy.run(None, None).count() == wanted


def test_a_short_walk_gives_way_to_it(monkeypatch):
    with tuned(work_units=64):
        graph = skewed_graph()
        wanted = csm.count_matches(graph, QUERY, engine="cpu")
        monkeypatch.setattr(conditioning_count, "MIN_WALK_NS", 0.0)
        monkeypatch.setattr(walk_turns, "SURPRISE_FACTOR", 0.0)
        monkeypatch.setattr(ConditioningPlan, "first", False)
        assert csm.count_matches(skewed_graph(), QUERY, engine="cpu") == wanted


def test_progress_never_goes_back():
    graph, pattern = multipartite(10, 20), path(range(10))
    seen = []
    with tuned(conditioning_steps=500):
        csm.count_matches(
            graph, pattern, unique=False, engine="cpu", progress=lambda done, matches: seen.append((done, matches))
        )
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (1.0, 20**10)


@pytest.mark.parametrize("semantics", ["monomorphism", "homomorphism"])
@pytest.mark.parametrize("changes", [{}, TIGHT, LISTS, {**TIGHT, **LISTS}])
def test_threads_count_what_one_thread_counts(semantics, changes):
    graph, pattern = skewed_graph(), Pattern.parse(QUERY)
    alone = count_of(graph, pattern, semantics, threads=1)
    for threads in (2, 5):
        assert count_of(graph, pattern, semantics, threads=threads, **SOON, **changes) == alone > 0


def test_pools_of_threads_follow_each_other_and_are_fewer_where_they_are_large():
    assert list(pools_of(3, 10, begin=7)) == [7, 17, 27]
    assert pools_of(3, 10, begin=7).stop == 37
    assert list(pools_of(16, 1 << 26)) == [0, 1 << 26, 2 << 26, 3 << 26]
    assert list(pools_of(2, 1 << 40)) == [0]
    assert list(pools_of(2, 0)) == [0, 1]


def test_where_pools_are_large_fewer_threads_count(monkeypatch):
    monkeypatch.setattr(pools, "MOST_ELEMENTS", 1)
    graph, pattern = skewed_graph(), Pattern.parse(QUERY)
    alone = count_of(graph, pattern, "monomorphism", threads=1)
    assert count_of(graph, pattern, "monomorphism", threads=5, **SOON) == alone > 0


@pytest.mark.thorough
@pytest.mark.parametrize(("scale", "changes"), [(9, LISTS), (8, {})], ids=["lists", "bits"])
def test_threads_share_what_they_know_in_a_cache_that_grows(scale, changes, monkeypatch):
    monkeypatch.setattr(component_cache, "FIRST_SLOTS", 1 << 5)
    vertices = pd.DataFrame({"vertex": range(1 << scale), "label": np.arange(1 << scale) % 2})
    graph = Graph.from_edgelist(generators.rmat(scale, 6), vertices=vertices, vertex_label="label")
    pattern, runs = Pattern([*pairwise(range(8)), (7, 0), (0, 3)], labels={v: v % 2 for v in range(8)}), []
    for threads in (1, 4):
        settings = {"threads": threads, "conditioning_steps": 64, **SOON, **changes}
        engine, prepared = prepared_for(graph, pattern, "monomorphism", **settings)
        runs.append(engine.condition(prepared, RunOptions(), None))
    alone, together = runs
    assert together.total() == alone.total() == csm.count_matches(graph, pattern, unique=False, engine="cpu") > 0
    for run in runs:
        shared = run._counters[0]._arrays.shared
        assert shared[component_cache.MASK] == shared[component_cache.FORMER_MASK] >= 1 << 6
    assert together.steps < 1.5 * alone.steps


@pytest.mark.parametrize("changes", [{"conditioning_steps": 40}, TIGHT, {**TIGHT, **LISTS}])
def test_threads_without_a_root_help_and_change_no_count(changes, monkeypatch):
    helped, helping, counting = [], RootCounter.help, RootCounter.count

    def slow_count(*given):
        time.sleep(0.002)
        return counting(*given)

    monkeypatch.setattr(RootCounter, "count", slow_count)
    monkeypatch.setattr(RootCounter, "help", lambda *given: helped.append(given) or helping(*given))
    graph, pattern = multipartite(4, 12), path([0, 1, 2, 3, 0, 1])
    for task in (TaskRange(0, 1), TaskRange(5, 7)):
        alone = count_of(graph, pattern, tasks=task, threads=1)
        assert count_of(graph, pattern, tasks=task, threads=5, **SOON, **changes) == alone > 0
    assert {begin for _, (begin, _), _ in helped} <= {0, 5, 6}
    shares = {counter.share for counter, *_ in helped}  # of two counts, by up to five threads each
    assert 1 < len(shares) <= 5
    assert all(0 < share < 1 for share in shares)


@pytest.mark.thorough
@pytest.mark.parametrize("primes", [(), PRIMES[:4]], ids=["whole", "residues"])
@pytest.mark.parametrize("changes", [{}, LISTS], ids=["bits", "lists"])
def test_a_count_in_short_turns_makes_no_sum_twice(changes, primes):
    vertices = pd.DataFrame({"vertex": range(1 << 9), "label": np.arange(1 << 9) % 2})
    graph = Graph.from_edgelist(generators.rmat(9, 6), vertices=vertices, vertex_label="label")
    pattern = Pattern([*pairwise(range(8)), (7, 0), (0, 3), (2, 5)], labels={v: v % 2 for v in range(8)})
    found, steps = [], []
    for of_a_turn in (1 << 20, 1 << 7):
        settings = {"threads": 1, "conditioning_steps": of_a_turn, **changes}
        engine, prepared = prepared_for(graph, pattern, "monomorphism", **settings)
        run = engine.condition(prepared, RunOptions(), None)
        found.append(run._count(primes)[0])
        steps.append(run.steps)
    assert found[0] == found[1]
    whole, in_turns = steps
    assert whole > 1000 << 7
    assert in_turns < 1.03 * whole


@pytest.mark.parametrize("threads", [1, 3])
def test_a_count_that_is_interrupted_between_turns_goes_on(threads):
    graph, settings = multipartite(4, 12), {"threads": threads, "conditioning_steps": 5, **SOON}
    engine, prepared = prepared_for(graph, path([0, 1, 2, 3, 0, 1]), "monomorphism", **settings)
    run, interrupts, heard = engine.condition(prepared, RunOptions(), None), 0, []

    def interrupt(count):
        heard.append(count.steps)
        if len(heard) % 3 == 1:
            raise InterruptedError

    run.between_turns = interrupt
    while True:
        try:
            found = run.total()
            break
        except InterruptedError:
            interrupts += 1
    assert interrupts
    assert heard == sorted(heard)
    assert found == engine.condition(prepared, RunOptions(), None).total()
    assert found == 12 * 12 * 12 * 12 * 11 * 11


@pytest.mark.one_each
@pytest.mark.parametrize("kind", [{}, LISTS], ids=["bits", "lists"])
@pytest.mark.parametrize(("vertices", "size"), [(11, 64), (32, 64), *thorough((10, 64), (21, 64), (22, 64), (24, 64))])
def test_counts_of_60_to_192_bits_are_exact(vertices, size, kind):
    graph, pattern = multipartite(vertices, size), path(range(vertices))  # 64^10 = 2^60 ... 64^32 = 2^192
    engine, prepared = prepared_for(graph, pattern, "monomorphism", threads=1, **kind)
    run, primes = engine.condition(prepared, RunOptions(), None), set()
    begin = RootCounter.begin
    run._counters[0].begin = lambda some: primes.add(some) or begin(run._counters[0], some)
    assert run.total() == size**vertices
    assert len(primes) == (1 if size**vertices < 1 << 126 else 2 if size**vertices < 1 << 186 else 3)


def test_nothing_is_looked_at_while_a_count_is_made_modulo_primes():
    graph, pattern = multipartite(24, 60), path(range(24))
    engine, prepared = prepared_for(graph, pattern, "monomorphism", threads=1, conditioning_steps=5)
    run, primes = engine.condition(prepared, RunOptions(), None), set()
    run.between_turns = lambda count: primes.add(count._primes)
    assert run.total() == 60**24
    assert primes == {()}
