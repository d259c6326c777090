"""A process that compiles kernels for others: it imports the compiler once and forks a process for each kernel.

Numba's compiler holds Python's lock, so kernels are compiled side by side in processes only. None of them touches a
GPU: what the compiler asks of the device is its compute capability, which an order names. So a machine without a GPU
can compile for any.

Orders come through standard input, each a line (`compile_order`); the number of each that is done goes to standard
output. Urgent ones are done first; what may not be needed leaves a quarter of the processes idle, so that what is
needed has a core for itself. A kernel that is being compiled is not begun again. When its input ends, or when it has
had nothing to do for a while, the server ends. A process that is compiling then goes on until its kernel is on disk.
Garbage is never collected: what is imported stays, and a process that compiles ends with its kernel.
"""

from __future__ import annotations

import heapq
import os
import selectors
import sys
from collections.abc import Sequence
from types import SimpleNamespace
from typing import NamedTuple

from cusubmatch.engines.compile.compile_ahead import AHEAD, MAYBE, PROCESSES_TO_SPARE
from cusubmatch.engines.compile.compile_order import Order, decode
from cusubmatch.engines.gpu.runtime.cuda import gpu
from cusubmatch.engines.gpu.runtime.kernel_factory import DeclaredKernel
from cusubmatch.engines.gpu.runtime.kernel_store import types_of
from cusubmatch.engines.gpu.runtime.lean_compiler import make_lean, without_linear_algebra

__all__ = ["compile_kernel", "most", "orders_of", "serve"]

SECONDS_IDLE = 10.0


class Running(NamedTuple):
    """A process, the order that it was started for, and the numbers of all orders that it answers."""

    process: int
    order: Order
    numbers: list[int]


def compile_kernel(order: Order) -> None:
    """Compile a kernel into the store, unless it is there; in a process that is not to have a GPU from now on."""
    from numba.cuda.dispatcher import CUDADispatcher

    _compile_for(order.capability)
    kernel = order.recipe.make(gpu())
    dispatcher = kernel.compiled
    with dispatcher._cache.lock(order.types):  # noqa: SLF001 - our own
        CUDADispatcher.compile(dispatcher, order.types)


def _compile_for(capability):
    """Let Numba compile for a GPU that need not be there, and stop where a cubin is made."""
    from numba.cuda import codegen, dispatcher
    from numba.cuda.cudadrv import devices

    device = SimpleNamespace(compute_capability=tuple(capability), id=0)
    dispatcher.get_current_device = lambda: device
    devices.get_context = lambda *_: SimpleNamespace(device=device)
    dispatcher._Kernel.bind = lambda kernel: kernel._codelibrary.get_cubin()  # noqa: SLF001
    library = codegen.CUDACodeLibrary
    if not hasattr(library, "_assembly"):
        library._assembly = library.get_asm_str  # noqa: SLF001
        library.get_asm_str = _names


def _names(library, cc=None):
    """What is searched for names of functions to link: not the assembly, which is made for nothing else.

    It takes as long as optimising for the device, and names what the intermediate code names. Only where that may
    allocate memory, declarations are read, in the assembly's form.
    """
    text = library.get_llvm_str()
    return library._assembly(cc) if "NRT_" in text else text  # noqa: SLF001


def serve(processes: int, usual: Sequence[DeclaredKernel], usual_for: tuple[int, int] | None) -> None:
    """Compile what is ordered until the input ends; so many kernels at once.

    Before any order, the `usual` ones, for a GPU of the compute capability `usual_for`, if there are cores to spare.
    """
    source, answers = sys.stdin.fileno(), sys.stdout.fileno()
    _prepare()
    waiting = orders_of(usual, usual_for) if usual_for and processes >= PROCESSES_TO_SPARE else []
    running: dict[int, Running] = {}  # by a pipe that ends with the process
    read = b""
    with selectors.DefaultSelector() as selector:
        selector.register(source, selectors.EVENT_READ)
        while True:
            while waiting and len(running) < most(processes, waiting[0]):
                order = heapq.heappop(waiting)
                if same := [other for other in running.values() if other.order[2:] == order[2:]]:
                    same[0].numbers.append(order.number)
                    continue
                end, process = _start(order, [source, answers])
                running[end] = Running(process, order, [order.number])
                selector.register(end, selectors.EVENT_READ)
            ready = selector.select(None if running else SECONDS_IDLE)
            if not ready:
                return
            for key, _ in ready:
                if key.fd == source:
                    block = os.read(source, 1 << 16)
                    if not block:
                        return
                    *lines, read = (read + block).split(b"\n")
                    for line in lines:
                        heapq.heappush(waiting, decode(line))
                else:
                    done = running.pop(key.fd)
                    selector.unregister(key.fd)
                    os.close(key.fd)
                    os.waitpid(done.process, 0)
                    os.write(answers, b"".join(b"%d\n" % number for number in done.numbers))


def orders_of(kernels: Sequence[DeclaredKernel], capability: tuple[int, int]) -> list[Order]:
    """Orders that nobody has given: their numbers are negative, the first one's is the lowest."""
    return [
        Order(AHEAD, number, kernel.recipe, types_of(kernel.signature), capability)
        for number, kernel in enumerate(kernels, -len(kernels))
    ]


def most(processes: int, order: Order) -> int:
    """How many kernels may be compiled side by side when this one is begun."""
    return processes if order.urgency < MAYBE else max(3 * processes // 4, 1)


def _prepare():
    """Import the compiler and let the compiler fill its tables, once for all forks."""
    from numba import int64, void

    without_linear_algebra()
    from numba.cuda.compiler import compile_cuda

    make_lean()
    gpu()
    _compile_for((8, 0))
    compile_cuda(_move, void, (int64[::1],), nvvm_options={"opt": 3}, cc=(8, 0))


def _move(items):
    """What is compiled first."""
    items[0] = items[1]


def _start(order, inherited):
    """A process for an order: the end of a pipe that closes with it, and its id."""
    end, held = os.pipe()
    process = os.fork()
    if process:
        os.close(held)
        return end, process
    code = 1
    try:
        for descriptor in (end, *inherited):
            os.close(descriptor)
        compile_kernel(order)
        code = 0
    finally:
        os._exit(code)
