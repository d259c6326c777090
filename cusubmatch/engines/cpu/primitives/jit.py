"""The one way in which this engine's functions are compiled: Numba without the GIL, cached on disk by version."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numba
from llvmlite import ir
from numba import int64, uint64
from numba.core import config
from numba.extending import intrinsic

from cusubmatch.engines.compile.code_cache import cache_folder, enable_caching, logger
from cusubmatch.engines.compile.compiler_thread import compiles_in_thread
from cusubmatch.engines.cpu.primitives.inner_library import InnerCompiler
from cusubmatch.system.deadlines import wait_to_compile
from cusubmatch.system.thread_limit import thread_limit

__all__ = [
    "address_of",
    "announced",
    "high_product",
    "inlined",
    "inner",
    "is_compiled",
    "jit",
    "popcount",
    "preparation",
    "threads",
    "trailing_zeros",
]

COMPILE_NS = 5e9  # of a part, about

_announced: set[str] = set()
_compiled: set[str] = set()  # by this process, or an earlier one that it knows of


def _folder():
    return cache_folder(Path(__file__).parents[1], f"numba {numba.__version__}")


def jit(function):
    """Compile `function` when it is first called, or load what an earlier process compiled."""
    dispatcher = numba.njit(nogil=True, boundscheck=False, error_model="numpy")(function)
    return compiles_in_thread(enable_caching(dispatcher, config, _folder()))


def address_of(entry, numbers: int) -> int:
    """Where the code of a function of so many int64 is, compiled or loaded; it gives an int64.

    A function that is called at its address is compiled once, and only if it is called; one that is called by its name
    is optimized again within each of its callers.
    """
    signature = (int64,) * numbers
    if signature not in entry.overloads:
        entry.compile(signature)
    compiled = entry.overloads[signature]
    return compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cfunc_wrapper_name)


def inner(function):
    """Compile `function` for callers that are compiled themselves: with no way in from Python, and not on disk."""
    return numba.njit(
        nogil=True,
        boundscheck=False,
        error_model="numpy",
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        pipeline_class=InnerCompiler,
    )(function)


def inlined(function):
    """Compile `function` into its callers: for a loop's body that is worth sharing but not worth a call."""
    return numba.njit(nogil=True, boundscheck=False, error_model="numpy", inline="always")(function)


@contextlib.contextmanager
def announced(part: str):
    """Log, at level WARNING, that `part` is being compiled, unless an earlier process has compiled and cached it.

    A thread that is to wait with that waits before (`system.deadlines`).
    """
    if part in _compiled:
        yield
        return
    cached = is_compiled(part)
    if not cached:
        wait_to_compile()
    said = part in _announced
    _announced.add(part)
    if not said and not cached:
        logger.warning("cusubmatch: compiling the CPU engine (%s), once a version ...", part)
    yield
    _compiled.add(part)
    if mark := _mark(part):
        mark.touch()


def is_compiled(part: str) -> bool:
    """Whether `part` has been compiled, by this process or an earlier one."""
    if part not in _compiled and (mark := _mark(part)) and mark.exists():
        _compiled.add(part)
    return part in _compiled


def preparation(part: str) -> float:
    """Nanoseconds that `part` waits for a compiler before it begins, about."""
    return 0.0 if is_compiled(part) else COMPILE_NS


def _mark(part):
    """The file that says that a part lies compiled beside it."""
    folder = _folder()
    return folder / f"{part}.compiled" if folder else None


def threads() -> int:
    """CPU threads to use: `numba.config.NUMBA_NUM_THREADS`, read at each call; fewer under a limit."""
    available = max(1, int(config.NUMBA_NUM_THREADS))
    limit = thread_limit()
    return available if limit is None else min(available, limit)


@intrinsic
def high_product(_context, a, b):
    """The upper 64 bits of the product of two uint64."""

    def generate(_context, builder, _signature, arguments):
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(argument, wide) for argument in arguments))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return uint64(a, b), generate


@intrinsic
def popcount(_context, word):
    """The number of set bits of an unsigned word."""
    return word(word), lambda _context, builder, _signature, arguments: builder.ctpop(arguments[0])


@intrinsic
def trailing_zeros(_context, word):
    """The position of the lowest set bit of a nonzero unsigned word."""

    def generate(_context, builder, _signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return word(word), generate
