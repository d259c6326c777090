"""The core of a pattern: what cannot be eliminated, as rows between the levels of an order in which it is walked."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from cusubmatch.engines.cpu.elimination.arithmetic import number_one
from cusubmatch.engines.cpu.elimination.factor import Factor
from cusubmatch.engines.cpu.primitives.jit import jit

__all__ = ["Core", "core_of"]


class Core(NamedTuple):
    """What is walked, by level.

    Attributes
    ----------
    rows : int64 (levels, levels)
        Of each pair of levels, the first one lower, the number of the rows between them; -1: none.
    offsets : int64 (rows, n + 1)
    targets : int32
    values : uint64
        Of the targets.
    weights : uint64 (levels, n)
        The factor of each level's vertex alone; 0: it is no candidate.
    differs : bool (levels, levels)
        Whether two levels, the first one lower, must have different images.
    """

    rows: np.ndarray
    offsets: np.ndarray
    targets: np.ndarray
    values: np.ndarray
    weights: np.ndarray
    differs: np.ndarray

    @property
    def elements(self) -> int:
        """Elements of the lists that are kept while it is walked, at most."""
        return self.rows.size * int(np.diff(self.offsets, axis=1).max(initial=1))


def core_of(
    factors: Sequence[Factor], conflicts: Collection[tuple[int, int]], size: int, bits: int, modulus: np.uint64
) -> Core:
    """The core that factors of at most two vertices are, whose fields have so many bits and values below `size`."""
    order = _order([factor for factor in factors if len(factor.scope) == 2])
    place = {vertex: level for level, vertex in enumerate(order)}
    levels = len(order)
    weights = np.full((levels, size), number_one(modulus), np.uint64)
    rows, differs = np.full((levels, levels), -1, np.int64), np.zeros((levels, levels), np.bool_)
    begin, offsets, targets, values = 0, list[np.ndarray](), list[np.ndarray](), list[np.ndarray]()
    for scope, keys, numbers in factors:
        if len(scope) == 1:
            weights[place[scope[0]]] = 0
            weights[place[scope[0]], keys.astype(np.int64)] = numbers
            continue
        lower, higher = sorted(scope, key=place.__getitem__)
        rows[place[lower], place[higher]] = len(offsets)
        part = rows_of(keys, numbers, np.uint64(bits), size, lower == scope[0])
        offsets.append(part[0] + begin)
        targets.append(part[1])
        values.append(part[2])
        begin += len(keys)
    for u, w in conflicts:
        if u in place and w in place:
            differs[min(place[u], place[w]), max(place[u], place[w])] = True
    return Core(rows, np.array(offsets), np.concatenate(targets), np.concatenate(values), weights, differs)


def _order(pairs: Sequence[Factor]) -> list[int]:
    """From the vertex with most neighbours always to the one with most matched neighbours, of fewest entries."""
    neighbours: dict[int, set[int]] = {}
    entries: dict[int, int] = {}
    for (u, w), keys, _ in pairs:
        for a, b in ((u, w), (w, u)):
            neighbours.setdefault(a, set()).add(b)
            entries[a] = entries.get(a, 0) + len(keys)
    order: list[int] = []
    while len(order) < len(neighbours):
        left = [v for v in neighbours if v not in order and (not order or neighbours[v].intersection(order))]
        order.append(
            min(left, key=lambda v: (-len(neighbours[v].intersection(order)), entries[v] / len(neighbours[v]), v))
        )
    return order


@jit
def rows_of(keys, values, bits, size, by_first):
    """A factor of two vertices by the first one, or by the second: offsets, sorted targets, values."""
    mask, offsets = (np.uint64(1) << bits) - np.uint64(1), np.zeros(size + 1, np.int64)
    targets, numbers = np.empty(len(keys), np.int32), np.empty(len(keys), np.uint64)
    for key in keys:
        offsets[np.int64(key >> bits if by_first else key & mask) + 1] += 1
    for x in range(size):
        offsets[x + 1] += offsets[x]
    position = offsets.copy()
    for i in range(len(keys)):
        first, second = np.int64(keys[i] >> bits), np.int64(keys[i] & mask)
        x = first if by_first else second
        targets[position[x]], numbers[position[x]] = second if by_first else first, values[i]
        position[x] += 1
    return offsets, targets, numbers
