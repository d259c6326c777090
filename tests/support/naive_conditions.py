"""The oracle of conditions: an expression is evaluated for one match as SQL would, in plain Python.

None stands for null and for unknown. `value` is the definition, one kind of expression after another. `shape` is what
makes two conditions the same for symmetry: the tree, with operands as multisets where their order does not matter.
"""

from __future__ import annotations

import math
import operator
from collections import Counter

import numpy as np

COMPARE = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def value(expression, match):
    """The value of an expression; `match` says what its names stand for (see `naive.Match`)."""
    kind = type(expression).__name__
    if kind == "Literal":
        return expression.value
    if kind == "Parameter":
        return match.params[expression.name]
    if kind == "Property":
        return _known(match.columns_of(expression.element).get(expression.column))
    if kind == "VertexId":
        return match.vertex(expression.element)
    if kind == "Absent":
        return not match.joined(expression)
    if kind == "And":
        return conjunction(value(part, match) for part in expression.operands)
    if kind == "Or":
        return disjunction(value(part, match) for part in expression.operands)
    if kind == "Not":
        return negation(value(expression.operand, match))
    if kind == "IsNull":
        return value(expression.operand, match) is None
    if kind == "Membership":
        one = value(expression.operand, match)
        return disjunction(compared("=", one, other) for other in members(expression.values, match))

    operands = [value(part, match) for part in expression.parts]
    if None in [None if operand is None else 0 for operand in operands]:
        return None
    if kind == "Comparison":
        return compared(expression.operator, *operands)
    if kind == "StartsWith":
        return operands[0].startswith(operands[1])
    if kind == "Negative":
        return -operands[0]
    if kind == "Absolute":
        return abs(operands[0])
    assert kind == "Arithmetic", kind
    return computed(expression.operator, *operands)


def _known(one):
    """NaN and NaT are null."""
    if isinstance(one, (np.datetime64, np.timedelta64)):
        return None if np.isnat(one) else one
    return None if isinstance(one, float) and math.isnan(one) else one


def members(values, match):
    """The values of a list: each written out, or all of a parameter."""
    return [value(part, match) for part in values] if isinstance(values, tuple) else match.params[values.name]


def compared(sign, left, right):
    """Whether two values compare so; unknown where one is."""
    if left is None or right is None:
        return None
    if isinstance(left, str) != isinstance(right, str):
        raise TypeError(f"{left!r} {sign} {right!r}")
    return bool(COMPARE[sign](left, right))


def computed(sign, left, right):
    """A sum, difference, product, quotient or remainder. Integers are divided towards zero, nothing by zero."""
    if sign == "+":
        return left + right
    if sign == "-":
        return left - right
    if sign == "*":
        return left * right
    if right == 0:
        return None
    if sign == "%" and not isinstance(left, int):
        return math.fmod(left, right)
    if not isinstance(left, int) or not isinstance(right, int):
        return left / right
    quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
    return quotient if sign == "/" else left - quotient * right


def conjunction(truths):
    """False if one is false, else unknown if one is unknown, else true."""
    truths = list(truths)
    return False if False in truths else None if None in truths else True


def disjunction(truths):
    """True if one is true, else unknown if one is unknown, else false."""
    truths = list(truths)
    return True if True in truths else None if None in truths else False


def negation(truth):
    """Unknown stays unknown."""
    return None if truth is None else not truth


def shape(expression, renamed):
    """A hashable value: equal for two conditions exactly if they are the same but for the order of operands.

    `renamed` gives what stands in the place of each name.
    """
    kind = type(expression).__name__
    if kind == "Literal":
        return kind, type(expression.value).__name__, repr(expression.value)
    if kind == "Parameter":
        return kind, expression.name
    if kind == "Property":
        return kind, renamed(expression.element), expression.column
    if kind == "VertexId":
        return kind, renamed(expression.element)
    if kind == "Absent":
        ends = (renamed(expression.source), renamed(expression.target))
        return kind, ends if expression.directed else frozenset(ends), expression.labels
    parts = [shape(part, renamed) for part in expression.parts]
    if kind in ("And", "Or"):
        return kind, multiset(parts)
    if kind == "Membership":
        return kind, parts[0], frozenset(parts[1:]), isinstance(expression.values, tuple)
    if kind == "Comparison":
        forward = (expression.operator, *parts)
        backward = (MIRRORED[expression.operator], *reversed(parts))
        return kind, frozenset([forward, backward])
    if kind == "Arithmetic":
        return kind, expression.operator, multiset(parts) if expression.operator in "+*" else tuple(parts)
    if kind == "Absolute" and getattr(expression.operand, "operator", None) == "-":
        return "distance", multiset(parts[0][2])
    return kind, tuple(parts)


def multiset(parts):
    """Each part with how often it occurs."""
    return frozenset(Counter(parts).items())
