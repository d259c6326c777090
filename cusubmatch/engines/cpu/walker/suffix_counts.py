"""Counting a suffix: at each vertex of the leaf, the last core level, a polynomial in sizes of intersections.

The leaf is taken in blocks. For each variable of the polynomial a loop of its own writes its value at every vertex of
the block; then the polynomial is evaluated step by step for the whole block. Values are computed modulo 2**64, which is
exact where a bound says that they are below 2**61; the others are evaluated again modulo enough primes below 2**31, and
only sums of those residues are kept, so that a count of any size comes out exactly. The walk itself is that of the list
walker; it is compiled apart, since few counts need it.
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import inner, jit
from cusubmatch.engines.cpu.primitives.pointers import advance
from cusubmatch.engines.cpu.primitives.sorted_sets import Slice
from cusubmatch.engines.cpu.walker import program as p
from cusubmatch.engines.cpu.walker import suffix_program as sp
from cusubmatch.engines.cpu.walker.common_neighbours import common_size, unmark
from cusubmatch.engines.cpu.walker.count_limbs import FULL_SUM, add_to_count
from cusubmatch.engines.cpu.walker.list_walker import differs, next_vertex
from cusubmatch.engines.cpu.walker.local_candidates import (
    adjacent,
    level_row,
    make_sets,
    open_level,
    row_of,
)
from cusubmatch.engines.cpu.walker.program import on_program, on_state, on_view

__all__ = ["residues", "walk_suffix"]

SURE = float(1 << 61)  # a bound below which a value is exact modulo 2**64


@jit
def _fields(program):
    return advance(program.refs, program.header[p.SUFFIX_AT])


@inner
def _scratch(program, state):
    return advance(state.excluded, program.header[p.LEVELS])


@inner
def _gather(program, state, leaf, array, begin, end):
    """Write the vertices of array[begin:end) that the leaf may take to the block; how many."""
    block, fields, n = advance(_scratch(program, state), _fields(program)[sp.BLOCK]), level_row(program, leaf), 0
    if fields[p.INJECTIVITY] == fields[p.INJECTIVITY_END]:
        for i in range(begin, end):
            block[i - begin] = array[i]
        return end - begin
    for i in range(begin, end):
        block[n] = array[i]
        n += differs(program, state, leaf, array[i])
    return n


@inner
def _test(program, view, state, leaf, n):
    """Look up which images lie in which rows: once where the leaf has no part in it, else at each vertex."""
    suffix, scratch = _fields(program), _scratch(program, state)
    block, answers = advance(scratch, suffix[sp.BLOCK]), suffix[sp.ANSWERS]
    for t in range(suffix[sp.N_TESTS]):
        test = advance(suffix, suffix[sp.TESTS] + t * sp.TEST_FIELDS)
        relation, owner, member = test[0], test[1], test[2]
        if owner == leaf:
            y = state.matched[member]
            for i in range(n):
                scratch[answers + i] = adjacent(view, relation, block[i], y)
        elif member == leaf:
            y = state.matched[owner]
            for i in range(n):
                scratch[answers + i] = adjacent(view, relation, y, block[i])
        else:
            scratch[answers] = adjacent(view, relation, state.matched[owner], state.matched[member])
        answers += n if leaf in (owner, member) else 1


@inner
def _subtract_losses(program, state, variable, n, out):
    """Subtract the images that may not be chosen from a variable's values."""
    suffix, scratch = _fields(program), _scratch(program, state)
    for at in range(variable[sp.LOSSES], variable[sp.LOSSES_END], sp.LOSS_FIELDS):
        loss = advance(suffix, at)
        lost = 1
        for t in range(loss[sp.SURE_TESTS], loss[sp.SURE_TESTS_END]):
            lost &= scratch[_answers_at(program, suffix[t], n)]
        first, last = loss[sp.LEAF_TESTS], loss[sp.LEAF_TESTS_END]
        if lost and first == last:
            for i in range(n):
                out[i] -= 1
        elif lost and last - first == 1:
            answers = advance(scratch, _answers_at(program, suffix[first], n))
            for i in range(n):
                out[i] -= answers[i]
        elif lost:
            for i in range(n):
                lost = 1
                for t in range(first, last):
                    lost &= scratch[_answers_at(program, suffix[t], n) + i]
                out[i] -= lost


@inner
def _answers_at(program, test, n):
    """Where a test's answers begin: those that depend on the leaf come first."""
    block_tests = _fields(program)[sp.BLOCK_TESTS]
    return _fields(program)[sp.ANSWERS] + min(test, block_tests) * n + max(test - block_tests, 0)


@inner
def _measure(program, view, state, variable, n, out):
    """Write a variable's values at the vertices of the block, before losses; the units of work."""
    block, relation = advance(_scratch(program, state), _fields(program)[sp.BLOCK]), variable[sp.WITH]
    kind, array, first, last, units = variable[sp.KIND], state.pool, 0, 0, 0
    if kind == p.ROW:
        array = view.targets
        vertex = state.matched[variable[sp.SOURCE_B]]
        first, last = row_of(view, variable[sp.SOURCE_A], vertex)
    elif kind == p.SET:
        first, last = program.bases[variable[sp.SOURCE_A]], state.set_end[variable[sp.SOURCE_A]]
    if relation < 0:
        for i in range(n):
            out[i] = last - first
    elif kind == p.ROOTS:  # no source: the row itself
        for i in range(n):
            begin, end = row_of(view, relation, block[i])
            out[i] = end - begin
    elif first == last:
        for i in range(n):
            out[i] = 0
    else:
        source, low, high, marked = Slice(array, first, last), array[first], array[last - 1], False
        for i in range(n):
            begin, end = row_of(view, relation, block[i])
            units += min(last - first, end - begin)
            x = block[i]
            size, marked = common_size(view, state, source, first, last, low, high, relation, x, marked)
            out[i] = size
        if marked:
            unmark(state, source)
    return units >> 6


@inner
def _evaluate(program, state, n):
    """The polynomial's values, in register 0, modulo 2**64."""
    suffix, scratch = _fields(program), _scratch(program, state)
    for at in range(suffix[sp.CODE], suffix[sp.CODE_END], sp.CODE_FIELDS):
        operation, argument = suffix[at], suffix[at + 2]
        out = advance(scratch, suffix[sp.VALUES] + suffix[at + 1] * sp.LENGTH)
        if operation == sp.TIMES:
            variable = advance(scratch, suffix[sp.SIZES] + argument * sp.LENGTH)
            for i in range(n):
                out[i] *= variable[i]
        elif operation == sp.ADD:
            other = advance(out, sp.LENGTH)
            for i in range(n):
                out[i] += other[i]
        elif operation == sp.MULTIPLY:
            other = advance(out, sp.LENGTH)
            for i in range(n):
                out[i] *= other[i]
        else:
            constant = program.bases[program.header[p.CONSTANTS_AT] + suffix[sp.N_PRIMES] + argument]
            for i in range(n):
                out[i] = constant + (out[i] if operation == sp.PLUS else 0)


@inner
def _add_residues(program, state, i):
    """Add the value at the i-th vertex of the block to the sums of residues, one for each prime."""
    suffix, scratch = _fields(program), _scratch(program, state)
    constants = advance(program.bases, program.header[p.CONSTANTS_AT])
    primes, registers = suffix[sp.N_PRIMES], advance(scratch, suffix[sp.RESIDUE_VALUES])
    scratch[0] += 1
    for r in range(primes):
        prime, own = constants[r], advance(constants, primes + (r + 1) * suffix[sp.N_CONSTANTS])
        for at in range(suffix[sp.CODE], suffix[sp.CODE_END], sp.CODE_FIELDS):
            operation, register, argument = suffix[at], suffix[at + 1], suffix[at + 2]
            if operation == sp.TIMES:
                size = scratch[suffix[sp.SIZES] + argument * sp.LENGTH + i] % prime
                registers[register] = registers[register] * size % prime
            elif operation == sp.ADD:
                registers[register] = (registers[register] + registers[register + 1]) % prime
            elif operation == sp.MULTIPLY:
                registers[register] = registers[register] * registers[register + 1] % prime
            elif operation == sp.PLUS:
                registers[register] = (registers[register] + own[argument]) % prime
            else:
                registers[register] = own[argument]
        scratch[1 + r] = (scratch[1 + r] + registers[0]) % prime


@jit
def _sum(program, state, n):
    """Add the block's values to the count."""
    suffix, scratch = _fields(program), _scratch(program, state)
    values, total = advance(scratch, suffix[sp.VALUES]), 0
    bounded = suffix[sp.N_PRIMES] == 0  # no value can pass SURE
    for i in range(n):
        sure = bounded
        if not bounded:
            most = 1.0
            for c in range(suffix[sp.CHOICES], suffix[sp.CHOICES_END]):
                most *= scratch[suffix[sp.SIZES] + suffix[c] * sp.LENGTH + i]
            sure = most < SURE
        if sure:
            total += values[i]
            if total >= FULL_SUM:
                add_to_count(state, 1, total)
                total = 0
        else:
            _add_residues(program, state, i)
    add_to_count(state, 1, total)


@inner
def _count_block(program, view, state, leaf, n):
    """Count at the n vertices of the block; the units of work."""
    suffix, units = _fields(program), 0
    if n == 0:
        return units
    _test(program, view, state, leaf, n)
    out = advance(_scratch(program, state), suffix[sp.SIZES])
    for at in range(suffix[sp.VARIABLES], suffix[sp.VARIABLES_END], sp.VARIABLE_FIELDS):
        variable = advance(suffix, at)
        units += _measure(program, view, state, variable, n, out)
        _subtract_losses(program, state, variable, n, out)
        out = advance(out, sp.LENGTH)
    _evaluate(program, state, n)
    _sum(program, state, n)
    return units


@jit
def _count_leaf(program, view, state, leaf):
    """Count a block of the leaf's open range; the units of work that it took."""
    begin, kind = state.position[leaf], state.kind[leaf]
    end = min(state.end[leaf], begin + sp.LENGTH)
    array = view.roots if kind == p.ROOTS else view.targets if kind == p.ROW else state.pool
    state.position[leaf] = end
    if not _fields(program)[sp.SINGLY]:
        return end - begin + _count_block(program, view, state, leaf, _gather(program, state, leaf, array, begin, end))
    units = end - begin
    for i in range(begin, end):
        if _gather(program, state, leaf, array, i, i + 1):
            state.matched[leaf] = array[i]
            if make_sets(program, view, state, leaf):
                units += 1 + _count_block(program, view, state, leaf, 1)
    return units


@jit
def walk_suffix(program, view, state, _out, budget):
    """Go on with the task in `state`, as `walk` does, and count at the leaf."""
    program, view, state = on_program(program), on_view(view), on_state(state)
    registers, leaf = state.registers, program.header[p.LEAF]
    level, floor = registers[p.LEVEL], registers[p.FLOOR]
    while budget > 0:
        if level == leaf:
            budget -= _count_leaf(program, view, state, leaf) + 2
            if state.position[leaf] < state.end[leaf]:
                continue
        if state.position[level] == state.end[level]:
            if level == floor:
                registers[p.LEFT] = budget
                return p.DONE
            level -= 1
            continue
        x = next_vertex(view, state, level)
        budget -= 1 + ((view.offsets[x + 1] - view.offsets[x]) >> 6)
        if not differs(program, state, level, x):
            continue
        state.matched[level] = x
        if make_sets(program, view, state, level) and open_level(program, view, state, level + 1):
            level += 1
    registers[p.LEVEL], registers[p.LEFT] = level, budget
    return p.PAUSED


def residues(program: p.Program, state: p.State) -> tuple[np.ndarray, list[int]]:
    """Where a state of the list walker keeps sums of residues of a suffix's counts, and their primes."""
    header = program.header
    n_primes = int(program.refs[header[p.SUFFIX_AT] + sp.N_PRIMES])
    first = int(header[p.CONSTANTS_AT])
    sums = state.excluded[int(header[p.LEVELS]) :][: n_primes + 1]
    return sums, program.bases[first : first + n_primes].tolist()
