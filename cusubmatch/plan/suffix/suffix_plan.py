"""The suffix of a counting plan: pattern vertices that are not visited, but counted at each match of the others.

What is counted is a product of polynomials (`polynomial`), whose variables are sizes of intersections of rows of the
core's images, less those images that lie in it and must not be chosen. What the pattern decides about the latter is
decided here: a vertex is not its own neighbour, and is in a row that one of its own pattern edges asks for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from cusubmatch.graph import Relation
from cusubmatch.plan.constraints import Constraints, are_disjoint
from cusubmatch.plan.crt import primes_beyond
from cusubmatch.plan.reuse import NeighbourRows
from cusubmatch.plan.suffix.cores import Core
from cusubmatch.plan.suffix.polynomial import Polynomial, distinct_choices

__all__ = ["Loss", "Suffix", "Variable", "suffix_of", "suffix_primes", "tests_of", "with_sources"]


class Loss(NamedTuple):
    """The image at `level` may not be chosen; it is in the set if it lies in all of `rows`."""

    level: int
    rows: tuple[NeighbourRows, ...]


class Variable(NamedTuple):
    """The size of an intersection of rows less the vertices lost.

    Attributes
    ----------
    rows : tuple of Rows
        By level.
    choosers : int
        How many suffix vertices have just this set of candidates.
    losses : tuple of Loss
    source : Rows, int or None
        A row, or a set that is made when its last row's vertex is matched.
    row : Rows or None
        The row, of the last core level's vertex, that the source (if there is one) is intersected with: only the
        number of common vertices is wanted, for no set is needed any more.
    """

    rows: tuple[NeighbourRows, ...]
    choosers: int
    losses: tuple[Loss, ...]
    source: NeighbourRows | int | None
    row: NeighbourRows | None

    def made_of(self, leaf: int) -> tuple[NeighbourRows, ...]:
        """The rows of its source, where `leaf` is the last core level."""
        return self.rows[:-1] if self.rows[-1].level == leaf else self.rows


class Suffix(NamedTuple):
    """What is counted at each match of the core.

    Attributes
    ----------
    variables : tuple of Variable
    factors : tuple of Polynomial
        In the numbers of the variables; their product is counted.
    choices : tuple of int
        For each suffix vertex, in the order of the levels, the variable that is the number of its candidates.
    whole : bool
        Whether a part of a run counts whole matches: where every automorphism maps the core to itself.
    """

    variables: tuple[Variable, ...]
    factors: tuple[Polynomial, ...]
    choices: tuple[int, ...]
    whole: bool


def suffix_of(core: Core, order: Sequence[int], constraints: Constraints, times_counted: int) -> Suffix:
    """The suffix for an order of the core's vertices followed by the suffix; variables are without sources yet.

    A match is counted `times_counted` times: more than the suffix alone accounts for where other cores have its copy.
    """
    relations, core_order = constraints.relations, order[: len(order) - len(core.suffix)]
    variables: list[Variable] = []
    numbers: dict[frozenset[int], int] = {}
    for block in core.blocks:
        rows = [
            NeighbourRows(relation, level)
            for level, u in enumerate(core_order)
            for relation in sorted({r for v in block.vertices for r in constraints.required.get((u, v), ())})
        ]
        least = tuple(row for row in rows if not any(_is_implied(relations, row, other) for other in rows))
        losses = _losses(core_order, least, block.vertices, constraints)
        alike = [i for i, known in enumerate(variables) if (known.rows, known.losses) == (least, losses)]
        numbers[block.kinds] = alike[0] if alike else len(variables)
        if not alike:
            variables.append(Variable(least, 0, losses, None, None))
    factors = []
    for group in core.groups:
        own = {frozenset(map(group.index, kinds)): i for kinds, i in numbers.items() if kinds <= set(group)}
        factors.append(distinct_choices([len(core.kinds[kind]) for kind in group], own))
    choice = {v: numbers[frozenset([kind])] for kind, some in enumerate(core.kinds) for v in some}
    choices = tuple(choice[v] for v in order[len(core_order) :])
    variables = [some._replace(choosers=choices.count(i)) for i, some in enumerate(variables)]
    orders = math.prod(math.factorial(len(some)) for some in core.kinds)
    return Suffix(tuple(variables), tuple(factors), choices, times_counted <= orders)


def with_sources(suffix: Suffix, sources: Sequence[NeighbourRows | int | None], leaf: int) -> Suffix:
    """The suffix with the sources of its variables, made of the rows that `Variable.made_of` names."""
    found = [
        some._replace(source=source, row=some.rows[-1] if some.rows[-1].level == leaf else None)
        for some, source in zip(suffix.variables, sources, strict=True)
    ]
    return suffix._replace(variables=tuple(found))


def tests_of(relations: Sequence[Relation], loss: Loss) -> list[tuple[int, int, int]]:
    """The tests (relation, level of the row, level of the image) of a loss; where either may own the row, the first."""
    found = []
    for relation, level in loss.rows:
        direction, _, target_labels, between = relations[relation]
        swaps = direction == "any" and target_labels is None and between is None
        ends = sorted((level, loss.level)) if swaps else (level, loss.level)
        found.append((relation, *ends))
    return found


def suffix_primes(plan, longest: Sequence[int], sure_bits: int) -> list[int]:
    """Primes whose product no sum of values reaches; none where every value has `sure_bits` bits at most.

    `longest`: the length of the longest row of each relation.
    """

    def most(rows):
        return max(1, min(longest[row.relation] for row in rows))

    suffix_bound = math.prod(
        most(plan.levels[level].backward_neighbours) for level in range(plan.walked, len(plan.levels))
    )
    if suffix_bound.bit_length() <= sure_bits:
        return []
    core_bound = math.prod(most(plan.levels[level].backward_neighbours) for level in range(1, plan.walked))
    return primes_beyond(2 * suffix_bound * core_bound * (1 + int(plan.sizes[plan.levels[0].vertex])))


def _losses(order, rows, vertices, constraints):
    """The core levels whose images may lie in all rows, and must not be chosen."""
    losses = []
    for level, w in enumerate(order):
        if not any(constraints.must_differ(v, w) for v in vertices):
            continue
        own = constraints.labels[w]
        never = any(
            row.level == level or are_disjoint(own, constraints.relations[row.relation].target_labels) for row in rows
        )
        if never:
            continue
        open_rows = [
            row
            for row in rows
            if not any(
                _covers(constraints.relations[row.relation], constraints.relations[known])
                for known in constraints.required.get((order[row.level], w), ())
            )
        ]
        losses.append(Loss(level, tuple(open_rows)))
    return tuple(losses)


def _is_implied(relations, row, other):
    return row != other and row.level == other.level and _covers(relations[row.relation], relations[other.relation])


def _covers(loose: Relation, strict: Relation) -> bool:
    """Whether every neighbour in the strict relation is one in the loose relation."""
    if loose.between is not None or strict.between is not None:
        return loose == strict

    def within(some, others):
        return others is None or (some is not None and some <= others)

    return (
        loose.direction in ("any", strict.direction)
        and within(strict.edge_labels, loose.edge_labels)
        and within(strict.target_labels, loose.target_labels)
    )
