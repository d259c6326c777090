"""Components that conditioning counts by elimination: the counts are those of the definition, and it takes less."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import embeddings
from strategies import cases
from test_conditioning import LISTS, SOON, TIGHT, count_of, graph_of, multipartite, path, prepared_for, some_pairs
from tiers import examples, thorough

from cusubmatch import Pattern
from cusubmatch.engines.cpu.conditioning.two_ways import TwoWays
from cusubmatch.engines.cpu.tunables import Tunables
from cusubmatch.engines.runs import RunOptions

pytestmark = pytest.mark.filterwarnings("ignore::cusubmatch.AbsentLabelWarning")

NEVER = {"steps_before_elimination": 1 << 62}
AT_ONCE = {"steps_before_elimination": 0, "min_eliminated_vertices": 2}
kinds = pytest.mark.parametrize("kind", [{}, LISTS], ids=["bits", "lists"])


@pytest.fixture
def one_way(monkeypatch):
    """All threads eliminate from the beginning to the end."""

    def next_turn(self, steps, _number):
        most = self._settings.most_combinations if steps >= self._steps_before else 0
        return most, self._settings.min_eliminated_vertices

    monkeypatch.setattr(TwoWays, "next_turn", next_turn)


def ways_to_count():
    """Changes of the settings: tables of any size, small ones only, in short turns, and by threads."""
    ways = [{}, {"most_combinations": 60}, {"most_combinations": 60, **TIGHT}, {"threads": 3, **SOON}]
    by_turns = {"steps_before_elimination": 5}
    return [{**AT_ONCE, **way} for way in (*ways, {**TIGHT, **by_turns}, {**ways[-1], **TIGHT, **by_turns})]


@kinds
@pytest.mark.parametrize(
    "changes", ways_to_count(), ids=["large", "small", "turns", "threads", "by turns", "threads by turns"]
)
@pytest.mark.parametrize("semantics", ["monomorphism", "homomorphism"])
@examples(30)
@given(data=st.data())
def test_a_count_is_that_of_the_definition(semantics, changes, kind, data):
    raw, pattern = data.draw(cases())
    engine, prepared = prepared_for(raw.graph(), pattern, semantics, **changes, **kind)
    if prepared.candidate_graph is not None:
        found = engine.condition(prepared, RunOptions(), None).total()
        assert found == sum(1 for _ in embeddings(raw.naive(), pattern, semantics))


@pytest.mark.usefixtures("one_way")
@kinds
@pytest.mark.parametrize("most", [1 << 22, 1000, 100, 10])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("seed", [0, *thorough(*range(1, 12))])
def test_a_count_is_that_of_conditioning_alone(seed, threads, most, kind):
    choices = random.Random(seed)
    labels = choices.choice([1, 2, 3])
    graph = graph_of(some_pairs(choices, 18, 0.5), [choices.randrange(labels) for _ in range(18)])
    size = choices.randrange(7, 10)
    edges = {(choices.randrange(v), v) for v in range(1, size)}
    edges |= {tuple(sorted(choices.sample(range(size), 2))) for _ in range(choices.randrange(6))}
    pattern = Pattern(sorted(edges), labels={v: choices.randrange(labels) for v in range(size)})
    changes = {**AT_ONCE, "threads": threads, "most_combinations": most, **SOON, **kind}
    assert count_of(graph, pattern, **changes) == count_of(graph, pattern, **NEVER)


@pytest.mark.usefixtures("one_way")
@kinds
@pytest.mark.parametrize(("vertices", "size"), [(10, 64), (16, 64), (17, 64), (20, 30), (32, 12), (22, 64)])
def test_counts_of_more_than_a_word_are_exact(vertices, size, kind):
    """Some are below what a float tells, some are above; some are made modulo primes, too."""
    found = count_of(multipartite(vertices, size), path(range(vertices)), **AT_ONCE, **kind)
    assert found == size**vertices


@pytest.mark.usefixtures("one_way")
@kinds
def test_numbers_that_floats_do_not_tell_are_counted_in_smaller_components(kind):
    graph, pattern = multipartite(20, 64), path(range(20))  # 2^120
    assert count_of(graph, pattern, **AT_ONCE, **kind) == 64**20


@pytest.mark.usefixtures("one_way")
@pytest.mark.parametrize("size", [511, 512, 513])
def test_a_vertex_may_have_too_many_candidates(size):
    graph, pattern = multipartite(3, size), path([0, 1, 2, 0])
    assert count_of(graph, pattern, **AT_ONCE, **LISTS) == size * size * size * (size - 1)


def steps_of(graph, pattern, **changes):
    engine, prepared = prepared_for(graph, pattern, "monomorphism", threads=1, **changes)
    run = engine.condition(prepared, RunOptions(), None)
    return run.total(), run.steps


@pytest.mark.usefixtures("one_way")
@kinds
def test_a_dense_component_takes_fewer_steps(kind):
    choices, size, vertices = random.Random(3), 120, 12
    graph = graph_of(some_pairs(choices, size, 0.8), [v % vertices for v in range(size)])
    edges = {(choices.randrange(v), v) for v in range(1, vertices)}
    while len(edges) < 2 * vertices - 3:
        edges.add(tuple(sorted(choices.sample(range(vertices), 2))))
    pattern = Pattern(sorted(edges), labels={v: v for v in range(vertices)})
    alone, steps_alone = steps_of(graph, pattern, **NEVER, **kind)
    found, steps = steps_of(graph, pattern, **AT_ONCE, **kind)
    assert found == alone > 0
    assert steps < steps_alone / 4


@kinds
def test_a_short_count_does_not_look_at_tables(kind):
    graph, pattern = multipartite(4, 12), path([0, 1, 2, 3, 0, 1])
    engine, prepared = prepared_for(graph, pattern, "monomorphism", threads=1, **kind)
    run = engine.condition(prepared, RunOptions(), None)
    assert run.total() == 12 * 12 * 12 * 12 * 11 * 11
    assert run._counters[0].eliminates[0] == 0


# Which way threads go -------------------------------------------------------------------------------------------------


def ways_of(ways, steps, number, turns=4):
    return [ways.next_turn(steps, number)[0] > 0 for _ in range(turns)]


def test_threads_take_turns_of_both_ways_in_a_long_count():
    ways = TwoWays(Tunables(), 8)
    assert ways_of(ways, 1 << 20, 0) == ways_of(ways, 1 << 20, 1) == [False] * 4
    assert ways_of(ways, 1 << 24, 0) == [True, False, True, False]
    assert ways_of(ways, 1 << 24, 1) == [False, True, False, True]


def test_few_threads_try_elimination_later():
    for threads, steps in ((1, 1 << 26), (2, 1 << 25), (4, 1 << 24)):
        ways = TwoWays(Tunables(), threads)
        assert ways_of(ways, steps - 1, 0) == [False] * 4
        assert ways_of(ways, steps, 0) == [True, False, True, False]
