"""When a kernel is compiled, and by whom: before its launch by the server, else at its launch; each once.

What has been compiled is loaded from the store (`kernel_store`), where a server leaves it too (`compile_ahead`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cusubmatch.engines.compile.compile_ahead import AHEAD, NOW, server
from cusubmatch.engines.gpu.runtime.kernel_store import KernelStore, StoredKernels, kernel_store, types_of

__all__ = ["compile_once", "expect_kernels", "is_compiled", "order_kernels"]


def compile_once(kernel: Any, store: KernelStore) -> None:
    """Let a kernel be loaded from the store. What is not there is compiled by the server, else here, once."""
    from numba.core.compiler_lock import global_compiler_lock

    dispatcher, stored = kernel.compiled, StoredKernels(store, kernel)
    dispatcher._cache, compile_here = stored, dispatcher.compile  # noqa: SLF001 - Numba's caches are set so

    def compile_(signature):
        path = stored.path(signature)
        if path is not None and not path.exists():
            from numba import cuda

            capability = cuda.get_current_device().compute_capability
            pending = server().order(kernel.recipe, types_of(signature), capability, path, NOW)
            if pending is not None:
                pending.wait()
        with global_compiler_lock, stored.lock(signature):
            return _loaded_apart(compile_here(signature))

    dispatcher.compile = compile_


def _loaded_apart(kernel: Any) -> Any:
    """Let each further GPU load a copy of a kernel's code: what two GPUs share, Numba unloads twice as it ends."""
    library = kernel._codelibrary  # noqa: SLF001 - Numba has no other way in
    if "get_cubin" in vars(library):
        return kernel
    code_of = library.get_cubin

    def get_cubin(cc=None):
        from cuda.core import ObjectCode

        code = code_of(cc)
        return ObjectCode.from_cubin(bytes(code.code), name=code.name, symbol_mapping=code.symbol_mapping)

    library.get_cubin = get_cubin
    return kernel


def is_compiled(store: KernelStore | None, kernel: Any, signature: Any) -> bool:
    """Whether a kernel is in memory or in the store, for the current device; without a store it is waited for."""
    from numba import cuda

    if store is None or kernel.compiled.overloads:
        return True
    return store.path(kernel.recipe, types_of(signature), cuda.get_current_device().compute_capability).exists()


def expect_kernels(capability: tuple[int, int]) -> None:
    """Start what compiles kernels if there are none yet: it begins while the device does."""
    store = kernel_store()
    if store is not None and store.is_empty():
        server().start(capability)


_expected: set[tuple] = set()  # kernels, each with a compute capability


def order_kernels(store: KernelStore | None, kernels: Iterable[Any], urgency: int = AHEAD) -> None:
    """Have kernels compiled that the store has not yet, for the current device."""
    from numba import cuda

    if store is None:
        return
    capability = cuda.get_current_device().compute_capability
    for kernel in kernels:
        if (kernel, capability) in _expected:
            continue
        _expected.add((kernel, capability))
        types = types_of(kernel.signature)
        path = store.path(kernel.recipe, types, capability)
        if not path.exists():
            server().order(kernel.recipe, types, capability, path, urgency)
