"""Counting by decomposition, beside walking and beside what it may take.

    python tests/benchmarks/decomposition.py [--engine cpu|gpu] [--parts counts,census,random] [--patterns N]
        [--limit SECONDS]

CPU seconds on one thread, or on a GPU seconds of whole calls. `counts` are known counts of five graphs; `census` the
motifs of five vertices of soc-Epinions1, the first time and again; `random` are connected patterns of 5 to 7 vertices
on ca-HepPh, every second one with labels, by the plan that is chosen and by walking all levels but the last; both are
ended after `--limit` seconds, so the mean is the least that it can be. A known count is warm: the plan is made, and the
best of three counts. The exit status is 1 if a count is wrong.
"""

from __future__ import annotations

import functools
import math
import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from data_graphs import load_graph

import cusubmatch as csm
from cusubmatch import Graph, Pattern
from cusubmatch.api.options import checked_query
from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.generators import kronecker, rmat

PATTERNS = {
    "4-cycle": "(a)--(b)--(c)--(d)--(a)",
    "diamond": "(a)--(b)--(c)--(d)--(a)--(c)",
    "paw": "(a)--(b)--(c)--(a)--(d)",
    "house": "(a)--(b)--(c)--(d)--(a)--(e)--(b)",
    "5-cycle": "(a)--(b)--(c)--(d)--(e)--(a)",
    "4-wheel less a spoke": "(a)--(x)--(b)--(y)--(a), (x)--(z)--(b), (y)--(z)",
}
KRONECKER = "kronecker-25-81-256-B1k"
# Graph, patterns counted together, CPU seconds and seconds of a GPU that they may take, and their counts.
COUNTS = (
    ("soc-Epinions1", ("4-cycle",), 0.1, 0.00075, (166_635_817,)),
    ("soc-Epinions1", ("house",), 0.6, 0.004, (32_978_666_318,)),
    ("soc-Epinions1", ("5-cycle",), 3.0, 0.02, (21_393_207_699,)),
    ("soc-Epinions1", ("4-wheel less a spoke",), 2.5, 0.03, (4_729_789_840,)),
    ("cnr-2000", ("4-cycle",), 0.2, 0.0019, (81_330_781_033,)),
    ("cnr-2000", ("house",), 2.0, 0.02, (10_044_489_064_349,)),
    ("cnr-2000", ("5-cycle",), 4.0, 0.02, (3_346_459_553_653,)),
    ("rmat18", ("4-cycle",), None, 0.02, (51_080_120_976,)),
    (
        "facebook_combined",
        ("diamond", "4-cycle", "paw", "house"),
        0.6,
        None,
        (228_787_050, 144_023_053, 703_783_680, 62_775_353_409),
    ),
    (KRONECKER, ("4-cycle", "house"), 3.0, None, (220_899_254_580, 5_885_082_691_200)),
)
CENSUS_SECONDS = {"cpu": 12.0, "gpu": 1.0}
CLOCKS = {"cpu": time.process_time, "gpu": time.perf_counter}
LABELS = "ABCD"
SEED = 4


def main(
    parts: Annotated[str, typer.Option(help="Comma-separated: counts, census, random")] = "counts,census,random",
    patterns: Annotated[int, typer.Option(help="Random patterns.")] = 200,
    limit: Annotated[float, typer.Option(help="Seconds that walking a random pattern may take.")] = 3.0,
    engine: str = "cpu",
):
    """Measure, and print one table a part."""
    chosen, console, right = parts.split(","), Console(width=120), True
    if "counts" in chosen:
        right &= _counts(console, engine)
    if "census" in chosen:
        _census(console, engine)
    if "random" in chosen:
        right &= _random(console, engine, patterns, limit)
    raise typer.Exit(0 if right else 1)


def _graph(name):
    if name == KRONECKER:
        return Graph.from_edgelist(kronecker((25, 81, 256), "B1k"))
    return Graph.from_edgelist(rmat(18, 16)) if name == "rmat18" else load_graph(name)


def _counts(console, engine):
    table = Table("graph", "patterns", "may take", "takes", "counts", title=f"known counts, ms, {engine}")
    every = True
    for name, names, on_cpu, on_gpu, truth in COUNTS:
        target = {"cpu": on_cpu, "gpu": on_gpu}[engine]
        if target is None:
            continue
        graph, seconds, counts = _graph(name), 0.0, []
        for pattern in names:
            count, took = _warm(functools.partial(csm.count_matches, graph, PATTERNS[pattern], engine=engine), engine)
            counts.append(count)
            seconds += took
        right = tuple(counts) == truth
        every &= right
        said = "right" if right else f"WRONG {counts}"
        table.add_row(name, ", ".join(names), f"{1e3 * target:g}", f"{1e3 * seconds:.3f}", said)
    console.print(table)
    return every


def _warm(count, engine):
    """A count, and the seconds of the best of three after one that prepares."""
    count()
    best = math.inf
    for _ in range(3):
        begin = CLOCKS[engine]()
        found = count()
        best = min(best, CLOCKS[engine]() - begin)
    return found, best


def _census(console, engine):
    graph, seconds = load_graph("soc-Epinions1"), []
    for _ in range(2):
        begin = CLOCKS[engine]()
        census = csm.motif_census(graph, 5, engine=engine)
        seconds.append(CLOCKS[engine]() - begin)
    console.print(census.to_string())
    first, again = seconds
    may = f"may take {CENSUS_SECONDS[engine]:g}"
    console.print(f"census of soc-Epinions1, 5 vertices, {engine}: {first:.2f} s, again {again:.3f} s, {may}")


def random_patterns(number):
    """Connected patterns of 5 to 7 vertices, the same at each call; every second one has labels."""
    draw = random.Random(SEED)
    for index in range(number):
        size = draw.randint(5, 7)
        pairs = {(draw.randrange(v), v) for v in range(1, size)}
        for _ in range(draw.choice((0, 0, 1, 1, 2, 3, 4))):
            pairs.add(tuple(sorted(draw.sample(range(size), 2))))
        labels = {v: draw.choice(LABELS) for v in range(size) if draw.random() < 0.7} if index % 2 else {}
        yield Pattern(sorted(pairs), vertices=range(size), labels=labels)


def _random(console, engine, number, limit):
    plain = load_graph("ca-HepPh")
    ids = np.arange(plain.n_vertices)
    edges = pd.read_parquet(Path(_folder()) / "ca-HepPh.parquet")
    vertices = pd.DataFrame({"vertex": ids, "label": np.random.default_rng(SEED).choice(list(LABELS), len(ids))})
    graph = Graph.from_edgelist(edges, "src", "dst", vertices=vertices, vertex_label="label")
    ratios, slower, wrong, ways, late = [], [], 0, Counter(), Counter()
    for index, pattern in enumerate(random_patterns(number)):
        plan = checked_query(graph, pattern, QueryOptions(engine=engine)).plan
        by_tables = plan.tables is not None and plan.tables.first
        ways["tables" if by_tables else "suffix" if plan.suffix is not None else "walking"] += 1
        query = checked_query(graph, pattern, QueryOptions(engine=engine, time_limit=limit, suffix=0))
        begin, walk = CLOCKS[engine](), query.run()
        try:
            walked = walk.count()
        except DeadlinePassed:
            walked = None
            late["walking"] += 1
        walking = CLOCKS[engine]() - begin
        begin = CLOCKS[engine]()
        try:
            count = csm.count_matches(graph, pattern, engine=engine, time_limit=limit)
        except csm.TimeLimitExceeded:
            count = None
            late["chosen"] += 1
        took = CLOCKS[engine]() - begin
        wrong += walked is not None and count is not None and walked != count
        ratios.append(walking / took)
        if took > 1.1 * walking and took - walking > 0.005:
            slower.append((index, f"{took:.3f} s for {walking:.3f} s", repr(pattern)))
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    table = Table("patterns", "chosen", "ended", "geometric mean", "least", "slower by a tenth and 5 ms", "wrong")
    table.title = f"walking over the chosen way, each ended after {limit:g} s, ca-HepPh"
    chosen, ended = (", ".join(f"{way} {many}" for way, many in some.items()) for some in (ways, late))
    table.add_row(str(number), chosen, ended, f"{mean:.1f}", f"{min(ratios):.2f}", str(len(slower)), str(wrong))
    console.print(table)
    for one in slower:
        console.print(*one)
    return not wrong


def _folder():
    from data_graphs import data_folder

    return data_folder()


if __name__ == "__main__":
    typer.run(main)
