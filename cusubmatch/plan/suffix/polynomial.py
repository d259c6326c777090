"""Choosing distinct elements from overlapping sets: how many ways, as a polynomial in the sizes of the intersections.

The number of injective choices is a sum over the set partitions of the choosers, in which a block of b choosers that
pick one element has the weight (-1)^(b-1) (b-1)! (inclusion-exclusion; GraphPi, SC 2020, section IV-D). Choosers with
the same set are exchangeable, so partitions are summed by how many of each kind a block holds: a set alone gives the
falling factorial n(n-1)(n-2)..., of as many terms as it has choosers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from typing import NamedTuple

__all__ = ["Instruction", "Polynomial", "distinct_choices", "instructions"]

Polynomial = dict[tuple[int, ...], int]  # the coefficient of each monomial: its variables, ascending, repeated


class Instruction(NamedTuple):
    """A step of an evaluation by registers: `operation` changes register `register`.

    "set" and "plus" take a constant, "times" a variable; "add" and "multiply" take the next register.
    """

    operation: str
    register: int
    argument: int


def distinct_choices(choosers: Sequence[int], variables: Mapping[frozenset[int], int]) -> Polynomial:
    """The number of ways in which all choose different elements.

    Parameters
    ----------
    choosers : sequence of int
        How many choosers each set has.
    variables : mapping of frozenset to int
        The variable that is the size of the intersection of some of the sets; those left out are empty.
    """

    @cache
    def ways(left: tuple[int, ...]) -> Polynomial:
        if not any(left):
            return {(): 1}
        first = next(kind for kind, count in enumerate(left) if count)
        total: Polynomial = {}
        numbers = [range(kind == first, count + 1) for kind, count in enumerate(left)]
        for block in product(*numbers):  # the one that a chooser of the first kind is in
            variable = variables.get(frozenset([kind for kind, count in enumerate(block) if count]))
            if variable is None:
                continue
            together = sum(block) - 1
            weight = (-1) ** together * math.factorial(together)
            for kind, (chosen, count) in enumerate(zip(block, left, strict=True)):
                weight *= math.comb(count - (kind == first), chosen - (kind == first))
            rest = ways(tuple(count - chosen for count, chosen in zip(left, block, strict=True)))
            _add(total, _times({(variable,): weight}, rest))
        return total

    return ways(tuple(choosers))


def _times(first, second):
    product: Polynomial = {}
    for a, x in first.items():
        _add(product, {tuple(sorted(a + b)): x * y for b, y in second.items()})
    return product


def _add(total, more):
    for monomial, coefficient in more.items():
        total[monomial] = total.get(monomial, 0) + coefficient
        if not total[monomial]:
            del total[monomial]


def instructions(factors: Sequence[Polynomial]) -> list[Instruction]:
    """The product of polynomials, in register 0."""
    steps = _horner(factors[0], 0)
    for factor in factors[1:]:
        steps += [*_horner(factor, 1), Instruction("multiply", 0, 0)]
    return steps


def _horner(polynomial, register):
    """About one product for each monomial; the value is left in the register."""
    if set(polynomial) <= {()}:
        return [Instruction("set", register, polynomial.get((), 0))]
    uses: dict[int, int] = {}
    for monomial in polynomial:
        for variable in set(monomial):
            uses[variable] = uses.get(variable, 0) + 1
    chosen = max(uses, key=lambda variable: (uses[variable], -variable))
    inside, rest = {}, {}
    for monomial, coefficient in polynomial.items():
        if chosen in monomial:
            index = monomial.index(chosen)
            inside[monomial[:index] + monomial[index + 1 :]] = coefficient
        else:
            rest[monomial] = coefficient
    steps = [*_horner(inside, register), Instruction("times", register, chosen)]
    if set(rest) == {()}:
        steps.append(Instruction("plus", register, rest[()]))
    elif rest:
        steps += [*_horner(rest, register + 1), Instruction("add", register, 0)]
    return steps
