"""Instructions that Numba has no name for; imported by `cuda` alone, when a GPU's target is made.

The functions stand in this module, and not in a closure, so that a kernel which uses them is known by the same key in
every process: Numba tells its extensions apart by a number of its own making, new in each process.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.cuda.extending import intrinsic

__all__ = ["clock", "peek"]


@intrinsic
def _load_acquire(_context, array, index):
    def generate(context, builder, signature, arguments):
        kind, wide = signature.args[0], ir.IntType(64)
        data = context.make_array(kind)(context, builder, arguments[0]).data
        place = context.cast(builder, arguments[1], signature.args[1], types.uint64)
        bits = kind.dtype.bitwidth
        form = ir.FunctionType(ir.IntType(bits), [wide])
        text, output = f"ld.acquire.gpu.global.u{bits} $0, [$1];", {32: "=r", 64: "=l"}[bits]
        load = ir.InlineAsm(form, text, f"{output},l,~{{memory}}", side_effect=True)
        return builder.call(load, [builder.ptrtoint(builder.gep(data, [place]), wide)])

    return array.dtype(array, index), generate


@intrinsic
def _global_timer(_context):
    def generate(_context, builder, _signature, _arguments):
        form = ir.FunctionType(ir.IntType(64), [])
        return builder.call(ir.InlineAsm(form, "mov.u64 $0, %globaltimer;", "=l,~{memory}", side_effect=True), [])

    return types.int64(), generate


def peek(array, index):
    """A load that is done each time it is reached.

    Loads by `cuda.ldcv` and its like have no side effects for LLVM, which takes them out of a loop that waits.
    """
    return _load_acquire(array, index)


def clock():
    """Nanoseconds; the same clock for all blocks."""
    return _global_timer()
