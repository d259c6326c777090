"""One GPU against several of the same machine: milliseconds and efficiency, t1 / (n * tn).

    python tests/benchmarks/devices.py [--devices 2] [--only NAME,...] [--sweep]

Counts that walk, skewed ones among them, cliques of a large graph made on the device, rows into a device dataframe, and
a set of labelled queries. A line of a shared run also says what cutting costs, as the seconds of all ranges over those
of one GPU, and how long the first device to finish waited. `--sweep` takes other ranges for the 5-cycle.
"""

from __future__ import annotations

import dataclasses
import time
from typing import Annotated

import numpy as np
import pandas as pd
import typer
from cases import data_folder
from scale import rmat

import cusubmatch as csm
from cusubmatch.api.options import checked_query
from cusubmatch.engines.registry import engine_on
from cusubmatch.execution.devices.device_group import Cutting
from cusubmatch.execution.query_options import QueryOptions

REPEATS = 3
LONG_S = 20.0  # what takes longer is not repeated
TARGET = 0.95
P5 = "0-1,0-2,1-3,1-4,2-3,2-4,3-4"
QUERIES, LABELS = 200, 4
SWEEP = [(1 / 2, 1 / 16), (1 / 4, 1 / 32), (1 / 8, 1 / 32), (1 / 8, 1 / 64), (1 / 16, 1 / 64), (1 / 32, 1 / 128)]


def graph_of(name):
    return csm.Graph.from_edgelist(pd.read_parquet(data_folder() / f"{name}.parquet")[["src", "dst"]].astype("int32"))


def pattern_of(edges):
    return csm.Pattern([tuple(edge.split("-")) for edge in edges.split(",")])


def best_of(call, repeats=REPEATS):
    """The least seconds of a call that was made before, and its result."""
    seconds, result = float("inf"), call()
    for _ in range(repeats):
        begin = time.perf_counter()
        again = call()
        seconds = min(seconds, time.perf_counter() - begin)
        assert again == result, "the calls differ"
        if seconds > LONG_S:
            break
    return seconds, result


def walked(G, pattern, devices, cutting=None):
    """(seconds, count, notes) of walking."""
    query = checked_query(G, pattern, QueryOptions(engine="gpu", suffix=0, devices=devices))
    if cutting is not None:
        query.engine.group = query.engine.group._replace(cutting=cutting)
    runs = []

    def call():
        runs[:] = [query.run()]
        return runs[0].count()

    with query.engine.current():
        seconds, count = best_of(call)
    return seconds, count, notes_of(runs[0])


def notes_of(run):
    """The seconds of all ranges, how many there were, and what the first device to finish waited."""
    taken = getattr(run, "taken", None)
    if not taken:
        return None
    ends = {device: max(end for by, _, _, end in taken if by == device) for device, *_ in taken}
    work_s = sum(end - begin for *_, begin, end in taken)
    begun = min(begin for _, _, begin, _ in taken)
    return work_s, len(taken), max(ends.values()) - min(ends.values()), max(ends.values()) - begun


def line(name, one_s, several_s, devices, found, notes=None):
    efficiency = one_s / (devices * several_s)
    mark = "" if efficiency >= TARGET else "  below the target"
    more = ""
    if notes is not None:
        work_s, ranges, waited_s, span_s = notes
        more = f"  {ranges} ranges, cutting {work_s / one_s:.3f}, waited {1e3 * waited_s:.1f} ms, "
        more += f"beside ranges {1e3 * (several_s - span_s):.1f} ms"
    times = f"{1e3 * one_s:10.1f} {1e3 * several_s:10.1f} {100 * efficiency:6.1f} %"
    print(f"{name:34} {found:>18,} {times}{mark}{more}", flush=True)


def walks(devices, only):
    """Counts that walk."""
    cases = [
        ("soc-Epinions1", "5-cycle", csm.Pattern.cycle(5)),
        ("ego-Twitter", "long 5-cycle", csm.Pattern.cycle(5)),
        ("rmat18", "p5", pattern_of(P5)),
    ]
    for name, called, pattern in cases:
        if only and called not in only:
            continue
        G = csm.Graph.from_edgelist(csm.generators.rmat(18, 16)) if name == "rmat18" else graph_of(name)
        one_s, count, _ = walked(G, pattern, None)
        several_s, again, notes = walked(G, pattern, devices)
        assert count == again, f"{count:,} on one, {again:,} on several"
        line(f"{name} {called}, walked", one_s, several_s, devices, count, notes)


def sweep(devices):
    """The 5-cycle with other ranges."""
    G, pattern = graph_of("soc-Epinions1"), csm.Pattern.cycle(5)
    one_s, count, _ = walked(G, pattern, None)
    for largest, smallest in SWEEP:
        cutting = dataclasses.replace(Cutting(), largest=largest, smallest=smallest)
        several_s, again, notes = walked(G, pattern, devices, cutting)
        assert count == again
        line(f"5-cycle, 1/{1 / largest:.0f} to 1/{1 / smallest:.0f}", one_s, several_s, devices, count, notes)


def cliques(devices, scale):
    """Cliques of a large graph that is made on the device."""
    import cupy

    src, dst = rmat(scale)
    G = csm.Graph.from_edgelist((src, dst))
    del src, dst
    cupy.get_default_memory_pool().free_all_blocks()
    begin = time.perf_counter()
    engine_on(1).place(G)
    copied_s = time.perf_counter() - begin
    size = sum(array.nbytes for array in (G.offsets, G.targets))
    print(f"{G}: {size / 1e9:.1f} GB copied to GPU 1 in {1e3 * copied_s:.0f} ms, {size / copied_s / 2**30:.0f} GiB/s")
    for k in (4, 3):
        one_s, count = best_of(lambda k=k: csm.count_matches(G, csm.Pattern.clique(k), engine="gpu"))
        several_s, again = best_of(lambda k=k: csm.count_matches(G, csm.Pattern.clique(k), devices=devices))
        assert count == again
        line(f"rmat{scale} {k}-clique", one_s, several_s, devices, count)


def rows(devices):
    """Embeddings of the 4-cycle into a dataframe on the device."""
    import cudf

    edges = cudf.from_pandas(pd.read_parquet(data_folder() / "soc-Epinions1.parquet")[["src", "dst"]].astype("int32"))
    G = csm.Graph.from_edgelist(edges)
    one_s, found = best_of(lambda: len(csm.subgraph_match(G, csm.Pattern.cycle(4), unique=False, engine="gpu")))
    several_s, again = best_of(lambda: len(csm.subgraph_match(G, csm.Pattern.cycle(4), unique=False, devices=devices)))
    assert found == again
    line("4-cycle rows into cuDF", one_s, several_s, devices, found)


def labelled_queries(number, labels, seed=5):
    """Random connected labelled patterns of five vertices and seven edges."""
    generator = np.random.default_rng(seed)
    patterns = {}
    for query in range(number):
        size = 5
        edges = {(int(generator.integers(0, i)), i) for i in range(1, size)}
        while len(edges) < size + 2:
            a, b = sorted(generator.choice(size, 2, replace=False).tolist())
            edges.add((a, b))
        names = {vertex: f"L{generator.integers(labels)}" for vertex in range(size)}
        patterns[f"q{query}"] = csm.Pattern(sorted(edges), labels=names)
    return patterns


def queries(devices):
    """A set of labelled queries."""
    edges = pd.read_parquet(data_folder() / "soc-Epinions1.parquet")[["src", "dst"]].astype("int32")
    ids = np.unique(edges.to_numpy())
    labels = [f"L{code}" for code in np.random.default_rng(1).integers(0, LABELS, len(ids))]
    vertices = pd.DataFrame({"vertex": ids, "label": labels})
    patterns = labelled_queries(QUERIES, LABELS)

    def total(**options):
        G = csm.Graph.from_edgelist(edges, vertices=vertices, vertex_label="label")
        csm.count_matches(G, csm.Pattern.path(2), engine="gpu")
        begin = time.perf_counter()
        table = csm.count_many(G, patterns, time_limit=20, **options)
        first_s = time.perf_counter() - begin
        begin = time.perf_counter()
        again = csm.count_many(G, patterns, time_limit=20, **options)
        assert again["count"].equals(table["count"])
        assert set(table["status"]) == {"done"}, table[table["status"] != "done"]
        return first_s, time.perf_counter() - begin, int(table["count"].sum())

    total(engine="gpu")  # compiles
    one, several = total(engine="gpu"), total(devices=devices)
    assert one[2] == several[2]
    line(f"{QUERIES} labelled queries, planned too", one[0], several[0], devices, one[2])
    line(f"{QUERIES} labelled queries, again", one[1], several[1], devices, one[2])


def main(
    devices: Annotated[int, typer.Option(help="How many GPUs.")] = 2,
    only: Annotated[str, typer.Option(help="Parts: 5-cycle, long 5-cycle, p5, cliques, rows, queries.")] = "",
    sweeping: Annotated[bool, typer.Option("--sweep", help="Other ranges for the 5-cycle.")] = False,
    scale: Annotated[int, typer.Option(help="Of the graph of the cliques.")] = 24,
):
    chosen = set(filter(None, only.split(",")))
    print(f"{'':34} {'matches':>18} {'one ms':>10} {f'{devices} GPUs ms':>10} {'eff.':>8}")
    if not chosen or chosen & {"5-cycle", "long 5-cycle", "p5"}:
        walks(devices, chosen)
    for name, part in (("rows", rows), ("queries", queries), ("cliques", lambda n: cliques(n, scale))):
        if not chosen or name in chosen:
            part(devices)
    if sweeping:
        sweep(devices)


if __name__ == "__main__":
    typer.run(main)
