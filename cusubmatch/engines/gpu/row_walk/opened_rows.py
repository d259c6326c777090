"""The rows of a plan's first step on the device, each with the range of the second step's candidates.

How long these ranges are says how much there is to walk, before anything is walked. An order of steps is opened by its
program; what it reads is kept with the graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cusubmatch.engines.gpu.row_walk import row_format as f
from cusubmatch.engines.gpu.row_walk.condition_code import encode_conditions
from cusubmatch.engines.gpu.row_walk.device_rows import DeviceRows, make_device_rows
from cusubmatch.engines.gpu.row_walk.open_tasks import make_open_tasks
from cusubmatch.engines.gpu.row_walk.row_conditions import SEARCH_WORDS
from cusubmatch.engines.gpu.row_walk.row_kernel_arguments import RowData, Scratch
from cusubmatch.engines.gpu.row_walk.row_program import RowProgram, encode
from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.prepared import PreparedRows
from cusubmatch.engines.runs import TaskRange
from cusubmatch.plan.rows.row_plan import RowPlan

__all__ = ["MAX_SHARED_WORDS", "OpenedRows", "make_scratch", "number_of_row_tasks", "open_rows"]

KEPT_ROWS, KEPT_COLUMNS = 2, 8
MAX_SHARED_WORDS = 12_288  # of a block
OPEN_WARPS, OPEN_BLOCKS_A_PROCESSOR = 4, 8


@dataclass
class OpenedRows:
    """An order of steps on the device.

    Attributes
    ----------
    plan : RowPlan
    program : RowProgram
    rows : DeviceRows
    data : RowData
    roots : uint32 array
        The vertices that a first step of vertices visits.
    scratch_words : (int, int)
        Words of a thread.
    first, n : int
        The first position of the first step's rows, and how many there are.
    begins, lengths : uint32 arrays or None
        Of each of them the range of the second step, of length 0 where the row does not fit; None: rows are the tasks.
    """

    plan: RowPlan
    program: RowProgram
    rows: DeviceRows
    data: RowData
    roots: Any
    scratch_words: tuple[int, int]
    first: int
    n: int
    begins: Any = None
    lengths: Any = None


def open_rows(gpu: Device, xp: Any, plan: RowPlan, prepared: PreparedRows, tasks: TaskRange | None) -> OpenedRows:
    """Encode an order of steps, and open its second step for the rows of a range, or all.

    Parameters
    ----------
    plan : RowPlan
        As `row_program.stepwise` gives it.
    """
    rows, move = _device_rows(gpu, xp, plan, prepared), gpu.to_device
    masks = prepared.vertex_masks

    def column(values, dtype):
        return _column(xp, prepared, values, dtype)

    conditions = encode_conditions(xp, plan.pattern.conditions, column)
    program = encode(plan, rows, [mask is not None for mask in masks], conditions, gpu.target.WARP)
    roots, owners, first, n = _roots(xp, plan, prepared, rows)
    if tasks is not None:
        begin, end = (min(edge, n) for edge in tasks)
        first, n = first + begin, max(end - begin, 0)
    arrays = (rows.offsets, rows.ends, rows.times, rows.rows, rows.filters, owners, roots, _mask_bits(xp, masks))
    more = (xp.asarray(program.bounds), conditions.ints, conditions.floats, conditions.valid)
    scratch_words = 0, 0
    if program.asks_more:
        searched = len(plan.pattern.bound_edges) if plan.pattern.existential else 0
        scratch_words = 2 * conditions.depth + SEARCH_WORDS * searched, conditions.depth
    opened = OpenedRows(plan, program, rows, move(RowData(*arrays, *more)), roots, scratch_words, first, n)
    if program.words[f.FLAT] and n:
        opened.begins, opened.lengths = _ranges(gpu, xp, opened)
    return opened


def _ranges(gpu, xp, opened):
    """The ranges of the second step."""
    program, n, warp, move = opened.program, opened.n, gpu.target.WARP, gpu.to_device
    begins, lengths = xp.empty(n, np.uint32), xp.empty(n, np.uint32)
    warps = min(OPEN_WARPS, max(1, (MAX_SHARED_WORDS - len(program.words)) // int(program.words[f.STACK_WORDS])))
    blocks = gpu.tunables.grid[0] if gpu.tunables.grid else gpu.processors * OPEN_BLOCKS_A_PROCESSOR
    blocks = min(blocks, -(-n // (warps * warp)))
    shared = len(program.words) + warps * int(program.words[f.STACK_WORDS])
    scratch = make_scratch(gpu, xp, opened.scratch_words, blocks * warps * warp)
    kernel = make_open_tasks(gpu.target, program.asks_more)[blocks, warps * warp, 4 * shared]
    words = move(xp.asarray(program.words))
    kernel(words, opened.data, scratch, np.int64(opened.first), np.int64(n), move(begins), move(lengths))
    return begins, lengths


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


def make_scratch(gpu: Device, xp: Any, words: tuple[int, int], threads: int) -> Scratch:
    """Room for so many words of each thread."""
    ints, floats = (max(each * threads, 1) for each in words)
    return gpu.to_device(Scratch(xp.zeros(ints, np.int64), xp.zeros(floats, np.float64)))
