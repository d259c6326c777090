"""Pairs of vertices with enough paths of two edges between them: the product of two sparse matrices, cut from below.

For each first vertex the paths to every last one are counted in a dense row (Gustavson, "Two fast algorithms for sparse
matrices", TOMS 1978, section 4). Only the pairs that pass the threshold are written; a row of fewer arcs than that is
left out. Ranges of first vertices with about as many paths each are shared by threads.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import announced, jit, threads
from cusubmatch.engines.table_algebra import PairBlock, TwoStepPaths
from cusubmatch.graph.csr import running_sums
from cusubmatch.system.workers import Workers

__all__ = ["number_of_paths", "two_step_pairs"]

STEPS_BETWEEN_CHECKS = 1 << 24  # of the deadline
RANGES = 256
PATHS_OF_ONE_THREAD = 1 << 20  # fewer are left to one thread
BLOCK_PAIRS = 1 << 18  # of an output block, about


def number_of_paths(paths: TwoStepPaths) -> np.ndarray:
    """The paths that begin at the first vertices before each one, and last all: int64 (first vertices + 1)."""
    lengths = np.diff(paths.from_middle.offsets)
    over_arcs = running_sums(np, lengths[paths.to_middle.targets], np.int64)
    offsets, first = paths.to_middle.offsets, paths.first
    return running_sums(np, over_arcs[offsets[first + 1]] - over_arcs[offsets[first]], np.int64)


def two_step_pairs(paths: TwoStepPaths, check: Callable[[float, int], None]) -> list[PairBlock]:
    """All pairs with at least `paths.least` paths; check(fraction done, pairs so far) may raise."""
    before = number_of_paths(paths)
    size = max(BLOCK_PAIRS, 2 * len(paths.last))
    bounds = np.searchsorted(before, np.linspace(0, before[-1], RANGES + 1)[1:-1])
    waiting = list(pairwise(sorted({0, *bounds.tolist(), len(paths.first)})))[::-1]
    blocks, done, lock, team = list[PairBlock](), [0, 0], threading.Lock(), Workers()  # done: paths, pairs

    def work(check_now):
        sums, reached = np.zeros(len(paths.last), np.uint32), np.empty(len(paths.last) + 1, np.int32)
        while not team.stopped:
            with lock:
                if not waiting:
                    return
                begin, end = waiting.pop()
            while begin < end and not team.stopped:
                block = PairBlock(*(np.empty(size, kind) for kind in (np.int32, np.int32, np.uint32)))
                stop, pairs = _count(paths, begin, end, STEPS_BETWEEN_CHECKS, sums, reached, block)
                kept = PairBlock(*(column[:pairs].copy() for column in block))
                with lock:
                    blocks.append(kept)
                    done[0] += int(before[stop] - before[begin])
                    done[1] += pairs
                begin = stop
                check_now(done[0] / max(int(before[-1]), 1), done[1])

    with announced("pairs"):
        empty = PairBlock(*(np.empty(0, kind) for kind in (np.int32, np.int32, np.uint32)))
        _count(paths, 0, 0, 0, np.zeros(1, np.uint32), np.empty(2, np.int32), empty)
    if before[-1] <= PATHS_OF_ONE_THREAD or threads() == 1:
        work(check)
        return blocks
    try:
        team.start(*[functools.partial(work, lambda *_: None)] * min(threads(), len(waiting)))
        while not team.wait():
            check(done[0] / int(before[-1]), done[1])
    finally:
        team.end()
    if team.error is not None:
        raise team.error
    return blocks


@jit
def _count(paths, begin, end, budget, sums, reached, out):
    """The pairs of the first vertices numbered begin, ..., end - 1; where to go on, and how many were written.

    It stops after `budget` steps, and where another row might not fit. `sums` is zero before and after.
    """
    steps, written, room = 0, 0, len(out.first) - len(paths.last)
    to_middle, from_middle = paths.to_middle, paths.from_middle
    for number in range(begin, end):
        if steps > budget or written > room:
            return number, written
        x, size = paths.first[number], 0
        limit = x if paths.below else len(paths.last)
        if to_middle.offsets[x + 1] - to_middle.offsets[x] < paths.least:
            steps += 1
            continue
        for e in range(to_middle.offsets[x], to_middle.offsets[x + 1]):
            middle = to_middle.targets[e]
            if not paths.middle[middle]:
                continue
            f, last = from_middle.offsets[middle], from_middle.offsets[middle + 1]
            steps += last - f
            while f < last:
                y = from_middle.targets[f]
                if y >= limit:
                    break
                old = sums[y]
                reached[size] = y
                size += np.int64(old == 0)
                sums[y] = old + np.uint32(1)
                f += 1
        for i in range(size):
            y = reached[i]
            if sums[y] >= paths.least and paths.last[y] and (y != x or not paths.distinct):
                out.first[written], out.last[written], out.count[written] = x, y, sums[y]
                written += 1
            sums[y] = 0
        steps += size
    return end, written
