"""The order in which factors are joined, and how much that is expected to make."""

from itertools import combinations

import numpy as np
import pytest
from random_factors import places_of

from cusubmatch.engines.cpu.elimination import join_order
from cusubmatch.engines.cpu.elimination.costs import ENTRY_NS, PRODUCT_NS
from cusubmatch.engines.cpu.elimination.join_order import JoinOrders
from cusubmatch.engines.factors.factor import Factor
from cusubmatch.engines.factors.fields import Fields

SIZE = 1 << 9


def factor(scope, pairs):
    """A factor that is 1 for some images of two vertices."""
    keys = np.unique(pairs[:, 0].astype(np.uint64) << np.uint64(9) | pairs[:, 1].astype(np.uint64))
    return Factor(scope, keys.reshape(-1, 1), np.ones((len(keys), 1), np.uint64))


def orders_of(factors):
    places = places_of(Fields(SIZE))
    return JoinOrders(SIZE, Fields(SIZE), places, dict(enumerate(map(places.of_host, factors))))


def uniform(entries, seed):
    return np.random.default_rng(seed).integers(0, SIZE, (entries, 2))


def with_hub(entries, seed):
    """Pairs half of which have the first image at either end."""
    pairs = uniform(entries, seed)
    pairs[: entries // 4, 0] = pairs[entries // 4 : entries // 2, 1] = 0
    return pairs


def products_of(factors):
    """Entries of the product of factors of (0, 1), (0, 2), (0, 3) and so on, image by image."""
    images = [np.bincount((one.keys[:, 0] >> np.uint64(9)).astype(int), minlength=SIZE) for one in factors]
    return int(np.prod(np.array(images, object), axis=0).sum())


@pytest.mark.parametrize("pairs", [uniform, with_hub])
@pytest.mark.parametrize("leaves", [2, 3, 4])
def test_the_products_of_a_star_are_counted(pairs, leaves):
    factors = [factor((0, leaf), pairs(2000, leaf)) for leaf in range(1, leaves + 1)]
    found = orders_of(factors).best(0, range(leaves))
    products = [products_of([factors[n] for n in found.numbers[:k]]) for k in range(1, leaves + 1)]
    entries = sum(len(one.keys) for one in factors) + sum(products[:-1])
    assert found.cost == pytest.approx(ENTRY_NS * entries + PRODUCT_NS * sum(products[1:]))


@pytest.mark.parametrize("pairs", [uniform, with_hub])
def test_triangles_are_expected_about_right(pairs):
    factors = [factor(scope, pairs(6000, sum(scope))) for scope in [(0, 1), (0, 2), (1, 2)]]
    found = orders_of(factors).best(0, range(3))
    dense = np.zeros((3, SIZE, SIZE))
    for number, one in enumerate(factors):
        keys = one.keys[:, 0]
        dense[number][(keys >> np.uint64(9)).astype(int), (keys & np.uint64(SIZE - 1)).astype(int)] = 1
    of_two = dense[0].T @ dense[1]
    wanted = min(of_two.sum(), (dense[0] @ dense[2]).sum(), (dense[1] @ dense[2].T).sum())
    triangles = (of_two * dense[2]).sum()
    entries = sum(len(one.keys) for one in factors) + wanted
    assert 0.5 < found.cost / (ENTRY_NS * entries + PRODUCT_NS * (wanted + triangles)) < 2.0


def test_factors_with_few_entries_are_joined_before_those_with_many():
    """Of a 4-clique the triangle whose entries are few, whichever of its vertices is summed over."""
    few = {(0, 1), (0, 2), (1, 2)}
    scopes = list(combinations(range(4), 2))
    factors = [factor(scope, uniform(1500 if scope in few else 100_000, sum(scope))) for scope in scopes]
    for vertex in range(4):
        found = orders_of(factors).best(vertex, range(6))
        assert {scopes[n] for n in found.numbers[:3]} == few


def test_where_it_takes_long_several_orders_are_tried(monkeypatch):
    better = 0
    for seed in range(20):
        entries = np.random.default_rng(seed).integers(100, 20_000, 6)
        scopes = combinations(range(4), 2)
        orders = orders_of([factor(scope, with_hub(n, seed)) for scope, n in zip(scopes, entries, strict=True)])
        monkeypatch.setattr(join_order, "LONG_NS", np.inf)
        first = orders.best(0, range(6))
        monkeypatch.setattr(join_order, "LONG_NS", 0.0)
        best = orders.best(0, range(6))
        assert sorted(first.numbers) == sorted(best.numbers) == list(range(6))
        assert best.cost <= first.cost
        better += best.cost < first.cost
        assert orders.best(0, range(6), best.cost) == best
        assert not orders.best(0, range(6), 0.99 * best.cost).numbers
        assert orders.best(0, range(6), 0.99 * best.cost).cost > 0.99 * best.cost
    assert better


def test_every_factor_meets_those_before_it():
    """Few entries that have no vertex in common are not multiplied by each other."""
    factors = [factor((0, 1), uniform(10, 1)), factor((2, 3), uniform(10, 2)), factor((1, 2), uniform(5000, 3))]
    for vertex in (1, 2):
        assert orders_of(factors).best(vertex, range(3)).numbers[1] == 2
