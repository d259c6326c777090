"""What a warm count takes beyond its kernels, on the GPU: planning and launching, and the wait for the result.

    python tests/benchmarks/overhead.py [--only GRAPH,...] [--profile]

Whole calls of `count_matches` with everything prepared, the median of 30; beside them the kernels alone, by events: one
after the other (`kernels`), and where they are launched as one, that launch with its kernels side by side (`one`).
`beyond` is the call less `one`, or less `kernels` where they are not launched as one; CuPy's own kernels are in it.
`--profile` also tells where the time of the host goes in 200 calls.
"""

from __future__ import annotations

import cProfile
import pstats
import statistics
from typing import Annotated

import typer
from gpu import calls_ms, graph_of, kernel_ms_of, one_launch_ms, pattern_of

import cusubmatch as csm

GRAPHS = ("karate", "soc-Epinions1")
PATTERNS = {
    "triangle": "0-1,0-2,1-2",
    "4-clique": "0-1,0-2,0-3,1-2,1-3,2-3",
    "5-clique": "0-1,0-2,0-3,0-4,1-2,1-3,1-4,2-3,2-4,3-4",
    "diamond": "0-1,0-2,0-3,1-2,2-3",
    "4-cycle": "0-1,1-2,2-3,0-3",
    "p6": "0-1,0-2,1-2,1-3,1-4,2-3,2-4,3-4",
}
CALLS, PROFILED, SHOWN = 30, 200, 25


def profile(G):
    """Where the host's time goes in warm counts of 4-cliques."""
    pattern = pattern_of(PATTERNS["4-clique"])
    calls_ms(G, pattern, 1)
    profiler = cProfile.Profile()
    profiler.enable()
    for _ in range(PROFILED):
        csm.count_matches(G, pattern, engine="gpu")
    profiler.disable()
    pstats.Stats(profiler).strip_dirs().sort_stats("cumulative").print_stats(SHOWN)


def main(
    only: Annotated[str, typer.Option(help="Graphs, separated by commas.")] = ",".join(GRAPHS),
    profiled: Annotated[bool, typer.Option("--profile", help="Also profile warm 4-clique counts.")] = False,
):
    lines = []
    for name in only.split(","):
        G = graph_of(name)
        for title, edges in PATTERNS.items():
            pattern = pattern_of(edges)
            G.cache.forget("closed")
            calls_ms(G, pattern, 1)
            one = one_launch_ms(G, CALLS)  # None if it is walked
            taken, kernels = calls_ms(G, pattern, CALLS), kernel_ms_of(G, pattern, CALLS)
            call = statistics.median(taken)
            numbers = (call, min(taken), kernels, one, call - (one or kernels))
            lines.append(f"{name:14} {title:10} {' '.join(f'{n:9.3f}' if n else 9 * ' ' for n in numbers)}")
        if profiled:
            print(f"{name}: {PROFILED} counts of 4-cliques", flush=True)
            profile(G)
    titles = ("call ms", "least", "kernels", "one", "beyond")
    print(f"{'graph':14} {'pattern':10} {' '.join(f'{title:>9}' for title in titles)}")
    print("\n".join(lines), flush=True)


if __name__ == "__main__":
    typer.run(main)
