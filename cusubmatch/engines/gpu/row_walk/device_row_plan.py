"""A row plan on the device: its program, what it reads, and the tasks that a walk starts from."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cusubmatch.engines.gpu.row_walk import row_format as f
from cusubmatch.engines.gpu.row_walk.divided_roots import divide_roots
from cusubmatch.engines.gpu.row_walk.opened_rows import MAX_SHARED_WORDS, OpenedRows, open_rows
from cusubmatch.engines.gpu.row_walk.row_kernel_arguments import RowData, RowTasks
from cusubmatch.engines.gpu.row_walk.row_program import RowProgram, stepwise
from cusubmatch.engines.gpu.runtime.device import CONDITION_REGISTERS, REGISTERS, Device
from cusubmatch.engines.prepared import PreparedRows
from cusubmatch.engines.runs import TaskRange
from cusubmatch.plan.rows.row_plan import RowPlan

__all__ = ["DeviceRowPlan", "device_row_plans"]

KEPT_PLANS = 4
MAX_WARPS = 8
CHUNKS_OF_A_WARP, MAX_CHUNK, MIN_CHUNK = 16, 1024, 8
CHUNK_SHRINKS_BY = 8  # with each step that follows the tasks


@dataclass
class DeviceRowPlan:
    """What all runs of a plan share.

    Attributes
    ----------
    plan : RowPlan
    prepared : PreparedRows
        What it was made of; held, so that the cache's key stays theirs.
    program : RowProgram
    words, data, tasks
        What the kernel takes.
    scratch_words : (int, int)
        Words of a thread.
    n_tasks : int
    chunk : int
        Tasks that a warp draws at once.
    shape : (blocks, threads, bytes of shared memory)
    checkpoint_words : int
        Of all warps.
    free : list
        Workspaces that no run uses.
    """

    plan: RowPlan
    prepared: PreparedRows
    program: RowProgram
    words: Any
    data: RowData
    tasks: RowTasks
    scratch_words: tuple[int, int]
    n_tasks: int
    chunk: int
    shape: tuple[int, int, int]
    checkpoint_words: int
    free: list[Any] = field(default_factory=list)
    lock: Any = field(default_factory=threading.Lock)


def device_row_plans(
    gpu: Device, xp: Any, plan: RowPlan, prepared: PreparedRows, tasks: TaskRange | None, *, counting: bool
) -> tuple[DeviceRowPlan, ...]:
    """The plan on the device, kept with the graph where there is one; where rows are divided, one for each order."""
    graph = prepared.graph

    def make() -> tuple[RowPlan, tuple[DeviceRowPlan, ...]]:
        opened = open_rows(gpu, xp, stepwise(plan, counting=counting), prepared, tasks)
        orders = divide_roots(gpu, xp, opened, prepared, tasks)
        return plan, tuple(_device_row_plan(gpu, xp, order, prepared) for order in orders)

    if graph is None:
        return make()[1]
    key = id(plan), counting, id(prepared.relations), tasks, gpu.tunables  # what is kept holds the plan and the rows
    return graph.cache.get("device row plans", key, make, graph.keep(KEPT_PLANS))[1]


def _device_row_plan(gpu, xp, opened, prepared):
    program, warp = opened.program, gpu.target.WARP
    warps, shared = _block(program, gpu)
    found, n_tasks = _tasks(gpu, xp, opened)
    registers = CONDITION_REGISTERS if program.asks_more else REGISTERS
    blocks = gpu.tunables.grid[0] if gpu.tunables.grid else gpu.resident(shared, warps, registers)
    chunk = _chunk(program, n_tasks, blocks * warps, warp)
    program.words[f.CHUNK] = chunk
    stack = int(program.words[f.STACK_WORDS]) + 1
    return DeviceRowPlan(
        opened.plan,
        prepared,
        program,
        gpu.to_device(xp.asarray(program.words)),
        opened.data,
        found,
        opened.scratch_words,
        n_tasks,
        chunk,
        (blocks, warps * warp, 4 * shared),
        blocks * warps * stack,
    )


def _tasks(gpu: Device, xp: Any, opened: OpenedRows) -> tuple[RowTasks, int]:
    """The tasks, and how many there are."""
    first, n, begins, lengths = opened.first, opened.n, opened.begins, opened.lengths
    none, move = xp.zeros(1, np.uint32), gpu.to_device
    if lengths is None:
        return move(RowTasks(none, none, xp.zeros(1, np.int64), np.int64(first), np.int64(first + n))), n
    kept = xp.flatnonzero(lengths)
    ends = xp.cumsum(lengths[kept], dtype=np.int64)
    number = int(ends[-1]) if len(kept) else 0
    if not number:
        return move(RowTasks(none, none, xp.zeros(1, np.int64), np.int64(0), np.int64(0))), 0
    positions = (kept + first).astype(np.uint32)
    if int(opened.program.words[f.HEADER + f.KIND]) == f.VERTICES:
        positions = opened.roots[kept + first]
    return move(RowTasks(positions, begins[kept], ends, np.int64(0), np.int64(number))), number


def _chunk(program, n_tasks, warps, warp):
    """Tasks that a warp draws at once: fewer where each may take long."""
    deeper = int(program.words[f.LAST]) - int(program.words[f.FLAT]) - int(program.words[f.LEAF] == f.WIDTHS)
    most = max(MAX_CHUNK // CHUNK_SHRINKS_BY ** max(deeper, 0), MIN_CHUNK)
    return min(max(n_tasks // (warps * CHUNKS_OF_A_WARP), min(warp, most)), most)


def _block(program, gpu):
    """Warps of a block, and its words of shared memory."""
    words, stack = len(program.words), int(program.words[f.STACK_WORDS])
    warps = gpu.tunables.grid[1] if gpu.tunables.grid else MAX_WARPS
    while warps > 1 and words + warps * stack > MAX_SHARED_WORDS:
        warps //= 2
    return warps, words + warps * stack
