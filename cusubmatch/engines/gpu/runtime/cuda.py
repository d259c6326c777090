"""What a kernel is written against. Only modules of this folder import Numba's CUDA compiler.

Every kernel is made by a factory that takes a `Target`: the intrinsics, the width of a warp and the two decorators.
The same source then runs on a GPU, lane by lane in the emulator of the tests, and natively on a CPU as a warp of one
lane. A kernel therefore says `WARP` and never 32, and asks its target which warp it is.

A kernel is compiled by another process where that can be (`compile_ahead`), kept on disk (`kernel_store`) and loaded
from there.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.compile.compiler_thread import compiles_in_thread
from cusubmatch.engines.gpu.runtime.compilation import compile_once, is_compiled, order_kernels
from cusubmatch.engines.gpu.runtime.kernel_factory import DeclaredKernel, Recipe
from cusubmatch.engines.gpu.runtime.kernel_launch import KernelLaunch
from cusubmatch.engines.gpu.runtime.kernel_store import kernel_store

__all__ = ["Kernel", "Target", "current_number", "generation", "gpu", "properties", "record"]


class Target(NamedTuple):
    """Where kernels run.

    Attributes
    ----------
    cuda : module or object
        `numba.cuda` or what stands for it: `shared.array`, `atomic`, `syncwarp`, `ballot_sync`, `popc`, ...
    WARP : int
        Lanes of a warp.
    FULL : int
        The mask that names them all.
    device, kernel : callable
        Decorators of device functions and of kernels; a kernel is launched as
        `kernel[blocks, threads](*arguments)`, or with the bytes of shared memory as a third number.
    lane, warp : device functions () -> uint32
        The lane in its warp, the warp in its block.
    peek : device function (array, index) -> value
        A load that is done each time it is reached, also in a loop that waits for a change.
    clock : device function () -> int64
        Nanoseconds; the same clock for all blocks.
    record : callable (first, others) -> callable or None
        Makes of functions that launch kernels one that does the same again at less cost; None: it cannot.
    ahead : callable (declared kernels), optional
        Has kernels compiled that are going to be launched, without waiting for them; None where nothing is gained.
    is_compiled : callable (kernel, signature) -> bool
        Whether a launch need not wait for a compiler.
    """

    cuda: Any
    WARP: int
    FULL: int
    device: Callable
    kernel: Callable
    lane: Callable
    warp: Callable
    peek: Callable
    clock: Callable
    record: Callable = lambda _first, _others: None
    ahead: Callable | None = None
    is_compiled: Callable = lambda _kernel, _signature: True

    def has(self, kernels: Sequence[DeclaredKernel]) -> bool:
        """Whether launches of these need not wait for a compiler; where they would, they are compiled ahead."""
        has_all = all(self.is_compiled(one.recipe.make(self), one.signature) for one in kernels)
        if not has_all and self.ahead is not None:
            self.ahead(kernels)
        return has_all


@functools.cache
def gpu() -> Target:
    """The target that compiles for the GPU."""
    gone = "row_stack"  # from NumPy 2.5, but numba-cuda before 0.31 asks for it
    if not hasattr(np, gone):
        setattr(np, gone, np.vstack)
    from numba import cuda

    from cusubmatch.engines.gpu.runtime import ptx

    store = kernel_store()
    device = cuda.jit(device=True, forceinline=True)

    def current_device():
        return cuda.gpus[cuda.get_current_device().id]

    def kernel(function):
        made = Kernel(cuda.jit(function))
        if store is not None:
            compile_once(made, store)
        compiles_in_thread(made.compiled, current_device)
        return made

    @device
    def lane():
        return np.uint32(cuda.laneid)

    @device
    def warp():
        return np.uint32(cuda.threadIdx.x) >> np.uint32(5)

    return Target(
        cuda,
        32,
        0xFFFFFFFF,
        device,
        kernel,
        lane,
        warp,
        device(ptx.peek),
        device(ptx.clock),
        record,
        functools.partial(order_kernels, store),
        functools.partial(is_compiled, store),
    )


_configuring = threading.Lock()


class Kernel:
    """`kernel[blocks, threads]`, or with bytes of shared memory as a third; runs on CuPy's stream at the launch.

    Attributes
    ----------
    compiled : CUDADispatcher
    recipe : Recipe, optional
        By which it is kept on disk.
    """

    recipe: Recipe | None = None

    def __init__(self, compiled: Any):
        self.compiled, self.py_func = compiled, compiled.py_func
        self._launches: dict[tuple, KernelLaunch] = {}  # by shape, stream and GPU

    def __getitem__(self, shape: tuple[int, ...]) -> Callable:
        return functools.partial(self._launch, shape)

    def _launch(self, shape, *arguments):
        key = shape, _current_stream(), current_number()  # the default streams of all GPUs have one address
        if key not in self._launches:
            self._launches[key] = KernelLaunch(self._configured(shape, key[1]), key[2])
        self._launches[key](*arguments)

    def _configured(self, shape, stream):
        from numba.cuda.core.caching import config

        blocks, threads, *shared = shape
        with _configuring:  # a small grid is no mistake here: the work is small
            warned, config.CUDA_LOW_OCCUPANCY_WARNINGS = config.CUDA_LOW_OCCUPANCY_WARNINGS, 0
            try:
                return self.compiled[blocks, threads, _stream_of(stream), *shared]
            finally:
                config.CUDA_LOW_OCCUPANCY_WARNINGS = warned


_recording = threading.Lock()


def record(first: Callable[[], None], others: Sequence[Callable[[], None]]) -> Callable[[], None] | None:
    """What these functions put on the current stream, as one launch (a CUDA graph); None if that cannot be recorded.

    `first` comes first; the `others` may run in any order and side by side. Their kernels must have run before, so that
    nothing is compiled or loaded now, and the arrays that they work on must neither be made by them nor move.
    """
    import cupy

    with _recording:
        stream, *asides = _recording_streams(cupy.cuda.Device().id, 1 + len(others))
        try:
            stream.begin_capture()
            try:
                with stream:
                    first()
                ready = stream.record()
                for aside, launch in zip(asides, others, strict=True):
                    aside.wait_event(ready)
                    with aside:
                        launch()
                    stream.wait_event(aside.record())
            finally:
                graph = stream.end_capture()
        except Exception:  # noqa: BLE001 - an exception of CuPy's, Numba's or the driver's; launches one by one remain
            return None
    return graph.launch


@functools.cache
def _recording_streams(device: int, number: int):
    """Streams for recording alone: kept, since launches are configured anew for each stream."""
    import cupy

    with cupy.cuda.Device(device):
        return [cupy.cuda.Stream(non_blocking=True) for _ in range(number)]


def current_number() -> int:
    """The number of the GPU that this thread works on."""
    import cupy

    return cupy.cuda.runtime.getDevice()


def _current_stream() -> int:
    """The address of the stream that CuPy works on."""
    import cupy

    return cupy.cuda.get_current_stream().ptr


def _stream_of(address: int):
    """A stream as Numba knows it."""
    from numba import cuda

    return cuda.external_stream(address) if address else cuda.default_stream()


def properties() -> tuple[int, int]:
    """Multiprocessors of the current GPU, and the bytes of shared memory that each has."""
    from numba import cuda

    device = cuda.get_current_device()
    return device.MULTIPROCESSOR_COUNT, device.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR


def generation() -> int:
    """The first number of the compute capability of the current GPU: 8 of an A100, 9 of an H100 or H200."""
    from numba import cuda

    return int(cuda.get_current_device().compute_capability[0])
