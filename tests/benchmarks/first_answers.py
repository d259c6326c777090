"""The first answers of a GPU machine: each call in a new process, with nothing compiled yet and then with all of it.

    python tests/benchmarks/first_answers.py [--package FOLDER ...] [--only NAME,...] [--together]

A cold process has empty folders for compiled code, CuPy's too. Seconds are those of the call, after the import of the
package and with the edges in a host dataframe; then those of the whole process. `compiled` is how many kernels are in
the folder then. With --together the processes run side by side and say how long CuPy's compiler took; else one after
another. `--package` compares several checkouts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer
from cases import data_folder

PATTERNS = {
    "triangle": "0-1,0-2,1-2",
    "4-clique": "0-1,0-2,0-3,1-2,1-3,2-3",
    "p5": "0-1,0-2,1-3,1-4,2-3,2-4,3-4",
    "wheel": "0-1,0-2,0-3,0-4,1-2,1-3,2-4,3-4",
    "5-cycle": "0-1,1-2,2-3,3-4,0-4",
    "labelled 8": "",
    "4-cycle rows": "0-1,1-2,2-3,0-3",
}
CALL = """
import json, os, sys, time
begun = time.perf_counter()
import pandas as pd
name, edges, folder, together = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4] == "1"
cupy_s, cupy_calls = [0.0], [0]
if together:
    import cupy.cuda.compiler as compiler
    from unittest import mock
    original = compiler.compile_using_nvrtc
    def timed(*arguments, **named):
        before = time.perf_counter()
        try:
            return original(*arguments, **named)
        finally:
            cupy_s[0] += time.perf_counter() - before
            cupy_calls[0] += 1
    compiler.compile_using_nvrtc = timed
import cusubmatch as csm
def pattern():
    return csm.Pattern([tuple(edge.split("-")) for edge in edges.split(",")])
if name == "labelled 8":
    table = pd.read_parquet(f"{folder}/yeast.parquet")[["src", "dst"]]
    labels = pd.read_parquet(f"{folder}/yeast.labels.parquet")
    queries = pd.read_parquet(f"{folder}/yeast.queries.parquet")
    rows = queries[queries["query"] == "query_dense_8_1"]
    vertices, links = rows[rows["part"] == "v"], rows[rows["part"] == "e"]
    labels_of = dict(zip(vertices.a.tolist(), vertices.b.tolist()))
    made = csm.Pattern(list(zip(links.a.tolist(), links.b.tolist())), labels=labels_of)
    graph = csm.Graph.from_edgelist(table, vertices=labels, vertex_label="label")
else:
    made = pattern()
    graph = csm.Graph.from_edgelist(pd.read_parquet(f"{folder}/soc-Epinions1.parquet")[["src", "dst"]])
def call():
    if name == "4-cycle rows":
        return len(csm.subgraph_match(graph, made, engine="gpu", limit=1_000_000))
    return csm.count_matches(graph, made, engine="gpu")
before = time.perf_counter()
answer = call()
first = time.perf_counter() - before
before = time.perf_counter()
assert call() == answer
second = time.perf_counter() - before
print(json.dumps([answer, first, second, time.perf_counter() - begun, cupy_s[0], cupy_calls[0]]))
"""


def started(package, name, caches, together):
    """A process that makes a call, with the caches of a folder."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, [str(Path(package).resolve()), os.environ.get("PYTHONPATH")])),
        "PYTHONSAFEPATH": "1",  # the checkout that is named, not the working directory
        "NUMBA_CACHE_DIR": str(caches / "numba"),
        "CUPY_CACHE_DIR": str(caches / "cupy"),
    }
    arguments = [name, PATTERNS[name], str(data_folder().resolve()), str(int(together))]
    return subprocess.Popen(
        [sys.executable, "-c", CALL, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def result(process):
    """What a process has printed; the last line of its error, if it failed."""
    output, errors = process.communicate()
    if process.returncode:
        return (errors.strip().splitlines() or ["no message"])[-1]
    return json.loads(output.splitlines()[-1])


def compiled(caches):
    """How many kernels are in a folder, by whatever version."""
    return sum(path.suffix in {".kernel", ".nbc"} for path in (caches / "numba").rglob("*"))


def line(package, name, temperature, found, kernels):
    if isinstance(found, str):
        print(f"{package:28} {name:13} {temperature:5} {found}", flush=True)
        return
    answer, first, second, whole, cupy_s, cupy_calls = found
    cupy = f", CuPy compiled {cupy_calls} in {cupy_s:.1f} s" if cupy_calls else ""
    times = f"first {first:6.2f} s, second {second:7.4f} s, process {whole:6.2f} s"
    print(f"{package:28} {name:13} {temperature:5} {times}, {kernels:3} kernels{cupy}; {answer:,}", flush=True)


def main(
    package: Annotated[list[str] | None, typer.Option()] = None,
    only: Annotated[str, typer.Option()] = ",".join(PATTERNS),
    together: Annotated[bool, typer.Option()] = False,
) -> None:
    """Time first answers."""
    for checkout in package or [str(Path(__file__).parents[2])]:
        with tempfile.TemporaryDirectory() as folder:
            caches = {name: Path(folder, name) for name in only.split(",")}
            if together:
                begun = time.perf_counter()
                running = {name: started(checkout, name, path, True) for name, path in caches.items()}
                for name, process in running.items():
                    line(checkout, name, "cold", result(process), compiled(caches[name]))
                print(f"{checkout}: all side by side {time.perf_counter() - begun:.1f} s")
                continue
            for temperature in ("cold", "warm"):
                for name, path in caches.items():
                    found = result(started(checkout, name, path, False))
                    line(checkout, name, temperature, found, compiled(path))


if __name__ == "__main__":
    typer.run(main)
