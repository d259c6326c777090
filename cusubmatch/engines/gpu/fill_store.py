"""Compiling all kernels before they are needed, for the GPUs of this machine or for others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from cusubmatch.engines.compile.compile_ahead import server
from cusubmatch.engines.gpu.all_kernels import all_kernels
from cusubmatch.engines.gpu.runtime.kernel_factory import DeclaredKernel
from cusubmatch.engines.gpu.runtime.kernel_store import kernel_store, types_of

__all__ = ["compile_kernels"]


def compile_kernels(
    capabilities: Sequence[tuple[int, int]],
    progress: Callable[[float, int], None] | None = None,
    kernels: Iterable[DeclaredKernel] | None = None,
) -> int:
    """Compile kernels, by default all, for GPUs of these compute capabilities; how many were not there.

    Raises
    ------
    RuntimeError
        If no folder can be written, or a kernel cannot be compiled.
    """
    store = kernel_store()
    if store is None:
        raise RuntimeError("no folder for compiled kernels can be written; name one in NUMBA_CACHE_DIR")
    kernels = [kernel for _, kernel in all_kernels()] if kernels is None else list(kernels)
    orders, waiting = server(), []
    for capability in capabilities:
        for kernel in kernels:
            types = types_of(kernel.signature)
            path = store.path(kernel.recipe, types, capability)
            if not path.exists():
                waiting.append((path, orders.order(kernel.recipe, types, capability, path)))
    for done, (_, pending) in enumerate(waiting):
        if progress is not None:
            progress(done / len(waiting), done)
        if pending is not None:
            pending.wait()
    missing = [path for path, _ in waiting if not path.exists()]
    if missing:
        raise RuntimeError(
            f"{len(missing)} of {len(waiting)} kernels could not be compiled, {missing[0].stem} the first; numba-cuda"
            " needs libNVVM and nvJitLink of CUDA, as pip install 'cusubmatch[cu13]' brings them"
        )
    return len(waiting)
