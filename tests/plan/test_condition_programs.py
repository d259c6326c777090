"""Conditions as programs: typed against a graph's columns, and evaluated as SQL does, in three truth values."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusal import refuses

from cusubmatch import Graph, PatternError
from cusubmatch.pattern.elements import Element, elements_of
from cusubmatch.pattern.expressions import (
    Absent,
    Absolute,
    And,
    Arithmetic,
    Comparison,
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
    parts_of,
)
from cusubmatch.pattern.language.parser import PatternEdge
from cusubmatch.plan.conditions.compile_program import compile_program
from cusubmatch.plan.conditions.environment import Environment, check_parameters
from cusubmatch.plan.conditions.evaluate import evaluate, holds

ELEMENTS = elements_of(("a", "b"), [PatternEdge(0, 1, True, None, "p"), PatternEdge(1, 0, True, None, "q")])
BIG = 2**53
COLUMNS = {
    "whole": pd.Series([1, -3, None, BIG + 1, 0, 7], dtype="Int64"),
    "other": pd.Series([1, 3, 5, BIG, -2, 7]),
    "real": pd.Series([1.0, -3.5, 0.25, float(BIG), None, 7.0]),
    "money": pd.Series([decimal.Decimal(text) for text in ("1.00", "-3.50", "0.10", "9.99", "0.00", "7.00")]),
    "cents": pd.Series([decimal.Decimal("1.000"), None, *map(decimal.Decimal, ("0.1", "10", "-0.001", "7"))]),
    "word": pd.Series(["b", "ab", None, "ü", "", "abc"]),
    "kind": pd.Series(["b", "abc", "z", None, "ab", "abc"], dtype="category"),
    "flag": pd.Series([True, False, None, True, True, False], dtype="boolean"),
    "day": pd.Series(pd.to_datetime(["2024-01-01", "2024-01-31", None, "2024-02-29", "2024-01-01", "2023-12-31"])),
    "late": pd.Series([dt.date(2024, 1, day) for day in (1, 30, 3, 4, 5, 6)], dtype=object),
    "wait": pd.Series([dt.timedelta(days=days) for days in (1, -1, 0, 30, 2, 5)]),
    "nothing": pd.Series([None] * 6, dtype=object),
}
ENDS = {"src": [10, 20, 30, 40, 50, 60], "dst": [20, 30, 40, 50, 60, 10]}
EDGES = pd.DataFrame(ENDS | COLUMNS)
PEOPLE = pd.DataFrame({"id": [10, 20, 30], "country": ["DE", "AT", None], "age": [30, 40, 50]})
GRAPH = Graph.from_edgelist(EDGES, directed=True, vertices=PEOPLE, vertex="id")
p, q = (lambda column: Property("p", column)), (lambda column: Property("q", column))


def truth(condition, positions=(None,), graph=GRAPH, **parameters):
    """The truth of a condition at each row or vertex: True, False or None."""
    program = compile_program(condition, Environment(graph, ELEMENTS, parameters))
    values, known = evaluate(program, np, list(positions)[: len(program.elements)])
    known = np.ones(len(values), bool) if known is None else known
    values, known = np.broadcast_arrays(values, known)
    return [bool(value) if there else None for value, there in zip(values, known, strict=True)]


def compare(column, operator, value):
    return truth(Comparison(operator, p(column), value if not np.isscalar(value) else Literal(value)))


BY_HAND = {
    "integers": (Comparison(">", p("whole"), Literal(0)), [True, False, None, True, False, True]),
    "an int beyond 2**53 and a float": (
        Comparison(">", p("whole"), p("real")),
        [False, True, None, True, None, False],
    ),
    "an integer and a fraction": (Comparison("<", p("other"), Literal(1.5)), [True] + [False] * 3 + [True, False]),
    "a decimal and the float that prints so": (
        Comparison("=", p("money"), Literal(0.1)),
        [False, False, True, False, False, False],
    ),
    "decimals of two scales": (Comparison("=", p("money"), p("cents")), [True, None, True, False, False, True]),
    "a decimal and an integer": (Comparison(">=", p("money"), Literal(7)), [False, False, False, True, False, True]),
    "a decimal and more digits": (
        Comparison(">", p("cents"), Literal(-0.0011)),
        [True, None, True, True, True, True],
    ),
    "text in order": (Comparison("<", p("word"), Literal("b")), [False, True, None, False, True, True]),
    "text that is not there": (Comparison("<=", p("word"), Literal("az")), [False, True, None, False, True, True]),
    "text equal to none": (Comparison("=", p("word"), Literal("q")), [False, False, None, False, False, False]),
    "text unequal to none": (Comparison("<>", p("word"), Literal("q")), [True, True, None, True, True, True]),
    "text on the left": (Comparison(">", Literal("b"), p("word")), [False, True, None, False, True, True]),
    "text of two columns": (Comparison("<", p("word"), p("kind")), [False, True, None, None, True, False]),
    "categories": (Comparison("=", p("kind"), Literal("abc")), [False, True, False, None, False, True]),
    "a prefix": (StartsWith(p("word"), Literal("ab")), [False, True, None, False, False, True]),
    "the empty prefix": (StartsWith(p("word"), Literal("")), [True, True, None, True, True, True]),
    "a flag": (p("flag"), [True, False, None, True, True, False]),
    "no flag": (Not(p("flag")), [False, True, None, False, False, True]),
    "times": (
        Comparison("<", p("day"), Literal(np.datetime64("2024-01-31", "ns"))),
        [True, False, None, False, True, True],
    ),
    "time stamps and dates": (Comparison(">=", p("day"), p("late")), [True, True, None, True, False, False]),
    "times and durations": (
        Comparison("<=", Arithmetic("-", p("day"), p("late")), p("wait")),
        [True, False, None, False, True, True],
    ),
    "membership": (Membership(p("whole"), (Literal(1), Literal(7))), [True, False, None, False, False, True]),
    "membership with null": (Membership(p("other"), (Literal(1), Literal(None))), [True] + [None] * 5),
    "membership in nothing": (Membership(p("whole"), ()), [False]),
    "membership of integers in floats": (
        Membership(p("other"), (Literal(1.0), Literal(3.5))),
        [True, False, False, False, False, False],
    ),
    "membership of decimals": (
        Membership(p("money"), (Literal(0.1), Literal(7), Literal(1.005))),
        [False, False, True, False, False, True],
    ),
    "membership of text": (
        Membership(p("word"), (Literal("ü"), Literal("x"))),
        [False, False, None, True, False, False],
    ),
    "membership among columns": (
        Membership(p("other"), (p("whole"), Literal(3))),
        [True, True, None, False, False, True],
    ),
    "null": (IsNull(p("whole")), [False, False, True, False, False, False]),
    "null of text": (IsNull(p("word")), [False, False, True, False, False, False]),
    "a column without values": (Comparison("=", p("nothing"), Literal(3)), [None]),
    "division by zero": (
        Comparison(">", Arithmetic("/", Literal(1.0), p("whole")), Literal(0)),
        [True, False, None, True, None, True],
    ),
    "remainders": (
        Comparison("=", Arithmetic("%", p("other"), Literal(2)), Literal(1)),
        [True] * 3 + [False, False, True],
    ),
    "signs": (Comparison("=", Absolute(p("other")), Negative(p("other"))), [False] * 4 + [True, False]),
    "three values": (
        Or((And((Comparison(">", p("whole"), Literal(0)), Comparison("<", p("other"), Literal(3)))), p("flag"))),
        [True, False, None, True, True, False],
    ),
    "constants": (Comparison("<", Literal("a"), Literal("b")), [True]),
}


@pytest.mark.parametrize("case", BY_HAND)
def test_conditions_on_one_element_worked_out_by_hand(case):
    condition, wanted = BY_HAND[case]
    assert truth(condition) == wanted


def test_conditions_on_several_elements_are_evaluated_at_combinations():
    condition = And((Comparison("<", p("other"), q("other")), Comparison("<>", p("word"), q("word"))))
    first, second = np.array([0, 1, 2, 5]), np.array([1, 0, 5, 1])
    assert truth(condition, (first, second)) == [True, False, None, False]
    program = compile_program(condition, Environment(GRAPH, ELEMENTS, {}))
    assert program.elements == (Element("edge", 0), Element("edge", 1))
    assert holds(program, np, (first, second), 4).tolist() == [True, False, False, False]


def test_vertices_have_the_columns_of_their_table_and_their_ids():
    ids = [GRAPH.to_ids(np.array([vertex]))[0] for vertex in range(6)]
    assert dict(zip(ids, truth(Comparison(">", Property("a", "age"), Literal(35))), strict=True)) == {
        10: False, 20: True, 30: True, 40: None, 50: None, 60: None,
    }  # fmt: skip
    assert truth(Membership(VertexId("a"), Parameter("some")), some=[20, 77]) == [i == 20 for i in ids]


LISTS = {
    "a list": [7, 1, None],
    "a tuple": (7, 1, None),
    "NumPy": np.array([1, 7, 5]),
    "pandas": pd.Series([1, 7], dtype="Int64"),
    "Polars": pl.Series([7, 1]),
    "Arrow": pa.array([7, None, 1]),
    "Arrow chunks": pa.chunked_array([[7], [1]]),
    "a set": {7, 1},
    "floats": np.array([7.0, 1.0]),
}


@pytest.mark.parametrize("case", LISTS)
def test_a_parameter_may_be_a_list_an_array_or_a_column(case):
    found = truth(Membership(p("whole"), Parameter("some")), some=LISTS[case])
    assert [value is True for value in found] == [True, False, False, False, False, True]
    nulls = case in ("a list", "a tuple", "Arrow")
    assert found[1] is (None if nulls else False)


PARAMETERS = {
    "int": ("other", 3), "NumPy's": ("other", np.int16(3)), "Decimal": ("money", decimal.Decimal("9.990")),
    "date": ("late", dt.date(2024, 1, 4)), "datetime": ("day", dt.datetime(2024, 1, 31)),
    "Timestamp": ("day", pd.Timestamp("2024-01-31", tz="UTC")), "datetime64": ("day", np.datetime64("2024-01-31")),
    "timedelta": ("wait", dt.timedelta(days=30)), "timedelta64": ("wait", np.timedelta64(30, "D")),
    "Timedelta": ("wait", pd.Timedelta(days=30)), "text": ("word", "ü"), "bool": ("flag", np.bool_(False)),
}  # fmt: skip


@pytest.mark.parametrize("case", PARAMETERS)
def test_parameters_of_every_type_are_compared(case):
    column, value = PARAMETERS[case]
    assert True in truth(Comparison("=", p(column), Parameter("value")), value=value)


REFUSALS = {
    "an unknown column": (Comparison("=", p("wrod"), Literal("x")), "p.wrod edge table 'word'"),
    "an unknown column of a vertex": (IsNull(Property("a", "cuntry")), "a.cuntry vertex table 'country'"),
    "an unknown name": (IsNull(Property("x", "age")), "'x' no vertex or edge"),
    "text and a number": (Comparison("<", p("word"), Literal(3)), "text integer p.word"),
    "text and a time": (Comparison("<", p("day"), Literal("2024-01-01")), "text time date("),
    "a duration and a number": (
        Comparison("<", Arithmetic("-", p("day"), p("late")), Literal(30)),
        "duration integer duration('P30D')",
    ),
    "a flag and a number": (Comparison("=", p("flag"), Literal(1)), "boolean integer"),
    "the sum of times": (Comparison("=", Arithmetic("+", p("day"), p("day")), p("day")), "time"),
    "minus text": (Comparison("=", Negative(p("word")), p("word")), "text number"),
    "a number as a condition": (And((p("whole"), p("flag"))), "p.whole integer true or false"),
    "members of another kind": (Membership(p("word"), (Literal(1),)), "text integer"),
    "a prefix of a number": (StartsWith(p("whole"), Literal("1")), "text integer"),
    "a negated edge in OR": (Or((p("flag"), Absent("a", "b", True, None))), "NOT (a)-->(b)"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_conditions_that_make_no_sense_are_refused(case):
    condition, words = REFUSALS[case]
    with refuses(PatternError, words):
        truth(condition)


@pytest.mark.parametrize("value", [[1], {"x": 1}, 1j, object()], ids=["list", "dict", "complex", "object"])
def test_parameters_of_a_wrong_type_are_refused(value):
    with refuses(TypeError, ["params", "limit", type(value).__name__]):
        truth(Comparison("=", p("whole"), Parameter("limit")), limit=value)
    if not isinstance(value, list):
        with refuses(TypeError, ["params", "limit"]):
            truth(Membership(p("whole"), Parameter("limit")), limit=value)


def test_parameters_must_be_those_that_the_pattern_asks_for():
    names = ("limit",)
    assert check_parameters(names, {"limit": 3}) == {"limit": 3}
    for given_parameters, words in ((None, "$limit not given"), ({"limit": 1, "window": 2}, "window not in")):
        with refuses(PatternError, "params " + words):
            check_parameters(names, given_parameters)
    with refuses(TypeError, "params list"):
        check_parameters(names, [1])


def test_a_graph_without_a_table_of_vertices_has_no_properties_of_vertices():
    graph = Graph.from_edgelist(EDGES, directed=True)
    with refuses(PatternError, "a.age vertices="):
        truth(IsNull(Property("a", "age")), graph=graph)


# Random conditions against three-valued logic in plain Python, on fractions.
NUMERIC = st.sampled_from(["whole", "other", "real", "money", "cents"])
LITERALS = st.one_of(st.integers(-4, 8), st.sampled_from([0.5, -3.5, 0.25, float(BIG), BIG + 1, None, 0.1]))
TEXTS = st.sampled_from(["", "a", "ab", "abc", "b", "ü", "zz"])
SIGNS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
NUMBER = st.one_of(NUMERIC.map(p), LITERALS.map(Literal))
TEXT = st.one_of(st.sampled_from(["word", "kind"]).map(p), TEXTS.map(Literal))
EXACT = st.sampled_from(["whole", "other"]).map(p)
SUMS = st.one_of(
    NUMBER, st.builds(Arithmetic, st.sampled_from("+-"), EXACT, EXACT), EXACT.map(Negative), EXACT.map(Absolute)
)
ATOM = st.one_of(
    st.builds(Comparison, SIGNS, SUMS, SUMS),
    st.builds(Comparison, SIGNS, TEXT, TEXT),
    st.builds(Membership, NUMBER, st.lists(LITERALS.map(Literal), max_size=3).map(tuple)),
    st.builds(Membership, TEXT, st.lists(TEXTS.map(Literal), max_size=3).map(tuple)),
    st.builds(StartsWith, TEXT, TEXTS.map(Literal)),
    st.builds(IsNull, SUMS),
    st.just(p("flag")),
)
CONDITION = st.recursive(
    ATOM,
    lambda inner: st.one_of(
        inner.map(Not),
        st.lists(inner, min_size=2, max_size=3).map(lambda some: And(tuple(some))),
        st.lists(inner, min_size=2, max_size=3).map(lambda some: Or(tuple(some))),
    ),
    max_leaves=5,
)


def plainly(expression, row):
    """The value of an expression in plain Python; None is unknown."""
    match expression:
        case Literal(value):
            return number(value, exact=False)
        case Property(_, column):
            return number(EDGES[column][row], exact=True)
        case Negative(operand) | Absolute(operand):
            value = plainly(operand, row)
            return None if value is None else abs(value) if isinstance(expression, Absolute) else -value
        case Arithmetic(operator, left, right):
            a, b = plainly(left, row), plainly(right, row)
            return None if a is None or b is None else a + b if operator == "+" else a - b
        case Comparison(operator, left, right):
            a, b = plainly(left, row), plainly(right, row)
            if a is None or b is None:
                return None
            signs = {"=": a == b, "<>": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}
            return signs[operator]
        case Membership(operand, values):
            return any_of([plainly(Comparison("=", operand, value), row) for value in values])
        case StartsWith(operand, prefix):
            a, b = plainly(operand, row), plainly(prefix, row)
            return None if a is None or b is None else a.startswith(b)
        case IsNull(operand):
            return plainly(operand, row) is None
        case Not(operand):
            value = plainly(operand, row)
            return None if value is None else not value
        case And(operands):
            value = any_of([plainly(Not(operand), row) for operand in operands])
            return None if value is None else not value
        case Or(operands):
            return any_of([plainly(operand, row) for operand in operands])


def any_of(values):
    return True if True in values else None if None in values else False


def number(value, exact):
    """A value as Python compares it exactly."""
    if value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    return value if isinstance(value, str) else Fraction(value)


def has_tenth_beside_floats(expression):
    """0.1 is a tenth among decimals and a float among floats, and a decimal beside a float column is rounded."""
    for part in parts_of(expression):
        if isinstance(part, (Comparison, Membership)):
            leaves = list(parts_of(part))
            if Literal(0.1) in leaves or (p("real") in leaves and (p("money") in leaves or p("cents") in leaves)):
                return True
    return False


@given(CONDITION)
def test_random_conditions_have_the_truth_of_three_valued_logic(condition):
    if has_tenth_beside_floats(condition):
        return
    wanted = [plainly(condition, row) for row in range(len(EDGES))]
    found = truth(condition)
    assert (found if len(found) > 1 else found * len(EDGES)) == wanted
