"""How many warps are busy in the last tenth of a run, measured in kernels that are built for that alone.

    python tests/benchmarks/balance.py [--runs N] [--only CASE,...] [--bare]

The walker: an idle warp that looks for work also notes how many are idle, in the time slot of that moment. The clique
kernels: every warp notes when it leaves. Both notes are made by functions wrapped around the product's own. Figures are
medians of the runs, in brackets the least and the most.

Which warp gets which work, and when it gives some away, is decided anew in each run, so a single run says little. A
walk is measured with the plan that a trial on this machine chooses, and with the one that estimates choose, which is
the same on all machines: figures compare only where the orders of matching, in the last column, are the same. The first
lines tell the machines apart. `--bare` measures the milliseconds of the same walks without notes: where these are much
less, the notes have disturbed what they watch.
"""

from __future__ import annotations

import functools
import math
import os
import statistics
import subprocess
import tempfile
from typing import Annotated
from unittest import mock

os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp()  # these kernels are not for anyone else

import numpy as np
import typer
from gpu import KernelClock, graph_of, pattern_of
from notes import SHIFT, SLOTS, busy_at_the_end, busy_until_they_left

import cusubmatch as csm
from cusubmatch.api.options import checked_query
from cusubmatch.engines.gpu import GpuEngine
from cusubmatch.engines.gpu.cliques import cliques
from cusubmatch.engines.gpu.cliques import orientation as oriented
from cusubmatch.engines.gpu.runtime import device, launch_batches
from cusubmatch.engines.gpu.search import workspace
from cusubmatch.engines.gpu.walker import task_ring as ring
from cusubmatch.execution.query_options import QueryOptions

TAIL = 0.1  # of the run
LONGEST_S = 60.0  # of a launch
WALKS = {
    "house": ("soc-Epinions1", "0-1,1-2,2-3,3-4,0-4,1-4"),
    "cycle5": ("soc-Epinions1", "0-1,1-2,2-3,3-4,0-4"),
}
CLIQUES = {"clique5": ("rmat18", 5)}
CONTROL, STATE = ring.CONTROL_WORDS, launch_batches.STATE_WORDS  # where the notes begin
PROBED_NS = 20_000_000
PROBE = r"""
__device__ long long now() { long long ns; asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns)); return ns; }
extern "C" __global__ void probe(long long *found, long long lasts) {
    long long begin = now(), last = begin, tick = lasts, cycles = clock64(), ns;
    do {
        ns = now();
        if (ns != last && ns - last < tick) tick = ns - last;
        last = ns;
    } while (ns - begin < lasts);
    found[0] = tick;
    found[1] = ns - begin;
    found[2] = clock64() - cycles;
}"""
ASKED = (
    "name,driver_version,mig.mode.current,clocks.sm,clocks.max.sm,clocks.mem,clocks.max.mem,power.draw,power.limit,"
    "temperature.gpu,utilization.gpu,memory.used"
)


def device_lines():
    """What tells this GPU from another: its size, its settings, the clock it runs at, the tick of its timer."""
    import cupy

    made = cupy.cuda.Device()
    size = cupy.cuda.runtime.getDeviceProperties(made.id)
    name = size["name"].decode()
    yield f"{name}: {size['multiProcessorCount']} multiprocessors, {size['l2CacheSize'] >> 20} MiB of L2 cache"
    found = cupy.zeros(3, np.int64)
    cupy.RawKernel(PROBE, "probe")((1,), (1,), (found, np.int64(PROBED_NS)))
    tick, ns, cycles = found.tolist()
    yield f"a multiprocessor runs at {1e3 * cycles / ns:,.0f} MHz; %globaltimer ticks every {tick} ns"
    if tick > 1 << SHIFT:
        yield f"THE TIMER IS TOO COARSE: slots are of {1 << SHIFT} ns"
    yield from smi_lines(made.pci_bus_id)


def smi_lines(bus_id):
    """The GPU as nvidia-smi knows it, a line a setting; without nvidia-smi a line that says so."""
    command = ["nvidia-smi", f"--query-gpu={ASKED}", "--format=csv,noheader", "-i", bus_id]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        yield f"nvidia-smi cannot be asked: {error}"
        return
    values = done.stdout.strip().split(", ")
    yield "nvidia-smi: " + ", ".join(f"{key} {value}" for key, value in zip(ASKED.split(","), values, strict=True))


def walking(graph, pattern, by_trial):
    """The query that walks all levels but the last, and its order of matching."""
    query = checked_query(graph, pattern, QueryOptions(engine="gpu", suffix=0, by_trial=by_trial))
    query = query._replace(engine=GpuEngine(device.current_device().tuned(slice_s=LONGEST_S)))
    return query, " ".join(str(level.vertex) for level in query.plan.levels) + f" ({query.plan.leaf_mode})"


def timed(query):
    """(run, count, kernel ms) of a walk in one launch."""
    run = query.run()
    with KernelClock() as clock:
        count = run.count()
        return run, count, clock.ms


def bare(graph, pattern, runs, by_trial):
    """(order, count, ms of each run) of walks without notes."""
    query, order = walking(graph, pattern, by_trial)
    query.run().count()
    found = [timed(query)[1:] for _ in range(runs)]
    return order, one(count for count, _ in found), [ms for _, ms in found]


def walker(graph, pattern, runs, by_trial):
    """(order, count, ms of each run, share of the warps that were busy in its tail) of walks with notes."""
    ring_functions, read, notes = ring.ring_functions, workspace.Workspace.read, []

    def noting(target, *arguments):
        made, cuda, IDLE = ring_functions(target, *arguments), target.cuda, ring.IDLE
        poll, clock, peek = made.poll, target.clock, target.peek

        @target.device
        def watched(ctl):
            place = np.int32(CONTROL) + np.int32(2) * np.int32((clock() >> SHIFT) & (SLOTS - 1))
            cuda.atomic.add(ctl, place, np.int32(1))
            cuda.atomic.add(ctl, place + np.int32(1), np.int32(peek(ctl, IDLE)))
            return poll(ctl)

        return made._replace(poll=watched)

    def reading(self):
        found = read(self)
        notes.append(self.state[CONTROL : CONTROL + 2 * SLOTS].astype(np.int64).reshape(-1, 2))
        self.state[CONTROL : CONTROL + 2 * SLOTS] = 0  # for the next launch
        return found

    with (
        mock.patch.object(ring, "CONTROL_WORDS", CONTROL + 2 * SLOTS),
        mock.patch.object(ring, "ring_functions", noting),
        mock.patch.object(workspace.Workspace, "read", reading),
    ):
        query, order = walking(graph, pattern, by_trial)
        query.run().count()
        counts, times, shares = [], [], []
        for _ in range(runs):
            notes.clear()
            run, count, ms = timed(query)
            if len(notes) != 1:
                raise SystemExit(f"{len(notes)} launches instead of one: their notes cannot be told apart")
            counts.append(count)
            times.append(ms)
            shares.append(busy_at_the_end(*notes[0].T, ms, TAIL, run.device_plan.blocks * run.device_plan.warps))
    return order, one(counts), times, shares


def clique(graph, k, runs):
    """As `walker`, of the clique kernels, one after the other."""
    import cupy

    made = device.current_device()
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
            timeline.append(busy_until_they_left(gone, cupy.cuda.get_elapsed_time(begin, end)))
        return int(state[0]) + (int(state[1]) << 32)

    offsets, targets, _ = graph.adjacency(graph_relations(graph))
    rows = oriented.orient(cupy, offsets[0], targets, None)
    watching = target._replace(kernel=kernel)
    counter = cliques.Cliques(watching, cupy, rows, k, processors=made.processors, to_device=made.to_device)
    counts, times, shares = [], [], []
    with mock.patch.object(launch_batches.Launches, "count", running):
        counter.count()
        for _ in range(runs):
            counts.append(counter.count())
            busy = np.concatenate(timeline)
            times.append(len(busy) * 1e-6 * (1 << SHIFT))
            shares.append(busy[-max(round(TAIL * len(busy)), 1) :].mean())
    return "", one(counts), times, shares


def graph_relations(graph):
    """The one relation of an undirected graph without labels."""
    return csm.explain(graph, csm.Pattern.clique(3), engine="gpu").relations


def one(counts):
    """The count that all runs have found."""
    found = set(counts)
    if len(found) != 1:
        raise SystemExit(f"counts differ from run to run: {sorted(found)}")
    return found.pop()


def spread(values, form):
    """The median of some values, and in brackets the least and the most."""
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def main(
    runs: Annotated[int, typer.Option(min=1, help="Measured runs of each case, after one that compiles.")] = 15,
    only: Annotated[str, typer.Option(help="Cases, separated by commas.")] = ",".join([*WALKS, *CLIQUES]),
    bare_only: Annotated[bool, typer.Option("--bare", help="Walks without notes: milliseconds alone.")] = False,
):
    chosen, graph = only.split(","), functools.cache(graph_of)
    if unknown := set(chosen) - {*WALKS, *CLIQUES}:
        raise typer.BadParameter(f"--only: expected some of {', '.join([*WALKS, *CLIQUES])}, got {', '.join(unknown)}")
    print(*device_lines(), sep="\n", flush=True)
    for name in filter(WALKS.__contains__, chosen):
        data, edges = WALKS[name]
        for by_trial in (True, False):
            title = f"{data} {name}, plan by {'trial' if by_trial else 'estimates'}"
            if bare_only:
                show(title, runs, *bare(graph(data), pattern_of(edges), runs, by_trial))
            else:
                show(title, runs, *walker(graph(data), pattern_of(edges), runs, by_trial))
    for name in filter(CLIQUES.__contains__, [] if bare_only else chosen):
        data, k = CLIQUES[name]
        show(f"{data} {name}", runs, *clique(graph(data), k, runs))
    print(*device_lines(), sep="\n")  # warm, and under the clock that the runs have left


def show(title, runs, order, count, times, shares=None):
    """Print a case."""
    print(f"{title}: {count:,} in {runs} runs, {spread(times, '.2f')} ms", end="")
    if shares:
        print(f", warps busy in the last {TAIL:.0%}: {spread(shares, '.1%')}", end="")
    print(f"; order {order}" if order else "", flush=True)


if __name__ == "__main__":
    typer.run(main)
