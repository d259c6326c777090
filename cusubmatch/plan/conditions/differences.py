"""Difference constraints: conditions such as `q.time - p.time <= $window` and `p.time < q.time`, as bounds.

A condition is one if it bounds the difference of the graph's time column at two edges by a constant; times are whole
numbers, so `<` is `<=` with one less. Together they are a simple temporal network, whose tightest bounds are shortest
paths (Dechter, Meiri and Pearl 1991, section 2; Floyd and Warshall). A cycle of negative length: no times fulfil them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cusubmatch.pattern.elements import Element
from cusubmatch.pattern.expressions import Absolute, Arithmetic, Comparison, Expression, Negative, Property
from cusubmatch.plan.conditions.bounds import NO_BOUND
from cusubmatch.plan.conditions.compile_program import compile_program, constant_value
from cusubmatch.plan.conditions.environment import Environment

__all__ = ["Difference", "closure_of", "differences_in"]

SIDES = {"<": (1, True), "<=": (1, False), ">": (-1, True), ">=": (-1, False)}  # the sign that makes it <, strictly


class Difference(NamedTuple):
    """`time(second) - time(first) <= bound`, for two edges of the pattern by their numbers."""

    first: int
    second: int
    bound: int


class _Linear(NamedTuple):
    """A sum of times with whole factors, by edge, and a constant."""

    factors: dict[Element, int]
    constant: float | int


def differences_in(condition: Expression, environment: Environment, time: str | None) -> list[Difference] | None:
    """The difference constraints that a condition is, or None if it is none; `time` is the graph's column of times.

    Raises
    ------
    PatternError, TypeError
        As `compile_program`.
    """
    if time is None or not isinstance(condition, Comparison) or condition.operator == "<>":
        return None
    compile_program(condition, environment)  # its types are right, so times meet durations, or numbers numbers
    left, right, operator = condition.left, condition.right, condition.operator
    if isinstance(right, Absolute):
        left, right, operator = right, left, {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(operator, operator)
    if isinstance(left, Absolute):
        if operator not in ("<", "<="):
            return None
        inner = left.operand
        return _both(environment, time, [(operator, inner, right), (operator, Negative(inner), right)])
    if operator == "=":
        return _both(environment, time, [("<=", left, right), (">=", left, right)])
    return _both(environment, time, [(operator, left, right)])


def closure_of(edges: int, differences: Iterable[Difference]) -> tuple[tuple[int, ...], ...] | None:
    """The tightest bounds of all differences: element [e][f] is that of time(f) - time(e), or `NO_BOUND`.

    None: no times fulfil them.
    """
    bounds = [[0 if e == f else NO_BOUND for f in range(edges)] for e in range(edges)]
    for first, second, bound in differences:
        bounds[first][second] = min(bounds[first][second], bound)
    for middle in range(edges):
        for e in range(edges):
            if bounds[e][middle] < NO_BOUND:
                for f in range(edges):
                    if bounds[middle][f] < NO_BOUND:
                        bounds[e][f] = min(bounds[e][f], bounds[e][middle] + bounds[middle][f])
    if any(bounds[e][e] < 0 for e in range(edges)):
        return None
    return tuple(map(tuple, bounds))


def _both(
    environment: Environment, time: str, comparisons: Sequence[tuple[str, Expression, Expression]]
) -> list[Difference] | None:
    found = [_difference(environment, time, *comparison) for comparison in comparisons]
    differences = [one for one in found if one is not None]
    return differences if len(differences) == len(found) else None


def _difference(environment, time, operator, left, right):
    """One comparison as a difference constraint."""
    sign, strict = SIDES[operator]
    a, b = _linear(left, environment, time), _linear(right, environment, time)
    if a is None or b is None:
        return None
    whole = _sum(a, b, -1)
    whole = _Linear({element: sign * factor for element, factor in whole.factors.items()}, sign * whole.constant)
    if sorted(whole.factors.values()) != [-1, 1]:
        return None
    ends = {factor: element.index for element, factor in whole.factors.items()}
    bound = -whole.constant
    bound = math.ceil(bound) - 1 if strict else math.floor(bound)
    return Difference(ends[-1], ends[1], max(min(bound, NO_BOUND), -NO_BOUND))


def _linear(expression, environment, time):
    """An expression as a sum of times and a constant; None if it is anything else."""
    match expression:
        case Property(_, column) if column == time:
            (element,) = environment.elements_in(expression)
            return _Linear({element: 1}, 0) if element.kind == "edge" else None
        case Negative(operand):
            inner = _linear(operand, environment, time)
            return None if inner is None else _sum(_Linear({}, 0), inner, -1)
        case Arithmetic("+" | "-" as operator, left, right):
            a, b = _linear(left, environment, time), _linear(right, environment, time)
            return None if a is None or b is None else _sum(a, b, 1 if operator == "+" else -1)
    if environment.elements_in(expression):
        return None
    constant = constant_value(expression, environment)
    if constant is None or constant.kind not in ("integer", "duration", "float") or not math.isfinite(constant.value):
        return None
    return _Linear({}, constant.value)


def _sum(a, b, sign):
    factors = dict(a.factors)
    for element, factor in b.factors.items():
        factors[element] = factors.get(element, 0) + sign * factor
    return _Linear({element: factor for element, factor in factors.items() if factor}, a.constant + sign * b.constant)
