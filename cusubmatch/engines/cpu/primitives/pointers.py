"""Arrays without bounds, negative indices or reference counts, for use inside compiled code.

Numba tests every index for being negative, which keeps loops from being vectorised, and counts references to every
array that passes through a call, with atomic operations that cost more than a small intersection. `pointer(array)`
gives a value that is indexed like an array and does neither. The array must outlive it: the entry points take arrays
and hand pointers down.
"""

from __future__ import annotations

import operator

from llvmlite import ir
from numba import types
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

__all__ = ["Pointer", "advance", "bool_at", "float64_at", "int32_at", "int64_at", "pointer"]


class Pointer(types.Type):
    """The address of values of one dtype."""

    def __init__(self, dtype):
        self.dtype = dtype
        super().__init__(name=f"Pointer({dtype})")


@register_model(Pointer)
class PointerModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, manager.lookup(kind.dtype).get_data_type().as_pointer())


@intrinsic
def pointer(_context, array):
    """The address of a C-contiguous array's first element."""

    def generate(context, builder, signature, arguments):
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data

    return Pointer(array.dtype)(array), generate


@intrinsic
def advance(_context, start, steps):
    """The pointer `steps` values on."""

    def generate(context, builder, signature, arguments):
        return _address(builder, signature, arguments)

    return start(start, steps), generate


def _pointer_at(dtype):
    """A function that makes a pointer of an address, int64; the array that stands there must outlive it."""

    @intrinsic
    def at(_context, address):
        def generate(context, builder, _signature, arguments):
            return builder.inttoptr(arguments[0], context.get_data_type(dtype).as_pointer())

        return Pointer(dtype)(address), generate

    return at


int32_at, int64_at = _pointer_at(types.int32), _pointer_at(types.int64)
float64_at, bool_at = _pointer_at(types.float64), _pointer_at(types.uint8)  # a bool is a byte


@infer_global(operator.getitem)
class GetItem(AbstractTemplate):
    def generic(self, arguments, keywords):
        array, index = arguments
        if isinstance(array, Pointer) and isinstance(index, types.Integer):
            return signature(array.dtype, array, index)
        return None


@infer_global(operator.setitem)
class SetItem(AbstractTemplate):
    def generic(self, arguments, keywords):
        array, index, _ = arguments
        if isinstance(array, Pointer) and isinstance(index, types.Integer):
            return signature(types.none, array, index, array.dtype)
        return None


@lower_builtin(operator.getitem, Pointer, types.Integer)
def get_item(context, builder, sig, arguments):
    address = _address(builder, sig, arguments)
    return context.unpack_value(builder, sig.args[0].dtype, address)


@lower_builtin(operator.setitem, Pointer, types.Integer, types.Any)
def set_item(context, builder, sig, arguments):
    value = context.cast(builder, arguments[2], sig.args[2], sig.args[0].dtype)
    context.pack_value(builder, sig.args[0].dtype, value, _address(builder, sig, arguments))


def _address(builder, sig, arguments):
    index = arguments[1]
    if index.type.width < 64:
        index = (builder.sext if sig.args[1].signed else builder.zext)(index, ir.IntType(64))
    return builder.gep(arguments[0], [index])
