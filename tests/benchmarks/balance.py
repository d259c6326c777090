"""How many warps are busy in the last tenth of a run, measured in kernels that are built for that alone.

    python tests/benchmarks/balance.py

The walker: an idle warp that looks for work also notes how many are idle, in the time slot of that moment. The clique
kernels: every warp notes when it leaves. Both notes are made by functions wrapped around the product's own.
"""

from __future__ import annotations

import math
import os
import tempfile
from unittest import mock

os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp()  # these kernels are not for anyone else

import cupy
import numpy as np
from gpu import KernelClock, graph_of, pattern_of

import cusubmatch as csm
from cusubmatch.gpu import cliques, machine, oriented, pieces, ring, workspace
from cusubmatch.query import make_query

SLOTS, SHIFT = 1 << 14, 15  # slots of 33 µs, in circular order
TAIL = 0.1  # of the run
LONGEST_S = 60.0  # of a launch
HOUSE = "0-1,1-2,2-3,3-4,0-4,1-4"
CYCLE5 = "0-1,1-2,2-3,3-4,0-4"
CONTROL, STATE = ring.CONTROL, pieces.STATE_WORDS  # where the notes begin


def walker(graph, pattern):
    """(count, ms, share of the warps that were busy in the tail) of a walk."""
    ring_functions, read, notes = ring.ring_functions, workspace.Workspace.read, []

    def noting(target, *arguments):
        made, cuda, IDLE = ring_functions(target, *arguments), target.cuda, ring.IDLE
        look, clock, peek = made.look, target.clock, target.peek

        @target.device
        def watched(ctl):
            place = np.int32(CONTROL) + np.int32(2) * np.int32((clock() >> SHIFT) & (SLOTS - 1))
            cuda.atomic.add(ctl, place, np.int32(1))
            cuda.atomic.add(ctl, place + np.int32(1), np.int32(peek(ctl, IDLE)))
            return look(ctl)

        return made._replace(look=watched)

    def reading(self):
        found = read(self)
        notes.append(self.state[CONTROL : CONTROL + 2 * SLOTS].astype(np.int64).reshape(-1, 2))
        self.state[CONTROL : CONTROL + 2 * SLOTS] = 0  # for the next launch
        return found

    with (
        mock.patch.object(ring, "CONTROL", CONTROL + 2 * SLOTS),
        mock.patch.object(ring, "ring_functions", noting),
        mock.patch.object(workspace.Workspace, "read", reading),
    ):
        query = make_query(graph, pattern, "monomorphism", None, "gpu", None, counting=True, suffix=0)
        query.run(slice_s=LONGEST_S).count()
        run = query.run(slice_s=LONGEST_S)
        with KernelClock() as timed:
            count = run.count()
            ms = timed.ms
    looks, idle = notes[-1].T
    used = np.flatnonzero(looks)
    last = used[np.diff(np.append(used, used[0] + SLOTS)).argmax()]  # before the longest time without a note
    tail = (last - np.arange(max(round(TAIL * ms * 1e6) >> SHIFT, 1))) % SLOTS
    away = np.where(looks[tail] > 0, idle[tail] / np.maximum(looks[tail], 1), 0).mean()
    return count, ms, 1 - away / (run.prepared.blocks * run.prepared.warps)


def clique(graph, k):
    """(count, ms, share of the warps that were busy in the tail) of the clique kernels, one after the other."""
    made = machine.machine()
    target, timeline = made.target, []

    def kernel(function):
        body, lane_of, clock, cuda = target.device(function), target.lane, target.clock, target.cuda

        @target.device
        def note(state):
            if lane_of() == np.uint32(0):
                cuda.atomic.add(state, np.int64(STATE) + np.int64((clock() >> SHIFT) & (SLOTS - 1)), np.uint64(1))

        def in_words(offsets, targets, vertices, start, stop, state):
            body(offsets, targets, vertices, start, stop, state)
            note(state)

        def in_rows(offsets, targets, vertices, shares, start, stop, state):
            body(offsets, targets, vertices, shares, start, stop, state)
            note(state)

        watched = {"count_in_words": in_words, "count_in_rows": in_rows}
        return target.kernel(watched.get(function.__name__, function))

    def running(_, steps, *__):
        state = cupy.zeros(STATE + SLOTS, np.uint64)
        timeline.clear()
        for step in steps(math.inf):
            state[STATE:] = 0
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            begin.record()
            step.launch(made.to_device(state))
            end.record()
            gone = state[STATE:].get().astype(np.int64)
            length = max(round(1e6 * cupy.cuda.get_elapsed_time(begin, end)) >> SHIFT, 1)
            used = np.flatnonzero(gone)
            last = used[np.diff(np.append(used, used[0] + SLOTS)).argmax()]
            after = gone[(last - np.arange(length)) % SLOTS]  # warps that left, from the end backwards
            timeline.append((np.cumsum(after) / gone.sum())[::-1])
        return int(state[0]) + (int(state[1]) << 32)

    offsets, targets = graph.adjacency(graph_relations(graph))
    rows = oriented.orient(cupy, offsets[0], targets, None)
    watching = target._replace(kernel=kernel)
    counter = cliques.Cliques(watching, cupy, rows, k, processors=made.processors, to_device=made.to_device)
    with mock.patch.object(pieces.Launches, "count", running):
        counter.count()
        count = counter.count()
    busy = np.concatenate(timeline)
    return count, len(busy) * 1e-6 * (1 << SHIFT), busy[-max(round(TAIL * len(busy)), 1) :].mean()


def graph_relations(graph):
    """The one relation of an undirected graph without labels."""
    return csm.explain(graph, csm.Pattern.clique(3), engine="gpu").relations


if __name__ == "__main__":
    epinions, skewed = graph_of("soc-Epinions1"), graph_of("rmat18")
    for name, (count, ms, share) in {
        "soc-Epinions1 house": walker(epinions, pattern_of(HOUSE)),
        "soc-Epinions1 cycle5": walker(epinions, pattern_of(CYCLE5)),
        "rmat18 clique5": clique(skewed, 5),
    }.items():
        print(f"{name:22} {count:>16,} {ms:8.2f} ms, warps busy in the last {TAIL:.0%}: {share:.1%}", flush=True)
