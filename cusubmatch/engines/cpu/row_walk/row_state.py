"""Where one thread of a row walk is: bound vertices and rows, the open range of each step, and the rows kept by vertex.

The registers begin as those of the other walkers do, so that `search.run_progress` reads them: the two fields that it
calls level and floor stay 0, since only the range of the first step is looked at and divided.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from cusubmatch.engines.cpu.primitives.pointers import bundled
from cusubmatch.engines.cpu.row_walk.row_program import Program
from cusubmatch.engines.cpu.walker import program as p

__all__ = ["State", "View", "grow_kept", "new_state", "on_program", "on_state", "on_view"]

FILLED = p.FILLED
DEPTH, COUNT, GROUP, GROUP_END, KEPT_BEGIN, KEPT_END, HOP_BEGIN, HOP_END, CAPACITY, WORK = range(
    p.REGISTERS, p.REGISTERS + 10
)
REGISTERS = p.REGISTERS + 10
NO_GROUP, NONE = -1, -1
NO_SLOTS = 1  # of what a plan does not use

# Fields of a kept path, int64, one line of a cache: where it ends, the vertex before that, its times and the positions
# of its rows; the next path of the chain, and of the first path of a run the last one.
ENDS, INNER, TIME, HOP_TIME, POSITION, HOP_POSITION, FOLLOWING, RUN_LAST = range(8)
KEPT_FIELDS = 8
# Fields of a vertex, int32: the first and the last path of its chain, and the first path of the chain's last run.
HEAD, TAIL, LAST_RUN = range(3)
CHAIN_FIELDS = 4


class View(NamedTuple):
    """What is beside the lists.

    Masks, uint32 (n,), have bit v set where the vertex may be pattern vertex v; roots, int32, are what a first step of
    vertices visits; `vertices` is n.
    """

    masks: np.ndarray
    roots: np.ndarray
    vertices: int
    images: int
    rows: int


class State(NamedTuple):
    """Where one thread is.

    `image`, `row`, `time`, `beside` and `arc` have what is bound; `begin`, `position`, `end` and `latest` the open
    range of each step and the last time that its rows may have. `counter` counts by vertex the rows in a sliding
    window. `kept` is a ring of kept paths; `chains` and `present` have by vertex the chain of those that end there,
    and a bit that says if there is one. `ints`, `floats` and `known` are the stack of conditions.
    """

    registers: np.ndarray
    image: np.ndarray
    row: np.ndarray
    time: np.ndarray
    beside: np.ndarray
    arc: np.ndarray
    begin: np.ndarray
    position: np.ndarray
    end: np.ndarray
    latest: np.ndarray
    counter: np.ndarray
    chains: np.ndarray
    present: np.ndarray
    kept: np.ndarray
    ints: np.ndarray
    floats: np.ndarray
    known: np.ndarray


def new_state(vertices: int, edges: int, steps: int, n: int, pairs: bool, capacity: int, depth: int) -> State:
    """A state for so many pattern vertices, edges and steps on a graph of n vertices.

    `pairs`: whether pairs of rows are counted; `capacity`: of kept paths, or 0; `depth`: of the stack of conditions.
    """
    registers = np.zeros(REGISTERS, np.int64)
    registers[GROUP], registers[CAPACITY] = NO_GROUP, capacity
    by_vertex = n if capacity else NO_SLOTS
    return State(
        registers,
        image=np.zeros(vertices, np.int64),
        row=np.zeros(edges + 1, np.int64),
        time=np.zeros(edges + 1, np.int64),
        beside=np.zeros(edges + 1, np.int64),
        arc=np.zeros(edges + 1, np.int64),
        begin=np.zeros(steps + edges, np.int64),
        position=np.zeros(steps + edges, np.int64),
        end=np.zeros(steps + edges, np.int64),
        latest=np.zeros(steps + edges, np.int64),
        counter=np.zeros(n if pairs else NO_SLOTS, np.int32),
        chains=np.full(CHAIN_FIELDS * by_vertex, NONE, np.int32),
        present=np.zeros((by_vertex >> 6) + 1, np.int64),
        kept=np.empty(KEPT_FIELDS * max(capacity, NO_SLOTS), np.int64),
        ints=np.zeros(depth, np.int64),
        floats=np.zeros(depth),
        known=np.zeros(depth, np.int64),
    )


def grow_kept(state: State, capacity: int) -> State:
    """The state with room for more kept paths; none is kept, and the group will be entered anew."""
    state.chains[:], state.present[:] = NONE, 0
    registers = state.registers
    registers[GROUP], registers[CAPACITY] = NO_GROUP, capacity
    registers[KEPT_BEGIN] = registers[KEPT_END] = 0
    return state._replace(kept=np.empty(KEPT_FIELDS * capacity, np.int64))


on_program = bundled(Program, {})
on_view = bundled(View, {"masks": types.uint32, "roots": types.int32, **dict.fromkeys(View._fields[2:])})
on_state = bundled(State, {"counter": types.int32, "chains": types.int32, "floats": types.float64})
