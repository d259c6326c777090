"""Suffixes at warps, in the lane emulator and as native code of one lane, against the CPU engine and the oracle."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from math import comb, perm

import numpy as np
import pandas as pd
import pytest
from data_graphs import data_folder
from hypothesis import given
from naive import matches
from plans import plan_for
from strategies import cases
from targets import one_lane
from test_gpu_walk import Settings, result_of, run_of, stressful
from test_suffix import WAYS
from tiers import examples

import cusubmatch as csm
from cusubmatch import Graph, Pattern
from cusubmatch.engines.gpu.search.program import SHARED_WORDS
from cusubmatch.engines.gpu.walker import program_format
from cusubmatch.engines.gpu.walker.variant import SUFFIX
from cusubmatch.errors import DeadlinePassed

# Random patterns ask for labels that random graphs lack.
pytestmark = pytest.mark.filterwarnings("ignore::cusubmatch.AbsentLabelWarning")

PENDANTS = "(a)--(b)--(c)--(a), (a)--(x), (a)--(y), (b)--(z), (c)--(u)"
ALONE = Settings(grid=(1, 1))


@pytest.fixture(scope="module")
def lane():
    return one_lane()


def suffix_counts(graph, pattern, settings, *ways, least=1, **options):
    """The counts by the cheapest plans with suffixes of every length from `least` to all but a core of two vertices."""
    for size in range(least, len(pattern) - 1):
        try:
            count, run = result_of(graph, pattern, replace(settings, suffix=size), *ways, counting=True, **options)
        except ValueError:  # no such suffix leaves a connected core
            continue
        assert (run.mode, len(run.plan.suffix.choices)) == (SUFFIX, size)
        yield count


@pytest.mark.one_each
@pytest.mark.parametrize(("semantics", "unique"), WAYS)
@examples(12)
@given(case=cases(), settings=stressful)
def test_suffixes_of_every_length_under_any_settings_count_what_the_oracle_does(semantics, unique, case, settings):
    raw, pattern = case
    settings = replace(settings, order=())
    found = suffix_counts(raw.graph(), pattern, settings, semantics, unique)
    assert set(found) <= {len(matches(raw.naive(), pattern, semantics, unique))}


@pytest.mark.thorough  # it compiles for a minute; the emulator has every suffix in the first tier
@pytest.mark.parametrize(("semantics", "unique"), WAYS)
@examples(60)
@given(case=cases(hubs=True))
def test_one_lane_counts_suffixes_of_every_length_as_the_oracle_does(lane, semantics, unique, case):
    raw, pattern = case
    found = suffix_counts(raw.graph(), pattern, ALONE, semantics, unique, target=lane)
    assert set(found) <= {len(matches(raw.naive(), pattern, semantics, unique))}


@pytest.mark.thorough
def test_a_labelled_collaboration_network_is_counted_as_the_cpu_engine_counts_it(lane):
    edges = pd.read_parquet(data_folder() / "ca-HepPh.parquet")
    ids = np.unique(edges)
    labels = np.random.default_rng(4).choice(list("ABCD"), len(ids))
    vertices = pd.DataFrame({"vertex": ids, "label": labels})
    graph = Graph.from_edgelist(edges, "src", "dst", vertices=vertices, vertex_label="label")
    for text in (
        "(a:A)--(b:B)--(c:C), (a)--(x:D), (a)--(y), (b)--(z:A), (c)--(u)",
        "(a:A)--(b)--(c:C)--(a), (a)--(x:D)--(b), (b)--(y)--(c), (a)--(z)",
    ):
        pattern = Pattern.parse(text)
        for count in suffix_counts(graph, pattern, ALONE, target=lane, least=4):
            assert count == csm.count_matches(graph, pattern, engine="cpu")


@pytest.mark.thorough
def test_values_past_64_bits_are_summed_by_residues(lane):
    graph, pattern = csm.generators.rmat(6, 6, seed=1), Pattern.parse(PENDANTS)
    graph = Graph.from_edgelist(graph)
    truth = csm.count_matches(graph, pattern, engine="cpu")
    few_bits = {"target": lane, "exact_sum_bits": 4}
    assert set(suffix_counts(graph, pattern, ALONE, least=3, **few_bits)) == {truth}
    reported: list[float] = []
    run = run_of(graph, pattern, replace(ALONE, suffix=3, slice_ticks=1), **few_bits)
    run.progress = lambda done, _: reported.append(done)
    assert run.count() == truth
    assert reported == sorted(reported)
    assert reported[-1] == 1.0


@pytest.mark.parametrize("tails", [6, 24])
@pytest.mark.thorough
def test_a_star_between_hubs_passes_any_word(lane, tails):
    leaves = 3000
    hub, leaf = np.zeros(leaves, np.int64), np.arange(2, leaves + 2)
    graph = Graph.from_edgelist((np.concatenate([[0], hub, hub + 1]), np.concatenate([[1], leaf, leaf])))
    pattern = Pattern.parse("(a)--(b), " + ", ".join(f"(a)--(x{i})" for i in range(tails)))
    count, run = result_of(graph, pattern, replace(ALONE, suffix=tails), counting=True, target=lane)
    assert count == 2 * comb(leaves + 1, tails + 1)
    assert run.matches == count
    assert perm(leaves, tails) > 1 << 64
    assert (max(map(abs, run.plan.suffix.factors[0].values())) > 1 << 64) == (tails > 6)


def test_the_text_of_a_plan_names_rows_since_no_set_is_kept():
    graph = Graph.from_edgelist(csm.generators.rmat(6, 6, seed=1))
    plan, _ = plan_for(graph, Pattern.parse(PENDANTS), methods=("warps",), suffix=4)
    assert re.search(r"n6 = \|N\(\w\) ∩ N\(\w\)\| less", str(plan))
    assert "S1" not in str(plan)


def test_a_deadline_leaves_whole_matches_or_nothing():
    graph = Graph.from_edgelist(csm.generators.rmat(5, 3, seed=1))
    for text, size in (("(a)--(b)--(c), (a)--(x), (c)--(y)", 2), (PENDANTS, 4)):
        run = run_of(graph, Pattern.parse(text), Settings(steps=1, suffix=size))
        run.deadline = time.monotonic()
        with pytest.raises(DeadlinePassed):
            run.count()
        assert (run.matches is not None) == run.plan.suffix.whole


@pytest.mark.thorough
def test_more_tests_than_a_word_has_bits(lane):
    backward_neighbours = [(0, 5), (1, 6), (2, 7), (3, 8), (4, 9), (0, 9)]
    pairs = [
        *((a, a + 1) for a in range(9)),
        *((a, 10 + x) for x, ends in enumerate(backward_neighbours) for a in ends),
    ]
    more = np.nonzero(np.triu(np.random.default_rng(2).random((20, 20)) < 0.15, 1))  # beside a copy
    graph, pattern = Graph.from_edgelist(np.concatenate([pairs, np.transpose(more)])), Pattern(pairs)
    count, run = result_of(graph, pattern, replace(ALONE, suffix=6), counting=True, target=lane)
    assert run.device_plan.layout.words[program_format.TEST_WORDS] > 1
    assert count == csm.count_matches(graph, pattern, engine="cpu") > 0


@pytest.fixture(scope="module")
def three_labels():
    """A graph of 60 vertices, a third of each label; and a pattern with `copies` of three leaves for each label."""
    ids = np.arange(60)
    edges = np.transpose(np.nonzero(np.triu(np.random.default_rng(1).random((60, 60)) < 0.3, 1)))
    vertices = pd.DataFrame({"vertex": ids, "label": np.array(list("ABC"))[ids % 3]})
    options = {"vertices": vertices, "vertex_label": "label"}
    graph = Graph.from_edgelist(pd.DataFrame(edges, columns=["src", "dst"]), **options)

    def pattern(copies):
        tails = [(kind, f"{kind}{i}") for kind in "ABC" for i in range(copies)]
        leaves = [f"(a)--(x{i}:{kind}), (b)--(y{i}:{kind}), (a)--(z{i}:{kind})--(b)" for kind, i in tails]
        return Pattern.parse(", ".join(["(a)--(b)", *leaves]))

    return graph, pattern


@pytest.mark.thorough
def test_what_different_labels_may_take_is_counted_apart(lane, three_labels):
    graph, pattern = three_labels
    count, run = result_of(graph, pattern(2), replace(ALONE, suffix=18), counting=True, target=lane)
    assert count == csm.count_matches(graph, pattern(2), engine="cpu") > 0
    assert run.device_plan.shared_words <= SHARED_WORDS


@pytest.mark.thorough
def test_a_suffix_whose_words_would_not_fit_a_block_is_no_plan(lane, three_labels):
    graph, pattern = three_labels
    with pytest.raises(ValueError, match="no plan"):
        run_of(graph, pattern(3), replace(ALONE, suffix=27), target=lane)
