"""Which engine runs a call: the GPU's if one is there and the graph lies on it or is worth the copy, else the CPU's.

An engine is a package with `place` (the graph where the engine works), `prepare` (candidates), `choose` (among rival
plans), `Run`, `Sampler` and `METHODS` (the ways of walking that its plans may have); and for counts by decomposition
`mates`, `Kernels` and `RATES` (what these take). Nothing heavy is imported to find out whether there is a GPU.
"""

from __future__ import annotations

import importlib
from types import ModuleType

import numpy as np

from cusubmatch.engines.compile.code_cache import check_threads
from cusubmatch.errors import EngineUnavailable
from cusubmatch.system.gpu_presence import missing_for_gpu

__all__ = ["ENGINES", "check_engine", "choose_engine"]

ENGINES = ("auto", "cpu", "gpu")
WORTH_COPYING = 1 << 18  # entries of a host graph from which the GPU is the faster one, copying included


def check_engine(engine: str) -> None:
    """Refuse an engine that there is not, or not here."""
    if engine not in ENGINES:
        raise ValueError(f"engine: expected one of {', '.join(ENGINES)}, got {engine!r}")
    if engine == "gpu" and (missing := missing_for_gpu()):
        raise EngineUnavailable(f"engine='gpu': {missing}; use engine='cpu' or 'auto'")


def choose_engine(engine: str, graph) -> tuple[str, ModuleType, str]:
    """The engine for a graph: its name, its package, and why it was chosen."""
    missing = missing_for_gpu() if engine != "cpu" else None
    if engine != "auto":
        name, why = engine, "asked for"
    elif missing:
        name, why = "cpu", missing
    elif graph.xp is not np:
        name, why = "gpu", "the graph lies on the GPU"
    elif len(graph.targets) >= WORTH_COPYING:
        name, why = "gpu", "the graph is large enough to be worth copying to the GPU"
    else:
        name, why = "cpu", "the graph is too small to be worth copying to the GPU"
    check_threads()
    return name, importlib.import_module(f"cusubmatch.engines.{name}"), why
