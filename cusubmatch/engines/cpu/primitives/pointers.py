"""Arrays without bounds, negative indices or reference counts, for use inside compiled code.

Numba tests every index for being negative, which keeps loops from being vectorised, and counts references to every
array that passes through a call, with atomic operations that cost more than a small intersection. `pointer(array)`
gives a value that is indexed like an array and does neither. The array must outlive it: the entry points take arrays
and hand pointers down (an array of one's own that is not named again is gone before the call that gets its pointer).
Where there are many, one pointer to a table of their addresses goes down instead (`bundled`): each value that is passed
to a call costs time, in compiled code and more so from Python.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_getattr, infer_global, signature
from numba.extending import intrinsic, lower_builtin, lower_getattr_generic, models, register_model

from cusubmatch.engines.cpu.primitives.jit import jit

__all__ = [
    "Pointer",
    "advance",
    "bool_at",
    "bundled",
    "call_at",
    "fetch_add",
    "float64_at",
    "int32_at",
    "int64_at",
    "order_writes",
    "pointer",
    "prefetch",
    "table_of",
    "write_past_caches",
]


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


@intrinsic
def prefetch(_context, start):
    """Ask for the memory at a pointer, which is read soon; an int64 that says nothing."""

    def generate(_context, builder, _signature, arguments):
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        for_reading, kept_near, data = (ir.Constant(number, value) for value in (0, 3, 1))
        builder.call(function, [builder.bitcast(arguments[0], byte), for_reading, kept_near, data])
        return ir.Constant(ir.IntType(64), 0)

    return types.int64(start), generate


@intrinsic
def write_past_caches(_context, start, place, value):
    """Write a value at a place of memory that is not read soon, without reading what is beside it first; an int64 0.

    `order_writes` comes before other threads read it.
    """

    def generate(context, builder, signature, arguments):
        written = context.cast(builder, arguments[2], signature.args[2], start.dtype)
        written = builder.store(written, _address(builder, signature, arguments[:2]))
        written.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)]))
        return ir.Constant(ir.IntType(64), 0)

    return types.int64(start, place, value), generate


@intrinsic
def order_writes(_context):
    """Let all that has been written be there before anything that is written later; an int64 0."""

    def generate(_context, builder, _signature, _arguments):
        builder.fence("seq_cst")
        return ir.Constant(ir.IntType(64), 0)

    return types.int64(), generate


@intrinsic
def fetch_add(_context, place, number):
    """Add to the integer at a pointer in one step that no other thread divides; what stood there before."""

    def generate(context, builder, signature, arguments):
        added = context.cast(builder, arguments[1], signature.args[1], place.dtype)
        return builder.atomic_rmw("add", arguments[0], added, "seq_cst")

    return place.dtype(place, number), generate


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


class Bundle(types.Type):
    """The address of a table of words: the addresses of arrays, by name and dtype, and numbers, whose dtype is None."""

    def __init__(self, fields):
        self.fields = fields
        self.places = {name: (place, dtype) for place, (name, dtype) in enumerate(fields)}
        super().__init__(name=f"Bundle({', '.join(f'{name} {dtype}' for name, dtype in fields)})")


@register_model(Bundle)
class BundleModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, ir.IntType(64).as_pointer())


@infer_getattr
class BundleField(AttributeTemplate):
    key = Bundle

    def generic_resolve(self, kind, name):
        if name not in kind.places:
            return None
        dtype = kind.places[name][1]
        return types.int64 if dtype is None else Pointer(dtype)


@lower_getattr_generic(Bundle)
def get_field(context, builder, kind, table, name):
    place, dtype = kind.places[name]
    word = builder.load(builder.gep(table, [ir.Constant(ir.IntType(64), place)]))
    word.set_metadata("invariant.load", builder.module.add_metadata([]))  # nobody writes to the table
    return word if dtype is None else builder.inttoptr(word, context.get_data_type(dtype).as_pointer())


_bundles: dict[type, Bundle] = {}  # of named tuples


def bundled(arrays: Any, dtypes: Mapping[str, Any]) -> Any:
    """A function for compiled code that makes a bundle of a table (`table_of`) of a named tuple, or of its address.

    Parameters
    ----------
    arrays : type
        A NamedTuple of arrays and numbers; the bundle has its attributes.
    dtypes : mapping of str to Numba's type or None
        By attribute, an array's dtype, or None for a number; where nothing is said, an array of int64.
    """
    kind = _bundles[arrays] = Bundle(tuple((name, dtypes.get(name, types.int64)) for name in arrays._fields))

    @intrinsic
    def bundle(_context, table):
        def generate(context, builder, signature, arguments):
            if isinstance(table, types.Integer):
                return builder.inttoptr(arguments[0], context.get_value_type(kind))
            return context.make_array(signature.args[0])(context, builder, arguments[0]).data

        return kind(table), generate

    return bundle


@intrinsic
def _write_words(_context, arrays, table):
    """Write the addresses of a named tuple's arrays, and its numbers, to an array; an int64 that says nothing."""
    for (name, dtype), kind in zip(_bundles[arrays.instance_class].fields, arrays.types, strict=True):
        is_array = isinstance(kind, types.Array) and kind.layout == "C"
        if not (isinstance(kind, types.Integer) if dtype is None else is_array and kind.dtype == dtype):
            wanted = "a number" if dtype is None else f"a contiguous array of {dtype}"
            raise TypingError(f"{arrays.instance_class.__name__}.{name}: expected {wanted}, got {kind}")

    def generate(context, builder, signature, arguments):
        out = context.make_array(signature.args[1])(context, builder, arguments[1]).data
        for place, kind in enumerate(arrays.types):
            word = builder.extract_value(arguments[0], place)
            if isinstance(kind, types.Array):
                word = builder.ptrtoint(context.make_array(kind)(context, builder, word).data, ir.IntType(64))
            else:
                word = context.cast(builder, word, kind, types.int64)
            builder.store(word, builder.gep(out, [ir.Constant(ir.IntType(64), place)]))
        return ir.Constant(ir.IntType(64), 0)

    return types.int64(arrays, table), generate


@jit
def _write_table(arrays, table):
    _write_words(arrays, table)


def table_of(arrays: Any) -> np.ndarray:
    """The table, int64, that the function of `bundled` takes, of a named tuple, whose arrays must outlive it.

    Raises
    ------
    numba.TypingError
        If an array is not contiguous, or of another dtype than was said.
    """
    table = np.empty(len(arrays), np.int64)
    _write_table(arrays, table)
    return table


@intrinsic
def call_at(_context, address, program, view, state, number):
    """Call the function at an address (`jit.address_of`) with the addresses of three bundles and a number; int64."""

    def generate(_context, builder, _signature, arguments):
        word = ir.IntType(64)
        function = builder.inttoptr(arguments[0], ir.FunctionType(word, [word] * 4).as_pointer())
        return builder.call(function, [*(builder.ptrtoint(bundle, word) for bundle in arguments[1:4]), arguments[4]])

    return types.int64(types.int64, program, view, state, types.int64), generate
