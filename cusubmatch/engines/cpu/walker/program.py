"""A plan as arrays: what the compiled walkers read instead of Python objects.

One walker serves every plan, so nothing is compiled per pattern. A `Program` holds one row of integers a level and a
step; `refs` holds the short lists of levels they refer to, as ranges. A `View` is the data graph as the walkers see it,
a `State` is everything that one thread needs to go on where it stopped.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numba import types

from cusubmatch.engines.cpu.primitives.pointers import bundled
from cusubmatch.engines.cpu.walker.suffix_program import encode_suffix
from cusubmatch.plan import NeighbourRows, Plan, implied_bounds

# Fields of a level's row.
(
    KIND,
    SOURCE_A,
    SOURCE_B,
    INJECTIVITY,
    INJECTIVITY_END,
    BOUND,
    BOUND_END,
    RESTRICTED,
    RESTRICTED_END,
    STEP,
    STEP_END,
    COLUMN,
    DEPENDS,
    NAMES,  # where what images are written as begins in `bases`, by local index; -1: images are written as they are
) = range(14)
LEVEL_FIELDS = 14
ROOTS, ROW, SET = 0, 1, 2  # kinds of candidates: the first level's list, a row of the graph, a set of the pool

# Fields of a step's row.
TARGET, FROM_KIND, FROM_A, FROM_B, OPERATION, WITH_A, WITH_B, MASK, CUT, CUT_END, NEED, SET_DEPENDS = range(12)
STEP_FIELDS = 12
INTERSECT, SUBTRACT, FILTER = 0, 1, 2
OPERATIONS = {"intersect": INTERSECT, "subtract": SUBTRACT, "filter": FILTER}

# Fields of the header.
LEVELS, LEAF, LAST, ASCENDING, LEAF_MODE, CASE, TEST, TEST_END, ONE_SIDED, CHAINED, FILTERS, INJECTIVE = range(12)
# Where a suffix's fields and constants begin, and the space it needs; whether rows are written past the caches.
SUFFIX_AT, CONSTANTS_AT, SCRATCH, PAST_CACHES = 12, 13, 14, 15
HEADER_FIELDS = 16
EMIT, SIZE, CHOOSE, ORDERED, SQUARE, SUFFIX = 0, 1, 2, 3, 4, 5
LEAF_MODES = {"rows": EMIT, "size": SIZE, "choose": CHOOSE, "ordered": ORDERED, "square": SQUARE, "suffix": SUFFIX}
# How the counted level depends on the leaf, the last level that is visited.
FIXED, MEMBER, BOUNDED, COMMON, GENERAL = 0, 1, 2, 3, 4

# Fields of the registers of a state.
LEVEL, FLOOR, COUNT_0, COUNT_1, COUNT_2, FILLED, UNIVERSE, FAILED, LEFT = range(9)  # LEFT: of the budget
REGISTERS = 9
ALL_LEVELS = (1 << 32) - 1  # a bit a level
LIMB_BITS = 31  # of a count, which is kept in three registers so that it does not wrap

DONE, PAUSED, FULL, OVERSIZE = 0, 1, 2, 3  # why a walker returned


class Program(NamedTuple):
    """A plan as integers, see the fields above.

    `bases` says where each set begins in the pool. For bitmaps, `outer` tells of each relation whether the first vertex
    is asked for it (1: as a backward neighbour, 2: as a non-neighbour), and `inner` numbers the relations that later
    vertices are asked for (-1: not). What counts a suffix follows in arrays that exist, since every array that passes
    through a call costs time: its fields in `refs`, its constants in `bases`. Names of local indices are there, too.
    """

    header: np.ndarray
    levels: np.ndarray
    steps: np.ndarray
    refs: np.ndarray
    bases: np.ndarray
    outer: np.ndarray
    inner: np.ndarray


class View(NamedTuple):
    """The data graph for a walker.

    Row v of relation r is targets[offsets[r * stride + v]:offsets[r * stride + v + 1]], int64 and int32; masks uint32
    (n,), bit u set where the vertex may be pattern vertex u (empty if no filter is used); roots int32, the `root_count`
    candidates of the first level; bits uint32, bitmaps of `words` words for each relation and each hub, the hubs being
    the vertices from `hub` on.
    """

    offsets: np.ndarray
    targets: np.ndarray
    masks: np.ndarray
    roots: np.ndarray
    bits: np.ndarray
    hub: int
    words: int
    stride: int
    relations: int
    root_count: int


class State(NamedTuple):
    """Where one thread is: matched vertices, the open range of each level, and the sets made so far.

    `excluded` is for vertices that are taken off a set, at most one a level; what a suffix is counted in follows.
    `failing` has the failing set of each level's partial match so far, as bits, and `written` the rows up to which its
    column is filled (`failing_set_walker`).
    """

    registers: np.ndarray
    matched: np.ndarray
    kind: np.ndarray
    begin: np.ndarray
    position: np.ndarray
    end: np.ndarray
    set_end: np.ndarray
    pool: np.ndarray
    marks: np.ndarray
    excluded: np.ndarray
    failing: np.ndarray
    written: np.ndarray


on_program = bundled(Program, dict.fromkeys(("levels", "steps", "refs", "outer", "inner"), types.int32))
on_view = bundled(
    View,
    dict.fromkeys(("targets", "roots"), types.int32)
    | dict.fromkeys(("masks", "bits"), types.uint32)
    | dict.fromkeys(("hub", "words", "stride", "relations", "root_count")),
)
on_state = bundled(State, {"pool": types.int32, "marks": types.uint32})


def new_list_state(program: Program, view: View, pool: int) -> State:
    """State of the list walker, with a pool of `pool` elements."""
    levels = int(program.header[LEVELS])
    return State(
        np.zeros(REGISTERS, np.int64),
        matched=np.zeros(levels, np.int64),
        kind=np.zeros(levels, np.int64),
        begin=np.zeros(levels, np.int64),
        position=np.zeros(levels, np.int64),
        end=np.zeros(levels, np.int64),
        set_end=np.zeros(max(len(program.bases), 1), np.int64),
        pool=np.zeros(pool + 1, np.int32),
        marks=np.zeros(view.words, np.uint32),
        excluded=np.zeros(levels + int(program.header[SCRATCH]), np.int64),
        failing=np.zeros(levels, np.int64),
        written=np.zeros(levels, np.int64),
    )


def encode(
    plan: Plan,
    columns: dict[int, int],
    capacities: list[int],
    names: Sequence[np.ndarray] | None = None,
    ids: np.ndarray | None = None,
    past_caches: bool = False,
) -> tuple[Program, int]:
    """The program of a plan, and the size of the pool (elements) that it needs.

    Parameters
    ----------
    plan : Plan
    columns : dict
        Output column of each pattern vertex that has one.
    capacities : list of int
        Longest row of each relation.
    names : sequence of arrays, optional
        Per pattern vertex the internal vertices that its images are written as in rows, by local index.
    ids : array, optional
        Of each internal vertex the id that is written instead.
    past_caches : bool
        Whether rows are not read soon, and are written past the caches.
    """
    refs: list[int] = []
    steps = [[0] * STEP_FIELDS for _ in plan.steps]
    capacity, base = {}, 0
    depends: dict[int, int] = {}  # of each set, the levels that it is made of
    for row, step in zip(steps, plan.steps, strict=True):
        if isinstance(step.source, NeighbourRows):
            capacity[step.target] = capacities[step.source.relation]
            row[FROM_KIND], row[FROM_A], row[FROM_B] = ROW, *step.source
        else:
            capacity[step.target] = capacity[step.source]
            row[FROM_KIND], row[FROM_A] = SET, step.source
        if step.operation == "intersect" and step.operand is not None:
            capacity[step.target] = min(capacity[step.target], capacities[step.operand.relation])
        row[TARGET], row[OPERATION] = step.target, OPERATIONS[step.operation]
        row[WITH_A], row[WITH_B] = step.operand or (0, 0)
        row[MASK] = -1 if step.mask is None else step.mask
        row[CUT], row[CUT_END] = _append(refs, step.bounds)
        row[NEED] = step.need
        depends[step.target] = _bits(step.bounds) | _depends(step.source, depends) | _depends(step.operand, depends)
        row[SET_DEPENDS] = _as_int32(depends[step.target])
    bases = np.zeros(len(plan.steps), np.int64)
    for target in range(len(plan.steps)):
        bases[target] = base
        base += capacity[target] + 1
    levels = [[0] * LEVEL_FIELDS for _ in plan.levels]
    whens = [step.when for step in plan.steps]  # ascending
    for index, (row, level) in enumerate(zip(levels, plan.levels, strict=True)):
        if isinstance(level.source, NeighbourRows):
            row[KIND], row[SOURCE_A], row[SOURCE_B] = ROW, *level.source
        elif level.source is not None:
            row[KIND], row[SOURCE_A] = SET, level.source
        row[INJECTIVITY], row[INJECTIVITY_END] = _append(refs, level.injectivity_checks)
        row[BOUND], row[BOUND_END] = _append(refs, level.deferred_restrictions)
        row[RESTRICTED], row[RESTRICTED_END] = _append(refs, level.bounds)
        row[STEP], row[STEP_END] = bisect_left(whens, index), bisect_right(whens, index)
        row[COLUMN], row[NAMES] = columns.get(level.vertex, -1), -1
        row[DEPENDS] = _as_int32(_bits(level.deferred_restrictions) | _depends(level.source, depends))
    header = np.zeros(HEADER_FIELDS, np.int64)
    header[LEVELS], header[ASCENDING] = len(plan.levels), plan.ascending
    header[LEAF], header[LAST] = plan.walked - 1, plan.walked
    header[LEAF_MODE] = LEAF_MODES[plan.leaf_mode]
    chains = implied_bounds([level.bounds for level in plan.levels])
    header[ONE_SIDED] = all(0 in bounds for bounds in chains[1:])
    header[CHAINED] = all(len(bounds) == level for level, bounds in enumerate(chains))
    header[FILTERS] = sum(1 << mask for mask in {step.mask for step in plan.steps if step.mask is not None})
    header[INJECTIVE], header[PAST_CACHES] = plan.semantics != "homomorphism", past_caches
    if plan.leaf_mode not in ("rows", "suffix") and plan.walked:
        header[CASE], tests = _leaf_case(plan)
        header[TEST] = -1 if tests is None else len(refs)
        for test in tests or ():
            refs.extend(test)
        header[TEST_END] = len(refs)
    if plan.suffix is not None:
        fields, constants, header[SCRATCH] = encode_suffix(plan, capacities, (ROOTS, ROW, SET))
        header[SUFFIX_AT], _ = _append(refs, fields)
        header[CONSTANTS_AT], bases = len(bases), np.concatenate([bases, constants])
    if names is not None:
        bases = _with_names(bases, levels, [names[level.vertex] for level in plan.levels], ids)
    level_fields, step_fields = (np.array([*chain.from_iterable(rows)], np.int32) for rows in (levels, steps))
    numbers = np.array(refs or [0], np.int32)
    return Program(header, level_fields, step_fields, numbers, bases, *_relation_use(plan)), base


def _with_names(bases, levels, names, ids):
    """The bases and after them the names of each level, equal ones once; where they begin is noted in `levels`."""
    begins, parts, end = {}, [], len(bases)
    for row, some in zip(levels, names, strict=True):
        if id(some) not in begins:
            begins[id(some)] = end
            parts.append(some)
            end += len(some)
        row[NAMES] = begins[id(some)]
    written = np.concatenate(parts)
    return np.concatenate([bases, written if ids is None else ids[written]])


def _bits(levels):
    """Levels as bits."""
    return sum(1 << level for level in set(levels)) if levels else 0


def _depends(source, depends):
    """The levels, as bits, that a row, a set or nothing depends on."""
    if source is None:
        return 0
    return 1 << source.level if isinstance(source, NeighbourRows) else depends[source]


def _as_int32(bits):
    return bits - (1 << 32) if bits >> 31 else bits


def _append(refs, values):
    """Append values; where they begin and end."""
    begin = len(refs)
    refs.extend(values)
    return begin, len(refs)


def _relation_use(plan):
    """The arrays `outer` and `inner` of a program; one number each where no bitmaps are made."""
    if plan.method != "bitmaps":
        return np.zeros(1, np.int32), np.zeros(1, np.int32)
    outer, inner = np.zeros(len(plan.relations), np.int32), np.full(len(plan.relations), -1, np.int32)
    for level in plan.levels:
        for kind, rows in ((1, level.backward_neighbours), (2, level.forbidden)):
            for row in rows:
                if row.level == 0:
                    outer[row.relation] |= kind
                else:
                    inner[row.relation] = 0
    used = np.flatnonzero(inner == 0)
    inner[used] = np.arange(len(used), dtype=np.int32)
    return outer, inner


def _leaf_case(plan):
    """How the counted level depends on the leaf, and the rows that decide whether the leaf's vertex lies in it."""
    leaf = plan.walked - 1
    last = plan.levels[plan.walked]
    if isinstance(last.source, NeighbourRows):
        made = last.source.level
    else:
        step = next(step for step in plan.steps if step.target == last.source)
        made = step.when
        at_leaf = [other for other in plan.steps if other.when == leaf]
        fast = isinstance(step.source, int) or step.source.level < leaf
        if (
            at_leaf == [step]
            and fast
            and step.operation == "intersect"
            and step.operand.level == leaf
            and step.mask is None
        ):
            return COMMON, None
    if made == leaf:
        return GENERAL, None
    if leaf in last.deferred_restrictions:
        return BOUNDED, None
    if leaf not in last.injectivity_checks:
        return FIXED, None
    return MEMBER, _membership_rows(plan, leaf, last)


def _membership_rows(plan, leaf, last):
    """Rows that the leaf's vertex must lie in to be in the last level's set; None if there are other conditions."""
    if last.bounds or last.forbidden or any(step.mask is not None for step in plan.steps):
        return None
    return [row for row in last.backward_neighbours if row not in plan.levels[leaf].backward_neighbours]
