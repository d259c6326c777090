"""Where kernels run without a GPU: lane by lane in the emulator, or natively as a warp of one lane."""

from __future__ import annotations

import functools
import math
import types

import numpy as np
from numba import njit
from numba import types as nb
from numba.core import cgutils
from numba.extending import intrinsic, overload
from recorded_arrays import plain as plain_array
from simt import DYNAMIC, FULL, WARP, Machine

from cusubmatch.engines.gpu.runtime.cuda import Target


@overload(math.fmod)
def _fmod(dividend, divisor):
    """Of Python's and of the compiler for CUDA, but not of Numba's for a CPU."""
    return lambda dividend, divisor: np.fmod(dividend, divisor)  # noqa: PLW0108 - Numba compiles what is returned


def plain(function):
    return function


class Launched:
    """`kernel[blocks, threads](*arguments)` where `run(blocks, threads, arguments, words)` does it.

    `words` are those of shared memory, where the launch says how many bytes.
    """

    def __init__(self, run):
        self.run = run

    def __getitem__(self, shape):
        blocks, threads, *shared = shape
        words = shared[0] // 4 if shared else DYNAMIC
        return lambda *arguments: self.run(blocks, threads, arguments, words)


def emulator(seed=None, **options) -> Target:
    """The lane emulator; another seed is another schedule. A tick of its clock is one look at it."""
    machine, ticks = Machine(seed, **options), iter(range(10**18))

    def peek(array, index):
        machine.pause()
        return array[index]

    return Target(
        machine,
        WARP,
        FULL,
        device=plain,
        kernel=lambda function: Launched(lambda *launch: machine.launch(function, *launch)),
        lane=lambda: np.uint32(machine.laneid),
        warp=lambda: np.uint32(machine.threadIdx.x // WARP),
        peek=peek,
        clock=lambda: np.int64(next(ticks)),
    )


@functools.cache  # so that the test files share compiled kernels
def one_lane() -> Target:
    """Native code for one warp of one lane, on one thread."""
    cuda = types.ModuleType("one_lane")
    cuda.atomic = types.ModuleType("atomic")
    for name, operation in {"add": "add", "sub": "sub", "max": "umax", "or_": "or", "exch": "xchg"}.items():
        setattr(cuda.atomic, name, _read_modify_write(operation))
    cuda.atomic.cas = _compare_and_swap
    for name, value in {"blockIdx": 0, "threadIdx": 0, "blockDim": 1, "gridDim": 1}.items():
        setattr(cuda, name, types.ModuleType(name))
        getattr(cuda, name).x = value
    cuda.shared = types.ModuleType("shared")
    cuda.shared.array = njit(lambda size, dtype: np.zeros(size or DYNAMIC, np.uint32))
    cuda.syncwarp = cuda.syncthreads = cuda.threadfence = njit(lambda: None)
    cuda.nanosleep = njit(lambda nanoseconds: None)
    cuda.ballot_sync = njit(lambda mask, value: np.uint32(1) if value else np.uint32(0))
    cuda.shfl_sync = cuda.shfl_up_sync = cuda.shfl_down_sync = cuda.shfl_xor_sync = njit(
        lambda mask, value, lane: value
    )
    cuda.popc, cuda.ffs = _population, _first
    device = njit(error_model="numpy")

    def kernel(function):
        compiled = njit(error_model="numpy", nogil=True)(function)
        return Launched(lambda _blocks, _threads, arguments, _words: compiled(*map(plain_array, arguments)))

    return Target(
        cuda,
        1,
        1,
        device=device,
        kernel=kernel,
        lane=njit(lambda: np.uint32(0)),
        warp=njit(lambda: np.uint32(0)),
        peek=njit(lambda array, index: array[index]),
        clock=njit(lambda: np.int64(0)),
    )


@njit
def _population(word):
    bits, found = np.uint64(word), np.uint32(0)
    while bits:
        bits &= bits - np.uint64(1)
        found += np.uint32(1)
    return found


@njit
def _first(word):
    bits, place = np.uint64(word), np.uint32(0)
    while bits:
        place += np.uint32(1)
        if bits & np.uint64(1):
            return place
        bits >>= np.uint64(1)
    return np.uint32(0)


@njit
def _compare_and_swap(array, index, old, value):
    found = array[index]
    if found == old:
        array[index] = value
    return found


def _read_modify_write(operation):
    @intrinsic
    def change(_context, array, index, value):
        def generate(context, builder, signature, arguments):
            kind = signature.args[0]
            data = context.make_array(kind)(context, builder, arguments[0])
            place = context.cast(builder, arguments[1], signature.args[1], nb.intp)
            pointer = cgutils.get_item_pointer(context, builder, kind, data, [place])
            given = context.cast(builder, arguments[2], signature.args[2], signature.return_type)
            return builder.atomic_rmw(operation, pointer, given, "monotonic")

        return array.dtype(array, index, value), generate

    return njit(lambda array, index, value: change(array, index, value))  # noqa: PLW0108 - an intrinsic is no function
