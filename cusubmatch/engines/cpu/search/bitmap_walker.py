"""The bitmap walker: for patterns whose first vertex touches all others, as in cliques, wheels and diamonds.

Once the root is matched, all the rest lies in its neighbourhood, the universe. That is renumbered 0..D-1, the rows of
its vertices become bitmaps of D bits (`neighbourhood`), and a candidate set is an AND of rows: 64 vertices an operation
(BEEP). The walk itself, its state and its leaf are as those of the list walker.
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import jit, popcount, trailing_zeros
from cusubmatch.engines.cpu.primitives.pointers import advance, pointer
from cusubmatch.engines.cpu.primitives.sorted_sets import lower_bound
from cusubmatch.engines.cpu.search import program as p
from cusubmatch.engines.cpu.search.leaf import add_to_count, value_of
from cusubmatch.engines.cpu.search.local_candidates import level_row, on_program, on_view, step_row
from cusubmatch.engines.cpu.search.neighbourhood_bitmaps import enter_root, on_bitmap_state

__all__ = ["descend_bitmaps", "enter_bitmaps", "walk_bitmaps"]

ONES = np.uint64(0xFFFFFFFFFFFFFFFF)


@jit
def _make_bitmaps(program, state, level):
    """Make the sets that are due when `level` is matched; False if one is too small."""
    size = state.registers[p.UNIVERSE]
    words = (size + 63) >> 6
    for index in range(level_row(program, level)[p.STEP], level_row(program, level)[p.STEP_END]):
        step = step_row(program, index)
        out = advance(state.sets, step[p.TARGET] * state.stride)
        if step[p.FROM_KIND] == p.ROW:
            source = advance(state.first, step[p.FROM_A] * state.stride)
        else:
            source = advance(state.sets, step[p.FROM_A] * state.stride)
        operation, relation, operand = step[p.OPERATION], step[p.WITH_A], step[p.WITH_B]
        if operation == p.FILTER:
            for w in range(words):
                out[w] = source[w]
        elif operand == 0:
            other = advance(state.first, relation * state.stride)
            for w in range(words):
                out[w] = source[w] & (other[w] if operation == p.INTERSECT else ~other[w])
        else:
            row = (program.inner[relation] * size + state.local[operand]) * words
            if operation == p.INTERSECT:
                for w in range(words):
                    out[w] = source[w] & state.rows[row + w]
            else:
                for w in range(words):
                    out[w] = source[w] & ~state.rows[row + w]
        if step[p.MASK] >= 0:
            mask = advance(state.allowed, step[p.MASK] * state.stride)
            for w in range(words):
                out[w] &= mask[w]
        if step[p.NEED] > 2:  # smaller ones cost less than counting them would save
            length = np.int64(0)
            for w in range(words):
                length += np.int64(popcount(out[w]))
            if length < step[p.NEED]:
                return False
    return True


@jit
def _allowed_range(program, state, level, upto):
    """The places that the restrictions by levels before `upto` leave to a level."""
    low, high = np.int64(0), state.registers[p.UNIVERSE]
    ascending = program.header[p.ASCENDING]
    for r in range(level_row(program, level)[p.RESTRICTED], level_row(program, level)[p.RESTRICTED_END]):
        by = program.refs[r]
        if by >= upto:
            continue
        if ascending:
            low = max(low, state.local[by] + (by > 0))
        else:
            high = min(high, state.local[by])
    return low, high


@jit
def _open_bitmap(program, state, level):
    low, high = _allowed_range(program, state, level, level)
    state.begin[level] = 0
    state.position[level] = low
    state.end[level] = high
    return low < high


@jit
def _source(program, state, level):
    """The candidate bitmap of a level."""
    if level_row(program, level)[p.KIND] == p.ROW:
        return advance(state.first, level_row(program, level)[p.SOURCE_A] * state.stride)
    return advance(state.sets, level_row(program, level)[p.SOURCE_A] * state.stride)


@jit
def _next(bitmap, begin, end):
    """The first set bit in [begin, end), or `end`."""
    if begin >= end:
        return end
    w = begin >> 6
    word = bitmap[w] & (ONES << np.uint64(begin & 63))
    last = (end - 1) >> 6
    while word == 0:
        w += 1
        if w > last:
            return end
        word = bitmap[w]
    return min((w << 6) + np.int64(trailing_zeros(word)), end)


@jit
def _differs(program, state, level, i):
    for d in range(level_row(program, level)[p.INJECTIVITY], level_row(program, level)[p.INJECTIVITY_END]):
        by = program.refs[d]
        if by > 0 and state.local[by] == i:
            return False
    return True


@jit
def _size_between(a, b, shift, low, high):
    """The number of bits in [low, high) of a & b[shift:]; of a alone if shift is negative."""
    if low >= high:
        return 0
    first, last = low >> 6, (high - 1) >> 6
    head, tail = ONES << np.uint64(low & 63), ONES >> np.uint64(63 - ((high - 1) & 63))
    if shift < 0:
        if first == last:
            return np.int64(popcount(a[first] & head & tail))
        found = np.int64(popcount(a[first] & head)) + np.int64(popcount(a[last] & tail))
        for w in range(first + 1, last):
            found += np.int64(popcount(a[w]))
        return found
    if first == last:
        return np.int64(popcount(a[first] & b[shift + first] & head & tail))
    found = np.int64(popcount(a[first] & b[shift + first] & head))
    found += np.int64(popcount(a[last] & b[shift + last] & tail))
    for w in range(first + 1, last):
        found += np.int64(popcount(a[w] & b[shift + w]))
    return found


@jit
def _bit(bitmap, i):
    return np.int64((bitmap[i >> 6] >> np.uint64(i & 63)) & np.uint64(1))


@jit
def _losses(program, state, level, upto, bitmap, other, shift, low, high):
    """How many matched vertices of levels before `upto`, which the level must differ from, lie in its set."""
    found = 0
    first, last = level_row(program, level)[p.INJECTIVITY], level_row(program, level)[p.INJECTIVITY_END]
    for d in range(first, last):
        by = program.refs[d]
        i = state.local[by]
        if by == 0 or by >= upto or i < low or i >= high or not _bit(bitmap, i):
            continue
        if shift >= 0 and not _bit(other, (shift << 6) + i):
            continue
        fresh = True
        for e in range(first, d):
            fresh = fresh and (program.refs[e] == 0 or state.local[program.refs[e]] != i)
        found += fresh
    return found


@jit
def _count_chain(state, candidates, counted, inner, words, ascending, leaf):
    """The leaf where every level bounds the next, as in cliques: rows hold later vertices only."""
    total, visited, position, end = np.int64(0), 0, state.position[leaf], state.end[leaf]
    for w in range(position >> 6, (end + 63) >> 6):
        word = candidates[w]
        if w == position >> 6:
            word &= ONES << np.uint64(position & 63)
        if w == end >> 6:
            word &= ~(ONES << np.uint64(end & 63))
        first, last = (w, words) if ascending else (0, w + 1)
        while word:
            row = (inner + (w << 6) + np.int64(trailing_zeros(word))) * words
            for v in range(first, last):
                total += np.int64(popcount(counted[v] & state.rows[row + v]))
            word &= word - np.uint64(1)
            visited += 1
    state.position[leaf] = end
    add_to_count(state, 1, total)
    return visited


@jit
def _count_bitmaps(program, state, leaf):
    """Count the whole open range of the leaf; how many vertices it had."""
    header = program.header
    case, leaf_mode, last = header[p.CASE], header[p.LEAF_MODE], header[p.LAST]
    size = state.registers[p.UNIVERSE]
    words = (size + 63) >> 6
    candidates = _source(program, state, leaf)
    step = step_row(program, level_row(program, leaf)[p.STEP] if case == p.COMMON else 0)
    total, visited = 0, 0
    shift = np.int64(-1)
    if case == p.COMMON:
        bitmaps = state.first if step[p.FROM_KIND] == p.ROW else state.sets
        counted = advance(bitmaps, step[p.FROM_A] * state.stride)
        inner = program.inner[step[p.WITH_A]] * size
    else:
        counted, inner = _source(program, state, last), np.int64(0)
    low, high = _allowed_range(program, state, last, leaf)
    bounded = False
    for r in range(level_row(program, last)[p.RESTRICTED], level_row(program, last)[p.RESTRICTED_END]):
        bounded = bounded or program.refs[r] == leaf
    plain = level_row(program, leaf)[p.INJECTIVITY] == level_row(program, leaf)[p.INJECTIVITY_END]
    lossless = level_row(program, last)[p.INJECTIVITY] == level_row(program, last)[p.INJECTIVITY_END]
    if case == p.COMMON and header[p.CHAINED] and plain and lossless and leaf_mode == p.SIZE:
        return _count_chain(state, candidates, counted, inner, words, header[p.ASCENDING] != 0, leaf)
    i, end = _next(candidates, state.position[leaf], state.end[leaf]), state.end[leaf]
    while i < end:
        if plain or _differs(program, state, leaf, i):
            visited += 1
            state.local[leaf] = i
            if case == p.COMMON:
                shift = (inner + i) * words
            elif case == p.GENERAL:
                _make_bitmaps(program, state, leaf)
            if bounded:
                if header[p.ASCENDING]:
                    low = max(low, i + 1)
                else:
                    high = i
            n = _size_between(counted, state.rows, shift, low, high)
            if not lossless:
                n -= _losses(program, state, last, last, counted, state.rows, shift, low, high)
            total += value_of(leaf_mode, n)
            if total >= 1 << 62:
                add_to_count(state, 1, total)
                total = 0
        i = _next(candidates, i + 1, end)
    state.position[leaf] = end
    add_to_count(state, 1, total)
    return visited


@jit
def _emit_bitmaps(program, state, leaf, out, capacity):
    """Write one row per vertex of the leaf's open range, until the buffer is full; how many were written."""
    row, candidates = state.registers[p.FILLED], _source(program, state, leaf)
    first, column, end = row, level_row(program, leaf)[p.COLUMN], state.end[leaf]
    i = _next(candidates, state.position[leaf], end)
    while i < end and row < capacity:
        if _differs(program, state, leaf, i):
            if column >= 0:
                out[column * capacity + row] = state.universe[i]
            row += 1
        i = _next(candidates, i + 1, end)
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
        _make_bitmaps(program, state, level)
    if depth > 0:
        _open_bitmap(program, state, depth)
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
        i = _next(_source(program, state, level), state.position[level], state.end[level])
        if i == state.end[level] or not _differs(program, state, level, i):
            return p.DONE
        state.local[level] = i
        state.matched[level] = state.universe[i]
    if not (_make_bitmaps(program, state, level) and _open_bitmap(program, state, level + 1)):
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
                budget -= _count_bitmaps(program, state, leaf) * (1 + (registers[p.UNIVERSE] >> 9)) + 1
        elif level == 0 and state.position[0] < state.end[0]:
            root = view.roots[state.position[0]]
            state.position[0] += 1
            size = enter_root(program, view, state, root)
            budget -= max(size, 0) + 1
            if size < 0:
                state.matched[0] = root
                registers[p.LEVEL] = level
                return p.OVERSIZE
            if size > 0 and _make_bitmaps(program, state, 0) and _open_bitmap(program, state, 1):
                level = 1
            continue
        elif level > 0:
            i = _next(_source(program, state, level), state.position[level], state.end[level])
            if i < state.end[level]:
                state.position[level] = i + 1
                budget -= 1 + (registers[p.UNIVERSE] >> 9)
                if _differs(program, state, level, i):
                    state.local[level] = i
                    state.matched[level] = state.universe[i]
                    if _make_bitmaps(program, state, level) and _open_bitmap(program, state, level + 1):
                        level += 1
                continue
        if level == floor:
            return p.DONE
        level -= 1
    registers[p.LEVEL] = level
    return p.PAUSED
