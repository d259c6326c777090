"""Candidate sets: what is intersected when, so that nothing is computed twice.

The candidates of a level are the row of its first backward neighbour, intersected with the rows of the others and
without those of its non-neighbours. Each operation happens as soon as its vertices are matched, and levels that need
the same set share it (candidate reuse: BUG; T-DFS, section 4; loop-invariant motion in GraphPi). A restriction that
every user of a set has is applied when the set is made, the rest when it is used.
"""

from __future__ import annotations

from operator import attrgetter
from typing import NamedTuple

from cusubmatch.plan.symmetry import implied_bounds

__all__ = ["NeighbourRows", "SetOperation", "candidate_sets"]


_level = attrgetter("level")


class NeighbourRows(NamedTuple):
    """A row of the graph: the neighbours, in a relation, of the vertex matched at a level."""

    relation: int
    level: int


class SetOperation(NamedTuple):
    """Make set `target`, when level `when` is matched, from `source` by one operation.

    `operation` is "intersect" or "subtract" (with the row `operand`) or "filter" (no operand). `mask` is a pattern
    vertex whose candidate filter applies, or None. `bounds` are levels whose image bounds every element. A set of fewer
    than `need` elements cannot serve its levels.
    """

    when: int
    target: int
    source: NeighbourRows | int
    operation: str
    operand: NeighbourRows | None
    mask: int | None
    bounds: tuple[int, ...]
    need: int


def candidate_sets(backward_neighbours, forbidden, masks, bounds, *, injective, counted=()):
    """Plan the set operations and the source of each level's candidates.

    Parameters
    ----------
    backward_neighbours, forbidden : list over levels of lists of NeighbourRows
        Rows that the candidates of a level lie in, and out of.
    masks : list over levels of int or None
        Pattern vertex whose filter applies (levels with the same filter name the same vertex).
    bounds : list over levels of lists of int
        Restrictions.
    injective : bool
        Whether levels that draw from one set take different elements of it.
    counted : list of (rows, int)
        Rows whose whole intersections are wanted besides, and how many suffix vertices choose from each.

    Returns
    -------
    steps : list of SetOperation, by level
    sources : list over levels of NeighbourRows or int (a set), None for level 0; then over `counted`, None where
        there is no row
    deferred : list over levels of the bounds still to be applied when the source is used
    """
    set_numbers: dict[tuple, int] = {}
    bits: dict[tuple, int] = {}
    numbered = set_numbers, bits
    recipes: dict[int, tuple] = {}
    levels = zip(backward_neighbours[1:], forbidden[1:], masks[1:], strict=True)
    sources: list[NeighbourRows | int | None] = [None, *[_operations(*level, numbered, recipes) for level in levels]]
    drawn = [1] * len(sources) + [vertices for _, vertices in counted]
    sources += [_operations(rows, (), None, numbered, recipes) if rows else None for rows, _ in counted]
    users = _users(sources, recipes)
    applied = _bounds_of_sets(bounds, users, recipes)
    steps = []
    for target, (when, source, operation, operand, mask) in recipes.items():
        need = sum([drawn[user] for user in users[target]])
        need = need if injective else min(need, 1)
        steps.append(SetOperation(when, target, source, operation, operand, mask, applied.get(target, ()), need))
    steps.sort(key=attrgetter("when", "target"))
    deferred = [
        sorted(set(levels).difference(applied.get(source, ()))) if levels else []
        for levels, source in zip(bounds, sources[: len(bounds)], strict=True)
    ]
    return steps, sources, deferred


def _operations(backward_neighbours, forbidden, mask, numbered, recipes):
    """The source of one level. `numbered`: sets by the rows that they are made of, as bits, and the bits."""
    if len(backward_neighbours) == 1 and not forbidden and mask is None:
        return backward_neighbours[0]
    set_numbers, bits = numbered
    first, *rest = sorted(backward_neighbours, key=_level)
    events = [(row.level, 0, row) for row in rest] + [(max(row.level, first.level), 1, row) for row in forbidden]
    events.sort(key=(lambda event: (event[0], event[1], event[2].level, event[2].relation)) if forbidden else None)
    if mask is not None and not events:
        events = [(first.level, 2, None)]
    source: NeighbourRows | int = first
    made_of = bits.setdefault((first, 0), 1 << len(bits))
    for when, kind, row in events:
        made_of |= bits.setdefault((row, kind), 1 << len(bits)) if row else 0
        key = made_of, mask
        if key not in set_numbers:
            set_numbers[key] = len(set_numbers)
            operation = ("intersect", "subtract", "filter")[kind]
            recipes[set_numbers[key]] = (
                when,
                source,
                operation,
                row,
                mask if isinstance(source, NeighbourRows) else None,
            )
        source = set_numbers[key]
    return source


def _bounds_of_sets(bounds, users, recipes):
    """Of each set, if there are restrictions, the levels that bound all its users and are matched when it is made."""
    if not any(bounds):
        return {}
    implied, unbounded = implied_bounds(bounds), set()
    applied = {}
    for target, (when, *_) in recipes.items():
        common = set.intersection(*(implied[user] if user < len(bounds) else unbounded for user in users[target]))
        applied[target] = tuple(sorted(level for level in common if level <= when))
    return applied


def _users(sources, recipes):
    users: dict[int, set[int]] = {target: set() for target in recipes}
    for level, drawn in enumerate(sources):
        source = drawn
        while isinstance(source, int):
            users[source].add(level)
            source = recipes[source][1]
    return users
