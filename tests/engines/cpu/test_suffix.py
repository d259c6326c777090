"""Suffixes: what is counted from sizes of sets is what visiting every level, or the oracle, finds.

Plans are forced to count suffixes of every length, so also those that the planner would leave alone; graphs and
patterns are random, with labels, directions and pairs to keep distinct. Counts past any number of words are held
against closed forms.
"""

from __future__ import annotations

import math
import random
import re
from itertools import combinations, pairwise
from math import comb, factorial, perm

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import matches
from plans import plan_for, tuned
from strategies import cases
from test_walkers import Settings
from tiers import examples, thorough

import cusubmatch as csm
from cusubmatch import Graph, Pattern, count_matches, explain, generators
from cusubmatch.engines.cpu.search.run import Run
from cusubmatch.engines.cpu.tunables import Tunables
from cusubmatch.engines.cpu.walker import suffix_program
from cusubmatch.engines.runs import RunOptions
from cusubmatch.errors import DeadlinePassed
from cusubmatch.plan.crt import PRIMES, primes_beyond
from cusubmatch.plan.suffix.polynomial import distinct_choices, instructions

# Random patterns ask for labels that random graphs lack.
pytestmark = pytest.mark.filterwarnings("ignore::cusubmatch.AbsentLabelWarning")

WAYS = [("monomorphism", True), ("monomorphism", False), ("homomorphism", False)]


def suffix_counts(graph, pattern, semantics, unique, settings=None):
    """The counts by the cheapest plans with suffixes of every length, both directions of restrictions."""
    settings = settings or Settings()
    for size in range(1, len(pattern)):
        for ascending in (False, True):
            try:
                plan, prepared = plan_for(graph, pattern, semantics, unique, True, suffix=size, ascending=ascending)
            except ValueError:  # no such suffix leaves a connected core
                continue
            assert (plan.leaf_mode, len(plan.suffix.choices), plan.walked) == ("suffix", size, len(pattern) - size)
            run = Run(prepared, plan, tunables=settings.tunables)
            run.tasks.waiting = int(settings.donates)
            yield run.count()


def walked_count(graph, pattern, semantics="monomorphism", unique=True):
    return Run(*plan_for(graph, pattern, semantics, unique, True)[::-1]).count()


def graph_of(pairs):
    return Graph.from_edgelist(pd.DataFrame(list(pairs), columns=["src", "dst"], dtype="int64"))


def multipartite(*parts):
    ends = np.cumsum([0, *parts])
    groups = [range(a, b) for a, b in pairwise(ends)]
    return Pattern([(a, b) for some, others in combinations(groups, 2) for a in some for b in others])


# Against the oracle --------------------------------------------------------------------------------------------------


@pytest.mark.one_each
@pytest.mark.parametrize(("semantics", "unique"), WAYS)
@pytest.mark.parametrize("hubs", [False, True])
@examples(40)
@given(data=st.data(), stressed=st.booleans())
def test_suffixes_of_every_length_count_what_the_oracle_does(semantics, unique, hubs, data, stressed):
    raw, pattern = data.draw(cases(hubs=hubs))
    truth, graph = len(matches(raw.naive(), pattern, semantics, unique)), raw.graph()
    settings = Settings(work_units=1, donates=True, first_tasks=1) if stressed else Settings()
    assert set(suffix_counts(graph, pattern, semantics, unique, settings)) <= {truth}
    assert count_matches(graph, pattern, semantics=semantics, unique=unique, engine="cpu") == truth


# Against walking -----------------------------------------------------------------------------------------------------


def random_case(seed):
    """A skewed graph of 60 vertices and a connected pattern of 4 to 6; every other case with labels, or directed."""
    chance = random.Random(seed)
    labelled, directed = bool(seed & 1), bool(seed & 2)
    edges = generators.rmat(6, 5, seed=seed)
    vertices = pd.DataFrame({"vertex": range(64), "type": [chance.choice("ABC") for _ in range(64)]})
    graph = Graph.from_edgelist(edges, directed=directed, vertices=vertices, vertex_label="type")
    size = chance.choice((4, 5, 5, 6))
    pairs = {(chance.choice((0, v - 1, chance.randrange(v))), v) for v in range(1, size)}
    pairs |= {tuple(sorted(chance.sample(range(size), 2))) for _ in range(chance.choice((0, 0, 1, 2, 3)))}
    labels = {v: set(chance.sample("ABC", chance.choice((1, 2)))) for v in range(size) if labelled and v % 2}
    arrows = [directed and chance.random() < 0.6 for _ in pairs]
    return graph, Pattern(sorted(pairs), labels=labels, directed=arrows)


@pytest.mark.parametrize("seeds", [range(20), *thorough(*(range(i, i + 20) for i in range(20, 120, 20)))], ids=str)
def test_suffixes_count_what_walking_does(seeds):
    for seed in seeds:
        graph, pattern = random_case(seed)
        for semantics, unique in WAYS:
            expected = walked_count(graph, pattern, semantics, unique)
            assert set(suffix_counts(graph, pattern, semantics, unique)) <= {expected}, (seed, semantics)
            assert count_matches(graph, pattern, semantics=semantics, unique=unique, engine="cpu") == expected, seed


@pytest.mark.parametrize(
    "parts", [(1, 1, 2), (1, 1, 3), (1, 1, 4), (2, 2), (2, 3), (2, 4), (1, 2, 2), (1, 5), (2, 2, 2)]
)
def test_symmetric_patterns_are_counted_up_to_all_their_automorphisms(parts):
    graph, pattern = Graph.from_edgelist(generators.rmat(6, 6)), multipartite(*map(int, parts))
    expected = walked_count(graph, pattern)
    for unique in (True, False):
        found = set(suffix_counts(graph, pattern, "monomorphism", unique))
        assert found == {expected * (1 if unique else pattern.automorphism_count())}


def test_a_diamond_whose_core_is_one_pair_of_opposite_vertices_is_divided_by_two():
    # The pair of degree 3 is a connected core, whose exchange is broken: |Aut| = 4, and the image's order is 2.
    graph, diamond = Graph.from_edgelist(generators.rmat(6, 6)), multipartite(1, 1, 2)
    plan, prepared = plan_for(graph, diamond, suffix=2)
    assert (plan.walked, plan.factor, plan.divisor, plan.suffix.whole) == (2, 1, 2, True)
    assert Run(prepared, plan).count() == walked_count(graph, diamond)


@pytest.mark.parametrize("distinct", [[(1, 2)], [(0, 3)], [(0, 3), (1, 2)], [(1, 2), (2, 4)], [(0, 2), (1, 2)]])
def test_homomorphisms_keep_what_must_differ_apart(distinct):
    graph = Graph.from_edgelist(generators.rmat(5, 4))
    for edges in ([(0, 1), (0, 2), (1, 3), (1, 4)], [(0, 1), (1, 2), (2, 3), (3, 4)], [(0, 1), (0, 2), (0, 3), (3, 4)]):
        pattern = Pattern(edges, distinct=distinct)
        expected = walked_count(graph, pattern, "homomorphism", False)
        assert set(suffix_counts(graph, pattern, "homomorphism", False)) <= {expected}
        assert count_matches(graph, pattern, semantics="homomorphism", engine="cpu") == expected


# Any size ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("leaves", [2, 3, 6, 7, 12, 31])
@pytest.mark.parametrize("neighbours", [40, 5000])
def test_stars_of_any_number_of_leaves_are_exact(leaves, neighbours):
    graph, star = graph_of((-1, leaf) for leaf in range(neighbours)), Pattern.star(leaves)
    assert count_matches(graph, star, engine="cpu") == comb(neighbours, leaves)
    assert count_matches(graph, star, unique=False, engine="cpu") == perm(neighbours, leaves)
    if leaves > 2:
        homomorphisms = neighbours**leaves + neighbours
        assert count_matches(graph, star, semantics="homomorphism", engine="cpu") == homomorphisms


@pytest.mark.thorough
def test_a_star_on_a_hub_of_four_million_is_exact_past_128_bits():
    ends = np.arange(1, 4_000_001, dtype=np.int64)
    graph = Graph.from_edgelist(pd.DataFrame({"src": np.zeros(len(ends), np.int64), "dst": ends}))
    assert count_matches(graph, Pattern.star(6), unique=False, engine="cpu") == perm(4_000_000, 6) > 1 << 128
    assert count_matches(graph, Pattern.star(6), engine="cpu") == comb(4_000_000, 6)


@pytest.mark.parametrize("threads", [1, 3])
def test_sums_of_small_and_large_values_are_exact(threads):
    # Hubs of many degrees, joined in a ring, with leaves: some values fit a word, some do not.
    degrees = [10, 1000, 3, 30_000, 200, 30_000]
    ring = [(-i - 1, -((i + 1) % len(degrees)) - 1) for i in range(len(degrees))]
    ends = np.cumsum([0, *degrees])
    leaves = [(-i - 1, leaf) for i in range(len(degrees)) for leaf in range(ends[i], ends[i + 1])]
    graph = graph_of(ring + leaves)
    with tuned(threads=threads, work_units=20, alone_s=-1.0):
        found = count_matches(graph, Pattern.star(7), engine="cpu")
        brush = Pattern([(0, 1), *((0, v) for v in range(2, 6)), *((1, v) for v in range(6, 10))])
        brushes = count_matches(graph, brush, engine="cpu")
    assert found == sum(comb(d + 2, 7) for d in degrees) > 1 << 64
    # Two neighbouring hubs have no neighbour in common, and a leaf has no other neighbour to end in.
    assert brushes == sum(comb(degrees[a] + 1, 4) * comb(degrees[(a + 1) % 6] + 1, 4) for a in range(len(degrees)))


@pytest.mark.parametrize("sizes", [(5,), (1, 1), (3, 2), (1, 1, 1), (2, 1, 2)])
def test_the_polynomial_is_the_number_of_injective_choices(sizes):
    chance = random.Random(0)
    for _ in range(20):
        sets = [frozenset(chance.sample(range(7), chance.randint(0, 6))) for _ in sizes]
        subsets = [frozenset(c) for k in range(1, len(sizes) + 1) for c in combinations(range(len(sizes)), k)]
        polynomial = distinct_choices(sizes, {some: i for i, some in enumerate(subsets)})
        values = [len(frozenset.intersection(*(sets[i] for i in some))) for some in subsets]
        choosers = [some for some, many in zip(sets, sizes, strict=True) for _ in range(many)]
        assert evaluate([polynomial], values) == injections(choosers)
        assert evaluate([polynomial, {(0,): 3}, polynomial], values) == 3 * values[0] * injections(choosers) ** 2


def evaluate(factors, values):
    """The value by the instructions, as an engine goes through them."""
    registers = [0] * 40
    for operation, register, argument in instructions(factors):
        if operation == "set":
            registers[register] = argument
        elif operation == "plus":
            registers[register] += argument
        elif operation == "times":
            registers[register] *= values[argument]
        elif operation == "multiply":
            registers[register] *= registers[register + 1]
        else:
            registers[register] += registers[register + 1]
    return registers[0]


def injections(sets, used=frozenset()):
    return sum(injections(sets[1:], used | {x}) for x in sets[0] - used) if sets else 1


def test_residues_stand_for_any_number_below_the_product_of_their_primes():
    primes = PRIMES[:15]
    for number in (0, 1, (1 << 64) - 1, factorial(70), 7**60):
        sums = np.array([1, *(number % prime for prime in primes)])
        assert suffix_program.take_residues(sums, primes) == number
        assert not sums.any()


def test_the_primes_are_the_largest_below_2_to_the_31():
    divisors = np.arange(2, 1 << 16)
    found = [number for number in range((1 << 31) - 1, PRIMES[-1] - 1, -2) if (number % divisors).all()]
    assert found == list(PRIMES)


@pytest.mark.parametrize("bound", [1, PRIMES[0] - 1, PRIMES[0], PRIMES[0] * PRIMES[1], 1 << 1200])
def test_as_many_primes_are_taken_as_pass_a_bound(bound):
    primes = primes_beyond(bound)
    assert math.prod(primes) > bound
    assert math.prod(primes[:-1]) <= bound


def test_a_bound_past_all_primes_is_an_error():
    with pytest.raises(OverflowError, match="bound"):
        primes_beyond(math.prod(PRIMES))


# The planner ---------------------------------------------------------------------------------------------------------


def test_cliques_are_walked_and_stars_are_not():
    graph = Graph.from_edgelist(generators.rmat(8, 8))
    assert explain(graph, Pattern.clique(4), engine="cpu").leaf_mode == "size"
    assert explain(graph, Pattern.star(31), engine="cpu").walked == 1
    assert explain(graph, Pattern.star(4), counting=False, engine="cpu").leaf_mode == "rows"
    assert explain(graph, Pattern.star(4), semantics="induced", engine="cpu").suffix is None


def test_the_text_says_what_a_suffix_adds():
    graph = Graph.from_edgelist(generators.rmat(8, 8))
    text = str(explain(graph, "(a)--(b)--(c)--(d)", engine="cpu"))
    assert "the suffix a, d is counted from sizes of sets" in text
    assert "adds n1 n2 - n3" in text
    assert "n3 = |N(b) ∩ N(c)|" in text
    star = str(explain(graph, Pattern.star(4), engine="cpu"))
    assert "adds n1(n1-1)(n1-2)(n1-3)" in star
    assert "divided by 24" in star
    assert re.search(r"level 2: .* not visited", star)


@pytest.mark.parametrize(
    ("text", "whole"), [("(a)--(b)--(c)--(d)", True), ("(a)--(x)--(b)--(y)--(a)--(z)--(b)", False)]
)
def test_a_time_limit_leaves_a_count_of_whole_matches_or_none(text, whole):
    graph = Graph.from_edgelist(generators.rmat(10, 8))
    plan, prepared = plan_for(graph, Pattern.parse(text), suffix=2)
    run = Run(prepared, plan, RunOptions(deadline=0.0), tunables=Tunables(work_units=1))
    with pytest.raises(DeadlinePassed):
        run.count()
    assert plan.suffix.whole == whole
    assert (run.matches is None) == (not whole)


def test_samples_are_drawn_where_counts_are_of_suffixes():
    graph = Graph.from_edgelist(generators.rmat(6, 6))
    rows, count = csm.sample_matches(graph, Pattern.star(4), 5, seed=1)
    assert len(rows) == 5
    assert count == count_matches(graph, Pattern.star(4), engine="cpu")
