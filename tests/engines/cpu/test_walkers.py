"""The walkers under stress: stopped after every step, cut in two at every level, refused their universes.

A walker's answer must not depend on when it returns to Python, on how its tasks are divided, on which of the two does
the work, or on which rows are kept as bitmaps. Settings that a user never sees force each of these; the answers are
held against the oracle, against the same walker left alone, and against closed forms.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from math import comb

import numba
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import automorphisms, canonical, matches
from plans import plan_for
from strategies import RawGraph, cases, connected_order, skewed_rows
from tiers import examples

from cusubmatch import Graph, Pattern, count_matches, generators
from cusubmatch.engines.cpu.search.run import Run
from cusubmatch.engines.cpu.tunables import Tunables
from cusubmatch.engines.cpu.walker import count_limbs, program
from cusubmatch.engines.runs import RunOptions
from cusubmatch.execution.results.expand_orbits import expand_orbits

# Random patterns ask for labels that random graphs lack.
pytestmark = pytest.mark.filterwarnings("ignore::cusubmatch.AbsentLabelWarning")

WAYS = [("monomorphism", True), ("monomorphism", False), ("induced", True), ("induced", False), ("homomorphism", False)]


@dataclass(frozen=True)
class Settings:
    """What is forced on a run; None leaves the engine's own choice.

    `work_units`: work between two returns of a walker; `block_rows`: rows of the output buffer; `donates`: a range is
    donated at every return, as if a thread always waited; `universe`: largest neighbourhood that bitmaps take;
    `hubs`: whether all rows, or none, are kept as bitmaps; `threads`: started at once.
    """

    method: str | None = None
    ascending: bool | None = None
    order: tuple[int, ...] = ()
    work_units: int | None = None
    block_rows: int = 1 << 16
    donates: bool = False
    first_tasks: int | None = None
    universe: int | None = None
    hubs: bool | None = None
    threads: int = 1

    @property
    def tunables(self):
        forced = {
            "threads": self.threads,
            "work_units": self.work_units,
            "first_tasks": self.first_tasks,
            "alone_s": -1.0 if self.threads > 1 else None,
            "max_universe": self.universe,
            "min_hub_degree": {None: None, True: 0, False: 1 << 40}[self.hubs],
            "hub_bitmap_bytes": 1 << 40 if self.hubs else None,
        }
        return replace(Tunables(), **{name: value for name, value in forced.items() if value is not None})


def plan_of(graph, pattern, semantics, unique, counting, settings):
    """A plan with the settings' method and direction, where the pattern has such plans, and what it is walked on."""
    asked = graph, pattern, semantics, unique, counting
    methods = {"methods": (settings.method,)} if settings.method else {}
    try:
        order = connected_order(pattern, settings.order)
        found, prepared = plan_for(*asked, ascending=settings.ascending, order=order, **methods)
    except ValueError:  # no vertex touches all others, which bitmaps need
        return plan_for(*asked)
    if found.method == "bitmaps" and found.walked < 2:  # counted at the root, before there is a neighbourhood
        return plan_for(*asked)
    return found, prepared


def run_of(graph, pattern, settings, semantics="monomorphism", unique=True, counting=False):
    plan, prepared = plan_of(graph, pattern, semantics, unique, counting, settings)
    run = Run(prepared, plan, RunOptions(block_rows=settings.block_rows), tunables=settings.tunables)
    if settings.donates:
        run.tasks.waiting = 1  # a thread that waits for ever
    return run


def count_with(settings, graph, pattern, semantics="monomorphism", unique=True):
    return run_of(graph, pattern, settings, semantics, unique, counting=True).count()


def rows_with(settings, graph, pattern, semantics="monomorphism", unique=True):
    """All rows, as a Counter of tuples of internal vertices; blocks are checked on the way."""
    run = run_of(graph, pattern, settings, semantics, unique)
    blocks = list(run.blocks())
    assert all(block.dtype == np.int32 and block.shape[1] <= settings.block_rows for block in blocks)
    assert run.matches == sum(block.shape[1] for block in blocks)
    return Counter(tuple(row) for block in expand_orbits(blocks, run.plan, np) for row in block.T.tolist())


def graph_of(pairs, directed=False):
    return Graph.from_edgelist(pd.DataFrame(list(pairs), columns=["src", "dst"], dtype="int64"), directed=directed)


def in_ids(graph, rows):
    """Rows of internal vertices as rows of the caller's ids."""
    flat = np.array(list(rows), np.int32)
    ids = graph.to_ids(flat.ravel())
    table = np.asarray(ids, object).reshape(flat.shape)
    return Counter({tuple(row): times for row, times in zip(table.tolist(), rows.values(), strict=True)})


# Against the oracle --------------------------------------------------------------------------------------------------


def test_a_root_that_bitmaps_leave_and_whose_sets_are_empty_counts_nothing():
    """Lists are the first to look at its sets, and those of the root before are still there."""
    text = (
        "cb-adb-Y cba-bcc-Z cb-adb-Z d-add-X c-bb-Z bdc-caa-Y cd-adc-X aad-bbb-Y a-add-X caa-bdc-Y add-dbd-X d-a-Z "
        "ccc-cad-Y b-adc-X cd-cdd-X cd-add-X cd-bbb-X cd-bcb-X cd-a-X cd-dd-X cd-aa-X cd-c-X dc-cd-X bdc-cd-X aa-cd-X "
        "dda-cd-X caa-cd-X cba-cd-X dbd-cd-X aa-cd-Y dd-cad-Y cad-add-Y add-cd-Z add-cad-Z add-dd-Y add-cad-Nowhere"
    )
    raw = RawGraph([tuple(row.split("-")) for row in text.split()], False, "str", "str", True, None, [])
    pattern = Pattern.parse(
        "(a)--(b), (b)--(c), (c)--(), (c)-[:Nowhere|X]-(), (b)-[:Z]-(c), (b)-[:X|Y]-(c), (a)--(c), (b)-[:Nowhere|Z]-(c)"
    )
    graph, expected = raw.graph(), len(matches(raw.naive(), pattern, "homomorphism", False))
    for universe in (1, None):
        settings = Settings(method="bitmaps", first_tasks=2, universe=universe)
        assert count_with(settings, graph, pattern, "homomorphism", False) == expected


settings_of_any_kind = st.builds(
    Settings,
    method=st.sampled_from((None, "lists", "bitmaps", "bitmaps")),
    ascending=st.sampled_from((None, False, True)),
    order=st.one_of(st.just(()), st.permutations(range(6)).map(tuple)),
    work_units=st.sampled_from((1, 2, 3, 7, 50, None)),
    block_rows=st.sampled_from((1, 2, 7, 1 << 16)),
    donates=st.booleans(),
    first_tasks=st.sampled_from((1, 2, None)),
    universe=st.sampled_from((1, 2, 4, 9, None)),
    hubs=st.sampled_from((None, False, True)),
    threads=st.just(1),
)


@pytest.mark.one_each
@pytest.mark.parametrize(("semantics", "unique"), WAYS)
@pytest.mark.parametrize("hubs", [False, True])
@examples(25)
@given(data=st.data(), settings=settings_of_any_kind)
def test_counts_and_rows_under_any_settings_are_the_oracles(semantics, unique, hubs, data, settings):
    raw, pattern = data.draw(cases(hubs=hubs))
    symmetries = automorphisms(pattern) if unique else [tuple(range(len(pattern)))]
    truth = Counter(canonical(image, symmetries) for image in matches(raw.naive(), pattern, semantics, unique))
    graph = raw.graph()
    assert count_with(settings, graph, pattern, semantics, unique) == truth.total()
    rows = rows_with(settings, graph, pattern, semantics, unique)
    assert rows.total() == truth.total()
    if rows and None not in pattern.names:
        assert Counter(canonical(row, symmetries) for row in in_ids(graph, rows).elements()) == truth


# Against the walker left alone ---------------------------------------------------------------------------------------

UNDIRECTED = {
    "triangle": "(a)--(b)--(c)--(a)",
    "square": "(a)--(b)--(c)--(d)--(a)",
    "diamond": "(a)--(b)--(c)--(d)--(a)--(c)",
    "4-clique": "(a)--(b)--(c)--(d)--(a)--(c), (b)--(d)",
    "claw": "(h)--(a), (h)--(b), (h)--(c)",
    "paw": "(a)--(b)--(c)--(a)--(d)",
    "gem": "(a)--(b)--(c)--(d), (h)--(a), (h)--(b), (h)--(c), (h)--(d)",
    "labelled diamond": "(a:A)--(b:B|C)--(c)--(d:B|C)--(a)--(c)",
    "labelled fan": "(a:A|B)--(b:B)--(c), (h:A|C)--(a), (h)--(b), (h)--(c)",
}
DIRECTED = {
    "ring": "(a)-->(b)-->(c)-->(a)",
    "reply": "(a)-->(b)-->(a), (b)-->(c)",
    "bi-fan": "(a)-->(c)<--(b)-->(d)<--(a)",
    "mixed square": "(a)--(b)-->(c)--(d)-->(a)",
    "reciprocal hub": "(h)-->(a)-->(h)--(b)--(a), (h)-->(c)",
    "labelled fan in": "(a:A)-->(m)<--(b:A), (c:B)-->(m)<--(d:B|C)",
    "edge labels": "(a)-[:X]->(b)-[:Y]->(c)<-[:X|Z]-(a)",
}
FORCED = {
    "stopped at every vertex": Settings(work_units=1),
    "stopped at every row": Settings(block_rows=1),
    "blocks of two rows, stopped often": Settings(block_rows=2, work_units=7),
    "ranges donated at every return": Settings(work_units=3, donates=True, first_tasks=1),
    "ranges donated with every seventh row": Settings(block_rows=7, donates=True, first_tasks=1),
    "no root fits bitmaps": Settings(universe=1),
    "few roots fit bitmaps, stopped often": Settings(universe=4, work_units=5, donates=True, block_rows=7),
    "no hubs": Settings(hubs=False),
    "all hubs, stopped often": Settings(hubs=True, work_units=4, donates=True, universe=6, first_tasks=1),
    "two threads": Settings(threads=2, work_units=20, first_tasks=1, block_rows=7),
    "four threads, blocks of a row": Settings(threads=4, work_units=50, first_tasks=1, block_rows=1),
    "three threads, large roots left to lists": Settings(threads=3, work_units=10, first_tasks=1, universe=5),
}
QUESTIONS = [("monomorphism", True), ("induced", False), ("homomorphism", False)]


@cache
def labelled_graph(directed, rows=130):
    """A skewed graph of 32 vertices with labels on vertices and edges."""
    random = np.random.default_rng(3)
    source, destination = skewed_rows(32, rows)
    edges = pd.DataFrame({"src": source, "dst": destination, "kind": random.choice(["X", "Y", "Z"], rows)})
    vertices = pd.DataFrame({"vertex": range(32), "type": random.choice(["A", "B", "C"], 32)})
    return Graph.from_edgelist(edges, directed=directed, edge_label="kind", vertices=vertices, vertex_label="type")


@cache
def left_alone(name, method, semantics, unique):
    """Count and rows of one thread that is never stopped."""
    found = labelled_graph(name in DIRECTED), Pattern.parse((UNDIRECTED | DIRECTED)[name]), semantics, unique
    return count_with(Settings(method=method), *found), rows_with(Settings(method=method), *found)


@pytest.mark.one_each
@pytest.mark.parametrize("name", [*UNDIRECTED, *DIRECTED])
@pytest.mark.parametrize("forced", FORCED)
def test_rows_and_counts_are_those_of_a_walker_left_alone(forced, name):
    found = labelled_graph(name in DIRECTED), Pattern.parse((UNDIRECTED | DIRECTED)[name])
    for method, (semantics, unique) in product(("lists", "bitmaps"), QUESTIONS):
        settings = replace(FORCED[forced], method=method)
        count, rows = left_alone(name, method, semantics, unique)
        assert count == rows.total() == len(rows) > 0
        assert rows_with(settings, *found, semantics, unique) == rows
        assert count_with(settings, *found, semantics, unique) == count


@pytest.mark.parametrize("method", ["lists", "bitmaps"])
@pytest.mark.parametrize("threads", [2, 4])
def test_threads_that_have_no_root_are_given_parts_of_the_work(method, threads):
    graph = Graph.from_edgelist(generators.rmat(8, 8))
    settings = Settings(method=method, threads=threads, work_units=100, first_tasks=1)  # one task for all roots
    takers, prefixes = set(), set()
    run = run_of(graph, Pattern.clique(4), settings, counting=True)
    add, put, take = run._add, run.tasks.put, run.tasks.take

    def slowly_added(matches):
        time.sleep(1e-3)  # so that the others get their turn
        add(matches)

    def noted_put(task):
        prefixes.add(len(task.prefix))
        put(task)

    def noted_take():
        if (task := take()) is not None:
            takers.add(threading.get_ident())
        return task

    run._add, run.tasks.put, run.tasks.take = slowly_added, noted_put, noted_take
    count = run.count()
    assert count == count_with(Settings(), graph, Pattern.clique(4))
    assert len(takers) >= threads
    assert prefixes


# Leaves that are counted ---------------------------------------------------------------------------------------------

CASES = {
    program.FIXED: "fixed",
    program.MEMBER: "member",
    program.BOUNDED: "bounded",
    program.COMMON: "common",
    program.GENERAL: "general",
}
CRICKET = "(h)--(a)--(b)--(h), (h)--(x), (h)--(y)"
COUNTED_LEAVES = [
    # case, finish, pattern, order of its vertices, semantics, distinct pairs
    ("common", "size", "triangle", "abc", "monomorphism", []),
    ("common", "choose", "diamond", "acbd", "monomorphism", []),
    ("common", "ordered", "diamond", "acbd", "homomorphism", ["bd"]),
    ("common", "square", "diamond", "acbd", "homomorphism", []),
    ("fixed", "size", "diamond", "acbd", "homomorphism", ["ab"]),
    ("fixed", "choose", "labelled fan in", "mcdab", "monomorphism", []),
    ("fixed", "ordered", "claw", "hcab", "homomorphism", ["ab"]),
    ("fixed", "square", "claw", "habc", "homomorphism", []),
    ("member", "size", "paw", "abcd", "monomorphism", []),
    ("member", "size", "paw", "abcd", "homomorphism", ["cd", "bd"]),
    ("member", "choose", CRICKET, "habxy", "monomorphism", []),
    ("bounded", "choose", "claw", "habc", "monomorphism", []),
    ("general", "size", "diamond", "acbd", "induced", []),
    ("general", "choose", "labelled diamond", "acbd", "monomorphism", []),
    ("general", "ordered", "labelled diamond", "acbd", "homomorphism", ["bd"]),
    ("general", "square", "labelled diamond", "acbd", "homomorphism", []),
]


@pytest.mark.parametrize("method", ["lists", "bitmaps"])
@pytest.mark.parametrize("ascending", [False, True])
@pytest.mark.parametrize(("case", "leaf_mode", "name", "order", "semantics", "distinct"), COUNTED_LEAVES)
def test_every_way_to_count_a_leaf_gives_the_number_of_rows(
    case, leaf_mode, name, order, semantics, distinct, ascending, method
):
    pattern = Pattern.parse((UNDIRECTED | DIRECTED).get(name, name), distinct=map(tuple, distinct))
    graph, unique = labelled_graph(name in DIRECTED), semantics != "homomorphism"
    ranks = tuple(order.index(vertex) for vertex in pattern.names)
    settings = Settings(method=method, ascending=ascending, order=ranks)
    plan, _ = plan_of(graph, pattern, semantics, unique, True, settings)
    header = program.encode(plan, {}, [100] * len(plan.relations))[0].header
    assert [pattern.names[level.vertex] for level in plan.levels] == list(order)
    assert (plan.method, CASES[int(header[program.CASE])], plan.leaf_mode) == (method, case, leaf_mode)

    expected = rows_with(settings, graph, pattern, semantics, unique).total()
    stressed = replace(settings, work_units=2, donates=True, first_tasks=1)
    for forced in (settings, stressed, replace(settings, hubs=True)):
        assert count_with(forced, graph, pattern, semantics, unique) == expected > 0


def test_leaves_and_counts_of_any_length_are_exact():
    # Two hubs with m common neighbours: the longest rows and leaves that the suite sees.
    m = 20_000
    graph = graph_of([(hub, leaf) for hub in (-1, -2) for leaf in range(m)])
    assert count_matches(graph, Pattern.cycle(4)) == comb(m, 2)
    assert count_matches(graph, Pattern.star(3)) == 2 * comb(m, 3)
    assert count_matches(graph, Pattern.path(4)) == 2 * m * (m - 1)
    assert count_matches(graph, Pattern.path(3), semantics="homomorphism") == 2 * m**2 + 4 * m


@pytest.mark.one_each
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("leaves", [46_341, 70_000])  # the fourth powers pass 2**62 and 2**64
def test_counts_past_64_bits_are_exact(leaves, threads):
    graph = Graph.from_edgelist(pd.DataFrame({"src": -1, "dst": range(leaves)}))
    settings = Settings(threads=threads)
    assert count_with(settings, graph, Pattern.star(4), "homomorphism", False) == leaves**4 + leaves
    assert count_with(settings, graph, Pattern.star(3)) == comb(leaves, 3)


@numba.njit
def add_all(state, times, values):
    for i in range(len(times)):
        count_limbs.add_to_count(state, times[i], values[i])


@examples(100)
@given(st.lists(st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 2**62 - 1)), max_size=40))
def test_the_limbs_of_a_count_hold_any_sum(additions):
    state = program.State(np.zeros(program.REGISTERS, np.int64), *(np.zeros(1, np.int64) for _ in range(11)))
    times, values = (np.array(column, np.int64) for column in zip(*additions, strict=True)) if additions else ([], [])
    add_all(state, np.asarray(times, np.int64), np.asarray(values, np.int64))
    low, middle, high = state.registers[program.COUNT_0 : program.COUNT_2 + 1].tolist()
    assert 0 <= low < 2**31
    assert 0 <= middle < 2**31
    assert low + (middle << 31) + (high << 62) == sum(t * v for t, v in additions)


# Patterns as large as they come --------------------------------------------------------------------------------------


@pytest.mark.parametrize("directed", [False, True])
def test_paths_of_32_vertices_are_walked_to_the_last(directed):
    graph = graph_of([(i, (i + 1) % 40) for i in range(40)], directed)
    settings = Settings(work_units=3, donates=True, first_tasks=1, block_rows=2)
    assert rows_with(settings, graph, Pattern.path(32, directed=directed)).total() == 40


@pytest.mark.parametrize("method", ["lists", "bitmaps"])
def test_cliques_of_32_vertices_are_walked_to_the_last(method):
    graph = graph_of([(a, b) for a in range(33) for b in range(a)])
    assert count_with(Settings(method=method), graph, Pattern.clique(32)) == 33


def test_the_filter_of_the_32nd_vertex_is_heeded():
    # A ring of 64 with a tail at every fourth vertex; only the 32nd pattern vertex asks for a tail's label.
    ring = [(i, (i + 1) % 64) for i in range(64)]
    tails = [(i, 100 + i) for i in range(0, 64, 4)]
    edges = pd.DataFrame([*ring, *tails], columns=["src", "dst"])
    vertices = pd.DataFrame({"vertex": [*range(64), *(b for _, b in tails)]})
    vertices["type"] = np.where(vertices["vertex"] < 64, "ring", "tail")
    graph = Graph.from_edgelist(edges, vertices=vertices, vertex_label="type")
    names = [f"v{i}" for i in range(32)]
    text = "--".join([*(f"({name}:ring)" for name in names[:-1]), "(v31:tail)"])
    for settings in (Settings(), Settings(hubs=True, work_units=2, donates=True)):
        assert rows_with(settings, graph, Pattern.parse(text)).total() == 16 * 2
        assert count_with(settings, graph, Pattern.parse(text)) == 16 * 2
