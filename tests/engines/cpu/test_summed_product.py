"""Products of factors that are summed over a vertex, beside the same by dense arrays."""

from itertools import combinations

import numpy as np
import pytest
from factor_keys import keys_of
from tiers import thorough

from cusubmatch.engines.cpu.elimination import fields as fields_module
from cusubmatch.engines.cpu.elimination import key_ranges, summed_product
from cusubmatch.engines.cpu.elimination.arithmetic import WORDS
from cusubmatch.engines.cpu.elimination.factor import Factor
from cusubmatch.engines.cpu.elimination.fields import Fields
from cusubmatch.engines.cpu.elimination.key_ranges import concatenated, cut_at_same_keys
from cusubmatch.engines.cpu.elimination.summed_product import SummedProduct

SIZE = 11
KINDS = np.array([WORDS, 7], np.uint64)

SCOPES = {
    "two arcs": [(0, 1), (0, 2)],
    "two arcs and what their ends have": [(0, 1), (0, 2), (1, 2), (1,)],
    "a star": [(0, 2), (1, 2), (2, 3), (2,)],
    "a star and what its ends have": [(0, 2), (1, 2), (2, 3), (0, 1), (0, 3), (1, 3), (0,), (3,)],
    "what the vertex has twice": [(0, 1, 2), (0, 2, 3), (0, 2), (1, 3)],
    "all pairs": list(combinations(range(4), 2)),
    "four vertices": [(0, 1, 2, 3), (1, 2), (0, 1), (0, 3), (1, 3)],
    "alone": [(0,)],
}


def images_of(fields, scope, keys):
    """The images of each vertex."""
    places = [fields.place(scope, v) for v in scope]
    return tuple((keys[:, word] >> np.uint64(bit) & fields.mask).astype(np.int64) for word, bit in places)


def random_factors(fields, scopes, share, seed):
    """Factors and the same as dense arrays, over all vertices, of integers."""
    random, vertices = np.random.default_rng(seed), max(map(max, scopes)) + 1
    factors, dense = [], np.ones((SIZE,) * vertices, object)
    for scope in scopes:
        shape = (SIZE,) * len(scope)
        numbers = np.where(random.random(shape) < share, random.integers(1, 100, shape), 0)
        images = np.nonzero(numbers)
        values = numbers[images].astype(np.uint64)
        factors.append(Factor(scope, keys_of(fields, scope, images), np.stack([values, values % KINDS[1]], 1)))
        dense = dense * numbers.astype(object).reshape([SIZE if v in scope else 1 for v in range(vertices)])
    return factors, dense


@pytest.mark.parametrize("scopes", SCOPES.values(), ids=SCOPES)
@pytest.mark.parametrize(("products", "places", "bitmap"), [(1 << 18, 1 << 22, 1 << 17), (1 << 18, 1, 0), (16, 1, 4)])
@pytest.mark.parametrize("share", [0.1, 0.6])
@pytest.mark.parametrize("word_bits", [63, *thorough(8, 4)])  # keys of one word; of two fields a word; of one
def test_a_summed_product_is_that_of_dense_arrays(monkeypatch, scopes, products, places, bitmap, share, word_bits):
    monkeypatch.setattr(fields_module, "WORD_BITS", word_bits)
    monkeypatch.setattr(summed_product, "MAX_PRODUCTS", products)
    monkeypatch.setattr(summed_product, "PLACES", places)
    monkeypatch.setattr(summed_product, "MAX_BITMAP", bitmap)
    monkeypatch.setattr(key_ranges, "ENTRIES_OF_A_RANGE", 64)
    fields = Fields(SIZE)
    factors, dense = random_factors(fields, scopes, share, seed=len(scopes))
    summed = SummedProduct(fields, KINDS, lambda _: None, np.zeros(1, np.int64))
    for vertex in sorted({v for scope in scopes for v in scope}):
        tasks, made = [summed.begin(vertex, factors)], []
        while tasks:
            one = summed.advance(tasks.pop())
            if isinstance(one, Factor):
                made.append(one)
            else:
                tasks += one
        total = concatenated([summed.sum(some) for some in cut_at_same_keys(made)])
        others = tuple(v for v in range(dense.ndim) if v not in total.scope)
        wanted = dense.sum(axis=others)
        keys = total.keys.tolist()
        assert keys == sorted(keys)
        assert len({*map(tuple, keys)}) == len(keys)
        found = np.zeros((SIZE,) * len(total.scope), object)
        images = images_of(fields, total.scope, total.keys)
        for i, value in enumerate(total.values[:, 0].tolist()):
            found[tuple(of_vertex[i] for of_vertex in images)] = value
        assert np.all(found == wanted)
        assert np.all(total.values[:, 1] == total.values[:, 0] % KINDS[1])


def test_factors_that_are_cut_are_whole_again(monkeypatch):
    monkeypatch.setattr(key_ranges, "ENTRIES_OF_A_RANGE", 64)
    random = np.random.default_rng(1)
    factors = []
    for length in (0, 1, 300, 40):
        keys = np.sort(random.choice(1000, length, replace=False)).astype(np.uint64)
        factors.append(Factor((0, 1), keys.reshape(-1, 1), keys.reshape(-1, 1) * np.uint64(3)))
    pieces = cut_at_same_keys(factors)
    assert len(pieces) > 2
    last = -1
    for some in pieces:
        assert min(int(factor.keys[0, 0]) for factor in some) > last
        last = max(int(factor.keys[-1, 0]) for factor in some)
    keys = np.concatenate([factor.keys for some in pieces for factor in some])
    assert np.array_equal(np.sort(keys, 0), np.sort(np.concatenate([factor.keys for factor in factors]), 0))
    assert [len(factor.keys) for some in cut_at_same_keys(factors[:1] * 2) for factor in some] == [0]
