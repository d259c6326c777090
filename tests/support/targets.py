"""Where kernels run without a GPU: lane by lane in the emulator, or as a warp of one lane.

One lane runs natively, for which its kernels are compiled, or as Python runs it: on small graphs that takes less time.
"""

from __future__ import annotations

import functools
import math
import sys
import threading
import types
from types import SimpleNamespace

import numpy as np
from numba import njit
from numba import types as nb
from numba.core import cgutils
from numba.extending import intrinsic, overload
from recorded_arrays import plain as plain_array
from simt import DYNAMIC, FULL, WARP, Machine, bits_of
from tiers import is_thorough

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.device import Device


@overload(math.fmod)
def _fmod(dividend, divisor):
    """Of Python's and of the compiler for CUDA, but not of Numba's for a CPU."""
    return lambda dividend, divisor: np.fmod(dividend, divisor)  # noqa: PLW0108 - Numba compiles what is returned


GRID_OF_ONE = {"blockIdx": 0, "threadIdx": 0, "blockDim": 1, "gridDim": 1}


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


def lane_device() -> Device:
    """One lane as the device of host code."""
    return Device(one_lane(), 1, 228 << 10)


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


class OneLane:
    """What a kernel sees as `cuda` where a warp is one lane, on one thread of Python."""

    def __init__(self):
        for name, value in GRID_OF_ONE.items():
            setattr(self, name, SimpleNamespace(x=value))
        self.atomic = SimpleNamespace(
            add=_changing(lambda old, value: old + value),
            sub=_changing(lambda old, value: old - value),
            max=_changing(max),
            or_=_changing(lambda old, value: old | value),
            exch=_changing(lambda _, value: value),
            cas=_exchange_if_equal,
        )
        self.shared = SimpleNamespace(array=self._shared_array)
        self.shfl_sync = self.shfl_up_sync = self.shfl_down_sync = self.shfl_xor_sync = lambda _, value, lane: value
        self.syncwarp = self.syncthreads = self.threadfence = self.nanosleep = lambda *_: None
        self._launch = threading.local()  # threads, as those of several devices, launch at once

    def ballot_sync(self, _, value):
        return np.uint32(bool(value))

    def popc(self, word):
        return np.uint32(bits_of(word)[0].bit_count())

    def ffs(self, word):
        bits, _ = bits_of(word)
        return np.uint32((bits & -bits).bit_length())

    def clz(self, word):
        bits, width = bits_of(word)
        return np.uint32(width - bits.bit_length())

    def launch(self, function, arguments, words):
        self._launch.arrays, self._launch.words = {}, words
        with np.errstate(all="ignore"):  # integers wrap, floats overflow
            function(*map(plain_array, arguments))

    def _shared_array(self, size, dtype):
        frame = sys._getframe(1)
        site = frame.f_code, frame.f_lasti
        if site not in self._launch.arrays:
            kind = np.dtype(str(dtype) if hasattr(dtype, "bitwidth") else dtype)
            self._launch.arrays[site] = np.zeros(size or self._launch.words, kind)
        return self._launch.arrays[site]


def _changing(operation):
    def change(array, index, value):
        old = array[index]
        array[index] = operation(old, array.dtype.type(value))
        return old

    return change


def _exchange_if_equal(array, index, old, value):
    found = array[index]
    if found == array.dtype.type(old):
        array[index] = value
    return found


@functools.cache  # so that what is made with it is made once
def interpreted_lane() -> Target:
    """One warp of one lane on one thread, in Python."""
    cuda = OneLane()
    return Target(
        cuda,
        1,
        1,
        device=plain,
        kernel=lambda function: Launched(
            lambda _blocks, _threads, arguments, words: cuda.launch(function, arguments, words)
        ),
        lane=lambda: np.uint32(0),
        warp=lambda: np.uint32(0),
        peek=lambda array, index: array[index],
        clock=lambda: np.int64(0),
    )


def one_lane() -> Target:
    """A warp of one lane: interpreted in the quick tier, native in the thorough one."""
    return native_lane() if is_thorough() else interpreted_lane()


@functools.cache  # so that the test files share compiled kernels
def native_lane() -> Target:
    """Native code for one warp of one lane, on one thread."""
    cuda = types.ModuleType("one_lane")
    cuda.atomic = types.ModuleType("atomic")
    for name, operation in {"add": "add", "sub": "sub", "max": "umax", "or_": "or", "exch": "xchg"}.items():
        setattr(cuda.atomic, name, _read_modify_write(operation))
    cuda.atomic.cas = _compare_and_swap
    for name, value in GRID_OF_ONE.items():
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
    cuda.popc, cuda.ffs, cuda.clz = _population, _first, _leading_zeros
    device = njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)  # Python calls kernels only

    def kernel(function):
        compiled = njit(error_model="numpy", nogil=True, no_cfunc_wrapper=True)(function)
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
def _leading_zeros(word):
    """Of 32 bits."""
    bits, number = np.uint64(word), np.uint32(32)
    while bits:
        bits >>= np.uint64(1)
        number -= np.uint32(1)
    return number


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
            kind_of_operation = f"f{operation}" if isinstance(kind.dtype, nb.Float) else operation
            return builder.atomic_rmw(kind_of_operation, pointer, given, "monotonic")

        return array.dtype(array, index, value), generate

    return njit(lambda array, index, value: change(array, index, value))  # noqa: PLW0108 - an intrinsic is no function
