"""Factors with random entries, and the same as dense arrays."""

from itertools import combinations

import numpy as np
from factor_keys import keys_of

from cusubmatch.engines.cpu.elimination.host_factors import HostFactors
from cusubmatch.engines.cpu.elimination.placed_factors import PlacedFactors
from cusubmatch.engines.factors.arithmetic import WORDS
from cusubmatch.engines.factors.factor import Factor

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


def places_of(fields, kinds=KINDS):
    """Operations on factors in host memory."""
    return PlacedFactors(HostFactors(fields, kinds, lambda _: None, np.zeros(1, np.int64)))


def images_of(fields, scope, keys):
    """The images of each vertex."""
    places = [fields.place(scope, v) for v in scope]
    return tuple((keys[:, word] >> np.uint64(bit) & fields.mask).astype(np.int64) for word, bit in places)


def random_factor(fields, scope, share, random, most=100):
    """A factor, and the same as a dense array."""
    shape = (SIZE,) * len(scope)
    numbers = np.where(random.random(shape) < share, random.integers(1, most, shape), 0)
    images = np.nonzero(numbers)
    values = numbers[images].astype(np.uint64)
    return Factor(scope, keys_of(fields, scope, images), np.stack([values, values % KINDS[1]], 1)), numbers


def random_factors(fields, scopes, share, seed, most=100):
    """Factors and the same as one dense array, over all vertices, of integers."""
    random, vertices = np.random.default_rng(seed), max(map(max, scopes)) + 1
    factors, dense = [], np.ones((SIZE,) * vertices, object)
    for scope in scopes:
        factor, numbers = random_factor(fields, scope, share, random, most)
        factors.append(factor)
        dense = dense * numbers.astype(object).reshape([SIZE if v in scope else 1 for v in range(vertices)])
    return factors, dense


def vertices_together(scopes):
    """Each vertex of some scopes alone, the first two, and all."""
    every = tuple(sorted({v for scope in scopes for v in scope}))
    return [*((v,) for v in every), every[:2], every]


def check_sum(fields, total, dense):
    """A factor has the sums of a dense array over all other vertices, and keys that ascend."""
    wanted = dense.sum(axis=tuple(v for v in range(dense.ndim) if v not in total.scope))
    keys = total.keys.tolist()
    assert keys == sorted(keys)
    assert len({*map(tuple, keys)}) == len(keys)
    found = np.zeros((SIZE,) * len(total.scope), object)
    images = images_of(fields, total.scope, total.keys)
    for i, value in enumerate(total.values[:, 0].tolist()):
        found[tuple(of_vertex[i] for of_vertex in images)] = value
    assert np.all(found == wanted)
    assert np.all(total.values[:, 1] == total.values[:, 0] % KINDS[1])
