"""Greedy matching orders: those of RI (Bonnici et al. 2013) and of GraphQL (He & Singh 2008).

They cost little to find. A search for a better order begins with them; where few rows are enough, GraphQL's is taken,
and has rivals that begin elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence

from cusubmatch.plan.walk_cost import OrderProblem

__all__ = ["first_orders", "greedy_order", "rival_orders"]


def greedy_order(neighbours: Sequence[set[int]], sizes: Sequence[float]) -> tuple[int, ...]:
    """GraphQL's order: from the vertex with the fewest candidates for its degree, always to the fewest candidates."""
    return _by_candidates(neighbours, sizes, _rarest(range(len(neighbours)), neighbours, sizes))


def rival_orders(neighbours: Sequence[set[int]], sizes: Sequence[float]) -> list[tuple[int, ...]]:
    """Orders unlike `greedy_order`: GraphQL's from a vertex far from the first one, and RI's from two common ones."""
    vertices, by_size = range(len(neighbours)), _ranks(sizes)
    by_rarity = sorted(vertices, key=_rarity(neighbours, sizes))
    distances = _distances(neighbours, by_rarity[0])
    far = max(vertices, key=lambda v: (distances[v], -sizes[v], v))
    common = max(vertices, key=lambda v: (sizes[v], v)), by_rarity[len(by_rarity) // 2]
    orders = [_connected_order(neighbours, v, by_size, len(neighbours)) for v in common]
    known, other = (_by_candidates(neighbours, sizes, v) for v in (by_rarity[0], far))
    return [order for order in dict.fromkeys([other, *orders]) if order != known]


def first_orders(problem: OrderProblem, sizes: Sequence[float]) -> list[tuple[int, ...]]:
    """RI's order from the vertex of highest degree and from that of fewest candidates, and GraphQL's."""
    vertices = problem.vertices
    neighbours = [adjacent.intersection(vertices) for adjacent in problem.neighbours]
    starts = [v for v in vertices if problem.may_be_first(v)]
    if not starts:
        return []
    rare = _rarest(starts, neighbours, sizes)
    dense = max(starts, key=lambda v: (len(neighbours[v]), -sizes[v], -v))
    by_degree = _ranks([(-len(adjacent), size) for adjacent, size in zip(neighbours, sizes, strict=True)])
    orders = [_connected_order(neighbours, first, by_degree, len(neighbours)) for first in {dense: None, rare: None}]
    return list(dict.fromkeys([*orders, _by_candidates(neighbours, sizes, rare)]))


def _rarest(vertices, neighbours, sizes):
    """The vertex with the fewest candidates for its degree."""
    return min(vertices, key=_rarity(neighbours, sizes))


def _rarity(neighbours, sizes):
    """What tells how few candidates a vertex has for its degree, the rarest first."""
    return lambda v: (sizes[v] / max(len(neighbours[v]), 1), v)


def _distances(neighbours, first):
    """The number of edges from one vertex to each."""
    distances, reached = {first: 0}, [first]
    for v in reached:
        for w in neighbours[v]:
            if w not in distances:
                distances[w] = distances[v] + 1
                reached.append(w)
    return distances


def _by_candidates(neighbours, sizes, first):
    """The connected order from `first` in which the fewest candidates come next, then most matched neighbours."""
    return _connected_order(neighbours, first, [len(neighbours) * rank for rank in _ranks(sizes)], 1)


def _connected_order(neighbours, first, keys, step):
    """From `first` the vertex that is least by its key comes next; each neighbour in the order takes `step` off it."""
    order, reached, left = [first], {w: keys[w] - step for w in neighbours[first]}, keys.copy()
    left[first] = None
    while reached:
        vertex = min(reached, key=reached.__getitem__)
        del reached[vertex]
        left[vertex] = None
        order.append(vertex)
        for w in neighbours[vertex]:
            if left[w] is not None:
                reached[w] = reached.get(w, left[w]) - step
    return tuple(order)


def _ranks(keys):
    """The place of each key among all; equal ones share it."""
    place = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    return [place[key] for key in keys]
