"""Arguments of kernels: their types as Numba has them, and the words that a launch hands to the driver for them.

Numba finds out the type of every argument and makes its words anew at each launch, in Python, which for a dozen arrays
takes longer than most kernels on a small graph. Here the type of an array is looked up, and what is launched again
keeps its words.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

__all__ = ["DeviceArray", "as_device_array", "as_numba_has_it", "known_type", "scalar_type"]


class DeviceArray:
    """An array of CuPy's as kernels take it, without a copy or a wait for its stream.

    Attributes
    ----------
    array : cupy.ndarray
    words : tuple of int
        No owner and no parent, the elements, the bytes of each, the address, the shape, the strides in bytes.
    """

    __slots__ = ("_numba_type_", "array", "words")

    def __init__(self, array: Any):
        self.array, dtype, ndim = array, array.dtype, array.ndim
        self.words = (0, 0, array.size, array.itemsize, array.data.ptr, *array.shape, *array.strides)
        key = dtype.char, ndim, array._c_contiguous, array._f_contiguous  # noqa: SLF001 - `flags` takes longer
        known = _array_types.get(key)
        if known is None:
            known = _array_types[key] = _array_type(array)
        self._numba_type_ = known


_array_types: dict[tuple, Any] = {}


def _array_type(array):
    from numba import cuda
    from numba.cuda.typing.typeof import Purpose, typeof

    return typeof(cuda.as_cuda_array(array, sync=False), Purpose.argument)


def as_device_array(array: Any) -> Any:
    """A CuPy array as `DeviceArray`, a parameter block (a NamedTuple) with such arrays and its type; all else as is."""
    if isinstance(array, tuple):
        if not hasattr(array, "_fields"):
            return tuple(map(as_device_array, array))
        return array if hasattr(array, "_numba_type_") else _typed_block(array)
    return DeviceArray(array) if type(array).__module__.startswith("cupy") else array


def as_numba_has_it(argument: Any) -> Any:
    """What Numba's own launch takes instead of an argument: arrays that it may not copy to the device and back."""
    if isinstance(argument, DeviceArray):
        from numba import cuda

        return cuda.In(cuda.as_cuda_array(argument.array, sync=False))
    if not isinstance(argument, tuple):
        return argument
    fields = map(as_numba_has_it, argument)
    if not hasattr(argument, "_fields"):
        return tuple(fields)
    block: Any = type(argument)(*fields)
    block._numba_type_ = argument._numba_type_  # type: ignore[attr-defined]
    return block


def known_type(argument: Any) -> Any:
    """The Numba type of an argument that knows its own, and the class of a NumPy scalar; None for anything else."""
    return type(argument) if isinstance(argument, np.generic) else getattr(argument, "_numba_type_", None)


def _typed_block(block):
    """A parameter block that knows its Numba type, as Numba asks for it."""
    kind, fields = type(block), [as_device_array(field) for field in block]
    typed = _typed_kind(kind)(*fields)
    typed._numba_type_ = _block_type(kind, [_type_of(field) for field in fields])
    return typed


def _type_of(field):
    """The Numba type of a field of a parameter block."""
    known = getattr(field, "_numba_type_", None)
    if known is not None:
        return known
    return _block_type(tuple, list(map(_type_of, field))) if isinstance(field, tuple) else scalar_type(type(field))


@functools.cache
def _typed_kind(kind):
    """A subclass that takes attributes, as a NamedTuple's own class does not."""
    from numba.cuda.typing.typeof import typeof_impl

    typed = type(kind.__name__, (kind,), {})
    # Numba asks for an attribute when it looks for compiled code, and here when it compiles.
    typeof_impl.register(typed)(lambda block, _context: block._numba_type_)
    return typed


@functools.cache
def scalar_type(kind: type) -> Any:
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
