"""k-cliques of vertices whose neighbourhood fits in shared memory: bitmap rows and a queue of pairs.

A team of warps makes the rows of a vertex (`neighbourhood_rows.py`). Their pairs (i, j) go through a queue of each warp
so that every lane has one; what they have in common is an AND of two rows, and its size a population count.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint32

from cusubmatch.engines.gpu.cliques.neighbourhood_rows import WORD, TeamLayout, team_rows
from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.kernel_factory import kernel_factory
from cusubmatch.engines.gpu.runtime.warp import warp_functions

__all__ = ["WINDOW", "make_count_in_rows"]

U, L = np.uint32, np.uint64

WINDOW = 1 << 14  # ranks of a block's bitmap


@kernel_factory
def make_count_in_rows(
    target: Target, k: int, most: int, threads: int, warps: int, ticket: int, wide: bool, window: int = 0
) -> Any:
    """Cliques of k = 4 or 5 for vertices with at most `most` out-neighbours; `warps` of a block share a vertex.

    `window`: ranks of the team's bitmap; 0 for none. A vertex may be listed several times: the low half of its word in
    `shares` says which part of its rows is meant, the high half how many parts there are.
    """
    cuda, WARP, kernel, lane_of, warp_of = target.cuda, target.WARP, target.kernel, target.lane, target.warp
    layout = TeamLayout(most, warps, threads, WARP, window)
    barrier, load, mark, fill = team_rows(target, layout, wide)
    count_pairs, add_to = _pair_function(target, k), warp_functions(target, wide=False).add_to
    TICKET, WARPS, P, HAS_WINDOW = ticket, warps, L if wide else U, window > 0
    TEAMS, TEAM_WORDS, MEMORY_WORDS = layout.teams, layout.words, layout.teams * layout.words
    QUEUE, QUEUES = WARP + WORD, threads // WARP * (WARP + WORD)

    @kernel
    def count_in_rows(offsets, targets, vertices, shares, start, stop, state):
        memory = cuda.shared.array(MEMORY_WORDS, uint32)
        queues = cuda.shared.array(QUEUES, uint32)
        drawn = cuda.shared.array(TEAMS, uint32)
        lane, warp = lane_of(), warp_of()
        team, warp_in_team = U(warp // U(WARPS)), U(warp % U(WARPS))
        thread = U(U(warp_in_team * U(WARP)) + lane)
        rows, queue, total = U(team * U(TEAM_WORDS)), U(warp * U(QUEUE)), L(0)
        while True:
            barrier()
            if thread == U(0):
                drawn[team] = U(U(cuda.atomic.add(state, TICKET, L(1))) + start)
            barrier()
            item = U(drawn[team])
            if item >= stop:
                break
            u = U(vertices[item])
            base = P(offsets[u])
            size = U(P(offsets[U(u + U(1))]) - base)
            width = U(U(size + U(31)) >> U(5))
            load(targets, base, size, width, memory, rows, thread)
            barrier()
            in_window = False
            if HAS_WINDOW:
                in_window = mark(memory, rows, size, thread)
            fill(offsets, targets, size, width, memory, rows, in_window, warp_in_team, lane)
            barrier()
            share = U(shares[item])
            first = U(warp_in_team + U(U(share & U(0xFFFF)) * U(WARPS)))
            step = U(U(share >> U(16)) * U(WARPS))
            total = count_pairs(memory, rows, size, width, queues, queue, first, step, lane, total)
        add_to(state, lane, total)

    return count_in_rows


def _pair_function(target, k):
    """The device function that adds what rows `first`, `first + step`, ... of a vertex have; a warp calls it."""
    cuda, WARP, device = target.cuda, target.WARP, target.device
    put, common = _put_function(target), _common_function(target, k)

    @device
    def count_pairs(memory, rows, size, width, queues, queue, first, step, lane, total):
        """Row by row and word by word, pairs (i, j) enter the queue until every lane can have one."""
        queued, i, more = U(0), first, True
        w = U(U(i + U(1)) >> U(5))
        while more or queued > U(0):
            while more and queued < U(WARP):
                if U(i + U(1)) >= size:
                    more = False
                else:
                    word = U(memory[U(rows + U(U(i * width) + w))])
                    queued = put(queues, U(queue + queued), queued, i, w, word, lane)
                    w = U(w + U(1))
                    if w == width:
                        i = U(i + step)
                        w = U(U(i + U(1)) >> U(5))
            cuda.syncwarp()
            taken = min(queued, U(WARP))
            active, pair = lane < taken, U(0)
            queued = U(queued - taken)
            if active:
                pair = U(queues[U(queue + U(queued + lane))])
            cuda.syncwarp()
            if active:
                total = L(total + L(common(memory, rows, width, U(pair >> U(16)), U(pair & U(0xFFFF)))))
        return total

    return count_pairs


def _put_function(target):
    """The device function that writes the pairs of a word of row i to the end of a queue, and returns its length."""
    cuda, WARP, device, PARTS = target.cuda, target.WARP, target.device, WORD // target.WARP

    @device
    def put(queues, end, queued, i, w, word, lane):
        part = 0
        while part < PARTS:
            bit = U(lane + U(part * WARP))
            if U(U(word >> bit) & U(1)):
                before = U(cuda.popc(U(word & U(U(U(1) << bit) - U(1)))))
                j = U(U(w << U(5)) + bit)
                queues[U(end + before)] = U(U(i << U(16)) | j)
            part += 1
        return U(queued + U(cuda.popc(word)))

    return put


def _common_function(target, k):
    """The device function that counts the cliques of k vertices in which i and j are the lowest of the neighbours."""
    cuda, device, K = target.cuda, target.device, k

    @device
    def common(memory, rows, width, i, j):
        row_i, row_j, x, cliques = U(rows + U(i * width)), U(rows + U(j * width)), U(j >> U(5)), U(0)
        while x < width:
            both = U(U(memory[U(row_i + x)]) & U(memory[U(row_j + x)]))
            if K == 4:
                cliques = U(cliques + U(cuda.popc(both)))
            else:
                while both != U(0):
                    bit = U(U(cuda.ffs(both)) - U(1))
                    both = U(both & U(both - U(1)))
                    row_h, y = U(rows + U(U(U(x << U(5)) + bit) * width)), x
                    while y < width:
                        pair_word = U(U(memory[U(row_i + y)]) & U(memory[U(row_j + y)]))
                        cliques = U(cliques + U(cuda.popc(U(pair_word & U(memory[U(row_h + y)])))))
                        y = U(y + U(1))
            x = U(x + U(1))
        return cliques

    return common
