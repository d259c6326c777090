"""Arguments of kernels as Numba takes them fastest, and the words that a launch hands to the driver for them.

Numba makes the type and the words of every argument anew at each launch, in Python. For a parameter block of a dozen
arrays that takes longer than most kernels on a small graph. Here an argument that is launched again keeps both.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

__all__ = ["as_device_array", "known_type", "scalar_type"]


def as_device_array(array: Any) -> Any:
    """A CuPy array as kernels take it fastest, without a copy or a wait for its stream; anything else as it is.

    Numba otherwise spends 5 µs of a launch on each array. Marked as input, which for what lies on the device says
    nothing, an array costs half of that. A parameter block, a NamedTuple, is given its type.
    """
    if isinstance(array, tuple):
        if not hasattr(array, "_fields"):
            return tuple(map(as_device_array, array))
        return array if hasattr(array, "_numba_type_") else _typed_block(array)
    if not type(array).__module__.startswith("cupy"):
        return array
    from numba import cuda

    return cuda.In(cuda.as_cuda_array(array, sync=False))


def known_type(argument: Any) -> Any:
    """The Numba type of an argument that knows its own, and the class of a NumPy scalar; None for anything else."""
    return type(argument) if isinstance(argument, np.generic) else getattr(argument, "_numba_type_", None)


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
    return _block_type(tuple, tuple(map(_type_of, field))) if isinstance(field, tuple) else scalar_type(type(field))


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
