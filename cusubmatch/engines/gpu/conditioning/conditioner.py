"""The kernel that counts by recursive conditioning (Darwiche 2001), one sum after the other on each warp's stack.

It counts as the CPU engine does, but for the ways that spare terms by inclusion and exclusion: in each component a
vertex is matched. A warp goes through a sum's candidates, narrows domains, splits what is left into components, and
multiplies their counts; a component that is not counted at once and not known is the next sum on its stack. When other
warps have nothing to do, it donates a part of a sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint32

from cusubmatch.engines.gpu.conditioning import state_format as f
from cusubmatch.engines.gpu.conditioning.component_cache import cache_functions
from cusubmatch.engines.gpu.conditioning.components import component_functions
from cusubmatch.engines.gpu.conditioning.domains import domain_functions
from cusubmatch.engines.gpu.conditioning.products import product_functions
from cusubmatch.engines.gpu.conditioning.shared_tasks import task_functions
from cusubmatch.engines.gpu.conditioning.sums import sum_functions
from cusubmatch.engines.gpu.conditioning.wide_counts import TOO_MUCH_HIGH, wide_counts
from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.kernel_factory import kernel_factory
from cusubmatch.engines.gpu.walker import task_ring as r

__all__ = ["COUNT_WORDS", "FAILED", "OUTPUT_WORDS", "STEPS", "make_condition"]

U, L = np.uint32, np.uint64
SUM, STEPS, FAILED = 0, 4, 5  # of the output: sums of the four words of counts; steps; whether it is no count
COUNT_WORDS, OUTPUT_WORDS = 4, 6
STEPS_BETWEEN_POLLS = 16


@kernel_factory
def make_condition(target: Target, words: int) -> Any:
    """The kernel for domains of so many words a lane.

    Its arguments: the program (`state_format`); `CountArrays`; `ControlArrays`; the number of the count, which whoever
    stops it writes to `control.stopped`; the nanoseconds after which it stops by itself; the output.
    """
    cuda, WARP, lane_of, warp_of = target.cuda, target.WARP, target.lane, target.warp
    domains, counts, cached = domain_functions(target, words), wide_counts(target), cache_functions(target, words)
    components, tasks = component_functions(target, domains, words), task_functions(target, domains)
    sums = sum_functions(target, domains, cached, counts)
    multiply = product_functions(target, components, cached, counts).multiply
    begin_root, begin_task, match, close = sums.begin_root, sums.begin_task, sums.match, sums.close
    draw, take, donate, wait, poll = tasks.draw, tasks.take, tasks.donate, tasks.wait, tasks.poll
    undo, next_candidate, plus, times, get = domains.undo, domains.next_candidate, counts.plus, counts.times, counts.get
    load_program, write = _load_function(target), _write_function(target)

    def condition(program, arrays, control, number, nanoseconds, out):
        sh = cuda.shared.array(0, uint32)
        w = load_program(sh, program, nanoseconds)
        warp = U(U(cuda.blockIdx.x) * U(U(cuda.blockDim.x) // U(WARP)) + warp_of())
        frames, bottom = U(w + U(sh[f.FRAMES])), U(U(sh[f.POOLS]) + U(warp * U(sh[f.POOL_WORDS])))
        depth, given, trail, steps, all_steps = U(0), U(0), U(0), U(0), L(0)
        idle, roots, stopped, failed, total, total_high = False, True, False, False, L(0), L(0)
        if lane_of() == U(0):
            cuda.atomic.add(control.words, r.PENDING, np.int32(1))
        while not stopped:
            going, rest, low, high, pool, touched, too_much = False, U(0), L(1), L(0), U(0), U(0), False
            frame = U(frames + U(U(depth - U(1)) * U(f.FRAME_WORDS)))
            if depth == U(0):
                begun, x = False, U(0)
                if roots:
                    x = draw(sh, control.words)
                    roots = x < U(sh[f.LOCALS])
                    if roots:
                        begin_root(sh, w, x)
                        given, begun = U(0), True
                else:
                    found, task = wait(sh, control, number, bool(idle))  # typed once, not for a constant too
                    idle, stopped = True, found == U(r.OVER)
                    if found == U(r.TAKEN):
                        given = take(sh, w, task, control)
                        idle, begun = False, True
                if begun:
                    begin_task(sh, w, arrays, given, bottom)
                    trail, depth = U(sh[U(frames + f.TRAIL_TOP)]), U(1)
            else:
                undo(sh, w, trail, U(sh[U(frame + f.TRAIL_TOP)]))
                trail, end = U(sh[U(frame + f.TRAIL_TOP)]), U(sh[U(frame + f.END)])
                x = next_candidate(sh, w, arrays.store, U(sh[U(frame + f.VERTEX)]), U(sh[U(frame + f.NEXT)]), end)
                if x < end:
                    steps, rest = U(steps + U(1)), U(sh[U(frame + f.OTHERS)])
                    going, trail, pool, touched = match(sh, w, arrays, frame, x)
                else:
                    low, high, too_much = close(sh, w, arrays, frame)
                    pool, touched = U(sh[U(frame + f.POOL_TOP)]), U(sh[U(frame + f.TOUCHED)])
                    depth, rest, going = U(depth - U(1)), U(sh[U(frame + f.REST)]), depth > U(1)
                    if depth == U(0):
                        factor, factor_high = get(sh, U(frame + f.FACTOR))
                        failed = failed or too_much or total_high >= L(TOO_MUCH_HIGH)
                        low, high, too_much = times(low, high, factor, factor_high)
                        total, total_high = plus(total, total_high, low, high)
                    cuda.syncwarp()
            failed = failed or too_much
            if going:
                depth, too_much = multiply(sh, w, arrays, depth, rest, low, high, trail, pool, touched)
                failed = failed or too_much
            if steps >= U(STEPS_BETWEEN_POLLS) and not idle:
                all_steps, steps = L(all_steps + L(steps)), U(0)
                stop, wanted = poll(sh, control, number)
                if stop or failed:
                    stopped, failed = True, True
                elif wanted:
                    donate(sh, w, arrays.store, depth, given, control)
        cuda.syncwarp()
        write(control.words, out, idle, failed, total, total_high, L(all_steps + L(steps)))

    return target.kernel(condition)


def _load_function(target):
    """The program in shared memory."""
    cuda, WARP, lane_of, warp_of, clock = target.cuda, target.WARP, target.lane, target.warp, target.clock

    @target.device
    def load_program(sh, program, nanoseconds):
        """Copy the program, which the whole block does, and set its end; where the warp's state begins."""
        i = U(U(warp_of() * WARP) + lane_of())
        while i < U(f.PROGRAM_WORDS):
            sh[i] = program[i]
            i = U(i + U(cuda.blockDim.x))
        if U(cuda.threadIdx.x) == U(0):
            sh[f.ENDS] = U((clock() + nanoseconds) >> f.TICK_BITS)
        cuda.syncthreads()
        return U(U(f.BLOCK_WORDS) + U(warp_of() * U(sh[f.WARP_WORDS])))

    return load_program


def _write_function(target):
    """What a warp leaves."""
    cuda, lane_of, peek = target.cuda, target.lane, target.peek

    @target.device
    def write(ctl, out, idle, failed, total, total_high, steps):
        """Add a warp's count to all, word by word. One that failed lets all stop, and who is stopped leaves tasks."""
        if lane_of() == U(0):
            if not idle:
                cuda.atomic.add(ctl, r.PENDING, np.int32(-1))
            if failed or peek(ctl, r.STOP) != np.int32(0):
                cuda.atomic.exch(ctl, r.STOP, np.int32(1))
                cuda.atomic.exch(out, FAILED, L(1))
            cuda.atomic.add(out, SUM, L(total & L(0xFFFFFFFF)))
            cuda.atomic.add(out, SUM + 1, L(total >> L(32)))
            cuda.atomic.add(out, SUM + 2, L(total_high & L(0xFFFFFFFF)))
            cuda.atomic.add(out, SUM + 3, L(total_high >> L(32)))
            cuda.atomic.add(out, STEPS, steps)

    return write
