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
from cusubmatch.engines.gpu.cutset.table_sizes import table_size_functions
from cusubmatch.engines.gpu.cutset.tables import sum_function
from cusubmatch.engines.gpu.cutset.tasks import task_functions
from cusubmatch.engines.gpu.runtime.bits import bit_functions
from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.kernel_factory import kernel_factory

__all__ = ["FAILED", "OUTPUT_WORDS", "CountArrays", "Launch", "make_count_tasks"]

U, L = np.uint32, np.uint64
OVER, NOTHING, ELIMINATE = range(3)  # what a block is to do
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
    words, numbers : uint64, float64
        Tables of all blocks.
    ids : uint32
        Room for pairs of candidates, of all blocks.
    totals : float64
        Room for 32 numbers for each block.
    out : uint64
    """

    pattern: Any
    worlds: Any
    rows: Any
    words: Any
    numbers: Any
    ids: Any
    totals: Any
    out: Any


class Launch(NamedTuple):
    """Numbers of a launch.

    Attributes
    ----------
    n, root : uint32
        Pattern vertices, and the one that worlds are of.
    task_words : uint32
    pair_words : uint32
        Of a block's pairs of candidates.
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
    pair_words: Any
    places: Any
    room: Any
    nanoseconds: Any
    most: Any


@kernel_factory
def make_count_tasks(target: Target) -> Any:
    """The kernel: a block a task. Its arguments: `TaskArrays`, `CountArrays`, `Launch`, and `StateParts`."""
    cuda, WARP, lane_of, warp_of, clock = target.cuda, target.WARP, target.lane, target.warp, target.clock
    prepare, add = _prepare_function(target), _add_function(target)
    sum_of_products, plus = sum_function(target), wide_counts(target).plus

    def count_tasks(tasks, arrays, launch, parts):
        sh = cuda.shared.array(0, np.uint32)
        i = U(U(warp_of() * U(WARP)) + lane_of())
        while i < U(f.PATTERN_WORDS):
            sh[i] = arrays.pattern[i]
            i = U(i + U(cuda.blockDim.x))
        block, own = L(U(cuda.blockIdx.x)), U(U(parts.warps) + U(warp_of() * U(parts.words)))
        ends = np.int64(clock() + launch.nanoseconds)
        begin = L(block * L(launch.places))
        first_id = L(block * L(launch.pair_words))
        low, high, failed = L(0), L(0), False
        cuda.syncthreads()
        going = True
        while going:
            if warp_of() == U(0):
                prepare(sh, tasks, arrays, launch, parts, ends)
            cuda.syncthreads()
            verdict = U(sh[f.VERDICT])
            going = verdict != U(OVER)
            if verdict == U(ELIMINATE):
                width, number = U(sh[f.WIDTH]), U(sh[f.NUMBER])
                word, value = sum_of_products(sh, own, parts, arrays, width, number, begin, first_id)
                failed = failed or value >= EXACT_BELOW
                above = (value - np.float64(word)) / WORD + 0.5
                low, high = plus(low, high, word, L(np.int64(above)) if above > 0.0 else L(0))
            cuda.syncthreads()
        if warp_of() == U(0):
            add(arrays.out, low, high, failed)

    return target.kernel(count_tasks)


def _prepare_function(target):
    cuda, lane_of = target.cuda, target.lane
    narrow, sizes = narrow_function(target, _row_function(target)), table_size_functions(target)
    all_of = bit_functions(target).all_of
    join, choose, (draw, begin_task, divide, finish) = sizes.join, sizes.choose, task_functions(target)

    @target.device
    def prepare(sh, tasks, arrays, launch, parts, ends):
        """Draw a task, and narrow what it leaves; write what is to be done, or a task for each candidate."""
        root, n, number, sets = U(launch.root), U(launch.n), draw(tasks, launch.room, ends), U(parts.sets)
        verdict = U(OVER)
        if number < U(launch.room):
            verdict, is_done = U(NOTHING), True
            others = U(all_of(n) & U(~U(U(1) << root)))
            task = U(number * U(launch.task_words))
            width, pending = begin_task(sh, sets, tasks.tasks, task, arrays.worlds, n, others)
            if narrow(sh, sets, U(f.SIZES), U(f.NEAR), U(f.NTH), arrays.rows, U(0), width, pending):
                left, first = join(sh, sets, arrays.rows, width, others), U(U(cuda.blockIdx.x) << U(5))
                v = choose(sh, U(parts.around), left, root, n, arrays.totals, first, launch.most, launch.places)
                if v != root:
                    is_done = divide(sh, sets, tasks, task, width, v, launch)
                else:
                    verdict = U(ELIMINATE)
                    if lane_of() == U(0):
                        sh[f.WIDTH], sh[f.NUMBER] = width, U(cuda.popc(left))
            finish(tasks, number, is_done)
        if lane_of() == U(0):
            sh[f.VERDICT] = verdict

    return prepare


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
