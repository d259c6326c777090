"""What a user waits for before the first answer: import, compiled code, the graph and its memory; and a second core.

    python tests/benchmarks/startup.py [--only NAME,...] [--json FILE]

A verdict goes by wall seconds, the least of a few repeats. `pass (CPU)` says that only the CPU seconds keep the
promise: then the machine was busy with something else. The gain of a second thread is told twice: by the wall, which
needs two free cores, and as the CPU seconds of one thread over those of the busier of two, which is what two free cores
would give.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NamedTuple

import pandas as pd
import typer
from cases import CLIQUE5, FACEBOOK, HOUSE, data_folder, load_edges
from rich.console import Console
from rich.table import Table

WIDTH = 130
IMPORT = """
import sys, time
cpu, wall = time.process_time(), time.perf_counter()
import cusubmatch
print(time.process_time() - cpu, time.perf_counter() - wall)
print("loads", [name for name in ("numba", "numpy", "pandas", "pyarrow") if name in sys.modules])
"""
FIRST_COUNT = """
import pandas as pd
import cusubmatch as csm
edges = pd.DataFrame({"src": [0, 0, 1, 2, 2, 3], "dst": [1, 2, 2, 3, 4, 4]})
for pattern in %r:
    csm.count_matches(edges, pattern)
"""
TRIANGLE, CLIQUE = "(a)--(b)--(c)--(a)", "(a)--(b)--(c)--(d)--(a)--(c), (b)--(d)"
DIRECTED = "(a)-->(b)-->(c)-->(a)"


class Row(NamedTuple):
    """A promise: its measure, the target, and what was found (`cpu` beside a wall time)."""

    what: str
    unit: str
    target: float
    found: float
    cpu: float | None = None
    note: str = ""
    at_least: bool = False

    @property
    def verdict(self) -> str:
        """Whether the promise was kept."""
        if self.found >= self.target if self.at_least else self.found <= self.target:
            return "pass"
        if self.cpu is not None and (self.cpu >= self.target if self.at_least else self.cpu <= self.target):
            return "pass (CPU)"
        return "miss"


def imports():
    """The package alone, in a new process."""
    outputs = [_python(IMPORT)[2].splitlines() for _ in range(7)]
    cpus, walls = zip(*(map(float, seconds.split()) for seconds, _ in outputs), strict=True)
    yield Row("import cusubmatch", "s", 0.3, min(walls), min(cpus), outputs[0][1])


def first_counts():
    """The first count of a new process, with compiled code cached; Python's start and pandas included."""
    for name, patterns in (("triangle", [TRIANGLE]), ("4-clique", [CLIQUE]), ("directed triangle", [DIRECTED])):
        _python(FIRST_COUNT % patterns)  # the code is cached now
        runs = [_python(FIRST_COUNT % patterns)[:2] for _ in range(5)]
        cpus, walls = zip(*runs, strict=True)
        yield Row(f"first count of a process, {name}", "s", 1.5, min(walls), min(cpus))


def first_ever():
    """The first count of all, with an empty cache: what is compiled is compiled now."""
    for name, patterns in (("triangle", [TRIANGLE]), ("4-clique", [CLIQUE]), ("both", [TRIANGLE, CLIQUE])):
        with tempfile.TemporaryDirectory() as cache:
            cpu, wall, _, said = _python(FIRST_COUNT % patterns, NUMBA_CACHE_DIR=cache)
        told = "says so" if "compiling" in said else "SAYS NOTHING"
        yield Row(f"first count ever, {name}", "s", 25, wall, cpu, told)


def build():
    """The graph of 2.7 million edges from a dataframe: seconds, and memory beyond the dataframe in bytes of the CSR."""
    import cusubmatch as csm

    edges = pd.read_parquet(data_folder() / "cnr-2000.parquet")[["src", "dst"]]
    csm.Graph.from_edgelist(edges.head())
    for name, table in (("int32 ids", edges), ("int64 ids", edges.astype("int64") * 7 + 10**12)):
        runs = []
        for _ in range(5):
            cpu, wall = time.process_time(), time.perf_counter()
            graph = csm.Graph.from_edgelist(table)
            runs.append((time.process_time() - cpu, time.perf_counter() - wall))
            size = graph.offsets.nbytes + graph.targets.nbytes
            del graph
        cpus, walls = zip(*runs, strict=True)
        yield Row(f"build 2.7 M edges, {name}", "s", 1.5, min(walls), min(cpus))
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        csm.Graph.from_edgelist(table)
        peak = tracemalloc.get_traced_memory()[1] - before
        tracemalloc.stop()
        note = f"peak {peak / 1e6:.0f} MB, CSR {size / 1e6:.0f} MB"
        yield Row(f"memory of it, {name}", "x CSR", 4, peak / size, note=note)


def threads():
    """Two threads beside one, in turn, on counts of seconds."""
    import numba

    import cusubmatch as csm

    graph = csm.Graph.from_edgelist(load_edges(FACEBOOK))
    for name, query in (("5-clique", CLIQUE5), ("house", HOUSE)):
        pattern = csm.Pattern(query.edges)
        csm.count_matches(graph, pattern)
        wall, busiest = {1: [], 2: []}, {1: [], 2: []}
        for _ in range(3):
            for n in (1, 2):
                numba.config.NUMBA_NUM_THREADS = n
                with _ThreadTimes() as times:
                    begin, cpu = time.perf_counter(), time.thread_time()
                    csm.count_matches(graph, pattern)
                    wall[n].append(time.perf_counter() - begin)
                    busiest[n].append(max([time.thread_time() - cpu, *times.cpu]))
        gain, balance = min(wall[1]) / min(wall[2]), min(busiest[1]) / min(busiest[2])
        note = f"one {min(wall[1]):.2f} s, two {min(wall[2]):.2f} s"
        yield Row(f"two threads, {name}", "x", 1.8, gain, balance, note, at_least=True)


class _ThreadTimes:
    """The CPU seconds of every thread that begins and ends within the block."""

    def __enter__(self):
        self.cpu: list[float] = []
        self._run = run = threading.Thread.run

        def timed(thread):
            begin = time.thread_time()
            run(thread)
            self.cpu.append(time.thread_time() - begin)

        threading.Thread.run = timed
        return self

    def __exit__(self, *_):
        threading.Thread.run = self._run


def _python(code, **environment):
    """Run code in a new interpreter: CPU and wall seconds of the whole process, its stdout and its stderr."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"a new interpreter failed:\n{done.stderr}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, wall, done.stdout, done.stderr


PARTS: dict[str, Callable] = {
    "import": imports,
    "first-count": first_counts,
    "first-ever": first_ever,
    "build": build,
    "threads": threads,
}


def main(
    only: Annotated[str, typer.Option(help="Comma-separated: " + ", ".join(PARTS))] = ",".join(PARTS),
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the figures to this file.")] = None,
):
    """Measure what comes before the first answer."""
    names = [name.strip() for name in only.split(",") if name.strip()]
    for name in names:
        if name not in PARTS:
            raise typer.BadParameter(f"--only: {name!r} is none of {', '.join(PARTS)}")
    load = [os.getloadavg()]
    rows = [row for name in names for row in PARTS[name]()]
    load.append(os.getloadavg())
    table = Table(title="Before the first answer")
    for column in ("what", "target", "found", "CPU", "verdict", "note"):
        table.add_column(column, justify="right" if column in {"target", "found", "CPU"} else "left")
    for row in rows:
        sign = ">=" if row.at_least else "<="
        style = "bold red" if row.verdict == "miss" else None
        cpu = "" if row.cpu is None else f"{row.cpu:.3f} {row.unit}"
        target, found = f"{sign} {row.target:g} {row.unit}", f"{row.found:.3f} {row.unit}"
        table.add_row(row.what, target, found, cpu, row.verdict, row.note, style=style)
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    console.print(table)
    console.print(f"{os.cpu_count()} cores, load average {' -> '.join(f'{one:.1f}' for one, _, _ in load)}")
    if json_file is not None:
        record = {"load": load, "rows": [row._asdict() | {"verdict": row.verdict} for row in rows]}
        json_file.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
