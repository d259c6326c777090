"""The bitmap walker: for patterns whose first vertex touches all others, as in cliques, wheels and diamonds.

Once the root is matched, all the rest lies in its neighbourhood, the universe. That is renumbered 0..D-1, the rows of
its vertices become bitmaps of D bits (`neighbourhood_bitmaps`), and a candidate set is an AND of rows: 64 vertices an
operation (BEEP). The walk itself, its state and its leaf are as those of the list walker.
"""

from __future__ import annotations

from cusubmatch.engines.cpu.primitives.jit import inner, jit
from cusubmatch.engines.cpu.primitives.pointers import pointer
from cusubmatch.engines.cpu.primitives.sorted_sets import lower_bound
from cusubmatch.engines.cpu.walker import program as p
from cusubmatch.engines.cpu.walker.bitmap_leaf import count_bitmaps
from cusubmatch.engines.cpu.walker.bitmap_sets import (
    candidate_bitmap,
    differs_from_matched,
    make_bitmaps,
    next_bit,
    open_bitmap,
)
from cusubmatch.engines.cpu.walker.local_candidates import level_row
from cusubmatch.engines.cpu.walker.neighbourhood_bitmaps import enter_root, on_bitmap_state
from cusubmatch.engines.cpu.walker.program import on_program, on_view

__all__ = ["descend_bitmaps", "enter_bitmaps", "walk_bitmaps"]


@inner
def _emit_bitmaps(program, state, leaf, out, capacity):
    """Write one row per vertex of the leaf's open range, until the buffer is full; how many were written."""
    row, candidates = state.registers[p.FILLED], candidate_bitmap(program, state, leaf)
    first, column, end = row, level_row(program, leaf)[p.COLUMN], state.end[leaf]
    i = next_bit(candidates, state.position[leaf], end)
    while i < end and row < capacity:
        if differs_from_matched(program, state, leaf, i):
            if column >= 0:
                out[column * capacity + row] = state.universe[i]
            row += 1
        i = next_bit(candidates, i + 1, end)
    state.position[leaf] = i
    for level in range(leaf):
        column = level_row(program, level)[p.COLUMN]
        if column >= 0:
            x = state.matched[level]
            for at in range(first, row):
                out[column * capacity + at] = x
    state.registers[p.FILLED] = row
    return row - first


@jit
def enter_bitmaps(program, view, state, prefix, depth, begin, end):
    """Begin a task, as `enter` does for lists."""
    program, view, state = on_program(program), on_view(view), on_bitmap_state(state)
    state.registers[p.LEVEL] = depth
    state.registers[p.FLOOR] = depth
    for level in range(depth):
        if level == 0:
            enter_root(program, view, state, prefix[0])
        else:
            state.matched[level] = prefix[level]
            state.local[level] = lower_bound(state.universe, 0, state.registers[p.UNIVERSE], prefix[level])
        make_bitmaps(program, state, level)
    if depth > 0:
        open_bitmap(program, state, depth)
    state.begin[depth] = 0
    state.position[depth] = begin
    state.end[depth] = end


@jit
def descend_bitmaps(program, view, state):
    """Match the next vertex of the deepest open range, as `descend` does; OVERSIZE if it is a root for lists."""
    program, view, state = on_program(program), on_view(view), on_bitmap_state(state)
    level = state.registers[p.LEVEL]
    if state.position[level] >= state.end[level]:
        return p.DONE
    if level == 0:
        size = enter_root(program, view, state, view.roots[state.position[0]])
        if size < 0:
            return p.OVERSIZE
        if size == 0:
            return p.DONE
    else:
        i = next_bit(candidate_bitmap(program, state, level), state.position[level], state.end[level])
        if i == state.end[level] or not differs_from_matched(program, state, level, i):
            return p.DONE
        state.local[level] = i
        state.matched[level] = state.universe[i]
    if not (make_bitmaps(program, state, level) and open_bitmap(program, state, level + 1)):
        return p.DONE
    state.registers[p.LEVEL] = level + 1
    state.registers[p.FLOOR] = level + 1
    return p.PAUSED


@jit
def walk_bitmaps(program, view, state, out, budget):
    """Go on with the task in `state`, as `walk` does; OVERSIZE if the root in matched[0] needs the list walker."""
    capacity = out.shape[1]
    program, view, state, out = on_program(program), on_view(view), on_bitmap_state(state), pointer(out)
    registers, header = state.registers, program.header
    leaf, emitting = header[p.LEAF], header[p.LEAF_MODE] == p.EMIT
    level, floor = registers[p.LEVEL], registers[p.FLOOR]
    while budget > 0:
        if level == leaf:
            if emitting:
                budget -= _emit_bitmaps(program, state, leaf, out, capacity)
                if state.position[leaf] < state.end[leaf]:
                    registers[p.LEVEL] = level
                    return p.FULL
            else:
                budget -= count_bitmaps(program, state, leaf) * (1 + (registers[p.UNIVERSE] >> 9)) + 1
        elif level == 0 and state.position[0] < state.end[0]:
            root = view.roots[state.position[0]]
            state.position[0] += 1
            size = enter_root(program, view, state, root)
            budget -= max(size, 0) + 1
            if size < 0:
                state.matched[0] = root
                registers[p.LEVEL] = level
                return p.OVERSIZE
            if size > 0 and make_bitmaps(program, state, 0) and open_bitmap(program, state, 1):
                level = 1
            continue
        elif level > 0:
            i = next_bit(candidate_bitmap(program, state, level), state.position[level], state.end[level])
            if i < state.end[level]:
                state.position[level] = i + 1
                budget -= 1 + (registers[p.UNIVERSE] >> 9)
                if differs_from_matched(program, state, level, i):
                    state.local[level] = i
                    state.matched[level] = state.universe[i]
                    if make_bitmaps(program, state, level) and open_bitmap(program, state, level + 1):
                        level += 1
                continue
        if level == floor:
            return p.DONE
        level -= 1
    registers[p.LEVEL] = level
    return p.PAUSED
