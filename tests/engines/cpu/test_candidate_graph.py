"""The candidate graph on the CPU: it loses no match, and what is found on it is what is found without it."""

from __future__ import annotations

import pickle
import time
from collections import Counter
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import embeddings, matches
from plans import plan_for, tuned
from strategies import cases, skewed_rows
from tiers import examples

import cusubmatch as csm
from cusubmatch import Graph, Pattern
from cusubmatch.engines.cpu import CpuEngine
from cusubmatch.engines.cpu.candidates import build_candidate_graph, label_order
from cusubmatch.engines.cpu.search import run as run_module
from cusubmatch.engines.cpu.tunables import Tunables
from cusubmatch.engines.cpu.walker import program
from cusubmatch.engines.runs import RunOptions, TaskRange
from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution.planning import plan_of
from cusubmatch.plan import constraints_of

pytestmark = pytest.mark.filterwarnings("ignore::cusubmatch.AbsentLabelWarning")

ALWAYS = {"candidate_graph_vertices": 1, "small_candidate_arcs": 1 << 40, "failing_set_vertices": 1}
WAYS = [("monomorphism", True), ("monomorphism", False), ("induced", True), ("induced", False), ("homomorphism", False)]
STAR = "(a:A)--(b:B)--(c:A), (a)--(d:D), (a)--(e:D), (a)--(f:A), (b)--(g:A)"  # some vertices are interchangeable
QUERY = "(a:A)--(b:B)--(c:A)--(a), (c)--(d:B)--(e:D), (c)--(f:D)--(g:A)"


def skewed_graph(**options):
    rows, n = skewed_rows(rows=450), 200
    labels = np.random.default_rng(3).choice(["A", "B", "C", "D"], n, p=(0.2, 0.1, 0.2, 0.5))
    vertices = pd.DataFrame({"vertex": range(n), "label": labels})
    edges = pd.DataFrame({"src": rows[0], "dst": rows[1]})
    return Graph.from_edgelist(edges, vertices=vertices, vertex_label="label", **options)


def counts(graph, pattern, unique=True, **options):
    return csm.count_matches(graph, pattern, unique=unique, engine="cpu", **options)


def rows_of(frame):
    return Counter(frame.itertuples(index=False, name=None))


def test_the_relations_of_a_candidate_graph_say_which_rows_they_are():
    graph, pattern = skewed_graph(), Pattern([("a", "b"), ("b", "c")], labels={"a": "A", "b": "B", "c": "A"})
    constraints = constraints_of(pattern, graph, "monomorphism")
    locals_ = [
        CpuEngine(Tunables(**ALWAYS)).prepare(graph, pattern, constraints, True).candidate_graph.constraints
        for _ in range(2)
    ]
    relations, again = (local.relations for local in locals_)
    assert len(relations) == len(set(relations))
    for (u, w), (number,) in locals_[0].required.items():
        (known,) = constraints.required[u, w]
        assert relations[number]._replace(between=None) == constraints.relations[known]
    assert relations == again == pickle.loads(pickle.dumps(relations))
    assert hash(relations) == hash(again)
    assert relations != tuple(relations)


def drawn_candidate_graph(data):
    """A graph, a pattern, semantics, and the candidate graph of these; None where nothing is asked of vertices."""
    raw, pattern = data.draw(cases())
    graph, semantics = raw.graph(), data.draw(st.sampled_from(("monomorphism", "induced", "homomorphism")))
    constraints = constraints_of(pattern, graph, semantics)
    prepared = CpuEngine(Tunables(**ALWAYS)).prepare(graph, pattern, constraints, semantics != "homomorphism")
    return raw, graph, pattern, semantics, prepared.candidate_graph


# What it holds -------------------------------------------------------------------------------------------------------


@examples(60)
@given(data=st.data())
def test_every_embedding_survives_the_filters(data):
    raw, graph, pattern, semantics, local = drawn_candidate_graph(data)
    if local is None:
        return
    number_of = {vertex: i for i, vertex in enumerate(graph.to_ids(np.arange(graph.n_vertices)).tolist())}
    for image in embeddings(raw.naive(), pattern, semantics):
        internal = [number_of[vertex] for vertex in image]
        at = [np.flatnonzero(local.vertices[u] == vertex)[0] for u, vertex in enumerate(internal)]
        for u, place in enumerate(at):
            assert place in local.candidates.of(u)
        for (u, w), (relation,) in local.constraints.required.items():
            begin, end = local.adjacency.offsets[relation, at[u] : at[u] + 2]
            assert at[w] in local.adjacency.targets[begin:end]


@examples(60)
@given(data=st.data())
def test_the_rows_of_two_directions_are_ascending_and_have_the_same_arcs(data):
    *_, local = drawn_candidate_graph(data)
    if local is None:
        return
    offsets, targets, _ = local.adjacency
    arcs = {}
    for pair, (relation,) in local.constraints.required.items():
        rows = [targets[begin:end].tolist() for begin, end in pairwise(offsets[relation])]
        assert rows == [sorted(set(row)) for row in rows]
        arcs[pair] = {(x, y) for x, row in enumerate(rows) for y in row}
    for (u, w), some in arcs.items():
        assert some == {(y, x) for x, y in arcs[w, u]}
        assert len(some) == local.candidates.cardinalities.pairs[u, w]


def test_a_large_graph_keeps_its_rows_as_they_are(monkeypatch):
    prepared = []
    for most in (label_order.MOST_ARCS, 0):
        monkeypatch.setattr(label_order, "MOST_ARCS", most)
        prepared.append(plan_of(skewed_graph(), CpuEngine(), Pattern.parse(QUERY), "monomorphism", True)[1])
    ordered, plain = prepared
    assert ordered.candidates.masks.tolist() == plain.candidates.masks.tolist()
    assert ordered.candidates.cardinalities == plain.candidates.cardinalities
    for one, other in zip(ordered.candidate_graph.vertices, plain.candidate_graph.vertices, strict=True):
        assert one.tolist() == other.tolist()
    assert [len(one.graph.cache.values("rows by label")) for one in prepared] == [1, 0]


def test_rows_by_label_are_the_rows_of_the_graph():
    rows, n = skewed_rows(rows=450), 200
    labels = pd.Series(np.random.default_rng(3).choice(["A", "B", "C"], n)).where(np.arange(n) % 7 > 0)
    vertices = pd.DataFrame({"vertex": range(n), "label": labels})
    graph = Graph.from_edgelist(pd.DataFrame({"src": rows[0], "dst": rows[1]}), vertices=vertices, vertex_label="label")
    constraints = constraints_of(Pattern.parse("(a:A)--(b:B)"), graph, "monomorphism")
    adjacency = graph.adjacency(constraints.relations)
    places = label_order.places_of(graph, constraints, adjacency)
    order = np.argsort(graph.vertex_labels, kind="stable")
    assert places.vertices.tolist() == order.tolist()
    for (begin, end), label in zip(pairwise(places.begins), range(-1, 3), strict=True):
        assert set(graph.vertex_labels[places.vertices[places.by_label[begin:end]]]) == {label}
    for relation in range(len(constraints.relations)):
        for place, vertex in enumerate(order):
            row = places.adjacency.targets[slice(*places.adjacency.offsets[relation, place : place + 2])]
            assert (np.diff(row) > 0).all()
            wanted = adjacency.targets[slice(*adjacency.offsets[relation, vertex : vertex + 2])]
            assert places.vertices[row].tolist() == wanted.tolist()
    values = np.arange(n, dtype=np.uint32)
    assert places.by_vertex(values)[order].tolist() == values.tolist()


@pytest.mark.parametrize("room", [0, build_candidate_graph.MAX_ROOM])
def test_it_holds_candidates_and_their_arcs_only(monkeypatch, room):
    monkeypatch.setattr(build_candidate_graph, "MAX_ROOM", room)
    graph, pattern = skewed_graph(), Pattern.parse(QUERY)
    _, prepared = plan_of(graph, CpuEngine(), pattern, "monomorphism", True)
    local = prepared.candidate_graph
    for (u, w), (relation,) in local.constraints.required.items():
        offsets = local.adjacency.offsets[relation]
        arcs = {
            (local.vertices[u][x], local.vertices[w][y])
            for x in range(len(offsets) - 1)
            for y in local.adjacency.targets[offsets[x] : offsets[x + 1]].tolist()
        }
        rows = graph.adjacency((local.constraints.relations[relation]._replace(between=None),))
        of_u, of_w = (set(prepared.candidates.of(v).tolist()) for v in (u, w))
        pairs = {
            (x, y)
            for x in of_u
            for y in rows.targets[rows.offsets[0, x] : rows.offsets[0, x + 1]].tolist()
            if y in of_w
        }
        assert arcs == pairs
        assert local.candidates.cardinalities.pairs[u, w] == len(pairs)


def test_unlabelled_patterns_and_small_ones_are_searched_in_the_graph():
    graph = skewed_graph()
    for text in ("(a)--(b)--(c)--(d)--(e)--(a), (a)--(c)", "(a:A)--(b:B)--(c:A)--(a)"):
        plan, prepared = plan_of(graph, CpuEngine(), Pattern.parse(text), "monomorphism", True)
        assert prepared.candidate_graph is None
        assert plan.arcs is None


def test_it_is_not_built_where_it_would_keep_most_of_many_arcs():
    graph = skewed_graph()
    for tunables, built in ((Tunables(), True), (Tunables(small_candidate_arcs=1, max_kept_share=1e-6), False)):
        constraints = constraints_of(Pattern.parse(QUERY), graph, "monomorphism")
        prepared = CpuEngine(tunables).prepare(graph, Pattern.parse(QUERY), constraints, injective=True)
        assert (prepared.candidate_graph is not None) == built


@pytest.mark.parametrize("room", [0, build_candidate_graph.MAX_ROOM])
def test_it_is_given_up_where_it_would_take_too_much_memory(monkeypatch, room):
    monkeypatch.setattr(build_candidate_graph, "MAX_ROOM", room)
    graph = skewed_graph()
    constraints = constraints_of(Pattern.parse(QUERY), graph, "monomorphism")
    prepared = CpuEngine(Tunables(max_candidate_arcs=10)).prepare(graph, Pattern.parse(QUERY), constraints, True)
    assert prepared.candidate_graph is None


def test_explain_shows_the_candidates_of_each_vertex_and_the_arcs_of_each_edge():
    plan = csm.explain(skewed_graph(), QUERY, engine="cpu", unique=False, semantics="homomorphism")
    text = str(plan)
    for name, size in zip(plan.pattern.names, plan.sizes, strict=True):
        assert f"{name} {size:,.0f}" in text
    for edge in plan.pattern.edges:
        names = "-".join(plan.pattern.names[end] for end in edge[:2])
        assert f"{names} {plan.arcs[edge.source, edge.target]:,.0f}" in text


# What is found on it -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("semantics", "unique"), WAYS)
@examples(40)
@given(data=st.data())
def test_counts_and_rows_on_it_are_those_of_the_definition(semantics, unique, data):
    raw, pattern = data.draw(cases(anonymous=False))
    graph = raw.graph()
    with tuned(**ALWAYS):
        options = {"semantics": semantics, "unique": unique, "engine": "cpu"}
        if unique:
            wanted = len(matches(raw.naive(), pattern, semantics))
        else:
            wanted = rows = Counter(embeddings(raw.naive(), pattern, semantics))
            assert rows_of(csm.subgraph_match(graph, pattern, **options)) == rows
            wanted = rows.total()
            assert rows_of(csm.subgraph_match(graph, pattern, limit=wanted + 1, **options)) == rows
            some = csm.subgraph_match(graph, pattern, limit=wanted // 2, **options)
            assert len(some) == wanted // 2
            assert rows_of(some) <= rows
        assert csm.count_matches(graph, pattern, **options) == wanted
        assert len(csm.subgraph_match(graph, pattern, **options)) == wanted


@pytest.mark.parametrize("unique", [True, False])
@pytest.mark.parametrize("semantics", ["monomorphism", "induced", "homomorphism"])
def test_all_calls_give_the_same_with_and_without_it(semantics, unique):
    if semantics == "homomorphism" and unique:
        return
    found = []
    for changes in ({}, {"candidate_graph_vertices": 99}):
        graph, options = skewed_graph(), {"semantics": semantics, "unique": unique, "engine": "cpu"}
        with tuned(**changes):
            frame = csm.subgraph_match(graph, QUERY, **options)
            found.append(
                (
                    csm.count_matches(graph, QUERY, **options),
                    rows_of(csm.subgraph_match(graph, QUERY, sort=True, **options)),
                    csm.has_match(graph, QUERY, semantics=semantics, engine="cpu"),
                )
            )
            assert len(frame) == found[-1][0] > 0
            some = csm.subgraph_match(graph, QUERY, limit=10, **options)  # by a plan of its own
            assert len(some) == 10
            batches = csm.iter_matches(graph, QUERY, batch_rows=64, **options)
            assert sum((rows_of(batch) for batch in batches), Counter()) == rows_of(frame)
            sample, total = csm.sample_matches(graph, QUERY, 50, seed=1, **options)
            if not unique:
                assert not rows_of(sample) - rows_of(frame)
                assert not rows_of(some) - rows_of(frame)
            assert len(sample) == 50
            assert total == len(frame)
    assert found[0] == found[1]


def test_ranges_of_first_level_tasks_add_up_on_it():
    graph, engine = skewed_graph(), CpuEngine()
    for counting in (True, False):
        plan, prepared = plan_of(graph, engine, Pattern.parse(QUERY), "monomorphism", True, counting)
        assert prepared.walked_by(plan).vertices is not None
        tasks = engine.number_of_tasks(plan, prepared)
        cuts = [0, tasks // 3, tasks // 2, tasks]
        runs = [engine.run(plan, prepared, RunOptions(), TaskRange(*ends)) for ends in pairwise(cuts)]
        if counting:
            assert plan.matches_of(sum(run.total() for run in runs)) == counts(graph, QUERY)
        else:
            rows = [Counter(map(tuple, block.T.tolist())) for run in runs for block in run.blocks()]
            whole = [Counter(map(tuple, block.T.tolist())) for block in engine.run(plan, prepared).blocks()]
            assert sum(rows, Counter()) == sum(whole, Counter())


def dead_end(width):
    """A graph and a query: f and g need the same vertex, whichever of `width`**3 images the others have."""
    labels = {"a": "A", "d": "D", "e": "E", "x": "F", "y": "F"}
    edges = [("a", "d"), ("d", "e"), ("d", "x"), ("e", "x"), ("a", "y")]
    for kind in "BCH":
        labels |= {f"{kind}{i}": kind for i in range(width)}
        edges += [("a", f"{kind}{i}") for i in range(width)]
    frame = pd.DataFrame(edges, columns=["src", "dst"])
    vertices = pd.DataFrame({"vertex": labels.keys(), "label": labels.values()})
    text = "(a:A)--(b:B), (a)--(c:C), (a)--(h:H), (a)--(d:D)--(e:E), (d)--(f:F), (e)--(g:F)"
    return Graph.from_edgelist(frame, vertices=vertices, vertex_label="label"), Pattern.parse(text)


def run_by(graph, pattern, order, options, **changes):
    """A run of a plan with this order that writes rows."""
    engine = CpuEngine(Tunables(**changes))
    constraints = constraints_of(pattern, graph, "monomorphism")
    prepared = engine.prepare(graph, pattern, constraints, injective=True)
    plan, _ = plan_for(graph, pattern, counting=False, prepared=prepared, local=True, methods=("lists",), order=order)
    return engine.run(plan, prepared, options)


def rows_by(graph, pattern, order, seconds=60.0, **changes):
    """The rows of a plan with this order, found in time."""
    run = run_by(graph, pattern, order, RunOptions(deadline=time.monotonic() + seconds), **changes)
    return Counter(tuple(row) for block in run.blocks() for row in block.T.tolist())


def test_failing_sets_leave_out_what_fails_for_the_same_reason():
    graph, pattern = dead_end(1000)
    order = [pattern.names.index(name) for name in "abchdefg"]
    assert rows_by(graph, pattern, order) == Counter()
    with pytest.raises(DeadlinePassed):
        rows_by(graph, pattern, order, seconds=0.3, failing_set_vertices=99)


@pytest.mark.parametrize("threads", [1, 3])
def test_failing_sets_lose_no_row_when_work_is_donated(threads):
    graph, pattern = skewed_graph(), Pattern.parse(QUERY)
    order = list(range(len(pattern)))
    wanted = rows_by(graph, pattern, order, failing_set_vertices=99)
    assert wanted
    assert rows_by(graph, pattern, order, threads=threads, alone_s=0.0, work_units=1, first_tasks=2) == wanted


@pytest.mark.parametrize("block_rows", [1, 3, 1 << 16])
@pytest.mark.parametrize("text", [QUERY, STAR])
def test_failing_sets_lose_no_row_when_a_block_is_full(text, block_rows):
    graph, pattern = skewed_graph(), Pattern.parse(text)
    order = list(range(len(pattern)))
    wanted = rows_by(graph, pattern, order, failing_set_vertices=99)
    assert wanted
    assert rows_by(graph, pattern, order, block_rows=block_rows) == wanted


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("cached_bytes", [0, 1 << 40])
def test_ids_are_written_in_the_caches_or_past_them(monkeypatch, cached_bytes, threads):
    monkeypatch.setattr(run_module, "CACHED_BYTES", cached_bytes)
    graph, pattern = skewed_graph(), Pattern.parse(QUERY)
    order, ids = list(range(len(pattern))), np.arange(graph.n_vertices) + (1 << 40)
    run = run_by(graph, pattern, order, RunOptions(ids=ids), threads=threads, alone_s=0.0, work_units=64, first_tasks=2)
    assert bool(run.program.header[program.PAST_CACHES]) == (cached_bytes == 0)
    rows = Counter(tuple((row - (1 << 40)).tolist()) for block in run.blocks() for row in block.T)
    assert rows == rows_by(graph, pattern, order)


def test_a_time_limit_ends_a_search_on_it():
    graph = Graph.from_edgelist(
        pd.DataFrame([(i, j) for i in range(60) for j in range(i)], columns=["src", "dst"]),
        vertices=pd.DataFrame({"vertex": range(60), "label": ["A", "B"] * 30}),
        vertex_label="label",
    )
    clique = ", ".join(f"(v{i})--(v{j})" for i in range(9) for j in range(i))
    text = "".join(f"(v{i}:{'AB'[i % 2]})--" for i in range(9))[:-2] + ", " + clique
    with pytest.raises(csm.TimeLimitExceeded):
        for _ in csm.iter_matches(graph, text, time_limit=0.2, engine="cpu"):
            pass
