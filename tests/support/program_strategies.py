"""Random programs of conditions, on two elements with columns of ints and of floats, some of which are missing."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from cusubmatch.pattern.elements import Element
from cusubmatch.plan.conditions.condition_program import ColumnAt, Opcode, Program
from cusubmatch.plan.conditions.evaluate import holds
from cusubmatch.plan.rows.row_plan import RowCondition, RowPattern

INTS = (0, 1, -1, 2, -7, 1 << 53, (1 << 53) + 1, -(1 << 63), (1 << 63) - 1)
FLOATS = (0.0, -0.5, 1.0, 2.5, -7.0, 2.0**53, 2.0**63, -(2.0**63), float("inf"), float("nan"))
TWO_INTS = (Opcode.ADD_INT, Opcode.SUBTRACT_INT, Opcode.MULTIPLY_INT, Opcode.DIVIDE_INT, Opcode.MODULO_INT)
TWO_FLOATS = (Opcode.ADD_FLOAT, Opcode.SUBTRACT_FLOAT, Opcode.MULTIPLY_FLOAT, Opcode.DIVIDE_FLOAT, Opcode.MODULO_FLOAT)
SIGNS_OF_INTS, SIGNS_OF_FLOATS = (Opcode.NEGATE_INT, Opcode.ABSOLUTE_INT), (Opcode.NEGATE_FLOAT, Opcode.ABSOLUTE_FLOAT)


@st.composite
def code_of(draw, kind, depth=3):
    """Code that leaves an element of a kind: "int", "float" or "truth"."""
    part = lambda other: draw(code_of(other, depth - 1))  # noqa: E731
    if kind == "truth":
        what = draw(st.integers(0, 7)) if depth else 0
        signs = draw(st.integers(1, 7))
        if what == 0 and not depth:
            return [(Opcode.PUSH_INT, draw(st.integers(0, 1)))]
        if what <= 1:
            return [*part("int"), *part("int"), (Opcode.COMPARE_INT, signs)]
        if what == 2:
            return [*part("float"), *part("float"), (Opcode.COMPARE_FLOAT, signs)]
        if what == 3:
            return [*part("int"), *part("float"), (Opcode.COMPARE_INT_FLOAT, signs)]
        if what == 4:
            return [*part("truth"), *part("truth"), (draw(st.sampled_from((Opcode.AND, Opcode.OR))), 0)]
        if what == 5:
            return [*part("truth"), (Opcode.NOT, 0)]
        if what == 6:
            return [*part("int"), (Opcode.MEMBER_INT, 0)]
        return [*part(draw(st.sampled_from(("int", "float", "truth")))), (Opcode.IS_NULL, 0)]
    ints = kind == "int"
    what = draw(st.integers(0, 4)) if depth else draw(st.integers(0, 1))
    if what == 0:
        load = Opcode.LOAD_INT if ints else Opcode.LOAD_FLOAT
        return [(load, draw(st.integers(0, 1)) + (0 if ints else 2))]
    if what == 1:
        values = INTS if ints else FLOATS
        return [(Opcode.PUSH_INT if ints else Opcode.PUSH_FLOAT, draw(st.integers(0, len(values) - 1)))]
    if what == 2 and not ints:
        return [*part("int"), (Opcode.TO_FLOAT, 0)]
    if what == 3:
        return [*part(kind), (draw(st.sampled_from(SIGNS_OF_INTS if ints else SIGNS_OF_FLOATS)), 0)]
    return [*part(kind), *part(kind), (draw(st.sampled_from(TWO_INTS if ints else TWO_FLOATS)), 0)]


@st.composite
def programs(draw, elements, sizes):
    """A program on two elements: columns 0 and 1 are their ints, 2 and 3 their floats, of so many values."""
    columns = []
    for values, dtype in ((INTS, np.int64), (FLOATS, np.float64)):
        for place in range(2):
            column = draw(st.lists(st.sampled_from(values), min_size=sizes[place], max_size=sizes[place]))
            valid = None
            if draw(st.booleans()):
                valid = np.array(draw(st.lists(st.booleans(), min_size=sizes[place], max_size=sizes[place])), bool)
            columns.append(ColumnAt(place, np.array(column, dtype), valid))
    code = np.array(draw(code_of("truth")), np.int32)
    ints = np.array([*INTS, -1, 0, 2], np.int64)  # and the list of MEMBER_INT
    lists = np.array([len(INTS), len(ints)], np.int64)
    return Program(code, ints, np.array(FLOATS), lists, tuple(columns), tuple(elements), len(code))


@st.composite
def conditioned(draw, plain, table):
    """A row pattern with one or two conditions on a vertex, and an edge where one is bound."""
    conditions = []
    for _ in range(draw(st.integers(1, 2))):
        vertex, bound = draw(st.integers(0, plain.n_vertices - 1)), plain.bound_edges
        edge = draw(st.sampled_from(bound)) if bound else None
        place = Element("vertex", vertex) if edge is None else Element("edge", edge)
        rows = table.n if edge is None else len(table.source)
        program = draw(programs((Element("vertex", vertex), place), (table.n, rows)))
        conditions.append(RowCondition((vertex,), () if edge is None else (edge,), program))
    return RowPattern(**{**vars(plain), "conditions": tuple(conditions)})


def fulfils(condition, images, row_of):
    """Whether a condition is true of vertices and rows, by the interpreter on arrays."""
    at = [images[e.index] if e.kind == "vertex" else row_of[e.index] for e in condition.program.elements]
    return bool(holds(condition.program, np, [np.array([x]) for x in at], 1)[0])
