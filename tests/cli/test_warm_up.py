"""`cusubmatch warm-up`: the CPU engine's code in processes side by side, and which GPUs are meant."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

import pytest
from command_line import environment, run

from cusubmatch.cli import warm_up, warm_up_calls
from cusubmatch.system.gpu_presence import GpuKind


def test_parts_of_the_cpu_engine_are_compiled_side_by_side_and_progress_is_told(monkeypatch):
    monkeypatch.setattr(warm_up_calls, "CALLS", dict.fromkeys(["pass", "import time; time.sleep(0.1)"]))
    monkeypatch.setattr(warm_up, "CALL", "{path!r}; exec({name!r})")
    told = []
    assert warm_up.compile_by_calls("cpu", lambda *done: told.append(done)) == 2
    assert told == sorted(told)
    assert told[-1] == (1.0, 2)


def test_a_part_that_fails_says_why_on_one_line(monkeypatch):
    monkeypatch.setattr(warm_up_calls, "CALLS", dict.fromkeys(["raise ValueError('no disk')"]))
    monkeypatch.setattr(warm_up, "CALL", "{path!r}; exec({name!r})")
    with pytest.raises(RuntimeError, match="ValueError: no disk"):
        warm_up.compile_by_calls("cpu", None)


def test_without_a_gpu_and_a_name_only_the_cpu_engine_is_compiled(monkeypatch):
    monkeypatch.setattr(warm_up, "gpus", tuple)
    monkeypatch.setattr(warm_up_calls, "CALLS", {})
    done = run("warm-up")
    assert (done.exit_code, done.stdout) == (0, "0 parts of the CPU engine compiled\n")


def test_the_gpus_that_are_here_are_meant_unless_others_are_named(monkeypatch):
    here = [GpuKind("a GPU", 100, capability) for capability in ((9, 0), (8, 0), (9, 0))]
    monkeypatch.setattr(warm_up, "gpus", lambda: here)
    assert warm_up.capabilities_of(None) == [(8, 0), (9, 0)]
    assert warm_up.capabilities_of(["sm_120", "sm_89"]) == [(8, 9), (12, 0)]


@pytest.mark.thorough
def test_after_warm_up_a_call_compiles_nothing(tmp_path):
    given = environment() | {"NUMBA_CACHE_DIR": str(tmp_path)}
    warm = [sys.executable, "-m", "cusubmatch", "warm-up"]
    subprocess.run(warm, env=given, check=True, capture_output=True)
    kept = {path.name for path in tmp_path.rglob("*.nbc")}
    calls = "from cusubmatch.cli.warm_up_calls import CALLS\nfor call in CALLS.values(): call('cpu')"
    done = subprocess.run([sys.executable, "-c", calls], env=given, check=True, capture_output=True, text=True)
    assert "compiling" not in done.stderr
    assert {path.name for path in tmp_path.rglob("*.nbc")} == kept


OTHER_CALLS = """
    import numpy as np
    import pandas as pd

    import cusubmatch as csm
    from cusubmatch.generators import rmat

    edges = rmat(17, 10, seed=9)
    vertices = pd.DataFrame({"vertex": np.arange(int(edges.to_numpy().max()) + 1)})
    vertices["label"] = vertices["vertex"] % 32
    graph = csm.Graph.from_edgelist(edges, vertices=vertices, vertex_label="label")
    for pattern in ("(a:3)--(b:4)--(c:5)", "(a:0)--(b:9)--(c:2)--(d:1)--(a)--(c)", "(a)--(b)--(c)--(a)"):
        csm.count_matches(graph, pattern, engine="gpu")
        csm.subgraph_match(graph, pattern, engine="gpu", limit=100)
    edges["time"] = np.arange(len(edges)) % 977
    payments = csm.Graph.from_edgelist(edges, directed=True, time="time")
    csm.count_matches(payments, "(a)-[x]->(b)-[y]->(c) WHERE x.time < y.time", engine="gpu", edges="each")
"""


@pytest.mark.gpu
def test_after_warm_up_cupy_compiles_nothing_for_a_large_graph(tmp_path):
    given = environment() | {"CUPY_CACHE_DIR": str(tmp_path)}
    warm = "from cusubmatch.cli.warm_up import compile_by_calls\ncompile_by_calls('gpu', None)"
    subprocess.run([sys.executable, "-c", warm], env=given, check=True, capture_output=True)
    kept = {path.name for path in tmp_path.iterdir()}
    assert kept
    subprocess.run([sys.executable, "-c", dedent(OTHER_CALLS)], env=given, check=True, capture_output=True)
    assert {path.name for path in tmp_path.iterdir()} == kept
