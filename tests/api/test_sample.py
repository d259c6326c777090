"""Samples: rows that are matches, each once, all alike in chance, beside the exact count.

The engine's part is held against all rows that the walkers write, with cuts so fine that every level is descended; the
whole against the oracle and, for uniformity, against the chi-square law, by which samplers that are wrong on purpose
are found out.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import pairwise
from math import comb, sqrt
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import automorphisms, canonical, is_embedding, matches
from plans import plan_for, tuned
from refusal import refuses
from strategies import cases, skewed_rows
from test_walkers import COUNTED_LEAVES, DIRECTED, UNDIRECTED, WAYS, Settings, labelled_graph, plan_of, rows_with
from tiers import examples, is_thorough

from cusubmatch import Graph, Pattern, PatternError, ResultTooLarge, TimeLimitExceeded, count_matches
from cusubmatch.api import sample_matches as sampling
from cusubmatch.api.sample_matches import sample_matches
from cusubmatch.engines.cpu.search.sampler import Sampler
from cusubmatch.engines.cpu.tunables import Tunables
from cusubmatch.engines.cpu.walker import rank_walk
from cusubmatch.execution.compound import row_choice
from cusubmatch.pattern.automorphisms import AutomorphismGroup

# Random patterns ask for labels that random graphs lack.
pytestmark = pytest.mark.filterwarnings("ignore::cusubmatch.AbsentLabelWarning")

HOUSE = "(a)--(b)--(c)--(d)--(a), (a)--(e)--(b)"
TRIANGLE = "(a)--(b)--(c)--(a)"
LEAST_PIECES = {  # every level is cut to single vertices, and every walk is stopped often
    "rows_per_rank": 0,
    "cut_parts": 2,
    "cut_parts_per_rank": 1,
    "sample_block_rows": 2,
    "sample_work_units": 3,
    "sample_task_s": 1e-9,
}
CUTS = {
    "as they are": {},
    "finest": LEAST_PIECES,
    "few tasks": {"min_sample_tasks": 1, "max_sample_tasks": 1, "rows_per_rank": 0, "cut_parts": 3},
    "blocks of a row": {"sample_block_rows": 1, "sample_task_s": 1e-9},
}


def tunables_of(threads=1, **changes):
    return replace(Tunables(), threads=threads, **changes)


def forced(threads=1, **changes):
    """Let the engine of this process cut as said; one thread by default."""
    return tuned(threads=threads, **changes)


def all_ranks(counts):
    return {task: list(range(count)) for task, count in enumerate(counts) if count}


def rows_of(frame):
    return [tuple(row) for row in frame.to_numpy().tolist()]


@cache
def skewed_graph():
    return Graph.from_edgelist(tuple(skewed_rows(60, 300)))


# The engine: the match at every rank ---------------------------------------------------------------------------------


def check_ranks(plan, prepared, expected, tunables):
    """All ranks give all rows; a rank drawn alone gives the same row."""
    sampler = Sampler(prepared, plan, tunables=tunables)
    counts = sampler.counts()
    assert sum(counts) == expected.total()
    rows = sampler.rows(all_ranks(counts))
    named = [v for v, name in enumerate(plan.pattern.names) if name is not None]
    assert rows.shape == (len(plan.pattern), sum(counts))
    assert Counter(map(tuple, rows[named].T.tolist())) == expected
    places = [(task, rank) for task, count in enumerate(counts) for rank in range(count)]
    for place in np.random.default_rng(1).permutation(len(places))[: 20 if is_thorough() else 5].tolist():
        task, rank = places[place]
        assert sampler.rows({task: [rank]}).T.tolist() == [rows[:, place].tolist()]
    return rows


@pytest.mark.one_each
@pytest.mark.parametrize("method", ["lists", "bitmaps"])
@pytest.mark.parametrize("ascending", [False, True])
@pytest.mark.parametrize(("case", "leaf_mode", "name", "order", "semantics", "distinct"), COUNTED_LEAVES)
def test_every_way_to_count_a_leaf_has_a_match_at_every_rank(
    case, leaf_mode, name, order, semantics, distinct, ascending, method
):
    pattern = Pattern.parse((UNDIRECTED | DIRECTED).get(name, name), distinct=map(tuple, distinct))
    graph, unique = labelled_graph(name in DIRECTED, 130 if is_thorough() else 70), semantics != "homomorphism"
    ranks = tuple(order.index(vertex) for vertex in pattern.names)
    settings = Settings(method=method, ascending=ascending, order=ranks)
    plan, prepared = plan_of(graph, pattern, semantics, unique, True, settings)
    assert (plan.method, plan.leaf_mode) == (method, leaf_mode)
    expected = rows_with(settings, graph, pattern, semantics, unique)
    cuts = (*CUTS.values(), {"max_universe": 4, **LEAST_PIECES}, {"threads": 3, **LEAST_PIECES})
    found = [check_ranks(plan, prepared, expected, tunables_of(**cut)) for cut in cuts]
    lists = {tuple(rows.ravel().tolist()) for rows in [*found[:4], found[5]]}
    assert len(lists) == 1  # a rank is the same match however tasks are cut and threads share them


@pytest.mark.one_each
@pytest.mark.parametrize("universe", [1, 4, 9])
@pytest.mark.parametrize("name", ["4-clique", "gem", "triangle", "labelled fan"])
def test_roots_that_bitmaps_refuse_have_their_ranks_too(name, universe):
    graph, pattern = labelled_graph(False), Pattern.parse(UNDIRECTED[name])
    settings = Settings(method="bitmaps")
    expected = rows_with(settings, graph, pattern)
    plan, prepared = plan_of(graph, pattern, "monomorphism", True, True, settings)
    assert plan.method == "bitmaps"
    for options in CUTS.values():
        check_ranks(plan, prepared, expected, tunables_of(max_universe=universe, **options))


def test_heavy_roots_are_cut_into_tasks_and_light_ones_share_one():
    graph = Graph.from_edgelist(tuple(skewed_rows(2000, 20_000)))
    plan, prepared = plan_for(graph, Pattern.parse(HOUSE))
    groups = Sampler(prepared, plan, tunables=tunables_of(sample_task_s=1e-9, max_sample_tasks=300)).groups
    assert groups[0].begin == 0
    assert all(one.end == other.begin for one, other in pairwise(groups))
    assert groups[-1].end == len(prepared.candidates.of(plan.levels[0].vertex))
    assert max(group.tasks for group in groups) > 2
    assert max(group.end - group.begin for group in groups) > 2
    assert all(group.tasks == 1 or group.end == group.begin + 1 for group in groups)


# The whole: against the oracle ---------------------------------------------------------------------------------------


@pytest.mark.one_each
@pytest.mark.parametrize(("semantics", "unique"), WAYS)
@pytest.mark.parametrize("hubs", [False, True])
@examples(25)
@given(data=st.data(), cut=st.sampled_from(list(CUTS)), universe=st.sampled_from((1 << 14, 2, 6)))
def test_samples_are_matches_of_the_oracle_each_once(semantics, unique, hubs, data, cut, universe):
    raw, pattern = data.draw(cases(anonymous=False, hubs=hubs))
    symmetries = automorphisms(pattern) if unique else [tuple(range(len(pattern)))]
    truth = {canonical(image, symmetries) for image in matches(raw.naive(), pattern, semantics, unique)}
    n = data.draw(st.one_of(st.integers(0, 4), st.just(len(truth)), st.just(len(truth) + 3)))
    with forced(max_universe=universe, **CUTS[cut]):
        sample, count = sample_matches(raw.graph(), pattern, n, seed=n, semantics=semantics, unique=unique)
    assert count == len(truth)
    assert list(sample.columns) == pattern.columns
    rows = [canonical(row, symmetries) for row in rows_of(sample)]
    assert len(rows) == len(set(rows)) == min(n, count)
    assert set(rows) <= truth


QUESTIONS = [
    ("monomorphism", True),
    ("monomorphism", False),
    ("induced", True),
    ("induced", False),
    ("homomorphism", None),
]


@pytest.mark.one_each
@pytest.mark.parametrize(("semantics", "unique"), QUESTIONS)
@pytest.mark.parametrize("name", [*UNDIRECTED, *DIRECTED])
def test_labelled_and_directed_patterns_in_all_semantics(name, semantics, unique):
    graph, pattern = labelled_graph(name in DIRECTED), Pattern.parse((UNDIRECTED | DIRECTED)[name])
    asked = {"semantics": semantics, "unique": unique}
    expected = count_matches(graph, pattern, **asked)
    for cut in ("as they are", "finest"):
        with forced(**CUTS[cut]):
            sample, count = sample_matches(graph, pattern, 40, seed=3, **asked)
        rows = rows_of(sample)
        assert count == expected
        assert len(rows) == len(set(rows)) == min(40, count)
        if unique:
            assert len({canonical(row, automorphisms(pattern)) for row in rows}) == len(rows)
        naive = naive_of_labelled(name in DIRECTED)
        assert all(is_embedding(naive, pattern, row, semantics) for row in rows)


@cache
def naive_of_labelled(directed):
    """The rows of `labelled_graph`, for the oracle."""
    from naive import NaiveGraph

    random = np.random.default_rng(3)
    source, destination = skewed_rows(32, 130)
    kinds, types = random.choice(["X", "Y", "Z"], 130), random.choice(["A", "B", "C"], 32)
    edges = zip(source.tolist(), destination.tolist(), kinds.tolist(), strict=True)
    return NaiveGraph(list(edges), directed, dict(enumerate(types.tolist())))


def test_patterns_of_one_vertex_and_of_two():
    graph = labelled_graph(False)
    for text in ("(a)", "(a:A)", "(a)--(b)", "(a:A)--(b)"):
        sample, count = sample_matches(graph, text, 10**6, seed=1)
        assert len(sample) == len(set(rows_of(sample))) == count == count_matches(graph, text)
        assert len(sample_matches(graph, text, 1)[0]) == 1


def test_anonymous_vertices_have_no_column():
    sample, count = sample_matches(skewed_graph(), "(a)--()--(b)", 50, seed=5, unique=False)
    assert list(sample.columns) == ["a", "b"]
    assert (len(sample), count) == (50, count_matches(skewed_graph(), "(a)--()--(b)", unique=False))


def test_nothing_is_drawn_where_nothing_is_asked_for_or_there_is_nothing():
    sample, count = sample_matches(skewed_graph(), HOUSE, 0)
    assert (len(sample), list(sample.columns), count) == (0, list("abcde"), count_matches(skewed_graph(), HOUSE))
    for edges in ({"src": [0], "dst": [1]}, {"src": [], "dst": []}):
        for text in (HOUSE, TRIANGLE, "(a)--(b)--(c)"):
            sample, count = sample_matches(pd.DataFrame(edges, dtype="int64"), text, 3)
            assert (len(sample), count) == (0, 0)


def test_counts_past_64_bits_are_sampled():
    leaves = 70_000
    graph = Graph.from_edgelist(pd.DataFrame({"src": -1, "dst": range(leaves)}))
    sample, count = sample_matches(graph, Pattern.star(4), 50, seed=2, semantics="homomorphism", engine="cpu")
    assert count == leaves**4 + leaves > 2**64
    assert (sample["v0"] == -1).all()
    assert sample[["v1", "v2", "v3", "v4"]].stack().nunique() > 190
    sample, count = sample_matches(graph, Pattern.star(3), 50, seed=2, unique=False)
    assert count == comb(leaves, 3) * 6
    assert (sample.nunique(axis=1) == 4).all()
    assert sample["v1"].lt(sample["v2"]).sum() in range(10, 41)  # every order of the leaves comes


def test_what_comes_in_decides_what_goes_out():
    pl = pytest.importorskip("polars")
    sample, count = sample_matches(pl.DataFrame({"src": ["x", "y", "z"], "dst": ["y", "z", "x"]}), TRIANGLE, 5)
    assert isinstance(sample, pl.DataFrame)
    assert sorted(sample.row(0)) == ["x", "y", "z"]
    assert type(count) is int


# Chance --------------------------------------------------------------------------------------------------------------

DRAWS = 600 if is_thorough() else 200


def excess(counted, n, cells, draws):
    """How far the counts of `draws` samples of n out of `cells` are from uniform, in standard deviations."""
    mean = draws * n / cells
    squares = sum((counted[cell] - mean) ** 2 for cell in counted) + (cells - len(counted)) * mean**2
    statistic = squares / (mean * (1 - n / cells)) * (cells - 1) / cells  # less spread than with replacement
    return (statistic - (cells - 1)) / sqrt(2 * (cells - 1))


def counts_of_samples(graph, pattern, n, **asked):
    counted = Counter()
    for seed in range(DRAWS):
        counted.update(rows_of(sample_matches(graph, pattern, n, seed=seed, **asked)[0]))
    return counted


SMALL = Graph.from_edgelist(tuple(skewed_rows(16, 52, seed=3)))
CHANCES = [
    ("(a)--(b)--(c)--(d)--(a)--(c)", True, 3),
    ("(a)--(b)--(c)--(a)", True, 2),
    ("(a)--(b)--(c)--(a)", False, 4),
    ("(a)--(b)--(c)", False, 5),
    ("(a)--(h)--(b), (h)--(c)", True, 5),
    ("(a)", True, 3),
]


@pytest.mark.thorough
@pytest.mark.parametrize("cut", ["as they are", "finest"])
@pytest.mark.parametrize(("text", "unique", "n"), CHANCES)
def test_every_match_is_as_likely_as_every_other(text, unique, n, cut):
    with forced(**CUTS[cut]):
        counted = counts_of_samples(SMALL, text, n, unique=unique)
    cells = count_matches(SMALL, text, unique=unique)
    assert 10 < cells < 600
    assert abs(excess(counted, n, cells, DRAWS)) < 4


def task_first(total, n, chance):
    """A wrong sampler: a quarter of the ranks first, then a rank in it."""
    quarters = [(total * 7 * i // 100, total * 7 * (i + 1) // 100) for i in range(3)] + [(total * 21 // 100, total)]
    drawn = set()
    while len(drawn) < n:
        begin, end = chance.choice([quarter for quarter in quarters if quarter[0] < quarter[1]])
        drawn.add(chance.randrange(begin, end))
    return drawn


def neighbours_of_one(total, n, chance):
    """A wrong sampler: the ranks after a drawn one are drawn with it; almost fair to single matches, not to pairs."""
    first = chance.randrange(total - n + 1)
    return set(range(first, first + n))


@pytest.mark.thorough
def test_the_test_of_chance_finds_a_wrong_sampler_out():
    text, unique, n = CHANCES[4]
    with patch.object(sampling, "_distinct_ranks", task_first):
        counted = counts_of_samples(SMALL, text, n, unique=unique)
    assert excess(counted, n, count_matches(SMALL, text), DRAWS) > 4


@pytest.mark.thorough
def test_the_test_of_chance_finds_out_that_only_one_image_of_a_match_is_drawn():
    text, unique, n = CHANCES[2]
    with patch.object(AutomorphismGroup, "element", lambda group, index: list(range(3))):
        counted = counts_of_samples(SMALL, text, n, unique=unique)
    assert excess(counted, n, count_matches(SMALL, text, unique=False), DRAWS) > 4


def test_every_order_of_the_rows_is_as_likely():
    edges = pd.DataFrame({"src": [0, 1, 2], "dst": [1, 2, 0]})
    graph = Graph.from_edgelist(edges)
    orders = Counter(tuple(rows_of(sample_matches(graph, "(a)", 3, seed=seed)[0])) for seed in range(DRAWS))
    assert abs(excess(orders, 1, 6, DRAWS)) < 4


def samples_of_two():
    """How often each pair of the six edges of a graph was a sample."""
    graph = Graph.from_edgelist(pd.DataFrame({"src": [0, 0, 0, 1, 2, 3], "dst": [1, 2, 3, 2, 3, 4]}))
    drawn = (sample_matches(graph, "(a)--(b)", 2, seed=seed)[0] for seed in range(DRAWS))
    return Counter(frozenset(rows_of(rows)) for rows in drawn)


@pytest.mark.thorough
def test_pairs_of_matches_are_as_likely_as_each_other():
    assert abs(excess(samples_of_two(), 1, comb(6, 2), DRAWS)) < 4
    with patch.object(sampling, "_distinct_ranks", neighbours_of_one):
        assert excess(samples_of_two(), 1, comb(6, 2), DRAWS) > 4


def rows_by_place(chosen):
    matches = chosen.matches[:, chosen.of].T.tolist()
    return {place: (*match, n) for place, match, n in zip(chosen.places, matches, chosen.numbers, strict=True)}


@pytest.mark.parametrize("blocks", [1, 3])
def test_rows_of_matches_with_many_are_as_likely_as_each_other(blocks, monkeypatch):
    monkeypatch.setattr(row_choice, "VALUES_AT_ONCE", 4)
    weights, sets, firsts = np.array([1, 2, 5, 4, 1]), Counter(), Counter()
    matches = np.array([[3, 1, 4, 5, 9], [2, 6, 5, 3, 5]])
    for key in range(2 * DRAWS):
        choice = row_choice.RowChoice(3, key * 2**33)
        for part in np.array_split(np.arange(5), blocks):
            choice.add(matches[:, part], weights[part])
        (chosen,) = choice.chosen()
        rows = rows_by_place(chosen)
        sets[frozenset(rows.values())] += 1
        firsts[rows[0]] += 1
        assert choice.count == 13
    assert abs(excess(sets, 1, comb(13, 3), 2 * DRAWS)) < 4
    assert abs(excess(firsts, 1, 13, 2 * DRAWS)) < 4


def test_rows_past_64_bits_and_in_any_order_of_blocks_are_chosen():
    weights = np.array([1, 2**70, 5, 2**71], object)
    matches, samples = np.arange(8).reshape(2, 4), []
    for order in ([0, 1, 2, 3], [3, 1, 2, 0]):
        choice = row_choice.RowChoice(300, 7)
        for match in order:
            choice.add(matches[:, [match]], weights[[match]])
        (chosen,) = choice.chosen()
        samples.append(rows_by_place(chosen))
    assert choice.count == 6 + 2**70 + 2**71
    assert samples[0] == samples[1]
    assert len(set(samples[0].values())) == 300
    assert 150 < sum(row[0] == 3 for row in samples[0].values()) < 250


@pytest.mark.thorough
@pytest.mark.parametrize("asked", [{}, {"touching": range(7)}, {"candidates": {"a": range(7)}}])
@pytest.mark.parametrize("text", ["(a)--{1,3}(b)", "(a)--(b) OPTIONAL (b)--{1,3}(c)"])
def test_rows_of_all_lengths_and_parts_are_as_likely_as_each_other(text, asked):
    path = Graph.from_edgelist(pd.DataFrame({"src": range(6), "dst": range(1, 7)}))  # no two rows are alike
    counted, cells = counts_of_samples(path, text, 5, unique=False, **asked), count_matches(path, text, unique=False)
    assert len(counted) == cells > 20
    assert abs(excess(counted, 5, cells, DRAWS)) < 4


# Seeds, limits, arguments --------------------------------------------------------------------------------------------


def test_the_same_seed_draws_the_same_sample_by_any_number_of_threads():
    graph = Graph.from_edgelist(tuple(skewed_rows(400, 3000)))
    samples = []
    for threads in (1, 1, 3):
        with forced(threads=threads, sample_task_s=1e-7):
            samples.append(sample_matches(graph, HOUSE, 100, seed=11, unique=False)[0])
    assert samples[0].equals(samples[1])
    assert samples[0].equals(samples[2])
    assert not samples[0].equals(sample_matches(graph, HOUSE, 100, seed=12, unique=False)[0])
    assert not sample_matches(graph, HOUSE, 100)[0].equals(sample_matches(graph, HOUSE, 100)[0])
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("cusubmatch")]


@pytest.mark.parametrize("threads", [1, 3])
def test_a_time_limit_leaves_nothing(threads):
    graph = Graph.from_edgelist(tuple(skewed_rows(400, 3000)))
    for limit in (0, 0.05):
        with forced(threads=threads), pytest.raises(TimeLimitExceeded, match="time_limit") as caught:
            sample_matches(graph, Pattern.cycle(9), 5, time_limit=limit)
        assert caught.value.partial is None
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("cusubmatch")]
    assert len(sample_matches(graph, TRIANGLE, 5, time_limit=60)[0]) == 5


def test_an_error_in_one_thread_ends_all_and_reaches_the_caller():
    graph = Graph.from_edgelist(tuple(skewed_rows(400, 3000)))
    with (
        forced(threads=3, sample_task_s=1e-7),
        patch.object(rank_walk, "split_range", side_effect=ZeroDivisionError),
        pytest.raises(ZeroDivisionError),
    ):
        sample_matches(graph, HOUSE, 5)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("cusubmatch")]


BAD = [
    *(({"n": n}, TypeError, "n int") for n in (None, 1.5, "3", True, np.True_, [2])),
    *(({"n": n}, ValueError, f"n {n}") for n in (-1, -(2**70))),
    *(({"seed": seed}, TypeError, "seed int None") for seed in (1.5, "3", True, [2])),
    ({"seed": -1}, ValueError, "seed -1"),
    ({"semantics": "iso"}, ValueError, "semantics induced"),
    ({"unique": 1}, TypeError, "unique True"),
    ({"semantics": "homomorphism", "unique": True}, ValueError, "unique homomorphism"),
    ({"engine": "tpu"}, ValueError, "engine cpu"),
    ({"time_limit": -1}, ValueError, "time_limit seconds"),
    ({"P": 5}, TypeError, "pattern int"),
    ({"P": "()--()"}, PatternError, "pattern anonymous name"),
    ({"G": None}, TypeError, "G NoneType"),
]


@pytest.mark.parametrize(("change", "kinds", "words"), BAD)
def test_an_argument_that_makes_no_sense(change, kinds, words):
    with refuses(kinds, words):
        sample_matches(**({"G": SMALL, "P": TRIANGLE, "n": 2} | change))


def test_numbers_of_numpy_are_numbers():
    drawn = sample_matches(SMALL, TRIANGLE, np.int64(2), seed=np.uint8(3))[0]
    assert drawn.equals(sample_matches(SMALL, TRIANGLE, 2, seed=3)[0])
    assert len(sample_matches(SMALL, TRIANGLE, 2**70)[0]) == count_matches(SMALL, TRIANGLE)


def test_a_sample_of_more_rows_than_memory_says_what_would_do(monkeypatch):
    monkeypatch.setattr("cusubmatch.api.sample_matches.available_memory", lambda: 1000)
    with refuses(ResultTooLarge, "n rows iter_matches"):
        sample_matches(SMALL, TRIANGLE, 10**6)
    assert len(sample_matches(SMALL, TRIANGLE, 1)[0]) == 1


def test_automorphisms_are_numbered_each_once():
    for pattern in (Pattern.clique(4), Pattern.cycle(6), Pattern.star(4), Pattern.parse(HOUSE)):
        group = pattern.automorphisms
        found = {tuple(group.element(index)) for index in range(group.order)}
        assert len(found) == group.order
        assert found == set(map(tuple, automorphisms(pattern)))
