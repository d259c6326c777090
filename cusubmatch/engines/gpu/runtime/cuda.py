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
from cusubmatch.engines.gpu.runtime.kernel_factory import Recipe
from cusubmatch.engines.gpu.runtime.kernel_store import kernel_store

__all__ = ["Kernel", "Target", "as_device_array", "current_number", "generation", "gpu", "properties", "record"]


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
        self._launches: dict[tuple, Callable] = {}  # by shape, stream and GPU

    def __getitem__(self, shape: tuple[int, ...]) -> Callable:
        return functools.partial(self._launch, shape)

    def _launch(self, shape, *arguments):
        key = shape, _current_stream(), current_number()  # the default streams of all GPUs have one address
        if key not in self._launches:
            self._launches[key] = self._configured(*key)
        self._launches[key](*map(as_device_array, arguments))

    def _configured(self, shape, stream, _number):
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


def as_device_array(array: Any) -> Any:
    """A CuPy array as kernels take it fastest, without a copy or a wait for its stream; anything else as it is.

    Numba otherwise spends 5 µs of a launch on each array. Marked as input, which for what lies on the device says
    nothing, an array costs half of that. A parameter block, a NamedTuple, is given its type: otherwise Numba makes the
    type at every launch, which takes longer than all else that it does then.
    """
    if isinstance(array, tuple):
        if not hasattr(array, "_fields"):
            return tuple(map(as_device_array, array))
        return array if hasattr(array, "_numba_type_") else _typed_block(array)
    if not type(array).__module__.startswith("cupy"):
        return array
    from numba import cuda

    return cuda.In(cuda.as_cuda_array(array, sync=False))


def _typed_block(block):
    """A parameter block that knows its Numba type, as Numba asks for it."""
    kind, fields = type(block), [as_device_array(field) for field in block]
    typed = _typed_kind(kind)(*fields)
    typed._numba_type_ = _block_type(kind, tuple(map(_type_of, fields)))
    return typed


def _type_of(field):
    """The Numba type of a field of a parameter block."""
    known = getattr(field, "_numba_type_", None)
    if known is not None:
        return known
    return _block_type(tuple, tuple(map(_type_of, field))) if isinstance(field, tuple) else _scalar_type(type(field))


@functools.cache
def _typed_kind(kind):
    """A subclass that takes attributes, as a NamedTuple's own class does not."""
    from numba.cuda.typing.typeof import typeof_impl

    typed = type(kind.__name__, (kind,), {})
    # Numba asks for an attribute when it looks for compiled code, and here when it compiles.
    typeof_impl.register(typed)(lambda block, _context: block._numba_type_)
    return typed


@functools.cache
def _scalar_type(kind):
    """The Numba type of int or of a NumPy scalar."""
    from numba.cuda.typing.typeof import typeof

    return typeof(kind(0))


_block_types: dict[tuple, tuple] = {}


def _block_type(kind, fields):
    """The type of a parameter block, found by the addresses of its fields' types, since Numba's types hash slowly."""
    key = kind, *map(id, fields)
    if key not in _block_types:
        from numba.cuda import types

        _block_types[key] = types.BaseTuple.from_types(fields, kind), fields  # which are kept, and so their addresses
    return _block_types[key][0]


def properties() -> tuple[int, int]:
    """Multiprocessors of the current GPU, and the bytes of shared memory that each has."""
    from numba import cuda

    device = cuda.get_current_device()
    return device.MULTIPROCESSOR_COUNT, device.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR


def generation() -> int:
    """The first number of the compute capability of the current GPU: 8 of an A100, 9 of an H100 or H200."""
    from numba import cuda

    return int(cuda.get_current_device().compute_capability[0])
