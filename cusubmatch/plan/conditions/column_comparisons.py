"""Comparisons of one column of two edges, such as `q.amount >= 0.9 * p.amount`, recognised as windows on the column.

A side is the column, with constants added, or multiplied by positive ones, so that it does not fall as the column
rises. That it does not, whatever overflows, is seen from its values. Or one side is a difference of the column at both
edges, such as `q.amount - p.amount <= 5`, or the size of one: rounding keeps the order of differences, and whole
numbers must lie so close together that none overflows. Where such comparisons are of several columns, those of the
column with the most of them are windows.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cusubmatch.graph import Graph
from cusubmatch.graph.properties import edge_column
from cusubmatch.pattern.expressions import (
    Absolute,
    Arithmetic,
    Comparison,
    Expression,
    Negative,
    Property,
    parts_of,
    rebuilt,
)
from cusubmatch.pattern.language.expression_text import expression_text
from cusubmatch.plan.conditions.column_windows import ColumnOrder, ColumnWindows, column_order, first_ranks
from cusubmatch.plan.conditions.compile_program import compile_program, constant_value
from cusubmatch.plan.conditions.environment import Environment
from cusubmatch.plan.conditions.evaluate import holds

__all__ = ["column_windows"]

KEPT_ORDERS = 4
INT64 = range(-(1 << 63) + 1, 1 << 63)  # the numbers whose size is one, too
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


class _Compared(NamedTuple):
    """A comparison of a column of two edges: true, for a row of the one, from some row of the other on."""

    lower: int
    upper: int
    column: str
    comparison: Comparison
    is_difference: bool = False


def column_windows(edges: int, conditions: Sequence[Expression], environment: Environment) -> ColumnWindows | None:
    """The windows on a column that are among conditions on several elements of a pattern with so many edges.

    `ColumnWindows.decided` has their positions in `conditions`. None: there are none.
    """
    by_column: dict[str, dict[int, list[_Compared]]] = defaultdict(dict)
    for position, condition in enumerate(conditions):
        compared = _compared(condition, environment) or _differences(condition, environment)
        if compared:
            by_column[compared[0].column][position] = compared
    for column, found in sorted(by_column.items(), key=lambda item: -len(item[1])):
        windows = _windows(edges, column, found, environment)
        if windows is not None:
            return windows
    return None


def _compared(condition, environment):
    """A condition as comparisons with the smaller side first; none if it is anything else."""
    if not isinstance(condition, Comparison) or condition.operator == "<>":
        return []
    left, right, operator = condition.left, condition.right, condition.operator
    a, b = _rising(left, environment), _rising(right, environment)
    if a is None or b is None or a.column != b.column or a.element == b.element:
        return []
    found = []
    for sign in ("<=", ">=") if operator == "=" else (operator,):
        comparison = Comparison(sign, left, right) if "<" in sign else Comparison(MIRRORED[sign], right, left)
        ends = (a, b) if "<" in sign else (b, a)
        lower, upper = (next(iter(environment.elements_in(leaf))).index for leaf in ends)
        found.append(_Compared(lower, upper, a.column, comparison))
    return found


def _differences(condition, environment):
    """A condition as comparisons of a difference of a column at two edges with a constant; none if it is another."""
    if not isinstance(condition, Comparison) or condition.operator == "<>":
        return []
    left, right, operator = condition.left, condition.right, condition.operator
    if not environment.elements_in(left):
        left, right, operator = right, left, MIRRORED.get(operator, operator)
    signs = [("<=", right), (">=", right)] if operator == "=" else [(operator, right)]
    if isinstance(left, Absolute) and operator in ("<", "<="):
        left, signs = left.operand, [(operator, right), (MIRRORED[operator], Negative(right))]
    match left:
        case Arithmetic("-", Property() as a, Property() as b) if a.column == b.column and a.element != b.element:
            ends = [next(iter(environment.elements_in(leaf))) for leaf in (a, b)]
            if any(end.kind != "edge" for end in ends) or _constant(right, environment) is None:
                return []
        case _:
            return []
    first, second = (end.index for end in ends)
    return [
        _Compared(*((first, second) if "<" in sign else (second, first)), a.column, Comparison(sign, left, bound), True)
        for sign, bound in signs
    ]


def _rising(expression, environment):
    """The column of an edge that an expression rises with; None if it is anything else."""
    match expression:
        case Property():
            (element,) = environment.elements_in(expression)
            return expression if element.kind == "edge" else None
        case Arithmetic("+", left, right):
            inner, constant = (right, left) if _constant(left, environment) is not None else (left, right)
        case Arithmetic("*", left, right):
            inner, constant = (right, left) if (_constant(left, environment) or 0) > 0 else (left, right)
        case Arithmetic("-" | "/", inner, constant):
            pass
        case _:
            return None
    value = _constant(constant, environment)
    if value is None or (expression.operator in "*/" and value <= 0):
        return None
    return _rising(inner, environment)


def _constant(expression, environment):
    """The value of a number, or of a duration, that names no column."""
    if environment.elements_in(expression):
        return None
    constant = constant_value(expression, environment)
    known = constant is not None and constant.kind in ("integer", "decimal", "float", "duration")
    return constant.value if known and math.isfinite(constant.value) else None


def _windows(edges, name, found, environment):
    """The windows of one column; None if its values do not rise with their ranks."""
    graph: Graph = environment.graph
    column = edge_column(graph, name)
    order = graph.cache.get(
        "column orders", name, lambda: column_order(column.values, column.valid), graph.keep(KEPT_ORDERS)
    )
    if not len(order.rows) or not np.isfinite(column.values[order.rows]).all():
        return None
    least: dict[tuple[int, int], np.ndarray] = {}
    tables: dict[str, np.ndarray | None] = {}
    decided = []
    for position, compared in found.items():
        made = [(one, _table(one, order, environment, tables)) for one in compared]
        if any(table is None for _, table in made):
            continue
        decided.append(position)
        for one, table in made:
            ends = one.lower, one.upper
            least[ends] = np.maximum(least[ends], table) if ends in least else table
    return ColumnWindows(name, order, edges, least, decided) if decided else None


def _table(one: _Compared, order: ColumnOrder, environment, tables):
    """The least rank of the upper edge by that of the lower one; None if a side falls, or a difference may overflow."""
    comparison = one.comparison
    key = expression_text(rebuilt(comparison, _nameless))
    if key not in tables and one.is_difference:
        values = edge_column(environment.graph, one.column).values
        ends = values[order.rows[[0, -1]]].tolist()
        fits = values.dtype.kind == "f" or ends[1] - ends[0] in INT64
        fulfilled = _fulfilled(comparison, order, environment, one.lower)
        tables[key] = first_ranks(len(order.rows), fulfilled) if fits else None
    elif key not in tables:
        names = [_name(side) for side in (comparison.left, comparison.right)]
        adjacent = np.arange(len(order.rows) - 1)
        rising = all(
            _fulfilled(Comparison("<=", side, rebuilt(side, _renamed(other))), order, environment, edge)(
                adjacent, adjacent + 1
            ).all()
            for side, other, edge in zip(
                (comparison.left, comparison.right), reversed(names), (one.lower, one.upper), strict=True
            )
            if not isinstance(side, Property)
        )
        fulfilled = _fulfilled(comparison, order, environment, one.lower)
        tables[key] = first_ranks(len(order.rows), fulfilled) if rising else None
    return tables[key]


def _fulfilled(comparison, order, environment, lower):
    """A function that says of ranks, first of the lower edge's row, then of the other's, where a comparison is true."""
    program = compile_program(comparison, environment)

    def fulfilled(left, right):
        positions = [order.rows[left if element.index == lower else right] for element in program.elements]
        return holds(program, np, positions, len(left))

    return fulfilled


def _name(side):
    return next(part.element for part in parts_of(side) if isinstance(part, Property))


def _renamed(name):
    return lambda part: Property(name, part.column) if isinstance(part, Property) else part


_nameless = _renamed("_")
