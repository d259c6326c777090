"""How many products joins make, from a sample: right where all of it is followed, about right elsewhere."""

from itertools import combinations

import numpy as np
import pytest
from factor_keys import keys_of
from random_factors import places_of

from cusubmatch.engines.cpu.elimination import join_sample
from cusubmatch.engines.cpu.elimination.join_sample import products_of_joins
from cusubmatch.engines.factors import fields as fields_module
from cusubmatch.engines.factors.factor import Factor
from cusubmatch.engines.factors.fields import Fields

SIZE = 1 << 6
CLIQUE = list(combinations(range(4), 2))
CYCLE = [(0, 1), (1, 2), (2, 3), (0, 3)]


def adjacency(groups, seed):
    """A symmetric matrix: random edges within groups of vertices, and few others."""
    random, group = np.random.default_rng(seed), np.arange(SIZE) % groups
    share = np.where(group[:, None] == group, 0.6, 0.02)
    upper = np.triu(random.random((SIZE, SIZE)) < share, 1)
    return upper | upper.T


def factor(fields, scope, matrix):
    """The factor that is 1 for these pairs."""
    keys = keys_of(fields, scope, np.nonzero(matrix))
    return Factor(scope, keys, np.ones((len(keys), 1), np.uint64))


def sampled(fields, factors):
    """What a sample of joins tells."""
    places = places_of(fields)
    return products_of_joins(fields, places, [places.of_host(factor) for factor in factors])


def products_of(matrix, edges):
    """Entries of the product of the first two edges' factors, of the first three, and so on."""
    names = "abcd"
    counted = []
    for k in range(2, len(edges) + 1):
        terms = ",".join(names[u] + names[w] for u, w in edges[:k])
        counted.append(np.einsum(f"{terms}->", *[matrix.astype(np.int64)] * k, optimize=True))
    return counted


@pytest.mark.parametrize("word_bits", [63, 12, 6])  # keys of one word; of two fields a word; of one
@pytest.mark.parametrize("edges", [CLIQUE, CYCLE], ids=["clique", "cycle"])
def test_a_sample_of_everything_counts_exactly(monkeypatch, edges, word_bits):
    monkeypatch.setattr(fields_module, "WORD_BITS", word_bits)
    matrix, fields = np.zeros((SIZE, SIZE), bool), Fields(SIZE)
    matrix[:3, :3] = matrix[40:43, 40:43] = True
    wanted = products_of(matrix, edges)
    assert 0 < max(wanted) <= join_sample.SAMPLE
    assert sampled(fields, [factor(fields, edge, matrix) for edge in edges]) == wanted


@pytest.mark.parametrize("edges", [CLIQUE, CYCLE], ids=["clique", "cycle"])
@pytest.mark.parametrize("groups", [1, 4, 8])
def test_dense_groups_are_seen(edges, groups):
    """Images alone would not tell that a group's edges close cliques."""
    matrix, fields = adjacency(groups, seed=groups), Fields(SIZE)
    found = sampled(fields, [factor(fields, edge, matrix) for edge in edges])
    for one, wanted in zip(found, products_of(matrix, edges), strict=True):
        assert 0.6 < one / wanted < 1.6


def test_of_a_large_factor_some_entries_are_met(monkeypatch):
    monkeypatch.setattr(join_sample, "SCANNED", 500)
    matrix, fields = adjacency(2, seed=2), Fields(SIZE)
    assert matrix.sum() > 2 * join_sample.SCANNED
    found = sampled(fields, [factor(fields, edge, matrix) for edge in CLIQUE])
    for one, wanted in zip(found, products_of(matrix, CLIQUE), strict=True):
        assert 0.5 < one / wanted < 2.0


def test_the_list_ends_where_nothing_is_left():
    fields, nothing = Fields(SIZE), np.zeros((SIZE, SIZE), bool)
    matrix = adjacency(4, seed=1)
    factors = [factor(fields, (0, 1), matrix), factor(fields, (1, 2), matrix), factor(fields, (2, 3), nothing)]
    assert len(sampled(fields, factors)) == 1
    assert sampled(fields, factors[::-1]) == []


def test_equal_joins_are_expected_alike():
    matrix, fields = adjacency(2, seed=3), Fields(SIZE)
    factors = [factor(fields, edge, matrix) for edge in CLIQUE]
    assert sampled(fields, factors) == sampled(fields, factors)
