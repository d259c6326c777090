"""Products of factors that are summed over a vertex, beside the same by dense arrays."""

import numpy as np
import pytest
from random_factors import KINDS, SCOPES, SIZE, check_sum, random_factors, vertices_together
from tiers import thorough

from cusubmatch.engines.cpu.elimination import key_ranges, summed_product
from cusubmatch.engines.cpu.elimination.host_factors import HostFactors
from cusubmatch.engines.cpu.elimination.key_ranges import concatenated, cut_at_same_keys
from cusubmatch.engines.cpu.elimination.summed_product import SummedProduct
from cusubmatch.engines.factors import fields as fields_module
from cusubmatch.engines.factors.factor import Factor
from cusubmatch.engines.factors.fields import Fields


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
    how = fields, KINDS, lambda _: None, np.zeros(1, np.int64)
    summed, host = SummedProduct(*how), HostFactors(*how)
    for vertices in vertices_together(scopes):
        tasks, made = [summed.begin(vertices, factors)], []
        while tasks:
            one = summed.advance(tasks.pop())
            if isinstance(one, Factor):
                made.append(one)
            else:
                tasks += one
        total = concatenated([host.sum(some) for some in cut_at_same_keys(made)])
        check_sum(fields, total, dense)


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
