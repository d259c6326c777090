"""Which engine runs a call: the GPU's if one is there and the graph lies on it or is worth the copy, else the CPU's.

Nothing heavy is imported to find out whether there is a GPU.
"""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any

import numpy as np

from cusubmatch.engines.base import Engine
from cusubmatch.engines.compile.code_cache import check_threads
from cusubmatch.engines.device_engine import DeviceEngine
from cusubmatch.errors import EngineUnavailable
from cusubmatch.graph import Graph
from cusubmatch.system.gpu_presence import GpuKind, gpus, missing_for_gpu

__all__ = ["ENGINES", "check_devices", "check_engine", "choose_engine", "device_engines", "engine_named"]

ENGINES = ("auto", "cpu", "gpu")
MIN_ARCS_WORTH_COPYING = 1 << 18  # of a host graph, from which the GPU is faster, copying included
EXPECTED_DEVICES = "expected 'all', a number of GPUs, or a list of their numbers"


def check_engine(engine: str) -> None:
    """Refuse an engine that is unknown or cannot run here."""
    if engine not in ENGINES:
        raise ValueError(f"engine: expected one of {', '.join(ENGINES)}, got {engine!r}")
    if engine == "gpu" and (missing := missing_for_gpu()):
        raise EngineUnavailable(f"engine='gpu': {missing}; use engine='cpu' or 'auto'")


def check_devices(engine: str, devices: Any) -> None:
    """Refuse devices that are no GPUs of this process, or cannot share a search."""
    if devices is None:
        return
    if engine == "cpu":
        raise ValueError("devices: the CPU engine has none to choose from; leave devices out, or give engine='gpu'")
    numbers = None if isinstance(devices, (str, int, np.integer)) else _numbers(devices)
    if isinstance(devices, (bool, np.bool_)) or (isinstance(devices, str) and devices != "all"):
        raise TypeError(f"devices: {EXPECTED_DEVICES}, got {devices!r}")
    if missing := missing_for_gpu():
        raise EngineUnavailable(f"devices: {missing}; leave devices out to search on the CPU")
    there = len(gpus())
    if numbers is None and devices != "all" and not 1 <= devices <= there:
        raise ValueError(f"devices: expected 1 to {there} GPUs, got {devices}")
    if numbers is not None:
        if not numbers:
            raise ValueError("devices: expected the number of at least one GPU, got none")
        if strange := [number for number in numbers if not 0 <= number < there]:
            seen = "one, GPU 0" if there == 1 else f"{there}, numbered from 0"
            raise ValueError(f"devices: there is no GPU {strange[0]}; this process sees {seen}")
        if (twice := Counter(numbers).most_common(1)[0])[1] > 1:
            raise ValueError(f"devices: GPU {twice[0]} is named twice")
    elif devices == "all":
        numbers = list(range(there))
    kinds = {number: gpus()[number] for number in numbers or ()}
    if len(set(kinds.values())) > 1:
        first, other = min(kinds), next(number for number in kinds if kinds[number] != kinds[min(kinds)])
        raise ValueError(
            "devices: GPUs that share a search must be of one kind; "
            f"GPU {first} is {_in_words(kinds[first])}, GPU {other} {_in_words(kinds[other])}"
        )


def _numbers(devices: Any) -> list[int]:
    """The numbers of a list of them."""
    try:
        numbers = list(devices)
    except TypeError:
        raise TypeError(f"devices: {EXPECTED_DEVICES}, got {type(devices).__name__}") from None
    for number in numbers:
        if isinstance(number, (bool, np.bool_)) or not isinstance(number, (int, np.integer)):
            raise TypeError(f"devices: {EXPECTED_DEVICES}, got {number!r} in the list")
    return [int(number) for number in numbers]


def _in_words(kind: GpuKind) -> str:
    return f"{kind.name} with {kind.multiprocessors} multiprocessors"


def device_engines(devices: Any) -> tuple[DeviceEngine, ...]:
    """The engines of devices that `check_devices` has passed; the current GPU first where they are not named."""
    if not isinstance(devices, (str, int, np.integer)):
        return tuple(map(engine_on, _numbers(devices)))
    numbers = list(range(len(gpus())))
    current = current_gpu()
    numbers = numbers[current:] + numbers[:current]
    numbers = numbers if devices == "all" else numbers[: int(devices)]
    check_devices("gpu", numbers)
    return tuple(map(engine_on, numbers))


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
        from cusubmatch.engines.compile.compile_ahead import start_where_nothing_is

        if there := gpus():
            start_where_nothing_is(there[0].capability)
        from cusubmatch.engines.gpu import GpuEngine

        return GpuEngine(beside=engine_named("cpu"))
    from cusubmatch.engines.cpu import CpuEngine

    return CpuEngine()


@functools.cache
def engine_on(number: int) -> DeviceEngine:
    """The engine of one of several GPUs."""
    from cusubmatch.engines.gpu import CudaPlace, GpuEngine

    return GpuEngine(at=CudaPlace(number), beside=engine_named("cpu"))


def current_gpu() -> int:
    """The number of the GPU that this thread works on."""
    from cusubmatch.engines.gpu.runtime.cuda import current_number

    return current_number()
