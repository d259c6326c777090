"""Compiling everything before it is needed: for an image of a container, or a machine that is about to be used.

The kernels of a GPU are compiled by processes side by side; no GPU is needed for that, only the name of its
architecture. The CPU engine's code is compiled by calls on small graphs, each in a process of its own; what two of them
need is compiled by one, and the other loads it. A GPU that is here answers such calls too, for what CuPy compiles.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from cusubmatch.engines.compile_kernels import compile_gpu_kernels
from cusubmatch.system.gpu_presence import gpus

__all__ = ["capabilities_of", "compile_by_calls", "compile_for_gpus"]

SECONDS_BETWEEN_LOOKS = 0.05
CALL = (
    "import sys; sys.path[:0] = {path!r}; from cusubmatch.cli.warm_up_calls import {calls} as calls; "
    "calls[{name!r}]({engine!r})"
)


def capabilities_of(architectures: Sequence[str] | None) -> list[tuple[int, int]]:
    """The compute capabilities of named architectures; without names, those of the GPUs that are here."""
    return sorted(set(map(_capability, architectures) if architectures else (gpu.capability for gpu in gpus())))


def _capability(name: str) -> tuple[int, int]:
    found = re.fullmatch(r"sm_([1-9][0-9]?)([0-9])", name)
    if not found:
        raise ValueError(f"arch: expected a name such as sm_90 (an H100 or H200) or sm_80 (an A100), got {name!r}")
    return int(found[1]), int(found[2])


def compile_for_gpus(capabilities: Sequence[tuple[int, int]], progress: Callable[[float, int], None] | None) -> int:
    """Compile the GPU engine's kernels; how many were not compiled yet."""
    return compile_gpu_kernels(capabilities, progress)


def compile_by_calls(engine: str, progress: Callable[[float, int], None] | None) -> int:
    """Compile what calls of an engine need, "cpu" or "gpu"; how many parts that has."""
    from cusubmatch.cli.warm_up_calls import CALLS, GPU_CALLS

    parts = list(CALLS if engine == "cpu" else GPU_CALLS)
    waiting, done = parts.copy(), 0
    running: dict[str, subprocess.Popen[str]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < (os.cpu_count() or 1):
                name = waiting.pop(0)
                running[name] = _start(name, engine)
            for name in [name for name, process in running.items() if process.poll() is not None]:
                done += 1
                _check(name, running.pop(name))
            if progress is not None:
                progress(done / len(parts), done)
            time.sleep(SECONDS_BETWEEN_LOOKS)
    finally:
        for process in running.values():
            process.terminate()
            process.communicate()
    return len(parts)


def _start(name: str, engine: str) -> subprocess.Popen[str]:
    path = [str(Path(__file__).parents[2]), *filter(None, sys.path)]
    calls = "CALLS" if engine == "cpu" else "GPU_CALLS"
    code = CALL.format(path=path, calls=calls, name=name, engine=engine)
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)  # noqa: S603 - this Python


def _check(name: str, process: subprocess.Popen[str]) -> None:
    """Raise if a process has failed, with the last line that it said."""
    _, said = process.communicate()
    if process.returncode:
        raise RuntimeError(f"{name} could not be compiled: {(said.strip().splitlines() or ['it was ended'])[-1]}")
