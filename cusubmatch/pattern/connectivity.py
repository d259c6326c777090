"""Connectivity of small graphs that are given as sets of neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["is_connected", "neighbour_sets", "reachable_from"]


def neighbour_sets(size: int, pairs: Iterable[tuple[int, int]]) -> list[set[int]]:
    """The neighbours of each of so many vertices, which these pairs join."""
    neighbours: list[set[int]] = [set() for _ in range(size)]
    for u, w in pairs:
        neighbours[u].add(w)
        neighbours[w].add(u)
    return neighbours


def reachable_from(start: int, neighbours: Sequence[Iterable[int]], within: Iterable[int]) -> set[int]:
    """The vertices that paths lead to from `start`, itself included, along vertices of `within`."""
    unreached = set(within) - {start}
    frontier, reached = [start], {start}
    while frontier:
        step = unreached.intersection(neighbours[frontier.pop()])
        unreached -= step
        reached |= step
        frontier += step
    return reached


def is_connected(neighbours: Sequence[Iterable[int]], vertices: Iterable[int]) -> bool:
    """Whether some vertices, at least one, are connected without the help of others."""
    vertices = set(vertices)
    return bool(vertices) and len(reachable_from(min(vertices), neighbours, vertices)) == len(vertices)
