"""Which engine runs a call: the GPU's if one is there and the graph lies on it or is worth the copy, else the CPU's.

Nothing heavy is imported to find out whether there is a GPU.
"""

from __future__ import annotations

import functools

import numpy as np

from cusubmatch.engines.base import Engine
from cusubmatch.engines.compile.code_cache import check_threads
from cusubmatch.errors import EngineUnavailable
from cusubmatch.graph import Graph
from cusubmatch.system.gpu_presence import missing_for_gpu

__all__ = ["ENGINES", "check_engine", "choose_engine", "engine_named"]

ENGINES = ("auto", "cpu", "gpu")
MIN_ARCS_WORTH_COPYING = 1 << 18  # of a host graph, from which the GPU is faster, copying included


def check_engine(engine: str) -> None:
    """Refuse an engine that is unknown or cannot run here."""
    if engine not in ENGINES:
        raise ValueError(f"engine: expected one of {', '.join(ENGINES)}, got {engine!r}")
    if engine == "gpu" and (missing := missing_for_gpu()):
        raise EngineUnavailable(f"engine='gpu': {missing}; use engine='cpu' or 'auto'")


def choose_engine(engine: str, graph: Graph) -> tuple[Engine, str]:
    """The engine for a graph, and why it was chosen."""
    missing = missing_for_gpu() if engine != "cpu" else None
    if engine != "auto":
        name, why = engine, "asked for"
    elif missing:
        name, why = "cpu", missing
    elif graph.xp is not np:
        name, why = "gpu", "the graph lies on the GPU"
    elif len(graph.targets) >= MIN_ARCS_WORTH_COPYING:
        name, why = "gpu", "the graph is large enough to be worth copying to the GPU"
    else:
        name, why = "cpu", "the graph is too small to be worth copying to the GPU"
    check_threads()
    return engine_named(name), why


@functools.cache
def engine_named(name: str) -> Engine:
    """The engine of this process, "cpu" or "gpu"."""
    if name == "gpu":
        from cusubmatch.engines.gpu import GpuEngine

        return GpuEngine()
    from cusubmatch.engines.cpu import CpuEngine

    return CpuEngine()
