"""What the GPU's benchmark asks of the chip: searches and probes, counted natively on one core; no GPU needed.

    python tests/benchmarks/work.py [--only GRAPH,...] [--seconds S] [--log FILE]

The kernels run as a warp of one lane, with functions that count around the binary search, the look into a hub's bitmap
and the population count. `searches`, the `probes` in them and `bits` of hubs' bitmaps are in millions, as are the
`words` that cliques AND together (in shared memory) and the list `elements` that triangles look up in a bitmap there.
Walks look at one root of `every`, as many as the seconds allow, and are scaled up: with 1 they are exact, else
`sample` tells how much of the true count the scaled sample has. The plan is the cheapest by the estimates; on a GPU a
trial may choose another. `least ms` is what the searches and bits take at the rates measured on an H200 with data in
the L2 cache. With the output of `gpu.py` as --log: its ms, and the searches and bits a second.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer
from gpu import PEERS, graph_edges, pattern_of
from numba import carray, njit, types
from numba.extending import intrinsic

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from plans import plan_for
from targets import one_lane

import cusubmatch as csm
from cusubmatch.engines.gpu.cliques.cliques import Cliques
from cusubmatch.engines.gpu.cliques.orientation import orient
from cusubmatch.engines.gpu.cliques.triangles import Triangles
from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.gpu.search.run import Run

SEARCHES, BITS = 20e9, 143e9  # a second, in lists of 256 in L2, and single gathers from there
SHARED = 232_448  # bytes of a multiprocessor, as on an H200
LONGEST_S = 0.005  # estimate, on the GPU, of a closed count that is done on one core
FIRST_SAMPLE = 4096

tallies = np.zeros(4, np.int64)
ADDRESS = tallies.ctypes.data
SEARCH, PROBE, BIT, WORD = range(4)


@intrinsic
def _pointer(_context, address):
    """The address of the tallies as a pointer: a global array would be a constant."""

    def generate(_context, builder, _signature, arguments):
        return builder.inttoptr(arguments[0], _context.get_value_type(types.CPointer(types.int64)))

    return types.CPointer(types.int64)(types.intp), generate


@njit
def _tally(which, amount):
    carray(_pointer(ADDRESS), 4)[which] += amount


def counting():
    """The native target, with tallies."""
    target = one_lane()
    device, population = target.device, target.cuda.popc

    def tallied(function):
        compiled = device(function)
        if function.__name__ == "find":

            @njit
            def find(col, base, n, x):
                left, probes = n, 0
                while left:
                    left >>= 1
                    probes += 1
                _tally(SEARCH, 1)
                _tally(PROBE, probes)
                return compiled(col, base, n, x)

            return find
        if function.__name__ == "marked":

            @njit
            def marked(sh, bitmaps, hub, x):
                _tally(BIT, 1)
                return compiled(sh, bitmaps, hub, x)

            return marked
        return compiled

    @njit
    def popc(word):
        _tally(WORD, 1)
        return population(word)

    target.cuda.popc = popc
    return target._replace(device=tallied)


def closed(target, graph, k):
    """(count, elements) of cliques by their own kernels; None if they take too long here."""
    rows = orient(np, graph.offsets, graph.targets)
    counter = Triangles(target, np, rows) if k == 3 else Cliques(target, np, rows, k)
    if counter._launches._total_s > LONGEST_S:
        return None
    tallies[:] = 0
    return counter.count(), counter._items.work if k == 3 else 0


def walked(target, plan, prepared, seconds):
    """(count, one root of how many) of a walk, as large a sample as may be expected to take the seconds."""
    machine, every, compiled = Device(target, 132, SHARED), FIRST_SAMPLE, False
    while True:
        tallies[:] = 0
        begin = time.perf_counter()
        count = Run(prepared, plan, gpu=machine.tuned(slice_s=1e9), sample_share=every).count()
        long = 4 * (time.perf_counter() - begin) > seconds
        if every == 1 or (long and compiled):
            return count, every
        if long:
            compiled = True  # what took long may have been that: once more
        else:
            every, compiled = every // 4, False


def milliseconds(log):
    """What `gpu.py` said that walking each graph and pattern took."""
    rows = [line.split() for line in log.read_text().splitlines()] if log else []
    return {(row[0], row[1]): float(row[4]) for row in rows if len(row) >= 9 and row[2].replace(",", "").isdigit()}


def main(
    only: Annotated[str, typer.Option(help="Graphs, separated by commas.")] = "",
    seconds: Annotated[float, typer.Option(help="About how long a walk may take here.")] = 4.0,
    log: Annotated[Path | None, typer.Option(help="What gpu.py printed.")] = None,
):
    target, taken = counting(), milliseconds(log)
    titles = ("searches", "probes", "bits", "words", "elements", "every", "sample", "least ms", "ms", "G/s")
    print(f"{'graph':14} {'pattern':18} {' '.join(f'{title:>9}' for title in titles)}", flush=True)
    for name, cells in pd.read_csv(PEERS, sep="\t").groupby("graph", sort=False):
        if only and name not in only.split(","):
            continue
        graph = csm.Graph.from_edgelist(graph_edges(name))
        for cell in cells.itertuples():
            plan, prepared = plan_for(graph, pattern_of(cell.edges), methods=("warps",))
            every, elements, words = 1, 0.0, "-"
            if plan.is_specialised:
                found = closed(target, graph, len(plan.levels))
                if found is None:
                    print(f"{name:14} {cell.pattern:18} takes too long on one core", flush=True)
                    continue
                count, elements = found
                words = f"{tallies[WORD] / 1e6:.1f}"
            else:
                count, every = walked(target, plan, prepared, seconds)
            searches, probes, bits = (every * int(tallies[which]) for which in (SEARCH, PROBE, BIT))
            ms = taken.get((name, cell.pattern))
            figures = [f"{1e-6 * number:.1f}" for number in (searches, probes, bits)]
            figures += [words, f"{1e-6 * elements:.1f}", str(every), f"{every * count / cell.count:.0%}"]
            figures += [f"{1e3 * (searches / SEARCHES + bits / BITS):.3f}"]
            figures += [f"{ms:.3f}", f"{1e-6 * (searches + bits) / ms:.1f}"] if ms else ["", ""]
            print(f"{name:14} {cell.pattern:18} {' '.join(f'{figure:>9}' for figure in figures)}", flush=True)


if __name__ == "__main__":
    typer.run(main)
