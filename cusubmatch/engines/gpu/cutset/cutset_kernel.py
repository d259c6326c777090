"""The kernel that counts what is left where some vertices are matched: w-cutset conditioning (Rish & Dechter 2000).

A task (`tasks`) is a world and images of some more vertices. A block narrows what these leave of all others. Where the
tables that elimination takes are small, it makes them, and adds the count to the total. Elsewhere it writes a task for
each candidate of one more vertex, the one that makes the tables of the others smallest.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.conditioning.wide_counts import wide_counts
from cusubmatch.engines.gpu.cutset import state_format as f
from cusubmatch.engines.gpu.cutset.arc_consistency import narrow_function
from cusubmatch.engines.gpu.cutset.table_layout import layout_function
from cusubmatch.engines.gpu.cutset.table_sizes import table_size_functions
from cusubmatch.engines.gpu.cutset.tables import BlockTables, sum_function
from cusubmatch.engines.gpu.cutset.task_rows import ROW_WORDS, task_row_functions
from cusubmatch.engines.gpu.cutset.tasks import task_functions
from cusubmatch.engines.gpu.runtime.bits import bit_functions
from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.kernel_factory import kernel_factory

__all__ = ["FAILED", "OUTPUT_WORDS", "CountArrays", "Launch", "make_count_tasks"]

U, L = np.uint32, np.uint64
NOTHING, ELIMINATE = range(2)  # what a block is to do
FAILED, OUTPUT_WORDS = 4, 5  # of the output: after the four words of the total, whether it is not known
EXACT_BELOW = float(1 << 100)  # floats are off by less than 2^-38 of themselves
WORD = float(1 << 64)


class CountArrays(NamedTuple):
    """What a count reads and writes.

    Attributes
    ----------
    pattern : uint32
        `NEAR`, `CONFLICTS` and `NTH` of `state_format`.
    worlds, rows : uint32
    low, high, numbers : uint32, uint32, float64
        Tables of all blocks.
    task_rows, lists : uint32
        Room for the rows of a task, and for combinations of candidates (`task_rows`, `inner_combinations`); of all
        blocks.
    totals : float64
        Room for 32 numbers for each block.
    out : uint64
    """

    pattern: Any
    worlds: Any
    rows: Any
    low: Any
    high: Any
    numbers: Any
    task_rows: Any
    lists: Any
    totals: Any
    out: Any


class Launch(NamedTuple):
    """Numbers of a launch.

    Attributes
    ----------
    n, root : uint32
        Pattern vertices, and the one that worlds are of.
    task_words : uint32
    list_room, list_words : uint32
        Combinations of candidates, and words, for which a block's list has room.
    places : uint32
        Of a block's tables.
    room : uint32
        For how many tasks there is room.
    nanoseconds : int64
        After which no task is begun.
    most : float64
        Combinations that all tables of an elimination may have.
    """

    n: Any
    root: Any
    task_words: Any
    list_room: Any
    list_words: Any
    places: Any
    room: Any
    nanoseconds: Any
    most: Any


@kernel_factory
def make_count_tasks(target: Target) -> Any:
    """The kernel: a block a task. Its arguments: `TaskArrays`, `CountArrays`, `Launch`, and `StateParts`."""
    cuda, WARP, lane_of, warp_of, clock = target.cuda, target.WARP, target.lane, target.warp, target.clock
    begin, decide, add = _begin_function(target), _decide_function(target), _add_function(target)
    narrow = narrow_function(target, f.NEAR, f.NTH, f.CHANGED, _row_function(target))
    sum_of_products, plus, write_rows = sum_function(target), wide_counts(target).plus, task_row_functions(target).write

    @target.device
    def part(block, size):
        return L(block * L(size)), L(L(block + L(1)) * L(size))

    def count_tasks(tasks, arrays, launch, parts):
        sh = cuda.shared.array(0, np.uint32)
        i = U(U(warp_of() * U(WARP)) + lane_of())
        while i < U(f.PATTERN_WORDS):
            sh[i] = arrays.pattern[i]
            i = U(i + U(cuda.blockDim.x))
        block, own = L(U(cuda.blockIdx.x)), U(U(parts.warps) + U(warp_of() * U(parts.words)))
        ends, n, sets = np.int64(clock() + launch.nanoseconds), U(launch.n), U(parts.sets)
        place, end = part(block, launch.places)
        row, row_end = part(block, ROW_WORDS)
        list_, list_end = part(block, launch.list_words)
        tables = BlockTables(
            arrays.low[place:end],
            arrays.high[place:end],
            arrays.numbers[place:end],
            arrays.task_rows[row:row_end],
            arrays.lists[list_:list_end],
            launch.list_room,
        )
        low, high, failed = L(0), L(0), False
        cuda.syncthreads()
        going = True
        while going:
            if warp_of() == U(0):
                begin(sh, tasks, arrays, launch, parts, ends)
            cuda.syncthreads()
            going = U(sh[f.TASK]) < U(launch.room)
            if going:
                width, pending = U(sh[f.WIDTH]), U(sh[f.PENDING])
                is_left = narrow(sh, sets, U(f.SIZES), U(parts.around), U(n * width), arrays.rows, U(0), width, pending)
                if warp_of() == U(0):
                    decide(sh, tasks, arrays, launch, parts, is_left)
                cuda.syncthreads()
            if going and U(sh[f.VERDICT]) == U(ELIMINATE):
                write_rows(sh, sets, arrays.rows, tables.rows)
                word, value = sum_of_products(sh, own, parts, tables, n, U(sh[f.NUMBER]))
                failed = failed or value >= EXACT_BELOW
                above = (value - np.float64(word)) / WORD + 0.5
                low, high = plus(low, high, word, L(np.int64(above)) if above > 0.0 else L(0))
            cuda.syncthreads()
        if warp_of() == U(0):
            add(arrays.out, low, high, failed)

    return target.kernel(count_tasks)


def _begin_function(target):
    lane_of = target.lane
    all_without, (draw, begin_task, _, _) = bit_functions(target).all_without, task_functions(target)

    @target.device
    def begin(sh, tasks, arrays, launch, parts, ends):
        """Draw a task, and write its sets; for a warp."""
        number, n, width, changed = draw(tasks, launch.room, ends), U(launch.n), U(0), U(0)
        if number < U(launch.room):
            others = all_without(n, U(launch.root))
            task = U(number * U(launch.task_words))
            width, changed = begin_task(sh, U(parts.sets), tasks.tasks, task, arrays.worlds, n, others)
        if lane_of() == U(0):
            sh[f.TASK], sh[f.WIDTH], sh[f.PENDING] = number, width, changed

    return begin


def _decide_function(target):
    cuda, lane_of = target.cuda, target.lane
    sizes, (_, _, divide, finish) = table_size_functions(target), task_functions(target)
    join, choose = sizes.join, sizes.choose
    all_without, place_rows = bit_functions(target).all_without, task_row_functions(target).place
    lay_out = layout_function(target)

    @target.device
    def decide(sh, tasks, arrays, launch, parts, is_left):
        """Write what is to be done about a task that is narrowed, or a task for each candidate; for a warp."""
        root, n, number, width = U(launch.root), U(launch.n), U(sh[f.TASK]), U(sh[f.WIDTH])
        sets, verdict, is_done = U(parts.sets), U(NOTHING), True
        if is_left:
            left = join(sh, sets, arrays.rows, width, all_without(n, root))
            first = U(U(cuda.blockIdx.x) << U(5))
            most = launch.most if place_rows(sh, left) <= U(ROW_WORDS) else -1.0
            v = choose(sh, U(parts.around), left, root, n, arrays.totals, first, most, launch.places)
            if v != root:
                is_done = divide(sh, sets, tasks, U(number * U(launch.task_words)), width, v, launch)
            else:
                verdict = U(ELIMINATE)
                lay_out(sh, parts, n, U(cuda.popc(left)))
                if lane_of() == U(0):
                    sh[f.NUMBER] = U(cuda.popc(left))
        finish(tasks, number, is_done)
        if lane_of() == U(0):
            sh[f.VERDICT] = verdict

    return decide


def _row_function(target):
    cuda = target.cuda

    @target.device
    def row(sh, _, u, j, k, width):
        first = U(sh[U(U(f.FIRSTS) + u)])
        return U(first + U(U(j * width) + k)), U(U(cuda.popc(sh[U(f.NEAR + u)])) * width)

    return row


def _add_function(target):
    cuda, lane_of = target.cuda, target.lane

    @target.device
    def add(out, low, high, failed):
        """Add a block's count to all, word by word."""
        if lane_of() == U(0):
            if failed:
                cuda.atomic.exch(out, FAILED, L(1))
            cuda.atomic.add(out, 0, L(low & L(0xFFFFFFFF)))
            cuda.atomic.add(out, 1, L(low >> L(32)))
            cuda.atomic.add(out, 2, L(high & L(0xFFFFFFFF)))
            cuda.atomic.add(out, 3, L(high >> L(32)))

    return add
