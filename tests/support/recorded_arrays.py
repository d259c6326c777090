"""A module of arrays in CuPy's place, which are NumPy's inside, and a list of what CuPy would compile a kernel for.

Copies, views, memory filled with zeros and empty arrays are what a GPU does without compiling anything. All else is
noted. The arrays are none of NumPy's, as CuPy's are not, and are not turned into these unasked.
"""

from __future__ import annotations

import contextlib
import types
from collections import Counter
from typing import Any, ClassVar

import numpy as np

__all__ = ["RecordedArray", "RecordedModule", "RecordedPlace", "plain"]

WITHOUT_KERNEL = {"empty", "empty_like", "zeros", "zeros_like", "ascontiguousarray"}
VIEWS = {"reshape", "ravel", "view", "transpose"}
CALLED = ("all", "any", "argsort", "clip", "cumsum", "max", "mean", "min", "nonzero", "repeat", "sort", "sum", "take")


class RecordedArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of the device, as it were."""

    operations: ClassVar[Counter[str]] = Counter()

    def __init__(self, values):
        self.values = values

    def __getattr__(self, name):
        if name in {"dtype", "flags", "itemsize", "nbytes", "ndim", "shape", "size", "strides"}:
            return getattr(self.values, name)
        if name in {"tolist", "item"}:
            return getattr(self.values, name)
        if name not in VIEWS and name not in CALLED:
            raise AttributeError(name)
        if name in CALLED:
            self.operations[name] += 1
        return lambda *arguments, **options: _called(getattr(self.values, name), arguments, options)

    def __len__(self):
        return len(self.values)

    def __bool__(self):
        return bool(self.values)

    def __int__(self):
        return int(self.values)

    def __float__(self):
        return float(self.values)

    def __index__(self):
        return self.values.__index__()

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        self.operations[ufunc.__name__] += 1
        return _called(getattr(ufunc, method), inputs, options)

    def __getitem__(self, key):
        if _is_list(key):
            self.operations["take"] += 1
        return recorded(self.values[plain(key)])

    def __setitem__(self, key, value):
        if _is_list(key) or np.any(plain(value)):
            self.operations["put"] += 1
        self.values[plain(key)] = plain(value)

    def astype(self, dtype):
        self.operations["astype"] += 1
        return recorded(self.values.astype(dtype))

    def copy(self):
        return recorded(self.values.copy())

    def get(self):
        return self.values.copy()

    def set(self, values):
        self.values[...] = values

    def fill(self, value):
        if value:
            self.operations["fill"] += 1
        self.values.fill(value)


class RecordedModule(types.ModuleType):
    """NumPy's functions by the names that CuPy has too; `operations` counts those that compile a kernel."""

    def __init__(self):
        super().__init__("recorded")
        self.operations = RecordedArray.operations = Counter()
        stream = types.SimpleNamespace(synchronize=lambda: None, ptr=0)
        self.cuda = types.SimpleNamespace(get_current_stream=lambda: stream)

    def asarray(self, values, dtype=None):
        if isinstance(values, RecordedArray) and dtype in {None, values.dtype}:
            return values
        return recorded(np.array(plain(values), dtype))

    def asnumpy(self, array):
        return np.array(plain(array))

    def __getattr__(self, name):
        found = getattr(np, name)
        if isinstance(found, type) or not callable(found):
            return found

        def called(*arguments, **options):
            if name not in WITHOUT_KERNEL:
                self.operations[name] += 1
            return _called(found, arguments, options)

        return called


class RecordedPlace:
    """The one place of such arrays."""

    number = 0

    def __init__(self, xp: RecordedModule):
        self.xp = xp

    def current(self):
        return contextlib.nullcontext()

    def holds(self, array):
        return isinstance(array, RecordedArray)

    def copied(self, array):
        return self.xp.asarray(array)

    @staticmethod
    def to_device(array):
        return plain(array)


def plain(value: Any) -> Any:
    """What is inside."""
    if isinstance(value, RecordedArray):
        return value.values
    if isinstance(value, (tuple, list)):
        parts = list(map(plain, value))
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def recorded(value: Any) -> Any:
    """Arrays as those of the device."""
    if isinstance(value, tuple):
        return tuple(map(recorded, value))
    return RecordedArray(np.asarray(value)) if isinstance(value, (np.ndarray, np.generic)) else value


def _called(function, arguments, options):
    out = options.get("out")
    result = function(*map(plain, arguments), **{name: plain(value) for name, value in options.items()})
    return recorded(result) if out is None else out[0] if isinstance(out, tuple) else out


def _is_list(key):
    parts = key if isinstance(key, tuple) else (key,)
    return any(isinstance(plain(part), (np.ndarray, list)) and np.ndim(plain(part)) for part in parts)
