"""The kernels that make worlds: of each image of the root, what it leaves of the candidates of all other vertices.

First the sets are narrowed, as they are: bits by local index. Then the candidates are numbered anew, from 0 for each
vertex, and rows are written again, by these numbers. The rows of a candidate lie next to each other: one for each
vertex that its own is joined to or in conflict with, of as many words as the world's longest set.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cusubmatch.engines.gpu.conditioning import state_format as p
from cusubmatch.engines.gpu.cutset import state_format as f
from cusubmatch.engines.gpu.cutset.arc_consistency import narrow_function
from cusubmatch.engines.gpu.runtime.bits import bit_functions
from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.kernel_factory import kernel_factory

__all__ = ["WORLD_WORDS", "make_narrow_worlds", "make_write_worlds"]

U, L = np.uint32, np.uint64
N = p.MAX_VERTICES
# What is known of a world: the words of a set; of each vertex the number of candidates, and where its rows begin.
WIDTH, COUNTS, BEGINS = 0, 1, 1 + N
WORLD_WORDS = 1 + 2 * N
# While worlds are narrowed, in shared memory after the pattern: sizes of sets; vertices that have changed; the sets.
SIZES = f.PATTERN_WORDS
CHANGED, SETS = SIZES + N, SIZES + N + 2


@kernel_factory
def make_narrow_worlds(target: Target) -> Any:
    """The kernel: a block a root.

    Its arguments: the program of `gpu.conditioning`; the pattern's edges (`state_format.pattern_words`); the store,
    with whole domains and rows; the roots, int32; words of a set; sets of all worlds (roots, n, words), uint32; what is
    known of worlds (roots, WORLD_WORDS), where the numbers of candidates are written, all 0 where a vertex has none.
    """
    cuda, WARP, lane_of, warp_of = target.cuda, target.WARP, target.lane, target.warp
    bits = bit_functions(target)
    has, all_without = bits.has, bits.all_without

    @target.device
    def row(sh, program, u, j, k, words):
        relation = U(program[U(U(p.RELATIONS + U(u * U(N))) + U(sh[U(U(f.NTH) + U(U(u << U(5)) + j))]))])
        return U(U(program[p.ROWS]) + U(U(U(relation * U(program[p.LOCALS])) * words) + k)), words

    narrow = narrow_function(target, f.NEAR, f.NTH, CHANGED, row)

    def narrow_worlds(program, pattern, store, roots, words, sets, worlds):
        sh = cuda.shared.array(0, np.uint32)
        n, root, threads = U(program[p.VERTICES]), U(program[p.ROOT]), U(cuda.blockDim.x)
        thread = U(U(warp_of() * U(WARP)) + lane_of())
        i = thread
        while i < U(f.PATTERN_WORDS):
            sh[i] = pattern[i]
            i = U(i + threads)
        set_words, others = U(n * U(words)), all_without(n, root)
        cuda.syncthreads()
        room, most = U(U(SETS) + set_words), U(0)
        for v in range(n):
            most = max(most, U(cuda.popc(sh[U(U(f.NEAR) + U(v))])))
        room_words = U(most * U(words))
        number = U(cuda.blockIdx.x)
        while number < U(len(roots)):
            x = U(roots[number])
            joined, apart = U(program[U(p.NEIGHBOURS + root)]), U(program[U(p.CONFLICTS + root)])
            t = thread
            while t < set_words:
                v = U(t // U(words))
                k = U(t - U(v * U(words)))
                word = U(store[t])
                if has(joined, v):
                    relation = U(program[U(U(p.RELATIONS + U(root * U(N))) + v)])
                    at = U(U(program[p.ROWS]) + U(U(U(U(relation * U(program[p.LOCALS])) + x) * U(words)) + k))
                    word = U(word & U(store[at]))
                if has(apart, v) and k == U(x >> U(5)):
                    word = U(word & U(~U(U(1) << U(x & U(31)))))
                sh[U(U(SETS) + t)] = word
                t = U(t + threads)
            cuda.syncthreads()
            is_left = narrow(sh, U(SETS), U(SIZES), room, room_words, store, program, U(words), others)
            t = thread
            while t < set_words:
                sets[U(U(number * set_words) + t)] = sh[U(U(SETS) + t)]
                t = U(t + threads)
            v = thread
            while v < n:
                size = U(sh[U(U(SIZES) + v)]) if is_left and v != root else U(0)
                worlds[U(U(number * U(WORLD_WORDS)) + U(U(COUNTS) + v))] = size
                v = U(v + threads)
            cuda.syncthreads()
            number = U(number + U(cuda.gridDim.x))

    return target.kernel(narrow_worlds)


@kernel_factory
def make_write_worlds(target: Target) -> Any:
    """The kernel: a warp a world.

    Its arguments: the program; the store; words of a set there; sets and what is known of the worlds, those to be
    written; room for the elements of all sets of a warp's world, uint32; the rows, uint32.
    """
    cuda, WARP, lane_of, warp_of = target.cuda, target.WARP, target.lane, target.warp
    bits = bit_functions(target)
    first_of, without_first, has = bits.first_of, bits.without_first, bits.has

    @target.device
    def put_elements(sets, begin, words, out, at):
        """Write the elements of a set; one lane does it."""
        for k in range(words):
            word = U(sets[U(begin + U(k))])
            while word != U(0):
                out[at] = U(U(U(k) << U(5)) + first_of(word))
                word, at = without_first(word), U(at + U(1))

    @target.device
    def word_of(store, row, x, is_conflict, elements, begin, end):
        """Which of up to 32 elements of another vertex the candidate x leaves."""
        word, bit = U(0), U(1)
        while begin < end:
            y = U(elements[begin])
            if is_conflict:
                leaves = y != x
            else:
                leaves = U(U(U(store[U(row + U(y >> U(5)))]) >> U(y & U(31))) & U(1)) != U(0)
            if leaves:
                word = U(word | bit)
            bit, begin = U(bit << U(1)), U(begin + U(1))
        return word

    def write_worlds(program, store, words, sets, worlds, elements, rows):
        n, root, locals_ = U(program[p.VERTICES]), U(program[p.ROOT]), U(program[p.LOCALS])
        warps = U(U(cuda.blockDim.x) // U(WARP))
        warp = U(U(U(cuda.blockIdx.x) * warps) + warp_of())
        number, room = warp, U(warp * U(n * locals_))
        while U(number * U(WORLD_WORDS)) < U(len(worlds)):
            world = U(number * U(WORLD_WORDS))
            width = U(worlds[U(world + U(WIDTH))])
            v = lane_of()
            while v < n:
                if v != root:
                    begin = U(U(U(number * n) + v) * U(words))
                    put_elements(sets, begin, U(words), elements, U(room + U(v * locals_)))
                v = U(v + U(WARP))
            cuda.syncwarp()
            for u in range(n):
                conflicts = U(program[U(p.CONFLICTS + U(u))])
                near = U(U(U(program[U(p.NEIGHBOURS + U(u))]) | conflicts) & U(~U(U(1) << root)))
                record = U(U(cuda.popc(near)) * width)
                size = U(worlds[U(world + U(U(COUNTS) + U(u)))])
                first = U(worlds[U(world + U(U(BEGINS) + U(u)))])
                t, end = lane_of(), U(record * size)
                while t < end:
                    i = U(t // record)
                    j = U(U(t - U(i * record)) // width)
                    k = U(t - U(U(i * record) + U(j * width)))
                    rest = near
                    for _ in range(j):
                        rest = without_first(rest)
                    v = first_of(rest)
                    x = U(elements[U(room + U(U(U(u) * locals_) + i))])
                    relation = U(program[U(U(p.RELATIONS + U(U(u) * U(N))) + v)])
                    row = U(U(program[p.ROWS]) + U(U(U(relation * locals_) + x) * U(words)))
                    begin = U(room + U(U(v * locals_) + U(k << U(5))))
                    last = U(U(room + U(v * locals_)) + U(worlds[U(world + U(U(COUNTS) + v))]))
                    rows[U(first + t)] = word_of(
                        store, row, x, has(conflicts, v), elements, begin, min(U(begin + U(32)), max(last, begin))
                    )
                    t = U(t + U(WARP))
            cuda.syncwarp()
            number = U(number + U(U(cuda.gridDim.x) * warps))

    return target.kernel(write_worlds)
