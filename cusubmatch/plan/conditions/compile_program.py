"""Compiling a condition: an expression, typed against a graph and with its parameters bound, as a program.

Types are checked here, so a program cannot fail. Text compared with a constant is compared by its place among the
distinct texts of the column, and two columns of text by their places among the texts of both.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence

from cusubmatch.errors import PatternError
from cusubmatch.frames import TypedColumn
from cusubmatch.pattern.expressions import (
    Absent,
    Absolute,
    And,
    Arithmetic,
    Comparison,
    Expression,
    IsNull,
    Literal,
    Membership,
    Negative,
    Not,
    Or,
    Parameter,
    Property,
    StartsWith,
    VertexId,
)
from cusubmatch.pattern.language.expression_text import expression_text
from cusubmatch.plan.conditions.arithmetic import a_kind, arithmetic, exact, mismatch, signed
from cusubmatch.plan.conditions.condition_program import EQUAL, GREATER, LESS, Opcode, Program
from cusubmatch.plan.conditions.constants import Constant, constant_of
from cusubmatch.plan.conditions.environment import Environment
from cusubmatch.plan.conditions.membership import membership
from cusubmatch.plan.conditions.operands import NUMBERS, Instruction, Operand, Pools

__all__ = ["compile_program", "constant_value"]

SIGNS = {"=": EQUAL, "<>": LESS | GREATER, "<": LESS, "<=": LESS | EQUAL, ">": GREATER, ">=": GREATER | EQUAL}
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
NULL: tuple[Instruction, ...] = ((Opcode.PUSH_NULL, 0),)


def compile_program(condition: Expression, environment: Environment) -> Program:
    """The program of a condition.

    Raises
    ------
    PatternError
        If a column is unknown, values cannot be compared, or the whole is not true or false.
    TypeError
        If a parameter is of a type that cannot be compared.
    """
    compiler = _Compiler(environment)
    return compiler.pools.program(compiler.truth(condition, condition))


def constant_value(expression: Expression, environment: Environment) -> Constant | None:
    """The value of an expression without columns that is a number, a time or a duration; None for any other."""
    compiler = _Compiler(environment)
    return compiler.operand(expression).constant


class _Compiler:
    """The compilation of one condition."""

    def __init__(self, environment: Environment):
        self.environment, self.pools = environment, Pools()

    def truth(self, expression: Expression, whole: Expression) -> tuple[Instruction, ...]:
        """The code of an expression that is true, false or unknown."""
        operand = self.operand(expression)
        if operand.kind not in ("boolean", "null"):
            where = "" if expression == whole else f" in {expression_text(whole)}"
            raise PatternError(
                f"pattern: {expression_text(expression)}{where} is {a_kind(operand)}, where a "
                "condition that is true or false is expected; compare it with something"
            )
        return self.pools.code_of(operand)

    def operand(self, expression: Expression) -> Operand:
        """An expression as an operand."""
        match expression:
            case Literal(value):
                return Operand.of_constant(constant_of(value))
            case Parameter(name):
                return self._parameter(name)
            case Property() | VertexId():
                return self._leaf(expression)
            case Negative(operand):
                return signed(self.pools, expression, self.operand(operand), absolute=False)
            case Absolute(operand):
                return signed(self.pools, expression, self.operand(operand), absolute=True)
            case Arithmetic(_, left, right):
                return arithmetic(self.pools, expression, self.operand(left), self.operand(right))
            case _:
                return Operand("boolean", 0, self._boolean(expression))

    def _boolean(self, expression):
        match expression:
            case Comparison(operator, left, right):
                return self.comparison(expression, operator, self.operand(left), self.operand(right))
            case Membership(operand, values):
                return membership(self, expression, self.operand(operand), values)
            case StartsWith(operand, prefix):
                return self._starts_with(expression, self.operand(operand), self.operand(prefix))
            case IsNull(operand):
                return (*self.pools.code_of(self._plain(operand)), (Opcode.IS_NULL, 0))
            case Not(operand):
                return (*self.truth(operand, expression), (Opcode.NOT, 0))
            case And(operands):
                return self._joined(expression, operands, Opcode.AND)
            case Or(operands):
                return self._joined(expression, operands, Opcode.OR)
            case Absent():
                raise PatternError(
                    f"pattern: {expression_text(expression)} can stand by itself or be joined to the rest by AND, not "
                    "inside OR or NOT"
                )
        raise TypeError(f"condition: expected an Expression, got {type(expression).__name__}")

    def _joined(self, whole, operands, opcode):
        code = self.truth(operands[0], whole)
        for operand in operands[1:]:
            code = (*code, *self.truth(operand, whole), (opcode, 0))
        return code

    def _parameter(self, name):
        try:
            return Operand.of_constant(constant_of(self.environment.parameter(name)))
        except TypeError as error:
            raise TypeError(f"params: {name}: {error}") from None

    def _leaf(self, leaf):
        element, column = self.environment.column(leaf)
        return Operand("null", 0, NULL) if column.kind == "null" else self.pools.load(element, column)

    def _plain(self, expression):
        """An operand whose value does not matter; a text is any number."""
        operand = self.operand(expression)
        if operand.constant is not None and operand.kind == "text":
            return Operand.of_constant(Constant("integer", 0))
        return operand

    def comparison(self, expression: Expression, operator: str, left: Operand, right: Operand):
        """The code of a comparison; `expression` is what an error shows."""
        pools = self.pools
        if "null" in (left.kind, right.kind):
            return NULL
        if left.kind == right.kind == "text":
            return self._text(operator, left, right)
        signs = SIGNS[operator]
        if left.kind in NUMBERS and right.kind in NUMBERS:
            left, right = exact(left, right), exact(right, left)
            kinds, scale = {left.kind, right.kind}, max(left.scale, right.scale)
            if "float" not in kinds and pools.can_scale(left, scale) and pools.can_scale(right, scale):
                return (*pools.scaled(left, scale), *pools.scaled(right, scale), (Opcode.COMPARE_INT, signs))
            if kinds == {"integer", "float"}:
                if left.kind == "float":
                    left, right, signs = right, left, SIGNS[MIRRORED.get(operator, operator)]
                return (*pools.code_of(left), *pools.code_of(right), (Opcode.COMPARE_INT_FLOAT, signs))
            return (*pools.as_float(left), *pools.as_float(right), (Opcode.COMPARE_FLOAT, signs))
        if left.kind != right.kind:
            raise mismatch(expression, left, right)
        return (*pools.code_of(left), *pools.code_of(right), (Opcode.COMPARE_INT, signs))

    def _text(self, operator, left, right):
        if left.constant is not None and right.constant is not None:
            a, b = left.constant.value, right.constant.value
            sign = LESS if a < b else GREATER if a > b else EQUAL
            return (self.pools.push_int(int(bool(SIGNS[operator] & sign))),)
        if left.constant is not None:
            left, right, operator = right, left, MIRRORED.get(operator, operator)
        if right.constant is None:
            left, right = self._same_texts(left, right)
            return (*left.code, *right.code, (Opcode.COMPARE_INT, SIGNS[operator]))
        texts, text = left.column.texts, right.constant.value
        place = bisect.bisect_left(texts, text)
        if place == len(texts) or texts[place] != text:  # between two texts: above those before its place
            place = -1 if operator in ("=", "<>") else place
            operator = {"<=": "<", ">": ">="}.get(operator, operator)
        return (*left.code, self.pools.push_int(place), (Opcode.COMPARE_INT, SIGNS[operator]))

    def _same_texts(self, left, right):
        """Two columns of text by their places among the texts of both."""
        if left.column.texts == right.column.texts:
            return left, right
        texts = tuple(sorted({*left.column.texts, *right.column.texts}))
        place = {text: number for number, text in enumerate(texts)}
        return tuple(self._placed(side, [place[text] for text in side.column.texts], texts) for side in (left, right))

    def _placed(self, operand, places, texts):
        xp, column = self.environment.graph.xp, operand.column
        values = xp.asarray(places or [0], xp.int64)[column.values]
        return self.pools.load(operand.element, TypedColumn("text", values, column.valid, texts))

    def _starts_with(self, expression, operand, prefix):
        if "null" in (operand.kind, prefix.kind):
            return NULL
        if operand.kind != "text" or prefix.kind != "text":
            raise mismatch(expression, operand, prefix)
        if prefix.constant is None:
            return self._starts_with_column(operand, prefix)
        text = prefix.constant.value
        if operand.constant is not None:
            return (self.pools.push_int(int(operand.constant.value.startswith(text))),)
        texts: Sequence[str] = operand.column.texts
        begin, end = prefix_range(texts, text)
        return (
            *operand.code,
            self.pools.push_int(begin),
            (Opcode.COMPARE_INT, GREATER | EQUAL),
            *operand.code,
            self.pools.push_int(end),
            (Opcode.COMPARE_INT, LESS),
            (Opcode.AND, 0),
        )

    def _starts_with_column(self, operand, prefix):
        """The texts with a prefix are a range of all, for each prefix of a column another one."""
        constant = operand.constant is not None
        texts = (operand.constant.value,) if constant else operand.column.texts
        code = (self.pools.push_int(0),) if constant else operand.code
        ranges = [prefix_range(texts, text) for text in prefix.column.texts]
        begin, end = (self._placed(prefix, list(places), texts) for places in zip(*ranges or [(0, 0)], strict=True))
        first = *code, *begin.code, (Opcode.COMPARE_INT, GREATER | EQUAL)
        return *first, *code, *end.code, (Opcode.COMPARE_INT, LESS), (Opcode.AND, 0)


def prefix_range(texts: Sequence[str], prefix: str) -> tuple[int, int]:
    """The places among sorted texts of those that begin so."""
    begin = bisect.bisect_left(texts, prefix)
    return begin, bisect.bisect_right(texts, prefix, key=lambda other: other[: len(prefix)])
