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
from cusubmatch.engines.gpu.cutset.tasks import PENDING, task_functions
from cusubmatch.engines.gpu.runtime.bits import bit_functions
from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.kernel_factory import kernel_factory

__all__ = ["FAILED", "OUTPUT_WORDS", "CountArrays", "Launch", "make_count_tasks", "spare_parts"]

U, L = np.uint32, np.uint64
NO_PART = -1
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
    spare : int32
        A ring of those parts of what lies there for all blocks that none has, `NO_PART` where it is empty; then its
        two ends, where the next block takes a part and leaves one.
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
    spare: Any
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
    blocks : uint32
        That are there at the same time, at the most.
    nanoseconds, of_block : int64
        After which no task is begun; after which none is begun by one block.
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
    blocks: Any
    nanoseconds: Any
    of_block: Any
    most: Any


def spare_parts(blocks: int) -> np.ndarray:
    """A full ring of parts."""
    return np.array([*range(blocks), 0, 0], np.int32)


@kernel_factory
def make_count_tasks(target: Target) -> Any:
    """The kernel: a block a task. Its arguments: `TaskArrays`, `CountArrays`, `Launch`, and `StateParts`."""
    cuda, WARP, lane_of, warp_of = target.cuda, target.WARP, target.lane, target.warp
    (enter, leave), begin, decide = _part_functions(target), _begin_function(target), _decide_function(target)
    narrow = narrow_function(target, f.NEAR, f.NTH, f.CHANGED, _row_function(target))
    sum_of_products, plus, write_rows = sum_function(target), wide_counts(target).plus, task_row_functions(target).write

    def count_tasks(tasks, arrays, launch, parts):
        sh = cuda.shared.array(0, np.uint32)
        if warp_of() == U(0):
            enter(sh, tasks, arrays.spare, launch)
        cuda.syncthreads()
        if U(sh[f.PART]) == U(launch.blocks):
            return
        i = U(U(warp_of() * U(WARP)) + lane_of())
        while i < U(f.PATTERN_WORDS):
            sh[i] = arrays.pattern[i]
            i = U(i + U(cuda.blockDim.x))
        n, sets, own = U(launch.n), U(parts.sets), U(U(parts.warps) + U(warp_of() * U(parts.words)))
        tables = BlockTables(arrays.low, arrays.high, arrays.numbers, arrays.task_rows, arrays.lists, launch.list_room)
        low, high, failed = L(0), L(0), False
        cuda.syncthreads()
        going = True
        while going:
            if warp_of() == U(0):
                begin(sh, tasks, arrays, launch, parts)
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
            leave(sh, arrays, launch, low, high, failed)

    return target.kernel(count_tasks)


def _part_functions(target):
    """What a block does first and last."""
    cuda, lane_of, peek, clock = target.cuda, target.lane, target.peek, target.clock

    @target.device
    def next_place(spare, blocks, end):
        """Where a part is to be taken from the ring, or left, by its end 0 or 1."""
        return U(U(np.int32(cuda.atomic.add(spare, U(blocks + end), np.int32(1)))) % blocks)

    @target.device
    def enter(sh, tasks, spare, launch):
        """Take a part of what lies there for all blocks, and write which; `blocks` if no task is to be done.

        It also writes when this block is to leave, and the first one when all end. For a warp.
        """
        if lane_of() == U(0):
            now, nth = np.int64(clock()), U(launch.blocks)
            ends = np.int64(now + launch.nanoseconds)
            before = np.int64(cuda.atomic.cas(tasks.ends, 0, np.int64(0), ends))
            ends = before if before != np.int64(0) else ends
            leaves = min(ends, np.int64(now + launch.of_block))
            if now <= ends and peek(tasks.control, PENDING) != np.int32(0):
                place, found = next_place(spare, nth, U(0)), np.int32(NO_PART)
                while found == np.int32(NO_PART):
                    found = np.int32(cuda.atomic.exch(spare, place, np.int32(NO_PART)))
                nth = U(found)
            sh[f.PART], sh[f.LIST] = nth, U(nth * U(launch.list_words))
            sh[f.LEAVES], sh[f.LEAVES + 1] = U(L(leaves) & L(0xFFFFFFFF)), U(L(leaves) >> L(32))

    @target.device
    def leave(sh, arrays, launch, low, high, failed):
        """Add a block's count to all, word by word, and leave its part to others; for a warp."""
        out, spare = arrays.out, arrays.spare
        if lane_of() == U(0):
            if failed:
                cuda.atomic.exch(out, FAILED, L(1))
            cuda.atomic.add(out, 0, L(low & L(0xFFFFFFFF)))
            cuda.atomic.add(out, 1, L(low >> L(32)))
            cuda.atomic.add(out, 2, L(high & L(0xFFFFFFFF)))
            cuda.atomic.add(out, 3, L(high >> L(32)))
            cuda.threadfence()
            place, own, before = next_place(spare, U(launch.blocks), U(1)), np.int32(sh[f.PART]), np.int32(0)
            while before != np.int32(NO_PART):
                before = np.int32(cuda.atomic.cas(spare, place, np.int32(NO_PART), own))

    return enter, leave


def _begin_function(target):
    lane_of = target.lane
    all_without, (draw, begin_task, _, _) = bit_functions(target).all_without, task_functions(target)

    @target.device
    def begin(sh, tasks, arrays, launch, parts):
        """Draw a task, and write its sets; for a warp."""
        leaves = np.int64(L(sh[f.LEAVES]) | L(L(sh[f.LEAVES + 1]) << L(32)))
        number, n, width, changed = draw(tasks, launch.room, leaves), U(launch.n), U(0), U(0)
        if number < U(launch.room):
            others = all_without(n, U(launch.root))
            task = U(number * U(launch.task_words))
            width, changed = begin_task(sh, U(parts.sets), tasks, task, arrays.worlds, n, others)
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
            first = U(U(sh[f.PART]) << U(5))
            most = launch.most if place_rows(sh, left) <= U(ROW_WORDS) else -1.0
            v = choose(sh, U(parts.around), left, root, n, arrays.totals, first, most, launch.places)
            if v != root:
                is_done = divide(sh, sets, tasks, U(number * U(launch.task_words)), width, v, launch)
            else:
                verdict = U(ELIMINATE)
                lay_out(sh, parts, n, U(cuda.popc(left)), U(launch.places))
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
