"""A row plan on the device: its program, what it reads, and the tasks that a walk starts from."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cusubmatch.engines.base import TaskRange
from cusubmatch.engines.gpu.row_walk import row_format as f
from cusubmatch.engines.gpu.row_walk.condition_code import encode_conditions
from cusubmatch.engines.gpu.row_walk.device_rows import DeviceRows, make_device_rows
from cusubmatch.engines.gpu.row_walk.open_tasks import make_open_tasks
from cusubmatch.engines.gpu.row_walk.row_conditions import SEARCH_WORDS
from cusubmatch.engines.gpu.row_walk.row_kernel_arguments import RowData, RowTasks, Scratch
from cusubmatch.engines.gpu.row_walk.row_program import RowProgram, encode
from cusubmatch.engines.gpu.runtime.device import CONDITION_REGISTERS, REGISTERS, Device
from cusubmatch.engines.prepared import PreparedRows
from cusubmatch.plan.rows.row_plan import RowPlan

__all__ = ["DeviceRowPlan", "device_row_plan", "make_scratch", "number_of_row_tasks"]

KEPT_PLANS, KEPT_ROWS, KEPT_COLUMNS = 4, 2, 8
MAX_WARPS, MAX_SHARED_WORDS = 8, 12_288  # of a block
CHUNKS_OF_A_WARP, MAX_CHUNK, MIN_CHUNK = 16, 1024, 8
CHUNK_SHRINKS_BY = 8  # with each step that follows the tasks
OPEN_WARPS, OPEN_BLOCKS_A_PROCESSOR = 4, 8


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


def device_row_plan(
    gpu: Device, xp: Any, plan: RowPlan, prepared: PreparedRows, tasks: TaskRange | None
) -> DeviceRowPlan:
    """The plan on the device, kept with the graph where there is one."""
    graph = prepared.graph
    if graph is None:
        return _make(gpu, xp, plan, prepared, tasks)
    key = id(plan.pattern), plan.steps, plan.leaf, id(prepared.relations), tasks, gpu.tunables
    make = lambda: _make(gpu, xp, plan, prepared, tasks)  # noqa: E731 - passed on at once
    return graph.cache.get("device row plans", key, make, graph.keep(KEPT_PLANS))


def number_of_row_tasks(plan: RowPlan, prepared: PreparedRows) -> int:
    """How many rows, or vertices, the first step has."""
    key = root_list(plan)
    if key is not None:
        relation = prepared.relations[key[0]]
        return len((relation.by_source if key[1] == "source" else relation.by_target).rows)
    mask = prepared.vertex_masks[plan.steps[0].start]
    return prepared.n_vertices if mask is None else int(np.count_nonzero(mask))


def root_list(plan: RowPlan) -> tuple[int, str] | None:
    """The list whose rows the first step visits: a relation and a kind; None where it visits vertices."""
    first = plan.steps[0]
    if first.kind == "vertices":
        return None
    edge = plan.pattern.edges[first.edges[0]]
    return edge.relation, "source" if first.start == edge.source else "target"


def _make(gpu, xp, plan, prepared, tasks):
    rows, move = _device_rows(gpu, xp, plan, prepared), gpu.to_device
    masks, warp = prepared.vertex_masks, gpu.target.WARP

    def column(values, dtype):
        return _column(xp, prepared, values, dtype)

    conditions = encode_conditions(xp, plan.pattern.conditions, column)
    program = encode(plan, rows, [mask is not None for mask in masks], conditions, warp)
    roots, owners, first, n = _roots(xp, plan, prepared, rows)
    if tasks is not None:
        begin, end = (min(edge, n) for edge in tasks)
        first, n = first + begin, max(end - begin, 0)
    arrays = (rows.offsets, rows.ends, rows.times, rows.rows, rows.filters, owners, roots, _mask_bits(xp, masks))
    more = (xp.asarray(program.bounds), conditions.ints, conditions.floats, conditions.valid)
    data = move(RowData(*arrays, *more))
    scratch_words = 0, 0
    if program.asks_more:
        searched = len(plan.pattern.bound_edges) if plan.pattern.existential else 0
        scratch_words = 2 * conditions.depth + SEARCH_WORDS * searched, conditions.depth
    warps, shared = _block(program, gpu)
    found, n_tasks = _tasks(gpu, xp, program, (data, roots), scratch_words, first, n)
    registers = CONDITION_REGISTERS if program.asks_more else REGISTERS
    blocks = gpu.tunables.grid[0] if gpu.tunables.grid else gpu.resident(shared, warps, registers)
    chunk = _chunk(program, n_tasks, blocks * warps, warp)
    program.words[f.CHUNK] = chunk
    stack = int(program.words[f.STACK_WORDS]) + 1
    return DeviceRowPlan(
        plan,
        prepared,
        program,
        move(xp.asarray(program.words)),
        data,
        found,
        scratch_words,
        n_tasks,
        chunk,
        (blocks, warps * warp, 4 * shared),
        blocks * warps * stack,
    )


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


def _device_rows(gpu, xp, plan, prepared) -> DeviceRows:
    """The rows of all relations, kept with the graph."""
    incoming = any(
        step.kind == "neighbours" and step.start != plan.pattern.edges[step.edges[0]].source for step in plan.steps
    )

    def make():
        return make_device_rows(xp, prepared.relations, incoming)

    if prepared.graph is None:
        return make()
    cache, keep = prepared.graph.cache, prepared.graph.keep(KEPT_ROWS)
    return cache.get("device rows", (prepared.keys, incoming), make, keep)


def _column(xp, prepared, values, dtype):
    """A column of conditions on the device, kept with the graph."""

    def make():
        return values, xp.asarray(values).astype(dtype)

    if prepared.graph is None:
        return make()[1]
    return prepared.graph.cache.get("device columns", (id(values), dtype), make, KEPT_COLUMNS)[1]


def _roots(xp, plan, prepared, rows):
    """(vertices, owners, first position, number) of the first step."""
    none, key = xp.zeros(1, np.uint32), root_list(plan)
    if key is not None:
        return none, rows.owners[key], rows.lists[key].first, number_of_row_tasks(plan, prepared)
    mask = prepared.vertex_masks[plan.steps[0].start]
    roots = np.arange(prepared.n_vertices) if mask is None else np.flatnonzero(mask)
    return xp.asarray(roots.astype(np.uint32) if len(roots) else np.zeros(1, np.uint32)), none, 0, len(roots)


def _mask_bits(xp, masks):
    """The masks of all pattern vertices as bits of one word a vertex."""
    known = [(vertex, mask) for vertex, mask in enumerate(masks) if mask is not None]
    if not known:
        return xp.zeros(1, np.uint32)
    bits = np.zeros(len(known[0][1]), np.uint32)
    for vertex, mask in known:
        bits |= np.asarray(mask).astype(np.uint32) << np.uint32(vertex)
    return xp.asarray(bits if len(bits) else np.zeros(1, np.uint32))


def _tasks(gpu, xp, program, data, scratch_words, first, n):
    """The tasks, and how many there are."""
    (data, roots), none, move = data, xp.zeros(1, np.uint32), gpu.to_device
    if not program.words[f.FLAT] or not n:
        return move(RowTasks(none, none, xp.zeros(1, np.int64), np.int64(first), np.int64(first + n))), n
    begins, lengths = xp.empty(n, np.uint32), xp.empty(n, np.uint32)
    warp = gpu.target.WARP
    warps = min(OPEN_WARPS, max(1, (MAX_SHARED_WORDS - len(program.words)) // int(program.words[f.STACK_WORDS])))
    blocks = gpu.tunables.grid[0] if gpu.tunables.grid else gpu.processors * OPEN_BLOCKS_A_PROCESSOR
    blocks = min(blocks, -(-n // (warps * warp)))
    shared = len(program.words) + warps * int(program.words[f.STACK_WORDS])
    scratch = make_scratch(gpu, xp, scratch_words, blocks * warps * warp)
    kernel = make_open_tasks(gpu.target, program.asks_more)[blocks, warps * warp, 4 * shared]
    words = move(xp.asarray(program.words))
    kernel(words, data, scratch, np.int64(first), np.int64(n), move(begins), move(lengths))
    kept = xp.flatnonzero(lengths)
    ends = xp.cumsum(lengths[kept], dtype=np.int64)
    number = int(ends[-1]) if len(kept) else 0
    if not number:
        return move(RowTasks(none, none, xp.zeros(1, np.int64), np.int64(0), np.int64(0))), 0
    positions = (kept + first).astype(np.uint32)
    if int(program.words[f.HEADER + f.KIND]) == f.VERTICES:
        positions = roots[kept + first]
    return move(RowTasks(positions, begins[kept], ends, np.int64(0), np.int64(number))), number


def make_scratch(gpu: Device, xp: Any, words: tuple[int, int], threads: int) -> Scratch:
    """Room for so many words of each thread."""
    ints, floats = (max(each * threads, 1) for each in words)
    return gpu.to_device(Scratch(xp.zeros(ints, np.int64), xp.zeros(floats, np.float64)))
