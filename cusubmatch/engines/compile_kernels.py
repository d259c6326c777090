"""Compiling an engine's code before it is needed."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from cusubmatch.errors import EngineUnavailable

if TYPE_CHECKING:
    from cusubmatch.graph import Graph
    from cusubmatch.pattern import Pattern

__all__ = ["compile_gpu_kernels", "compile_long_counts", "load_long_counts"]


def compile_gpu_kernels(
    capabilities: Sequence[tuple[int, int]], progress: Callable[[float, int], None] | None = None
) -> int:
    """Compile all kernels for GPUs of these compute capabilities, none of which need be here; how many were not there.

    Raises
    ------
    EngineUnavailable
    RuntimeError
        If a kernel cannot be compiled, or not be kept.
    """
    if importlib.util.find_spec("numba_cuda") is None:
        raise EngineUnavailable("numba_cuda missing; pip install 'cusubmatch[cu13]', or [cu12]")
    from cusubmatch.engines.gpu.fill_store import compile_kernels

    return compile_kernels(capabilities, progress)


def compile_long_counts(graph: Graph, pattern: Pattern) -> None:
    """Compile what the CPU engine needs for labelled counts that take long, on small ones; no small one needs it."""
    from cusubmatch.engines.cpu.elimination.elimination_run import compile_elimination
    from cusubmatch.engines.cpu.engine import CpuEngine
    from cusubmatch.engines.cpu.tunables import Tunables
    from cusubmatch.engines.runs import RunOptions
    from cusubmatch.plan import constraints_of

    compile_elimination()
    settings = Tunables(
        threads=2,
        conditioning_steps=1,
        alone_conditioning_s=0.0,
        seconds_worth_a_thread=1e-9,
        seconds_before_a_thread=1e-9,
    )
    engine = CpuEngine(settings)
    prepared = engine.prepare(graph.host, pattern, constraints_of(pattern, graph.host, "monomorphism"), True)
    engine.condition(prepared, RunOptions(), None).total()
    engine.descents(prepared).order(0, range(len(pattern)))


def load_long_counts() -> None:
    """Have CuPy compile what labelled counts that take long call on the current GPU."""
    import cupy

    from cusubmatch.engines.gpu.elimination.device_factors import load
    from cusubmatch.engines.gpu.runtime.device import current_device

    load(cupy, current_device(), cupy.cuda.runtime.getDevice())
