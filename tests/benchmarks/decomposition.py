"""CPU seconds of counting by decomposition on one thread, beside walking and beside what they may be.

    python tests/benchmarks/decomposition.py [--parts counts,census,random] [--patterns N] [--limit SECONDS]

`counts` are known counts of four graphs; `census` the motifs of five vertices of soc-Epinions1; `random` are connected
patterns of 5 to 7 vertices on ca-HepPh, every second one with labels, by the plan that is chosen and by walking all
levels but the last; both are ended after `--limit` seconds, so the mean is the least that it can be. A known count is
warm: the plan is made, and the better of two counts. The exit status is 1 if a count is wrong.
"""

from __future__ import annotations

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
from conftest import load_graph

import cusubmatch as csm
from cusubmatch import Graph, Pattern
from cusubmatch.errors import DeadlinePassed
from cusubmatch.generators import kronecker
from cusubmatch.query import make_query

PATTERNS = {
    "4-cycle": "(a)--(b)--(c)--(d)--(a)",
    "diamond": "(a)--(b)--(c)--(d)--(a)--(c)",
    "paw": "(a)--(b)--(c)--(a)--(d)",
    "house": "(a)--(b)--(c)--(d)--(a)--(e)--(b)",
    "5-cycle": "(a)--(b)--(c)--(d)--(e)--(a)",
    "4-wheel less a spoke": "(a)--(x)--(b)--(y)--(a), (x)--(z)--(b), (y)--(z)",
}
KRONECKER = "kronecker-25-81-256-B1k"
# Graph, patterns counted together, CPU seconds that they may take, and their counts.
COUNTS = (
    ("soc-Epinions1", ("4-cycle",), 0.1, (166_635_817,)),
    ("soc-Epinions1", ("house",), 0.6, (32_978_666_318,)),
    ("soc-Epinions1", ("5-cycle",), 3.0, (21_393_207_699,)),
    ("soc-Epinions1", ("4-wheel less a spoke",), 2.5, (4_729_789_840,)),
    ("cnr-2000", ("4-cycle",), 0.2, (81_330_781_033,)),
    ("cnr-2000", ("house",), 2.0, (10_044_489_064_349,)),
    ("cnr-2000", ("5-cycle",), 4.0, (3_346_459_553_653,)),
    (
        "facebook_combined",
        ("diamond", "4-cycle", "paw", "house"),
        0.6,
        (228_787_050, 144_023_053, 703_783_680, 62_775_353_409),
    ),
    (KRONECKER, ("4-cycle", "house"), 3.0, (220_899_254_580, 5_885_082_691_200)),
)
CENSUS_SECONDS = 12.0
LABELS = "ABCD"
SEED = 4


def main(
    parts: Annotated[str, typer.Option(help="Comma-separated: counts, census, random")] = "counts,census,random",
    patterns: Annotated[int, typer.Option(help="Random patterns.")] = 200,
    limit: Annotated[float, typer.Option(help="Seconds that walking a random pattern may take.")] = 3.0,
):
    """Measure, and print one table a part."""
    chosen, console, right = parts.split(","), Console(width=120), True
    if "counts" in chosen:
        right &= _counts(console)
    if "census" in chosen:
        _census(console)
    if "random" in chosen:
        right &= _random(console, patterns, limit)
    raise typer.Exit(0 if right else 1)


def _counts(console):
    table = Table("graph", "patterns", "may take", "takes", "counts", title="known counts, CPU seconds")
    every = True
    for name, names, target, truth in COUNTS:
        graph = Graph.from_edgelist(kronecker((25, 81, 256), "B1k")) if name == KRONECKER else load_graph(name)
        seconds, counts = 0.0, []
        for pattern in names:
            count, took = _warm(
                lambda graph=graph, pattern=pattern: csm.count_matches(graph, PATTERNS[pattern], engine="cpu")
            )
            counts.append(count)
            seconds += took
        right = tuple(counts) == truth
        every &= right
        table.add_row(name, ", ".join(names), f"{target:g}", f"{seconds:.3f}", "right" if right else f"WRONG {counts}")
    console.print(table)
    return every


def _warm(count):
    """A count, and the CPU seconds of the better of two after one that prepares."""
    count()
    best = math.inf
    for _ in range(2):
        begin = time.process_time()
        found = count()
        best = min(best, time.process_time() - begin)
    return found, best


def _census(console):
    begin = time.process_time()
    census = csm.motif_census(load_graph("soc-Epinions1"), 5, engine="cpu")
    seconds = time.process_time() - begin
    console.print(census.to_string())
    console.print(f"census of soc-Epinions1, 5 vertices: {seconds:.1f} CPU s, may take {CENSUS_SECONDS:g}")


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


def _random(console, number, limit):
    plain = load_graph("ca-HepPh")
    ids = np.arange(plain.n_vertices)
    edges = pd.read_parquet(Path(_folder()) / "ca-HepPh.parquet")
    vertices = pd.DataFrame({"vertex": ids, "label": np.random.default_rng(SEED).choice(list(LABELS), len(ids))})
    graph = Graph.from_edgelist(edges, "src", "dst", vertices=vertices, vertex_label="label")
    ratios, slower, wrong, ways, late = [], [], 0, Counter(), Counter()
    for index, pattern in enumerate(random_patterns(number)):
        plan = make_query(graph, pattern, "monomorphism", None, "cpu", None, counting=True).plan
        by_tables = plan.tables is not None and plan.tables.first
        ways["tables" if by_tables else "suffix" if plan.suffix is not None else "walking"] += 1
        query = make_query(graph, pattern, "monomorphism", None, "cpu", limit, counting=True, suffix=0)
        begin, walk = time.process_time(), query.run()
        try:
            walked = walk.count()
        except DeadlinePassed:
            walked = None
            late["walking"] += 1
        walking = time.process_time() - begin
        begin = time.process_time()
        try:
            count = csm.count_matches(graph, pattern, engine="cpu", time_limit=limit)
        except csm.TimeLimitExceeded:
            count = None
            late["chosen"] += 1
        took = time.process_time() - begin
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
    from conftest import data_folder

    return data_folder()


if __name__ == "__main__":
    typer.run(main)
