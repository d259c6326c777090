"""Whether size classes and thresholds of the GPU's kernels stand where they should: each halved and doubled in turn.

    python tests/benchmarks/thresholds.py [--only GRAPH,...] [--budget SECONDS]

Kernel milliseconds by events, the best of two, counts checked against the default's. Varied are the ends of the classes
of `cliques.Limits`, `triangles.LONG`, and `Tunables.max_hubs` for the diamond and the 4-cycle. What takes over 200 ms
as it is is not varied, nor is anything once the budget is spent. R-MAT graphs are made on the device.
"""

from __future__ import annotations

import functools
import time
from typing import Annotated
from unittest import mock

import typer
from gpu import BOUND, graph_of, kernel_ms, pattern_of
from scale import rmat

import cusubmatch as csm
from cusubmatch.engines.gpu.cliques import orientation as oriented
from cusubmatch.engines.gpu.cliques.cliques import Cliques, Limits
from cusubmatch.engines.gpu.cliques.neighbourhood_rows import WORD
from cusubmatch.engines.gpu.cliques.triangles import LONG, Triangles
from cusubmatch.engines.gpu.runtime import device
from cusubmatch.engines.gpu.tunables import Tunables
from cusubmatch.engines.registry import engine_named

GRAPHS = ("soc-Epinions1", "ego-Twitter", "dblp-2010", "ca-AstroPh", "rmat20", "rmat22")
WALKED = {"diamond": "0-1,0-2,0-3,1-2,2-3", "4-cycle": "0-1,1-2,2-3,0-3"}
REPEATS = 2
LONGEST_MS = 200.0  # of a default that is varied
LONGEST_S = 1.0  # of a default at all
MOST_BLOCK = 512
MADE = ("device rows", *BOUND)  # what depends on the number of hubs


class TooLong(Exception):
    """A count that takes too long to be varied."""


def timed(count, expected=None):
    """(kernel ms, count) of a function that counts; it is given a check that raises TooLong when time is over."""
    found = set()

    def once():
        begin: list[float] = []

        def check(*_):  # by its first call all is compiled
            begin.append(time.perf_counter())
            if begin[-1] - begin[0] > LONGEST_S:
                raise TooLong

        found.add(count(check))

    ms = kernel_ms(once, REPEATS)
    if len(found) != 1 or expected not in {None, *found}:
        raise AssertionError(f"counts differ: {found}, expected {expected}")
    return ms, found.pop()


def closed(G):
    """(pattern, {variation: a function that makes a counter}) of triangles and cliques; the default comes first."""
    gpu = device.current_device()
    offsets, targets, _ = G.adjacency(csm.explain(G, csm.Pattern.clique(3), engine="gpu").relations)
    graph = oriented.orient(G.xp, offsets[0], targets)
    given = {"processors": gpu.processors, "to_device": gpu.to_device}
    largest = int(graph.degrees.max())

    def triangles(long):
        return functools.partial(Triangles, gpu.target, G.xp, graph, long=long, **given)

    def cliques(k, limits):
        return functools.partial(Cliques, gpu.target, G.xp, graph, k, limits=limits, **given)

    yield "triangle", {f"LONG={long}": triangles(long) for long in (LONG, LONG // 2, 2 * LONG)}
    limits = Limits()
    tried = {"as it is": None, "limits": limits, "warp=32": limits._replace(warp=WORD)}
    for name, most in (("word", WORD), ("warp", limits.block), ("block", MOST_BLOCK)):
        for end in (getattr(limits, name) // 2, getattr(limits, name) * 2):
            if end <= most and (end < largest or getattr(limits, name) < largest):
                tried[f"{name}={end}"] = limits._replace(**{name: end})
    for k in (4, 5):
        yield f"{k}-clique", {name: cliques(k, some) for name, some in tried.items()}


def walked(G, edges):
    """{variation: a function that counts} of a walked pattern; the default comes first."""

    def count(hubs, check):
        gpu = device.current_device().tuned(max_hubs=hubs)
        with mock.patch.object(engine_named("gpu"), "gpu", gpu):
            try:
                return csm.count_matches(G, pattern_of(edges), engine="gpu", time_limit=LONGEST_S)
            except csm.TimeLimitExceeded:
                raise TooLong from None

    return {f"max_hubs={hubs}": functools.partial(count, hubs) for hubs in hubs_tried()}


def hubs_tried():
    max_hubs = Tunables().max_hubs
    return max_hubs, max_hubs // 2, 2 * max_hubs


def cell(G, graph, pattern, variations, late):
    """Measure one graph and pattern and print the line."""
    default = best = best_name = expected = None
    variations = list(variations.items())[::-1]
    while variations:  # a counter and its arrays go when it is done
        name, make = variations.pop()
        if default is not None and (default > LONGEST_MS or late()):
            best_name = f"{best_name} (not all were tried)"
            break
        G.cache.forget(*MADE)
        try:
            ms, expected = timed(make, expected)
        except TooLong:
            print(f"{graph:14} {pattern:9} {name}: over {LONGEST_S} s", flush=True)
            if default is None:
                return
            continue
        default = ms if default is None else default
        if best is None or ms < best:
            best, best_name = ms, name
    print(f"{graph:14} {pattern:9} {default:9.3f} {best:9.3f} {default / best:6.2f}  {best_name}", flush=True)


def made(name):
    """A graph on the device."""
    if name.startswith("rmat"):
        import cupy

        graph = csm.Graph.from_edgelist(rmat(int(name[4:])))
        cupy.get_default_memory_pool().free_all_blocks()
        return graph.device
    return graph_of(name)


def main(
    only: Annotated[str, typer.Option(help="Graphs, separated by commas.")] = ",".join(GRAPHS),
    budget: Annotated[float, typer.Option(help="Seconds after which nothing more is varied.")] = 110.0,
):
    begin = time.perf_counter()

    def late():
        return time.perf_counter() - begin > budget

    print(f"{'graph':14} {'pattern':9} {'as is ms':>9} {'best ms':>9} {'ratio':>6}  best variation", flush=True)
    for name in only.split(","):
        if late():
            print(f"{name}: left out, the budget of {budget:g} s is spent")
            continue
        G = made(name)
        for pattern, makers in closed(G):
            cell(G, name, pattern, {title: kept(maker) for title, maker in makers.items()}, late)
        for pattern, edges in WALKED.items():
            csm.explain(G, pattern_of(edges), engine="gpu")  # one plan for all variations
            cell(G, name, pattern, walked(G, edges), late)
    print(f"{time.perf_counter() - begin:.0f} s in all")


def kept(maker):
    """A count by a counter that is made when it is first asked for."""
    made: list = []

    def count(check):
        if not made:
            made.append(maker())
        return made[0].count(check)

    return count


if __name__ == "__main__":
    typer.run(main)
